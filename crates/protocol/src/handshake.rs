//! From a fresh TCP connection to a tree connect: NEGOTIATE, SESSION_SETUP,
//! TREE_CONNECT, and the validation of the first where only that protects it
//! (MS-SMB2 3.2.4.2, 3.2.5.2 to 3.2.5.5).
//!
//! Sans-IO like everything here: [`Handshake::start`] and
//! [`Handshake::receive`] append what to send next to the caller's buffer.

mod config;
mod error;
mod logon;

use smb_msg::{
    NegotiateCapabilities, SessionSecurityMode, SessionSetupRequest, SessionSetupResponse,
    SetupRequestFlags, ShareType, TreeConnectRequest, TreeConnectResponse,
};

use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::auth::{Authenticator, Logon};
use crate::connection::{
    Connection, Further, Negotiated, Protect, Protection, ProtocolError, append_framed,
    has_validation,
};
use crate::credit::{CREDIT_UNIT, CreditLedger, Payment};
use crate::crypto::{KeySource, PreauthHash, Signer, Transform};
use crate::dialect::Dialect;
use crate::frame::{Frame, Message, Messages, PREFIX_LEN, Secrecy};
use crate::header::{Command, Flags, Header};
use crate::negotiate::{Answer, Confirmed, Offer, SIGNING_REQUIRED};
use crate::setup;
use crate::status::NtStatus;

pub use config::{Policy, SessionConfig};
pub use error::{Demand, HandshakeError};

/// The four bytes every SMB 1 message starts with.
const SMB1_PROTOCOL_ID: [u8; 4] = *b"\xFFSMB";

/// What a received message led to.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is taken apart at once"
)]
pub enum Progress {
    /// Send what was appended and wait for the answer.
    Continue,
    /// The session stands; nothing was appended.
    Ready(Connection),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Negotiate,
    SessionSetup,
    TreeConnect,
    Validate,
}

impl Step {
    const fn command(self) -> Command {
        match self {
            Self::Negotiate => Command::Negotiate,
            Self::SessionSetup => Command::SessionSetup,
            Self::TreeConnect => Command::TreeConnect,
            Self::Validate => Command::Ioctl,
        }
    }

    /// Whether `status` lets the handshake go on.
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
            _ => false,
        }
    }
}

/// A session being set up.
pub struct Handshake {
    config: SessionConfig,
    offer: Offer,
    step: Step,
    credits: CreditLedger,
    /// Message id and payment of the one request in flight.
    awaited: (u64, Payment),
    preauth: PreauthHash,
    authenticator: Authenticator,
    answer: Option<Answer>,
    negotiated: Negotiated,
    /// What signs, where something does.
    signing_algorithm: SigningAlgorithm,
    /// What encrypts, where something does and can.
    cipher: Option<Cipher>,
    session_id: u64,
    tree_id: u32,
    signer: Option<Signer>,
    transform: Option<Transform>,
}

impl Handshake {
    /// Begins, appending the NEGOTIATE request.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn start(config: SessionConfig, out: &mut Vec<u8>) -> Result<Self, HandshakeError> {
        let authenticator = Authenticator::new(&config.credentials, config.now)?;
        let mut handshake = Self {
            offer: Offer {
                dialects: config.dialects,
                signing_required: config.signing == Policy::Required,
                signing: config.signing_algorithm,
                ciphers: (config.encryption != Policy::Off).then_some(config.ciphers),
                client_guid: config.client_guid,
                salt: config.salt,
                host: config.host.clone(),
            },
            step: Step::Negotiate,
            credits: config.ledger(),
            awaited: (0, Payment::default()),
            preauth: PreauthHash::default(),
            authenticator,
            answer: None,
            negotiated: Negotiated {
                dialect: Dialect::Smb202,
                signing: None,
                encryption: None,
                server_requires_signing: false,
                max_read: 0,
                max_write: 0,
                max_transact: 0,
                capabilities: 0,
                server_guid: [0; 16],
                logon: Logon::Anonymous,
            },
            signing_algorithm: SigningAlgorithm::HmacSha256,
            cipher: None,
            session_id: 0,
            tree_id: 0,
            signer: None,
            transform: None,
            config,
        };
        let offer = handshake.offer.clone();
        handshake.send(Step::Negotiate, out, |out| offer.encode(out))?;
        Ok(handshake)
    }

    /// The messages of a received frame, decrypted in place.
    ///
    /// # Errors
    /// When it is encrypted and does not decrypt; the connection is to be
    /// closed.
    pub fn open<'a>(&self, frame: Frame<'a>) -> Result<Messages<'a>, ProtocolError> {
        Ok(frame.open(self.transform.as_ref())?)
    }

    /// Takes the answer to the request in flight, and appends the next one.
    ///
    /// # Errors
    /// When the session cannot come about; the connection is to be closed.
    pub fn receive(
        &mut self,
        mut message: Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        if message.bytes.starts_with(&SMB1_PROTOCOL_ID) {
            return Err(HandshakeError::Smb1);
        }
        let header = Header::decode(message.bytes)?;
        let (message_id, payment) = self.awaited;
        if !header.flags.contains(Flags::RESPONSE) {
            return Err(ProtocolError::NotAResponse.into());
        }
        if header.message_id != message_id {
            return Err(ProtocolError::Unasked(header.message_id).into());
        }
        if header.command != self.step.command() {
            return Err(ProtocolError::WrongCommand {
                asked: self.step.command().name(),
                got: header.command.name(),
            }
            .into());
        }
        self.credits.answered(payment, header.credits);
        if header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC) {
            self.check(&mut message, Pending::Yes)?;
            self.awaited.1 = Payment::default();
            return Ok(Progress::Continue);
        }
        if !self.step.accepts(header.status) {
            return Err(HandshakeError::Refused {
                command: header.command,
                status: header.status,
            });
        }
        // A session keeps the id that its first answer gave it.
        if self.session_id != 0 && header.session_id != self.session_id {
            return Err(ProtocolError::NotAResponse.into());
        }
        self.check(&mut message, Pending::No)?;
        let bytes = message.bytes;
        match self.step {
            Step::Negotiate => self.negotiated(bytes, out)?,
            Step::SessionSetup => self.session_setup(&header, bytes, out)?,
            Step::TreeConnect => {
                self.tree_connected(&header, bytes)?;
                if self.offer.needs_validation(self.negotiated.dialect) && self.signer.is_some() {
                    let offer = self.offer.clone();
                    self.send(Step::Validate, out, |out| offer.encode_validation(out))?;
                } else {
                    return Ok(Progress::Ready(self.connection()));
                }
            }
            Step::Validate => {
                self.validated(header.status, bytes)?;
                return Ok(Progress::Ready(self.connection()));
            }
        }
        Ok(Progress::Continue)
    }

    /// What protects the request of `step`, and its answer.
    fn shield(&self, step: Step) -> Shield {
        let negotiated = &self.negotiated;
        match step {
            Step::Negotiate | Step::SessionSetup => Shield::None,
            _ if negotiated.encryption.is_some() => Shield::Encryption,
            _ if self.signer.is_none() => Shield::None,
            // 3.1.1 requires a signed TREE_CONNECT from every authenticated
            // session, signing or not (MS-SMB2 3.2.4.1.1).
            Step::TreeConnect if negotiated.dialect == Dialect::Smb311 => Shield::Signature,
            Step::TreeConnect if negotiated.signing.is_none() => Shield::None,
            Step::TreeConnect | Step::Validate => Shield::Signature,
        }
    }

    /// An answer is to be protected as its request was. Interim ones are
    /// never signed (MS-SMB2 3.2.5.1.3).
    fn check(&self, message: &mut Message<'_>, pending: Pending) -> Result<(), HandshakeError> {
        let command = self.step.command().name();
        match (self.shield(self.step), &self.signer) {
            (Shield::Encryption, _) if message.secrecy == Secrecy::Plain => {
                Err(ProtocolError::Unencrypted(command).into())
            }
            (Shield::Signature, Some(signer))
                if message.secrecy == Secrecy::Plain
                    && pending == Pending::No
                    && !signer.verify(message.bytes) =>
            {
                Err(ProtocolError::Signature(command).into())
            }
            _ => Ok(()),
        }
    }

    fn negotiated(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let answer = Answer::decode(bytes)?;
        let dialect = Dialect::from_revision(answer.revision)
            .filter(|&dialect| self.offer.dialects.contains(dialect))
            .ok_or(HandshakeError::Dialect(answer.revision))?;
        let algorithm = self
            .offer
            .signing(&answer, dialect)
            .ok_or(HandshakeError::SigningAlgorithm(dialect))?;
        self.cipher = self.offer.cipher(&answer, dialect);
        let server_requires_signing = answer.security_mode & SIGNING_REQUIRED != 0;
        let (sign, encrypt) = (self.config.signing, self.config.encryption);
        if encrypt == Policy::Required && self.cipher.is_none() {
            let by = Demand::Client;
            return Err(HandshakeError::NoCipher { by, dialect });
        }
        // What is encrypted needs no signature, required or not.
        if server_requires_signing && sign == Policy::Off && encrypt != Policy::Required {
            return Err(HandshakeError::SigningRequired);
        }
        let sign = server_requires_signing || sign == Policy::Required;
        self.signing_algorithm = algorithm;
        self.negotiated = Negotiated {
            dialect,
            signing: sign.then_some(algorithm),
            encryption: None,
            server_requires_signing,
            max_read: answer.max_read,
            max_write: answer.max_write,
            max_transact: answer.max_transact,
            capabilities: answer.capabilities,
            server_guid: answer.server_guid,
            logon: self.negotiated.logon,
        };
        // Without multi-credit requests a message carries one credit's worth
        // (MS-SMB2 3.2.4.1.5); a server below that states less itself.
        if !self.negotiated.multi_credit() {
            let Negotiated {
                max_read,
                max_write,
                max_transact,
                ..
            } = &mut self.negotiated;
            for size in [max_read, max_write, max_transact] {
                *size = CREDIT_UNIT.min(*size);
            }
        }
        self.answer = Some(answer);
        self.preauth.update(bytes);
        // The server's hint of mechanisms is not needed: ours is offered as is.
        let token = self.authenticator.step(&[])?;
        self.send_session_setup(token, out)
    }

    fn send_session_setup(
        &mut self,
        token: Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        let request = SessionSetupRequest::new(
            token,
            SessionSecurityMode::new()
                .with_signing_enabled(true)
                .with_signing_required(self.config.signing == Policy::Required),
            SetupRequestFlags::new(),
            NegotiateCapabilities::new(),
        );
        self.send(Step::SessionSetup, out, |out| setup::encode(&request, out))
    }

    fn session_setup(
        &mut self,
        header: &Header,
        bytes: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        let response: SessionSetupResponse = setup::decode(bytes, "SESSION_SETUP response")?;
        self.session_id = header.session_id;
        if header.status == NtStatus::MORE_PROCESSING_REQUIRED {
            self.preauth.update(bytes);
            let token = self.authenticator.step(&response.buffer)?;
            return self.send_session_setup(token, out);
        }
        self.negotiated.logon = logon::judge(&self.config.credentials, response.session_flags)?;
        if self.negotiated.logon.has_key() {
            self.authenticated(header, bytes, &response.buffer)?;
        } else if self.config.signing == Policy::Required {
            return Err(HandshakeError::CannotSign(self.negotiated.logon));
        } else {
            // Whatever the server requires of others (MS-SMB2 3.2.5.3.1).
            self.negotiated.signing = None;
        }
        if response.session_flags.encrypt_data() {
            self.encrypt(Demand::Server)?;
        } else if self.config.encryption == Policy::Required {
            self.encrypt(Demand::Client)?;
        }
        let unc = format!(r"\\{}\{}", self.config.host, self.config.share);
        let request = TreeConnectRequest::new(&unc);
        self.send(Step::TreeConnect, out, |out| setup::encode(&request, out))
    }

    /// The server is satisfied; makes sure that we are, and keys the session.
    fn authenticated(
        &mut self,
        header: &Header,
        bytes: &mut [u8],
        token: &[u8],
    ) -> Result<(), HandshakeError> {
        self.authenticator.conclude(token)?;
        let session_key = self.authenticator.session_key()?;
        let keys = KeySource {
            dialect: self.negotiated.dialect,
            full_session_key: &session_key,
            preauth: &self.preauth,
        };
        let signer = Signer::new(self.signing_algorithm, &keys.signing());
        // 3.1.1 always signs this answer: it is what proves that nobody
        // tampered with the negotiation (MS-SMB2 3.2.5.3.1).
        let must_be_signed =
            self.negotiated.signing.is_some() || self.negotiated.dialect == Dialect::Smb311;
        let signed = header.flags.contains(Flags::SIGNED);
        if (signed || must_be_signed) && !signer.verify(bytes) {
            return Err(ProtocolError::Signature(header.command.name()).into());
        }
        self.signer = Some(signer);
        self.transform = self
            .cipher
            .map(|cipher| Transform::new(cipher, &keys, self.session_id, self.config.nonce_seed));
        Ok(())
    }

    /// Encrypts from the next message on.
    fn encrypt(&mut self, by: Demand) -> Result<(), HandshakeError> {
        if self.config.encryption == Policy::Off {
            return Err(HandshakeError::EncryptionRequired);
        }
        if !self.negotiated.logon.has_key() {
            return Err(HandshakeError::CannotEncrypt {
                by,
                logon: self.negotiated.logon,
            });
        }
        let dialect = self.negotiated.dialect;
        let transform = self.transform.as_ref();
        let transform = transform.ok_or(HandshakeError::NoCipher { by, dialect })?;
        self.negotiated.encryption = Some(transform.cipher());
        self.negotiated.signing = None;
        Ok(())
    }

    fn tree_connected(&mut self, header: &Header, bytes: &[u8]) -> Result<(), HandshakeError> {
        if header.flags.contains(Flags::ASYNC) {
            // Its TreeId would be read out of an AsyncId.
            return Err(ProtocolError::NotAResponse.into());
        }
        let response: TreeConnectResponse = setup::decode(bytes, "TREE_CONNECT response")?;
        if response.share_type != ShareType::Disk {
            return Err(HandshakeError::NotADisk);
        }
        self.tree_id = header.tree_id();
        if response.share_flags.encrypt_data() {
            self.encrypt(Demand::Share)?;
        }
        Ok(())
    }

    fn validated(&self, status: NtStatus, bytes: &[u8]) -> Result<(), HandshakeError> {
        // Where the server knows no validation, its signature has shown that
        // it is the server who says so.
        if status != NtStatus::SUCCESS {
            return Ok(());
        }
        let confirmed = match &self.answer {
            Some(answer) => answer.is_confirmed_by(bytes)?,
            None => Confirmed::No,
        };
        match confirmed {
            Confirmed::Yes => Ok(()),
            Confirmed::No => Err(HandshakeError::Tampered),
        }
    }

    /// The session that stands.
    fn connection(&mut self) -> Connection {
        let negotiated = self.negotiated;
        let mut further = Further::default();
        if has_validation(negotiated.dialect) {
            self.offer.encode_validation(&mut further.validation);
        }
        let protection = match (self.transform.take(), self.signer.take()) {
            (Some(transform), _) if negotiated.encryption.is_some() => {
                Protection::Encrypted(transform)
            }
            (_, Some(signer)) if negotiated.signing.is_some() => Protection::Signed(signer),
            (_, signer) => {
                further.signer = signer;
                Protection::None
            }
        };
        Connection::new(
            negotiated,
            self.session_id,
            self.tree_id,
            protection,
            self.credits,
        )
        .with_further(further)
    }

    /// Appends the request of `step`, whose answer is awaited next.
    fn send(
        &mut self,
        step: Step,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), HandshakeError> {
        self.step = step;
        // One request at a time, each answered with at least one credit
        // (MS-SMB2 3.3.1.2); without it no message id may be used.
        let paid = self.credits.reserve(1);
        let paid = paid.ok_or(HandshakeError::NoCredit(step.command()))?;
        self.awaited = (paid.message_id, paid.payment);
        let header = Header {
            // Nothing before the negotiation, and in SMB 2.0.2 never, has a
            // charge.
            credit_charge: u16::from(self.negotiated.multi_credit()),
            credits: paid.payment.asked,
            session_id: self.session_id,
            ..Header::request(step.command(), paid.message_id).with_tree(self.tree_id)
        };
        let protect = match (self.shield(step), &self.signer, &mut self.transform) {
            (Shield::Signature, Some(signer), _) => Protect::Sign(signer),
            (Shield::Encryption, _, Some(transform)) => Protect::Encrypt(transform),
            _ => Protect::Not,
        };
        let start = out.len() + PREFIX_LEN;
        append_framed(&header, out, protect, body);
        if matches!(step, Step::Negotiate | Step::SessionSetup) {
            self.preauth.update(&out[start..]);
        }
        Ok(())
    }
}

/// What protects a message of the handshake.
#[derive(Clone, Copy)]
enum Shield {
    None,
    Signature,
    Encryption,
}

/// Whether an answer is an interim one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Yes,
    No,
}
