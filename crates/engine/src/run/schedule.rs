//! When a load point ramps, measures and stops: plain arithmetic on instants.

use crate::clock::Nanos;
use crate::plan::Plan;
use crate::record::Phase;
use crate::run::observe::Stage;

/// The instants of one load point, common to all its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Load begins.
    pub(super) begin: Nanos,
    /// The window opens.
    pub(super) open: Nanos,
    /// The window closes; this instant is outside.
    pub(super) close: Nanos,
    /// No operation is sent from here on.
    pub(super) stop: Nanos,
}

impl Schedule {
    pub(super) fn new(begin: Nanos, plan: &Plan) -> Self {
        let open = begin + plan.ramp_up.into();
        let close = open + plan.duration.into();
        Self {
            begin,
            open,
            close,
            stop: close + plan.ramp_down.into(),
        }
    }

    /// An operation counts for the window it completes in: what started before
    /// the window and ends in it makes up for what starts in it and ends after.
    pub(super) fn phase(&self, done: Nanos) -> Phase {
        if self.open <= done && done < self.close {
            Phase::Window
        } else {
            Phase::Outside
        }
    }

    pub(super) fn stage(&self, now: Nanos) -> Stage {
        if now < self.open {
            Stage::RampUp
        } else if now < self.close {
            Stage::Measuring
        } else {
            Stage::RampDown
        }
    }

    /// How much of the window lies between two instants.
    pub(super) fn window_between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.window_until(to) - self.window_until(from)
    }

    /// How much of the window lies before `end`.
    pub(super) fn window_until(&self, end: Nanos) -> Nanos {
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
        };
        for (at, phase, stage, window) in [
            (0, Phase::Outside, Stage::RampUp, 0),
            (9, Phase::Outside, Stage::RampUp, 0),
            (10, Phase::Window, Stage::Measuring, 0),
            (19, Phase::Window, Stage::Measuring, 9),
            (20, Phase::Outside, Stage::RampDown, 10),
            (30, Phase::Outside, Stage::RampDown, 10),
        ] {
            let at = Nanos(at);
            assert_eq!(schedule.phase(at), phase, "{at:?}");
            assert_eq!(schedule.stage(at), stage, "{at:?}");
            assert_eq!(schedule.window_until(at), Nanos(window), "{at:?}");
        }
        for (from, to, window) in [(0, 5, 0), (0, 12, 2), (12, 15, 3), (15, 99, 5), (30, 40, 0)] {
            let between = schedule.window_between(Nanos(from), Nanos(to));
            assert_eq!(between, Nanos(window), "{from} to {to}");
        }
    }
}
