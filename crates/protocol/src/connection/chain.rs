//! Related requests in one frame (MS-SMB2 3.2.4.1.4).
//!
//! The server runs the requests in order. Each request after the first may
//! refer to the open of the request before it.
//!
//! Invariant: a chain is sent completely or not at all. Before
//! [`Chain::finish`] nothing of it takes effect.

use super::protection::{begin_frame, end_frame};
use super::{Connection, Mark, NoCredit, Protection, SessionIndex};
use crate::command::read::ReadRequest;
use crate::command::write::WriteRequest;
use crate::credit::charge_for;
use crate::header::{Command, Flags};

/// The position of NextCommand in a header.
const NEXT_COMMAND: std::ops::Range<usize> = 20..24;

/// A chain under construction; see [`Connection::chain`]. A chain that is
/// dropped before [`Chain::finish`] changes nothing.
#[derive(Debug)]
#[must_use = "a chain that is not finished is not sent"]
pub struct Chain<'a> {
    connection: &'a mut Connection,
    session: SessionIndex,
    out: &'a mut Vec<u8>,
    /// The state to restore, until the chain is finished.
    undo: Option<Mark>,
    /// The start of the latest message, if there is one.
    latest: Option<usize>,
    outcome: Result<(), NoCredit>,
}

impl Connection {
    /// Starts a frame of related requests. Each has its own tag and its own answer.
    ///
    /// Requests after the first use [`FileId::RELATED`] for the open of the
    /// request before. If that request fails, the server fails the next one
    /// with the same status.
    ///
    /// Bodies are written before all credits of the chain are known to suffice.
    /// Callers that want to avoid that work call [`Connection::affords`] first.
    ///
    /// [`FileId::RELATED`]: crate::FileId::RELATED
    #[inline]
    pub fn chain<'a>(&'a mut self, session: SessionIndex, out: &'a mut Vec<u8>) -> Chain<'a> {
        let undo = Some(self.mark(out));
        begin_frame(out, &self.protect(session));
        Chain {
            connection: self,
            session,
            out,
            undo,
            latest: None,
            outcome: Ok(()),
        }
    }
}

impl Chain<'_> {
    /// Adds any request, like [`Connection::request`].
    #[inline]
    pub fn request(
        mut self,
        command: Command,
        charge: u16,
        tag: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        if self.outcome.is_ok() {
            self.outcome = self.append(command, charge, tag, body);
        }
        self
    }

    /// Adds a READ.
    #[inline]
    pub fn read(self, tag: u32, request: &ReadRequest) -> Self {
        self.request(Command::Read, charge_for(request.length), tag, |out| {
            request.encode(out);
        })
    }

    /// Adds a WRITE, like [`Connection::write`].
    #[inline]
    pub fn write(self, tag: u32, request: &WriteRequest, data: impl FnOnce(&mut Vec<u8>)) -> Self {
        let charge = charge_for(request.length);
        self.request(Command::Write, charge, tag, |out| {
            request.encode_with(out, data);
        })
    }

    /// Completes the frame. A chain without requests appends no frame.
    ///
    /// # Errors
    /// Returns [`NoCredit`] if the credits do not suffice for all requests.
    /// Nothing is appended and no credit is spent.
    #[inline]
    pub fn finish(mut self) -> Result<(), NoCredit> {
        self.outcome?;
        let Some(latest) = self.latest else {
            return Ok(());
        };
        self.sign(latest);
        if let Some(undo) = self.undo.take() {
            let protect = self.connection.protect(self.session);
            end_frame(self.out, undo.out_len, protect);
        }
        Ok(())
    }

    #[inline]
    fn append(
        &mut self,
        command: Command,
        charge: u16,
        tag: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let mut header = self.connection.admit(self.session, command, charge, tag)?;
        if let Some(previous) = self.latest {
            self.link(previous);
            header.flags = header.flags.union(Flags::RELATED);
        }
        self.latest = Some(self.out.len());
        header.encode(self.out);
        body(self.out);
        Ok(())
    }

    /// Pads the message that begins at `start`, and sets its NextCommand to the
    /// next message.
    #[inline]
    fn link(&mut self, start: usize) {
        let len = (self.out.len() - start).next_multiple_of(8);
        self.out.resize(start + len, 0);
        self.out[start..][NEXT_COMMAND].copy_from_slice(&(len as u32).to_le_bytes());
        self.sign(start);
    }

    /// Signs the message that begins at `start`.
    ///
    /// Each message is signed separately, with its padding (MS-SMB2 3.1.4.1).
    /// Encryption covers the frame as a whole.
    #[inline]
    fn sign(&mut self, start: usize) {
        if let Protection::Signed(signer) = &self.connection.channel(self.session).protection {
            signer.sign(&mut self.out[start..]);
        }
    }
}

impl Drop for Chain<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.connection.go_back(&undo, self.out);
        }
    }
}
