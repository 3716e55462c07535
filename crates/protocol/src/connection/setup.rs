//! The state of a connection that is needed to set sessions up; see
//! [`crate::handshake::SessionSetup`].

use super::SessionTerms;
use super::reauthentication::ReauthenticationExchange;
use super::{Channel, Connection, Keys, Protect, Protection, Root, SessionIndex};
use crate::crypto::PreauthHash;
use crate::negotiate::{NegotiateResponse, Offer};

/// The state that a connection keeps for future sessions.
#[derive(Debug)]
pub(super) struct Setup {
    /// The hash over the negotiation. The hash of each session starts with it.
    preauth: PreauthHash,
    /// The negotiation, if it needs a validation that no session has made yet.
    unvalidated: Option<Unvalidated>,
    /// The body of FSCTL_VALIDATE_NEGOTIATE_INFO, in dialects that have it.
    pub(super) validation: Vec<u8>,
    /// Indexes of forgotten sessions, for new ones.
    vacant: Vec<SessionIndex>,
    /// Re-authentications in progress; usually few.
    pub(super) reauthentications: Vec<ReauthenticationExchange>,
}

/// A negotiation that an attacker may have changed.
#[derive(Debug)]
pub(crate) struct Unvalidated {
    pub(crate) offer: Offer,
    pub(crate) answer: NegotiateResponse,
}

impl Setup {
    pub(super) const fn new(
        preauth: PreauthHash,
        unvalidated: Option<Unvalidated>,
        validation: Vec<u8>,
    ) -> Self {
        Self {
            preauth,
            unvalidated,
            validation,
            vacant: Vec::new(),
            reauthentications: Vec::new(),
        }
    }

    pub(super) fn vacate(&mut self, session: SessionIndex) {
        self.reauthentications
            .retain(|exchange| exchange.session != session);
        if !self.vacant.contains(&session) {
            self.vacant.push(session);
        }
    }
}

impl Connection {
    /// Adds a session.
    pub(crate) fn add(&mut self, channel: Channel) -> SessionIndex {
        // An index with requests in flight is not free, because answers to it
        // may arrive.
        let is_idle = |session: &SessionIndex| {
            let mut in_flight = self.in_flight.iter();
            !in_flight.any(|entry| entry.session == *session)
        };
        if let Some(at) = self.setup.vacant.iter().position(is_idle) {
            let session = self.setup.vacant.swap_remove(at);
            *self.channel_mut(session) = channel;
            return session;
        }
        self.sessions.push(channel);
        SessionIndex::after(self.sessions.len() - 1)
    }

    /// Ends the set-up of a session with these terms.
    pub(crate) fn settle(
        &mut self,
        session: SessionIndex,
        terms: SessionTerms,
        root: Option<Box<Root>>,
    ) {
        let channel = self.channel_mut(session);
        let protection = std::mem::replace(&mut channel.protection, Protection::None);
        (channel.protection, channel.signer) = protection.settled(&terms);
        channel.terms = terms;
        channel.root = root;
    }

    pub(crate) fn channel(&self, session: SessionIndex) -> &Channel {
        &self.sessions[session.at()]
    }

    pub(crate) fn channel_mut(&mut self, session: SessionIndex) -> &mut Channel {
        &mut self.sessions[session.at()]
    }

    /// Returns the keys of a session that is being set up.
    pub(crate) fn keys(&mut self, session: SessionIndex) -> &mut Keys {
        match &mut self.channel_mut(session).protection {
            Protection::Opening(keys) => keys,
            _ => unreachable!("only a session that is being set up is asked for its keys"),
        }
    }

    /// Returns whether a session is being set up.
    pub(super) fn is_opening(&self, session: SessionIndex) -> bool {
        self.channel(session).protection.is_opening()
    }

    /// Returns the protection for the next message of a session.
    #[inline]
    pub(super) fn protect(&mut self, session: SessionIndex) -> Protect<'_> {
        self.channel_mut(session).protection.next()
    }

    /// Returns the hash over the negotiation.
    pub(crate) const fn preauth(&self) -> &PreauthHash {
        &self.setup.preauth
    }

    /// Returns the negotiation, if it still needs a validation.
    pub(crate) fn unvalidated(&self) -> Option<&Unvalidated> {
        self.setup.unvalidated.as_ref()
    }

    /// Records that the server has confirmed its answer.
    pub(crate) fn validated(&mut self) {
        self.setup.unvalidated = None;
    }
}
