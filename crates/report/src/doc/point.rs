//! The part of a document that is one load point.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::hooks::{HookRecord, QuietRecord};
use smbench_model::record::{DataFaults, Dropout, OpTotals, Verification, WrongPlace};

use super::caching::CachingDoc;
use super::churn::ChurnDoc;
use super::counters::ServerCountersDoc;
use super::event::{EventDoc, LinkDoc};
use super::generator::{ClientDoc, GeneratorDoc};
use super::host::HostPointDoc;
use super::in_blackout::InBlackoutDoc;
use super::offered::OfferedDoc;
use super::operation::{
    DifferenceDoc, FailureDoc, OpDoc, RefusedDirectoryDoc, ReplayedDoc, is_asked_for,
};
use super::population::PopulationPointDoc;
use super::server_cpu::ServerCpuDoc;
use super::setup::SetupDoc;
use super::soak::StageMemoryDoc;
use super::stage::StageDoc;
use super::statistics::{ConcurrencyDoc, FairnessDoc, SeriesDoc};
use super::stream::StreamsDoc;
use super::tcp::TcpDoc;
use crate::latency::LatencyDoc;
use crate::load::{Load, LoadStage};
use crate::statistics::SteadyDoc;

/// One load point of one pass. "Window" is the measured time without ramps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPointDoc {
    /// Number of clients asked for.
    pub clients: u32,
    /// Operations per second that were asked of all clients together, or of `find.population`.
    /// Absent unless the load points of the run differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Number of the pass over the series of load points, from 1.
    pub repeat: u32,
    /// The stage that the load point is. `clients`, or `rate`, is then the level at its end, or the
    /// number of clients that stages do not move if that is larger.
    /// Absent unless the load has stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageDoc>,
    /// Memory at the end of the stage. Absent unless the load has stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<StageMemoryDoc>,
    /// Wall-clock time at which the window opened, RFC 3339 in UTC, to the microsecond. Of several
    /// machines, it is the first. Absent in documents of releases that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_opened: Option<String>,
    /// Length of the window in seconds. In a merged result, it is the longest of the parts.
    pub window_s: f64,
    /// Whether the numbers may be quoted.
    pub valid: bool,
    /// Why the numbers may not be quoted; `null` if they may.
    pub invalid_reason: Option<String>,
    /// Whether a request that was in flight when the window closed took more than
    /// twice as long as every service time of the window, and more than 10 ms.
    /// Percentiles, p99.9 included, then miss a stall. Absent in documents of
    /// releases that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled: Option<bool>,
    /// How long that request took, in nanoseconds. Absent unless `stalled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<u64>,
    /// Application bytes read and written in the window, per second, in Mbit/s
    /// (10^6 bits).
    pub throughput_mbps: f64,
    /// Operations completed without error in the window, per second.
    pub ops_per_s: f64,
    /// Payload bytes of READs in the window, including those in frames with CREATE
    /// and CLOSE.
    pub bytes_read: u64,
    /// Payload bytes of WRITEs in the window. Bytes that the server copies on its
    /// own are in neither.
    pub bytes_written: u64,
    /// Number of failed operations of the whole load point, ramps included.
    pub errors: u64,
    /// Response times of all operations of the window, from due to done; `null`
    /// without operations.
    pub latency_ns: Option<LatencyDoc>,
    /// The window by kind of operation: `read`, `write`, `flush`, `create` and so
    /// on. A kind is one request, or one frame of several requests. No sum contains
    /// `oplock_break` and `reauthentication`, which the server asks for, and
    /// `final_flush`, which comes after the window of a `fileio` test.
    pub ops: BTreeMap<String, OpDoc>,
    /// The parts of the populations, in the order of the plan. Absent unless populations were
    /// asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub populations: Vec<PopulationPointDoc>,
    /// Number of units. Absent unless load points count units, and the clients are a whole number
    /// of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// Number of operations of the workload that completed without error before the window
    /// opened. Absent in documents of releases that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_before: Option<u64>,
    /// Operations from the first to the last, ramps included, by kind: the server
    /// must have counted the same.
    pub whole: BTreeMap<String, OpTotals>,
    /// Failed operations by cause, ramps included.
    pub failures: Vec<FailureDoc>,
    /// Directories that walks left out because the server refused them, at most 100, ramps
    /// included. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_directories: Vec<RefusedDirectoryDoc>,
    /// Operations of a replay that did not go as recorded, ramps included. They are
    /// not failures, and no number of `ops` and `whole` contains them. Absent if
    /// all went as recorded, or if the run is not a replay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DifferenceDoc>,
    /// How many operations of a replay did not go as recorded. Absent if the run is not a
    /// replay, and in documents of releases that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<ReplayedDoc>,
    /// Number of clients that completed an operation in the window. Absent in
    /// documents of releases that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_served: Option<u32>,
    /// Clients that did not run the whole window.
    pub dropouts: Vec<Dropout>,
    /// The events of the plan, and what lost connections cost. Absent if the plan has none, and
    /// no client that comes back has lost its connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventDoc>,
    /// Operations of the window that were in a blackout, and the latencies of the others. Absent
    /// if no client that comes back has lost its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_blackout: Option<InBlackoutDoc>,
    /// The clients that left and came back. Absent unless the plan asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<ChurnDoc>,
    /// Connections that were lost and replaced under load, in the order of instants. Absent if
    /// there were none. A run that does not replace connections has `dropouts` instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkDoc>,
    /// Number of further entries that `links` does not have. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_left_out: Option<u64>,
    /// The generator's own use of CPU and memory.
    pub client: ClientDoc,
    /// The server's own use of CPU. Absent in documents of releases that did not
    /// measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<ServerCpuDoc>,
    /// What TCP did on the connections to the server. Absent if the run did not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpDoc>,
    /// The server's own counters. Absent if the run did not ask for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_counters: Option<ServerCountersDoc>,
    /// Whether the generator limited the load, so that throughput is not to be
    /// trusted: the verdict of `generator`. Releases without `latency_noise_ns`
    /// also set it if only latencies were doubtful. Absent if the release did not
    /// judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_limited: Option<bool>,
    /// Number of nanoseconds by which percentiles of `latency_ns` may be too high,
    /// because the generator handled answers late. Keys are `p50`, `p90`, `p95`,
    /// `p99`, `p999`, if they matter. Throughput is not affected. Absent if none
    /// matters. In a merged result, each value is that of the worst machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_noise_ns: BTreeMap<String, u64>,
    /// The condition of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorDoc>,
    /// The parts of the machines that generated the load, if there were several. `client` and
    /// `generator` then sum them up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPointDoc>,
    /// Setting up the sessions.
    pub setup: SetupDoc,
    /// The window over time. Absent, like the next three keys, in documents of
    /// older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesDoc>,
    /// Whether throughput was steady over the window. If no data was moved:
    /// operations per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyDoc>,
    /// Seconds from when sending stopped until the last operation under load was
    /// done. Operations that complete in this time are in no number of the window.
    /// Absent in documents of releases that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_s: Option<f64>,
    /// Seconds until every client of a `fileio` test had flushed every file. They
    /// count from the end of the last operation under load, or of the window if
    /// that is later. Absent if nothing is done after the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_flush_s: Option<f64>,
    /// Fairness between clients. Also absent if none was served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<FairnessDoc>,
    /// Operations in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencyDoc>,
    /// Lateness of operations that were due by the clock. Absent in documents of
    /// closed loops without think times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<OfferedDoc>,
    /// Frames of streams. Absent unless clients are streams, and in stages without a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamsDoc>,
    /// Longest time, in nanoseconds, of an operation that was in flight when the
    /// window closed. It counts until the operation completed, or until it was
    /// given up. None of the window's latencies contains it. Only for closed loops
    /// without think times; for other loads `offered` has it. Absent if there was
    /// no such operation, and in documents of releases that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered_ns_max: Option<u64>,
    /// Oplocks and leases granted and broken. Absent in documents of runs that
    /// asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<CachingDoc>,
    /// Result of comparing the data read with the data written. Absent in documents
    /// of runs that did not compare, and of releases that did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The data that was found wrong, by what the stamps in it show. Absent unless a run that
    /// verifies lets clients come back after lost connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<DataFaults>,
    /// Where reads were the first to find wrong data: the first 1000 places, ramps included.
    /// Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong_data: Vec<WrongPlace>,
    /// Seconds of the window, summed over clients, in which a request was due but
    /// the server had not granted a credit for it. Stages divide those of the whole load by the
    /// time of their clients.
    pub credit_starved_s: f64,
    /// Seconds of the window, summed over clients, in which a request was due but
    /// earlier ones still waited for the socket. Stages divide them as they do `credit_starved_s`.
    pub held_back_s: f64,
    /// The command that was run before the load point. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_point: Option<HookRecord>,
    /// The command that was run after the load point. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_point: Option<HookRecord>,
    /// The wait for a quiet server before the load point. Absent if it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietRecord>,
}

/// First words of the reason of a window without an answer. Those of a population follow its
/// name.
pub(crate) const NOTHING_COMPLETED: &str = "no operation completed";

/// A shorter stall is usual on any machine.
pub(crate) const STALL_NS_MIN: u64 = 10_000_000;

/// Meaning of the reason why the generator was the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldReason {
    /// The load point is client-limited. The only meaning since stalls are judged.
    Limited,
    /// Answers were handled late.
    Late,
    /// The server on the same machine had the CPUs.
    Shared,
}

impl LoadPointDoc {
    /// Returns whether the window of all clients, or of a population, had no answer.
    pub(crate) fn lacks_answers(&self) -> bool {
        let reason = self.invalid_reason.as_deref().unwrap_or_default();
        let of_one = reason.strip_prefix("population ");
        // No name of a population has a colon.
        let of_one = of_one.and_then(|named| Some(named.split_once(": ")?.1));
        of_one.unwrap_or(reason).starts_with(NOTHING_COMPLETED)
    }

    /// Returns the load of the point.
    #[must_use]
    pub fn load(&self) -> Load {
        Load {
            clients: self.clients,
            rate: self.rate,
            stage: self.stage.as_ref().map(LoadStage::from),
        }
    }

    /// Returns whether reads were compared with what was written.
    pub(crate) fn has_verified(&self) -> bool {
        self.verification
            .is_some_and(|reads| reads.checked + reads.wrong > 0)
    }

    /// Returns the load point of a stage under load, without what is known only when the load
    /// has ended.
    #[must_use]
    pub fn under_load(mut self) -> Self {
        for population in &mut self.populations {
            population.offered = None;
        }
        for host in &mut self.hosts {
            host.generator = None;
        }
        Self {
            clients_served: None,
            stalled: None,
            stalled_ns: None,
            generator_limited: None,
            generator: None,
            offered: None,
            streams: None,
            unanswered_ns_max: None,
            drain_s: None,
            ..self
        }
    }

    /// Returns whether a rate was requested and not reached.
    #[must_use]
    pub fn misses_rate(&self) -> bool {
        self.rated()
            .is_some_and(|offered| offered.rate_missed == Some(true))
    }

    /// Returns whether the generator limited the throughput. Releases that did not
    /// judge stalls also said so of late answers and of a server on the same machine
    /// that had the CPUs. Where a rate was reached, its throughput is what was asked for.
    #[must_use]
    pub fn is_client_limited(&self) -> bool {
        // Units need less than their whole rate.
        let mut parts = self.populations.iter().filter_map(|part| part.reached);
        let whole = parts.all(|reached| reached.mean_percent >= 99.0);
        let reached = self.rated().is_some() && !self.misses_rate() && whole;
        self.generator_limited == Some(true) && self.old_reason() == OldReason::Limited && !reached
    }

    /// Returns what was offered, if it was at a rate.
    pub(crate) fn rated(&self) -> Option<OfferedDoc> {
        self.offered.filter(|offered| offered.rate_missed.is_some())
    }

    /// Returns what the reason of `generator` meant in the release that wrote it.
    pub(crate) fn old_reason(&self) -> OldReason {
        let generator = self.generator.as_ref();
        let reason = generator.and_then(|generator| generator.reason.as_deref());
        match reason.filter(|_| self.stalled.is_none()) {
            Some(reason) if reason.contains(" seen ") && reason.contains(" late or more") => {
                OldReason::Late
            }
            Some(reason) if reason.ends_with("the server here shares them") => OldReason::Shared,
            _ => OldReason::Limited,
        }
    }

    /// Returns how long the request took that shows a stall at the end of the window,
    /// in nanoseconds; `None` if there was none. Older releases kept the wait alone.
    #[must_use]
    pub fn stall_ns(&self) -> Option<u64> {
        let longest = self.latency_ns.map_or(0, |latency| latency.max);
        let old = || {
            self.unanswered_ns_max
                .filter(|&waited| waited > STALL_NS_MIN && waited / 2 > longest)
        };
        match self.stalled {
            Some(_) => self.stalled_ns,
            None => old(),
        }
    }

    /// Returns the operations that the workload asked for. Operations that the
    /// server asked for are in no sum.
    pub fn asked_for(&self) -> impl Iterator<Item = &OpDoc> {
        let ops = self.ops.iter();
        ops.filter(|(name, _)| is_asked_for(name)).map(|(_, op)| op)
    }
}
