//! A negotiated connection with its sessions, after they were set up.
//!
//! Invariants:
//! - Every request in flight holds the credits it was charged, and one entry in
//!   the table.
//! - A response is accepted only for such an entry and in the entry's session.
//! - A response in a signed session needs a valid signature. A response in an
//!   encrypted session must be encrypted.
//!
//! A request names its session by index, and its answer is judged by the session of
//! its request, so nothing is looked up. Only an encrypted frame must find its
//! session by id, among at most 256. A server that does not demand encryption may
//! send breaks of an encrypted session unencrypted. Code that acts on a break must
//! therefore tolerate a forged one.
//!
//! Not here: negotiation and session set-up, see [`crate::handshake`].

mod cancel;
mod chain;
mod error;
mod event;
mod further;
mod loss;
mod negotiated;
mod protection;
mod reauthentication;
mod receive;
mod session;
mod setup;

use crate::command::oplock_break::BreakAcknowledgement;
use crate::command::read::ReadRequest;
use crate::command::write::WriteRequest;
use crate::credit::{CreditLedger, Payment, charge_for};
use crate::crypto::PreauthHash;
use crate::header::{Command, Header};

pub use crate::command::bodyless::EMPTY_BODY;
pub use crate::crypto::Repetition;
use cancel::InterimResponse;
pub use chain::Chain;
pub use error::{NoCredit, NotInFlight, ProtocolError};
pub use event::{Completion, Event};
pub use further::TreeId;
pub(crate) use further::has_validation;
pub use negotiated::Negotiated;
pub(crate) use protection::{Keys, MessageProtection, Protect, Protection, append_framed};
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
    /// The payment; empty after an interim answer.
    payment: Payment,
}

/// One TCP connection: the negotiated terms, the credits, the requests in
/// flight, and the sessions, each with one tree connect.
#[derive(Debug)]
pub struct Connection {
    negotiated: Negotiated,
    credits: CreditLedger,
    in_flight: Vec<InFlight>,
    interim: Vec<InterimResponse>,
    sessions: Vec<Channel>,
    setup: Box<Setup>,
}

/// The state to restore if a request is not sent.
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

    /// Returns the terms that the server agreed to.
    #[must_use]
    pub const fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// Returns the result of a session's log-on.
    #[must_use]
    #[inline]
    pub fn terms(&self, session: SessionIndex) -> &SessionTerms {
        &self.channel(session).terms
    }

    /// Returns the id that the server gave to a session.
    #[must_use]
    pub fn session_id(&self, session: SessionIndex) -> u64 {
        self.channel(session).session_id
    }

    /// Returns the data that makes one other connection a channel of a session.
    ///
    /// The session must have been set up on this connection with
    /// [`Channels::Several`](crate::handshake::Channels). The result is `None`
    /// in three cases: the user is a guest and has no key, this connection was
    /// itself bound and has no keys of [`Self::hand_over_keys`], or 255 channels
    /// were made.
    pub fn binding(&mut self, session: SessionIndex) -> Option<Binding> {
        self.sessions[session.at()].bind(&self.negotiated)
    }

    /// Forgets a session that has ended or is no longer used. Answers to its
    /// requests in flight are no longer accepted, because their session no
    /// longer exists.
    pub fn forget(&mut self, session: SessionIndex) {
        *self.channel_mut(session) = Channel::vacant();
        self.setup.vacate(session);
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
        let mut interim = self.interim.iter();
        interim.any(|known| known.is(tag)) || self.in_flight.iter().any(|entry| entry.tag == tag)
    }

    /// Returns the number of credits that may be spent now.
    #[must_use]
    #[inline]
    pub fn credits(&self) -> u32 {
        self.credits.available()
    }

    /// Appends a READ.
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything.
    #[inline]
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

    /// Appends a WRITE. `data` must append the `request.length` bytes of data.
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything.
    #[inline]
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
    /// Returns [`NoCredit`] without appending anything.
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

    /// Appends any request.
    ///
    /// This function writes the header and calls `body` to append the body.
    /// Then it sets the length and the signature, and encrypts the message in
    /// place if the session is encrypted.
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything.
    #[inline]
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

    /// Returns whether the available credits suffice for requests of these charges.
    #[must_use]
    #[inline]
    pub fn affords(&self, charges: &[u16]) -> bool {
        let costs = charges.iter().map(|&charge| u32::from(self.cost(charge)));
        costs.sum::<u32>() <= self.credits.available()
    }

    /// Returns the cost of a request of this charge. Without multi-credit
    /// requests each request costs one credit (MS-SMB2 3.2.4.1.5).
    fn cost(&self, charge: u16) -> u16 {
        if self.negotiated.multi_credit() {
            charge
        } else {
            1
        }
    }

    /// Pays for a request, enters it in the table, and returns its header.
    #[inline]
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
            // The field is reserved if there are no multi-credit requests
            // (2.2.1.2).
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

    /// Records the state for [`Connection::go_back`]. Nothing may be received
    /// between the two calls.
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
}

#[cfg(test)]
mod tests;
