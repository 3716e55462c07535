//! The part of a document that is one load point.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smbench_model::record::OpKind;

use super::{ConcurrencyDoc, FairnessDoc, GeneratorDoc, SeriesDoc, ServerCpuDoc};
use crate::latency::{Hdr, LatencyDoc};
use crate::statistics::SteadyDoc;

/// One load point of one pass. "Window" is the measured time without ramps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPointDoc {
    /// Clients asked for.
    pub clients: u32,
    /// Which pass over the series of load points, from 1.
    pub repeat: u32,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Whether the numbers may be quoted.
    pub valid: bool,
    /// Why not; `null` when valid.
    pub invalid_reason: Option<String>,
    /// Whether a request without an answer when the window closed waited longer than every
    /// latency of the window, p99.9 included. Percentiles then miss a stall. Absent in
    /// documents of releases that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled: Option<bool>,
    /// Application bytes read and written in the window per second, in
    /// Mbit/s (10^6 bits).
    pub throughput_mbps: f64,
    /// Operations completed without error in the window, per second.
    pub ops_per_s: f64,
    /// Payload bytes of READs in the window, those in frames with CREATE and
    /// CLOSE included.
    pub bytes_read: u64,
    /// Payload bytes of WRITEs in the window. What the server copies by itself
    /// is in neither.
    pub bytes_written: u64,
    /// Operations of the whole load point that failed, ramps included.
    pub errors: u64,
    /// Response times of all operations of the window, from due to done; `null`
    /// without any.
    pub latency_ns: Option<LatencyDoc>,
    /// The window by kind of operation: `read`, `write`, `flush`, `create` and
    /// so on. A kind is one request, or one frame of several. `oplock_break` and
    /// `reauthentication` are what the server asked for, `final_flush` comes after
    /// the window of a `fileio` test; these are in no sum.
    pub ops: BTreeMap<String, OpDoc>,
    /// From the first operation to the last, ramps included, by operation:
    /// what the server's side must have seen.
    pub whole: BTreeMap<String, TotalsDoc>,
    /// Failed operations by cause, ramps included.
    pub failures: Vec<FailureDoc>,
    /// Operations of a replay that did not go as recorded, ramps included: in
    /// none of the numbers of `ops` and `whole`, and no failures. Absent where
    /// all went as recorded, or nothing is replayed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DifferenceDoc>,
    /// Clients that completed an operation in the window. Not in documents of
    /// releases that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_served: Option<u32>,
    /// Clients that did not run the whole window.
    pub dropouts: Vec<DropoutDoc>,
    /// The generator's own use of CPU and memory.
    pub client: ClientDoc,
    /// The server's own use of CPU. Not in documents of releases that did not
    /// look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<ServerCpuDoc>,
    /// Whether the generator limited the load, so that throughput is not to be trusted: the
    /// verdict of `generator`. Releases without `latency_noise_ns` also set it where only
    /// latencies were doubtful. Absent where the release did not judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_limited: Option<bool>,
    /// By how many nanoseconds percentiles of `latency_ns` may be too high, because the
    /// generator handled answers late: `p50`, `p90`, `p95`, `p99`, `p999`, those that matter.
    /// Throughput is not affected. Absent where none matters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_noise_ns: BTreeMap<String, u64>,
    /// How the generator fared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorDoc>,
    /// Setting up the sessions.
    pub setup: SetupDoc,
    /// The window over time; absent in documents of older releases, like the
    /// next three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesDoc>,
    /// Whether throughput was steady over the window; operations per second
    /// where no data was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyDoc>,
    /// Seconds from when no further operation was sent until the last one under load
    /// was done. What completes in it is in no number of the window. Not in documents
    /// of releases that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_s: Option<f64>,
    /// Seconds from the end of the last operation under load, or of the window where
    /// that is later, until every client of a `fileio` test had flushed every file;
    /// absent where nothing is done when the load is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_flush_s: Option<f64>,
    /// How evenly clients were served; absent, too, when none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<FairnessDoc>,
    /// Operations in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencyDoc>,
    /// How well due instants were kept. Not in documents of closed loops without
    /// think times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<OfferedDoc>,
    /// Of closed loops without think times: the longest that an operation took which was
    /// under way when the window closed, in nanoseconds, or had waited when it was given up. In none of the window's latencies. Absent where there was none, and in
    /// documents of releases that did not keep it; of other loads `offered` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered_ns_max: Option<u64>,
    /// Oplocks and leases granted and broken. Not in documents of runs that
    /// asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<CachingDoc>,
    /// What came of comparing what was read with what had been written. Not in
    /// documents of runs that did not, nor of releases that did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationDoc>,
    /// Seconds of the window, summed over clients, in which a request was due
    /// but the server had granted no credit for it.
    pub credit_starved_s: f64,
    /// Seconds of the window, summed over clients, in which a request was due
    /// but earlier ones still waited for the socket to take them.
    pub held_back_s: f64,
}

/// Operations that were due in the window by the clock, whenever they were
/// sent. Of operations of several requests only the first is due by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedDoc {
    /// How many.
    pub operations: u64,
    /// Per second: the load that was really offered.
    pub ops_per_s: f64,
    /// Sent in the window, whenever they were due. Absent, like the next, in documents of
    /// releases that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Whether a rate that was asked for was not reached: fewer were sent than were due, by
    /// more than 1 % and by more than are due in 100 ms. Absent without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_missed: Option<bool>,
    /// Sent more than a millisecond after they were due.
    pub late: u64,
    /// Never sent.
    pub dropped: u64,
    /// Not answered when the window closed, those never sent included: their
    /// latencies are in none of the window's. 0, like the next, in documents of
    /// releases that did not count them.
    #[serde(default)]
    pub unanswered: u64,
    /// The longest that one of those waited after it was due, in nanoseconds;
    /// those never sent until they were given up.
    #[serde(default)]
    pub unanswered_ns_max: u64,
    /// The longest that one was sent after it was due, in nanoseconds.
    pub delay_ns_max: u64,
}

impl OfferedDoc {
    /// The share of what was due that was sent, 0 to 1; `None` where that is not known.
    #[must_use]
    pub fn reached_share(&self) -> Option<f64> {
        let due = self.operations.max(1) as f64;
        Some((self.sent? as f64 / due).min(1.0))
    }
}

impl LoadPointDoc {
    /// Whether a rate was asked for, and not reached.
    #[must_use]
    pub fn misses_rate(&self) -> bool {
        let offered = self.offered.as_ref();
        offered.is_some_and(|offered| offered.rate_missed == Some(true))
    }

    /// The longest that a request waited which had no answer when the window closed, in
    /// nanoseconds; `None` where there was none.
    #[must_use]
    pub fn longest_unanswered_ns(&self) -> Option<u64> {
        let due = self.offered.filter(|offered| offered.unanswered > 0);
        let due = due.map(|offered| offered.unanswered_ns_max);
        self.unanswered_ns_max.or(due)
    }

    /// The operations that the workload asked for: what the server asked for is
    /// in no sum.
    pub fn asked_for(&self) -> impl Iterator<Item = &OpDoc> {
        let ops = self.ops.iter();
        ops.filter(|(name, _)| is_asked_for(name)).map(|(_, op)| op)
    }
}

/// Whether the workload asked for operations of this name, and not the server.
pub(crate) fn is_asked_for(name: &str) -> bool {
    OpKind::named(name).is_none_or(OpKind::is_asked_for)
}

/// Whether operations of this name are told of the window: what comes when the load
/// is over has no place in it, so that a rate by its length says nothing of them.
pub(crate) fn is_of_window(name: &str) -> bool {
    OpKind::named(name) != Some(OpKind::FinalFlush)
}

impl OpDoc {
    /// The histogram of response times.
    #[must_use]
    pub fn response(&self) -> &Hdr {
        self.response_hdr.as_ref().unwrap_or(&self.hdr)
    }
}

/// Oplocks and leases of a load point, from the first open to the last
/// operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachingDoc {
    /// Opens by what they were granted: `none`, `level2`, `batch`,
    /// `lease-rh` and so on.
    pub granted: BTreeMap<String, u64>,
    /// Notifications that caching is taken back. `ops.oplock_break` has those
    /// that were acknowledged, from then to the server's confirmation.
    pub breaks: u64,
    /// Acknowledgements that came too late: what had been granted was closed
    /// while the notification was on its way.
    pub moot: u64,
}

/// Reads of a load point whose data was verified, ramps included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationDoc {
    /// All of the data was what it may be.
    pub checked: u64,
    /// Nothing was found wrong, but writes to the same blocks were under way, so
    /// that not all of the data could be judged.
    pub unjudged: u64,
    /// The data was not what had been written; these are among the errors.
    pub wrong: u64,
}

/// One kind of operation in the window of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpDoc {
    /// Completed without error.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Answered with an error status or with wrong data, ramps included.
    pub errors: u64,
    /// From sent to done; `null` when `count` is 0.
    pub service_ns: Option<LatencyDoc>,
    /// From due to done; `null` when `count` is 0.
    pub response_ns: Option<LatencyDoc>,
    /// The histogram of service times in nanoseconds: base64 of
    /// `HdrHistogram` V2 with DEFLATE, 1 ns to 1 h, 3 digits.
    pub hdr: Hdr,
    /// The same of response times; absent where they equal service times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hdr: Option<Hdr>,
}

/// One kind of operation over a whole load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsDoc {
    /// Answered without error.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Answered with an error status or with wrong data.
    pub errors: u64,
}

/// Failed operations of one kind and cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureDoc {
    /// The kind of operation: `read`, `create` and so on.
    pub op: String,
    /// The NTSTATUS by name, or by number where it has none here; `short`
    /// for an answer with too few bytes, `wrong-data` under verification.
    pub status: String,
    /// The NTSTATUS as `0xC0000022`; `null` when it was no status.
    pub code: Option<String>,
    /// How many.
    pub count: u64,
}

/// Operations of one kind that did not go as recorded, in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceDoc {
    /// The kind of operation.
    pub op: String,
    /// The NTSTATUS that was recorded, as in `failures`; `other` where there were
    /// more differences than are told apart.
    pub recorded: String,
    /// What was seen instead: an NTSTATUS, or `short` or `long` for other than
    /// the recorded number of bytes.
    pub seen: String,
    /// How many.
    pub count: u64,
}

/// A client that did not finish its load point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropoutDoc {
    /// Its number, from 0.
    pub client: u32,
    /// What happened.
    pub reason: String,
}

/// What the generator's process used in the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientDoc {
    /// CPU seconds in user mode.
    pub cpu_user_s: f64,
    /// CPU seconds in the kernel.
    pub cpu_system_s: f64,
    /// Microseconds of both per operation; `null` without operations.
    pub cpu_us_per_op: Option<f64>,
    /// Largest resident set of the process so far, in bytes.
    pub max_rss_bytes: u64,
}

/// Setting up the sessions of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetupDoc {
    /// Sessions that were set up.
    pub sessions: u64,
    /// TCP connections they had. Not in documents of releases in which that was
    /// the number of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Seconds from the first connect until the last session was ready for the load:
    /// connected, logged on, and with all that its load needs, from the files held open
    /// to what a replay expects to find.
    pub elapsed_s: f64,
    /// Sessions that became ready per second of that time. Log-ons and opens take
    /// turns in it, so that it is a server's rate of log-ons only where nothing else
    /// is needed. Not in documents of releases that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_per_s: Option<f64>,
    /// From connect to tree connected, over sessions, and nothing of what is opened
    /// then; `null` without any.
    pub latency_ns: Option<LatencyDoc>,
    /// Its histogram, as that of an operation. Not in documents of releases that
    /// did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdr: Option<Hdr>,
}
