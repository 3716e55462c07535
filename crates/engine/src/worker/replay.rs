//! The supply of a replay: the operations of a trace, their recorded answers, and
//! what follows from a difference.
//!
//! An operation that was recorded to fail, and fails with the same status, is a
//! success here. A difference is counted, and the client continues as if there was
//! none.

use smbench_model::contents::verify::Ledger;
use smbench_model::kind::OpKind;
use smbench_model::operations::replay::{Replays, TracePosition};
use smbench_model::operations::{Operation, RequestResult};
use smbench_model::record::{OperationFailure, Phase, ReplayDifference, SplitSizes};
use smbench_model::trace::{ANY_STATUS, Record};
use smbench_protocol::NtStatus;

use crate::drivers::cifs::replay::CifsTrace;
use crate::drivers::driver::Answer;
use crate::drivers::dropped::Dropped;
use crate::drivers::native::replay::TraceEncoder;
#[cfg(feature = "smb-rs")]
use crate::drivers::smb_rs::replay::TraceCaller;
use crate::worker::slot::{Judged, Slot, WrongAnswer, ends_session};
use crate::worker::supply::{Indirect, OperationSource, Supplies, Supply};

impl Supplies for Replays {
    type Supply = TracePosition;

    fn of_client(&self, client: u32) -> TracePosition {
        self.player(client)
    }
}

impl OperationSource for Replays {
    type Native = Indirect;
    type Split = Indirect;
    type Encoder = TraceEncoder;
    type CifsEncoder = CifsTrace;
    #[cfg(feature = "smb-rs")]
    type Caller = TraceCaller;

    fn native(self) -> Indirect {
        Indirect::new(self)
    }

    /// Recorded operations are never split.
    fn split(self, _: SplitSizes) -> Indirect {
        Indirect::new(self)
    }
}

impl Supply for TracePosition {
    fn next(&mut self, _: Phase) -> Option<Operation> {
        Iterator::next(self)
    }

    fn is_over(&self) -> bool {
        true
    }

    /// Checks whether an answer is the recorded one.
    fn judge(&self, slot: &Slot, answer: &Answer<'_>, _: Option<&mut Ledger>) -> Judged {
        if ends_session(answer) {
            return Err(Dropped::SessionEnded(answer.status));
        }
        let kind = slot.operation.kind;
        let record = self.record(&slot.operation);
        // The close of a file that was opened against the record has no record of
        // its own, so it must succeed.
        let recorded = match (record, kind) {
            (Record::Create { .. }, OpKind::Close) => NtStatus::SUCCESS,
            _ => self.trace().status(slot.operation.action),
        };
        let is_as_recorded = answer.status == recorded
            // CIFS has another name for it.
            || (recorded, answer.status) == (NtStatus::INVALID_HANDLE, NtStatus::FILE_CLOSED);
        if is_as_recorded && recorded != NtStatus::SUCCESS {
            return Ok(Ok(None));
        }
        let is_any = recorded == ANY_STATUS;
        let recorded = if is_any { NtStatus::SUCCESS } else { recorded };
        Ok(match seen(record, answer) {
            OperationFailure::Status(status) if is_any || status == recorded => Ok(None),
            seen => Err(WrongAnswer::Recorded(ReplayDifference {
                kind,
                recorded: Some(recorded),
                seen,
            })),
        })
    }

    /// Returns the close of a file that was opened although the record says that
    /// the open failed. Closing it keeps later operations independent of the
    /// difference.
    fn after(&self, last: &Operation, _: RequestResult, status: NtStatus) -> Option<Operation> {
        let is_stray = last.kind == OpKind::Create
            && status == NtStatus::SUCCESS
            && self.record(last).handle().is_none();
        is_stray.then_some(Operation {
            kind: OpKind::Close,
            ..*last
        })
    }

    fn fault(&self) -> Dropped {
        unreachable!("all that a trace holds can be sent")
    }
}

/// Translates an answer into the terms of the recorded protocol.
fn seen(record: &Record, answer: &Answer<'_>) -> OperationFailure {
    let (is_data, moved) = match *record {
        Record::Read { returned, .. } => (true, returned),
        Record::Write { written, .. } => (true, written),
        _ => (false, 0),
    };
    match answer.status {
        NtStatus::SUCCESS if is_data && answer.moved < moved => OperationFailure::Short,
        NtStatus::SUCCESS if is_data && answer.moved > moved => OperationFailure::Long,
        // In SMB1 a read after the end of the file returns no bytes, with success.
        NtStatus::END_OF_FILE if matches!(record, Record::Read { returned: 0, .. }) => {
            OperationFailure::Status(NtStatus::SUCCESS)
        }
        // The answer is truncated to the size requested (MS-SMB2 3.3.5.20.1).
        NtStatus::BUFFER_OVERFLOW
            if matches!(
                record,
                Record::QueryFile { .. } | Record::QueryFs { .. } | Record::QueryPath { .. }
            ) =>
        {
            OperationFailure::Status(NtStatus::SUCCESS)
        }
        status => OperationFailure::Status(status),
    }
}
