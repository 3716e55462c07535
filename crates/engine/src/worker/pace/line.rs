//! Arrivals at a rate that follows a line.

use smbench_model::Nanos;
use smbench_model::stages::Stages;

use super::Arrivals;
use super::turns::AFTER_LOAD;

/// The line of a rate, and the start of the load.
pub(super) struct RateLine {
    stages: Stages,
    starts: Nanos,
    /// The next arrival in time at the highest rate, and the fraction of a nanosecond.
    pub(super) at_most: (Nanos, f64),
}

impl Arrivals {
    /// Lets the arrivals follow the line of a rate that begins at `starts`. Their distances in
    /// operations stay as they are: those of an even rate at the highest level are stretched, so
    /// that Poisson arrivals stay Poisson.
    pub(super) fn follow(&mut self, stages: &Stages, starts: Nanos) {
        self.line = Some(Box::new(RateLine {
            stages: stages.clone(),
            starts,
            at_most: (self.next, self.fraction_ns),
        }));
        self.stretch();
    }

    /// Moves the next arrival to where the line has as many operations before it as the highest
    /// rate has before its place.
    pub(super) fn stretch(&mut self) {
        let Some(line) = &self.line else {
            return;
        };
        let (next, fraction_ns) = line.at_most;
        let passed_s = (next.since(line.starts).0 as f64 + fraction_ns) / 1e9;
        let at_s = line.stages.time_of(passed_s * line.stages.most());
        (self.next, self.fraction_ns) = match at_s {
            Some(at_s) => (line.starts + Nanos((at_s * 1e9) as u64), 0.0),
            None => (line.starts + AFTER_LOAD.into(), 0.0),
        };
    }
}
