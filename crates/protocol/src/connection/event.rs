//! The events that received messages cause.

use super::{Reauthentication, SessionIndex};
use crate::command::oplock_break::BreakNotification;
use crate::command::read::ReadResponse;
use crate::command::write::WriteResponse;
use crate::frame::Secrecy;
use crate::header::Command;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// An event that a received message caused.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A request was answered.
    Completed(Completion<'a>),
    /// The server will answer the request later (STATUS_PENDING).
    Pending {
        /// The request's tag.
        tag: u32,
    },
    /// The server withdraws an oplock or a part of a lease.
    ///
    /// The sender is not verified. Break notifications are unsigned, and may be
    /// unencrypted in an encrypted session.
    Break(BreakNotification),
    /// A re-authentication has advanced. It was started with
    /// [`Connection::reauthenticate`](super::Connection::reauthenticate).
    Reauthentication {
        /// The session.
        session: SessionIndex,
        /// The state of the re-authentication.
        progress: Reauthentication,
    },
}

/// The final answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// The tag that the request was sent with.
    pub tag: u32,
    /// The command of the request.
    pub command: Command,
    /// The status of the answer.
    pub status: NtStatus,
    pub(super) bytes: &'a [u8],
    pub(super) total_len: usize,
    /// Whether the answer was encrypted.
    pub(crate) secrecy: Secrecy,
}

impl<'a> Completion<'a> {
    /// Returns header and body as received.
    #[must_use]
    #[inline]
    pub const fn message(&self) -> &'a [u8] {
        self.bytes
    }

    /// Decodes the body of a successful READ.
    ///
    /// # Errors
    /// Returns an error if the body is malformed.
    #[inline]
    pub fn read(&self) -> Result<ReadResponse<'a>, DecodeError> {
        ReadResponse::decode(self.bytes, self.total_len)
    }

    /// Decodes the body of a successful WRITE.
    ///
    /// # Errors
    /// Returns an error if the body is malformed.
    #[inline]
    pub fn write(&self) -> Result<WriteResponse, DecodeError> {
        WriteResponse::decode(self.bytes)
    }
}
