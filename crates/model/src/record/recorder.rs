//! The recorder of a worker, for one interval.
//!
//! Invariant: the sum of several recorders equals one recorder of all their
//! operations, however they are distributed. A kind of operation that never
//! completes has no histogram.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use smbench_protocol::NtStatus;

use super::incidents::Incidents;
use super::{CachingRecord, ChurnRecord, ClosingWaits, EventLosses, LoadEvent};
use crate::Nanos;
use crate::contents::verify::ReadVerdict;
use crate::kind::{ByKind, OpKind};
use crate::load::LoadModel;

/// The highest latency recorded, one hour in nanoseconds. Longer ones are recorded
/// as this.
pub const HIGHEST_LATENCY_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits every latency histogram keeps.
pub const LATENCY_DIGITS: u8 = 3;

/// Makes an empty latency histogram in nanoseconds, 1 ns to one hour.
#[must_use]
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, LATENCY_DIGITS)
        .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"))
}

/// Returns the non-empty buckets of a histogram: pairs of a latency in nanoseconds within the
/// bucket, and the bucket's count.
#[must_use]
pub fn buckets(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let buckets = histogram.iter_recorded();
    buckets
        .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
        .collect()
}

/// Operations of one kind, or of all, that completed in a period.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpRecord {
    /// Payload bytes of the operations that completed without error.
    pub bytes: u64,
    /// Operations that completed with an error status, or with wrong data under
    /// verification.
    pub errors: u64,
    /// Requests beyond one for each operation that completed without error, because
    /// operations were split.
    pub further_requests: u64,
    /// Names that the operations listed, without `.` and `..`.
    pub entries: u64,
    /// Time from sent to done in nanoseconds, of operations that completed without
    /// error.
    #[serde(with = "super::transfer")]
    pub service: Histogram<u64>,
    /// Time from due to done in nanoseconds, of the same operations. `None` if
    /// operations are due when they are sent.
    #[serde(with = "super::transfer::optional")]
    pub response: Option<Histogram<u64>>,
}

/// The times of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// From sent to done.
    pub service: Nanos,
    /// From due to done.
    pub response: Nanos,
}

impl From<Nanos> for Times {
    /// Makes the times of an operation that was due when it was sent.
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
            bytes: 0,
            errors: 0,
            further_requests: 0,
            entries: 0,
            service: latency_histogram(),
            response: None,
        }
    }
}

impl OpRecord {
    /// Makes an empty record of operations that are due by the clock.
    fn paced() -> Self {
        Self {
            response: Some(latency_histogram()),
            ..Self::default()
        }
    }

    /// Returns the number of operations that completed without error.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.service.len()
    }

    /// Returns the time that users wait, from due to done.
    #[must_use]
    pub fn latency(&self) -> &Histogram<u64> {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Adds another record.
    pub fn merge(&mut self, other: &Self) {
        if other.response.is_some() && self.response.is_none() {
            self.response = Some(self.service.clone());
        }
        if let Some(ours) = &mut self.response {
            // The bounds are equal, here and below, so adding cannot fail.
            let added = ours.add(other.latency());
            debug_assert!(added.is_ok());
        }
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.further_requests += other.further_requests;
        self.entries += other.entries;
        let added = self.service.add(&other.service);
        debug_assert!(added.is_ok());
    }

    pub(super) fn is_empty(&self) -> bool {
        // Notifications whose cause is not known are entries without a time.
        self.errors == 0 && self.entries == 0 && self.service.is_empty()
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.errors = 0;
        self.further_requests = 0;
        self.entries = 0;
        // A reset touches a quarter of a megabyte, so it is done only when
        // necessary.
        if !self.service.is_empty() {
            self.service.reset();
            if let Some(response) = &mut self.response {
                response.reset();
            }
        }
    }
}

/// The reason why an operation counts as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationFailure {
    /// The server answered with this status.
    Status(NtStatus),
    /// The answer carried fewer bytes than asked for.
    Short,
    /// The answer carried more bytes than asked for.
    Long,
    /// Under verification, the data was not the written data.
    WrongData,
    /// No answer came, because the connection was lost and replaced.
    Lost,
    /// One of the remaining causes, after too many different ones.
    Other,
}

impl OperationFailure {
    /// The causes that are no status, with their names in documents.
    const NAMED: [(Self, &'static str); 5] = [
        (Self::Short, "short"),
        (Self::Long, "long"),
        (Self::WrongData, "wrong-data"),
        (Self::Lost, "lost-connection"),
        (Self::Other, "other"),
    ];

    /// Returns the name in documents. A status without a name has its number.
    #[must_use]
    pub fn name(self) -> String {
        if let Self::Status(status) = self {
            let number = || format!("0x{:08X}", status.0);
            return status.name().map_or_else(number, str::to_owned);
        }
        let named = Self::NAMED.iter().find(|(cause, _)| *cause == self);
        named.map_or_else(String::new, |(_, name)| (*name).to_owned())
    }

    /// Returns the failure with this name in documents; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some((cause, _)) = Self::NAMED.iter().find(|(_, known)| *known == name) {
            return Some(*cause);
        }
        let number = || u32::from_str_radix(name.strip_prefix("0x")?, 16).ok();
        let status = NtStatus::from_name(name).or_else(|| number().map(NtStatus));
        status.map(Self::Status)
    }
}

/// A difference between an operation of a replay and its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReplayDifference {
    /// The kind of the operation.
    pub kind: OpKind,
    /// The recorded status; `None` if there were too many different differences.
    pub recorded: Option<NtStatus>,
    /// The result in the replay.
    pub seen: OperationFailure,
}

impl ReplayDifference {
    /// Share of the operations of a replay, ramps included, that may differ from the recording in
    /// a valid load point. With more, the figures are of another work than the recorded one.
    pub const SHARE_MAX: f64 = 0.01;
}

/// The records of one worker in an interval, or of several workers after merging.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorder {
    /// A record has a quarter of a megabyte, so only kinds that occur have one.
    #[serde(with = "super::transfer::by_kind")]
    ops: ByKind<Option<OpRecord>>,
    pub(super) incidents: Incidents,
    /// The operations among them that were in a blackout, if there are any.
    pub(super) in_blackout: Option<Box<OpRecord>>,
}

impl Recorder {
    /// Makes a recorder with memory for these kinds. The first operation of such a
    /// kind therefore costs no more than the others. Other kinds are counted too. A
    /// paced load has separate response times.
    #[must_use]
    pub fn expecting(kinds: impl IntoIterator<Item = OpKind>, load: &LoadModel) -> Self {
        let mut new = Self::default();
        for kind in kinds {
            new.ops[kind.index()].get_or_insert_with(|| {
                if load.is_paced() {
                    OpRecord::paced()
                } else {
                    OpRecord::default()
                }
            });
        }
        new
    }

    /// Counts an operation that succeeded.
    #[inline]
    pub fn success(&mut self, kind: OpKind, bytes: u32, times: impl Into<Times>) {
        let times = times.into();
        let op = self.ops[kind.index()].get_or_insert_default();
        op.bytes += u64::from(bytes);
        op.service.saturating_record(times.service.0.max(1));
        if let Some(response) = &mut op.response {
            response.saturating_record(times.response.0.max(1));
        }
    }

    pub(super) fn of_kind(&self, kind: OpKind) -> Option<&OpRecord> {
        self.ops[kind.index()].as_ref()
    }

    /// Counts the requests beyond the first of an operation that succeeded.
    pub fn split(&mut self, kind: OpKind, further: u64) {
        self.ops[kind.index()]
            .get_or_insert_default()
            .further_requests += further;
    }

    /// Counts the names that an operation listed that succeeded.
    pub fn listed(&mut self, kind: OpKind, entries: u64) {
        self.ops[kind.index()].get_or_insert_default().entries += entries;
    }

    /// Counts an operation with a wrong answer.
    pub fn failure(&mut self, kind: OpKind, failure: OperationFailure) {
        self.ops[kind.index()].get_or_insert_default().errors += 1;
        self.incidents.failure(kind, failure, 1);
    }

    /// Counts an operation of a replay whose answer differs from the recording.
    pub fn difference(&mut self, difference: ReplayDifference) {
        self.incidents.difference(difference, 1);
    }

    /// Counts a verified operation whose data was not wrong.
    #[inline]
    pub const fn verified(&mut self, verdict: ReadVerdict) {
        self.incidents.verification.count(verdict);
    }

    /// Keeps the path of a directory that a walk has to leave out.
    pub fn refused(&mut self, path: &impl std::fmt::Display, status: NtStatus) {
        self.incidents.refused.add(path, status);
    }

    /// Counts an operation that had been sent this long when the window closed, without an
    /// answer.
    pub fn in_flight(&mut self, kind: OpKind, waited: Nanos) {
        self.incidents
            .in_flight
            .add(kind, ClosingWaits::one(waited));
    }

    /// Keeps what happened to the connection of clients.
    pub fn event(&mut self, event: LoadEvent) {
        self.incidents.events.add(event);
    }

    /// Returns what lost connections cost after the event with this index, to add to it.
    pub fn losses_mut(&mut self, event: Option<u32>) -> &mut EventLosses {
        self.incidents.losses.after_mut(event)
    }

    /// Returns the clients that left and came back, to add to them.
    pub fn churn_mut(&mut self) -> &mut ChurnRecord {
        self.incidents.churn.get_or_insert_default()
    }

    /// Adds the records of another worker.
    pub fn merge(&mut self, other: &Self) {
        for (kind, theirs) in other.ops() {
            self.ops[kind.index()].get_or_insert_default().merge(theirs);
        }
        self.incidents.merge(&other.incidents);
        if let Some(theirs) = &other.in_blackout {
            self.in_blackout.get_or_insert_default().merge(theirs);
        }
    }

    /// Clears all records, but keeps their memory.
    pub fn clear(&mut self) {
        for op in self.ops.iter_mut().flatten() {
            op.clear();
        }
        self.incidents = Incidents::default();
        self.in_blackout = None;
    }

    /// Returns the records by kind, without empty ones.
    pub fn ops(&self) -> impl Iterator<Item = (OpKind, &OpRecord)> {
        let ops = OpKind::ALL.into_iter().zip(self.ops.iter());
        ops.filter_map(|(kind, op)| Some((kind, op.as_ref().filter(|op| !op.is_empty())?)))
    }

    /// Returns all kinds of the workload's operations as one.
    #[must_use]
    pub fn all(&self) -> OpRecord {
        let mut all = OpRecord::default();
        for (_, op) in self.ops().filter(|(kind, _)| kind.is_asked_for()) {
            all.merge(op);
        }
        all
    }

    /// Returns the operations that differ from the replayed trace, by kind.
    #[must_use]
    pub fn differing(&self) -> BTreeMap<OpKind, u64> {
        self.incidents.differing()
    }

    /// Returns the bytes read and written. Data that the server copies is no
    /// throughput.
    #[must_use]
    pub fn bytes_carried(&self) -> u64 {
        let carrying = self.ops().filter(|(kind, _)| kind.direction().is_some());
        carrying.map(|(_, of)| of.bytes).sum()
    }

    /// Returns the caching granted and revoked, to add to it.
    pub const fn caching_mut(&mut self) -> &mut CachingRecord {
        &mut self.incidents.caching
    }
}

#[cfg(test)]
mod tests;
