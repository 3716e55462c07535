//! An authenticated, tree-connected connection in steady state.
//!
//! Invariant: every request in flight holds the credits it was charged and
//! one entry in the table; a response is accepted only for such an entry, and
//! only with a valid signature where the session is signed, or encrypted where
//! it is encrypted. Setting a connection up is [`crate::handshake`]'s business.

use thiserror::Error;

use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::command::read::{ReadRequest, ReadResponse};
use crate::command::write::{WriteRequest, WriteResponse};
use crate::credit::{CreditLedger, charge_for};
use crate::crypto::{Signer, TRANSFORM_HEADER_LEN, Transform};
use crate::dialect::Dialect;
use crate::frame::{Frame, Message, Messages, PREFIX_LEN, Secrecy, Undecipherable};
use crate::header::{Command, Flags, Header, UNSOLICITED};
use crate::negotiate::LARGE_MTU;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// What the server agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Dialect in use.
    pub dialect: Dialect,
    /// Algorithm that signs every message, `None` when messages go unsigned;
    /// encrypted ones do.
    pub signing: Option<SigningAlgorithm>,
    /// Cipher that encrypts every message, `None` when messages go in plain.
    pub encryption: Option<Cipher>,
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

impl Negotiated {
    /// Whether requests may cost several credits (MS-SMB2 3.2.5.2).
    #[must_use]
    pub fn multi_credit(&self) -> bool {
        self.dialect > Dialect::Smb202 && self.capabilities & LARGE_MTU != 0
    }
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
    /// An encrypted message is damaged, forged or for someone else.
    #[error(transparent)]
    Undecipherable(#[from] Undecipherable),
    /// A message in plain on an encrypted session.
    #[error("a {0} answer in plain on an encrypted session")]
    Unencrypted(&'static str),
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
    bytes: &'a [u8],
    total_len: usize,
}

impl<'a> Completion<'a> {
    /// Header and body as received.
    #[must_use]
    pub const fn message(&self) -> &'a [u8] {
        self.bytes
    }

    /// The body of a successful READ.
    ///
    /// # Errors
    /// When the body is malformed.
    pub fn read(&self) -> Result<ReadResponse<'a>, DecodeError> {
        ReadResponse::decode(self.bytes, self.total_len)
    }

    /// The body of a successful WRITE.
    ///
    /// # Errors
    /// When the body is malformed.
    pub fn write(&self) -> Result<WriteResponse, DecodeError> {
        WriteResponse::decode(self.bytes)
    }
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

/// What keeps the messages of a session from being altered or read.
#[derive(Debug)]
pub(crate) enum Protection {
    None,
    Signed(Signer),
    Encrypted(Transform),
}

/// The same for one message to be sent.
pub(crate) enum Protect<'a> {
    Not,
    Sign(&'a Signer),
    Encrypt(&'a mut Transform),
}

impl Protection {
    fn next(&mut self) -> Protect<'_> {
        match self {
            Self::None => Protect::Not,
            Self::Signed(signer) => Protect::Sign(signer),
            Self::Encrypted(transform) => Protect::Encrypt(transform),
        }
    }
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

/// Appends prefix, header and body of one message, and signs or encrypts it.
pub(crate) fn append_framed(
    header: &Header,
    out: &mut Vec<u8>,
    protect: Protect<'_>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let prefix = out.len();
    let frame = prefix + PREFIX_LEN;
    let message = match protect {
        Protect::Encrypt(_) => frame + TRANSFORM_HEADER_LEN,
        _ => frame,
    };
    out.resize(message, 0);
    header.encode(out);
    body(out);
    let len = (out.len() - frame) as u32;
    out[prefix..frame].copy_from_slice(&len.to_be_bytes());
    match protect {
        Protect::Not => {}
        Protect::Sign(signer) => signer.sign(&mut out[message..]),
        Protect::Encrypt(transform) => transform.seal(&mut out[frame..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::CipherList;
    use crate::crypto::{KeySource, NONCE_SEED_LEN, PreauthHash};
    use crate::frame::{Inbound, Payload};

    fn transform(cipher: Cipher) -> Transform {
        let keys = KeySource {
            dialect: Dialect::Smb311,
            full_session_key: &[7; 16],
            preauth: &PreauthHash::default(),
        };
        Transform::new(cipher, &keys, 0x51, [1; NONCE_SEED_LEN])
    }

    fn connection(dialect: Dialect, capabilities: u32, protection: Protection) -> Connection {
        let negotiated = Negotiated {
            dialect,
            signing: None,
            encryption: None,
            server_requires_signing: false,
            max_read: 1 << 20,
            max_write: 1 << 20,
            max_transact: 1 << 20,
            capabilities,
            server_guid: [0; 16],
            guest: false,
        };
        let mut credits = CreditLedger::new(64);
        credits.answered(0, 100);
        Connection::new(negotiated, 0x51, 3, protection, credits)
    }

    /// The answer to an ECHO with message id 0.
    fn answer(status: NtStatus, flags: Flags) -> Vec<u8> {
        let header = Header {
            status,
            flags: Flags::RESPONSE.union(flags),
            session_id: 0x51,
            ..Header::request(Command::Echo, 0)
        };
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(&EMPTY_BODY);
        message
    }

    fn receive(connection: &mut Connection, message: &[u8]) -> Result<(), ProtocolError> {
        let mut stream = (message.len() as u32).to_be_bytes().to_vec();
        stream.extend_from_slice(message);
        let mut inbound = Inbound::default();
        let mut input = stream.as_mut_slice();
        let frame = inbound.next(&mut input, Payload::Discard)?.unwrap();
        let mut messages = connection.open(frame)?;
        let message = messages.next_message()?.unwrap();
        connection.receive(message).map(|_| ())
    }

    #[test]
    fn an_encrypted_session_takes_nothing_in_plain_but_breaks() {
        for cipher in CipherList::default().iter() {
            let encrypted = || {
                let protection = Protection::Encrypted(transform(cipher));
                let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
                let mut out = Vec::new();
                connection
                    .request(Command::Echo, 1, 0, &mut out, |out| {
                        out.extend_from_slice(&EMPTY_BODY);
                    })
                    .unwrap();
                assert_eq!(out[4..8], *b"\xFDSMB");
                connection
            };
            for (status, flags) in [
                (NtStatus::SUCCESS, Flags(0)),
                (NtStatus::SUCCESS, Flags::SIGNED),
                (NtStatus::PENDING, Flags::ASYNC),
                (NtStatus::USER_SESSION_DELETED, Flags(0)),
            ] {
                let outcome = receive(&mut encrypted(), &answer(status, flags));
                assert_eq!(outcome, Err(ProtocolError::Unencrypted("ECHO")));
            }
            let mut unasked = answer(NtStatus::SUCCESS, Flags(0));
            unasked[24..32].copy_from_slice(&UNSOLICITED.to_le_bytes());
            assert_eq!(receive(&mut encrypted(), &unasked), Ok(()));
        }
    }

    #[test]
    fn an_encrypted_frame_is_refused_without_its_key() {
        let mut sealed = vec![0; TRANSFORM_HEADER_LEN];
        sealed.append(&mut answer(NtStatus::SUCCESS, Flags(0)));
        transform(Cipher::Aes128Gcm).seal(&mut sealed);
        for protection in [
            Protection::None,
            // Of the client's own direction.
            Protection::Encrypted(transform(Cipher::Aes128Gcm)),
            Protection::Encrypted(transform(Cipher::Aes128Ccm)),
        ] {
            let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
            let outcome = receive(&mut connection, &sealed);
            assert_eq!(outcome, Err(ProtocolError::Undecipherable(Undecipherable)));
        }
    }

    #[test]
    fn without_multi_credit_requests_there_is_no_charge() {
        for (dialect, capabilities, expected) in [
            (Dialect::Smb202, LARGE_MTU, [0, 0]),
            (Dialect::Smb21, 0, [0, 0]),
            (Dialect::Smb21, LARGE_MTU, [1, 4]),
        ] {
            let mut connection = connection(dialect, capabilities, Protection::None);
            let ids = expected.map(|charge: u16| {
                let before = connection.credits();
                let mut out = Vec::new();
                connection
                    .request(Command::Echo, charge.max(1), 0, &mut out, |_| {})
                    .unwrap();
                assert_eq!(before - connection.credits(), u32::from(charge.max(1)));
                let header = Header::decode(&out[PREFIX_LEN..]).unwrap();
                assert_eq!(header.credit_charge, charge);
                header.message_id
            });
            assert_eq!(ids, [0, 1]);
        }
    }
}
