//! What came of reading back what had been written.

use crate::verify::Verdict;

/// Operations whose data was verified, by what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// All of it was what it may be.
    pub checked: u64,
    /// Nothing was found wrong, but writes to the same blocks were under way, so
    /// that not all of it could be judged.
    pub unjudged: u64,
    /// It was not what had been written; these are failures, too.
    pub wrong: u64,
}

impl Verification {
    /// Counts an operation that was not found wrong.
    pub(crate) const fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Checked => self.checked += 1,
            Verdict::Unjudged => self.unjudged += 1,
        }
    }

    /// Adds what another worker counted.
    pub(crate) const fn merge(&mut self, other: &Self) {
        self.checked += other.checked;
        self.unjudged += other.unjudged;
        self.wrong += other.wrong;
    }
}
