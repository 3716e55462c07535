//! Counts and histograms of a load point.
//!
//! Invariant: merging is exact and in no order. A kind of operation that never
//! completes costs no histogram.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use smbench_protocol::NtStatus;

use super::{CachingRecord, Direction, OpKind};
use crate::clock::Nanos;
use crate::pattern::Mismatch;
use crate::plan::LoadModel;

/// Latencies above this many nanoseconds (one hour) are recorded as this.
pub const HIGHEST_LATENCY_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits every latency histogram keeps.
pub const LATENCY_DIGITS: u8 = 3;

/// An empty latency histogram in nanoseconds, 1 ns to one hour.
#[must_use]
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, LATENCY_DIGITS)
        .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"))
}

/// Operations of one kind, or of all, that completed in the measured window.
#[derive(Clone, Debug)]
pub struct OpRecord {
    /// Completed without error; equals the histogram's count.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Completed with an error status, or with wrong data under verification.
    pub errors: u64,
    /// Time from sent to done, in nanoseconds, of the operations in `count`.
    pub service: Histogram<u64>,
    /// Time from due to done, likewise; `None` where operations are due when
    /// they are sent.
    pub response: Option<Histogram<u64>>,
}

/// How long an operation took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// From sent to done.
    pub service: Nanos,
    /// From due to done.
    pub response: Nanos,
}

impl From<Nanos> for Times {
    /// Of an operation that was due when it was sent.
    fn from(service: Nanos) -> Self {
        Self {
            service,
            response: service,
        }
    }
}

impl Default for OpRecord {
    fn default() -> Self {
        Self {
            count: 0,
            bytes: 0,
            errors: 0,
            service: latency_histogram(),
            response: None,
        }
    }
}

impl OpRecord {
    /// An empty record of operations that are due by the clock.
    fn paced() -> Self {
        Self {
            response: Some(latency_histogram()),
            ..Self::default()
        }
    }

    /// The time users wait: from due to done.
    #[must_use]
    pub fn latency(&self) -> &Histogram<u64> {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Adds what another worker recorded.
    pub fn merge(&mut self, other: &Self) {
        if other.response.is_some() && self.response.is_none() {
            self.response = Some(self.service.clone());
        }
        if let Some(ours) = &mut self.response {
            // Equal bounds, here and below: adding cannot fail.
            let added = ours.add(other.latency());
            debug_assert!(added.is_ok());
        }
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        let added = self.service.add(&other.service);
        debug_assert!(added.is_ok());
    }
}

/// Operations from the first to the last of a load point, ramps included:
/// what the server's side must have seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpTotals {
    /// Answered without error.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Answered with an error status, or with wrong data under verification.
    pub errors: u64,
}

/// Why an operation counts as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The server answered with this status.
    Status(NtStatus),
    /// The answer carried fewer bytes than asked for.
    Short,
    /// The answer carried more bytes than asked for.
    Long,
    /// Under verification, the data was not what had been written.
    WrongData,
    /// One of further causes, when there were more than are told apart.
    Other,
}

/// Causes of failure that one recorder tells apart; a server could invent
/// thousands of status codes.
const CAUSES_MAX: usize = 256;

/// What the window holds of a kind that did not occur in it.
static NOTHING: LazyLock<OpRecord> = LazyLock::new(OpRecord::default);

/// One worker's results, or several workers' after merging.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// A quarter of a megabyte each, so only for kinds that occur.
    window: [Option<OpRecord>; OpKind::ALL.len()],
    whole: [OpTotals; OpKind::ALL.len()],
    failures: BTreeMap<(OpKind, Failure), u64>,
    caching: CachingRecord,
    first_wrong_data: Option<String>,
}

/// Where in a load point an operation completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In the measured window.
    Window,
    /// In a ramp, or while the last operations drain.
    Outside,
}

impl Recorder {
    /// A recorder that has room for these kinds from the start, so that the
    /// first operation of a kind costs no more than the others. Others are
    /// counted as well. Those of a paced load have response times of their own.
    #[must_use]
    pub fn expecting(kinds: impl IntoIterator<Item = OpKind>, load: &LoadModel) -> Self {
        let mut new = Self::default();
        for kind in kinds {
            new.window[kind.index()].get_or_insert_with(|| match load.is_paced() {
                true => OpRecord::paced(),
                false => OpRecord::default(),
            });
        }
        new
    }

    /// Counts an operation that succeeded.
    pub fn success(&mut self, kind: OpKind, bytes: u32, times: impl Into<Times>, phase: Phase) {
        let times = times.into();
        let whole = &mut self.whole[kind.index()];
        whole.count += 1;
        whole.bytes += u64::from(bytes);
        if phase == Phase::Window {
            let window = self.window[kind.index()].get_or_insert_default();
            window.count += 1;
            window.bytes += u64::from(bytes);
            window.service.saturating_record(times.service.0.max(1));
            if let Some(response) = &mut window.response {
                response.saturating_record(times.response.0.max(1));
            }
        }
    }

    /// Counts an operation that was answered, but not as it should be.
    pub fn failure(&mut self, kind: OpKind, failure: Failure, phase: Phase) {
        self.whole[kind.index()].errors += 1;
        if phase == Phase::Window {
            self.window[kind.index()].get_or_insert_default().errors += 1;
        }
        self.count_failures(kind, failure, 1);
    }

    fn count_failures(&mut self, kind: OpKind, failure: Failure, count: u64) {
        let is_full = self.failures.len() >= CAUSES_MAX;
        let cause = match is_full && !self.failures.contains_key(&(kind, failure)) {
            true => Failure::Other,
            false => failure,
        };
        *self.failures.entry((kind, cause)).or_default() += count;
    }

    /// Counts an operation that read other data than had been written.
    pub fn wrong_data(
        &mut self,
        kind: OpKind,
        (client, file): (u32, u32),
        mismatch: &Mismatch,
        phase: Phase,
    ) {
        self.failure(kind, Failure::WrongData, phase);
        self.first_wrong_data
            .get_or_insert_with(|| format!("client {client}, file {file}: {mismatch}"));
    }

    /// Where and how data was first found wrong, under verification.
    #[must_use]
    pub fn first_wrong_data(&self) -> Option<&str> {
        self.first_wrong_data.as_deref()
    }

    /// Adds another worker's results.
    pub fn merge(&mut self, other: &Self) {
        if self.first_wrong_data.is_none() {
            self.first_wrong_data.clone_from(&other.first_wrong_data);
        }
        for kind in OpKind::ALL {
            let at = kind.index();
            if let Some(theirs) = &other.window[at] {
                self.window[at].get_or_insert_default().merge(theirs);
            }
            self.whole[at].count += other.whole[at].count;
            self.whole[at].bytes += other.whole[at].bytes;
            self.whole[at].errors += other.whole[at].errors;
        }
        self.caching.merge(&other.caching);
        for (&(kind, failure), &count) in &other.failures {
            self.count_failures(kind, failure, count);
        }
    }

    /// What completed in the window.
    #[must_use]
    pub fn window(&self, kind: OpKind) -> &OpRecord {
        self.window[kind.index()].as_ref().unwrap_or(&NOTHING)
    }

    /// Application bytes that clients moved this way in the window.
    #[must_use]
    pub fn window_bytes(&self, direction: Direction) -> u64 {
        OpKind::ALL
            .into_iter()
            .filter(|kind| kind.direction() == Some(direction))
            .map(|kind| self.window(kind).bytes)
            .sum()
    }

    /// What was answered from the first operation to the last.
    #[must_use]
    pub fn whole(&self, kind: OpKind) -> OpTotals {
        self.whole[kind.index()]
    }

    /// Failures of the whole load point by operation and cause.
    #[must_use]
    pub fn failures(&self) -> &BTreeMap<(OpKind, Failure), u64> {
        &self.failures
    }

    /// All kinds of the window as one: the operations of the workload.
    #[must_use]
    pub fn window_all(&self) -> OpRecord {
        let mut all = OpRecord::default();
        for kind in OpKind::ALL {
            if let Some(record) = &self.window[kind.index()]
                && kind != OpKind::OplockBreak
            {
                all.merge(record);
            }
        }
        all
    }

    /// What was granted to be cached, and taken back.
    #[must_use]
    pub const fn caching(&self) -> &CachingRecord {
        &self.caching
    }

    /// The same, to be counted on.
    pub const fn caching_mut(&mut self) -> &mut CachingRecord {
        &mut self.caching
    }

    /// Errors from the first operation to the last, ramps included.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.whole.iter().map(|totals| totals.errors).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn causes_of_failure_are_bounded_and_none_is_lost() {
        let mut recorder = Recorder::default();
        for code in 0..1000 {
            let failure = Failure::Status(NtStatus(0xC000_0000 + code));
            recorder.failure(OpKind::Read, failure, Phase::Window);
        }
        let mut merged = recorder.clone();
        merged.merge(&recorder);
        assert!(merged.failures().len() <= CAUSES_MAX + OpKind::ALL.len());
        assert_eq!(merged.failures().values().sum::<u64>(), 2000);
        assert_eq!(merged.errors(), 2000);
    }

    #[test]
    fn throughput_is_what_clients_read_and_wrote() {
        let mut recorder = Recorder::expecting([OpKind::Read], &LoadModel::default());
        for (kind, bytes) in [
            (OpKind::Read, 1),
            (OpKind::CreateReadClose, 10),
            (OpKind::Write, 100),
            (OpKind::CopyChunk, 1000),
        ] {
            recorder.success(kind, bytes, Nanos(1), Phase::Window);
        }
        assert_eq!(recorder.window_bytes(Direction::Read), 11);
        assert_eq!(recorder.window_bytes(Direction::Write), 100);
        assert_eq!(recorder.window_all().bytes, 1111);
        assert_eq!(recorder.window(OpKind::Echo).count, 0);
    }

    proptest! {
        /// However operations are spread over recorders, merging gives what one
        /// recorder alone would have.
        #[test]
        fn merged_recorders_equal_one(
            operations in proptest::collection::vec(
                (0usize..3, 0u32..100_000, 1u64..10_000_000_000, any::<bool>(), 0usize..4),
                0..200,
            ),
        ) {
            let mut alone = Recorder::default();
            let mut parts = vec![Recorder::default(); 4];
            for (kind, bytes, service, in_window, part) in operations {
                let phase = if in_window { Phase::Window } else { Phase::Outside };
                for recorder in [&mut alone, &mut parts[part]] {
                    recorder.success(OpKind::ALL[kind], bytes, Nanos(service), phase);
                }
            }
            let mut merged = Recorder::default();
            for part in &parts {
                merged.merge(part);
            }
            for kind in [OpKind::Read, OpKind::Write, OpKind::Flush, OpKind::Echo] {
                prop_assert_eq!(merged.whole(kind), alone.whole(kind));
                let (one, other) = (merged.window(kind), alone.window(kind));
                prop_assert_eq!((one.count, one.bytes), (other.count, other.bytes));
                prop_assert_eq!(&one.service, &other.service);
                prop_assert_eq!(one.service.len(), one.count);
            }
        }
    }
}
