//! From a fresh TCP connection to a tree connect: NEGOTIATE, SESSION_SETUP,
//! TREE_CONNECT (MS-SMB2 3.2.4.2, 3.2.5.2 to 3.2.5.5).
//!
//! Sans-IO like everything here: [`Handshake::start`] and
//! [`Handshake::receive`] append what to send next to the caller's buffer.

use smb_dtyp::Guid;
use smb_msg::{
    GlobalCapabilities, HashAlgorithm, NegotiateCapabilities, NegotiateRequest, NegotiateResponse,
    NegotiateSecurityMode, PreauthIntegrityCapabilities, SessionSecurityMode, SessionSetupRequest,
    SessionSetupResponse, SetupRequestFlags, ShareType, SigningAlgorithmId, SigningCapabilities,
    TreeConnectRequest, TreeConnectResponse,
};
use thiserror::Error;

use crate::auth::{AuthError, Authenticator, Credentials};
use crate::connection::{Connection, Negotiated, ProtocolError, append_framed};
use crate::credit::{CREDIT_UNIT, CreditLedger};
use crate::crypto::{PreauthHash, Signer, signing_key_311};
use crate::dialect::{Dialect, SigningAlgorithm};
use crate::frame::{Message, PREFIX_LEN};
use crate::header::{Command, Flags, Header};
use crate::setup;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// Signing as the user wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigningPolicy {
    /// Sign when the server requires it.
    #[default]
    AsServerRequires,
    /// Sign, or fail.
    Required,
    /// Do not sign, or fail. (3.1.1 still signs TREE_CONNECT; it must.)
    Off,
}

/// What to ask of the server.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Offer only this dialect; `None` offers all of [`Dialect::ALL`].
    pub dialect: Option<Dialect>,
    /// Signing.
    pub signing: SigningPolicy,
    /// Who logs on.
    pub credentials: Credentials,
    /// `\\server\share`.
    pub unc: String,
    /// Credits to strive for.
    pub credit_target: u16,
    /// Identifies this client to the server.
    pub client_guid: [u8; 16],
    /// Unpredictable bytes for the 3.1.1 pre-authentication salt.
    pub salt: [u8; 32],
}

/// Why no session came about.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// The server answered a set-up request with an error status.
    #[error("{} refused with {status}", .command.name())]
    Refused {
        /// The request.
        command: Command,
        /// The answer.
        status: NtStatus,
    },
    /// The server chose a dialect that was not offered.
    #[error("the server chose dialect 0x{0:04x}, which was not offered")]
    Dialect(u16),
    /// The server does not know the user and has guests instead.
    #[error("the server does not know the user and offers a guest session instead")]
    OnlyAsGuest,
    /// Signing was asked for, but the session has no key.
    #[error("the server let the user in as a guest; guest sessions cannot be signed")]
    GuestCannotSign,
    /// Signing was switched off, but the server insists.
    #[error("the server requires signing, which was switched off")]
    SigningRequired,
    /// Encryption is not implemented yet.
    #[error("the server requires encryption, which this version does not speak")]
    EncryptionRequired,
    /// The share is a pipe or a printer.
    #[error("the share is not a disk share")]
    NotADisk,
    /// Authentication failed on this side.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The server broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl From<DecodeError> for HandshakeError {
    fn from(error: DecodeError) -> Self {
        Self::Protocol(error.into())
    }
}

/// What a received message led to.
#[derive(Debug)]
pub enum Progress {
    /// Send what was appended and wait for the answer.
    Continue,
    /// The session stands; nothing was appended.
    Ready(Connection),
}

/// Whether a session as a guest is what the user means: anything else would be
/// measured under other rights than asked for.
fn asks_for_guest(user: &str) -> bool {
    user.is_empty() || user.eq_ignore_ascii_case("guest")
}

enum Step {
    Negotiate,
    SessionSetup,
    TreeConnect,
}

/// A session being set up.
pub struct Handshake {
    config: SessionConfig,
    step: Step,
    credits: CreditLedger,
    /// Message id and credits asked for by the one request in flight.
    awaited: (u64, u16),
    preauth: PreauthHash,
    authenticator: Authenticator,
    negotiated: Negotiated,
    session_id: u64,
    signer: Option<Signer>,
}

impl Handshake {
    /// Begins, appending the NEGOTIATE request.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn start(config: SessionConfig, out: &mut Vec<u8>) -> Result<Self, HandshakeError> {
        let authenticator = Authenticator::new(&config.credentials)?;
        let mut handshake = Self {
            step: Step::Negotiate,
            credits: CreditLedger::new(config.credit_target),
            awaited: (0, 0),
            preauth: PreauthHash::default(),
            authenticator,
            negotiated: Negotiated {
                dialect: config.dialect.unwrap_or(Dialect::Smb21),
                signing: None,
                server_requires_signing: false,
                max_read: 0,
                max_write: 0,
                max_transact: 0,
                capabilities: 0,
                server_guid: [0; 16],
                guest: false,
            },
            session_id: 0,
            signer: None,
            config,
        };
        let request = handshake.negotiate_request();
        handshake.send(Command::Negotiate, 0, out, |out| {
            setup::encode(&request, out);
        });
        Ok(handshake)
    }

    /// Takes the answer to the request in flight, and appends the next one.
    ///
    /// # Errors
    /// When the session cannot come about; the connection is to be closed.
    pub fn receive(
        &mut self,
        message: Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        let bytes = message.bytes;
        let header = Header::decode(bytes)?;
        let (message_id, asked) = self.awaited;
        if !header.flags.contains(Flags::RESPONSE) {
            return Err(ProtocolError::NotAResponse.into());
        }
        if header.message_id != message_id {
            return Err(ProtocolError::Unasked(header.message_id).into());
        }
        self.credits.answered(asked, header.credits);
        if header.status == NtStatus::PENDING && header.flags.contains(Flags::ASYNC) {
            self.awaited.1 = 0;
            return Ok(Progress::Continue);
        }
        let (asked_command, carry_on) = match self.step {
            Step::Negotiate => (Command::Negotiate, NtStatus::SUCCESS),
            Step::SessionSetup => (Command::SessionSetup, NtStatus::MORE_PROCESSING_REQUIRED),
            Step::TreeConnect => (Command::TreeConnect, NtStatus::SUCCESS),
        };
        if header.command != asked_command {
            return Err(ProtocolError::WrongCommand {
                asked: asked_command.name(),
                got: header.command.name(),
            }
            .into());
        }
        if header.status != NtStatus::SUCCESS && header.status != carry_on {
            return Err(HandshakeError::Refused {
                command: header.command,
                status: header.status,
            });
        }
        match self.step {
            Step::Negotiate => self.negotiated(bytes, out)?,
            Step::SessionSetup => self.session_setup(&header, bytes, out)?,
            Step::TreeConnect => return self.tree_connected(&header, bytes).map(Progress::Ready),
        }
        Ok(Progress::Continue)
    }

    fn negotiate_request(&self) -> NegotiateRequest {
        let offered = match self.config.dialect {
            Some(dialect) => vec![dialect],
            None => Dialect::ALL.to_vec(),
        };
        let contexts = offered.contains(&Dialect::Smb311).then(|| {
            vec![
                PreauthIntegrityCapabilities {
                    hash_algorithms: vec![HashAlgorithm::Sha512],
                    salt: self.config.salt.to_vec(),
                }
                .into(),
                SigningCapabilities {
                    signing_algorithms: vec![SigningAlgorithmId::AesCmac],
                }
                .into(),
            ]
        });
        NegotiateRequest {
            security_mode: NegotiateSecurityMode::new()
                .with_signing_enabled(true)
                .with_signing_required(self.config.signing == SigningPolicy::Required),
            capabilities: GlobalCapabilities::new().with_large_mtu(true),
            client_guid: Guid::from(self.config.client_guid),
            dialects: offered
                .into_iter()
                .map(|dialect| match dialect {
                    Dialect::Smb21 => smb_msg::Dialect::Smb021,
                    Dialect::Smb311 => smb_msg::Dialect::Smb0311,
                })
                .collect(),
            negotiate_context_list: contexts,
        }
    }

    fn negotiated(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let response: NegotiateResponse = setup::decode(bytes, "NEGOTIATE response")?;
        let revision = response.dialect_revision as u16;
        let dialect = Dialect::from_revision(revision)
            .filter(|&dialect| self.config.dialect.is_none_or(|only| only == dialect))
            .ok_or(HandshakeError::Dialect(revision))?;
        let server_requires_signing = response.security_mode.signing_required();
        if server_requires_signing && self.config.signing == SigningPolicy::Off {
            return Err(HandshakeError::SigningRequired);
        }
        let algorithm = match dialect {
            Dialect::Smb21 => SigningAlgorithm::HmacSha256,
            Dialect::Smb311 => SigningAlgorithm::AesCmac,
        };
        let sign = server_requires_signing || self.config.signing == SigningPolicy::Required;
        // Without large MTU a message carries one credit's worth (MS-SMB2
        // 3.2.4.1.5); a server below that states less itself.
        let cap = if response.capabilities.large_mtu() {
            u32::MAX
        } else {
            CREDIT_UNIT
        };
        self.negotiated = Negotiated {
            dialect,
            signing: sign.then_some(algorithm),
            server_requires_signing,
            max_read: response.max_read_size.min(cap),
            max_write: response.max_write_size.min(cap),
            max_transact: response.max_transact_size.min(cap),
            capabilities: u32::from_le_bytes(response.capabilities.into_bytes()),
            server_guid: response.server_guid.into(),
            guest: false,
        };
        self.preauth.update(bytes);
        self.step = Step::SessionSetup;
        // The server's hint of mechanisms is not needed: NTLM is offered as is.
        let token = self.authenticator.step(&[])?;
        self.send_session_setup(token, out);
        Ok(())
    }

    fn send_session_setup(&mut self, token: Vec<u8>, out: &mut Vec<u8>) {
        let request = SessionSetupRequest::new(
            token,
            SessionSecurityMode::new()
                .with_signing_enabled(true)
                .with_signing_required(self.config.signing == SigningPolicy::Required),
            SetupRequestFlags::new(),
            NegotiateCapabilities::new(),
        );
        self.send(Command::SessionSetup, 1, out, |out| {
            setup::encode(&request, out);
        });
    }

    fn session_setup(
        &mut self,
        header: &Header,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        let response: SessionSetupResponse = setup::decode(bytes, "SESSION_SETUP response")?;
        self.session_id = header.session_id;
        if header.status == NtStatus::MORE_PROCESSING_REQUIRED {
            self.preauth.update(bytes);
            let token = self.authenticator.step(&response.buffer)?;
            self.send_session_setup(token, out);
            return Ok(());
        }
        if response.session_flags.encrypt_data() {
            return Err(HandshakeError::EncryptionRequired);
        }
        self.negotiated.guest = response.session_flags.is_guest_or_null_session();
        if self.negotiated.guest {
            if !asks_for_guest(&self.config.credentials.user) {
                return Err(HandshakeError::OnlyAsGuest);
            }
            if self.negotiated.signing.take().is_some() {
                return Err(HandshakeError::GuestCannotSign);
            }
        } else {
            self.authenticated(header, bytes, &response.buffer)?;
        }
        self.step = Step::TreeConnect;
        let request = TreeConnectRequest::new(&self.config.unc);
        self.send(Command::TreeConnect, 1, out, |out| {
            setup::encode(&request, out);
        });
        Ok(())
    }

    /// The server is satisfied; makes sure that we are, and keys the session.
    fn authenticated(
        &mut self,
        header: &Header,
        bytes: &[u8],
        token: &[u8],
    ) -> Result<(), HandshakeError> {
        if !self.authenticator.is_complete() && !token.is_empty() {
            self.authenticator.step(token)?;
        }
        let session_key = self.authenticator.session_key()?;
        let (signer, must_sign_answer) = match self.negotiated.dialect {
            Dialect::Smb21 => (
                Signer::new(SigningAlgorithm::HmacSha256, &session_key),
                self.negotiated.signing.is_some(),
            ),
            // 3.1.1 always signs this answer: it is what proves that nobody
            // tampered with the negotiation (MS-SMB2 3.2.5.3.1).
            Dialect::Smb311 => (
                Signer::new(
                    SigningAlgorithm::AesCmac,
                    &signing_key_311(&session_key, &self.preauth),
                ),
                true,
            ),
        };
        let signed = header.flags.contains(Flags::SIGNED);
        if (signed || must_sign_answer) && !signer.verify(bytes) {
            return Err(ProtocolError::Signature(header.command.name()).into());
        }
        self.signer = Some(signer);
        Ok(())
    }

    fn tree_connected(
        &mut self,
        header: &Header,
        bytes: &[u8],
    ) -> Result<Connection, HandshakeError> {
        if self.signs_next() {
            let valid = self
                .signer
                .as_ref()
                .is_some_and(|signer| signer.verify(bytes));
            if !valid {
                return Err(ProtocolError::Signature(header.command.name()).into());
            }
        }
        if header.flags.contains(Flags::ASYNC) {
            // Its TreeId would be read out of an AsyncId.
            return Err(ProtocolError::NotAResponse.into());
        }
        let response: TreeConnectResponse = setup::decode(bytes, "TREE_CONNECT response")?;
        if response.share_type != ShareType::Disk {
            return Err(HandshakeError::NotADisk);
        }
        if response.share_flags.encrypt_data() {
            return Err(HandshakeError::EncryptionRequired);
        }
        let signer = self
            .signer
            .take()
            .filter(|_| self.negotiated.signing.is_some());
        Ok(Connection::new(
            self.negotiated,
            self.session_id,
            header.tree_id(),
            signer,
            self.credits,
        ))
    }

    /// Whether the request of the current step goes out signed.
    fn signs_next(&self) -> bool {
        // 3.1.1 requires a signed TREE_CONNECT from every authenticated
        // session, signing or not (MS-SMB2 3.2.4.1.1).
        matches!(self.step, Step::TreeConnect)
            && self.signer.is_some()
            && (self.negotiated.signing.is_some() || self.negotiated.dialect == Dialect::Smb311)
    }

    fn send(
        &mut self,
        command: Command,
        charge: u16,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        // One request at a time, each answered with at least one credit: a
        // server that grants none is told so by the time limit of the caller.
        let paid = self.credits.reserve(1);
        let (message_id, asked) = paid.map_or(self.awaited, |paid| (paid.message_id, paid.asked));
        self.awaited = (message_id, asked);
        let header = Header {
            credit_charge: charge,
            credits: asked,
            session_id: self.session_id,
            ..Header::request(command, message_id)
        };
        let signer = self.signer.as_ref().filter(|_| self.signs_next());
        let start = out.len() + PREFIX_LEN;
        append_framed(&header, out, signer, body);
        if !matches!(self.step, Step::TreeConnect) {
            self.preauth.update(&out[start..]);
        }
    }
}
