//! One operation in flight, and whether its answer is what was asked for.
//!
//! An answer that is wrong is counted and the client goes on; one that says
//! the connection is of no more use drops the client.

use smbench_protocol::{NtStatus, ProtocolError};
use thiserror::Error;

use crate::clock::Nanos;
use crate::pattern::Mismatch;
use crate::record::{Failure, OpKind};
use crate::run::driver::Answer;
use crate::stream::Operation;
use crate::verify::{Epoch, Ledger};

/// Why a client did not finish its load point.
#[derive(Clone, Debug, Error)]
pub(super) enum Dropped {
    #[error("the server closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Io(String),
    #[error("the server broke the protocol with {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the server ended the session with {0}")]
    SessionEnded(NtStatus),
    #[error("no answer to a {kind} within {}", humantime::format_duration((*.limit).into()))]
    Stalled { kind: &'static str, limit: Nanos },
    #[error("the server left the client without credits")]
    NoCredits,
    /// The words of a client that is not ours.
    #[cfg(feature = "smb-rs")]
    #[error("smb-rs failed: {0}")]
    Client(String),
    /// smb-rs waits, and the server has nothing left to answer.
    #[cfg(feature = "smb-rs")]
    #[error(
        "smb-rs ran out of credits: the server granted too few, or smb-rs lost those of interim responses"
    )]
    ClientCredits,
}

impl From<std::io::Error> for Dropped {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

/// An operation in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Index of the client in its group.
    pub(super) member: usize,
    pub(super) operation: Operation,
    pub(super) sent: Nanos,
    /// What was known when it was sent, for reads under verification.
    pub(super) epoch: Option<Epoch>,
    pub(super) state: SlotState,
}

impl Slot {
    pub(super) const fn free(member: usize) -> Self {
        Self {
            member,
            operation: Operation {
                kind: OpKind::Read,
                file: 0,
                offset: 0,
                length: 0,
            },
            sent: Nanos(0),
            epoch: None,
            state: SlotState::Free,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotState {
    Free,
    InFlight,
}

/// An answer that was not what was asked for.
pub(super) enum Unfit {
    Answer(Failure),
    Data(Mismatch),
}

/// Whether an answered operation did what was asked: bytes moved, or why not.
pub(super) fn judge(
    slot: &Slot,
    answer: &Answer<'_>,
    ledger: Option<&mut Ledger>,
) -> Result<Result<u32, Unfit>, Dropped> {
    let Operation {
        kind,
        file,
        offset,
        length,
    } = slot.operation;
    let done = answer.status == NtStatus::SUCCESS && answer.moved == length;
    match (kind, ledger) {
        (OpKind::Write, Some(ledger)) if done => ledger.write_done(file, offset, length),
        (OpKind::Write, Some(ledger)) => ledger.write_failed(file, offset, length),
        (OpKind::Read, Some(ledger)) if done => {
            if let (Some(data), Some(epoch)) = (answer.data, slot.epoch)
                && let Err(mismatch) = ledger.read_done(file, offset, data, epoch)
            {
                return Ok(Err(Unfit::Data(mismatch)));
            }
        }
        _ => {}
    }
    match answer.status {
        NtStatus::SUCCESS if done => Ok(Ok(answer.moved)),
        NtStatus::SUCCESS if answer.moved < length => Ok(Err(Unfit::Answer(Failure::Short))),
        NtStatus::SUCCESS => Ok(Err(Unfit::Answer(Failure::Long))),
        NtStatus::USER_SESSION_DELETED
        | NtStatus::NETWORK_SESSION_EXPIRED
        | NtStatus::NETWORK_NAME_DELETED => Err(Dropped::SessionEnded(answer.status)),
        status => Ok(Err(Unfit::Answer(Failure::Status(status)))),
    }
}
