//! The measurements of a run, before they are summarised.
//!
//! A [`Recorder`] has a fixed size. A worker records into it during one interval.
//! At the end of the interval the recorders of all workers are merged. The result
//! becomes a line of the [`Series`] and is added to the load point's [`Tally`].
//! Merging histograms is exact. Percentiles over workers and intervals are
//! therefore percentiles over operations, never means of means.

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
    /// The reason, as a lower-case clause.
    pub reason: String,
}

/// The resources that the generator's own process used during the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientUsage {
    /// CPU time in user mode.
    pub cpu_user: Duration,
    /// CPU time in the kernel.
    pub cpu_system: Duration,
    /// Largest resident set of the process so far, in bytes.
    pub max_rss_bytes: u64,
}

/// The set-up of the sessions of one load point.
#[derive(Clone, Debug)]
pub struct SetupRecord {
    /// Nanoseconds from connect until the tree was connected, one value per
    /// session.
    pub session: Histogram<u64>,
    /// TCP connections of the sessions.
    pub connections: u64,
    /// Time from the first connect until the last session was completely ready for
    /// the load.
    pub elapsed: Duration,
}

/// One load point of one pass.
#[derive(Clone, Debug)]
pub struct LoadPointRecord {
    /// Clients asked for.
    pub clients: u32,
    /// Number of the pass, from 1.
    pub repeat: u32,
    /// Length of the window that was actually measured.
    pub window: Duration,
    /// The operations of the load point.
    pub ops: Tally,
    /// The same operations over time.
    pub series: Series,
    /// Time from when no further operation was sent until the last operation under
    /// load was done. Completions in it belong to no window.
    pub drain: Duration,
    /// Time until every file had been flushed. It starts at the end of the last
    /// operation under load, or of the window if that is later. `None` if nothing
    /// is done after the load.
    pub final_flush: Option<Duration>,
    /// How evenly the server served the clients.
    pub fairness: Fairness,
    /// Time within the window in which operations were in flight, summed over
    /// operations. It is counted as they are sent and answered, not as the sum of
    /// their latencies. Each of the two values can therefore check the other.
    pub in_flight: Duration,
    /// How punctual the actions were that are due by the clock.
    pub punctuality: Punctuality,
    /// Clients that completed an operation in the window.
    pub clients_served: u32,
    /// Clients that did not run the whole window.
    pub dropouts: Vec<Dropout>,
    /// The reason why the load point must not be quoted; `None` when it is valid.
    pub invalid: Option<String>,
    /// The generator's own use of CPU and memory.
    pub client: ClientUsage,
    /// The server's use of CPU.
    pub server_cpu: ServerCpuRecord,
    /// The state of the generator, and whether it was the limit.
    pub generator: GeneratorRecord,
    /// The set-up of the sessions.
    pub setup: SetupRecord,
    /// Time within the window, summed over clients, in which a request was due but
    /// no credit was available.
    pub credit_starved: Duration,
    /// Time within the window, summed over clients, in which a request was due but
    /// the socket had not yet accepted earlier ones.
    pub held_back: Duration,
    /// Operations that were next but could not be sent before the load ended, at
    /// most one per client. They are not counted as operations.
    pub unsent: u32,
}

/// The properties that the server negotiated; the same for every session of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// The target without secrets.
    pub url: String,
    /// Whether the server is on this machine and shares its CPUs, as far as the
    /// address of its name shows.
    pub is_here: bool,
    /// The kind of log-on that the server accepted; `None` for a server without
    /// SMB.
    pub logon: Option<smbench_protocol::Logon>,
    /// Negotiated dialect; `None` for a server without SMB.
    pub dialect: Option<smbench_protocol::Dialect>,
    /// Signing algorithm in use, `None` when messages are not signed.
    pub signing: Option<smbench_protocol::SigningAlgorithm>,
    /// Cipher in use, `None` when messages are not encrypted. Encrypted messages
    /// are not signed in addition.
    pub encryption: Option<smbench_protocol::Cipher>,
    /// Largest READ in bytes; 0 for a server without such limits.
    pub max_read: u32,
    /// Largest WRITE in bytes; see `max_read`.
    pub max_write: u32,
    /// Largest transaction in bytes; see `max_read`.
    pub max_transact: u32,
}

impl ServerFacts {
    /// Makes the facts of a server that does not speak SMB. `url` must not contain
    /// a secret.
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
    /// The user interrupted the run.
    Interrupted,
    /// Aborted because of the server or the network, with the reason as a
    /// lower-case clause.
    Aborted(String),
}

/// The source of a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The plan.
    #[default]
    Plan,
    /// The program that embeds the engine. What the plan says of this part did not
    /// run.
    Own,
}

/// All measurements of a run so far.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The plan of the run.
    pub plan: Plan,
    /// The source of the driver.
    pub driver: Origin,
    /// The source of the operations.
    pub operations: Origin,
    /// The properties that the server negotiated.
    pub server: ServerFacts,
    /// The salt of the contents of files, drawn anew for each run. It serves to
    /// examine files on the server.
    pub salt: Salt,
    /// Wall-clock time of the start.
    pub started: SystemTime,
    /// Finished load points, and at most one that was cut short.
    pub load_points: Vec<LoadPointRecord>,
    /// How the run ended; [`Outcome::Complete`] only after every load point has
    /// run.
    pub outcome: Outcome,
    /// The files that could not be removed from the share, as a lower-case clause.
    pub leftover: Option<String>,
}

impl RunRecord {
    /// Makes the record of a run that has just begun.
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
