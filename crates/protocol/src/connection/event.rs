//! What received messages mean to the caller.

use super::{Reauthentication, SessionIndex};
use crate::command::oplock_break::BreakNotification;
use crate::command::read::ReadResponse;
use crate::command::write::WriteResponse;
use crate::frame::Secrecy;
use crate::header::Command;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// What a received message means.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A request was answered.
    Completed(Completion<'a>),
    /// The server will answer later (STATUS_PENDING).
    Pending {
        /// The request's tag.
        tag: u32,
    },
    /// The server takes an oplock or some of a lease back. Nothing proves that
    /// it is the server who says so: notifications go unsigned, and may come
    /// in plain where all else is encrypted.
    Break(BreakNotification),
    /// What [`Connection::reauthenticate`](super::Connection::reauthenticate)
    /// began has got further.
    Reauthentication {
        /// The session.
        session: SessionIndex,
        /// How far.
        progress: Reauthentication,
    },
}

/// The final answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// The tag the request was sent with.
    pub tag: u32,
    /// Its command.
    pub command: Command,
    /// How it went.
    pub status: NtStatus,
    pub(super) bytes: &'a [u8],
    pub(super) total_len: usize,
    pub(super) secrecy: Secrecy,
}

impl<'a> Completion<'a> {
    /// Header and body as received.
    #[must_use]
    pub const fn message(&self) -> &'a [u8] {
        self.bytes
    }

    /// How it came.
    pub(crate) const fn secrecy(&self) -> Secrecy {
        self.secrecy
    }

    /// The body of a successful READ.
    ///
    /// # Errors
    /// When the body is malformed.
    pub fn read(&self) -> Result<ReadResponse<'a>, DecodeError> {
        ReadResponse::decode(self.bytes, self.total_len)
    }

    /// The body of a successful WRITE.
    ///
    /// # Errors
    /// When the body is malformed.
    pub fn write(&self) -> Result<WriteResponse, DecodeError> {
        WriteResponse::decode(self.bytes)
    }
}
