//! Computes when a load point ramps, measures and stops, with plain arithmetic on
//! instants.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::plan::Plan;
use smbench_model::progress::Stage;
use smbench_model::record::{Phase, Series};
use smbench_model::stages::Stages;
use tokio::sync::watch;

/// The instants of one load point, common to all its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// Start of the load.
    pub(crate) begin: Nanos,
    /// Start of the window.
    pub(crate) open: Nanos,
    /// End of the window; this instant is outside.
    pub(crate) close: Nanos,
    /// Instant from which no operation is sent.
    pub(crate) stop: Nanos,
    /// Length of the intervals into which the window is divided, from its start.
    pub(crate) interval: Nanos,
    /// Number of clients, all of which are set up.
    pub(crate) clients: u32,
}

/// Receives the schedule of a load point, and perhaps a later one that ends the window
/// earlier. `None` before the first.
pub(crate) type Schedules = watch::Receiver<Option<Schedule>>;

/// A part of a load point during which a worker uses one recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interval {
    pub(crate) from: Nanos,
    /// First instant after the interval.
    pub(crate) to: Nanos,
    pub(crate) place: Position,
}

/// Position of an interval relative to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Position {
    /// In the window, as the interval with this index.
    Window(u32),
    /// Before the window, in the ramp.
    Before,
    /// After the window, or before the load.
    Outside,
}

impl Position {
    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Window(_) => Phase::Window,
            Self::Before => Phase::Before,
            Self::Outside => Phase::Outside,
        }
    }
}

impl Schedule {
    pub(crate) fn new(begin: Nanos, plan: &Plan, clients: u32) -> Self {
        let open = begin + plan.work.ramp_up.into();
        let longest = plan.work.longest_window();
        let close = open + longest.into();
        let of_stages = plan.work.stages.as_ref().and_then(Stages::interval);
        let interval = of_stages.unwrap_or_else(|| Series::interval_of(longest));
        Self {
            begin,
            open,
            close,
            stop: close + plan.work.ramp_down.into(),
            interval: interval.into(),
            clients,
        }
    }

    /// Returns the same schedule with an earlier end of the window, `close`.
    pub(crate) fn closing_at(self, close: Nanos) -> Self {
        Self {
            close,
            stop: close + (self.stop - self.close),
            ..self
        }
    }

    /// Returns the interval of an instant. An operation counts in the interval in
    /// which it completes. Operations that start before the window and end in it
    /// compensate for those that start in it and end after it.
    pub(super) fn interval_at(&self, done: Nanos) -> Interval {
        let length = self.interval.0;
        if done < self.open {
            // Counted backwards from the start of the window, so that the last
            // interval is whole. The first may be shorter, because there is no load
            // before its start.
            let ahead = (self.open - done).0.div_ceil(length);
            let from = self.open - Nanos(ahead.saturating_mul(length));
            let from = from.max(self.begin.min(done));
            let to = self.open - Nanos((ahead - 1).saturating_mul(length));
            let place = Position::Before;
            return Interval { from, to, place };
        }
        let (start, end, is_window) = if done < self.close {
            (self.open, self.close, true)
        } else {
            (self.close, Nanos::MAX, false)
        };
        let index = (done - start).0 / length;
        let from = start + Nanos(index * length);
        Interval {
            from,
            to: end.min(from + self.interval),
            place: if is_window {
                // There are at most `bounds::INTERVALS_MAX` intervals.
                Position::Window(index as u32)
            } else {
                Position::Outside
            },
        }
    }

    /// Returns the windows that are load points: of the stages, or the only one.
    pub(crate) fn windows(&self, stages: Option<&Stages>) -> Vec<Range<Nanos>> {
        let Some(stages) = stages else {
            return std::iter::once(self.open..self.close).collect();
        };
        let at = |after: Duration| self.open + after.into();
        let places = stages.places();
        places
            .map(|place| at(place.begin)..at(place.end()))
            .collect()
    }

    /// Returns the number of intervals in the window up to `end`.
    pub(crate) fn intervals_until(&self, end: Nanos) -> usize {
        self.window_until(end).0.div_ceil(self.interval.0) as usize
    }

    /// Returns the phase of an instant.
    pub(super) fn phase(&self, now: Nanos) -> Phase {
        if self.open <= now && now < self.close {
            Phase::Window
        } else {
            Phase::Outside
        }
    }

    pub(crate) fn stage(&self, now: Nanos) -> Stage {
        if now < self.open {
            Stage::RampUp
        } else if now < self.close {
            Stage::Measuring
        } else {
            Stage::RampDown
        }
    }

    /// Returns how much of the window lies between two instants.
    pub(super) fn window_between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.window_until(to) - self.window_until(from)
    }

    /// Returns how much of the window lies before `end`.
    pub(crate) fn window_until(&self, end: Nanos) -> Nanos {
        end.min(self.close) - self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_includes_its_opening_and_excludes_its_close() {
        let schedule = Schedule {
            begin: Nanos(0),
            open: Nanos(10),
            close: Nanos(20),
            stop: Nanos(25),
            interval: Nanos(4),
            clients: 1,
        };
        let (before, outside) = (Position::Before, Position::Outside);
        for (at, interval, stage, window) in [
            (0, (0, 2, before), Stage::RampUp, 0),
            (2, (2, 6, before), Stage::RampUp, 0),
            (9, (6, 10, before), Stage::RampUp, 0),
            (10, (10, 14, Position::Window(0)), Stage::Measuring, 0),
            (13, (10, 14, Position::Window(0)), Stage::Measuring, 3),
            (14, (14, 18, Position::Window(1)), Stage::Measuring, 4),
            (18, (18, 20, Position::Window(2)), Stage::Measuring, 8),
            (19, (18, 20, Position::Window(2)), Stage::Measuring, 9),
            (20, (20, 24, outside), Stage::RampDown, 10),
            (30, (28, 32, outside), Stage::RampDown, 10),
        ] {
            let at = Nanos(at);
            let (from, to, place) = interval;
            let (from, to) = (Nanos(from), Nanos(to));
            let interval = Interval { from, to, place };
            assert_eq!(schedule.interval_at(at), interval, "{at:?}");
            assert_eq!(schedule.stage(at), stage, "{at:?}");
            assert_eq!(schedule.window_until(at), Nanos(window), "{at:?}");
        }
        let later = Schedule {
            begin: Nanos(3),
            ..schedule
        };
        for (at, from, to) in [(3, 3, 6), (5, 3, 6), (6, 6, 10)] {
            let Interval {
                from: seen,
                to: end,
                ..
            } = later.interval_at(Nanos(at));
            assert_eq!((seen, end), (Nanos(from), Nanos(to)), "{at}");
        }
        for (from, to, window) in [(0, 5, 0), (0, 12, 2), (12, 15, 3), (15, 99, 5), (30, 40, 0)] {
            let between = schedule.window_between(Nanos(from), Nanos(to));
            assert_eq!(between, Nanos(window), "{from} to {to}");
        }
        for (until, intervals) in [(5, 0), (10, 0), (11, 1), (14, 1), (15, 2), (19, 3), (99, 3)] {
            assert_eq!(schedule.intervals_until(Nanos(until)), intervals, "{until}");
        }
        let window = |from, to| Nanos(from)..Nanos(to);
        assert_eq!(schedule.windows(None), [window(10, 20)]);
        let stages: Option<Stages> = "2s:5,0s:1,1s:1".parse().ok();
        let second = 1_000_000_000;
        assert_eq!(
            schedule.windows(stages.as_ref()),
            [
                window(10, 2 * second + 10),
                window(2 * second + 10, 3 * second + 10)
            ]
        );
    }
}
