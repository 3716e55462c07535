//! What a server counted by itself under a load.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cpu::CpuScope;

/// The counters of a server, from just before the first operation of a load point to just
/// after the last one, ramps included. No set-up and no log-off of sessions is among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountersRecord {
    /// Short description of the source.
    pub source: String,
    /// What was counted, or the reason why it is unknown.
    pub counted: Result<ServerCounters, String>,
    /// Memory of the server with all sessions, if it is known.
    pub memory: Option<ServerMemory>,
}

/// Differences of a server's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Requests by the SMB2 command, named as in result documents.
    pub commands: BTreeMap<String, ServerCalls>,
    /// Calls into the file system below, by the server's name of the call.
    pub calls: BTreeMap<String, ServerCalls>,
    /// What is open at the server, when the load has ended.
    pub open: ServerOpen,
}

/// What is open at a server. Each is `None` if the source does not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerOpen {
    /// Sessions.
    pub sessions: Option<u64>,
    /// Connected shares.
    pub tree_connects: Option<u64>,
    /// Files.
    pub files: Option<u64>,
}

/// Calls of one kind that a server counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCalls {
    /// Number of calls.
    pub count: u64,
    /// Time that they took, if the source tells it.
    pub time: Option<Duration>,
}

/// Memory that a server used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerMemory {
    /// Whose memory it is. Memory that processes share is counted once.
    pub scope: CpuScope,
    /// Bytes before the load, with all sessions set up.
    pub before: u64,
    /// Bytes after the load, before the log-offs.
    pub after: u64,
}
