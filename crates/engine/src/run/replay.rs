//! Whether an operation of a replay went as recorded, and what follows if not.
//!
//! What was recorded to fail, and fails in the same way, is a success here. What
//! goes otherwise is counted, and the client goes on as if it had not.

use smbench_protocol::NtStatus;

use super::driver::Answer;
use super::operation::{Dropped, ends_session};
use crate::record::{Difference, Failure, OpKind};
use crate::stream::Operation;
use crate::trace::{NO_HANDLE, Record, Trace, Verb};

/// Whether an answer is as recorded.
pub(super) fn judge(
    trace: &Trace,
    operation: &Operation,
    answer: &Answer<'_>,
) -> Result<Result<(), Difference>, Dropped> {
    if ends_session(answer) {
        return Err(Dropped::SessionEnded(answer.status));
    }
    let record = record(trace, operation);
    // Of what was opened against the record only the close is left.
    let recorded = match is_stray_close(record, operation) {
        true => NtStatus::SUCCESS,
        false => trace.recorded(record),
    };
    let seen = match seen(record, answer) {
        Failure::Status(status) if status == recorded => return Ok(Ok(())),
        seen => seen,
    };
    Ok(Err(Difference {
        kind: operation.kind,
        recorded: Some(recorded),
        seen,
    }))
}

/// What an answer says, in the terms of the protocol that was recorded.
fn seen(record: &Record, answer: &Answer<'_>) -> Failure {
    let (is_data, moved) = match record.verb {
        Verb::Read | Verb::Write => (true, record.extra),
        _ => (false, 0),
    };
    match answer.status {
        NtStatus::SUCCESS if is_data && answer.moved < moved => Failure::Short,
        NtStatus::SUCCESS if is_data && answer.moved > moved => Failure::Long,
        // SMB1 reads nothing behind the end, and calls that a success.
        NtStatus::END_OF_FILE if record.verb == Verb::Read && moved == 0 => {
            Failure::Status(NtStatus::SUCCESS)
        }
        // As much as there was room for (MS-SMB2 3.3.5.20.1).
        NtStatus::BUFFER_OVERFLOW
            if matches!(
                record.verb,
                Verb::QueryFile | Verb::QueryFs | Verb::QueryPath
            ) =>
        {
            Failure::Status(NtStatus::SUCCESS)
        }
        status => Failure::Status(status),
    }
}

/// What is left to do: to close what was opened although the record says that it
/// could not be, so that no later operation knows of it.
pub(super) fn after(trace: &Trace, last: &Operation, status: NtStatus) -> Option<Operation> {
    let record = record(trace, last);
    let is_stray =
        last.kind == OpKind::Create && record.extra == NO_HANDLE && status == NtStatus::SUCCESS;
    is_stray.then_some(Operation {
        kind: OpKind::Close,
        ..*last
    })
}

fn is_stray_close(record: &Record, operation: &Operation) -> bool {
    operation.kind == OpKind::Close && record.verb == Verb::Create
}

fn record<'a>(trace: &'a Trace, operation: &Operation) -> &'a Record {
    &trace.records[operation.file as usize]
}
