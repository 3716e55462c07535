//! A session set up on a connection that stands: SESSION_SETUP, TREE_CONNECT,
//! and the validation of the negotiation where only that protects it (MS-SMB2
//! 3.2.4.2.3, 3.2.5.3 to 3.2.5.5); or the same session given another channel
//! (3.2.4.2.3.1, 3.2.5.3.3).
//!
//! Other sessions of the connection go on meanwhile. One request is in flight
//! at a time, under the tag that the caller chose; the caller hands in what
//! completes it.

mod answer;
mod request;

use super::{Demand, HandshakeError, Policy, SessionConfig};
use crate::auth::{Authenticator, Logon};
use crate::connection::{
    Binding, Channel, Completion, Connection, Keys, Negotiated, ProtocolError, Root, SessionIndex,
    SessionTerms, Shield,
};
use crate::crypto::PreauthHash;
use crate::header::Header;
use crate::status::NtStatus;
use answer::validated;
use request::{Step, Unsent};

/// What an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Send what was appended and wait for the answer.
    NotYet,
    /// The next request waits for a credit, and nothing was appended: go on with
    /// [`Opening::resume`] once there is one.
    Unfinished,
    /// The session stands; nothing was appended.
    Ready(SessionIndex),
}

/// What becomes of a session that the server let in, when it cannot come about
/// after all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    /// It is left to end with its connection.
    Left,
    /// It is logged off.
    LoggedOff,
}

/// What the session setup is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A session of its own.
    New,
    /// Another channel of a session.
    Channel,
}

/// A session being set up on a connection.
pub struct Opening {
    config: SessionConfig,
    session: SessionIndex,
    tag: u32,
    purpose: Purpose,
    step: Step,
    unsent: Option<Unsent>,
    preauth: PreauthHash,
    authenticator: Authenticator,
    terms: SessionTerms,
    root: Option<Box<Root>>,
    failing: Failing,
    /// Whether the server has it, as far as we know.
    is_let_in: bool,
    /// Why it cannot come about, while it is logged off.
    failed: Option<HandshakeError>,
}

impl Opening {
    /// Begins another session on `connection`, appending its first request.
    /// Whatever `config` says of negotiation and credits is the connection's.
    ///
    /// # Errors
    /// When the credentials cannot be used, the terms cannot be had on this
    /// connection, or no credit is at hand.
    pub fn start(
        config: SessionConfig,
        connection: &mut Connection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let authenticator = Authenticator::new(&config.credentials, config.now)?;
        Self::of(config, authenticator, None, connection, tag, out)
    }

    /// Begins to make `connection` another channel of the session that
    /// `binding` is from. `config` must name the same user.
    ///
    /// # Errors
    /// As for [`Opening::start`], and when the server does not agree to the
    /// same as on the first connection.
    pub fn bind(
        config: SessionConfig,
        binding: Binding,
        connection: &mut Connection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let authenticator = Authenticator::new(&config.credentials, config.now)?;
        Self::of(config, authenticator, Some(binding), connection, tag, out)
    }

    pub(super) fn of(
        config: SessionConfig,
        authenticator: Authenticator,
        binding: Option<Binding>,
        connection: &mut Connection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let negotiated = connection.negotiated();
        let (purpose, terms, channel) = match binding {
            None => {
                let terms = wanted(&config, negotiated)?;
                (Purpose::New, terms, Channel::opening(0, 0, Keys::default()))
            }
            Some(binding) if binding.negotiated != *negotiated => {
                return Err(HandshakeError::OtherTerms);
            }
            Some(binding) => {
                let keys = Keys {
                    signer: Some(binding.signer),
                    transform: binding.transform,
                    shield: Shield::Signature,
                };
                let channel = Channel::opening(binding.session_id, binding.tree_id, keys);
                (Purpose::Channel, binding.terms, channel)
            }
        };
        let mut opening = Self {
            config,
            session: connection.add(channel),
            tag,
            purpose,
            step: Step::SessionSetup,
            unsent: None,
            preauth: connection.preauth().clone(),
            authenticator,
            terms,
            root: None,
            failing: Failing::Left,
            is_let_in: false,
            failed: None,
        };
        // The server's hint of mechanisms is not needed: ours is offered as is.
        if let Err(error) = opening.log_on(&[]) {
            connection.forget(opening.session);
            return Err(error);
        }
        match opening.resume(connection, out) {
            Opened::Unfinished => Err(opening.give_up(connection)),
            Opened::NotYet | Opened::Ready(_) => Ok(opening),
        }
    }

    /// Logs off what the server let in where the session cannot come about
    /// afterwards, and tells of the error only then: on connections that go on.
    #[must_use]
    pub const fn or_logged_off(mut self) -> Self {
        self.failing = Failing::LoggedOff;
        self
    }

    /// The session being set up.
    #[must_use]
    pub const fn session(&self) -> SessionIndex {
        self.session
    }

    /// Takes the answer to the request in flight, and appends the next one.
    ///
    /// # Errors
    /// When the session cannot come about, after its LOGOFF where that is due
    /// ([`Opening::or_logged_off`]). The connection has forgotten it then, and
    /// goes on with its other sessions unless the error is a
    /// [`HandshakeError::Protocol`].
    pub fn receive(
        &mut self,
        connection: &mut Connection,
        done: &Completion<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Opened, HandshakeError> {
        match self.advance(connection, done) {
            Ok(Opened::Unfinished) => Ok(self.resume(connection, out)),
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

    /// Why the session cannot come about after [`Opened::Unfinished`], where
    /// nobody is left who could bring a credit. The connection has forgotten it.
    pub fn give_up(&mut self, connection: &mut Connection) -> HandshakeError {
        connection.forget(self.session);
        let next = self.unsent.as_ref().map_or(self.step, Unsent::step);
        let failed = self.failed.take();
        failed.unwrap_or_else(|| HandshakeError::NoCredit(next.command()))
    }

    /// Whether the server would keep a session of no use. One that binds a
    /// channel goes on without it; where protocol or authentication failed,
    /// nobody knows who is at the other end.
    fn is_to_be_logged_off(&self, error: &HandshakeError) -> bool {
        // A session that the server no longer knows needs no LOGOFF, whose answer
        // nobody could sign.
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
            && self.purpose == Purpose::New
            && self.is_let_in
            && self.step != Step::LogOff
            && !is_at_fault
    }

    /// Takes an answer; [`Opened::Unfinished`] where another request is to be
    /// sent.
    fn advance(
        &mut self,
        connection: &mut Connection,
        done: &Completion<'_>,
    ) -> Result<Opened, HandshakeError> {
        let header = Header::decode(done.message())?;
        if !self.step.accepts(header.status) {
            return Err(HandshakeError::Refused {
                command: header.command,
                status: header.status,
            });
        }
        // A session keeps the id that its first answer gave it.
        let known = connection.channel(self.session).session_id;
        if known != 0 && header.session_id != known {
            return Err(ProtocolError::NotAResponse.into());
        }
        // Verifying takes the signature out of it meanwhile.
        let mut bytes = done.message().to_vec();
        self.check(connection, &mut bytes, done.secrecy())?;
        match self.step {
            Step::SessionSetup => self.session_setup(connection, &header, &mut bytes),
            Step::TreeConnect => {
                self.tree_connected(connection, &header, &bytes)?;
                Ok(self.validate(connection))
            }
            Step::Validate => {
                validated(connection, header.status, &bytes)?;
                connection.validated();
                Ok(self.ready(connection))
            }
            Step::LogOff => Err(self.failed.take().unwrap_or(HandshakeError::Refused {
                command: header.command,
                status: header.status,
            })),
        }
    }

    /// Has what answers the server's `token` sent next.
    fn log_on(&mut self, token: &[u8]) -> Result<(), HandshakeError> {
        let token = self.authenticator.step(token)?;
        self.unsent = Some(Unsent::SessionSetup(token));
        Ok(())
    }
}

/// The terms that a session has when nothing else is demanded while it is set
/// up.
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
    // What is encrypted needs no signature, required or not.
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
