//! How long a suite still takes: what is planned, and what the load points so
//! far took beyond that.

use std::time::{Duration, Instant};

use smbench_engine::plan::Plan;
use smbench_engine::units::format_duration;

/// The account of a suite's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLeft {
    begun: Instant,
    planned: Duration,
    done: Duration,
}

/// Ramps and window of a load point.
pub(super) fn of_point(plan: &Plan) -> Duration {
    plan.ramp_up + plan.duration + plan.ramp_down
}

impl TimeLeft {
    /// Of a suite that begins now.
    pub(super) fn of(planned: Duration) -> Self {
        Self {
            begun: Instant::now(),
            planned,
            done: Duration::ZERO,
        }
    }

    /// A load point has been measured.
    pub(super) fn measured(&mut self, plan: &Plan) {
        self.done += of_point(plan);
    }

    /// Load points will not be measured.
    pub(super) fn forgo(&mut self, planned: Duration) {
        self.planned = self.planned.saturating_sub(planned);
    }

    /// To the second, for people.
    pub(super) fn told(&self) -> String {
        let left = estimate(self.planned, self.done, self.begun.elapsed());
        format_duration(Duration::from_secs(left.as_secs()))
    }
}

/// What is left, stretched by what went before: files are made and sessions set
/// up as well, which no plan knows the time of.
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
