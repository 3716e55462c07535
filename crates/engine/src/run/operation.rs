//! One operation in flight, and whether its answer is what was asked for.
//!
//! An answer that is wrong is counted and the client goes on; one that says
//! the connection is of no more use drops the client.

use smbench_protocol::{NtStatus, ProtocolError};
use thiserror::Error;

use crate::clock::Nanos;
use crate::pattern::Mismatch;
use crate::record::{Difference, Failure, OpKind};
use crate::run::driver::{Answer, Extent};
use crate::stream::Operation;
use crate::verify::{Epoch, Ledger, Verdict};

/// Why a client did not finish its load point: a lower-case clause, as drop-outs
/// in a record have it.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum Dropped {
    /// End of file on its connection.
    #[error("the server closed the connection")]
    Closed,
    /// The system's reason for an error on its connection.
    #[error("the connection broke: {0}")]
    Io(String),
    /// What came in makes no sense.
    #[error("the server broke the protocol with {0}")]
    Protocol(#[from] ProtocolError),
    /// Its session is no more.
    #[error("the server ended the session with {0}")]
    SessionEnded(NtStatus),
    /// An operation took longer than [`Limits::operation`](crate::plan::Limits).
    #[error("no answer to a {kind} within {}", humantime::format_duration((*.limit).into()))]
    Stalled {
        /// What was waited for.
        kind: &'static str,
        /// How long.
        limit: Nanos,
    },
    /// Nothing is in flight, and nothing can be sent.
    #[error("the server left the client without credits")]
    NoCredits,
    /// Its session expired, and this kept it from being authenticated again.
    #[error("the session expired: {0}")]
    NotRenewed(String),
    /// A session that the workload asks for did not come about.
    #[error("a further session could not be set up: {0}")]
    LogOn(String),
    /// An operation waited too long for its session to be authenticated again.
    #[error(
        "the session expired while a {kind} was under way, and was not authenticated again within {}",
        humantime::format_duration((*.limit).into())
    )]
    RenewalStalled {
        /// What was waited for.
        kind: &'static str,
        /// How long.
        limit: Nanos,
    },
    /// The words of a driver that is not part of smbench.
    #[error("{0}")]
    Other(String),
    /// A driver that is not part of smbench answered what was not asked.
    #[error("the driver answered slot {0}, in which no call was under way")]
    Unasked(u32),
    /// A stream that is not part of smbench asked for what the plan cannot do.
    #[error("the stream of operations has {0}")]
    Unplanned(String),
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

/// A place for one action of a client, and the request of it that is under way.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Index of the client in its group.
    pub(super) member: usize,
    pub(super) operation: Operation,
    /// When its action was due.
    pub(super) due: Nanos,
    /// When it was, or a request of its action ended that it follows.
    pub(super) intended: Nanos,
    pub(super) sent: Nanos,
    /// What was known when it was sent, for reads under verification.
    pub(super) epoch: Option<Epoch>,
    /// Bytes that the parts of its answer have moved so far.
    pub(super) moved: u32,
    pub(super) state: SlotState,
}

impl Slot {
    pub(super) const fn free(member: usize) -> Self {
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
    /// That its request has not come to an end within `limit`.
    pub(super) const fn stalled(&self, limit: Nanos) -> Dropped {
        let kind = self.operation.kind.name();
        match self.state {
            SlotState::Expired => Dropped::RenewalStalled { kind, limit },
            _ => Dropped::Stalled { kind, limit },
        }
    }

    /// Makes it due once more, as the server has done nothing: whether that can
    /// be. Not where something else of its frame failed, which is counted, nor
    /// where a CANCEL waits for what has ended.
    pub(super) fn expire(&mut self, ledger: Option<&mut Ledger>) -> bool {
        let Operation {
            kind,
            file,
            offset,
            length,
            ..
        } = self.operation;
        if self.state != SlotState::InFlight || kind == OpKind::Cancel {
            return false;
        }
        if let (OpKind::Write, Some(ledger)) = (kind, ledger) {
            ledger.write_failed(file, offset, length);
        }
        self.state = SlotState::Expired;
        true
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    Free,
    InFlight,
    /// In flight, and a part of its answer was wrong; the failure is counted.
    Failing,
    /// Answered with nothing but that the session had expired: due once more,
    /// and under way since it was first sent.
    Expired,
    /// The next request of its action is due.
    Continuing,
}

impl SlotState {
    /// Whether its request was sent and has not come to an end.
    pub(super) const fn is_in_flight(self) -> bool {
        matches!(self, Self::InFlight | Self::Failing | Self::Expired)
    }
}

/// An answer that was not what was asked for.
pub(super) enum Unfit {
    Answer(Failure),
    Data(Mismatch),
    Recorded(Difference),
}

/// A driver that forgets what reads are verified by.
const UNSEEN: &str = "the driver did not hand out the data that was to be verified";

/// Whether an answer, or a part of one, is what was asked for, and what came of
/// verifying data that it brought. What it moved must be in the slot already.
pub(super) fn judge(
    slot: &Slot,
    answer: &Answer<'_>,
    ledger: Option<&mut Ledger>,
) -> Result<Result<Option<Verdict>, Unfit>, Dropped> {
    let Operation {
        kind,
        file,
        offset,
        length,
        ..
    } = slot.operation;
    let succeeded = is_success(kind, answer);
    // Of several parts one moves the data, and the last is there to tell.
    let is_uneven = answer.extent == Extent::Final && carries_data(kind) && slot.moved != length;
    let mut verdict = None;
    match (kind, ledger) {
        (OpKind::Write, Some(ledger)) if succeeded && !is_uneven => {
            ledger.write_done(file, offset, length);
        }
        (OpKind::Write, Some(ledger)) => ledger.write_failed(file, offset, length),
        (_, Some(ledger)) if succeeded && answer.moved == length => {
            match (answer.data, slot.epoch) {
                (_, None) => {}
                (Some(data), Some(epoch)) if data.len() == length as usize => {
                    match ledger.read_done(file, offset, data, epoch) {
                        Ok(judged) => verdict = Some(judged),
                        Err(mismatch) => return Ok(Err(Unfit::Data(mismatch))),
                    }
                }
                (_, Some(_)) => return Err(Dropped::Other(UNSEEN.to_owned())),
            }
        }
        _ => {}
    }
    match answer.status {
        _ if succeeded && !is_uneven => Ok(Ok(verdict)),
        _ if succeeded && slot.moved < length => Ok(Err(Unfit::Answer(Failure::Short))),
        _ if succeeded => Ok(Err(Unfit::Answer(Failure::Long))),
        status if ends_session(answer) => Err(Dropped::SessionEnded(status)),
        status => Ok(Err(Unfit::Answer(Failure::Status(status)))),
    }
}

/// Whether an answer says that there is no session any more.
pub(super) fn ends_session(answer: &Answer<'_>) -> bool {
    // Of one that has expired, the session goes on; only this is over.
    answer.extent != Extent::Expired
        && matches!(
            answer.status,
            NtStatus::USER_SESSION_DELETED
                | NtStatus::NETWORK_SESSION_EXPIRED
                | NtStatus::NETWORK_NAME_DELETED
        )
}

/// Whether as many bytes as asked for must have moved.
const fn carries_data(kind: OpKind) -> bool {
    kind.direction().is_some() || matches!(kind, OpKind::CopyChunk)
}

/// Whether the server did what it was asked.
fn is_success(kind: OpKind, answer: &Answer<'_>) -> bool {
    match (kind, answer.status) {
        (_, NtStatus::SUCCESS) => true,
        (OpKind::ChangeNotify, NtStatus::PENDING) => answer.extent == Extent::Interim,
        // Too much has changed to tell: that is a notification, too.
        (OpKind::ChangeNotify | OpKind::Cancel, NtStatus::NOTIFY_ENUM_DIR) => true,
        (OpKind::Cancel, NtStatus::CANCELLED) => true,
        // As much as there was room for (MS-SMB2 3.3.5.20.1).
        (
            OpKind::QueryFile | OpKind::QueryFs | OpKind::CreateQueryClose,
            NtStatus::BUFFER_OVERFLOW,
        ) => true,
        _ => false,
    }
}
