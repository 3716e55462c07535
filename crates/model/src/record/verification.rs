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
    /// The blocks of 512 bytes that clients read once more after their load, because they hold
    /// acknowledged writes. Absent if they read none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_read: Option<FinalRead>,
}

/// Blocks of 512 bytes that clients read once more after their load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalRead {
    /// Blocks that were to be read.
    pub due: u64,
    /// Those of them that were read, with right or wrong data.
    pub checked: u64,
}

impl FinalRead {
    /// Returns the blocks of both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            due: self.due + other.due,
            checked: self.checked + other.checked,
        }
    }
}

impl Verification {
    /// Counts an operation whose data was not wrong.
    pub const fn count(&mut self, verdict: ReadVerdict) {
        match verdict {
            ReadVerdict::Checked => self.checked += 1,
            ReadVerdict::Unjudged => self.unjudged += 1,
        }
    }

    /// Adds the blocks that a client has read after its load.
    pub const fn add_final(&mut self, read: FinalRead) {
        self.final_read = Some(match self.final_read {
            Some(others) => others.and(read),
            None => read,
        });
    }

    /// Adds the counts of another worker.
    pub const fn merge(&mut self, other: &Self) {
        if let Some(read) = other.final_read {
            self.add_final(read);
        }
        self.checked += other.checked;
        self.unjudged += other.unjudged;
        self.wrong += other.wrong;
    }
}
