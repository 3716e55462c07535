//! What lost connections cost, by the event that came before them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use smbench_protocol::NtStatus;

use super::incidents::add;
use super::packed::KeptLatencies;
use super::{OpRecord, OperationFailure, Recorder, Times};
use crate::Nanos;
use crate::contents::block::Mismatch;
use crate::contents::verify::DataFault;
use crate::kind::OpKind;

/// The largest number of different statuses of handles that are kept apart.
const STATUSES_MAX: usize = 64;

/// What became of the durable handles of a client that came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reclaimed {
    /// Handles that the server had kept.
    pub kept: u64,
    /// Handles that the server had not kept, by its answer. `None` if it had not promised to
    /// keep the handle.
    pub lost: BTreeMap<Option<NtStatus>, u64>,
    /// Kept handles whose oplock or lease is what it was.
    pub caching_kept: u64,
    /// Kept handles whose oplock or lease is less than it was.
    pub caching_lost: u64,
    /// Byte-range locks that the server still had with their handles.
    pub locks_kept: u64,
    /// Byte-range locks that it had no more.
    pub locks_lost: u64,
}

impl Reclaimed {
    /// Returns whether there were handles, and the server had kept them all.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.kept > 0 && self.lost.is_empty()
    }

    /// Counts a handle that the server had not kept.
    pub fn lose(&mut self, status: Option<NtStatus>) {
        let is_known = self.lost.len() < STATUSES_MAX || self.lost.contains_key(&status);
        let status = status.filter(|_| is_known);
        *self.lost.entry(status).or_default() += 1;
    }

    /// Adds the handles of other clients.
    pub fn merge(&mut self, other: &Self) {
        self.kept += other.kept;
        self.caching_kept += other.caching_kept;
        self.caching_lost += other.caching_lost;
        self.locks_kept += other.locks_kept;
        self.locks_lost += other.locks_lost;
        for (&status, &count) in &other.lost {
            let is_known = self.lost.len() < STATUSES_MAX || self.lost.contains_key(&status);
            *self.lost.entry(status.filter(|_| is_known)).or_default() += count;
        }
    }
}

/// What the losses of connections after one event cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventLosses {
    /// Clients that lost their connection.
    pub clients: u64,
    /// Time of each client that came back from its last answer before the loss to its first
    /// answer after it.
    pub blackout: KeptLatencies,
    /// Longest time of a client that did not come back, from its last answer before the loss to
    /// the end of its load.
    pub longest_away: Nanos,
    /// The durable handles of these clients.
    pub handles: Reclaimed,
    /// Requests without an answer that were sent again. In the record of a second it may be
    /// negative: that of one that was counted before, and was lost for good.
    pub repeated: i64,
    /// Operations without an answer that failed.
    pub failed: u64,
    /// Connections that were lost, with and without a client in wait.
    pub links: u64,
    /// Connections of clients that went on with another one. In the record of a second it may be
    /// negative: that of a client that lost its other ones, too.
    pub channels: i64,
    /// Operations that failed after the event and before the next one, by cause.
    pub failures: BTreeMap<(OpKind, OperationFailure), u64>,
    /// Data that was found wrong meanwhile, under verification.
    pub faults: DataFaults,
}

impl EventLosses {
    /// Counts a client that came back after this time.
    pub fn came_back(&mut self, after: Nanos) {
        self.blackout.record(after);
    }

    /// Notes a client that was away for this time when its load ended.
    pub fn stayed_away(&mut self, time: Nanos) {
        self.longest_away = self.longest_away.max(time);
    }

    /// Counts an operation that failed.
    pub fn fail(&mut self, kind: OpKind, failure: OperationFailure) {
        self.add_failures(kind, failure, 1);
    }

    fn add_failures(&mut self, kind: OpKind, failure: OperationFailure, count: u64) {
        let other = (kind, OperationFailure::Other);
        add(&mut self.failures, (kind, failure), other, count);
    }

    /// Returns the number of clients that did not come back.
    #[must_use]
    pub fn still_away(&self) -> u64 {
        self.clients.saturating_sub(self.blackout.get().len())
    }

    fn merge(&mut self, other: &Self) {
        self.clients += other.clients;
        self.blackout.merge(&other.blackout);
        self.stayed_away(other.longest_away);
        self.handles.merge(&other.handles);
        self.repeated += other.repeated;
        self.failed += other.failed;
        self.links += other.links;
        self.channels += other.channels;
        for (&(kind, failure), &count) in &other.failures {
            self.add_failures(kind, failure, count);
        }
        self.faults.merge(&other.faults);
    }
}

/// The costs of lost connections, by event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Losses(BTreeMap<Option<u32>, EventLosses>);

impl Losses {
    /// Returns what followed from the event with this index, `None` for losses before all events.
    /// Returns `None` if no connection was lost, and no operation failed after the event.
    #[must_use]
    pub fn after(&self, event: Option<u32>) -> Option<&EventLosses> {
        self.0.get(&event)
    }

    /// Keeps all latencies in little memory.
    pub(super) fn pack(&mut self) {
        for losses in self.0.values_mut() {
            losses.blackout.pack();
        }
    }

    /// Returns all costs, those before all events first.
    pub fn all(&self) -> impl Iterator<Item = (Option<u32>, &EventLosses)> {
        self.0.iter().map(|(event, losses)| (*event, losses))
    }

    /// Returns whether any connection was lost.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        self.0.values().any(|of| of.links + of.clients > 0)
    }

    /// Returns what followed from an event, to add to it.
    pub(super) fn after_mut(&mut self, event: Option<u32>) -> &mut EventLosses {
        self.0.entry(event).or_default()
    }

    /// Adds the costs of other clients.
    pub(super) fn merge(&mut self, other: &Self) {
        for (event, losses) in other.all() {
            self.after_mut(event).merge(losses);
        }
    }
}

impl Recorder {
    /// Returns the number of operations of a kind that succeeded.
    #[must_use]
    pub fn succeeded(&self, kind: OpKind) -> u64 {
        self.of_kind(kind).map_or(0, OpRecord::count)
    }

    /// Notes that the last operation of a kind that succeeded was in a blackout: in flight when
    /// its connection was lost, or due before it was back. Operations that the workload did not
    /// ask for are left out, because they are in no sum.
    #[cold]
    pub fn blacked_out(&mut self, kind: OpKind, times: Times) {
        if !kind.is_asked_for() {
            return;
        }
        let is_paced = self.of_kind(kind).is_some_and(|of| of.response.is_some());
        let of_all = self.in_blackout.get_or_insert_default();
        if is_paced && of_all.response.is_none() {
            of_all.response = Some(of_all.service.clone());
        }
        let service = times.service.0.max(1);
        of_all.service.saturating_record(service);
        if let Some(responses) = &mut of_all.response {
            let response = times.response.0.max(1);
            responses.saturating_record(if is_paced { response } else { service });
        }
    }

    /// Counts a failed operation among those after an event, if there was one.
    #[cold]
    pub fn failed_after(&mut self, event: Option<u32>, kind: OpKind, failure: OperationFailure) {
        if event.is_some() {
            self.losses_mut(event).fail(kind, failure);
        }
    }

    /// Counts an operation that read other data than the written data.
    pub fn wrong_data(&mut self, kind: OpKind) {
        self.failure(kind, OperationFailure::WrongData);
        self.incidents.verification.wrong += 1;
    }

    /// Counts a fault that a client has found, and among those after an event, if there was one.
    #[cold]
    pub fn fault(&mut self, event: Option<u32>, client: u32, fault: &DataFault) {
        let DataFault { file, mismatch } = fault;
        self.incidents.faults.count(mismatch);
        if event.is_some() {
            self.losses_mut(event).faults.count(mismatch);
        }
        let place = std::iter::once_with(|| WrongPlace {
            client,
            file: *file,
            offset: mismatch.offset(),
            found: mismatch.to_string(),
        });
        WrongPlace::keep(&mut self.incidents.wrong_places, place);
    }
}

/// Data that was found wrong, by what the stamps in it show.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct DataFaults {
    /// Acknowledged writes that reads did not find. Each counts once, like those below. Of the
    /// data that a run prepares, each block of 512 bytes counts.
    pub lost: u64,
    /// Writes without an answer that reads found over a later acknowledged one.
    pub doubled: u64,
    /// Blocks of 512 bytes that no single write made.
    pub torn: u64,
}

impl DataFaults {
    /// Counts wrong data.
    pub const fn count(&mut self, mismatch: &Mismatch) {
        match mismatch {
            // What an earlier run has left there is older as well.
            Mismatch::Stale { .. } | Mismatch::Missing { .. } | Mismatch::OtherRun { .. } => {
                self.lost += 1;
            }
            Mismatch::Late { .. } => self.doubled += 1,
            Mismatch::Byte { .. } => self.torn += 1,
            Mismatch::Foreign { .. } => {}
        }
    }

    /// Adds the faults that other clients found. A sum of what a file says may be too large.
    pub const fn merge(&mut self, other: &Self) {
        self.lost = self.lost.saturating_add(other.lost);
        self.doubled = self.doubled.saturating_add(other.doubled);
        self.torn = self.torn.saturating_add(other.torn);
    }
}

/// A place at which a read was the first to find wrong data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WrongPlace {
    /// Number of the client that read it.
    pub client: u32,
    /// Number of the file.
    pub file: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// What the read found.
    pub found: String,
}

impl fmt::Display for WrongPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "client {}, file {}: {}",
            self.client, self.file, self.found
        )
    }
}

impl WrongPlace {
    /// The largest number of places of a load point that are kept.
    pub const KEPT_MAX: usize = 1000;

    /// Adds places, as far as there is room.
    pub(super) fn keep(kept: &mut Vec<Self>, further: impl IntoIterator<Item = Self>) {
        let room = Self::KEPT_MAX.saturating_sub(kept.len());
        kept.extend(further.into_iter().take(room));
    }
}

#[cfg(test)]
mod tests;
