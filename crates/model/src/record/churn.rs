//! Clients that left and came back.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::recorder::latency_histogram;
use crate::Nanos;

/// The clients that left and came back, in the whole load point.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Time of each session of a client that came back to connect and log on, in nanoseconds.
    #[serde(with = "super::transfer")]
    pub log_on: Histogram<u64>,
}

impl Default for ChurnRecord {
    fn default() -> Self {
        Self {
            left: 0,
            vanished: 0,
            silent: 0,
            silent_ended: 0,
            back: 0,
            log_on: latency_histogram(),
        }
    }
}

impl ChurnRecord {
    /// Counts a client that came back, and how long its log-on took.
    pub fn came_back(&mut self, log_on: Nanos) {
        self.back += 1;
        self.log_on.saturating_record(log_on.0.max(1));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.left += other.left;
        self.vanished += other.vanished;
        self.silent += other.silent;
        self.silent_ended += other.silent_ended;
        self.back += other.back;
        // The bounds are equal, so adding cannot fail.
        let added = self.log_on.add(&other.log_on);
        debug_assert!(added.is_ok());
    }
}
