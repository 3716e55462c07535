//! SMB2 messages as a third party sees them: headers, requests and answers (MS-SMB2
//! 2.2). Messages may be cut, so each field may be missing.

mod answer;
mod request;

pub(crate) use self::answer::{AnswerFields, answer};
pub(crate) use self::request::{RequestFields, RequestTarget, request};

use crate::fields::Fields;

/// SMB2_FLAGS_SERVER_TO_REDIR, ASYNC_COMMAND, RELATED_OPERATIONS.
const RESPONSE: u32 = 1;
const ASYNC: u32 = 2;
const RELATED: u32 = 4;
/// The message id of notifications.
pub(crate) const UNSOLICITED: u64 = u64::MAX;

/// Codes of commands.
pub(crate) mod code {
    pub(crate) const NEGOTIATE: u16 = 0;
    pub(crate) const SESSION_SETUP: u16 = 1;
    pub(crate) const LOGOFF: u16 = 2;
    pub(crate) const TREE_CONNECT: u16 = 3;
    pub(crate) const TREE_DISCONNECT: u16 = 4;
    pub(crate) const CREATE: u16 = 5;
    pub(crate) const CLOSE: u16 = 6;
    pub(crate) const FLUSH: u16 = 7;
    pub(crate) const READ: u16 = 8;
    pub(crate) const WRITE: u16 = 9;
    pub(crate) const LOCK: u16 = 10;
    pub(crate) const IOCTL: u16 = 11;
    pub(crate) const CANCEL: u16 = 12;
    pub(crate) const QUERY_DIRECTORY: u16 = 14;
    pub(crate) const CHANGE_NOTIFY: u16 = 15;
    pub(crate) const QUERY_INFO: u16 = 16;
    pub(crate) const SET_INFO: u16 = 17;
    pub(crate) const OPLOCK_BREAK: u16 = 18;
}

/// A header, as far as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Smb2Header {
    pub(crate) command: u16,
    pub(crate) status: u32,
    flags: u32,
    /// Distance to the next message of a compound; 0 in the last.
    pub(crate) next: usize,
    /// `None` if the message is cut before them.
    pub(crate) ids: Option<Smb2Ids>,
}

/// The ids in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Smb2Ids {
    pub(crate) message: u64,
    pub(crate) tree: u32,
    pub(crate) session: u64,
}

impl Smb2Header {
    /// Reads a header; `None` if not even the command is there, or it is no header.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let fields = Fields(message);
        let starts = fields.array(0)? == *b"\xFESMB" && fields.u16(4)? == 64;
        let ids = || {
            Some(Smb2Ids {
                message: fields.u64(24)?,
                tree: fields.u32(36)?,
                session: fields.u64(40)?,
            })
        };
        let header = Self {
            command: fields.u16(12)?,
            status: fields.u32(8)?,
            flags: fields.u32(16)?,
            next: fields.u32(20).unwrap_or(0) as usize,
            ids: ids(),
        };
        (starts && header.command <= 18).then_some(header)
    }

    pub(crate) const fn is_answer(&self) -> bool {
        self.flags & RESPONSE != 0
    }

    pub(crate) const fn is_async(&self) -> bool {
        self.flags & ASYNC != 0
    }

    pub(crate) const fn is_related(&self) -> bool {
        self.flags & RELATED != 0
    }

    /// Whether an answer says that the final one follows (MS-SMB2 3.2.5.1.5).
    pub(crate) const fn is_interim(&self) -> bool {
        const PENDING: u32 = 0x103;
        self.is_async() && self.status == PENDING
    }
}
