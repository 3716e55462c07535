//! The tally of a load point: all its operations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::incidents::Incidents;
use super::packed::{Kept, WindowOps};
use super::{
    CachingRecord, ChurnRecord, ClosingWaits, DataFaults, LoadEvents, Losses, OpRecord,
    OperationFailure, Recorder, RefusedDirectories, ReplayDifference, Verification, WrongPlace,
};
use crate::kind::{Direction, OpKind};

/// Operations from the first to the last of a load point, including the ramps. The
/// server must have seen the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpTotals {
    /// Operations that were answered without error.
    pub count: u64,
    /// Payload bytes of these operations.
    pub bytes: u64,
    /// Operations that were answered with an error status, or with wrong data under
    /// verification.
    pub errors: u64,
}

/// The phase of a load point in which operations completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The measured window.
    Window,
    /// The ramp before the window.
    Before,
    /// The ramp after the window, the drain of the last operations, and the time before the load.
    Outside,
}

/// The record of a kind that did not occur in the window.
static NOTHING: LazyLock<OpRecord> = LazyLock::new(OpRecord::default);

/// The operations of a load point, over all its intervals and workers.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    window: WindowOps,
    /// Those of the whole load point. Kinds that did not occur take no memory.
    whole: BTreeMap<OpKind, OpTotals>,
    /// Operations of the workload that succeeded before the window.
    before: u64,
    incidents: Incidents,
    /// The operations of the window that were in a blackout, if there are any.
    in_blackout: Option<Box<Kept<OpRecord>>>,
}

impl Tally {
    /// Returns the same numbers in little memory. To read them takes longer.
    #[must_use]
    pub fn packed(mut self) -> Self {
        self.window = self.window.packed();
        self.incidents.pack();
        if let Some(late) = &mut self.in_blackout {
            late.pack();
        }
        self
    }

    /// Adds the records of an interval.
    pub fn add(&mut self, part: &Recorder, phase: Phase) {
        for (kind, op) in part.ops() {
            let whole = self.whole.entry(kind).or_default();
            whole.count += op.count();
            whole.bytes += op.bytes;
            whole.errors += op.errors;
            if phase == Phase::Before && kind.is_asked_for() {
                self.before += op.count();
            }
            // Operations after the load belong to no window, and are kept here.
            if phase == Phase::Window || kind == OpKind::FinalFlush {
                self.window.of_mut(kind).merge(op);
            }
        }
        self.incidents.merge(&part.incidents);
        if let (Phase::Window, Some(late)) = (phase, &part.in_blackout) {
            let all = self.in_blackout.get_or_insert_default();
            all.open().merge(late);
        }
    }

    /// Returns the operations of a kind that completed in the window.
    #[must_use]
    pub fn window(&self, kind: OpKind) -> Cow<'_, OpRecord> {
        let op = self.window.get(kind);
        op.unwrap_or_else(|| Cow::Borrowed(&*NOTHING))
    }

    /// Returns all kinds of the workload's operations in the window as one.
    #[must_use]
    pub fn window_all(&self) -> OpRecord {
        let mut all = OpRecord::default();
        for kind in OpKind::ALL.into_iter().filter(|kind| kind.is_asked_for()) {
            if let Some(op) = self.window.get(kind) {
                all.merge(&op);
            }
        }
        all
    }

    /// Returns the application bytes that clients moved in this direction in the
    /// window.
    #[must_use]
    pub fn window_bytes(&self, direction: Direction) -> u64 {
        OpKind::ALL
            .into_iter()
            .filter(|kind| kind.direction() == Some(direction))
            .map(|kind| self.window(kind).bytes)
            .sum()
    }

    /// Returns the operations that were answered, from the first to the last.
    #[must_use]
    pub fn whole(&self, kind: OpKind) -> OpTotals {
        self.whole.get(&kind).copied().unwrap_or_default()
    }

    /// Returns the number of operations of the workload that succeeded before the window.
    #[must_use]
    pub const fn before(&self) -> u64 {
        self.before
    }

    /// Returns the operations of a kind that were in flight when the window closed; `None` if
    /// there were none.
    #[must_use]
    pub fn in_flight(&self, kind: OpKind) -> Option<ClosingWaits> {
        self.incidents.in_flight.of(kind)
    }

    /// Returns the errors from the first operation to the last, including the
    /// ramps. A step that failed is counted with its operation.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.operations().map(|totals| totals.errors).sum()
    }

    /// Answers from the first operation to the last, with or without error.
    #[must_use]
    pub fn answered(&self) -> u64 {
        let answered = |totals: OpTotals| totals.count + totals.errors;
        self.operations().map(answered).sum()
    }

    /// Returns the totals of all kinds but steps.
    fn operations(&self) -> impl Iterator<Item = OpTotals> {
        let kinds = OpKind::ALL.into_iter().filter(|kind| !kind.is_step());
        kinds.map(|kind| self.whole(kind))
    }

    /// Failures of the whole load point by operation and cause.
    #[must_use]
    pub const fn failures(&self) -> &BTreeMap<(OpKind, OperationFailure), u64> {
        &self.incidents.failures
    }

    /// Returns the operations of the whole load point that differ from the replayed
    /// trace. They are counted neither as operations nor as failures.
    #[must_use]
    pub const fn differences(&self) -> &BTreeMap<ReplayDifference, u64> {
        &self.incidents.differences
    }

    /// Returns the number of operations of the whole load point that differ from the replayed
    /// trace.
    #[must_use]
    pub fn differing(&self) -> u64 {
        self.incidents.differences.values().sum()
    }

    /// Returns the number of all operations of the workload that were answered, from the first
    /// to the last: without error, with one, or otherwise than the replayed trace.
    #[must_use]
    pub fn carried_out(&self) -> u64 {
        let asked_for = OpKind::ALL.into_iter().filter(|kind| kind.is_asked_for());
        let answered = asked_for.map(|kind| self.whole(kind));
        let answered: u64 = answered.map(|of| of.count + of.errors).sum();
        answered + self.differing()
    }

    /// Returns what happened to the connections of clients that were replaced.
    #[must_use]
    pub const fn events(&self) -> &LoadEvents {
        &self.incidents.events
    }

    /// Returns what lost connections cost, by event.
    #[must_use]
    pub const fn losses(&self) -> &Losses {
        &self.incidents.losses
    }

    /// Returns the operations of the window that were in a blackout; `None` if there were none.
    #[must_use]
    pub fn in_blackout(&self) -> Option<Cow<'_, OpRecord>> {
        self.in_blackout.as_deref().map(Kept::get)
    }

    /// Returns the clients that left and came back; `None` if none left.
    #[must_use]
    pub fn churn(&self) -> Option<&ChurnRecord> {
        self.incidents.churn.as_deref()
    }

    /// Adds the clients that were away, and the silent connections, at the end of the stage
    /// before.
    pub fn continue_churn(&mut self, before: &Self) {
        if let Some(before) = before.churn() {
            let churn = self.incidents.churn.get_or_insert_default();
            churn.silent_before = before.silent_at_end();
            churn.away_before = before.away_at_end();
        }
    }

    /// Returns the data that was found wrong, by kind.
    #[must_use]
    pub const fn faults(&self) -> DataFaults {
        self.incidents.faults
    }

    /// Returns the number of operations that failed because their connection was lost. A step is
    /// counted with its operation.
    #[must_use]
    pub fn lost_with_connection(&self) -> u64 {
        let failures = self.incidents.failures.iter();
        let lost = failures
            .filter(|((kind, failure), _)| *failure == OperationFailure::Lost && !kind.is_step());
        lost.map(|(_, count)| count).sum()
    }

    /// Returns the caching granted and revoked.
    #[must_use]
    pub const fn caching(&self) -> &CachingRecord {
        &self.incidents.caching
    }

    /// Returns the results of verification, from the first operation to the last.
    #[must_use]
    pub const fn verification(&self) -> &Verification {
        &self.incidents.verification
    }

    /// Returns the directories that walks had to leave out.
    #[must_use]
    pub const fn refused(&self) -> &RefusedDirectories {
        &self.incidents.refused
    }

    /// Returns where and how data was found wrong, under verification: the first places.
    #[must_use]
    pub fn wrong_places(&self) -> &[WrongPlace] {
        &self.incidents.wrong_places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Nanos;
    use crate::load::{LoadModel, Spacing};
    use crate::record::Times;

    #[test]
    fn throughput_is_what_clients_read_and_wrote() {
        let mut recorder = Recorder::expecting([OpKind::Read], &LoadModel::default());
        for (kind, bytes) in [
            (OpKind::Read, 1),
            (OpKind::CreateReadClose, 10),
            (OpKind::Write, 100),
            (OpKind::CopyChunk, 1000),
            (OpKind::OplockBreak, 10_000),
        ] {
            recorder.success(kind, bytes, Nanos(1));
        }
        let mut tally = Tally::default();
        tally.add(&recorder, Phase::Window);
        assert_eq!(tally.window_bytes(Direction::Read), 11);
        assert_eq!(tally.window_bytes(Direction::Write), 100);
        assert_eq!(tally.window_all().bytes, 1111);
        assert_eq!(recorder.all().bytes, 1111);
        assert_eq!(tally.window(OpKind::Echo).count(), 0);
    }

    proptest! {
            // Each case has a few dozen histograms of a quarter of a megabyte.
            #![proptest_config(ProptestConfig::with_cases(32))]

            /// The sum of several recorders equals one recorder of all their
            /// operations, however these are distributed over workers and intervals.
            #[test]
            fn merged_recorders_equal_one(
                operations in proptest::collection::vec(
                    (
                        0usize..3,
                        prop_oneof![9 => (0u32..100_000).prop_map(Some), 1 => Just(None)],
                        (1u64..10_000_000_000, 0u64..10_000_000_000),
                        0usize..5,
                        0usize..4,
                    ),
                    0..200,
                ),
                is_paced: bool,
            ) {
                // A paced load has response times in addition to service times.
                let load = if is_paced {
    LoadModel::Rate {
                        rate: "1000".parse().unwrap(),
                        arrivals: Spacing::Fixed,
                    }
    } else {
    LoadModel::default()
    };
                let kinds = [OpKind::Read, OpKind::Write, OpKind::Flush];
                let empty = Recorder::expecting(kinds, &load);
                // The ramps are the first and the last interval.
                let phase = |interval| match interval {
                    0 | 4 => Phase::Outside,
                    _ => Phase::Window,
                };
                let book = |recorder: &mut Recorder, kind, bytes: Option<u32>, times| match bytes {
                    Some(bytes) => recorder.success(kind, bytes, times),
                    None => recorder.failure(kind, OperationFailure::Short),
                };
                let mut alone = [empty.clone(), empty.clone()];
                let mut parts = vec![vec![empty.clone(); 4]; 5];
                for (kind, bytes, (service, late), interval, worker) in operations {
                    let kind = kinds[kind];
                    let times = Times {
                        service: Nanos(service),
                        response: Nanos(service + late),
                    };
                    let window = usize::from(phase(interval) == Phase::Window);
                    book(&mut alone[window], kind, bytes, times);
                    book(&mut parts[interval][worker], kind, bytes, times);
                }
                let mut expected = Tally::default();
                expected.add(&alone[0], Phase::Outside);
                expected.add(&alone[1], Phase::Window);
                let mut tally = Tally::default();
                // The recorder is reused, as workers reuse theirs.
                let mut merged = empty;
                for (interval, workers) in parts.iter().enumerate() {
                    merged.clear();
                    for worker in workers {
                        merged.merge(worker);
                    }
                    tally.add(&merged, phase(interval));
                }
                prop_assert_eq!(tally.failures(), expected.failures());
                for kind in [OpKind::Read, OpKind::Write, OpKind::Flush, OpKind::Echo] {
                    prop_assert_eq!(tally.whole(kind), expected.whole(kind));
                    let (one, other) = (tally.window(kind), expected.window(kind));
                    prop_assert_eq!((one.bytes, one.errors), (other.bytes, other.errors));
                    for of in [|op: &OpRecord| op.service.clone(), |op: &OpRecord| op.latency().clone()] {
                        let (one, other) = (of(&one), of(&other));
                        prop_assert_eq!((one.min(), one.max()), (other.min(), other.max()));
                        prop_assert_eq!(one, other);
                    }
                }
                // Packed ones are the same, and take more.
                let mut packed = tally.clone().packed();
                prop_assert_eq!(packed.window_all().service, tally.window_all().service);
                prop_assert_eq!(packed.window_all().response, tally.window_all().response);
                packed.add(&alone[1], Phase::Window);
                tally.add(&alone[1], Phase::Window);
                prop_assert_eq!(packed.window_all().service, tally.window_all().service);
            }
        }
}
