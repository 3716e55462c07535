//! The set-up of the sessions of a load point.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::SetupPhase;

use crate::latency::{Hdr, LatencyDoc};

/// The set-up of the sessions of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SetupDoc {
    /// Number of sessions that were set up.
    pub sessions: u64,
    /// Number of TCP connections of those sessions. Absent in documents of releases
    /// in which each session had its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Seconds from the first connect until the last session was ready for the
    /// load. A ready session is connected and logged on. It also has all that its
    /// load needs, such as open files or the files that a replay expects.
    pub elapsed_s: f64,
    /// Sessions that became ready per second of that time. Log-ons and opens
    /// alternate in it. So it is a server's rate of log-ons only if the load needs
    /// nothing else. Absent in documents of releases that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_per_s: Option<f64>,
    /// Time from connect to tree connect, over sessions, without later opens;
    /// `null` without sessions.
    pub latency_ns: Option<LatencyDoc>,
    /// Histogram of that time, in the format of an operation's histogram. Absent in
    /// documents of releases that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdr: Option<Hdr>,
    /// The attempts, where failures are counted. Absent where a failure ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptsDoc>,
}

/// The attempts to set up sessions, where failures are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AttemptsDoc {
    /// Number of attempts that ended.
    pub ended: u32,
    /// Number of attempts that failed.
    pub failed: u32,
    /// The failed attempts by phase and cause, the most frequent first.
    pub failures: Vec<SetupFailureDoc>,
    /// Whether the share of failed attempts ended the set-up.
    pub limit_reached: bool,
    /// Why this machine could not set up more sessions; `null` if it was not the limit.
    pub own_limit: Option<String>,
    /// Sessions that stood and attempts that had failed, twice per second.
    pub over_time: Vec<AttemptsAtDoc>,
}

/// Failed attempts to set up a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SetupFailureDoc {
    /// The phase that failed.
    pub phase: SetupPhase,
    /// The status of the server's answer, or the reason in words.
    pub cause: String,
    /// Number of attempts.
    pub count: u32,
}

/// Attempts up to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AttemptsAtDoc {
    /// Seconds since the first attempt began.
    pub s: f64,
    /// Number of sessions that stood.
    pub stood: u32,
    /// Number of attempts that had failed.
    pub failed: u32,
}
