//! One operation in flight, and the check of its answer.
//!
//! A wrong answer is counted and the client continues. An answer that makes the
//! connection unusable drops the client.

use smbench_model::Nanos;
use smbench_model::contents::block::Mismatch;
use smbench_model::contents::verify::{Epoch, Ledger, ReadVerdict};
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::record::{OperationFailure, ReplayDifference};
use smbench_protocol::NtStatus;

use crate::drivers::driver::{Answer, Extent};
use crate::drivers::dropped::Dropped;

/// A place for one action of a client, with its current request.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// Index of the client in its group.
    pub(super) member: usize,
    pub(super) operation: Operation,
    /// Instant at which its action was due.
    pub(super) due: Nanos,
    /// Instant from which the response time counts: when the action was due, or
    /// when the previous request of the action ended.
    pub(super) intended: Nanos,
    pub(super) sent: Nanos,
    /// State of the ledger when a read or a write was sent; only with verification.
    pub(super) epoch: Option<Epoch>,
    /// Bytes moved by the parts of its answer so far.
    pub(super) moved: u32,
    pub(super) state: SlotState,
}

impl Slot {
    pub(crate) const fn free(member: usize) -> Self {
        Self {
            member,
            operation: Operation {
                kind: OpKind::Read,
                action: 0,
                file: 0,
                offset: 0,
                length: 0,
            },
            due: Nanos(0),
            intended: Nanos(0),
            sent: Nanos(0),
            epoch: None,
            moved: 0,
            state: SlotState::Free,
        }
    }
}

impl Slot {
    /// Puts an operation in flight. `due` and `intended` are its instants. Returns
    /// whether it is submitted again, so that it was in flight all the time.
    #[inline]
    pub(super) fn fill(
        &mut self,
        operation: Operation,
        due: Nanos,
        intended: Nanos,
        epoch: Option<Epoch>,
        now: Nanos,
    ) -> bool {
        let is_again = self.state == SlotState::Expired;
        *self = Self {
            member: self.member,
            operation,
            due,
            intended,
            sent: if is_again { self.sent } else { now },
            epoch,
            moved: 0,
            state: SlotState::InFlight,
        };
        is_again
    }

    /// Returns the error for a request that did not end within `limit`.
    pub(super) const fn stalled(&self, limit: Nanos) -> Dropped {
        let kind = self.operation.kind.name();
        match self.state {
            SlotState::Expired => Dropped::RenewalStalled { kind, limit },
            _ => Dropped::Stalled { kind, limit },
        }
    }

    /// Makes the request due again, because the server has not carried it out.
    /// Returns `false` if that is not possible. One case is a frame of which
    /// another part has failed, which is already counted. The other is a CANCEL of
    /// a request that has ended.
    pub(super) fn expire(&mut self, ledger: Option<&mut Ledger>) -> bool {
        if self.state != SlotState::InFlight || self.operation.kind == OpKind::Cancel {
            return false;
        }
        self.leave_write(ledger);
        self.state = SlotState::Expired;
        true
    }

    /// Notes in the ledger that a write in flight gets no answer.
    pub(super) fn leave_write(&self, ledger: Option<&mut Ledger>) {
        let Operation {
            kind,
            file,
            offset,
            length,
            ..
        } = self.operation;
        if let (OpKind::Write, Some(ledger), SlotState::InFlight) = (kind, ledger, self.state) {
            let write = self.epoch.unwrap_or_else(|| ledger.last_write());
            ledger.write_unanswered(file, offset, length, write);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    Free,
    InFlight,
    /// In flight, but a part of its answer was wrong; the failure is counted.
    Failing,
    /// Answered only with an expired session, or lost with its connection. The request is due
    /// again, and counts as in flight since it was first sent.
    Expired,
    /// The next request of its action is due.
    Continuing,
}

impl SlotState {
    /// Returns whether its request was sent and has not ended.
    pub(super) const fn is_in_flight(self) -> bool {
        matches!(self, Self::InFlight | Self::Failing | Self::Expired)
    }
}

/// The reason why an answer is wrong.
pub(crate) enum WrongAnswer {
    Answer(OperationFailure),
    /// The data is not the written data; the ledger has the faults.
    Data,
    Recorded(ReplayDifference),
}

/// The result of a check: the verdict on verified data, if there was any, or the
/// reason why the answer is wrong. The error ends the client.
pub(crate) type Judged = Result<Result<Option<ReadVerdict>, WrongAnswer>, Dropped>;

/// Error text for an external driver that returns no data for reads under
/// verification.
const UNSEEN: &str = "the driver did not hand out the data that was to be verified";

/// Checks an answer, or a part of one. The slot must already count the bytes that
/// the answer moved.
pub(super) fn judge(slot: &Slot, answer: &Answer<'_>, ledger: Option<&mut Ledger>) -> Judged {
    let Operation {
        kind,
        file,
        offset,
        length,
        ..
    } = slot.operation;
    let succeeded = is_success(kind, answer);
    // If an answer has several parts, one of them moves the data, so the sum is
    // checked at the last part.
    let is_uneven = answer.extent == Extent::Final && carries_data(kind) && slot.moved != length;
    let mut verdict = None;
    match (kind, ledger) {
        (OpKind::Write, Some(ledger)) if succeeded && !is_uneven => {
            ledger.write_done(file, offset, length);
        }
        (OpKind::Write, Some(ledger)) => ledger.write_failed(file, offset, length),
        (_, Some(ledger)) if succeeded && answer.moved == length => {
            match verified(&slot.operation, slot.epoch, answer, ledger)? {
                Ok(judged) => verdict = judged,
                Err(_) => return Ok(Err(WrongAnswer::Data)),
            }
        }
        // Only reads and writes have an epoch.
        (_, Some(ledger))
            if slot.epoch.is_some()
                && slot.moved < length
                && (answer.status == NtStatus::END_OF_FILE || (succeeded && is_uneven)) =>
        {
            note_end(&slot.operation, slot.moved, ledger);
        }
        _ => {}
    }
    match answer.status {
        _ if succeeded && !is_uneven => Ok(Ok(verdict)),
        _ if succeeded && slot.moved < length => {
            Ok(Err(WrongAnswer::Answer(OperationFailure::Short)))
        }
        _ if succeeded => Ok(Err(WrongAnswer::Answer(OperationFailure::Long))),
        status if ends_session(answer) => Err(Dropped::SessionEnded(status)),
        status => Ok(Err(WrongAnswer::Answer(OperationFailure::Status(status)))),
    }
}

/// Checks the data that a read returned, if it was sent under verification. The ledger then has
/// the faults.
#[inline]
pub(super) fn verified(
    read: &Operation,
    epoch: Option<Epoch>,
    answer: &Answer<'_>,
    ledger: &mut Ledger,
) -> Result<Result<Option<ReadVerdict>, Mismatch>, Dropped> {
    match (answer.data, epoch) {
        (_, None) => Ok(Ok(None)),
        (Some(data), Some(epoch)) if data.len() == read.length as usize => {
            let judged = ledger.read_done(read.file, read.offset, data, epoch);
            if judged.is_err() {
                ledger.note_faults(read.file, read.offset, data, epoch);
            }
            Ok(judged.map(Some))
        }
        (_, Some(_)) => Err(Dropped::Other(UNSEEN.to_owned())),
    }
}

/// Notes that a file has ended before the end of a read, of which this many bytes were moved.
#[cold]
pub(super) fn note_end(read: &Operation, moved: u32, ledger: &mut Ledger) {
    let offset = read.offset + u64::from(moved);
    ledger.note_end(read.file, offset, read.length.saturating_sub(moved));
}

/// Returns whether an answer says that the session no longer exists.
pub(super) fn ends_session(answer: &Answer<'_>) -> bool {
    // An expired session continues after reauthentication; only the request has
    // ended.
    answer.extent != Extent::Expired
        && matches!(
            answer.status,
            NtStatus::USER_SESSION_DELETED
                | NtStatus::NETWORK_SESSION_EXPIRED
                | NtStatus::NETWORK_NAME_DELETED
        )
}

/// Returns whether an operation must move exactly the requested number of bytes.
const fn carries_data(kind: OpKind) -> bool {
    kind.transfers().is_some() || matches!(kind, OpKind::CopyChunk)
}

/// Returns whether the server carried out the operation.
fn is_success(kind: OpKind, answer: &Answer<'_>) -> bool {
    match (kind, answer.status) {
        (_, NtStatus::SUCCESS) => true,
        (OpKind::ChangeNotify, NtStatus::PENDING) => answer.extent == Extent::Interim,
        // There were too many changes to list them, which is a notification as
        // well.
        (OpKind::ChangeNotify | OpKind::Cancel, NtStatus::NOTIFY_ENUM_DIR) => true,
        (OpKind::Cancel, NtStatus::CANCELLED) => true,
        // The answer is truncated to the size requested (MS-SMB2 3.3.5.20.1).
        (
            OpKind::QueryFile
            | OpKind::QueryFs
            | OpKind::CreateQueryClose
            | OpKind::Stat
            | OpKind::NeighbourLook,
            NtStatus::BUFFER_OVERFLOW,
        ) => true,
        // Servers differ where a pattern matches no name.
        (
            OpKind::ListFirst | OpKind::WalkFirst,
            NtStatus::NO_SUCH_FILE | NtStatus::NO_MORE_FILES,
        )
        | (OpKind::ListNext | OpKind::WalkNext, NtStatus::NO_MORE_FILES) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::contents::block::Salt;
    use smbench_model::files::{FileSet, Layout, Scope};

    use super::*;

    /// A read of four blocks that a file holds in part, or not at all.
    #[test]
    fn the_data_of_a_file_that_ended_is_lost() {
        let files = FileSet {
            scope: Scope::Private,
            count: 1,
            size: 1 << 16,
            layout: Layout::Flat,
        };
        let short = |moved| (NtStatus::SUCCESS, moved, OperationFailure::Short);
        let refused = |status| (status, 0, OperationFailure::Status(status));
        for ((status, moved, failure), lost) in [
            (short(1000), 3),
            (short(1024), 2),
            (refused(NtStatus::END_OF_FILE), 4),
            (refused(NtStatus::ACCESS_DENIED), 0),
        ] {
            let mut ledger = Ledger::new(&files, 0, 1, Salt(7));
            let mut slot = Slot::free(0);
            slot.operation.length = 2048;
            slot.epoch = Some(ledger.read_issued());
            slot.moved = moved;
            let mut answer = Answer::bare(0, Extent::Final, status);
            answer.moved = moved;
            let judged = judge(&slot, &answer, Some(&mut ledger));
            let Ok(Err(WrongAnswer::Answer(found))) = judged else {
                panic!("it is an answer of too few bytes");
            };
            assert_eq!(found, failure);
            assert_eq!(ledger.take_faults().len(), lost, "{status:?}, {moved}");
        }
    }
}
