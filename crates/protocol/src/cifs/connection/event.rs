//! The events that received messages cause.

use super::CifsTree;
use super::parts::Joined;
use crate::NtStatus;
use crate::cifs::command::lock::CifsBreak;
use crate::cifs::command::read::decode_read;
use crate::cifs::command::transaction::TransactionPart;
use crate::cifs::command::write::decode_write;
use crate::cifs::header::{CIFS_HEADER_LEN, CifsCommand, CifsHeader};
use crate::command::read::ReadResponse;
use crate::connection::SessionIndex;
use crate::wire::DecodeError;

/// An event that a received message caused.
#[derive(Debug)]
pub enum CifsEvent<'a> {
    /// A request was answered.
    Completed(CifsCompletion<'a>),
    /// Nothing to report: a part of an answer, of which others follow, or an answer that
    /// does not matter.
    Part,
    /// The server takes back an oplock. The sender is not verified.
    Break {
        /// The session of the open; `None` if the connection has no such session.
        session: Option<SessionIndex>,
        /// The open and the level.
        broken: CifsBreak,
    },
    /// The acknowledgement of a break came to a session that has expired, so the server did
    /// not carry it out. The answer is not verified.
    Unreleased {
        /// The session of the open.
        session: SessionIndex,
        /// The open and the level.
        broken: CifsBreak,
    },
    /// An NT_CANCEL came to a session that has expired, so the server did not carry it out.
    /// The answer is not verified.
    Uncancelled {
        /// The session.
        session: SessionIndex,
        /// The tag of the request that was to be cancelled.
        tag: u32,
    },
}

/// The final answer to a request.
#[derive(Debug)]
pub struct CifsCompletion<'a> {
    /// The tag that the request was sent with.
    pub tag: u32,
    /// The command of the request.
    pub command: CifsCommand,
    /// The status of the answer.
    pub status: NtStatus,
    pub(super) bytes: &'a [u8],
    pub(super) total_len: usize,
    /// The parts of an answer that came in several messages.
    pub(super) joined: Option<Box<Joined>>,
}

impl<'a> CifsCompletion<'a> {
    /// Returns the message as received; the last one if there were several.
    #[must_use]
    #[inline]
    pub const fn message(&self) -> &'a [u8] {
        self.bytes
    }

    /// Decodes the body of a successful READ.
    ///
    /// # Errors
    /// If the body is malformed.
    #[inline]
    pub fn read(&self) -> Result<ReadResponse<'a>, DecodeError> {
        decode_read(self.bytes, self.total_len)
    }

    /// Decodes the body of a successful WRITE: the number of bytes written.
    ///
    /// # Errors
    /// If the body is malformed.
    #[inline]
    pub fn write(&self) -> Result<u32, DecodeError> {
        decode_write(self.bytes)
    }

    /// Returns the tree connect of a successful TREE_CONNECT_ANDX.
    ///
    /// # Errors
    /// If the header is malformed.
    pub fn tree(&self) -> Result<CifsTree, DecodeError> {
        Ok(CifsTree(CifsHeader::decode(self.bytes)?.tid))
    }

    /// Returns parameters and data of the answer to a transaction. A failure has neither.
    ///
    /// # Errors
    /// If the body is malformed.
    pub fn transaction(&self) -> Result<(&[u8], &[u8]), DecodeError> {
        if let Some(joined) = &self.joined {
            return Ok((&joined.parameters, &joined.data));
        }
        if !has_parts(self.status, self.bytes) {
            return Ok((&[], &[]));
        }
        let part = match self.command {
            CifsCommand::NtTransact => TransactionPart::decode_nt_transact(self.bytes),
            _ => TransactionPart::decode_trans2(self.bytes),
        }?;
        Ok((part.parameters, part.data))
    }
}

/// Returns whether an answer to a transaction has parameters and data. A failure has none.
/// A warning, such as STATUS_BUFFER_OVERFLOW, may have some. STATUS_NO_MORE_FILES and
/// STATUS_NOTIFY_ENUM_DIR have none, and no words.
pub(super) fn has_parts(status: NtStatus, message: &[u8]) -> bool {
    let has_no_words = message.get(CIFS_HEADER_LEN) == Some(&0);
    status == NtStatus::SUCCESS || !(status.is_error() || has_no_words)
}
