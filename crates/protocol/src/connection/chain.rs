//! Related requests in one frame (MS-SMB2 3.2.4.1.4): the server runs them in
//! order, and each after the first may mean the open of the one before.
//!
//! Invariant: a chain is sent whole or not at all; until [`Chain::finish`]
//! says so, nothing of it counts.

use super::protection::{begin_frame, end_frame};
use super::{Connection, Mark, NoCredit, Protection, SessionIndex};
use crate::command::read::ReadRequest;
use crate::command::write::WriteRequest;
use crate::credit::charge_for;
use crate::header::{Command, Flags};

/// Where NextCommand lies in a header.
const NEXT_COMMAND: std::ops::Range<usize> = 20..24;

/// A chain being put together; see [`Connection::chain`]. Dropped before
/// [`Chain::finish`], it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a chain that is not finished is not sent"]
pub struct Chain<'a> {
    connection: &'a mut Connection,
    session: SessionIndex,
    out: &'a mut Vec<u8>,
    /// What to go back to, until the chain is finished.
    undo: Option<Mark>,
    /// Where the latest message begins, once there is one.
    latest: Option<usize>,
    outcome: Result<(), NoCredit>,
}

impl Connection {
    /// Begins a frame of related requests, each with a tag and an answer of
    /// its own. Those after the first mean with [`FileId::RELATED`] the open
    /// of the request before. A server fails them with the status of that one
    /// where it failed.
    ///
    /// Bodies are written before it is known whether the credits suffice for
    /// what follows; whoever minds asks [`Connection::affords`] first.
    ///
    /// [`FileId::RELATED`]: crate::FileId::RELATED
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
    pub fn read(self, tag: u32, request: &ReadRequest) -> Self {
        self.request(Command::Read, charge_for(request.length), tag, |out| {
            request.encode(out);
        })
    }

    /// Adds a WRITE, like [`Connection::write`].
    pub fn write(self, tag: u32, request: &WriteRequest, data: impl FnOnce(&mut Vec<u8>)) -> Self {
        let charge = charge_for(request.length);
        self.request(Command::Write, charge, tag, |out| {
            request.encode_with(out, data);
        })
    }

    /// Completes the frame; a chain of no requests appends none.
    ///
    /// # Errors
    /// [`NoCredit`] when the credits do not suffice for all; nothing is
    /// appended and none is spent.
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

    /// Pads the message that begins at `start`, and has it point at the next.
    fn link(&mut self, start: usize) {
        let len = (self.out.len() - start).next_multiple_of(8);
        self.out.resize(start + len, 0);
        self.out[start..][NEXT_COMMAND].copy_from_slice(&(len as u32).to_le_bytes());
        self.sign(start);
    }

    /// Each message is signed on its own, padding included (MS-SMB2
    /// 3.1.4.1); encryption takes the frame as a whole.
    fn sign(&mut self, start: usize) {
        if let Protection::Signed(signer) = &self.connection.channel(self.session).protection {
            signer.sign(&mut self.out[start..]);
        }
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.connection.go_back(&undo, self.out);
        }
    }
}
