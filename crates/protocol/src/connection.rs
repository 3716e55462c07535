//! A negotiated connection and its sessions in steady state.
//!
//! Invariant: every request in flight holds the credits it was charged and
//! one entry in the table; a response is accepted only for such an entry and in
//! its session, and only with a valid signature where the session is signed, or
//! encrypted where it is encrypted. Negotiating and setting sessions up is
//! [`crate::handshake`]'s business.

mod cancel;
mod chain;
mod error;
mod event;
mod further;
mod negotiated;
mod protection;
mod reauthentication;
mod session;
mod setup;

use std::hint;

use crate::command::oplock_break::{BreakAcknowledgement, BreakNotification};
use crate::command::read::ReadRequest;
use crate::command::write::WriteRequest;
use crate::credit::{CreditLedger, Payment, charge_for};
use crate::crypto::PreauthHash;
use crate::frame::{Frame, Message, Messages, Secrecy};
use crate::header::{Command, Flags, Header, UNSOLICITED};
use crate::status::NtStatus;

pub use crate::command::bodyless::EMPTY_BODY;
use cancel::Interim;
pub use chain::Chain;
pub use error::{NoCredit, NotInFlight, ProtocolError, RequestError};
pub use event::{Completion, Event};
pub use further::TreeId;
pub(crate) use further::has_validation;
pub use negotiated::Negotiated;
use protection::try_append_framed;
pub(crate) use protection::{Keys, Protect, Protection, Shield, append_framed};
pub use reauthentication::{Reauthentication, ReauthenticationError};
pub use session::{Binding, SessionIndex, SessionTerms};
pub(crate) use session::{Channel, Root};
use setup::Setup;
pub(crate) use setup::Unvalidated;

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    message_id: u64,
    tag: u32,
    command: Command,
    session: SessionIndex,
    /// Nothing once an interim answer has come.
    payment: Payment,
}

/// One TCP connection: what was agreed on, its credits, its requests in flight,
/// and its sessions, each with one tree connect.
#[derive(Debug)]
pub struct Connection {
    negotiated: Negotiated,
    credits: CreditLedger,
    in_flight: Vec<InFlight>,
    interim: Vec<Interim>,
    sessions: Vec<Channel>,
    setup: Box<Setup>,
}

/// What a request that is not sent after all goes back to.
#[derive(Debug)]
struct Mark {
    credits: CreditLedger,
    in_flight: usize,
    out_len: usize,
}

impl Connection {
    pub(crate) fn new(
        negotiated: Negotiated,
        credits: CreditLedger,
        preauth: PreauthHash,
        unvalidated: Option<Unvalidated>,
        validation: Vec<u8>,
    ) -> Self {
        Self {
            negotiated,
            credits,
            in_flight: Vec::new(),
            interim: Vec::new(),
            sessions: Vec::with_capacity(1),
            setup: Box::new(Setup::new(preauth, unvalidated, validation)),
        }
    }

    /// What the server agreed to.
    #[must_use]
    pub const fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// What came of the log-on to a session.
    #[must_use]
    pub fn terms(&self, session: SessionIndex) -> &SessionTerms {
        &self.channel(session).terms
    }

    /// What makes another connection a channel of a session, which this one
    /// has set up with [`Channels::Several`](crate::handshake::Channels): for
    /// one connection each. `None` for guests, who have no key to bind one
    /// with, on a connection that was bound itself, and after the 255th.
    pub fn binding(&mut self, session: SessionIndex) -> Option<Binding> {
        self.sessions[session.at()].bind(&self.negotiated)
    }

    /// Forgets a session that has ended, or that nobody will use any more.
    /// Answers to its requests in flight are not accepted from now on: they
    /// are of a session that is not there.
    pub fn forget(&mut self, session: SessionIndex) {
        *self.channel_mut(session) = Channel::vacant();
        self.setup.vacate(session);
    }

    /// Requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether a request with this tag is in flight.
    #[must_use]
    pub fn is_in_flight(&self, tag: u32) -> bool {
        let mut interim = self.interim.iter();
        interim.any(|known| known.is(tag)) || self.in_flight.iter().any(|entry| entry.tag == tag)
    }

    /// Credits at hand that may be spent now.
    #[must_use]
    pub fn credits(&self) -> u32 {
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
        session: SessionIndex,
        tag: u32,
        request: &ReadRequest,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let charge = charge_for(request.length);
        self.request(session, Command::Read, charge, tag, out, |out| {
            request.encode(out);
        })
    }

    /// Appends a WRITE, of which `data` appends the `request.length` bytes of data.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn write(
        &mut self,
        session: SessionIndex,
        tag: u32,
        request: &WriteRequest,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let charge = charge_for(request.length);
        self.request(session, Command::Write, charge, tag, out, |out| {
            request.encode_with(out, data);
        })
    }

    /// Appends the acknowledgement of an oplock or lease break.
    ///
    /// # Errors
    /// [`NoCredit`], and nothing is appended.
    pub fn acknowledge(
        &mut self,
        session: SessionIndex,
        tag: u32,
        acknowledgement: &BreakAcknowledgement,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        self.request(session, Command::OplockBreak, 1, tag, out, |out| {
            acknowledgement.encode(out);
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
        session: SessionIndex,
        command: Command,
        charge: u16,
        tag: u32,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), NoCredit> {
        let header = self.admit(session, command, charge, tag)?;
        append_framed(&header, out, self.protect(session), body);
        Ok(())
    }

    /// The same with a body that may turn out impossible to encode.
    ///
    /// # Errors
    /// [`RequestError`], and nothing is appended.
    pub fn try_request<E>(
        &mut self,
        session: SessionIndex,
        command: Command,
        charge: u16,
        tag: u32,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), RequestError<E>> {
        let undo = self.mark(out);
        let header = self.admit(session, command, charge, tag)?;
        try_append_framed(&header, out, self.protect(session), body).map_err(|error| {
            self.go_back(&undo, out);
            RequestError::Body(error)
        })
    }

    /// Whether the credits at hand suffice for requests of these charges.
    #[must_use]
    pub fn affords(&self, charges: &[u16]) -> bool {
        let costs = charges.iter().map(|&charge| u32::from(self.cost(charge)));
        costs.sum::<u32>() <= self.credits.available()
    }

    /// What a request of this charge costs here: without multi-credit requests
    /// each costs one credit (MS-SMB2 3.2.4.1.5).
    fn cost(&self, charge: u16) -> u16 {
        if self.negotiated.multi_credit() {
            charge
        } else {
            1
        }
    }

    /// Pays for a request and enters it in the table; its header.
    fn admit(
        &mut self,
        session: SessionIndex,
        command: Command,
        charge: u16,
        tag: u32,
    ) -> Result<Header, NoCredit> {
        let cost = self.cost(charge);
        let paid = self.credits.reserve(cost).ok_or(NoCredit)?;
        self.in_flight.push(InFlight {
            message_id: paid.message_id,
            tag,
            command,
            session,
            payment: paid.payment,
        });
        let channel = self.channel(session);
        Ok(Header {
            // Reserved where there are no multi-credit requests (2.2.1.2).
            credit_charge: if self.negotiated.multi_credit() {
                cost
            } else {
                0
            },
            credits: paid.payment.asked,
            session_id: channel.session_id,
            ..Header::request(command, paid.message_id).with_tree(channel.tree_id)
        })
    }

    /// What [`Connection::go_back`] restores, as long as nothing is received
    /// meanwhile.
    fn mark(&self, out: &[u8]) -> Mark {
        Mark {
            credits: self.credits,
            in_flight: self.in_flight.len(),
            out_len: out.len(),
        }
    }

    fn go_back(&mut self, mark: &Mark, out: &mut Vec<u8>) {
        self.credits = mark.credits;
        self.in_flight.truncate(mark.in_flight);
        out.truncate(mark.out_len);
    }

    /// The messages of a received frame, decrypted in place.
    ///
    /// # Errors
    /// When it is encrypted and does not decrypt; the connection is unusable.
    #[inline]
    pub fn open<'a>(&self, frame: Frame<'a>) -> Result<Messages<'a>, ProtocolError> {
        let of_session = |session_id| {
            let mut sessions = self.sessions.iter();
            sessions
                .find(|channel| channel.session_id == session_id)
                .and_then(|channel| channel.protection.transform())
        };
        Ok(frame.open(of_session)?)
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
            hint::cold_path();
            return Err(ProtocolError::NotAResponse);
        }
        if header.message_id == UNSOLICITED {
            hint::cold_path();
            return unsolicited(&header, bytes);
        }
        let at = self
            .in_flight
            .iter()
            .position(|entry| entry.message_id == header.message_id)
            .ok_or_else(|| {
                hint::cold_path();
                ProtocolError::Unasked(header.message_id)
            })?;
        let entry = self.in_flight[at];
        if entry.command != header.command {
            hint::cold_path();
            return Err(ProtocolError::WrongCommand {
                asked: entry.command.name(),
                got: header.command.name(),
            });
        }
        let interim = header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC);
        let channel = &self.sessions[entry.session.at()];
        if header.session_id != channel.session_id && !channel.protection.is_opening() {
            hint::cold_path();
            return Err(ProtocolError::NotAResponse);
        }
        // Another session's key proves nothing (MS-SMB2 3.2.5.1.1.1).
        if let Secrecy::Encrypted { session_id } = secrecy
            && session_id != header.session_id
        {
            hint::cold_path();
            return Err(ProtocolError::NotAResponse);
        }
        match &channel.protection {
            Protection::Encrypted(_) if secrecy == Secrecy::Plain => {
                return Err(match header.status {
                    NtStatus::USER_SESSION_DELETED => ProtocolError::SessionEnded(header.status),
                    _ => ProtocolError::Unencrypted(header.command.name()),
                });
            }
            Protection::Signed(_)
                if header.status == NtStatus::USER_SESSION_DELETED
                    && !header.flags.contains(Flags::SIGNED) =>
            {
                return Err(ProtocolError::SessionEnded(header.status));
            }
            // Interim answers are never signed (MS-SMB2 3.2.5.1.3), and some
            // servers do not sign a challenge, as at first.
            Protection::Signed(signer)
                if !interim && !is_unsigned_challenge(&header) && !signer.verify(bytes) =>
            {
                return Err(ProtocolError::Signature(header.command.name()));
            }
            Protection::None
                if !interim
                    && !channel.is_signed_where_due(self.negotiated.dialect, &header, bytes) =>
            {
                return Err(ProtocolError::Signature(header.command.name()));
            }
            Protection::Opening(keys)
                if interim && keys.shield == Shield::Encryption && secrecy == Secrecy::Plain =>
            {
                return Err(ProtocolError::Unencrypted(header.command.name()));
            }
            _ => {}
        }
        self.credits.answered(entry.payment, header.credits);
        if interim {
            self.in_flight[at].payment = Payment::default();
            self.went_async(entry, &header);
            return Ok(Event::Pending { tag: entry.tag });
        }
        self.in_flight.swap_remove(at);
        if !self.interim.is_empty() {
            hint::cold_path();
            self.interim
                .retain(|known| known.message_id != header.message_id);
        }
        if entry.command == Command::SessionSetup && !self.is_opening(entry.session) {
            hint::cold_path();
            let session = entry.session;
            let progress = self.reauthenticated(session, header.status, bytes)?;
            return Ok(Event::Reauthentication { session, progress });
        }
        Ok(Event::Completed(Completion {
            tag: entry.tag,
            command: entry.command,
            status: header.status,
            bytes,
            total_len,
            secrecy,
        }))
    }
}

/// Whether a message asks for more proof while authenticating again, which
/// leaves all to be decided by an answer that is signed.
fn is_unsigned_challenge(header: &Header) -> bool {
    header.command == Command::SessionSetup
        && header.status == NtStatus::MORE_PROCESSING_REQUIRED
        && !header.flags.contains(Flags::SIGNED)
}

/// What comes without having been asked can only be a break (MS-SMB2 2.2.23).
/// It is unsigned, and of no session where it breaks a lease.
fn unsolicited<'a>(header: &Header, bytes: &[u8]) -> Result<Event<'a>, ProtocolError> {
    if header.command != Command::OplockBreak {
        return Err(ProtocolError::Unasked(UNSOLICITED));
    }
    Ok(Event::Break(BreakNotification::decode(bytes)?))
}

#[cfg(test)]
mod tests;
