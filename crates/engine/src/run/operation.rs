//! One operation in flight, and whether its answer is what was asked for.
//!
//! An answer that is wrong is counted and the client goes on; one that says
//! the connection is of no more use drops the client.

use smbench_protocol::{Completion, NtStatus, ProtocolError};
use thiserror::Error;

use crate::clock::Nanos;
use crate::pattern::Mismatch;
use crate::record::{Failure, OpKind};
use crate::stream::Operation;
use crate::verify::{Epoch, Ledger};

/// Why a client did not finish its load point.
#[derive(Debug, Error)]
pub(super) enum Dropped {
    #[error("the server closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    #[error("the server broke the protocol with {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the server ended the session with {0}")]
    SessionEnded(NtStatus),
    #[error("no answer to a {kind} within {}", humantime::format_duration((*.limit).into()))]
    Stalled { kind: &'static str, limit: Nanos },
    #[error("the server left the client without credits")]
    NoCredits,
}

/// An operation in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) operation: Operation,
    pub(super) sent: Nanos,
    /// What was known when it was sent, for reads under verification.
    pub(super) epoch: Option<Epoch>,
    pub(super) state: SlotState,
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
    done: &Completion<'_>,
    ledger: Option<&mut Ledger>,
) -> Result<Result<u32, Unfit>, Dropped> {
    let Operation {
        kind,
        file,
        offset,
        length,
    } = slot.operation;
    if done.status != NtStatus::SUCCESS {
        if let (OpKind::Write, Some(ledger)) = (kind, ledger) {
            ledger.write_failed(file, offset, length);
        }
        return match done.status {
            NtStatus::USER_SESSION_DELETED
            | NtStatus::NETWORK_SESSION_EXPIRED
            | NtStatus::NETWORK_NAME_DELETED => Err(Dropped::SessionEnded(done.status)),
            status => Ok(Err(Unfit::Answer(Failure::Status(status)))),
        };
    }
    let moved = match kind {
        OpKind::Read => {
            let read = done.read().map_err(ProtocolError::from)?;
            if let (Some(ledger), Some(data), Some(epoch)) = (ledger, read.data, slot.epoch)
                && read.length == length
                && let Err(mismatch) = ledger.read_done(file, offset, data, epoch)
            {
                return Ok(Err(Unfit::Data(mismatch)));
            }
            read.length
        }
        OpKind::Write => {
            let count = done.write().map_err(ProtocolError::from)?.count;
            if let Some(ledger) = ledger {
                if count == length {
                    ledger.write_done(file, offset, length);
                } else {
                    ledger.write_failed(file, offset, length);
                }
            }
            count
        }
        OpKind::Flush => 0,
    };
    Ok(if kind == OpKind::Flush || moved == length {
        Ok(moved)
    } else {
        Err(Unfit::Answer(Failure::Short))
    })
}
