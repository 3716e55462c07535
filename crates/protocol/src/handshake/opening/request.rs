//! The requests that set a session up, and what protects them.

use smb_msg::{
    NegotiateCapabilities, SessionSecurityMode, SessionSetupRequest, SetupRequestFlags,
    TreeConnectRequest,
};

use super::{Opened, Opening, Purpose};
use crate::connection::{Connection, EMPTY_BODY, Keys, Shield};
use crate::dialect::Dialect;
use crate::frame::PREFIX_LEN;
use crate::handshake::Policy;
use crate::header::Command;
use crate::negotiate::Offer;
use crate::setup;
use crate::status::NtStatus;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    SessionSetup,
    TreeConnect,
    Validate,
    LogOff,
}

impl Step {
    pub(super) const fn command(self) -> Command {
        match self {
            Self::SessionSetup => Command::SessionSetup,
            Self::TreeConnect => Command::TreeConnect,
            Self::Validate => Command::Ioctl,
            Self::LogOff => Command::Logoff,
        }
    }

    /// Whether `status` lets the set-up go on.
    pub(super) fn accepts(self, status: NtStatus) -> bool {
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
pub(super) enum Unsent {
    /// With this token.
    SessionSetup(Vec<u8>),
    TreeConnect,
    /// Of this offer.
    Validate(Offer),
    LogOff,
}

impl Unsent {
    pub(super) const fn step(&self) -> Step {
        match self {
            Self::SessionSetup(_) => Step::SessionSetup,
            Self::TreeConnect => Step::TreeConnect,
            Self::Validate(_) => Step::Validate,
            Self::LogOff => Step::LogOff,
        }
    }
}

impl Opening {
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
