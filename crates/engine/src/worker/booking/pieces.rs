//! Answers to the pieces of operations that are larger than a request.

use std::cmp::Ordering;

use smbench_model::Nanos;
use smbench_model::contents::verify::Ledger;
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::record::{OperationFailure, Recorder};
use smbench_protocol::NtStatus;

use super::Clients;
use super::failed::book_faults;
use crate::drivers::driver::{Answer, Extent, slot_of};
use crate::drivers::dropped::Dropped;
use crate::worker::slot::{Slot, SlotState, ends_session, note_end, verified};
use crate::worker::split::{EndedSplit, PieceFailure, PieceRepeat, PieceResult};
use crate::worker::supply::Supply;

impl<S: Supply> Clients<S> {
    /// Returns the number of requests in flight, as far as operations are split.
    #[inline]
    pub(in crate::worker) fn requests_in_flight(&self) -> u32 {
        match (S::splits(), &self.splits) {
            (true, Some(splits)) => self.in_flight + splits.in_flight,
            _ => self.in_flight,
        }
    }

    /// Returns whether pieces are sent before new operations.
    pub(in crate::worker) fn pieces_are_first(&self) -> bool {
        self.splits.as_ref().is_some_and(|splits| splits.are_first)
    }

    /// Returns whether the next piece waits for credits, and no piece is in flight.
    pub(in crate::worker) fn pieces_lack_credits(&self) -> bool {
        let splits = self.splits.as_ref();
        splits.is_some_and(|splits| splits.lack_credits && splits.in_flight == 0)
    }

    /// Processes the answer to a piece. With the last one its operation is answered.
    pub(super) fn book_piece(
        &mut self,
        answer: &Answer<'_>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) -> Result<(), Dropped> {
        let at = slot_of(answer.slot);
        let unasked = Dropped::Unasked(answer.slot);
        let (Some(slot), Some(splits)) = (self.slots.get_mut(at), &mut self.splits) else {
            return Err(unasked);
        };
        let Some(piece) = splits.piece(answer.slot, &slot.operation) else {
            return Err(unasked);
        };
        let member = &mut self.members[slot.member];
        let result = match answer.extent {
            Extent::Interim => return Ok(()),
            Extent::Apart => return Err(unasked),
            Extent::Repeatable => {
                recorder.losses_mut(self.after_event).repeated += 1;
                PieceResult::Repeated(PieceRepeat(self.after_event))
            }
            Extent::Expired => PieceResult::Expired,
            Extent::Lost => PieceResult::Failed(PieceFailure::Lost),
            Extent::Part | Extent::Final => {
                let result = result(slot, &piece, answer, member.ledger.as_deref_mut())?;
                if let PieceResult::Failed(_) = result {
                    book_faults(member, self.events.last_before(now), recorder);
                }
                result
            }
        };
        let Some(ended) = splits.answered(answer.slot, result, now) else {
            return Ok(());
        };
        let EndedSplit {
            outcome,
            moved,
            pieces,
            unrepeated,
        } = ended;
        for PieceRepeat(event) in unrepeated {
            recorder.losses_mut(event).repeated -= 1;
        }
        let mut whole = Answer::success(at as u32, moved);
        let kind = slot.operation.kind;
        // The data of each piece of a read was checked. A write may still need its generation.
        if kind != OpKind::Write {
            slot.epoch = None;
        }
        match outcome {
            Ok(verdict) => {
                recorder.split(kind, u64::from(pieces) - 1);
                if let Some(verdict) = verdict {
                    recorder.verified(verdict);
                }
            }
            Err(PieceFailure::Lost) => whole.extent = Extent::Lost,
            Err(PieceFailure::Status(status)) => whole.status = status,
            Err(PieceFailure::Short(_)) => {}
            Err(PieceFailure::Long) => whole.moved = u32::MAX,
            Err(PieceFailure::Data) => {
                slot.state = SlotState::Failing;
                recorder.wrong_data(kind);
                let event = self.events.last_before(now);
                recorder.failed_after(event, kind, OperationFailure::WrongData);
            }
        }
        self.book(&whole, now, in_window, recorder)
    }
}

/// Checks the answer to a piece. The error ends the client.
fn result(
    slot: &Slot,
    piece: &Operation,
    answer: &Answer<'_>,
    ledger: Option<&mut Ledger>,
) -> Result<PieceResult, Dropped> {
    if ends_session(answer) {
        return Err(Dropped::SessionEnded(answer.status));
    }
    let ledger = ledger.filter(|_| piece.kind == OpKind::Read);
    let failure = match (answer.status, answer.moved.cmp(&piece.length)) {
        (NtStatus::SUCCESS, Ordering::Equal) => {
            let Some(ledger) = ledger else {
                return Ok(PieceResult::Whole(None));
            };
            return Ok(match verified(piece, slot.epoch, answer, ledger)? {
                Ok(verdict) => PieceResult::Whole(verdict),
                Err(_) => PieceResult::Failed(PieceFailure::Data),
            });
        }
        (NtStatus::SUCCESS, Ordering::Less) => PieceFailure::Short(answer.moved),
        (NtStatus::SUCCESS, Ordering::Greater) => PieceFailure::Long,
        (status, _) => PieceFailure::Status(status),
    };
    let is_end = matches!(
        failure,
        PieceFailure::Short(_) | PieceFailure::Status(NtStatus::END_OF_FILE)
    );
    if is_end && let Some(ledger) = ledger {
        note_end(piece, answer.moved, ledger);
    }
    Ok(PieceResult::Failed(failure))
}

#[cfg(test)]
mod tests;
