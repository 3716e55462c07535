//! Compares the answers of a replay with the recorded ones, and decides what
//! follows.
//!
//! An operation that was recorded to fail, and fails with the same status, is a
//! success here. A difference is counted, and the client continues as if there was
//! none.

use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::record::{Difference, Failure};
use smbench_model::trace::{NO_HANDLE, Record, Trace, Verb};
use smbench_protocol::NtStatus;

use super::driver::Answer;
use super::operation::{Dropped, ends_session};

/// Checks whether an answer is the recorded one.
pub(super) fn judge(
    trace: &Trace,
    operation: &Operation,
    answer: &Answer<'_>,
) -> Result<Result<(), Difference>, Dropped> {
    if ends_session(answer) {
        return Err(Dropped::SessionEnded(answer.status));
    }
    let record = record(trace, operation);
    // The close of a file that was opened against the record has no record of its
    // own, so it must succeed.
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

/// Translates an answer into the terms of the recorded protocol.
fn seen(record: &Record, answer: &Answer<'_>) -> Failure {
    let (is_data, moved) = match record.verb {
        Verb::Read | Verb::Write => (true, record.extra),
        _ => (false, 0),
    };
    match answer.status {
        NtStatus::SUCCESS if is_data && answer.moved < moved => Failure::Short,
        NtStatus::SUCCESS if is_data && answer.moved > moved => Failure::Long,
        // In SMB1 a read after the end of the file returns no bytes, with success.
        NtStatus::END_OF_FILE if record.verb == Verb::Read && moved == 0 => {
            Failure::Status(NtStatus::SUCCESS)
        }
        // The answer is truncated to the size requested (MS-SMB2 3.3.5.20.1).
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

/// Returns the close of a file that was opened although the record says that the
/// open failed. Closing it keeps later operations independent of the difference.
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
