//! Operations in flight when the window closed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::kind::OpKind;

/// Operations of one kind that had been sent and were not answered when the window closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosingWaits {
    /// Number of operations.
    pub count: u64,
    /// Shortest time from sending until the window closed.
    pub shortest: Nanos,
    /// Longest time from sending until the window closed.
    pub longest: Nanos,
}

impl ClosingWaits {
    /// Makes the record of one operation that had waited this long.
    #[must_use]
    pub const fn one(waited: Nanos) -> Self {
        Self {
            count: 1,
            shortest: waited,
            longest: waited,
        }
    }

    /// Adds other operations.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
        }
    }
}

/// Operations in flight by kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WaitsByKind(BTreeMap<OpKind, ClosingWaits>);

impl WaitsByKind {
    pub(super) fn add(&mut self, kind: OpKind, more: ClosingWaits) {
        let all = self.0.get(&kind).map_or(more, |all| all.and(more));
        self.0.insert(kind, all);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (&kind, &more) in &other.0 {
            self.add(kind, more);
        }
    }

    pub(super) fn of(&self, kind: OpKind) -> Option<ClosingWaits> {
        self.0.get(&kind).copied()
    }
}
