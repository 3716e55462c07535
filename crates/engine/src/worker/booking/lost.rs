//! Operations that get no answer because their connection was lost.
//!
//! Invariant: each operation in flight is counted once, as a failure, or later with its
//! answer if it is sent again.

mod locks;

use std::collections::BTreeMap;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{EventKind, LoadEvent, OperationFailure, Reclaimed, Recorder, Times};

use super::{Booking, Clients, book_missed};
use crate::drivers::driver::{Answer, ChurnEvent, Sink as _, slot_of};
use crate::drivers::dropped::Dropped;
use crate::worker::slot::{Slot, SlotState};
use crate::worker::split::PieceRepeat;
use crate::worker::supply::Supply;
use locks::KeptLock;

/// Slots for which more follows from a lost connection.
#[derive(Default)]
pub(super) struct SlotsAfterLoss {
    /// Those whose requests are to be sent again, and the event under which that is counted.
    repeats: BTreeMap<u32, Option<u32>>,
    /// Those with an UNLOCK on a handle that the server may have kept.
    locks: BTreeMap<u32, KeptLock>,
}

impl<S: Supply> Booking<'_, S> {
    /// Records what happened to the connection of all clients of the group.
    pub(super) fn book_event(&mut self, kind: EventKind, at: Nanos) {
        self.recorder.event(LoadEvent {
            at: at.since(self.clients.begin),
            kind,
            clients: self.clients.members.len() as u32,
        });
    }

    /// Records the answer to an operation that was in a blackout. If it has succeeded with this
    /// answer, it had these times.
    #[cold]
    pub(super) fn book_late(
        &mut self,
        answer: &Answer<'_>,
        kind: OpKind,
        times: Times,
    ) -> Result<(), Dropped> {
        let before = self.recorder.succeeded(kind);
        self.answer(answer)?;
        if self.recorder.succeeded(kind) > before {
            self.recorder.blacked_out(kind, times);
        }
        Ok(())
    }

    /// Records that the clients of the group have left, or are back.
    #[cold]
    pub(super) fn book_churn(&mut self, event: ChurnEvent<'_>) {
        let clients = self.clients.members.len() as u64;
        let record = self.recorder.churn_mut();
        match event {
            ChurnEvent::Left => record.left += clients,
            ChurnEvent::Vanished { silent, ended } => {
                record.left += clients;
                record.vanished += clients;
                record.silent += u64::from(silent);
                record.silent_ended += u64::from(ended);
            }
            ChurnEvent::Back(log_ons) => {
                log_ons.iter().for_each(|&took| record.came_back(took));
                let now = self.now;
                let members = self.clients.members.iter_mut();
                members.for_each(|member| member.rest_until(now));
                self.clients.back_since = now;
                self.clients.reopened();
            }
        }
    }
}

impl<S: Supply> Clients<S> {
    /// Returns the kind of the operation in a slot, and its times if it is done now. Returns
    /// `None` if it was due when the connection was back, and so was in no blackout.
    pub(super) fn in_blackout(
        &self,
        slot: u32,
        back_at: Nanos,
        now: Nanos,
    ) -> Option<(OpKind, Times)> {
        let at = slot_of(slot);
        let slot = self.slots.get(at)?;
        let of_whole = slot.operation.kind.part_of();
        let of_whole = of_whole.filter(|_| S::splits() && slot.operation.kind.is_step());
        let (kind, sent, due) = match of_whole {
            Some(kind) => (kind, self.wholes[at].first_sent(slot), slot.due),
            None => (slot.operation.kind, slot.sent, slot.intended),
        };
        let times = Times {
            service: now.since(sent),
            response: now.since(due),
        };
        (due < back_at).then_some((kind, times))
    }

    /// Counts the operations in flight at `now` as never answered. Without a recorder their
    /// kinds are lost.
    pub(in crate::worker) fn give_up_in_flight(
        &mut self,
        now: Nanos,
        mut recorder: Option<&mut Recorder>,
    ) {
        if S::splits() {
            let begun = |slot: &&Slot| slot.state != SlotState::Free;
            for slot in self.slots.iter().filter(begun) {
                self.members[slot.member].miss_frame(slot.due, now);
            }
        }
        for slot in self.slots.iter().filter(|slot| slot.state.is_in_flight()) {
            let waited = self.members[slot.member].miss_window(slot, now);
            if let (Some(waited), Some(recorder)) = (waited, recorder.as_deref_mut()) {
                recorder.in_flight(slot.operation.kind, waited);
            }
        }
    }

    /// Counts the operation of a slot as failed, and ends its action. If the server may keep a
    /// lock of it, the UNLOCK follows when the connection is back.
    #[cold]
    pub(super) fn book_lost(
        &mut self,
        at: u32,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) {
        self.count_lost(at, now, in_window, recorder);
        if !self.unlocks_next(at, now) {
            self.free(at, now, in_window, recorder);
        }
    }

    /// Counts the operation in flight in a slot as failed.
    fn count_lost(&mut self, at: u32, now: Nanos, in_window: u64, recorder: &mut Recorder) {
        let slot = &mut self.slots[at as usize];
        let member = &mut self.members[slot.member];
        slot.leave_write(member.ledger.as_deref_mut());
        // A failing operation was counted with its first wrong part.
        if slot.state != SlotState::Failing {
            let (kind, failure) = (slot.operation.kind, OperationFailure::Lost);
            recorder.failure(kind, failure);
            recorder.losses_mut(self.after_event).fail(kind, failure);
            if !slot.operation.kind.is_step() {
                recorder.losses_mut(self.after_event).failed += 1;
            }
        }
        self.in_flight -= 1;
        if in_window == 0 {
            book_missed(member, slot, now, recorder);
        }
    }

    /// Ends the action of a slot that has nothing in flight.
    fn free(&mut self, at: u32, now: Nanos, in_window: u64, recorder: &mut Recorder) {
        let slot = &mut self.slots[at as usize];
        let member = &mut self.members[slot.member];
        slot.state = SlotState::Free;
        if S::splits() {
            member.miss_frame(slot.due, now);
        }
        member.release(at, now);
        self.end_lost_whole(at, now, in_window, recorder);
    }

    /// Counts the operations that wait for a connection as failed, because the load has ended, and
    /// ends all actions.
    #[cold]
    pub(in crate::worker) fn give_up_waiting(&mut self, now: Nanos, recorder: &mut Recorder) {
        for slot in 0..self.slots.len() as u32 {
            let Slot { state, member, .. } = self.slots[slot as usize];
            if state.is_in_flight() {
                let continuing = &mut self.members[member].continuing;
                continuing.retain(|&other| other != slot);
                self.book_given_up(slot, now, 0, recorder);
            }
        }
        self.end_actions(now, 0, None, recorder);
    }

    /// Counts an operation in flight as failed of which nothing more is sent, in one piece or in
    /// several.
    fn book_given_up(&mut self, slot: u32, now: Nanos, in_window: u64, recorder: &mut Recorder) {
        let splits = self.splits.as_mut();
        let Some(unrepeated) = splits.and_then(|splits| splits.give_up(slot)) else {
            return self.book_unrepeated(slot, now, in_window, recorder);
        };
        for PieceRepeat(event) in unrepeated {
            recorder.losses_mut(event).repeated -= 1;
        }
        self.book_lost(slot, now, in_window, recorder);
    }

    /// Counts that the request in a slot is to be sent again.
    #[cold]
    pub(super) fn note_repeat(&mut self, slot: u32, recorder: &mut Recorder) {
        recorder.losses_mut(self.after_event).repeated += 1;
        let after_loss = self.after_loss.get_or_insert_default();
        after_loss.repeats.insert(slot, self.after_event);
    }

    /// Forgets an earlier repetition of the request in a slot.
    pub(super) fn forget_repeat(&mut self, slot: u32) {
        if let Some(after_loss) = &mut self.after_loss {
            after_loss.repeats.remove(&slot);
        }
    }

    /// Counts an operation as failed that was to be sent again, and is not.
    fn book_unrepeated(&mut self, slot: u32, now: Nanos, in_window: u64, recorder: &mut Recorder) {
        let after_loss = self.after_loss.as_mut();
        let counted = after_loss.and_then(|after_loss| after_loss.repeats.remove(&slot));
        if let Some(event) = counted {
            recorder.losses_mut(event).repeated -= 1;
        }
        self.book_lost(slot, now, in_window, recorder);
    }

    /// Ends the operation of several steps in a slot, whose next step cannot be sent.
    fn end_lost_whole(&mut self, at: u32, now: Nanos, in_window: u64, recorder: &mut Recorder) {
        if S::splits() && self.slots[at as usize].operation.kind.is_step() {
            recorder.losses_mut(self.after_event).failed += 1;
            self.end_whole(at, Some(OperationFailure::Lost), now, in_window, recorder);
        }
    }

    /// Tells the operations of all clients that their files were opened anew.
    #[cold]
    pub(super) fn reopened(&mut self) {
        let members = self.members.iter_mut();
        members.for_each(|member| member.operations.reopened());
    }

    /// Ends the actions that have a further request to send, because their opens are gone
    /// with the sessions. A request that was to be sent again stays if it needs none of them;
    /// otherwise it has failed. The UNLOCK of a handle stays if the server has kept handles.
    /// `handles` says which; `None` if the clients do not come back.
    #[cold]
    pub(super) fn end_actions(
        &mut self,
        now: Nanos,
        in_window: u64,
        handles: Option<&Reclaimed>,
        recorder: &mut Recorder,
    ) {
        self.back_since = now;
        for slot in 0..self.slots.len() as u32 {
            let kind = self.slots[slot as usize].operation.kind;
            let splits = self.splits.as_ref().filter(|_| !kind.is_repeatable());
            if splits.is_some_and(|splits| splits.repeats(slot)) {
                // Pieces of it were to be sent again on another connection, which is lost as well.
                self.book_given_up(slot, now, in_window, recorder);
            }
        }
        for at in 0..self.members.len() {
            self.members[at].end_watches();
            for _ in 0..self.members[at].continuing.len() {
                let Some(slot) = self.members[at].continuing.pop_front() else {
                    break;
                };
                let of_slot = &self.slots[slot as usize];
                let is_again = of_slot.state == SlotState::Expired;
                if is_again && of_slot.operation.kind.is_repeatable() {
                    self.members[at].continuing.push_back(slot);
                } else if is_again {
                    // It was to be sent again on another connection, which is lost as well.
                    self.book_unrepeated(slot, now, in_window, recorder);
                } else if self.keeps_lock(slot, handles, recorder) {
                    self.members[at].continuing.push_back(slot);
                } else {
                    self.free(slot, now, in_window, recorder);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
