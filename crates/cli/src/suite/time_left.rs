//! Remaining time of a suite: the planned time, and the additional time that load
//! points have needed so far.

use std::time::{Duration, Instant};

use smbench_engine::plan::Plan;
use smbench_engine::units::format_duration;

/// Planned and elapsed time of a suite.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLeft {
    begun: Instant,
    planned: Duration,
    done: Duration,
}

/// Returns the planned time of a load point: ramps and window.
pub(super) fn of_point(plan: &Plan) -> Duration {
    plan.work.ramp_up + plan.work.duration + plan.work.ramp_down
}

impl TimeLeft {
    /// Starts the account of a suite that begins now.
    pub(super) fn of(planned: Duration) -> Self {
        Self {
            begun: Instant::now(),
            planned,
            done: Duration::ZERO,
        }
    }

    /// Counts a load point as measured.
    pub(super) fn measured(&mut self, plan: &Plan) {
        self.done += of_point(plan);
    }

    /// Removes load points that will not be measured.
    pub(super) fn forgo(&mut self, planned: Duration) {
        self.planned = self.planned.saturating_sub(planned);
    }

    /// Formats the remaining time to the second.
    pub(super) fn told(&self) -> String {
        let left = estimate(self.planned, self.done, self.begun.elapsed());
        format_duration(Duration::from_secs(left.as_secs()))
    }
}

/// Estimates the remaining time: the planned rest, scaled by the time so far.
/// Preparing files and setting up sessions takes time that no plan contains.
fn estimate(planned: Duration, done: Duration, elapsed: Duration) -> Duration {
    let left = planned.saturating_sub(done);
    match done.is_zero() {
        true => left,
        false => left.mul_f64((elapsed.as_secs_f64() / done.as_secs_f64()).max(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_stretched_by_what_was_done() {
        let s = Duration::from_secs;
        assert_eq!(estimate(s(100), s(0), s(7)), s(100));
        assert_eq!(estimate(s(100), s(20), s(30)), s(120));
        assert_eq!(estimate(s(100), s(20), s(10)), s(80));
        assert_eq!(estimate(s(100), s(100), s(200)), s(0));
        assert_eq!(estimate(s(10), s(20), s(200)), s(0));
    }
}
