//! Requests of a session that are not about files: further tree connects, and
//! another validation of the negotiation.
//!
//! MS-SMB2 3.2.4.1.1 requires signatures on both, even in sessions that sign
//! nothing else. [`Channel::signer`] is the key for that.

use super::{Channel, Completion, Connection, NoCredit, Protect, SessionIndex, append_framed};
use crate::command::WireName;
use crate::command::bodyless::EMPTY_BODY;
use crate::command::tree_connect::{TreeConnectRequest, TreeConnectResponse};
use crate::dialect::Dialect;
use crate::header::{Command, Flags, Header};
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// The id of a tree connect of the session (MS-SMB2 2.2.1.2, TreeId).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TreeId(pub(super) u32);

impl Connection {
    /// Appends a TREE_CONNECT to the share at `path`, `\\host\share`. The
    /// answer's [`Completion::tree`] returns the tree's id.
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything.
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
        // 3.1.1 requires a signature in every authenticated session.
        let protect = match self.negotiated.dialect {
            Dialect::Smb311 => self.channel_mut(session).signed_at_least(),
            _ => self.protect(session),
        };
        append_framed(&header, out, protect, |out| {
            TreeConnectRequest { path }.encode(out);
        });
        Ok(())
    }

    /// Appends a TREE_DISCONNECT of a tree that [`Connection::tree_connect`] made.
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything.
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
    /// when the session was set up.
    ///
    /// Use it only in SMB 3.0 and 3.0.2: a server of 3.1.1 closes the
    /// connection because of it.
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything.
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
    /// Returns the session's protection. If it has none, returns a signature.
    fn signed_at_least(&mut self) -> Protect<'_> {
        match (self.protection.next(), &self.signer) {
            (Protect::Not, Some(signer)) => Protect::Sign(signer),
            // They name no open, so that the server does not look at their channel sequence.
            (Protect::Sign(signer), _) => Protect::Sign(signer.due().unwrap_or(signer)),
            (protect, _) => protect,
        }
    }

    /// Returns whether an answer in an unsigned session has the signature that it
    /// needs. The answer to a request that had to be signed must be signed too.
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

/// Returns whether this dialect validates the negotiation with an FSCTL.
pub(crate) const fn has_validation(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Smb30 | Dialect::Smb302)
}

impl Completion<'_> {
    /// Returns the id of the tree that a successful TREE_CONNECT made.
    ///
    /// # Errors
    /// Returns an error if the answer is malformed.
    pub fn tree(&self) -> Result<TreeId, DecodeError> {
        let header = Header::decode(self.bytes)?;
        if header.flags.contains(Flags::ASYNC) {
            // An async header has an AsyncId in the place of the TreeId.
            return Err(DecodeError {
                what: "TREE_CONNECT tree id",
                offset: 36,
            });
        }
        TreeConnectResponse::decode(self.bytes)?;
        Ok(TreeId(header.tree_id()))
    }
}
