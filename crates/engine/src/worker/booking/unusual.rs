//! Answers that are not those of a request in flight: interim ones, late ones, and the end of
//! a request without an answer.

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::operations::RequestResult;
use smbench_model::record::{OperationFailure, Recorder, Times};
use smbench_protocol::NtStatus;

use super::Clients;
use crate::drivers::driver::{Answer, Extent};
use crate::drivers::dropped::Dropped;
use crate::smb::session::caching::Acknowledged;
use crate::worker::slot::SlotState;
use crate::worker::supply::Supply;
use crate::worker::whole::WholeOperation;

/// Records the answer to the acknowledgement of a break.
pub(in crate::worker) fn book_acknowledged(
    recorder: &mut Recorder,
    took: Nanos,
    outcome: Acknowledged,
) {
    let kind = OpKind::OplockBreak;
    match outcome {
        Acknowledged::Confirmed => recorder.success(kind, 0, took),
        Acknowledged::Moot => recorder.caching_mut().moot += 1,
        Acknowledged::Refused(status) => recorder.failure(kind, OperationFailure::Status(status)),
    }
}

impl<S: Supply> Clients<S> {
    /// Books what is not the answer to a request in flight. Returns `None` if the rest goes as
    /// with other answers.
    #[cold]
    #[inline(never)]
    pub(super) fn book_unusual(
        &mut self,
        answer: &Answer<'_>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) -> Option<Result<(), Dropped>> {
        let slot = &mut self.slots[answer.slot as usize];
        let member = &mut self.members[slot.member];
        if answer.extent == Extent::Interim && slot.operation.kind == OpKind::Watch {
            // The watch is held without a limit, and cancelled at the end.
            let went = RequestResult::Pending;
            let cancel = member
                .operations
                .after(&slot.operation, went, answer.status);
            if slot.state == SlotState::InFlight
                && let Some(cancel) = cancel
            {
                self.in_flight -= 1;
                slot.operation = cancel;
                slot.state = SlotState::Continuing;
                member.hold(answer.slot);
            }
            return Some(Ok(()));
        }
        // An interim answer normally means that the final answer follows. For a
        // CHANGE_NOTIFY the interim answer completes the server's work.
        if answer.extent == Extent::Interim && slot.operation.kind != OpKind::ChangeNotify {
            return Some(Ok(()));
        }
        if slot.state == SlotState::Free {
            return Some(Err(Dropped::Unasked(answer.slot)));
        }
        if slot.state == SlotState::Continuing {
            // This CHANGE_NOTIFY fired before it could be cancelled, or is lost with its
            // connection.
            member.continuing.retain(|&other| other != answer.slot);
            slot.state = SlotState::Free;
            if answer.extent == Extent::Apart || member.has_watch(answer.slot) {
                let is_final = answer.extent == Extent::Final;
                if is_final && answer.status != NtStatus::CANCELLED {
                    let failure = OperationFailure::Status(answer.status);
                    recorder.failure(OpKind::Watch, failure);
                }
                member.watch_again(answer.slot);
            } else {
                member.release(answer.slot, now);
            }
            return Some(Ok(()));
        }
        if answer.extent == Extent::Apart {
            self.book_apart(answer, now, in_window, recorder);
            return Some(Ok(()));
        }
        if answer.extent.is_without_answer() {
            let is_again =
                answer.extent != Extent::Lost && slot.expire(member.ledger.as_deref_mut());
            if is_again {
                member.continuing.push_back(answer.slot);
                if answer.extent == Extent::Repeatable {
                    self.note_repeat(answer.slot, recorder);
                } else {
                    self.forget_repeat(answer.slot);
                }
                return Some(Ok(()));
            }
            if answer.extent != Extent::Expired {
                self.book_lost(answer.slot, now, in_window, recorder);
                return Some(Ok(()));
            }
        }
        None
    }

    /// Books what the client has answered itself: a whole listing, or the end of one whose
    /// directory stays open. A look that shows nothing new is a step alone. Frees the slot of a
    /// watch that was notified at once.
    fn book_apart(
        &mut self,
        answer: &Answer<'_>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) {
        let slot = &mut self.slots[answer.slot as usize];
        let member = &mut self.members[slot.member];
        self.in_flight -= 1;
        let has_failed = slot.state == SlotState::Failing;
        slot.state = SlotState::Free;
        if slot.operation.kind == OpKind::Watch {
            return member.watch_again(answer.slot);
        }
        member.release(answer.slot, now);
        let mut times = Times {
            service: now.since(slot.sent),
            response: now.since(slot.due),
        };
        match slot.operation.kind {
            OpKind::ListOpen => {}
            // It shows nothing new, so that it says nothing about when a file shows.
            kind @ (OpKind::NeighbourLook | OpKind::NeighbourRead) if !has_failed => {
                times.response = now.since(slot.intended);
                self.in_flight_time
                    .leave_out(Nanos(times.service.0 * in_window));
                self.wholes[answer.slot as usize] = WholeOperation::default();
                return recorder.success(kind, 0, times);
            }
            _ => return self.end_whole(answer.slot, None, now, in_window, recorder),
        }
        // The server had nothing in flight meanwhile.
        self.in_flight_time
            .leave_out(Nanos(times.service.0 * in_window));
        recorder.success(OpKind::ListCached, 0, times);
        recorder.listed(OpKind::ListCached, answer.moved.into());
    }
}
