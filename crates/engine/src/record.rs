//! What a run measured, before anyone summarises it.
//!
//! A [`Recorder`] has a fixed size and is what a worker records into during one
//! interval. Those of all workers are merged when the interval is over, become
//! a line of the [`Series`] and are added to the load point's [`Tally`]. Merging
//! histograms is exact, so percentiles over workers and intervals are
//! percentiles over operations, never means of means.

mod caching;
mod fairness;
mod health;
mod kind;
mod punctuality;
mod recorder;
mod series;
mod tally;
mod verification;

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;

use crate::pattern::Salt;
use crate::plan::Plan;
use crate::server_cpu::ServerCpuRecord;

pub use caching::CachingRecord;
pub use fairness::Fairness;
pub use health::{GeneratorRecord, LatencyNoise, WorkerRecord, lateness_histogram};
pub use kind::{Direction, OpKind};
pub use punctuality::Punctuality;
pub use recorder::{
    Difference, Failure, HIGHEST_LATENCY_NS, LATENCY_DIGITS, OpRecord, Recorder, Times,
    latency_histogram,
};
pub use series::{INTERVALS_MAX, IntervalSummary, Series};
pub use tally::{OpTotals, Phase, Tally};
pub use verification::Verification;

/// A client that did not finish its load point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropout {
    /// The client's number, from 0.
    pub client: u32,
    /// What happened, as a lower-case clause.
    pub reason: String,
}

/// What the generator's own process used during the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientUsage {
    /// CPU time in user mode.
    pub cpu_user: Duration,
    /// CPU time in the kernel.
    pub cpu_system: Duration,
    /// Largest resident set of the process so far, in bytes.
    pub max_rss_bytes: u64,
}

/// Setting up the sessions of one load point.
#[derive(Clone, Debug)]
pub struct SetupRecord {
    /// Nanoseconds from connect to tree connected, one value per session.
    pub session: Histogram<u64>,
    /// TCP connections that the sessions have.
    pub connections: u64,
    /// From the first connect until the last session was ready for the load, with all
    /// that this needs.
    pub elapsed: Duration,
}

/// One load point of one pass.
#[derive(Clone, Debug)]
pub struct LoadPointRecord {
    /// Clients asked for.
    pub clients: u32,
    /// Which pass, from 1.
    pub repeat: u32,
    /// Length of the window that was really measured.
    pub window: Duration,
    /// Operations.
    pub ops: Tally,
    /// The same over time.
    pub series: Series,
    /// From when no further operation was sent until the last one under load was done;
    /// what completes in it is in no window.
    pub drain: Duration,
    /// From the end of the last operation under load, or of the window where that is
    /// later, until every file had been flushed; `None` where nothing is done when
    /// the load is over.
    pub final_flush: Option<Duration>,
    /// How evenly clients were served.
    pub fairness: Fairness,
    /// Time within the window in which operations were in flight, summed over
    /// operations. Counted as they are sent and answered, not summed up of their
    /// latencies, so that either can be checked by the other.
    pub in_flight: Duration,
    /// How well due instants were kept, where actions are due by the clock.
    pub punctuality: Punctuality,
    /// Clients that completed an operation in the window.
    pub clients_served: u32,
    /// Clients that did not run the whole window.
    pub dropouts: Vec<Dropout>,
    /// Why the point must not be quoted; `None` when it is valid.
    pub invalid: Option<String>,
    /// The generator's own use of CPU and memory.
    pub client: ClientUsage,
    /// The server's use of CPU.
    pub server_cpu: ServerCpuRecord,
    /// How the generator fared, and whether it was the limit.
    pub generator: GeneratorRecord,
    /// Session set-up.
    pub setup: SetupRecord,
    /// Time within the window, summed over clients, in which a request was due
    /// but no credit was at hand.
    pub credit_starved: Duration,
    /// Time within the window, summed over clients, in which a request was due
    /// but earlier ones still waited for the socket to take them.
    pub held_back: Duration,
    /// Operations, one of a client at most, that were next but could not be sent
    /// before the load ended. None of them is among those counted.
    pub unsent: u32,
}

/// What the server agreed to; the same for every session of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// The target without secrets.
    pub url: String,
    /// Whether it is on this machine and shares its CPUs, as far as the address that
    /// its name stands for tells.
    pub is_here: bool,
    /// As what sessions were let in; `None` where that is not SMB's.
    pub logon: Option<smbench_protocol::Logon>,
    /// Negotiated dialect; `None` where it is not an SMB server.
    pub dialect: Option<smbench_protocol::Dialect>,
    /// Signing algorithm in use, `None` when messages are not signed.
    pub signing: Option<smbench_protocol::SigningAlgorithm>,
    /// Cipher in use, `None` when messages are not encrypted. What is
    /// encrypted is not signed besides.
    pub encryption: Option<smbench_protocol::Cipher>,
    /// Largest READ, WRITE and transaction in bytes; 0 where it has no such limits.
    pub max_read: u32,
    /// See `max_read`.
    pub max_write: u32,
    /// See `max_read`.
    pub max_transact: u32,
}

impl ServerFacts {
    /// What there is to say of a server that does not speak SMB. `url` must not
    /// hold a secret.
    #[must_use]
    pub fn other(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            is_here: false,
            logon: None,
            dialect: None,
            signing: None,
            encryption: None,
            max_read: 0,
            max_write: 0,
            max_transact: 0,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every planned load point was run.
    Complete,
    /// Interrupted by the user.
    Interrupted,
    /// Given up because of the server or the network, as a lower-case clause.
    Aborted(String),
}

/// Where a part of a run came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It is what the plan says.
    #[default]
    Plan,
    /// The program that embeds the engine brought it; what the plan says of it is
    /// not what ran.
    Own,
}

/// Everything a run measured so far.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// What was asked for.
    pub plan: Plan,
    /// What carried the operations out.
    pub driver: Origin,
    /// The operations themselves.
    pub operations: Origin,
    /// What the server agreed to.
    pub server: ServerFacts,
    /// What the contents of files were salted with, for whoever looks at them on the
    /// server; drawn anew for each run.
    pub salt: Salt,
    /// Wall-clock time of the start.
    pub started: SystemTime,
    /// Finished load points, and at most one that was cut short.
    pub load_points: Vec<LoadPointRecord>,
    /// How it ended; [`Outcome::Complete`] only once everything has run.
    pub outcome: Outcome,
    /// What could not be removed from the share, as a lower-case clause.
    pub leftover: Option<String>,
}

impl RunRecord {
    /// A run that has just begun.
    pub(crate) fn new(plan: &Plan, server: ServerFacts, started: SystemTime) -> Self {
        Self {
            plan: plan.clone(),
            driver: Origin::Plan,
            operations: Origin::Plan,
            server,
            salt: Salt::default(),
            started,
            load_points: Vec::new(),
            outcome: Outcome::Interrupted,
            leftover: None,
        }
    }
}
