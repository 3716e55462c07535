//! Clients that left and came back.

use serde::{Deserialize, Serialize};

use super::packed::KeptLatencies;
use crate::Nanos;

/// The clients that left and came back, in the whole load point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ChurnRecord {
    /// Clients that left.
    pub left: u64,
    /// Those of them that went without a LOGOFF.
    pub vanished: u64,
    /// Connections that were left open and silent.
    pub silent: u64,
    /// Those of them that were reset later, because there were too many.
    pub silent_ended: u64,
    /// Clients that came back.
    pub back: u64,
    /// Time of each session of a client that came back to connect and log on.
    pub log_on: KeptLatencies,
}

impl ChurnRecord {
    /// Counts a client that came back, and how long its log-on took.
    pub fn came_back(&mut self, log_on: Nanos) {
        self.back += 1;
        self.log_on.record(log_on);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.left += other.left;
        self.vanished += other.vanished;
        self.silent += other.silent;
        self.silent_ended += other.silent_ended;
        self.back += other.back;
        self.log_on.merge(&other.log_on);
    }
}
