//! The set-up of a session on a negotiated connection (MS-SMB2 3.2.4.2.3,
//! 3.2.5.3 to 3.2.5.5).
//!
//! The steps are SESSION_SETUP, TREE_CONNECT, and the validation of the
//! negotiation if nothing else protects it. The same code binds a further
//! channel to a session (3.2.4.2.3.1, 3.2.5.3.3).
//!
//! Other sessions of the connection continue meanwhile. One request is in
//! flight at a time, under a tag that the caller chose. The caller passes its
//! completion back in.
//!
//! The signature of the final SESSION_SETUP response protects the negotiation in
//! 3.1.1, together with that of the TREE_CONNECT response. In 3.0 and 3.0.2, and in
//! 2.x if 3.x was offered, FSCTL_VALIDATE_NEGOTIATE_INFO protects it. That request
//! is signed even in a session that signs nothing else. Encryption starts after the
//! final SESSION_SETUP response, or after TREE_CONNECT if only the share demands it.
//! Guests and anonymous users have no key, so they never sign, even if the server
//! requires signatures of users (3.2.5.3.1).

mod answer;
mod request;

use super::{Demand, HandshakeError, Policy, SessionConfig};
use crate::auth::{AuthClient, Logon};
use crate::connection::{
    Binding, Channel, Completion, Connection, Keys, MessageProtection, Negotiated, ProtocolError,
    Root, SessionIndex, SessionTerms,
};
use crate::crypto::PreauthHash;
use crate::header::Command;
use crate::header::Header;
use crate::status::NtStatus;
use answer::validated;
use request::{SetupRequest, Unsent};

/// The result of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupProgress {
    /// Send the appended bytes and wait for the answer.
    NotYet,
    /// The next request waits for a credit, and nothing was appended. Call
    /// [`SessionSetup::resume`] when there is a credit.
    Unfinished,
    /// The session is set up. Nothing was appended.
    Ready(SessionIndex),
}

/// The treatment of a session that the server has accepted, if a later step of
/// the set-up fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    /// The session ends with its connection.
    Left,
    /// The session is logged off.
    LoggedOff,
}

/// The purpose of the SESSION_SETUP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetupPurpose {
    /// A new session.
    New,
    /// Another channel of an existing session.
    Channel,
}

/// The set-up of one session on a connection.
pub struct SessionSetup {
    config: SessionConfig,
    session: SessionIndex,
    tag: u32,
    purpose: SetupPurpose,
    step: SetupRequest,
    unsent: Option<Unsent>,
    preauth: PreauthHash,
    authenticator: AuthClient,
    terms: SessionTerms,
    root: Option<Box<Root>>,
    failing: Failing,
    /// Whether the server has accepted the session.
    is_let_in: bool,
    /// The error to return after the log-off.
    failed: Option<HandshakeError>,
}

impl SessionSetup {
    /// Returns the command of the request in flight, or of the last one.
    #[must_use]
    pub(super) const fn awaited(&self) -> Command {
        match self.step {
            SetupRequest::SessionSetup | SetupRequest::LogOff => Command::SessionSetup,
            SetupRequest::TreeConnect | SetupRequest::Validate => Command::TreeConnect,
        }
    }

    /// Starts another session on `connection` and appends its first request. With
    /// a `binding`, the connection becomes another channel of that session, and
    /// `config` must name the same user. The parts of `config` about negotiation
    /// and credits are ignored, because the connection has them already.
    ///
    /// # Errors
    /// Returns an error if the credentials cannot be used, if the connection
    /// cannot have these terms, or if no credit is available. Also returns an error
    /// if the server did not agree to the terms of the binding's connection.
    pub fn start(
        config: SessionConfig,
        binding: Option<Binding>,
        connection: &mut Connection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let authenticator = AuthClient::new(config.claim())?;
        Self::of(config, authenticator, binding, connection, tag, out)
    }

    pub(super) fn of(
        config: SessionConfig,
        authenticator: AuthClient,
        binding: Option<Binding>,
        connection: &mut Connection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let negotiated = connection.negotiated();
        let (purpose, terms, channel) = match binding {
            None => {
                let terms = wanted(&config, negotiated)?;
                (
                    SetupPurpose::New,
                    terms,
                    Channel::opening(0, 0, Keys::default()),
                )
            }
            Some(binding) if binding.negotiated != *negotiated => {
                return Err(HandshakeError::OtherTerms);
            }
            Some(binding) => {
                let keys = Keys {
                    signer: Some(binding.signer),
                    transform: binding.transform,
                    shield: MessageProtection::Signature,
                };
                let channel = Channel::opening(binding.session_id, binding.tree_id, keys);
                (SetupPurpose::Channel, binding.terms, channel)
            }
        };
        let mut opening = Self {
            config,
            session: connection.add(channel),
            tag,
            purpose,
            step: SetupRequest::SessionSetup,
            unsent: None,
            preauth: connection.preauth().clone(),
            authenticator,
            terms,
            root: None,
            failing: Failing::Left,
            is_let_in: false,
            failed: None,
        };
        // The server's list of mechanisms is not needed, because the offer does
        // not depend on it.
        if let Err(error) = opening.log_on(&[]) {
            connection.forget(opening.session);
            return Err(error);
        }
        match opening.resume(connection, out) {
            SetupProgress::Unfinished => Err(opening.give_up(connection)),
            SetupProgress::NotYet | SetupProgress::Ready(_) => Ok(opening),
        }
    }

    /// Makes the set-up log the session off if the server has accepted it and a
    /// later step fails. The error is returned after the log-off. Use this on
    /// connections that have other sessions.
    #[must_use]
    pub const fn or_logged_off(mut self) -> Self {
        self.failing = Failing::LoggedOff;
        self
    }

    /// Returns the session that is being set up.
    #[must_use]
    pub const fn session(&self) -> SessionIndex {
        self.session
    }

    /// Processes the answer to the request in flight, and appends the next request.
    ///
    /// # Errors
    /// Returns an error if the session cannot be set up. With
    /// [`SessionSetup::or_logged_off`] the error comes after the LOGOFF.
    ///
    /// The connection has then forgotten the session. Its other sessions
    /// continue, unless the error is a [`HandshakeError::Protocol`].
    pub fn receive(
        &mut self,
        connection: &mut Connection,
        done: &Completion<'_>,
        out: &mut Vec<u8>,
    ) -> Result<SetupProgress, HandshakeError> {
        match self.advance(connection, done) {
            Ok(SetupProgress::Unfinished) => Ok(self.resume(connection, out)),
            Err(error) if self.is_to_be_logged_off(&error) => {
                self.failed = Some(error);
                self.unsent = Some(Unsent::LogOff);
                Ok(self.resume(connection, out))
            }
            Err(error) => {
                connection.forget(self.session);
                Err(error)
            }
            Ok(opened) => Ok(opened),
        }
    }

    /// Ends the set-up after [`SetupProgress::Unfinished`], if no other answer can bring a
    /// credit. Makes the connection forget the session, and returns the error.
    pub fn give_up(&mut self, connection: &mut Connection) -> HandshakeError {
        connection.forget(self.session);
        let next = self.unsent.as_ref().map_or(self.step, Unsent::step);
        let failed = self.failed.take();
        failed.unwrap_or_else(|| HandshakeError::NoCredit(next.command()))
    }

    /// Returns whether the session must be logged off, because the server would
    /// keep it.
    ///
    /// A session survives the failure to bind a channel, so it is not logged
    /// off. After a failure of protocol or authentication the peer is unknown,
    /// so nothing is sent.
    fn is_to_be_logged_off(&self, error: &HandshakeError) -> bool {
        // A session that the server no longer knows needs no LOGOFF. The server
        // has no key to sign the answer.
        let is_at_fault = matches!(
            error,
            HandshakeError::Protocol(_)
                | HandshakeError::Auth(_)
                | HandshakeError::Tampered
                | HandshakeError::Refused {
                    status: NtStatus::USER_SESSION_DELETED | NtStatus::NETWORK_SESSION_EXPIRED,
                    ..
                }
        );
        self.failing == Failing::LoggedOff
            && self.purpose == SetupPurpose::New
            && self.is_let_in
            && self.step != SetupRequest::LogOff
            && !is_at_fault
    }

    /// Processes an answer. Returns [`SetupProgress::Unfinished`] if another request
    /// must be sent.
    fn advance(
        &mut self,
        connection: &mut Connection,
        done: &Completion<'_>,
    ) -> Result<SetupProgress, HandshakeError> {
        let header = Header::decode(done.message())?;
        if !self.step.accepts(header.status) {
            return Err(HandshakeError::Refused {
                command: header.command,
                status: header.status,
            });
        }
        // A session keeps the id of its first answer.
        let known = connection.channel(self.session).session_id;
        if known != 0 && header.session_id != known {
            return Err(ProtocolError::NotAResponse.into());
        }
        // A copy, because verifying clears the signature field meanwhile.
        let mut bytes = done.message().to_vec();
        self.check(connection, &mut bytes, done.secrecy)?;
        match self.step {
            SetupRequest::SessionSetup => self.session_setup(connection, &header, &mut bytes),
            SetupRequest::TreeConnect => {
                self.tree_connected(connection, &header, &bytes)?;
                Ok(self.validate(connection))
            }
            SetupRequest::Validate => {
                validated(connection, header.status, &bytes)?;
                connection.validated();
                Ok(self.ready(connection))
            }
            SetupRequest::LogOff => Err(self.failed.take().unwrap_or(HandshakeError::Refused {
                command: header.command,
                status: header.status,
            })),
        }
    }

    /// Prepares the request that answers the server's `token`.
    fn log_on(&mut self, token: &[u8]) -> Result<(), HandshakeError> {
        let token = self.authenticator.step(token)?;
        self.unsent = Some(Unsent::SessionSetup(token));
        Ok(())
    }
}

/// Returns the session's terms for the case that the server requires nothing
/// more during the set-up.
fn wanted(config: &SessionConfig, negotiated: &Negotiated) -> Result<SessionTerms, HandshakeError> {
    let Negotiated {
        dialect,
        signing_algorithm,
        cipher,
        server_requires_signing,
        ..
    } = *negotiated;
    let (sign, encrypt) = (config.signing, config.encryption);
    if encrypt == Policy::Required && cipher.is_none() {
        let by = Demand::Client;
        return Err(HandshakeError::NoCipher { by, dialect });
    }
    // An encrypted session needs no signatures, even if the server requires them.
    if server_requires_signing && sign == Policy::Off && encrypt != Policy::Required {
        return Err(HandshakeError::SigningRequired);
    }
    let sign = server_requires_signing || sign == Policy::Required;
    Ok(SessionTerms {
        signing: sign.then_some(signing_algorithm),
        encryption: None,
        logon: Logon::Anonymous,
    })
}
