//! Byte-range locks on handles that a server has kept. Such a handle still has its locks, so each
//! of them gets its UNLOCK when the connection is back.

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::operations::RequestResult;
use smbench_model::record::{Reclaimed, Recorder};
use smbench_protocol::NtStatus;

use super::Clients;
use crate::drivers::driver::{Answer, Extent};
use crate::worker::slot::SlotState;
use crate::worker::supply::Supply;

/// What is known of a lock on a handle that the server may have kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptLock {
    /// The server had granted it.
    Granted,
    /// Its LOCK or UNLOCK had no answer.
    Unknown,
}

impl<S: Supply> Clients<S> {
    /// Makes an UNLOCK the next request of a slot whose LOCK or UNLOCK was lost, if the server may
    /// keep the lock. Returns whether it has done so.
    pub(super) fn unlocks_next(&mut self, at: u32, now: Nanos) -> bool {
        let slot = &mut self.slots[at as usize];
        let member = &mut self.members[slot.member];
        let unlock = match slot.operation.kind {
            OpKind::Unlock => Some(slot.operation),
            OpKind::Lock => {
                let (went, status) = (RequestResult::Well, NtStatus::SUCCESS);
                let next = member.operations.after(&slot.operation, went, status);
                next.filter(|next| next.kind == OpKind::Unlock)
            }
            _ => None,
        };
        let Some(unlock) = unlock.filter(|_| self.keeps_handles) else {
            return false;
        };
        slot.operation = unlock;
        slot.intended = now;
        slot.state = SlotState::Continuing;
        member.continuing.push_back(at);
        let after_loss = self.after_loss.get_or_insert_default();
        after_loss.locks.insert(at, KeptLock::Unknown);
        true
    }

    /// Returns whether the next request of a slot is an UNLOCK on a handle that the server may have
    /// kept. `handles` says what it has kept; `None` if the clients do not come back.
    pub(super) fn keeps_lock(
        &mut self,
        at: u32,
        handles: Option<&Reclaimed>,
        recorder: &mut Recorder,
    ) -> bool {
        let kind = self.slots[at as usize].operation.kind;
        if kind != OpKind::Unlock || !self.keeps_handles {
            return false;
        }
        let locks = &mut self.after_loss.get_or_insert_default().locks;
        let is_kept = handles.is_some_and(|handles| handles.kept > 0);
        if is_kept {
            locks.entry(at).or_insert(KeptLock::Granted);
        } else if locks.remove(&at) != Some(KeptLock::Unknown) && handles.is_some() {
            let losses = recorder.losses_mut(self.after_event);
            losses.handles.locks_lost += 1;
        }
        is_kept
    }

    /// Counts what the answer to an UNLOCK says about a lock on a kept handle. Returns whether the
    /// slot has ended with it; if not, the answer is like any other.
    #[cold]
    pub(in crate::worker::booking) fn ends_lock(
        &mut self,
        answer: &Answer<'_>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) -> bool {
        let is_final = answer.extent == Extent::Final;
        let after_loss = self.after_loss.as_mut().filter(|_| is_final);
        let lock = after_loss.and_then(|after_loss| after_loss.locks.remove(&answer.slot));
        let at = answer.slot;
        match (lock, answer.status) {
            (Some(KeptLock::Granted), NtStatus::SUCCESS) => {
                let losses = recorder.losses_mut(self.after_event);
                losses.handles.locks_kept += 1;
                false
            }
            (Some(KeptLock::Granted), NtStatus::RANGE_NOT_LOCKED) => {
                let losses = recorder.losses_mut(self.after_event);
                losses.handles.locks_lost += 1;
                self.count_lost(at, now, in_window, recorder);
                self.free(at, now, in_window, recorder);
                true
            }
            // It was not granted, or its UNLOCK was carried out.
            (Some(KeptLock::Unknown), NtStatus::RANGE_NOT_LOCKED) => {
                self.in_flight -= 1;
                self.free(at, now, in_window, recorder);
                true
            }
            _ => false,
        }
    }
}
