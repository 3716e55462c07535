//! Time that clients lost because their driver had no room for what was due.

use super::Orders;
use crate::clock::Nanos;
use crate::run::member::Member;
use crate::run::supply::Supply;

/// How long a group has been held back, and its clients with it.
#[derive(Default)]
pub(super) struct HeldBack {
    /// Since when it is, if it is.
    since: Option<Nanos>,
    /// Up to when that has been counted.
    counted: Nanos,
    /// Of the window, summed over the clients that had something to send.
    sum: Nanos,
}

impl HeldBack {
    /// The driver has no room at `now`.
    pub(super) fn begin(&mut self, now: Nanos) {
        if self.since.is_none() {
            self.since = Some(now);
            self.counted = now;
        }
    }

    pub(super) const fn since(&self) -> Option<Nanos> {
        self.since
    }

    /// Counts up to `now`, of each client from when it had something to send; to
    /// be called before anything is sent.
    pub(super) fn count<S: Supply>(&mut self, now: Nanos, members: &[Member<S>], orders: &Orders) {
        if self.since.is_none() {
            return;
        }
        for due in members.iter().filter_map(|member| member.due_since(now)) {
            let lost = orders.window_between(due.max(self.counted), now);
            self.sum = self.sum + lost;
        }
        self.counted = now;
    }

    /// All that was due has been sent.
    pub(super) const fn end(&mut self) {
        self.since = None;
    }

    pub(super) const fn sum(&self) -> Nanos {
        self.sum
    }
}
