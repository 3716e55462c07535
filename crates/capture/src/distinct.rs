//! Counts different things that are too many to be kept.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Different things that are told apart. Further ones are not counted.
const NOTED_MAX: usize = 1 << 20;

/// The number of different things.
#[derive(Debug, Default)]
pub(crate) struct DistinctCount {
    /// A hash of each thing that may come again.
    noted: HashSet<u64>,
    others: u64,
}

impl DistinctCount {
    /// Counts a thing, unless it came before.
    pub(crate) fn note(&mut self, thing: impl Hash) {
        if self.noted.len() < NOTED_MAX {
            // The same in each run.
            let mut hasher = DefaultHasher::new();
            thing.hash(&mut hasher);
            self.noted.insert(hasher.finish());
        }
    }

    /// Counts a thing that cannot come again.
    pub(crate) const fn add(&mut self) {
        self.others += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.noted.len() as u64 + self.others
    }
}
