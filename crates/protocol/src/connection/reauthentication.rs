//! Re-authentication of a session, after it has expired or before (MS-SMB2
//! 3.2.4.2.3.1, 3.2.5.3.2).
//!
//! The session keeps its id, its tree connect, its open files and its keys.
//! Other requests may be in flight meanwhile. Requests that failed with
//! STATUS_NETWORK_SESSION_EXPIRED may be sent again afterwards.

use smb_msg::{
    NegotiateCapabilities, SessionSecurityMode, SessionSetupRequest, SessionSetupResponse,
    SetupRequestFlags,
};
use thiserror::Error;

use super::{Connection, NoCredit, ProtocolError, SessionIndex, append_framed};
use crate::auth::{AuthClient, AuthError, Claim, Logon};
use crate::header::{Command, Header};
use crate::setup;
use crate::status::NtStatus;

/// Tag of the requests of a re-authentication. Their answers become events of a
/// separate kind.
const TAG: u32 = u32::MAX;

/// The state of a re-authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reauthentication {
    /// The server waits for the next token. Call
    /// [`Connection::continue_reauthentication`] and send what it appends.
    Unfinished,
    /// The server has accepted the credentials, and the session is valid again.
    Done,
    /// The server has refused the credentials, and the session is lost.
    Refused(NtStatus),
}

/// The reason why a re-authentication was not started.
#[derive(Debug, Error)]
pub enum ReauthenticationError {
    /// The available credits do not suffice.
    #[error(transparent)]
    NoCredit(#[from] NoCredit),
    /// A re-authentication of the session is in progress already.
    #[error("the session is being authenticated again already")]
    UnderWay,
    /// The credentials cannot be used.
    #[error(transparent)]
    Auth(#[from] AuthError),
}

/// A re-authentication in progress.
#[derive(Debug)]
pub(super) struct ReauthenticationExchange {
    pub(super) session: SessionIndex,
    authenticator: AuthClient,
    /// The next token to send.
    token: Vec<u8>,
}

impl Connection {
    /// Starts the re-authentication of a session, and appends the first request.
    ///
    /// Kerberos needs a ticket that expires later than the previous one. Answers arrive as
    /// [`Event::Reauthentication`](super::Event::Reauthentication).
    ///
    /// # Errors
    /// Returns an error without appending anything.
    pub fn reauthenticate(
        &mut self,
        session: SessionIndex,
        claim: Claim<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ReauthenticationError> {
        if self.exchange(session).is_some() {
            return Err(ReauthenticationError::UnderWay);
        }
        let mut authenticator = AuthClient::new(claim)?;
        let token = authenticator.step(&[])?;
        self.send_session_setup(session, &token, out)?;
        self.setup.reauthentications.push(ReauthenticationExchange {
            session,
            authenticator,
            token: Vec::new(),
        });
        Ok(())
    }

    /// Appends the next request after [`Reauthentication::Unfinished`].
    ///
    /// # Errors
    /// Returns [`NoCredit`] without appending anything. Call this again when
    /// there is a credit.
    pub fn continue_reauthentication(
        &mut self,
        session: SessionIndex,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let Some(at) = self.exchange(session) else {
            return Ok(());
        };
        let token = std::mem::take(&mut self.setup.reauthentications[at].token);
        if token.is_empty() {
            return Ok(());
        }
        let sent = self.send_session_setup(session, &token, out);
        if sent.is_err() {
            self.setup.reauthentications[at].token = token;
        }
        sent
    }

    /// Returns the index of a session's exchange, if one is in progress.
    fn exchange(&self, session: SessionIndex) -> Option<usize> {
        let mut all = self.setup.reauthentications.iter();
        all.position(|exchange| exchange.session == session)
    }

    fn send_session_setup(
        &mut self,
        session: SessionIndex,
        token: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let is_signed = self.terms(session).signing.is_some();
        let request = SessionSetupRequest::new(
            token.to_vec(),
            SessionSecurityMode::new()
                .with_signing_enabled(true)
                .with_signing_required(is_signed),
            SetupRequestFlags::new(),
            NegotiateCapabilities::new(),
        );
        let header = Header {
            // The request concerns the session, not one of its trees.
            async_or_tree: 0,
            ..self.admit(session, Command::SessionSetup, 1, TAG)?
        };
        append_framed(&header, out, self.protect(session), |out| {
            setup::encode(&request, out);
        });
        Ok(())
    }

    /// Processes the answer to a request of a re-authentication.
    ///
    /// The answer's signature or encryption was checked before. The session
    /// keeps its protection, because no new keys are exchanged.
    pub(super) fn reauthenticated(
        &mut self,
        session: SessionIndex,
        status: NtStatus,
        bytes: &[u8],
    ) -> Result<Reauthentication, ProtocolError> {
        let at = self.exchange(session).ok_or(ProtocolError::NotAResponse)?;
        let mut exchange = self.setup.reauthentications.swap_remove(at);
        if status != NtStatus::SUCCESS && status != NtStatus::MORE_PROCESSING_REQUIRED {
            return Ok(Reauthentication::Refused(status));
        }
        let response: SessionSetupResponse = setup::decode(bytes, "SESSION_SETUP response")?;
        let refused = |error: AuthError| ProtocolError::Reauthentication(error.to_string());
        if status == NtStatus::MORE_PROCESSING_REQUIRED {
            exchange.token = exchange
                .authenticator
                .step(&response.buffer)
                .map_err(refused)?;
            self.setup.reauthentications.push(exchange);
            return Ok(Reauthentication::Unfinished);
        }
        let is_limited = response.session_flags.is_guest_or_null_session();
        let logon = self.terms(session).logon;
        let has_changed = match logon {
            Logon::Ntlm | Logon::Kerberos => is_limited,
            Logon::Guest => !is_limited,
            // The flags of an anonymous session depend on the server.
            Logon::Anonymous => false,
        };
        if has_changed {
            let other = "the user has other rights than before".to_owned();
            return Err(ProtocolError::Reauthentication(other));
        }
        if logon.has_key() {
            exchange
                .authenticator
                .conclude(&response.buffer)
                .map_err(refused)?;
        }
        Ok(Reauthentication::Done)
    }
}
