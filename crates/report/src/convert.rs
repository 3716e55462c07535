//! Converts the record of a run to its document. This module defines the numbers:
//!
//! - Throughput is application bytes over the window, in 10^6 bits per second.
//! - A mean is over operations, never over means.
//! - Errors are those of the whole load point, because an error in a ramp spoils it
//!   as well.
//! - A load point is valid only if every client ran the whole window.
//!
//! Not here: averages over passes.

mod hosts;
mod load;
mod operations;
mod populations;
mod setup;
mod units;

use std::time::SystemTime;

use smbench_model::kind::Direction;
use smbench_model::record::{
    ChurnRecord, ClientUsage, LoadPointRecord, Origin, Outcome, RunRecord,
};
use smbench_model::sessions::Caching;

use crate::doc::{
    BuildDoc, CalibrationDoc, ChurnDoc, ClientDoc, DriverDoc, EventDoc, FailureDoc, FairnessDoc,
    FlushDoc, GeneratorDoc, InBlackoutDoc, LinkDoc, LoadPointDoc, MachineDoc, Named, OutcomeDoc,
    PlanDoc, RefusedDirectoryDoc, RunDoc, SCHEMA_VERSION, STALL_NS_MIN, ServerCountersDoc,
    ServerCpuDoc, ServerDoc, ServerLocation, SessionTermsDoc, SoakDoc, StageDoc, StageMemoryDoc,
    StorageDoc, TcpDoc, ToolDoc, WriteDoc,
};
use crate::latency::LatencyDoc;
use crate::passes::summary;
use crate::statistics::per;
use crate::units::counted;
use load::latency_noise;
pub(crate) use load::{concurrency, misses_rate, steady};
use operations::{by_kind, caching};
pub(crate) use operations::{differences, op};
use populations::{PopulationPlans, sessions};
pub(crate) use setup::setup;

/// Note that the measured CPU time is not the server's alone.
const SHARED: &str = "server and load generator share this machine";
/// Note for a server on which the operation `log_on` would end the clients' own sessions.
const LOGOFF: &str = "log_on has connections of its own, because this server ends all sessions of \
    a connection at the LOGOFF of one (STATUS_USER_SESSION_DELETED)";

/// Facts that a reader must know and that no measurement shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disclosure {
    /// The user's name for the result.
    pub label: Option<String>,
    /// The user's remark about the result.
    pub note: Option<String>,
    /// Where the server ran.
    pub place: ServerLocation,
    /// The server's handling of a FLUSH.
    pub flush: FlushDoc,
    /// Whether a WRITE waits for stable storage, if that is known.
    pub write: Option<WriteDoc>,
    /// Further facts that affect the numbers, one sentence each. Example: server
    /// and generator share a machine.
    pub notes: Vec<String>,
    /// The machine that generates the load; `None` to leave it out.
    pub machine: Option<MachineDoc>,
    /// The highest load that the machine can generate, if that was measured.
    pub calibration: Option<CalibrationDoc>,
    /// The command line without secrets; empty to leave it out.
    pub command: Vec<String>,
    /// The server's program and its version, if they are known.
    pub software: Option<String>,
    /// The build of that program, where it is not the installed one.
    pub build: Option<BuildDoc>,
    /// The storage of the share, if it is known.
    pub storage: Option<StorageDoc>,
}

impl Disclosure {
    /// Adds what only the run itself shows: whether the server is on this machine, which its
    /// given name or address does not tell, how it logs sessions off, and whether it has a tree
    /// that the run does not use.
    #[must_use]
    pub fn completed(mut self, record: &RunRecord) -> Self {
        if record.server.is_here && self.place != ServerLocation::Embedded {
            self.notes.insert(0, SHARED.to_owned());
        }
        if record.server.logoff_ends_all {
            self.notes.push(LOGOFF.to_owned());
        }
        self.notes
            .extend(record.server.unused_tree().map(str::to_owned));
        if !record.hosts.is_empty() {
            // What one machine can do says nothing about several.
            self.calibration = None;
        }
        self
    }
}

impl RunDoc {
    /// Builds the document of a run, finished or not.
    #[must_use]
    pub fn from_record(record: &RunRecord, disclosure: Disclosure) -> Self {
        let populations = PopulationPlans::of(&record.plan);
        let asked = populations.caching();
        let paced = populations.is_paced();
        let verified = populations.is_verified();
        let churns = record.plan.sessions.churn.rate.is_some();
        let returns = record.plan.sessions.failover.reconnect.is_some();
        let load_points: Vec<_> = record
            .load_points
            .iter()
            .map(|point| LoadPointDoc {
                caching: (asked != Caching::None).then(|| caching(point.ops.caching(), asked)),
                offered: populations.offered(point),
                streams: populations.streams(point),
                series: Some(populations.series(point)),
                unanswered_ns_max: (!paced && point.punctuality.unanswered > 0)
                    .then_some(point.punctuality.unanswered_max.0),
                verification: verified.then(|| *point.ops.verification()),
                replayed: populations.replayed(point),
                populations: populations.of_point(point),
                verify: (verified && returns).then(|| point.ops.faults()),
                churn: churns.then(|| churn(point)),
                events: EventDoc::all(point, record.plan.work.ramp_up),
                server_counters: ServerCountersDoc::of(point, record.server.split.is_some()),
                ..load_point(point)
            })
            .map(|point| populations.judged(point))
            .collect();
        let (repeats, peak, curve) = summary(&load_points);
        let (outcome, outcome_reason) = match &record.outcome {
            Outcome::Complete => (OutcomeDoc::Complete, None),
            Outcome::Interrupted => (OutcomeDoc::Interrupted, None),
            Outcome::Aborted(reason) => (OutcomeDoc::Aborted, Some(reason.clone())),
        };
        // The formatter panics if the clock is set before 1970.
        let started = record.started.max(SystemTime::UNIX_EPOCH);
        let doc = Self {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            outcome,
            outcome_reason,
            label: disclosure.label.clone(),
            note: disclosure.note.clone(),
            command: disclosure.command.clone(),
            plan: plan(record),
            pacing: populations.pacing(),
            machine: disclosure.machine.clone(),
            hosts: hosts::hosts(record),
            calibration: disclosure.calibration.clone(),
            server: server(record, disclosure),
            load_points,
            repeats,
            peak,
            curve,
            soak: None,
            find: None,
            conditions: Vec::new(),
            noted: record.noted.clone(),
            leftover: record.leftover.clone(),
            recycle_bins: record.recycle_bins.clone(),
            space_kept: record.space_kept.clone(),
            space_unchecked: record.space_unchecked.clone(),
        };
        let soak = SoakDoc::of(&doc);
        Self { soak, ..doc }.with_purpose()
    }
}

fn churn(point: &LoadPointRecord) -> ChurnDoc {
    let none = ChurnRecord::default();
    ChurnDoc::from(point.ops.churn().unwrap_or(&none))
}

fn plan(record: &RunRecord) -> PlanDoc {
    let mut plan = PlanDoc::from(&record.plan);
    if record.driver == Origin::Own {
        plan.generator.driver = Some(Named::Known(DriverDoc::Own));
    }
    if !record.hosts.is_empty() {
        // Those of all hosts together.
        let workers = record
            .load_points
            .iter()
            .map(|point| point.generator.workers.len());
        let most = workers.max().unwrap_or_default() as u32;
        plan.generator.threads = plan.generator.threads.max(most);
    }
    let origin = record.operations;
    plan.operations = (origin == Origin::Own).then_some(Named::Known(origin));
    plan
}

fn server(record: &RunRecord, disclosure: Disclosure) -> ServerDoc {
    let facts = &record.server;
    let first = SessionTermsDoc::of("", facts);
    ServerDoc {
        url: facts.url.clone(),
        auth: first.auth,
        dialect: first.dialect,
        signing: first.signing,
        encryption: first.encryption,
        sessions: sessions(record),
        max_read_bytes: facts.max_read,
        max_write_bytes: facts.max_write,
        max_transact_bytes: facts.max_transact,
        split: facts.split,
        tree: facts.tree.as_ref().map(Into::into),
        flush: Some(disclosure.flush),
        write: disclosure.write,
        software: disclosure.software,
        build: disclosure.build,
        storage: disclosure.storage,
        otherwise: Vec::new(),
        place: disclosure.place,
        notes: disclosure.notes,
    }
}

fn load_point(record: &LoadPointRecord) -> LoadPointDoc {
    let ops = &record.ops;
    let all = ops.window_all();
    let bytes_read = ops.window_bytes(Direction::Read);
    let bytes_written = ops.window_bytes(Direction::Write);
    let invalid_reason = invalid_reason(record);
    let window_s = record.window.as_secs_f64();
    let throughput_mbps = throughput_mbps(bytes_read + bytes_written, window_s);
    let ops_per_s = per(all.count() as f64, window_s);
    let links = ops.events();
    let stage = record.stage.as_ref();
    let stall = stall(record.punctuality.in_flight_max.0, all.service.max());
    LoadPointDoc {
        clients: record.clients,
        rate: record.rate.map(|rate| rate.of_all(record.clients)),
        repeat: record.repeat,
        stage: stage.map(|place| StageDoc::of(place, record.clients_at_start)),
        memory: record.memory.map(StageMemoryDoc::from),
        window_opened: Some(opened(record.window_opened)),
        window_s,
        valid: invalid_reason.is_none(),
        invalid_reason,
        throughput_mbps,
        ops_per_s,
        bytes_read,
        bytes_written,
        errors: ops.errors(),
        latency_ns: LatencyDoc::of(all.latency()),
        ops: by_kind(ops, |kind| {
            op(&ops.window(kind), ops.whole(kind), ops.in_flight(kind))
        }),
        populations: Vec::new(),
        units: None,
        ops_before: Some(ops.before()),
        whole: by_kind(ops, |kind| ops.whole(kind)),
        failures: FailureDoc::all(ops.failures()),
        refused_directories: RefusedDirectoryDoc::all(ops),
        differences: differences(ops.differences()),
        replayed: None,
        clients_served: Some(record.clients_served),
        dropouts: record.dropouts.clone(),
        events: Vec::new(),
        in_blackout: InBlackoutDoc::of_point(record, &all),
        churn: None,
        links: links.kept().iter().map(LinkDoc::from).collect(),
        links_left_out: (links.left_out() > 0).then(|| links.left_out()),
        client: client(record.client, all.count()),
        server_cpu: Some(ServerCpuDoc::of(record, throughput_mbps, ops_per_s)),
        tcp: record.tcp.as_ref().map(TcpDoc::from),
        server_counters: None,
        stalled: Some(stall.is_some()),
        stalled_ns: stall,
        generator_limited: Some(record.generator.limited.is_some()),
        latency_noise_ns: latency_noise(&record.generator),
        generator: Some(GeneratorDoc::from(record)),
        hosts: hosts::parts(record),
        setup: setup(&record.setup),
        caching: None,
        offered: None,
        streams: None,
        unanswered_ns_max: None,
        verification: None,
        verify: None,
        wrong_data: ops.wrong_places().to_vec(),
        series: None,
        steady: Some(steady(&record.series, record.window)),
        drain_s: Some(record.drain.as_secs_f64()),
        final_flush_s: record.final_flush.map(|took| took.as_secs_f64()),
        fairness: FairnessDoc::of(&record.fairness),
        concurrency: record
            .stage
            .is_none()
            .then(|| concurrency(record.in_flight.as_secs_f64(), &all.service, window_s)),
        credit_starved_s: record.credit_starved.as_secs_f64(),
        held_back_s: record.held_back.as_secs_f64(),
        before_point: record.hooks.before.clone(),
        after_point: record.hooks.after.clone(),
        quiet: record.hooks.quiet.clone(),
    }
}

/// Returns the longest service time of a request that was in flight when the window
/// closed, in nanoseconds, if it shows a stall that the latencies miss; `None` otherwise.
///
/// A limit of p99.9 alone would accuse many load points. A request that is in flight at a
/// given instant is more often a long one, and with many clients one of them exceeds p99.9
/// by chance. Of 39 closed loops without a stall 6 also exceeded their longest latency,
/// by up to 1.6 times.
pub(crate) fn stall(took_ns: u64, longest_ns: u64) -> Option<u64> {
    (took_ns > STALL_NS_MIN && took_ns > longest_ns.saturating_mul(2)).then_some(took_ns)
}

/// Returns why the point is invalid. Drop-outs alone make it invalid, even if the
/// record gives no reason.
fn invalid_reason(record: &LoadPointRecord) -> Option<String> {
    let attempts = record.setup.attempts.as_ref();
    let refused = attempts.filter(|attempts| attempts.failed() > 0);
    let refused = refused.map(|attempts| {
        let (failed, tried) = (attempts.failed(), counted(attempts.ended.into(), "session"));
        format!("{failed} of {tried} could not be set up")
    });
    let dropped = || {
        let (count, clients) = (record.dropouts.len(), record.clients);
        (count > 0).then(|| format!("{count} of {clients} clients dropped out"))
    };
    record.invalid.clone().or_else(dropped).or(refused)
}

/// Returns when a window opened, as documents have it.
pub(crate) fn opened(at: SystemTime) -> String {
    // The formatter panics if the clock is set before 1970.
    humantime::format_rfc3339_micros(at.max(SystemTime::UNIX_EPOCH)).to_string()
}

/// Returns Mbit/s (10^6 bits); 0 for a window of length 0.
pub(crate) fn throughput_mbps(bytes: u64, window_s: f64) -> f64 {
    per(bytes as f64 * 8.0 / 1e6, window_s)
}

/// Returns the microseconds of CPU per operation; `None` without operations.
pub(crate) fn cpu_us_per_op(cpu_s: f64, operations: u64) -> Option<f64> {
    (operations > 0).then(|| cpu_s * 1e6 / operations as f64)
}

fn client(usage: ClientUsage, operations: u64) -> ClientDoc {
    let cpu_s = (usage.cpu_user + usage.cpu_system).as_secs_f64();
    ClientDoc {
        cpu_user_s: usage.cpu_user.as_secs_f64(),
        cpu_system_s: usage.cpu_system.as_secs_f64(),
        cpu_us_per_op: cpu_us_per_op(cpu_s, operations),
        max_rss_bytes: usage.max_rss_bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn throughput_is_in_decimal_megabits() {
        let cases = [
            (125_000, 1.0, 1.0),
            (1_250_000_000, 10.0, 1000.0),
            (1 << 20, 8.0, 1.048_576),
            (1, 0.0, 0.0),
        ];
        for (bytes, seconds, mbps) in cases {
            assert_eq!(throughput_mbps(bytes, seconds), mbps);
        }
    }

    #[test]
    fn cpu_per_operation_needs_operations() {
        let usage = ClientUsage {
            cpu_user: Duration::from_millis(300),
            cpu_system: Duration::from_millis(700),
            max_rss_bytes: 1,
        };
        assert_eq!(client(usage, 100_000).cpu_us_per_op, Some(10.0));
        assert_eq!(client(usage, 0).cpu_us_per_op, None);
    }
}
