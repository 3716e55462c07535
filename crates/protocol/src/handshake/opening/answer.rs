//! What the answers to those requests mean: whether they may be believed, and the
//! keys and terms of the session.

use smb_msg::{SessionSetupResponse, ShareType, TreeConnectResponse};

use super::request::{Step, Unsent};
use super::{Opened, Opening, Purpose};
use crate::auth::Logon;
use crate::connection::{Connection, Negotiated, ProtocolError, Root, Shield};
use crate::crypto::{KeySource, Signer, Transform};
use crate::dialect::Dialect;
use crate::frame::Secrecy;
use crate::handshake::{Channels, Demand, HandshakeError, Policy, logon};
use crate::header::{Flags, Header};
use crate::negotiate::Confirmed;
use crate::setup;
use crate::status::NtStatus;

impl Opening {
    /// An answer is to be protected as its request was; what ends the log-on
    /// has rules of its own.
    pub(super) fn check(
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

    pub(super) fn session_setup(
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

    pub(super) fn tree_connected(
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
    pub(super) fn validate(&mut self, connection: &mut Connection) -> Opened {
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

    pub(super) fn ready(&mut self, connection: &mut Connection) -> Opened {
        connection.settle(self.session, self.terms, self.root.take());
        Opened::Ready(self.session)
    }
}

/// Whether the server stands by its answer to NEGOTIATE.
pub(super) fn validated(
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
