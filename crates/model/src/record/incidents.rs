//! Counts beside those of operations: failures, differences, caching, verification.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::in_flight::WaitsByKind;
use super::{
    CachingRecord, ChurnRecord, DataFaults, LoadEvents, Losses, OperationFailure,
    RefusedDirectories, ReplayDifference, Verification, WrongPlace,
};
use crate::kind::OpKind;

/// The largest number of different causes in one recorder. A server could invent
/// thousands of status codes.
pub(super) const CAUSES_MAX: usize = 256;

/// What a recorder or a tally counts beside operations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Incidents {
    /// Failures by operation and cause.
    pub(super) failures: BTreeMap<(OpKind, OperationFailure), u64>,
    /// Operations of a replay that differ from the recording.
    pub(super) differences: BTreeMap<ReplayDifference, u64>,
    /// The caching granted and revoked.
    pub(super) caching: CachingRecord,
    /// The results of verification.
    pub(super) verification: Verification,
    /// Where and how data was found wrong, under verification.
    pub(super) wrong_places: Vec<WrongPlace>,
    /// Operations in flight when the window closed.
    pub(super) in_flight: WaitsByKind,
    /// What happened to connections.
    pub(super) events: LoadEvents,
    /// What lost connections cost.
    pub(super) losses: Losses,
    /// Clients that left and came back, if any did.
    pub(super) churn: Option<Box<ChurnRecord>>,
    /// Wrong data under verification, by kind.
    pub(super) faults: DataFaults,
    /// Directories that walks had to leave out.
    pub(super) refused: RefusedDirectories,
}

impl Incidents {
    pub(super) fn failure(&mut self, kind: OpKind, failure: OperationFailure, count: u64) {
        let other = (kind, OperationFailure::Other);
        add(&mut self.failures, (kind, failure), other, count);
    }

    pub(super) fn difference(&mut self, difference: ReplayDifference, count: u64) {
        let other = ReplayDifference {
            recorded: None,
            seen: OperationFailure::Other,
            ..difference
        };
        add(&mut self.differences, difference, other, count);
    }

    /// Returns the number of operations that differ from the recording, by kind.
    pub(super) fn differing(&self) -> BTreeMap<OpKind, u64> {
        let mut kinds = BTreeMap::new();
        for (difference, count) in &self.differences {
            *kinds.entry(difference.kind).or_default() += count;
        }
        kinds
    }

    /// Keeps all latencies in little memory.
    pub(super) fn pack(&mut self) {
        self.losses.pack();
        if let Some(churn) = &mut self.churn {
            churn.log_on.pack();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (&(kind, failure), &count) in &other.failures {
            self.failure(kind, failure, count);
        }
        for (&difference, &count) in &other.differences {
            self.difference(difference, count);
        }
        self.caching.merge(&other.caching);
        self.verification.merge(&other.verification);
        self.in_flight.merge(&other.in_flight);
        if other.events != LoadEvents::default() {
            self.events.merge(&other.events);
        }
        self.losses.merge(&other.losses);
        if let Some(churn) = &other.churn {
            self.churn.get_or_insert_default().merge(churn);
        }
        self.faults.merge(&other.faults);
        self.refused.merge(&other.refused);
        WrongPlace::keep(&mut self.wrong_places, other.wrong_places.iter().cloned());
    }
}

/// Adds to the count of a cause, or to that of `other` if there are too many causes.
pub(super) fn add<C: Ord>(counts: &mut BTreeMap<C, u64>, cause: C, other: C, count: u64) {
    let is_known = counts.len() < CAUSES_MAX || counts.contains_key(&cause);
    let cause = if is_known { cause } else { other };
    *counts.entry(cause).or_default() += count;
}
