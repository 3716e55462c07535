//! From a new TCP connection to a session and its tree connect: NEGOTIATE,
//! SESSION_SETUP_ANDX and TREE_CONNECT_ANDX (MS-CIFS 3.2.4.2, MS-SMB 3.2.4.2).
//!
//! This module does no I/O: it appends the bytes to send to the caller's buffer.

mod setup;

use super::command::session::{CifsNegotiateResponse, cifs_capabilities, encode_negotiate};
use super::connection::{CifsConnection, CifsEvent, CifsNegotiated};
use super::header::{CifsCommand, CifsHeader, cifs_flags, cifs_flags2};
use crate::auth::AuthClient;
use crate::connection::ProtocolError;
use crate::frame::{Message, PREFIX_LEN};
use crate::handshake::{HandshakeError, Policy, SessionConfig};
use crate::header::{Command, PROTOCOL_ID};
use crate::status::NtStatus;
pub use setup::{CifsSetup, CifsSetupProgress};

/// DialectIndex of a server that has no dialect of the offer.
const NO_DIALECT: u16 = u16::MAX;
/// What a server must support. Some servers do not state CAP_LARGE_FILES, but take offsets of
/// 64 bits.
const NEEDED: u32 =
    cifs_capabilities::UNICODE | cifs_capabilities::STATUS32 | cifs_capabilities::NT_SMBS;
/// The smallest MaxBufferSize of a server (MS-CIFS 2.2.4.52.2).
const BUFFER_MIN: u32 = 1024;
/// Tag of the one request in flight.
const TAG: u32 = 0;

/// The result of a received message.
#[derive(Debug)]
pub enum CifsProgress {
    /// Send the appended bytes and wait for the answer.
    Continue,
    /// The session is set up, as [`SessionIndex::FIRST`](crate::SessionIndex::FIRST) of this
    /// connection. Nothing was appended.
    Ready(Box<CifsConnection>),
}

/// The set-up of a connection and its first session.
pub struct CifsHandshake {
    stage: CifsStage,
}

enum CifsStage {
    Negotiating(Box<(SessionConfig, AuthClient)>),
    Opening(Box<(CifsConnection, CifsSetup)>),
    /// The session is set up, or the set-up has failed.
    Over,
}

impl CifsHandshake {
    /// Starts a handshake and appends the NEGOTIATE request.
    ///
    /// # Errors
    /// If the credentials cannot be used.
    pub fn start(config: SessionConfig, out: &mut Vec<u8>) -> Result<Self, HandshakeError> {
        let authenticator = AuthClient::new(config.claim())?;
        let signing = match config.signing {
            Policy::Required => cifs_flags2::SIGNATURE,
            Policy::AsServerRequires | Policy::Off => 0,
        };
        let header = CifsHeader {
            command: CifsCommand::Negotiate,
            status: NtStatus::SUCCESS,
            flags: cifs_flags::REQUEST,
            flags2: cifs_flags2::REQUEST | cifs_flags2::EXTENDED_SECURITY | signing,
            tid: 0,
            uid: 0,
            mid: 0,
        };
        let at = out.len();
        out.extend_from_slice(&[0; PREFIX_LEN]);
        header.encode(out);
        encode_negotiate(out);
        let len = (out.len() - at - PREFIX_LEN) as u32;
        out[at..at + PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
        Ok(Self {
            stage: CifsStage::Negotiating(Box::new((config, authenticator))),
        })
    }

    /// Returns the command of the request in flight, or of the last one, as SMB2 names it.
    #[must_use]
    pub fn awaited(&self) -> Command {
        match &self.stage {
            CifsStage::Negotiating(_) => Command::Negotiate,
            CifsStage::Opening(both) => both.1.awaited(),
            CifsStage::Over => Command::TreeConnect,
        }
    }

    /// Processes the answer to the request in flight, and appends the next request.
    ///
    /// # Errors
    /// If the session cannot be set up. Close the connection then.
    pub fn receive(
        &mut self,
        message: Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<CifsProgress, HandshakeError> {
        if message.bytes.is_empty() {
            // A keepalive packet.
            return Ok(CifsProgress::Continue);
        }
        // After any error the stage stays `Over`.
        match std::mem::replace(&mut self.stage, CifsStage::Over) {
            CifsStage::Negotiating(both) => {
                let (config, authenticator) = *both;
                let mut connection = negotiated(&config, message.bytes)?;
                let setup = CifsSetup::of(config, authenticator, &mut connection, TAG, out)?;
                self.stage = CifsStage::Opening(Box::new((connection, setup)));
                Ok(CifsProgress::Continue)
            }
            CifsStage::Opening(mut both) => {
                let (connection, setup) = &mut *both;
                let progress = match connection.receive(message)? {
                    CifsEvent::Completed(done) => setup.receive(connection, &done, out)?,
                    CifsEvent::Part
                    | CifsEvent::Break { .. }
                    | CifsEvent::Unreleased { .. }
                    | CifsEvent::Uncancelled { .. } => {
                        return Err(ProtocolError::NotAResponse.into());
                    }
                };
                match progress {
                    CifsSetupProgress::Ready(_) => Ok(CifsProgress::Ready(Box::new(both.0))),
                    CifsSetupProgress::NotYet => {
                        self.stage = CifsStage::Opening(both);
                        Ok(CifsProgress::Continue)
                    }
                }
            }
            CifsStage::Over => Err(ProtocolError::NotAResponse.into()),
        }
    }
}

/// Judges the answer to NEGOTIATE.
fn negotiated(config: &SessionConfig, bytes: &[u8]) -> Result<CifsConnection, HandshakeError> {
    if bytes.first_chunk() == Some(&PROTOCOL_ID) {
        return Err(HandshakeError::NoCifs);
    }
    let header = CifsHeader::decode(bytes)?;
    if header.command != CifsCommand::Negotiate || !header.is_reply() || header.mid != 0 {
        return Err(ProtocolError::NotAResponse.into());
    }
    if header.status != NtStatus::SUCCESS {
        return Err(HandshakeError::Refused {
            command: Command::Negotiate,
            status: header.status,
        });
    }
    let answer = CifsNegotiateResponse::decode(bytes)?;
    if answer.dialect == NO_DIALECT {
        return Err(HandshakeError::NoCifs);
    }
    if answer.dialect != 0 {
        return Err(HandshakeError::Dialect(answer.dialect));
    }
    if answer.capabilities & NEEDED != NEEDED {
        return Err(HandshakeError::CifsCapabilities);
    }
    if answer.max_buffer < BUFFER_MIN {
        return Err(HandshakeError::CifsBuffer(answer.max_buffer));
    }
    if !answer.encrypts_passwords() {
        return Err(HandshakeError::PlainPassword);
    }
    let negotiated = CifsNegotiated {
        max_mpx: answer.max_mpx,
        max_buffer: answer.max_buffer,
        capabilities: answer.capabilities,
        can_sign: answer.can_sign(),
        server_requires_signing: answer.requires_signing(),
    };
    match config.signing {
        Policy::Off if answer.requires_signing() => return Err(HandshakeError::SigningRequired),
        Policy::Required if !answer.can_sign() => return Err(HandshakeError::NoSigning),
        _ => {}
    }
    let has_extended = answer.capabilities & cifs_capabilities::EXTENDED_SECURITY != 0;
    let mut connection = CifsConnection::new(negotiated, answer.session_key);
    if !has_extended {
        connection.challenge = Some(answer.challenge.ok_or(HandshakeError::PlainPassword)?);
    }
    Ok(connection)
}

#[cfg(test)]
mod tests;
