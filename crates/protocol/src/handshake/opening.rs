//! A session set up on a connection that stands: SESSION_SETUP, TREE_CONNECT,
//! and the validation of the negotiation where only that protects it (MS-SMB2
//! 3.2.4.2.3, 3.2.5.3 to 3.2.5.5); or the same session given another channel
//! (3.2.4.2.3.1, 3.2.5.3.3).
//!
//! Other sessions of the connection go on meanwhile. One request is in flight
//! at a time, under the tag that the caller chose; the caller hands in what
//! completes it.

use smb_msg::{
    NegotiateCapabilities, SessionSecurityMode, SessionSetupRequest, SessionSetupResponse,
    SetupRequestFlags, ShareType, TreeConnectRequest, TreeConnectResponse,
};

use super::{Channels, Demand, HandshakeError, Policy, SessionConfig, logon};
use crate::auth::{Authenticator, Logon};
use crate::connection::{
    Binding, Channel, Completion, Connection, EMPTY_BODY, Keys, Negotiated, ProtocolError, Root,
    SessionIndex, SessionTerms, Shield,
};
use crate::crypto::{KeySource, PreauthHash, Signer, Transform};
use crate::dialect::Dialect;
use crate::frame::{PREFIX_LEN, Secrecy};
use crate::header::{Command, Flags, Header};
use crate::negotiate::{Confirmed, Offer};
use crate::setup;
use crate::status::NtStatus;

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    SessionSetup,
    TreeConnect,
    Validate,
    LogOff,
}

impl Step {
    const fn command(self) -> Command {
        match self {
            Self::SessionSetup => Command::SessionSetup,
            Self::TreeConnect => Command::TreeConnect,
            Self::Validate => Command::Ioctl,
            Self::LogOff => Command::Logoff,
        }
    }

    /// Whether `status` lets the set-up go on.
    fn accepts(self, status: NtStatus) -> bool {
        match self {
            _ if status == NtStatus::SUCCESS => true,
            Self::SessionSetup => status == NtStatus::MORE_PROCESSING_REQUIRED,
            // A server of SMB 2 that knows no validation says so in one of
            // these ways, and in a signed answer (MS-SMB2 3.2.5.5).
            Self::Validate => matches!(
                status,
                NtStatus::NOT_SUPPORTED | NtStatus::INVALID_DEVICE_REQUEST | NtStatus::FILE_CLOSED
            ),
            Self::TreeConnect => false,
            // Whatever the server says, there is nothing more to be done.
            Self::LogOff => true,
        }
    }
}

/// A request that is to be sent as soon as there is a credit for it.
enum Unsent {
    /// With this token.
    SessionSetup(Vec<u8>),
    TreeConnect,
    /// Of this offer.
    Validate(Offer),
    LogOff,
}

impl Unsent {
    const fn step(&self) -> Step {
        match self {
            Self::SessionSetup(_) => Step::SessionSetup,
            Self::TreeConnect => Step::TreeConnect,
            Self::Validate(_) => Step::Validate,
            Self::LogOff => Step::LogOff,
        }
    }
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

    /// Appends the request that waited for a credit, if there is one now.
    pub fn resume(&mut self, connection: &mut Connection, out: &mut Vec<u8>) -> Opened {
        let Some(unsent) = self.unsent.take() else {
            return Opened::NotYet;
        };
        if !connection.affords(&[1]) {
            self.unsent = Some(unsent);
            return Opened::Unfinished;
        }
        let start = out.len() + PREFIX_LEN;
        match &unsent {
            Unsent::SessionSetup(token) => {
                let request = self.session_setup_request(token);
                self.send(Step::SessionSetup, connection, out, |out| {
                    setup::encode(&request, out);
                });
                self.preauth.update(&out[start..]);
            }
            Unsent::TreeConnect => {
                let unc = format!(r"\\{}\{}", self.config.host, self.config.share);
                let request = TreeConnectRequest::new(&unc);
                self.send(Step::TreeConnect, connection, out, |out| {
                    setup::encode(&request, out);
                });
            }
            Unsent::Validate(offer) => {
                self.send(Step::Validate, connection, out, |out| {
                    offer.encode_validation(out);
                });
            }
            Unsent::LogOff => {
                self.send(Step::LogOff, connection, out, |out| {
                    out.extend_from_slice(&EMPTY_BODY);
                });
            }
        }
        Opened::NotYet
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

    /// An answer is to be protected as its request was; what ends the log-on
    /// has rules of its own.
    fn check(
        &self,
        connection: &mut Connection,
        bytes: &mut [u8],
        secrecy: Secrecy,
    ) -> Result<(), HandshakeError> {
        let command = self.step.command().name();
        let keys = connection.keys(self.session);
        match (self.step, keys.shield, &keys.signer) {
            (Step::SessionSetup, ..) => Ok(()),
            (_, Shield::Encryption, _) if secrecy == Secrecy::Plain => {
                Err(ProtocolError::Unencrypted(command).into())
            }
            (_, Shield::Signature, Some(signer))
                if secrecy == Secrecy::Plain && !signer.verify(bytes) =>
            {
                Err(ProtocolError::Signature(command).into())
            }
            _ => Ok(()),
        }
    }

    /// Has what answers the server's `token` sent next.
    fn log_on(&mut self, token: &[u8]) -> Result<(), HandshakeError> {
        let token = self.authenticator.step(token)?;
        self.unsent = Some(Unsent::SessionSetup(token));
        Ok(())
    }

    fn session_setup_request(&self, token: &[u8]) -> SessionSetupRequest {
        SessionSetupRequest::new(
            token.to_vec(),
            SessionSecurityMode::new()
                .with_signing_enabled(true)
                .with_signing_required(self.config.signing == Policy::Required),
            SetupRequestFlags::new().with_binding(self.purpose == Purpose::Channel),
            NegotiateCapabilities::new(),
        )
    }

    fn session_setup(
        &mut self,
        connection: &mut Connection,
        header: &Header,
        bytes: &mut [u8],
    ) -> Result<Opened, HandshakeError> {
        let response: SessionSetupResponse = setup::decode(bytes, "SESSION_SETUP response")?;
        connection.channel_mut(self.session).session_id = header.session_id;
        if header.status == NtStatus::MORE_PROCESSING_REQUIRED {
            self.preauth.update(bytes);
            self.log_on(&response.buffer)?;
            return Ok(Opened::Unfinished);
        }
        self.is_let_in = true;
        let logon = logon::judge(&self.config.credentials, response.session_flags)?;
        if logon.has_key() {
            self.authenticated(connection, header, bytes, &response.buffer)?;
        }
        if self.purpose == Purpose::Channel {
            return self.bound(logon, connection);
        }
        self.terms.logon = logon;
        if !logon.has_key() {
            if self.config.signing == Policy::Required {
                return Err(HandshakeError::CannotSign(logon));
            }
            // Whatever the server requires of others (MS-SMB2 3.2.5.3.1).
            self.terms.signing = None;
        }
        if response.session_flags.encrypt_data() {
            self.encrypt(connection, Demand::Server)?;
        } else if self.config.encryption == Policy::Required {
            self.encrypt(connection, Demand::Client)?;
        }
        self.unsent = Some(Unsent::TreeConnect);
        Ok(Opened::Unfinished)
    }

    /// The connection is a channel of the session, if it is the same user's.
    fn bound(
        &mut self,
        logon: Logon,
        connection: &mut Connection,
    ) -> Result<Opened, HandshakeError> {
        if logon != self.terms.logon {
            return Err(HandshakeError::OtherTerms);
        }
        Ok(self.validate(connection))
    }

    /// The server is satisfied; makes sure that we are, and keys the session,
    /// or its channel: that has a signing key of its own, and of the session
    /// all else.
    fn authenticated(
        &mut self,
        connection: &mut Connection,
        header: &Header,
        bytes: &mut [u8],
        token: &[u8],
    ) -> Result<(), HandshakeError> {
        self.authenticator.conclude(token)?;
        let session_key = self.authenticator.session_key()?;
        let Negotiated {
            dialect,
            signing_algorithm,
            cipher,
            ..
        } = *connection.negotiated();
        let keys = KeySource {
            dialect,
            full_session_key: &session_key,
            preauth: &self.preauth,
        };
        let signer = Signer::new(signing_algorithm, &keys.signing());
        // 3.1.1 always signs this answer: it is what proves that nobody
        // tampered with the negotiation (MS-SMB2 3.2.5.3.1). So does whoever
        // binds a channel (3.2.5.3.3).
        let must_be_signed = self.terms.signing.is_some()
            || dialect == Dialect::Smb311
            || self.purpose == Purpose::Channel;
        let signed = header.flags.contains(Flags::SIGNED);
        if (signed || must_be_signed) && !signer.verify(bytes) {
            return Err(ProtocolError::Signature(header.command.name()).into());
        }
        let channel_keys = connection.keys(self.session);
        channel_keys.signer = Some(signer);
        if self.purpose == Purpose::New {
            let seed = self.config.nonce_seed;
            channel_keys.transform =
                cipher.map(|cipher| Transform::new(cipher, &keys, header.session_id, seed));
            if self.config.channels == Channels::Several {
                self.root = Some(Box::new(Root::new(&keys, cipher, seed)));
            }
        }
        Ok(())
    }

    /// Encrypts from the next message on.
    fn encrypt(&mut self, connection: &mut Connection, by: Demand) -> Result<(), HandshakeError> {
        if self.config.encryption == Policy::Off {
            return Err(HandshakeError::EncryptionRequired);
        }
        let logon = self.terms.logon;
        if !logon.has_key() {
            return Err(HandshakeError::CannotEncrypt { by, logon });
        }
        let dialect = connection.negotiated().dialect;
        let transform = connection.keys(self.session).transform.as_ref();
        let transform = transform.ok_or(HandshakeError::NoCipher { by, dialect })?;
        self.terms.encryption = Some(transform.cipher());
        self.terms.signing = None;
        Ok(())
    }

    fn tree_connected(
        &mut self,
        connection: &mut Connection,
        header: &Header,
        bytes: &[u8],
    ) -> Result<(), HandshakeError> {
        if header.flags.contains(Flags::ASYNC) {
            // Its TreeId would be read out of an AsyncId.
            return Err(ProtocolError::NotAResponse.into());
        }
        let response: TreeConnectResponse = setup::decode(bytes, "TREE_CONNECT response")?;
        if response.share_type != ShareType::Disk {
            return Err(HandshakeError::NotADisk);
        }
        connection.channel_mut(self.session).tree_id = header.tree_id();
        if response.share_flags.encrypt_data() {
            self.encrypt(connection, Demand::Share)?;
        }
        Ok(())
    }

    /// Has the negotiation validated, by the first session that has a key to
    /// prove it with, where nothing better protects it.
    fn validate(&mut self, connection: &mut Connection) -> Opened {
        let has_key = connection.keys(self.session).signer.is_some();
        let unvalidated = connection.unvalidated().filter(|_| has_key);
        match unvalidated.map(|unvalidated| unvalidated.offer.clone()) {
            Some(offer) => {
                self.unsent = Some(Unsent::Validate(offer));
                Opened::Unfinished
            }
            None => self.ready(connection),
        }
    }

    fn ready(&mut self, connection: &mut Connection) -> Opened {
        connection.settle(self.session, self.terms, self.root.take());
        Opened::Ready(self.session)
    }

    /// What protects the request of `step`, and its answer.
    fn shield(&self, step: Step, keys: &Keys, dialect: Dialect) -> Shield {
        match step {
            Step::SessionSetup if self.purpose == Purpose::Channel => Shield::Signature,
            Step::SessionSetup => Shield::None,
            _ if self.terms.encryption.is_some() => Shield::Encryption,
            _ if keys.signer.is_none() => Shield::None,
            // 3.1.1 requires a signed TREE_CONNECT from every authenticated
            // session, signing or not (MS-SMB2 3.2.4.1.1).
            Step::TreeConnect if dialect == Dialect::Smb311 => Shield::Signature,
            Step::TreeConnect | Step::LogOff if self.terms.signing.is_none() => Shield::None,
            Step::TreeConnect | Step::Validate | Step::LogOff => Shield::Signature,
        }
    }

    /// Appends the request of `step`, whose answer is awaited next and for which
    /// there is a credit.
    fn send(
        &mut self,
        step: Step,
        connection: &mut Connection,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        self.step = step;
        let dialect = connection.negotiated().dialect;
        let keys = connection.keys(self.session);
        keys.shield = self.shield(step, keys, dialect);
        let sent = connection.request(self.session, step.command(), 1, self.tag, out, body);
        debug_assert!(sent.is_ok(), "credits have been looked for");
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

/// Whether the server stands by its answer to NEGOTIATE.
fn validated(
    connection: &Connection,
    status: NtStatus,
    bytes: &[u8],
) -> Result<(), HandshakeError> {
    // Where the server knows no validation, its signature has shown that it is
    // the server who says so.
    if status != NtStatus::SUCCESS {
        return Ok(());
    }
    let confirmed = match connection.unvalidated() {
        Some(unvalidated) => unvalidated.answer.is_confirmed_by(bytes)?,
        // Two sessions asked at the same time, and the other was told.
        None => Confirmed::Yes,
    };
    match confirmed {
        Confirmed::Yes => Ok(()),
        Confirmed::No => Err(HandshakeError::Tampered),
    }
}
