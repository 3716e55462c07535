//! The clock of a host during a load point.

use smbench_model::Nanos;

use crate::hosts::ClockRelation;
use crate::worker::schedule::Schedule;

/// The relations of a host's clock before and after the load.
pub(super) struct Clocks {
    pub(super) relation: ClockRelation,
    /// When the clocks were related first.
    pub(super) related: Nanos,
    pub(super) after: ClockRelation,
    /// When they were related again, after the load.
    pub(super) until: Nanos,
}

impl Clocks {
    /// Returns by how much the other clock has gained on the first host's.
    pub(super) const fn drift(&self) -> i64 {
        self.after.offset - self.relation.offset
    }

    /// Returns by how much the clocks may be apart at an instant. A drift within the bounds is
    /// none.
    pub(super) fn apart(&self, at: Nanos) -> Nanos {
        let bounds = self.relation.bound + self.after.bound;
        let drift = Nanos(self.drift().unsigned_abs()).since(bounds);
        let passed = (drift.0 as f64 * self.passed(at)).round() as u64;
        self.relation.bound + Nanos(passed)
    }

    /// Estimates how much later than the first host's window the other one opened, in
    /// nanoseconds. A clock that gains opens it earlier.
    pub(super) fn skew(&self, open: Nanos) -> i64 {
        -(self.drift() as f64 * self.passed(open)).round() as i64
    }

    /// Returns which part of the drift has passed at an instant, 0 to 1.
    fn passed(&self, at: Nanos) -> f64 {
        let all = self.until.since(self.related).0.max(1) as f64;
        (at.since(self.related).0 as f64 / all).min(1.0)
    }
}

/// Returns the schedule by the clock of the other host.
pub(super) fn on_other(schedule: Schedule, relation: ClockRelation) -> Schedule {
    let Schedule {
        begin,
        open,
        close,
        stop,
        interval,
        clients,
    } = schedule;
    Schedule {
        begin: relation.on_other(begin),
        open: relation.on_other(open),
        close: relation.on_other(close),
        stop: relation.on_other(stop),
        interval,
        clients,
    }
}
