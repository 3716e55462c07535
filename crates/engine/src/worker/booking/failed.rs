//! Operations whose answer is not the expected one. They are few, so the loop does not have the
//! code of it.

use smbench_model::Nanos;
use smbench_model::contents::verify::Ledger;
use smbench_model::operations::RequestResult;
use smbench_model::record::{OperationFailure, Recorder};
use smbench_protocol::NtStatus;

use crate::worker::event_instants::EventInstants;
use crate::worker::member::Member;
use crate::worker::slot::{Slot, SlotState, WrongAnswer};
use crate::worker::supply::Supply;

/// When an answer came.
#[derive(Clone, Copy)]
pub(super) struct AnswerInstant<'a> {
    pub(super) now: Nanos,
    /// 1 in the window, else 0.
    pub(super) in_window: u64,
    /// What happened before.
    pub(super) events: &'a EventInstants,
}

/// Records an operation that failed. Returns the failure, unless it is a difference from a
/// recording.
#[cold]
#[inline(never)]
pub(super) fn fail<S: Supply>(
    member: &mut Member<S>,
    slot: &mut Slot,
    number: u32,
    unfit: &WrongAnswer,
    at: AnswerInstant<'_>,
    recorder: &mut Recorder,
) -> Option<OperationFailure> {
    let kind = slot.operation.kind;
    slot.state = SlotState::Failing;
    let operations = &mut member.operations;
    operations.answered(number, slot, at.now, RequestResult::Wrong);
    let event = at.events.last_before(at.now);
    let failure = match *unfit {
        WrongAnswer::Answer(failure) => {
            // The end of a file says what it has.
            let end = OperationFailure::Status(NtStatus::END_OF_FILE);
            if ![OperationFailure::Short, end].contains(&failure) {
                member.got_no_data();
            }
            recorder.failure(kind, failure);
            failure
        }
        WrongAnswer::Recorded(difference) => {
            recorder.difference(difference);
            return None;
        }
        WrongAnswer::Data => {
            recorder.wrong_data(kind);
            OperationFailure::WrongData
        }
    };
    book_faults(member, event, recorder);
    recorder.failed_after(event, kind, failure);
    Some(failure)
}

/// Records the faults that a client has found, after the event with this index.
#[cold]
pub(super) fn book_faults<S>(member: &mut Member<S>, event: Option<u32>, recorder: &mut Recorder) {
    let faults = member.ledger.as_deref_mut().map(Ledger::take_faults);
    for fault in faults.iter().flatten() {
        recorder.fault(event, member.number, fault);
    }
}
