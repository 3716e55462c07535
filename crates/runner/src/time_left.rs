//! Remaining time of a command's runs: the planned time, and the additional time that
//! load points have needed so far.

use std::time::{Duration, Instant};

use smbench_model::plan::Plan;
use smbench_model::units::format_duration;

/// Planned and elapsed time of all runs of a command.
#[derive(Clone, Copy, Debug)]
pub struct TimeLeft {
    /// Instant at which the set-up of the present load point began.
    begun: Option<Instant>,
    planned: Duration,
    end: PlannedEnd,
    /// Planned time of the load points that are measured.
    done: Duration,
    /// Time that these have needed, set-up included.
    needed: Duration,
    /// Time since the load of the present load point began.
    running: Duration,
    /// Time that the present load point still needs after its load, as far as it is known.
    after: Duration,
}

/// What ends the load points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedEnd {
    /// The planned time.
    Time,
    /// The work, or else the planned time.
    Work,
}

/// Returns the planned time of a load point at most: ramps and window.
pub fn of_point(plan: &Plan) -> Duration {
    plan.work.ramp_up + plan.work.longest_window() + plan.work.ramp_down
}

impl TimeLeft {
    /// Starts the account of a command.
    pub fn of(planned: Duration, end: PlannedEnd) -> Self {
        Self {
            begun: None,
            planned,
            end,
            done: Duration::ZERO,
            needed: Duration::ZERO,
            running: Duration::ZERO,
            after: Duration::ZERO,
        }
    }

    /// Starts the account of runs of these plans.
    pub fn of_plans<'a>(plans: impl Iterator<Item = &'a Plan> + Clone) -> Self {
        let of_plan = |plan: &Plan| {
            let points = plan.work.points_per_pass() as u32 * plan.work.repeat;
            of_point(plan) * points
        };
        let by_work = |plan: &Plan| {
            let mut populations = plan.work.populations.iter();
            plan.work.until_steady.is_some()
                || populations.any(|population| {
                    let test = population.workload.fileio();
                    population.is_counted() || test.is_some_and(|test| test.time.is_none())
                })
        };
        let end = if plans.clone().any(by_work) {
            PlannedEnd::Work
        } else {
            PlannedEnd::Time
        };
        Self::of(plans.map(of_plan).sum(), end)
    }

    /// Starts the account of a search with at most `probes` probes.
    pub fn of_search(plan: &Plan, probes: u32) -> Self {
        Self::of(of_point(plan) * probes, PlannedEnd::Work)
    }

    /// Notes that the set-up of a load point begins now, unless it has begun.
    pub fn begin(&mut self) {
        self.begun.get_or_insert_with(Instant::now);
    }

    /// Sets the time since the load of the present load point began.
    pub fn running(&mut self, elapsed: Duration) {
        self.running = elapsed;
        self.after = Duration::ZERO;
    }

    /// Sets the time until all is read once more that clients have written.
    pub fn reading_back(&mut self, left: Duration) {
        self.after = left;
    }

    /// Counts a load point as measured.
    pub fn measured(&mut self, plan: &Plan) {
        self.done += of_point(plan);
        let begun = self.begun.take();
        self.needed += begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.running = Duration::ZERO;
        self.after = Duration::ZERO;
    }

    /// Removes load points that will not be measured.
    pub fn forgo(&mut self, planned: Duration) {
        self.planned = self.planned.saturating_sub(planned);
    }

    /// Returns the completed share of all load points, 0 to 1.
    pub fn share(&self) -> f64 {
        match (self.planned + self.after).as_secs_f64() {
            0.0 => 0.0,
            whole => ((self.done + self.running).as_secs_f64() / whole).min(1.0),
        }
    }

    /// Formats the remaining time to the second.
    pub fn words(&self) -> String {
        let left = estimate(self.planned, self.done, self.needed);
        let left = left.saturating_sub(self.running) + self.after;
        let at_most = match self.end {
            PlannedEnd::Time => "",
            PlannedEnd::Work => "at most ",
        };
        let text = format_duration(Duration::from_secs(left.as_secs()));
        format!("{at_most}{text} left")
    }
}

/// Estimates the remaining time: the planned rest, scaled by the time so far.
/// Setting up sessions takes time that no plan contains.
fn estimate(planned: Duration, done: Duration, needed: Duration) -> Duration {
    let left = planned.saturating_sub(done);
    if done.is_zero() {
        left
    } else {
        left.mul_f64((needed.as_secs_f64() / done.as_secs_f64()).max(1.0))
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

    #[test]
    fn the_present_load_point_counts() {
        let s = Duration::from_secs;
        let mut left = TimeLeft::of(s(100), PlannedEnd::Time);
        assert_eq!(
            (left.share(), left.words()),
            (0.0, "1m 40s left".to_owned())
        );
        left.running(s(25));
        assert_eq!(
            (left.share(), left.words()),
            (0.25, "1m 15s left".to_owned())
        );
        // What follows the load is in no plan.
        left.running(s(100));
        left.reading_back(s(100));
        assert_eq!(
            (left.share(), left.words()),
            (0.5, "1m 40s left".to_owned())
        );
        left.running(s(100));
        assert_eq!((left.share(), left.words()), (1.0, "0s left".to_owned()));
        let left = TimeLeft::of(s(3600), PlannedEnd::Work);
        assert_eq!(left.words(), "at most 1h left");
        assert_eq!(TimeLeft::of(s(0), PlannedEnd::Time).share(), 0.0);
    }
}
