//! The answers of the set-up: the check of their protection, and the session's
//! keys and terms.

use smb_msg::{SessionSetupResponse, ShareType, TreeConnectResponse};

use super::request::{SetupRequest, Unsent};
use super::{SessionSetup, SetupProgress, SetupPurpose};
use crate::auth::Logon;
use crate::connection::{Connection, MessageProtection, Negotiated, ProtocolError, Root};
use crate::crypto::{KeySource, Signer, Transform};
use crate::dialect::Dialect;
use crate::frame::Secrecy;
use crate::handshake::{Channels, Demand, HandshakeError, Policy, logon};
use crate::header::{Flags, Header};
use crate::negotiate::Confirmed;
use crate::setup;
use crate::status::NtStatus;

impl SessionSetup {
    /// Checks that an answer has the protection of its request. The last answer
    /// of the log-on has separate rules.
    pub(super) fn check(
        &self,
        connection: &mut Connection,
        bytes: &mut [u8],
        secrecy: Secrecy,
    ) -> Result<(), HandshakeError> {
        let command = self.step.command().name();
        let keys = connection.keys(self.session);
        match (self.step, keys.shield, &keys.signer) {
            (SetupRequest::SessionSetup, ..) => Ok(()),
            (_, MessageProtection::Encryption, _) if secrecy == Secrecy::Plain => {
                Err(ProtocolError::Unencrypted(command).into())
            }
            (_, MessageProtection::Signature, Some(signer))
                if secrecy == Secrecy::Plain && !signer.verify(bytes) =>
            {
                Err(ProtocolError::Signature(command).into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn session_setup(
        &mut self,
        connection: &mut Connection,
        header: &Header,
        bytes: &mut [u8],
    ) -> Result<SetupProgress, HandshakeError> {
        let response: SessionSetupResponse = setup::decode(bytes, "SESSION_SETUP response")?;
        connection.channel_mut(self.session).session_id = header.session_id;
        if header.status == NtStatus::MORE_PROCESSING_REQUIRED {
            self.preauth.update(bytes);
            self.log_on(&response.buffer)?;
            return Ok(SetupProgress::Unfinished);
        }
        self.is_let_in = true;
        let logon = logon::judge(&self.config.credentials, response.session_flags.into())?;
        if logon.has_key() {
            self.authenticated(connection, header, bytes, &response.buffer)?;
        }
        if self.purpose == SetupPurpose::Channel {
            return self.bound(logon, connection);
        }
        self.terms.logon = logon;
        if !logon.has_key() {
            if self.config.signing == Policy::Required {
                return Err(HandshakeError::CannotSign(logon));
            }
            // The server's signing requirement does not apply to these sessions
            // (MS-SMB2 3.2.5.3.1).
            self.terms.signing = None;
        }
        if response.session_flags.encrypt_data() {
            self.encrypt(connection, Demand::Server)?;
        } else if self.config.encryption == Policy::Required {
            self.encrypt(connection, Demand::Client)?;
        }
        self.unsent = Some(Unsent::TreeConnect);
        Ok(SetupProgress::Unfinished)
    }

    /// Completes a bound channel, if the log-on is of the same kind as the
    /// session's.
    fn bound(
        &mut self,
        logon: Logon,
        connection: &mut Connection,
    ) -> Result<SetupProgress, HandshakeError> {
        if logon != self.terms.logon {
            return Err(HandshakeError::OtherTerms);
        }
        Ok(self.validate(connection))
    }

    /// Completes the authentication: verifies the server, and derives the keys
    /// of the session or of its channel.
    ///
    /// A channel has its own signing key and shares everything else with the
    /// session.
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
        // 3.1.1 always signs this answer. The signature proves that the
        // negotiation was not changed (MS-SMB2 3.2.5.3.1). The answer that
        // binds a channel is always signed too (3.2.5.3.3).
        let must_be_signed = self.terms.signing.is_some()
            || dialect == Dialect::Smb311
            || self.purpose == SetupPurpose::Channel;
        let signed = header.flags.contains(Flags::SIGNED);
        if (signed || must_be_signed) && !signer.verify(bytes) {
            return Err(ProtocolError::Signature(header.command.name()).into());
        }
        let channel_keys = connection.keys(self.session);
        channel_keys.signer = Some(signer);
        if self.purpose == SetupPurpose::New {
            let seed = self.config.nonce_seed;
            channel_keys.transform =
                cipher.map(|cipher| Transform::new(cipher, &keys, header.session_id, seed));
            if self.config.channels == Channels::Several {
                self.root = Some(Box::new(Root::new(&keys, cipher, seed)));
            }
        }
        Ok(())
    }

    /// Enables encryption for the next message and all later ones.
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

    pub(super) fn tree_connected(
        &mut self,
        connection: &mut Connection,
        header: &Header,
        bytes: &[u8],
    ) -> Result<(), HandshakeError> {
        if header.flags.contains(Flags::ASYNC) {
            // An async header has an AsyncId in the place of the TreeId.
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

    /// Requests the validation of the negotiation, if nothing better protects it.
    /// The first session with a key does this, because the key proves the answer.
    pub(super) fn validate(&mut self, connection: &mut Connection) -> SetupProgress {
        let has_key = connection.keys(self.session).signer.is_some();
        let unvalidated = connection.unvalidated().filter(|_| has_key);
        match unvalidated.map(|unvalidated| unvalidated.offer.clone()) {
            Some(offer) => {
                self.unsent = Some(Unsent::Validate(offer));
                SetupProgress::Unfinished
            }
            None => self.ready(connection),
        }
    }

    pub(super) fn ready(&mut self, connection: &mut Connection) -> SetupProgress {
        connection.settle(self.session, self.terms, self.root.take());
        SetupProgress::Ready(self.session)
    }
}

/// Checks that the server confirms its answer to NEGOTIATE.
pub(super) fn validated(
    connection: &Connection,
    status: NtStatus,
    bytes: &[u8],
) -> Result<(), HandshakeError> {
    // An error status means that the server does not know the request. The
    // answer's signature has proven that it is the server's.
    if status != NtStatus::SUCCESS {
        return Ok(());
    }
    let confirmed = match connection.unvalidated() {
        Some(unvalidated) => unvalidated.answer.is_confirmed_by(bytes)?,
        // Two sessions sent the request at the same time, and the other one has
        // the result.
        None => Confirmed::Yes,
    };
    match confirmed {
        Confirmed::Yes => Ok(()),
        Confirmed::No => Err(HandshakeError::Tampered),
    }
}
