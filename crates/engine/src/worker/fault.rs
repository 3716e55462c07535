//! What makes a load invalid that no operation shows, and when.

use serde::{Deserialize, Serialize};
use smbench_model::Nanos;

/// A fault of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadFault {
    /// What is wrong, as a lower-case clause.
    pub(crate) why: String,
    from: Nanos,
    /// First instant after it.
    to: Nanos,
}

impl LoadFault {
    /// Returns a fault of the whole load.
    pub(crate) fn whole(why: impl Into<String>) -> Self {
        Self::since(why, Nanos(0))
    }

    /// Returns a fault of the load from an instant on.
    pub(crate) fn since(why: impl Into<String>, from: Nanos) -> Self {
        Self::within(why, from, Nanos::MAX)
    }

    /// Returns a fault of the load from one instant to another.
    pub(crate) fn within(why: impl Into<String>, from: Nanos, to: Nanos) -> Self {
        let why = why.into();
        Self { why, from, to }
    }

    /// Returns whether some of it lies between two instants.
    pub(crate) fn is_between(&self, from: Nanos, to: Nanos) -> bool {
        self.from < to && from < self.to
    }

    /// Returns the same with other words, by another clock.
    pub(crate) fn told(&self, why: String, on_clock: impl Fn(Nanos) -> Nanos) -> Self {
        Self::within(why, on_clock(self.from), on_clock(self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_concerns_the_stages_that_it_touches() {
        let stages = [(0, 10), (10, 20), (20, 30)];
        let touched = |fault: &LoadFault| {
            let is_in = |(from, to)| fault.is_between(Nanos(from), Nanos(to));
            stages.map(is_in)
        };
        let why = "host b stood still for 2s";
        assert_eq!(touched(&LoadFault::whole(why)), [true, true, true]);
        assert_eq!(
            touched(&LoadFault::since(why, Nanos(10))),
            [false, true, true]
        );
        let still = LoadFault::within(why, Nanos(10), Nanos(11));
        assert_eq!(touched(&still), [false, true, false]);
        let later = still.told("it".to_owned(), |at| at + Nanos(9));
        assert_eq!(
            (touched(&later), &later.why[..]),
            ([false, true, false], "it")
        );
        let across = LoadFault::within(why, Nanos(9), Nanos(11));
        assert_eq!(touched(&across), [true, true, false]);
    }
}
