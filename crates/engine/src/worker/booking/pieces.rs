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
use crate::worker::split::{EndedSplit, PieceFailure, PieceResult};
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
                PieceResult::Expired
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
        } = ended;
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
mod tests {
    use smbench_model::contents::block::{BLOCK_BYTES, Mismatch, Salt, Stamp, append};
    use smbench_model::files::{FileSet, Layout, Scope};
    use smbench_model::operations::RequestResult;
    use smbench_model::record::{Phase, Tally};

    use super::*;
    use crate::drivers::driver::SLOTS_MAX;
    use crate::worker::member::Member;

    const BLOCK: u32 = BLOCK_BYTES as u32;
    const FILES: FileSet = FileSet {
        scope: Scope::Private,
        count: 1,
        size: 8 * BLOCK_BYTES as u64,
        layout: Layout::Flat,
    };
    const SALT: Salt = Salt(7);
    /// A write of two pieces.
    const LARGE: Operation = Operation {
        kind: OpKind::Write,
        action: 0,
        file: 0,
        offset: 0,
        length: 2 * BLOCK,
    };
    /// A write of one piece.
    const SMALL: Operation = Operation {
        offset: 4 * BLOCK_BYTES as u64,
        length: BLOCK,
        ..LARGE
    };

    struct Nowhere;

    impl Supply for Nowhere {
        fn next(&mut self, _: Phase) -> Option<Operation> {
            None
        }

        fn splits() -> bool {
            true
        }

        fn after(&self, _: &Operation, _: RequestResult, _: NtStatus) -> Option<Operation> {
            None
        }

        fn fault(&self) -> Dropped {
            unreachable!("nothing is sent")
        }
    }

    /// A client with verified files and two slots.
    fn clients() -> Clients<Nowhere> {
        let ledger = Box::new(Ledger::new(&FILES, 0, 1, SALT));
        let member = Member::new(0, 1, SALT, Nowhere, Some(ledger));
        Clients::new(vec![member], 2)
    }

    /// The first piece of a read ends early, and the second one is beyond the end of the file.
    #[test]
    fn pieces_of_a_file_that_ended_are_lost() {
        let (mut clients, mut recorder) = (clients(), Recorder::default());
        let read = Operation {
            kind: OpKind::Read,
            ..LARGE
        };
        let at = Nanos(10);
        let epoch = clients.members[0].epoch(&read);
        clients.slots[0].fill(read, at, at, epoch, at);
        clients.in_flight = 1;
        let splits = clients.splits.as_mut().unwrap();
        splits.begin(0, &read, BLOCK, Stamp::default());
        splits.sent(0);
        for (piece, status, moved) in [
            (SLOTS_MAX, NtStatus::SUCCESS, BLOCK / 2),
            (2 * SLOTS_MAX, NtStatus::END_OF_FILE, 0),
        ] {
            let answer = Answer {
                moved,
                ..Answer::bare(piece, Extent::Final, status)
            };
            clients.book(&answer, Nanos(20), 1, &mut recorder).unwrap();
        }
        let mut tally = Tally::default();
        tally.add(&recorder, Phase::Window);
        assert_eq!((tally.errors(), tally.faults().lost), (1, 2));
        let offsets: Vec<_> = tally.wrong_places().iter().map(|of| of.offset).collect();
        assert_eq!(offsets, [0, BLOCK_BYTES as u64]);
    }

    /// Another write is sent while the pieces of one are in flight, and these are lost.
    #[test]
    fn a_lost_write_of_several_pieces_is_late_by_its_own_generation() {
        let (mut clients, mut recorder) = (clients(), Recorder::default());
        let at = Nanos(10);
        let mut stamps = Vec::new();
        for (slot, operation) in [LARGE, SMALL].iter().enumerate() {
            stamps.push(clients.members[0].stamp(operation));
            let epoch = clients.members[0].epoch(operation);
            clients.slots[slot].fill(*operation, at, at, epoch, at);
            clients.in_flight += 1;
            let splits = clients.splits.as_mut().unwrap();
            if operation.length > BLOCK {
                splits.begin(slot as u32, operation, BLOCK, stamps[slot]);
                splits.sent(slot as u32);
            }
        }
        for piece in [SLOTS_MAX, 2 * SLOTS_MAX] {
            let lost = Answer::bare(piece, Extent::Lost, NtStatus::CONNECTION_DISCONNECTED);
            clients.book(&lost, Nanos(20), 1, &mut recorder).unwrap();
        }
        assert_eq!(clients.in_flight, 1);
        let ledger = clients.members[0].ledger.as_mut().unwrap();
        let stored = ledger.write_issued(0, 0, LARGE.length);
        ledger.write_done(0, 0, LARGE.length);
        let mut late = Vec::new();
        append(&mut late, BLOCK_BYTES, 0, stamps[0], SALT);
        let expected = Mismatch::Late {
            offset: 0,
            oldest: stored.generation,
            found: stamps[0],
        };
        let epoch = ledger.read_issued();
        assert_eq!(ledger.read_done(0, 0, &late, epoch), Err(expected));
    }
}
