//! What the clock asked for in the window of a load point.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operations that were due in the window by the clock, no matter when they were
/// sent. Of an operation of several requests, only the first is due by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedDoc {
    /// Number of operations due.
    pub operations: u64,
    /// Operations due per second: the offered load.
    pub ops_per_s: f64,
    /// Number of operations answered in the window, no matter when they were due.
    /// Absent, like the next key, in documents of releases that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// Whether the requested rate was not reached. Fewer operations were then
    /// answered than were due, by more than 1 %, and by more than are due in 100 ms.
    /// Where load points count units, the limits of the unit decide. Absent without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_missed: Option<bool>,
    /// Number of operations sent more than a millisecond after they were due.
    pub late: u64,
    /// Number of operations never sent.
    pub dropped: u64,
    /// Number of operations without an answer when the window closed, including
    /// those never sent. None of the window's latencies contains them. 0, like the
    /// next key, in documents of releases that did not count them.
    #[serde(default)]
    pub unanswered: u64,
    /// Longest wait of one of those after it was due, in nanoseconds. For an
    /// operation that was never sent, it counts until the operation was given up.
    #[serde(default)]
    pub unanswered_ns_max: u64,
    /// Longest time between when an operation was due and when it was sent, in
    /// nanoseconds.
    pub delay_ns_max: u64,
}

impl OfferedDoc {
    /// Returns the answered operations as a share of the due ones, 0 to 1; `None` if
    /// that is not known.
    #[must_use]
    pub fn reached_share(self) -> Option<f64> {
        let due = self.operations.max(1) as f64;
        Some((self.answered? as f64 / due).min(1.0))
    }
}
