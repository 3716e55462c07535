//! The requests that set a session up, and their protection.

use smb_msg::{
    NegotiateCapabilities, SessionSecurityMode, SessionSetupRequest, SetupRequestFlags,
    TreeConnectRequest,
};

use super::{SessionSetup, SetupProgress, SetupPurpose};
use crate::connection::{Connection, EMPTY_BODY, Keys, MessageProtection};
use crate::dialect::Dialect;
use crate::frame::PREFIX_LEN;
use crate::handshake::Policy;
use crate::header::Command;
use crate::negotiate::Offer;
use crate::setup;
use crate::status::NtStatus;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SetupRequest {
    SessionSetup,
    TreeConnect,
    Validate,
    LogOff,
}

impl SetupRequest {
    pub(super) const fn command(self) -> Command {
        match self {
            Self::SessionSetup => Command::SessionSetup,
            Self::TreeConnect => Command::TreeConnect,
            Self::Validate => Command::Ioctl,
            Self::LogOff => Command::Logoff,
        }
    }

    /// Returns whether the set-up can continue after `status`.
    pub(super) fn accepts(self, status: NtStatus) -> bool {
        match self {
            _ if status == NtStatus::SUCCESS => true,
            Self::SessionSetup => status == NtStatus::MORE_PROCESSING_REQUIRED,
            // An SMB 2 server without this request answers with one of these
            // codes, and signs the answer (MS-SMB2 3.2.5.5).
            Self::Validate => matches!(
                status,
                NtStatus::NOT_SUPPORTED | NtStatus::INVALID_DEVICE_REQUEST | NtStatus::FILE_CLOSED
            ),
            Self::TreeConnect => false,
            // No further step follows, so every status is accepted.
            Self::LogOff => true,
        }
    }
}

/// A request to send as soon as there is a credit.
pub(super) enum Unsent {
    /// A SESSION_SETUP with this token.
    SessionSetup(Vec<u8>),
    TreeConnect,
    /// A validation of this offer.
    Validate(Offer),
    LogOff,
}

impl Unsent {
    pub(super) const fn step(&self) -> SetupRequest {
        match self {
            Self::SessionSetup(_) => SetupRequest::SessionSetup,
            Self::TreeConnect => SetupRequest::TreeConnect,
            Self::Validate(_) => SetupRequest::Validate,
            Self::LogOff => SetupRequest::LogOff,
        }
    }
}

impl SessionSetup {
    /// Appends the request that waits for a credit, if there is a credit now.
    pub fn resume(&mut self, connection: &mut Connection, out: &mut Vec<u8>) -> SetupProgress {
        let Some(unsent) = self.unsent.take() else {
            return SetupProgress::NotYet;
        };
        if !connection.affords(&[1]) {
            self.unsent = Some(unsent);
            return SetupProgress::Unfinished;
        }
        let start = out.len() + PREFIX_LEN;
        match &unsent {
            Unsent::SessionSetup(token) => {
                let request = self.session_setup_request(token);
                self.send(SetupRequest::SessionSetup, connection, out, |out| {
                    setup::encode(&request, out);
                });
                self.preauth.update(&out[start..]);
            }
            Unsent::TreeConnect => {
                let unc = format!(r"\\{}\{}", self.config.host, self.config.share);
                let request = TreeConnectRequest::new(&unc);
                self.send(SetupRequest::TreeConnect, connection, out, |out| {
                    setup::encode(&request, out);
                });
            }
            Unsent::Validate(offer) => {
                self.send(SetupRequest::Validate, connection, out, |out| {
                    offer.encode_validation(out);
                });
            }
            Unsent::LogOff => {
                self.send(SetupRequest::LogOff, connection, out, |out| {
                    out.extend_from_slice(&EMPTY_BODY);
                });
            }
        }
        SetupProgress::NotYet
    }

    fn session_setup_request(&self, token: &[u8]) -> SessionSetupRequest {
        let previous_session_id = match self.purpose {
            SetupPurpose::New => self.config.previous_session,
            SetupPurpose::Channel => 0,
        };
        let request = SessionSetupRequest::new(
            token.to_vec(),
            SessionSecurityMode::new()
                .with_signing_enabled(true)
                .with_signing_required(self.config.signing == Policy::Required),
            SetupRequestFlags::new().with_binding(self.purpose == SetupPurpose::Channel),
            NegotiateCapabilities::new(),
        );
        SessionSetupRequest {
            previous_session_id,
            ..request
        }
    }

    /// Returns the protection of the request of `step` and of its answer.
    fn shield(&self, step: SetupRequest, keys: &Keys, dialect: Dialect) -> MessageProtection {
        match step {
            SetupRequest::SessionSetup if self.purpose == SetupPurpose::Channel => {
                MessageProtection::Signature
            }
            SetupRequest::SessionSetup => MessageProtection::None,
            _ if self.terms.encryption.is_some() => MessageProtection::Encryption,
            _ if keys.signer.is_none() => MessageProtection::None,
            // 3.1.1 requires a signed TREE_CONNECT in every authenticated session,
            // even if the session is unsigned otherwise (MS-SMB2 3.2.4.1.1).
            SetupRequest::TreeConnect if dialect == Dialect::Smb311 => MessageProtection::Signature,
            SetupRequest::TreeConnect | SetupRequest::LogOff if self.terms.signing.is_none() => {
                MessageProtection::None
            }
            SetupRequest::TreeConnect | SetupRequest::Validate | SetupRequest::LogOff => {
                MessageProtection::Signature
            }
        }
    }

    /// Appends the request of `step`. There must be a credit, and its answer is
    /// expected next.
    fn send(
        &mut self,
        step: SetupRequest,
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
