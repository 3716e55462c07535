//! The recorder of a worker, for one interval.
//!
//! Invariant: the sum of several recorders equals one recorder of all their
//! operations, however they are distributed. A kind of operation that never
//! completes has no histogram.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smbench_protocol::NtStatus;

use super::incidents::Incidents;
use super::{
    CachingRecord, ChurnRecord, ClosingWaits, EventLosses, FinalRead, LoadEvent, LoadEvents,
    OpRecord, Times,
};
use crate::Nanos;
use crate::contents::verify::ReadVerdict;
use crate::kind::{ByKind, OpKind};
use crate::load::LoadModel;

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

    /// Counts blocks that clients read after their load.
    pub fn read_finally(&mut self, read: FinalRead) {
        self.incidents.verification.add_final(read);
    }

    /// Returns the blocks that clients read after their load; `None` if there were none.
    #[must_use]
    pub const fn final_read(&self) -> Option<FinalRead> {
        self.incidents.verification.final_read
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

    /// Returns what happened to the connections of clients.
    #[must_use]
    pub const fn events(&self) -> &LoadEvents {
        &self.incidents.events
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
