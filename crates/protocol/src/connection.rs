//! An authenticated, tree-connected connection in steady state.
//!
//! Invariant: every request in flight holds the credits it was charged and
//! one entry in the table; a response is accepted only for such an entry, and
//! only with a valid signature where the session is signed. Setting a
//! connection up is [`crate::handshake`]'s business.

use thiserror::Error;

use crate::command::read::{ReadRequest, ReadResponse};
use crate::command::write::{WriteRequest, WriteResponse};
use crate::credit::{CreditLedger, charge_for};
use crate::crypto::Signer;
use crate::dialect::{Dialect, SigningAlgorithm};
use crate::frame::{Message, PREFIX_LEN};
use crate::header::{Command, Flags, Header, UNSOLICITED};
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// What the server agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Dialect in use.
    pub dialect: Dialect,
    /// Algorithm that signs every message, `None` when messages go unsigned.
    pub signing: Option<SigningAlgorithm>,
    /// Whether the server demands signatures.
    pub server_requires_signing: bool,
    /// Largest READ in bytes.
    pub max_read: u32,
    /// Largest WRITE in bytes.
    pub max_write: u32,
    /// Largest query or directory listing in bytes.
    pub max_transact: u32,
    /// Capability bits of the NEGOTIATE response (MS-SMB2 2.2.4).
    pub capabilities: u32,
    /// The server's own identifier.
    pub server_guid: [u8; 16],
    /// The server let the user in as a guest.
    pub guest: bool,
}

/// A connection that can no longer be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProtocolError {
    /// A message does not follow MS-SMB2.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The stream is not SMB over direct TCP.
    #[error(transparent)]
    Frame(#[from] crate::frame::FrameError),
    /// No request with this message id is in flight.
    #[error("an answer to message {0}, which was not asked")]
    Unasked(u64),
    /// The answer names another command than the request.
    #[error("a {got} answer to a {asked} request")]
    WrongCommand {
        /// Name of the command sent.
        asked: &'static str,
        /// Name of the command received.
        got: &'static str,
    },
    /// The message is a request, or answers for another session.
    #[error("a message that is no answer to this session")]
    NotAResponse,
    /// Missing or wrong signature on a signed session.
    #[error("a {0} answer whose signature is missing or wrong")]
    Signature(&'static str),
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    message_id: u64,
    tag: u32,
    command: Command,
    asked: u16,
}

/// Not enough credits at hand to send this request now.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no credit for the request")]
pub struct NoCredit;

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
    /// An oplock or lease break nobody asked for.
    Break,
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
    message: Message<'a>,
}

impl<'a> Completion<'a> {
    /// Header and body as received.
    #[must_use]
    pub const fn message(&self) -> &'a [u8] {
        self.message.bytes
    }

    /// The body of a successful READ.
    ///
    /// # Errors
    /// When the body is malformed.
    pub fn read(&self) -> Result<ReadResponse<'a>, DecodeError> {
        ReadResponse::decode(self.message.bytes, self.message.total_len)
    }

    /// The body of a successful WRITE.
    ///
    /// # Errors
    /// When the body is malformed.
    pub fn write(&self) -> Result<WriteResponse, DecodeError> {
        WriteResponse::decode(self.message.bytes)
    }
}

/// A session and a tree connect on one TCP connection.
#[derive(Debug)]
pub struct Connection {
    negotiated: Negotiated,
    session_id: u64,
    tree_id: u32,
    signer: Option<Signer>,
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
        signer: Option<Signer>,
        credits: CreditLedger,
    ) -> Self {
        Self {
            negotiated,
            session_id,
            tree_id,
            signer,
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
    /// whatever must be patched (length, signature) is patched after it.
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
        let paid = self.credits.reserve(charge).ok_or(NoCredit)?;
        let header = Header {
            credit_charge: charge,
            credits: paid.asked,
            session_id: self.session_id,
            ..Header::request(command, paid.message_id).with_tree(self.tree_id)
        };
        append_framed(&header, out, self.signer.as_ref(), body);
        self.in_flight.push(InFlight {
            message_id: paid.message_id,
            tag,
            command,
            asked: paid.asked,
        });
        Ok(())
    }

    /// Takes one received message.
    ///
    /// # Errors
    /// When the message breaks the protocol; the connection is unusable then.
    pub fn receive<'a>(&mut self, message: Message<'a>) -> Result<Event<'a>, ProtocolError> {
        let header = Header::decode(message.bytes)?;
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
        // Interim answers are never signed (MS-SMB2 3.2.5.1.3).
        let interim = header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC);
        if !interim {
            self.check_signature(&header, message.bytes)?;
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
            message,
        }))
    }

    fn check_signature(&self, header: &Header, message: &[u8]) -> Result<(), ProtocolError> {
        match &self.signer {
            Some(signer) if !signer.verify(message) => {
                Err(ProtocolError::Signature(header.command.name()))
            }
            _ => Ok(()),
        }
    }
}

/// Appends prefix, header and body of one message, and signs it.
pub(crate) fn append_framed(
    header: &Header,
    out: &mut Vec<u8>,
    signer: Option<&Signer>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let prefix = out.len();
    out.extend_from_slice(&[0; PREFIX_LEN]);
    header.encode(out);
    body(out);
    let message = prefix + PREFIX_LEN;
    let len = (out.len() - message) as u32;
    out[prefix..message].copy_from_slice(&len.to_be_bytes());
    if let Some(signer) = signer {
        signer.sign(&mut out[message..]);
    }
}
