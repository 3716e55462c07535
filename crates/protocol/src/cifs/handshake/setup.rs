//! The set-up of one session: the log-on and the tree connect.

use crate::auth::{AuthClient, Credentials, Logon, NtlmProof};
use crate::cifs::command::session::{
    CifsSetupResponse, LogonProof, encode_logoff, encode_session_setup,
};
use crate::cifs::command::tree::{decode_is_disk, encode_tree_connect, share_path};
use crate::cifs::connection::{CifsCompletion, CifsConnection, CifsSigner, FIRST_ANSWER};
use crate::cifs::header::{CifsCommand, CifsHeader, cifs_flags2};
use crate::command::WireName;
use crate::connection::{NoCredit, ProtocolError, SessionIndex};
use crate::handshake::{HandshakeError, LogonRights, Policy, SessionConfig, judge_logon};
use crate::header::Command;
use crate::status::NtStatus;

/// The state of a set-up after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifsSetupProgress {
    /// Send the appended bytes and wait for the answer.
    NotYet,
    /// The session is set up.
    Ready(SessionIndex),
}

/// The request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CifsStep {
    LogOn,
    TreeConnect,
    /// The session is being ended, because its tree connect failed.
    LogOff,
}

/// The purpose of the log-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CifsPurpose {
    /// A new session.
    New,
    /// Another proof for a session that has expired or is about to.
    Renewal,
}

/// The proof of the password, by the security that the server has.
enum Proving {
    /// Tokens of SPNEGO.
    Extended(Box<AuthClient>),
    /// Responses to the challenge of NEGOTIATE, and the key that follows.
    Challenge { key: Vec<u8> },
}

/// The set-up of a session on a connection.
pub struct CifsSetup {
    config: SessionConfig,
    purpose: CifsPurpose,
    proving: Proving,
    session: SessionIndex,
    tag: u32,
    step: CifsStep,
    /// Why the session is being ended.
    failed: Option<HandshakeError>,
}

impl CifsSetup {
    /// Begins the set-up of a further session and appends its first request.
    ///
    /// # Errors
    /// If the credentials cannot be used, or the server permits no further request.
    pub fn start(
        config: SessionConfig,
        connection: &mut CifsConnection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let authenticator = AuthClient::new(config.claim())?;
        Self::of(config, authenticator, connection, tag, out)
    }

    pub(super) fn of(
        config: SessionConfig,
        mut authenticator: AuthClient,
        connection: &mut CifsConnection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        connection.flags2 = flags2(&config, connection);
        let (proving, session) = match connection.challenge {
            None => {
                let token = authenticator.step(&[])?;
                let session = add(connection, tag, LogonProof::Token(&token), out)?;
                (Proving::Extended(Box::new(authenticator)), session)
            }
            Some(challenge) => {
                let proof = responses(&config, challenge)?;
                let of_user = LogonProof::Responses {
                    lm: &proof.lm_response,
                    nt: &proof.nt_response,
                    user: &proof.user,
                    domain: &proof.domain,
                };
                let session = add(connection, tag, of_user, out)?;
                // The response follows the key (MS-CIFS 3.1.4.1).
                let key = [&proof.session_key[..], &proof.nt_response].concat();
                (Proving::Challenge { key }, session)
            }
        };
        Ok(Self {
            config,
            purpose: CifsPurpose::New,
            proving,
            session,
            tag,
            step: CifsStep::LogOn,
            failed: None,
        })
    }

    /// Begins the re-authentication of a session and appends its first request. The session
    /// keeps its UID, its tree connect and its open files (MS-SMB 3.2.5.1). Kerberos needs a
    /// ticket that expires later than the previous one.
    ///
    /// # Errors
    /// If the server does not support it, if the credentials cannot be used, or if the
    /// server permits no further request.
    pub fn renew(
        config: SessionConfig,
        session: SessionIndex,
        connection: &mut CifsConnection,
        tag: u32,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        if !connection.negotiated().can_renew() {
            return Err(HandshakeError::NoRenewal);
        }
        let mut authenticator = AuthClient::new(config.claim())?;
        let token = authenticator.step(&[])?;
        log_on(connection, session, tag, LogonProof::Token(&token), out)
            .map_err(|NoCredit| HandshakeError::NoCredit(Command::SessionSetup))?;
        Ok(Self {
            config,
            purpose: CifsPurpose::Renewal,
            proving: Proving::Extended(Box::new(authenticator)),
            session,
            tag,
            step: CifsStep::LogOn,
            failed: None,
        })
    }

    /// Returns the session that is being set up.
    #[must_use]
    pub const fn session(&self) -> SessionIndex {
        self.session
    }

    /// Returns the command of the request in flight, as SMB2 names it.
    pub(super) const fn awaited(&self) -> Command {
        match self.step {
            CifsStep::LogOn => Command::SessionSetup,
            CifsStep::TreeConnect => Command::TreeConnect,
            CifsStep::LogOff => Command::Logoff,
        }
    }

    /// Processes the answer to the request in flight, and appends the next request.
    ///
    /// # Errors
    /// If the session cannot be set up. The connection has then forgotten it. Its other
    /// sessions continue, unless the error is a [`HandshakeError::Protocol`].
    pub fn receive(
        &mut self,
        connection: &mut CifsConnection,
        done: &CifsCompletion<'_>,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetupProgress, HandshakeError> {
        let advanced = self.advance(connection, done, out);
        if advanced.is_err() {
            connection.forget(self.session);
        }
        advanced
    }

    fn advance(
        &mut self,
        connection: &mut CifsConnection,
        done: &CifsCompletion<'_>,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetupProgress, HandshakeError> {
        let header = CifsHeader::decode(done.message())?;
        let refused = HandshakeError::Refused {
            command: self.awaited(),
            status: done.status,
        };
        match (self.step, done.status) {
            (CifsStep::LogOn, NtStatus::MORE_PROCESSING_REQUIRED | NtStatus::SUCCESS) => {
                self.logged_on(connection, &header, done, out)
            }
            (CifsStep::TreeConnect, NtStatus::SUCCESS) => {
                connection.user_mut(self.session).tid = header.tid;
                if decode_is_disk(done.message())? {
                    Ok(CifsSetupProgress::Ready(self.session))
                } else {
                    self.end(connection, HandshakeError::NotADisk, out)
                }
            }
            (CifsStep::TreeConnect, _) => self.end(connection, refused, out),
            (CifsStep::LogOff, _) => Err(self.failed.take().unwrap_or(refused)),
            _ => Err(refused),
        }
    }

    /// Logs the session off, because the server would keep it.
    fn end(
        &mut self,
        connection: &mut CifsConnection,
        why: HandshakeError,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetupProgress, HandshakeError> {
        self.step = CifsStep::LogOff;
        let command = CifsCommand::LogoffAndX;
        match connection.request(self.session, command, self.tag, out, encode_logoff) {
            Ok(()) => {
                self.failed = Some(why);
                Ok(CifsSetupProgress::NotYet)
            }
            Err(NoCredit) => Err(why),
        }
    }

    fn logged_on(
        &mut self,
        connection: &mut CifsConnection,
        header: &CifsHeader,
        done: &CifsCompletion<'_>,
        out: &mut Vec<u8>,
    ) -> Result<CifsSetupProgress, HandshakeError> {
        let response = CifsSetupResponse::decode(done.message())?;
        let user = connection.user_mut(self.session);
        if self.purpose == CifsPurpose::Renewal && header.uid != user.uid {
            return Err(ProtocolError::NotAResponse.into());
        }
        user.uid = header.uid;
        let busy = |command| move |NoCredit| HandshakeError::NoCredit(command);
        if done.status == NtStatus::MORE_PROCESSING_REQUIRED {
            let Proving::Extended(authenticator) = &mut self.proving else {
                return Err(ProtocolError::NotAResponse.into());
            };
            let token = authenticator.step(response.token)?;
            let proof = LogonProof::Token(&token);
            log_on(connection, self.session, self.tag, proof, out)
                .map_err(busy(Command::SessionSetup))?;
            return Ok(CifsSetupProgress::NotYet);
        }
        match self.accept(connection, header, done, &response) {
            Ok(()) => {}
            Err(
                error @ (HandshakeError::OnlyAsGuest
                | HandshakeError::OnlyAsNobody
                | HandshakeError::NotAsGuest
                | HandshakeError::CannotSign(_)),
            ) => return self.end(connection, error, out),
            Err(error) => return Err(error),
        }
        if self.purpose == CifsPurpose::Renewal {
            return Ok(CifsSetupProgress::Ready(self.session));
        }
        self.step = CifsStep::TreeConnect;
        let share = share_path(&self.config.host, &self.config.share);
        // The name of a share is short; a URL has a limit.
        let share = WireName::new(&share).unwrap_or_default();
        let command = CifsCommand::TreeConnectAndX;
        let body = |out: &mut Vec<u8>| encode_tree_connect(&share, out);
        connection
            .request(self.session, command, self.tag, out, body)
            .map_err(busy(Command::TreeConnect))?;
        Ok(CifsSetupProgress::NotYet)
    }

    /// Checks that the session has the rights that were asked for, and its protection.
    fn accept(
        &mut self,
        connection: &mut CifsConnection,
        header: &CifsHeader,
        done: &CifsCompletion<'_>,
        response: &CifsSetupResponse<'_>,
    ) -> Result<(), HandshakeError> {
        let rights = if response.is_guest {
            LogonRights::Guest
        } else {
            LogonRights::User
        };
        let logon = judge_logon(&self.config.credentials, rights)?;
        connection.user_mut(self.session).logon = Some(logon);
        self.protect(connection, logon, header, done, response.token)
    }

    /// Verifies the server, and activates signing with the first key of the connection.
    fn protect(
        &mut self,
        connection: &mut CifsConnection,
        logon: Logon,
        header: &CifsHeader,
        done: &CifsCompletion<'_>,
        token: &[u8],
    ) -> Result<(), HandshakeError> {
        if !logon.has_key() {
            if self.config.signing == Policy::Required {
                return Err(HandshakeError::CannotSign(logon));
            }
            // The server's requirement does not apply to sessions without a key.
            if connection.signer.is_none() {
                connection.flags2 &= !cifs_flags2::SIGNATURE;
            }
            return Ok(());
        }
        let key = match &mut self.proving {
            Proving::Extended(authenticator) => {
                authenticator.conclude(token)?;
                authenticator.session_key()?
            }
            Proving::Challenge { key } => std::mem::take(key),
        };
        if connection.signer.is_some() || !is_to_be_signed(&self.config, connection) {
            return Ok(());
        }
        let signer = CifsSigner::new(key);
        if header.is_signed() && !signer.verify(done.message(), FIRST_ANSWER) {
            return Err(ProtocolError::Signature("SESSION_SETUP_ANDX").into());
        }
        connection.signer = Some(signer);
        Ok(())
    }
}

/// Returns whether messages are to be signed.
fn is_to_be_signed(config: &SessionConfig, connection: &CifsConnection) -> bool {
    connection.is_signed()
        || connection.negotiated().server_requires_signing
        || config.signing == Policy::Required
}

/// Returns the flags of all requests from the log-on on.
fn flags2(config: &SessionConfig, connection: &CifsConnection) -> u16 {
    let extended = match connection.challenge {
        None => cifs_flags2::EXTENDED_SECURITY,
        Some(_) => 0,
    };
    let signed = match (config.signing, is_to_be_signed(config, connection)) {
        (Policy::Required, _) => cifs_flags2::SIGNATURE | cifs_flags2::SIGNATURE_REQUIRED,
        (_, true) => cifs_flags2::SIGNATURE,
        (_, false) => 0,
    };
    cifs_flags2::REQUEST | extended | signed
}

/// Adds a session and begins its log-on.
fn add(
    connection: &mut CifsConnection,
    tag: u32,
    proof: LogonProof<'_>,
    out: &mut Vec<u8>,
) -> Result<SessionIndex, HandshakeError> {
    let session = connection.add_user();
    match log_on(connection, session, tag, proof, out) {
        Ok(()) => Ok(session),
        Err(NoCredit) => {
            connection.forget(session);
            Err(HandshakeError::NoCredit(Command::SessionSetup))
        }
    }
}

fn log_on(
    connection: &mut CifsConnection,
    session: SessionIndex,
    tag: u32,
    proof: LogonProof<'_>,
    out: &mut Vec<u8>,
) -> Result<(), NoCredit> {
    let (max_mpx, session_key) = (connection.negotiated().max_mpx, connection.session_key);
    let command = CifsCommand::SessionSetupAndX;
    connection.request(session, command, tag, out, |out| {
        encode_session_setup(proof, max_mpx, session_key, out);
    })
}

/// Returns the responses to the challenge of a server without extended security.
fn responses(config: &SessionConfig, challenge: [u8; 8]) -> Result<NtlmProof, HandshakeError> {
    match &config.credentials {
        Credentials::Ntlm(account) | Credentials::Guest(account) => Ok(NtlmProof::of(
            account,
            config.claim().place,
            challenge,
            config.now,
        )?),
        Credentials::Anonymous => Ok(NtlmProof::of_anonymous()),
        Credentials::Kerberos(_) => Err(HandshakeError::NoExtendedSecurity),
    }
}
