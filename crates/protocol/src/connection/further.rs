//! What a standing session asks beyond its files: further tree connects, and
//! to validate its negotiation once more.
//!
//! Both are signed where MS-SMB2 demands it of sessions that sign nothing else
//! (3.2.4.1.1); [`Channel::signer`] is what that takes.

use super::{Channel, Completion, Connection, NoCredit, Protect, SessionIndex, append_framed};
use crate::command::WireName;
use crate::command::bodyless::EMPTY_BODY;
use crate::command::tree_connect::{TreeConnectRequest, TreeConnectResponse};
use crate::dialect::Dialect;
use crate::header::{Command, Flags, Header};
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// A tree connect of the session (MS-SMB2 2.2.1.2, TreeId).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TreeId(pub(super) u32);

impl Connection {
    /// Appends a TREE_CONNECT to the share at `path`, `\\host\share`; the
    /// answer's [`Completion::tree`] tells which tree it is.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn tree_connect(
        &mut self,
        session: SessionIndex,
        tag: u32,
        path: &WireName,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let header = self
            .admit(session, Command::TreeConnect, 1, tag)?
            .with_tree(0);
        // 3.1.1 requires it of every authenticated session.
        let protect = match self.negotiated.dialect {
            Dialect::Smb311 => self.channel_mut(session).signed_at_least(),
            _ => self.protect(session),
        };
        append_framed(&header, out, protect, |out| {
            TreeConnectRequest { path }.encode(out);
        });
        Ok(())
    }

    /// Appends a TREE_DISCONNECT of a tree made by
    /// [`Connection::tree_connect`].
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn tree_disconnect(
        &mut self,
        session: SessionIndex,
        tag: u32,
        tree: TreeId,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let header = self
            .admit(session, Command::TreeDisconnect, 1, tag)?
            .with_tree(tree.0);
        append_framed(&header, out, self.protect(session), |out| {
            out.extend_from_slice(&EMPTY_BODY);
        });
        Ok(())
    }

    /// Appends FSCTL_VALIDATE_NEGOTIATE_INFO (MS-SMB2 3.2.5.5), as it was sent
    /// when the session was set up. Only in SMB 3.0 and 3.0.2: a server of
    /// 3.1.1 ends the connection over it.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn validate_negotiation(
        &mut self,
        session: SessionIndex,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let header = self.admit(session, Command::Ioctl, 1, tag)?;
        let validation = std::mem::take(&mut self.setup.validation);
        let protect = self.channel_mut(session).signed_at_least();
        append_framed(&header, out, protect, |out| {
            out.extend_from_slice(&validation);
        });
        self.setup.validation = validation;
        Ok(())
    }
}

impl Channel {
    /// The session's protection, or its signature where it has none.
    fn signed_at_least(&mut self) -> Protect<'_> {
        match (self.protection.next(), &self.signer) {
            (Protect::Not, Some(signer)) => Protect::Sign(signer),
            (protect, _) => protect,
        }
    }

    /// Whether an answer on a session that goes unsigned is as it should be:
    /// what was signed by exception is answered signed.
    #[inline]
    pub(super) fn is_signed_where_due(
        &self,
        dialect: Dialect,
        header: &Header,
        bytes: &mut [u8],
    ) -> bool {
        let is_exception =
            header.command == Command::TreeConnect || header.flags.contains(Flags::SIGNED);
        !is_exception || self.is_signed_exception(dialect, header, bytes)
    }

    #[cold]
    fn is_signed_exception(&self, dialect: Dialect, header: &Header, bytes: &mut [u8]) -> bool {
        let Some(signer) = &self.signer else {
            return true;
        };
        let is_due = dialect == Dialect::Smb311 && header.status == NtStatus::SUCCESS;
        (!is_due && !header.flags.contains(Flags::SIGNED)) || signer.verify(bytes)
    }
}

/// Whether a negotiation of this dialect is validated by FSCTL.
pub(crate) const fn has_validation(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Smb30 | Dialect::Smb302)
}

impl Completion<'_> {
    /// The tree that a successful TREE_CONNECT made.
    ///
    /// # Errors
    /// When the answer is malformed.
    pub fn tree(&self) -> Result<TreeId, DecodeError> {
        let header = Header::decode(self.bytes)?;
        if header.flags.contains(Flags::ASYNC) {
            // Its TreeId would be read out of an AsyncId.
            return Err(DecodeError {
                what: "TREE_CONNECT tree id",
                offset: 36,
            });
        }
        TreeConnectResponse::decode(self.bytes)?;
        Ok(TreeId(header.tree_id()))
    }
}
