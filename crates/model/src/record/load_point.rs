//! The measurements of one load point of one pass.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu::ServerCpuRecord;
use crate::event::EventRecord;
use crate::hooks::HooksRecord;
use crate::load::Rate;
use crate::record::{
    CountersRecord, Fairness, GeneratorRecord, HostRecord, Punctuality, Series, StageMemory,
    StageRecord, Tally, TcpRecord, latency_histogram,
};
use crate::stages::StagePlace;

/// A client that did not finish its load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dropout {
    /// The client's number, from 0.
    pub client: u32,
    /// The reason, as a lower-case clause.
    pub reason: String,
    /// Seconds from the start of the load until the client was lost, ramps included. Absent
    /// if it was lost before or after the load, and in documents of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
}

/// The resources that the generator's own process used during the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The attempts, where failures are counted.
    pub attempts: Option<SetupAttempts>,
}

/// The attempts to set up sessions, where failures are counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetupAttempts {
    /// Number of attempts that have ended.
    pub ended: u32,
    /// Number of failed attempts by phase and cause. A cause is the name of a status, or
    /// else a clause. Beyond [`SETUP_CAUSES_MAX`], it is "other causes".
    pub failures: BTreeMap<(SetupPhase, String), u32>,
    /// Whether the share of failed attempts ended the set-up.
    pub limit_reached: bool,
    /// Why this machine could not set up more sessions, if it was the limit.
    pub own_limit: Option<String>,
    /// What had been attempted, over time.
    pub over_time: Vec<AttemptsAt>,
}

/// Attempts to set up sessions up to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptsAt {
    /// Time since the first attempt began.
    pub elapsed: Duration,
    /// Number of sessions that stood.
    pub stood: u32,
    /// Number of attempts that had failed.
    pub failed: u32,
}

/// Largest number of causes with a count of their own.
pub const SETUP_CAUSES_MAX: usize = 32;

impl SetupAttempts {
    /// Counts failed attempts.
    pub fn fail(&mut self, phase: SetupPhase, cause: String, sessions: u32) {
        let is_known = self.failures.contains_key(&(phase, cause.clone()));
        let cause = if is_known || self.failures.len() < SETUP_CAUSES_MAX {
            cause
        } else {
            "other causes".to_owned()
        };
        *self.failures.entry((phase, cause)).or_default() += sessions;
        self.ended += sessions;
    }

    /// Returns the number of failed attempts.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.failures.values().sum()
    }

    /// Returns the failed attempts as a share of all, 0 to 1.
    #[must_use]
    pub fn failed_share(&self) -> f64 {
        f64::from(self.failed()) / f64::from(self.ended.max(1))
    }
}

/// A step of the set-up of a session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SetupPhase {
    /// The TCP connection.
    Connect,
    /// NEGOTIATE.
    Negotiate,
    /// SESSION_SETUP, all of its requests.
    LogOn,
    /// TREE_CONNECT.
    TreeConnect,
}

impl SetupPhase {
    /// All phases in their order.
    pub const ALL: [Self; 4] = [
        Self::Connect,
        Self::Negotiate,
        Self::LogOn,
        Self::TreeConnect,
    ];
}

/// The part of a population in a load point with several of them.
#[derive(Clone, Debug)]
pub struct PopulationRecord {
    /// Its name.
    pub name: String,
    /// Clients asked for.
    pub clients: u32,
    /// Its operations.
    pub ops: Tally,
    /// The same operations over time.
    pub series: Series,
    /// Those of its clients that completed an operation in the window.
    pub clients_served: u32,
    /// How punctual its actions were that are due by the clock.
    pub punctuality: Punctuality,
    /// Those of its clients that did not run the whole window.
    pub dropouts: Vec<Dropout>,
}

/// One load point of one pass.
#[derive(Clone, Debug)]
pub struct LoadPointRecord {
    /// Clients asked for.
    pub clients: u32,
    /// The rate, where it is not the plan's.
    pub rate: Option<Rate>,
    /// Number of the pass, from 1.
    pub repeat: u32,
    /// Wall-clock time at which the window opened.
    pub window_opened: SystemTime,
    /// Length of the window that was actually measured.
    pub window: Duration,
    /// The operations of the load point.
    pub ops: Tally,
    /// The same operations over time.
    pub series: Series,
    /// The parts of the populations, in the order of the plan; empty if there is only one.
    pub populations: Vec<PopulationRecord>,
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
    /// Clients that did not run the whole window. The clients of several populations have
    /// their numbers within these.
    pub dropouts: Vec<Dropout>,
    /// The reason why the load point must not be quoted; `None` when it is valid.
    pub invalid: Option<String>,
    /// The generator's own use of CPU and memory; of several hosts, their sum.
    pub client: ClientUsage,
    /// The server's use of CPU.
    pub server_cpu: ServerCpuRecord,
    /// What TCP did on the connections to the server, if that was asked for.
    pub tcp: Option<TcpRecord>,
    /// What the server counted by itself, if that was asked for.
    pub counters: Option<CountersRecord>,
    /// The state of the generator, and whether it was the limit.
    pub generator: GeneratorRecord,
    /// The parts of the hosts, the first host first; empty if there is only one.
    pub hosts: Vec<HostRecord>,
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
    /// What was done around the load point.
    pub hooks: HooksRecord,
    /// The events of the plan, in their order.
    pub events: Vec<EventRecord>,
    /// Clients under load at the start of the stage that it is.
    pub clients_at_start: u32,
    /// The stage that it is, if it is one.
    pub stage: Option<StagePlace>,
    /// Memory at its end, if it is a stage.
    pub memory: Option<StageMemory>,
    /// The measurements of each stage. It is empty if the load has no stages.
    pub stages: Vec<StageRecord>,
}

impl PopulationRecord {
    /// Returns a population of which nothing is known yet.
    #[must_use]
    pub fn begun(name: String, clients: u32) -> Self {
        Self {
            name,
            clients,
            ops: Tally::default(),
            series: Series::default(),
            clients_served: 0,
            punctuality: Punctuality::default(),
            dropouts: Vec::new(),
        }
    }
}

impl LoadPointRecord {
    /// Returns whether it may be quoted, with all its stages.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let mut stages = self.stages.iter();
        self.invalid.is_none() && stages.all(|stage| stage.invalid.is_none())
    }

    /// Returns how many clients were under load on average.
    #[must_use]
    pub fn mean_clients(&self) -> f64 {
        let stage = self.stage.as_ref();
        let of_stage = stage.map(|stage| stage.mean_clients(self.clients_at_start, self.clients));
        of_stage.unwrap_or_else(|| self.clients.into())
    }

    /// Returns a load point of which nothing is known yet but its load.
    #[must_use]
    pub fn begun(clients: u32, rate: Option<Rate>, repeat: u32) -> Self {
        Self {
            clients,
            rate,
            repeat,
            window_opened: SystemTime::UNIX_EPOCH,
            window: Duration::ZERO,
            ops: Tally::default(),
            series: Series::default(),
            populations: Vec::new(),
            drain: Duration::ZERO,
            final_flush: None,
            fairness: Fairness::default(),
            in_flight: Duration::ZERO,
            punctuality: Punctuality::default(),
            clients_served: 0,
            dropouts: Vec::new(),
            invalid: None,
            client: ClientUsage::default(),
            server_cpu: ServerCpuRecord {
                source: String::new(),
                used: Err("the load has not ended".to_owned()),
            },
            tcp: None,
            counters: None,
            generator: GeneratorRecord::default(),
            hosts: Vec::new(),
            setup: SetupRecord {
                session: latency_histogram(),
                connections: 0,
                elapsed: Duration::ZERO,
                attempts: None,
            },
            credit_starved: Duration::ZERO,
            held_back: Duration::ZERO,
            unsent: 0,
            hooks: HooksRecord::default(),
            events: Vec::new(),
            clients_at_start: clients,
            stage: None,
            memory: None,
            stages: Vec::new(),
        }
    }
}
