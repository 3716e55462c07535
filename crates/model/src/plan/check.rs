//! Bounds that every plan must meet. They are checked when a plan is resolved, and
//! again before it runs, because its fields may have changed in between.

use super::Plan;
use crate::bounds::{OUTSTANDING_MAX, PERIOD_MAX, REPEAT_MAX, SETUP_RATE_MAX, THREADS_MAX};
use crate::fileio::FileioProblem;
use crate::lists::clients::CLIENTS_MAX;
use crate::load::Ramp;
use crate::plan::Problem;
use crate::workload::Requests;

impl Plan {
    /// Returns the first problem that would leave nothing to measure or make
    /// measuring impossible. The workload is not checked again.
    pub fn check(&self) -> Result<(), Problem> {
        self.check_numbers().map_err(|(_, problem)| problem)?;
        self.check_order()?;
        let (largest, charge) = (self.largest_request(), self.largest_charge());
        let dialects = self.session.dialects;
        let checked = self.connections.check(largest, charge, dialects);
        checked.map_err(|(_, problem)| problem.into())
    }

    /// Finds the first number out of bounds. The error names its option.
    pub(super) fn check_numbers(&self) -> Result<(), (&'static str, Problem)> {
        if self.load_points.is_empty() {
            return Err(("clients", Problem::NoLoadPoints));
        }
        let mut points = self.load_points.iter().copied();
        if let Some(clients) = points.find(|clients| !(1..=CLIENTS_MAX).contains(clients)) {
            return Err(("clients", Problem::Clients(clients)));
        }
        if !(1..=OUTSTANDING_MAX).contains(&self.outstanding) {
            return Err(("outstanding", Problem::Outstanding(self.outstanding)));
        }
        if self.repeat == 0 {
            return Err(("repeat", Problem::RepeatZero));
        }
        if self.repeat > REPEAT_MAX {
            return Err(("repeat", Problem::RepeatTooLarge(self.repeat)));
        }
        if !(1..=THREADS_MAX).contains(&self.threads) {
            return Err(("threads", Problem::Threads(self.threads)));
        }
        if let Some(rate) = self.setup_rate
            && !(1..=SETUP_RATE_MAX).contains(&rate)
        {
            return Err(("setup_rate", Problem::SetupRate(rate)));
        }
        if self.duration.is_zero() {
            return Err(("duration", Problem::DurationZero));
        }
        if self.ramp == Ramp::Linear && self.ramp_up.is_zero() {
            return Err(("ramp", Problem::Without("ramp linear", "ramp_up")));
        }
        for (name, period) in [
            ("duration", self.duration),
            ("ramp_up", self.ramp_up),
            ("ramp_down", self.ramp_down),
        ] {
            if period > PERIOD_MAX {
                return Err((name, Problem::PeriodTooLong { name, period }));
            }
        }
        Ok(())
    }

    /// Checks that each operation that depends on an earlier one waits for it.
    pub(super) fn check_order(&self) -> Result<(), Problem> {
        match self.workload.requests {
            _ if self.outstanding == 1 => Ok(()),
            Requests::Replay(_) => Err(Problem::InReplay {
                what: "outstanding",
                why: "operations depend on those before them; give outstanding 1",
            }),
            Requests::Fileio(_) => Err(FileioProblem::Outstanding.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::resolve::tests::{plan, recorded, resolve};
    use crate::spec::RunOptions;

    type Change = fn(&mut Plan);

    #[test]
    fn a_plan_that_was_changed_is_told_of_its_first_fault() {
        let changes: [(Change, &str); 14] = [
            (
                |plan| plan.load_points.clear(),
                "there are no load points: give one or more numbers of clients",
            ),
            (
                |plan| plan.load_points.push(0),
                "a load point has 0 clients: give 1 to 100000",
            ),
            (
                |plan| plan.load_points = vec![1, 100_001],
                "a load point has 100001 clients: give 1 to 100000",
            ),
            (
                |plan| plan.outstanding = 0,
                "outstanding is 0: give 1 to 1024",
            ),
            (|plan| plan.repeat = 0, "repeat is 0: the least is 1"),
            (
                |plan| plan.repeat = 1001,
                "repeat is 1001: the most is 1000",
            ),
            (|plan| plan.threads = 0, "threads is 0: give 1 to 1024"),
            (
                |plan| plan.setup_rate = Some(0),
                "setup_rate is 0: give 1 to 1000000 sessions per second",
            ),
            (
                |plan| plan.duration = Duration::ZERO,
                "duration is zero: the measured window needs a length, such as 30s",
            ),
            (
                |plan| (plan.ramp, plan.ramp_up) = (Ramp::Linear, Duration::ZERO),
                "ramp linear means nothing without ramp_up: give that as well, or drop it",
            ),
            (|plan| plan.ramp_down = Duration::MAX, "ramp_down is "),
            (
                |plan| plan.connections.sessions_per_connection = 0,
                "sessions_per_connection is 0: give 1 to 256",
            ),
            (
                |plan| plan.connections.connections_per_session = 0,
                "connections_per_session is 0: give 1 to 32",
            ),
            (
                |plan| plan.connections.credits = Some(0),
                "credits is 0: give 1 to 8192",
            ),
        ];
        for (change, words) in changes {
            let mut plan = plan("read-4k");
            assert_eq!(plan.check(), Ok(()));
            change(&mut plan);
            let told = plan.check().unwrap_err().to_string();
            assert!(told.starts_with(words), "{told}");
        }
    }

    #[test]
    fn a_replay_has_one_request_in_flight() {
        let mut plan = resolve(&recorded(), &RunOptions::default()).unwrap();
        assert_eq!(plan.check(), Ok(()));
        plan.outstanding = 2;
        assert!(matches!(plan.check(), Err(Problem::InReplay { .. })));
    }
}
