//! A negotiated CIFS connection with its sessions, after they were set up.
//!
//! Invariants:
//! - Every request in flight has a MID of its own and one entry in the table. There are
//!   never more than the server permits (MaxMpxCount).
//! - A response is accepted only for such an entry, with the command of its request.
//! - If the connection signs, a response needs a valid signature.
//!
//! Oplock breaks are requests of the server, and not signed. Code that acts on a break must
//! tolerate a forged one.

mod event;
mod parts;
mod receive;
mod signing;
mod terms;
mod unanswered;

use std::hint;

use super::command::close::encode_echo;
use super::command::encode_empty;
use super::command::read::CifsRead;
use super::command::write::CifsWrite;
use super::header::{CIFS_UNSOLICITED, CifsCommand, CifsHeader, cifs_flags, cifs_flags2};
use crate::NtStatus;
use crate::auth::Logon;
use crate::connection::{NoCredit, SessionIndex};
use crate::frame::PREFIX_LEN;
pub use event::{CifsCompletion, CifsEvent};
use parts::Joining;
pub(crate) use signing::{CifsReplies, CifsSigner, FIRST_ANSWER};
pub(crate) use terms::CifsUser;
pub use terms::{CifsNegotiated, TRANSACTION_DATA_MAX};
use unanswered::Unanswered;

/// A further tree connect of a session (TID).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CifsTree(pub(super) u16);

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct CifsInFlight {
    mid: u16,
    tag: u32,
    command: CifsCommand,
    /// Sequence number of the answer's signature.
    answer_sequence: u32,
}

/// One TCP connection: the negotiated terms, the requests in flight, and the sessions.
#[derive(Debug)]
pub struct CifsConnection {
    pub(crate) negotiated: CifsNegotiated,
    /// The most requests in flight.
    limit: usize,
    next_mid: u16,
    in_flight: Vec<CifsInFlight>,
    users: Vec<CifsUser>,
    pub(crate) signer: Option<CifsSigner>,
    joining: Vec<Joining>,
    unanswered: Unanswered,
    /// Value of the SessionKey field of each log-on.
    pub(crate) session_key: u32,
    /// [`cifs_flags2`] bits of requests.
    pub(crate) flags2: u16,
    /// The challenge of NEGOTIATE, for log-ons without extended security.
    pub(crate) challenge: Option<[u8; 8]>,
}

impl CifsConnection {
    pub(crate) fn new(negotiated: CifsNegotiated, session_key: u32) -> Self {
        Self {
            limit: usize::from(negotiated.max_mpx.max(1)),
            negotiated,
            next_mid: 0,
            in_flight: Vec::new(),
            users: Vec::with_capacity(1),
            signer: None,
            joining: Vec::new(),
            unanswered: Unanswered::default(),
            session_key,
            flags2: cifs_flags2::REQUEST,
            challenge: None,
        }
    }

    /// Returns the terms that the server agreed to.
    #[must_use]
    pub const fn negotiated(&self) -> &CifsNegotiated {
        &self.negotiated
    }

    /// Returns whether messages are signed.
    #[must_use]
    pub const fn is_signed(&self) -> bool {
        self.signer.is_some()
    }

    /// Returns the kind of log-on that the server accepted.
    #[must_use]
    pub fn logon(&self, session: SessionIndex) -> Logon {
        self.user(session).logon.unwrap_or(Logon::Anonymous)
    }

    /// Returns the number of requests in flight.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns whether a request with this tag is in flight.
    #[must_use]
    #[inline]
    pub fn is_in_flight(&self, tag: u32) -> bool {
        self.in_flight.iter().any(|entry| entry.tag == tag)
    }

    /// Returns the number of requests that may be sent now.
    #[must_use]
    #[inline]
    pub fn room(&self) -> usize {
        self.limit - self.in_flight.len()
    }

    pub(crate) fn user(&self, session: SessionIndex) -> &CifsUser {
        &self.users[session.at()]
    }

    pub(crate) fn user_mut(&mut self, session: SessionIndex) -> &mut CifsUser {
        &mut self.users[session.at()]
    }

    /// Adds a session that is to be set up.
    pub(crate) fn add_user(&mut self) -> SessionIndex {
        let user = CifsUser {
            uid: 0,
            tid: 0,
            logon: None,
            is_vacant: false,
        };
        match self.users.iter().position(|user| user.is_vacant) {
            Some(at) => {
                self.users[at] = user;
                SessionIndex::after(at)
            }
            None => {
                self.users.push(user);
                SessionIndex::after(self.users.len() - 1)
            }
        }
    }

    /// Forgets a session that has ended or is no longer used.
    pub fn forget(&mut self, session: SessionIndex) {
        self.user_mut(session).is_vacant = true;
    }

    /// Appends any request. `body` appends its body.
    ///
    /// # Errors
    /// If the server permits no further request now. Nothing is appended then.
    #[inline]
    pub fn request(
        &mut self,
        session: SessionIndex,
        command: CifsCommand,
        tag: u32,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        if self.in_flight.len() >= self.limit {
            hint::cold_path();
            return Err(NoCredit);
        }
        let mid = self.take_mid();
        let header = self.header(session, command, mid);
        let answer_sequence = self.append(&header, CifsReplies::Yes, out, body);
        self.in_flight.push(CifsInFlight {
            mid,
            tag,
            command,
            answer_sequence,
        });
        Ok(())
    }

    /// Appends a READ.
    ///
    /// # Errors
    /// As [`CifsConnection::request`].
    #[inline]
    pub fn read(
        &mut self,
        session: SessionIndex,
        tag: u32,
        request: &CifsRead,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        self.request(session, CifsCommand::ReadAndX, tag, out, |out| {
            request.encode(out);
        })
    }

    /// Appends a WRITE. `data` must append the `request.length` bytes of data.
    ///
    /// # Errors
    /// As [`CifsConnection::request`].
    #[inline]
    pub fn write(
        &mut self,
        session: SessionIndex,
        tag: u32,
        request: &CifsWrite,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        self.request(session, CifsCommand::WriteAndX, tag, out, |out| {
            request.encode_with(out, data);
        })
    }

    /// Appends an ECHO.
    ///
    /// # Errors
    /// As [`CifsConnection::request`].
    pub fn echo(
        &mut self,
        session: SessionIndex,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        self.request(session, CifsCommand::Echo, tag, out, encode_echo)
    }

    /// Appends a TREE_DISCONNECT of another tree connect than the session's own.
    ///
    /// # Errors
    /// As [`CifsConnection::request`].
    pub fn tree_disconnect(
        &mut self,
        session: SessionIndex,
        tag: u32,
        tree: CifsTree,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let own = std::mem::replace(&mut self.user_mut(session).tid, tree.0);
        let command = CifsCommand::TreeDisconnect;
        let sent = self.request(session, command, tag, out, encode_empty);
        self.user_mut(session).tid = own;
        sent
    }

    /// Returns the session of a tree connect. Each session has one of its own.
    fn session_of(&self, tid: u16) -> Option<SessionIndex> {
        let mut users = self.users.iter();
        let at = users.position(|user| user.tid == tid && !user.is_vacant)?;
        Some(SessionIndex::after(at))
    }

    fn header(&self, session: SessionIndex, command: CifsCommand, mid: u16) -> CifsHeader {
        let user = self.users[session.at()];
        CifsHeader {
            command,
            status: NtStatus::SUCCESS,
            flags: cifs_flags::REQUEST,
            flags2: self.flags2,
            tid: user.tid,
            uid: user.uid,
            mid,
        }
    }

    /// Appends a framed message, signed if the connection signs. Returns the sequence
    /// number of its answer.
    #[inline]
    fn append(
        &mut self,
        header: &CifsHeader,
        answered: CifsReplies,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> u32 {
        let at = out.len();
        out.extend_from_slice(&[0; PREFIX_LEN]);
        header.encode(out);
        body(out);
        let start = at + PREFIX_LEN;
        // The cast is safe: the largest WRITE has 64 KiB of data.
        let len = (out.len() - start) as u32;
        out[at..start].copy_from_slice(&len.to_be_bytes());
        match &mut self.signer {
            None => 0,
            Some(signer) => signer.sign(&mut out[start..], answered),
        }
    }

    #[inline]
    fn take_mid(&mut self) -> u16 {
        loop {
            self.next_mid = self.next_mid.wrapping_add(1);
            let mid = self.next_mid;
            // The table is short, at most MaxMpxCount entries.
            if mid != CIFS_UNSOLICITED && !self.in_flight.iter().any(|entry| entry.mid == mid) {
                return mid;
            }
        }
    }
}

#[cfg(test)]
mod tests;
