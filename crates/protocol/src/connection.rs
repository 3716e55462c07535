//! An authenticated, tree-connected connection in steady state.
//!
//! Invariant: every request in flight holds the credits it was charged and
//! one entry in the table; a response is accepted only for such an entry, and
//! only with a valid signature where the session is signed, or encrypted where
//! it is encrypted. Setting a connection up is [`crate::handshake`]'s business.

mod error;
mod event;
mod negotiated;
mod protection;

use crate::command::read::ReadRequest;
use crate::command::write::WriteRequest;
use crate::credit::{CreditLedger, charge_for};
use crate::frame::{Frame, Message, Messages, Secrecy};
use crate::header::{Command, Flags, Header, UNSOLICITED};
use crate::status::NtStatus;

pub use error::{NoCredit, ProtocolError};
pub use event::{Completion, Event};
pub use negotiated::Negotiated;
pub(crate) use protection::{Protect, Protection, append_framed};

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    message_id: u64,
    tag: u32,
    command: Command,
    asked: u16,
}

/// A session and a tree connect on one TCP connection.
#[derive(Debug)]
pub struct Connection {
    negotiated: Negotiated,
    session_id: u64,
    tree_id: u32,
    protection: Protection,
    credits: CreditLedger,
    in_flight: Vec<InFlight>,
}

/// The body of LOGOFF, TREE_DISCONNECT and ECHO: a structure size and nothing
/// (MS-SMB2 2.2.7, 2.2.11, 2.2.28).
pub const EMPTY_BODY: [u8; 4] = [4, 0, 0, 0];

impl Connection {
    pub(crate) fn new(
        negotiated: Negotiated,
        session_id: u64,
        tree_id: u32,
        protection: Protection,
        credits: CreditLedger,
    ) -> Self {
        Self {
            negotiated,
            session_id,
            tree_id,
            protection,
            credits,
            in_flight: Vec::new(),
        }
    }

    /// What the server agreed to.
    #[must_use]
    pub const fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// Requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Credits at hand.
    #[must_use]
    pub const fn credits(&self) -> u32 {
        self.credits.available()
    }

    /// Strives for this many credits from now on; the next requests ask.
    pub fn set_credit_target(&mut self, target: u16) {
        self.credits.set_target(target);
    }

    /// Appends a READ.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn read(
        &mut self,
        tag: u32,
        request: &ReadRequest,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        self.request(Command::Read, charge_for(request.length), tag, out, |out| {
            request.encode(out);
        })
    }

    /// Appends a WRITE whose `request.length` bytes of data `fill` puts in
    /// place; they are zero before.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn write(
        &mut self,
        tag: u32,
        request: &WriteRequest,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), NoCredit> {
        let charge = charge_for(request.length);
        self.request(Command::Write, charge, tag, out, |out| {
            request.encode(out);
            let data = out.len();
            out.resize(data + request.length as usize, 0);
            fill(&mut out[data..]);
        })
    }

    /// Appends any request: `body` follows the header that this writes, and
    /// whatever must be patched (length, signature) is patched after it, and
    /// the whole encrypted in place where the session is.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn request(
        &mut self,
        command: Command,
        charge: u16,
        tag: u32,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        // Without multi-credit requests each costs one credit, and the field
        // is reserved (MS-SMB2 2.2.1.2, 3.2.4.1.5).
        let (cost, credit_charge) = if self.negotiated.multi_credit() {
            (charge, charge)
        } else {
            (1, 0)
        };
        let paid = self.credits.reserve(cost).ok_or(NoCredit)?;
        let header = Header {
            credit_charge,
            credits: paid.asked,
            session_id: self.session_id,
            ..Header::request(command, paid.message_id).with_tree(self.tree_id)
        };
        append_framed(&header, out, self.protection.next(), body);
        self.in_flight.push(InFlight {
            message_id: paid.message_id,
            tag,
            command,
            asked: paid.asked,
        });
        Ok(())
    }

    /// The messages of a received frame, decrypted in place.
    ///
    /// # Errors
    /// When it is encrypted and does not decrypt; the connection is unusable.
    #[inline]
    pub fn open<'a>(&self, frame: Frame<'a>) -> Result<Messages<'a>, ProtocolError> {
        let transform = match &self.protection {
            Protection::Encrypted(transform) => Some(transform),
            _ => None,
        };
        Ok(frame.open(transform)?)
    }

    /// Takes one received message.
    ///
    /// # Errors
    /// When the message breaks the protocol; the connection is unusable then.
    pub fn receive<'a>(&mut self, message: Message<'a>) -> Result<Event<'a>, ProtocolError> {
        let Message {
            bytes,
            total_len,
            secrecy,
        } = message;
        let header = Header::decode(bytes)?;
        if !header.flags.contains(Flags::RESPONSE) {
            return Err(ProtocolError::NotAResponse);
        }
        if header.message_id == UNSOLICITED {
            return Ok(Event::Break);
        }
        if header.session_id != self.session_id {
            return Err(ProtocolError::NotAResponse);
        }
        let at = self
            .in_flight
            .iter()
            .position(|entry| entry.message_id == header.message_id)
            .ok_or(ProtocolError::Unasked(header.message_id))?;
        let entry = self.in_flight[at];
        if entry.command != header.command {
            return Err(ProtocolError::WrongCommand {
                asked: entry.command.name(),
                got: header.command.name(),
            });
        }
        let interim = header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC);
        match &self.protection {
            Protection::Encrypted(_) if secrecy == Secrecy::Plain => {
                return Err(ProtocolError::Unencrypted(header.command.name()));
            }
            // Interim answers are never signed (MS-SMB2 3.2.5.1.3).
            Protection::Signed(signer) if !interim && !signer.verify(bytes) => {
                return Err(ProtocolError::Signature(header.command.name()));
            }
            _ => {}
        }
        self.credits.answered(entry.asked, header.credits);
        if interim {
            self.in_flight[at].asked = 0;
            return Ok(Event::Pending { tag: entry.tag });
        }
        self.in_flight.swap_remove(at);
        Ok(Event::Completed(Completion {
            tag: entry.tag,
            command: entry.command,
            status: header.status,
            bytes,
            total_len,
        }))
    }
}

#[cfg(test)]
mod tests;
