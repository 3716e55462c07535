//! Counts of verified operations.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contents::verify::ReadVerdict;

/// The operations whose data was verified, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// All of the data was valid.
    pub checked: u64,
    /// Nothing was wrong, but not all data could be judged, because writes to the
    /// same blocks were in flight.
    pub unjudged: u64,
    /// The data was not the written data. These operations are failures too.
    pub wrong: u64,
}

impl Verification {
    /// Counts an operation whose data was not wrong.
    pub const fn count(&mut self, verdict: ReadVerdict) {
        match verdict {
            ReadVerdict::Checked => self.checked += 1,
            ReadVerdict::Unjudged => self.unjudged += 1,
        }
    }

    /// Adds the counts of another worker.
    pub const fn merge(&mut self, other: &Self) {
        self.checked += other.checked;
        self.unjudged += other.unjudged;
        self.wrong += other.wrong;
    }
}
