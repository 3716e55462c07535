//! From a new TCP connection to a session and its tree connect: NEGOTIATE, and then
//! the steps of [`SessionSetup`] for each session (MS-SMB2 3.2.4.2, 3.2.5.2 to 3.2.5.5).
//!
//! This module does no I/O. [`Handshake::start`] and [`Handshake::receive`]
//! append the bytes to send to the caller's buffer.

mod config;
mod error;
mod logon;
mod negotiation;
mod opening;

use crate::auth::AuthClient;
use crate::connection::{Binding, Connection, Event, ProtocolError};
use crate::frame::{Frame, Message, Messages};
use crate::header::Command;
use crate::header::UNSOLICITED;
pub use crate::negotiate::Channels;
pub use config::{Policy, SessionConfig};
pub use error::{Demand, HandshakeError};
pub(crate) use logon::{LogonRights, judge as judge_logon};
use negotiation::Negotiation;
pub use opening::{SessionSetup, SetupProgress};

/// The result of a received message.
#[derive(Debug)]
pub enum HandshakeProgress {
    /// Send the appended bytes and wait for the answer.
    Continue,
    /// The session is set up, as [`SessionIndex::FIRST`] of this connection.
    /// Nothing was appended.
    ///
    /// [`SessionIndex::FIRST`]: crate::SessionIndex::FIRST
    Ready(Connection),
}

/// The set-up of a connection and its first session.
pub struct Handshake {
    stage: HandshakeStage,
}

enum HandshakeStage {
    Negotiating(Box<Negotiating>),
    Opening(Box<(Connection, SessionSetup)>),
    /// The session is set up, or the set-up has failed.
    Over,
}

/// The state of the negotiation, and the parameters of the steps after it.
struct Negotiating {
    negotiation: Negotiation,
    config: SessionConfig,
    authenticator: AuthClient,
    binding: Option<Binding>,
}

/// Tag of the one request in flight.
const TAG: u32 = 0;

impl Handshake {
    /// Starts a handshake and appends the NEGOTIATE request. With a `binding`, the
    /// connection becomes another channel of that session, and `config` must have
    /// the same client GUID and the same user.
    ///
    /// # Errors
    /// Returns an error if the credentials cannot be used.
    pub fn start(
        config: SessionConfig,
        binding: Option<Binding>,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        if config.dialects.smb2().is_none() {
            return Err(HandshakeError::OnlyCifs);
        }
        let authenticator = AuthClient::new(config.claim())?;
        let negotiation = Negotiation::start(&config, out)?;
        Ok(Self {
            stage: HandshakeStage::Negotiating(Box::new(Negotiating {
                negotiation,
                config,
                authenticator,
                binding,
            })),
        })
    }

    /// Returns the command of the request in flight, or of the last one.
    #[must_use]
    pub fn awaited(&self) -> Command {
        match &self.stage {
            HandshakeStage::Negotiating(_) => Command::Negotiate,
            HandshakeStage::Opening(both) => both.1.awaited(),
            HandshakeStage::Over => Command::TreeConnect,
        }
    }

    /// Returns the messages of a received frame, decrypted in place.
    ///
    /// # Errors
    /// Returns an error if the frame is encrypted and cannot be decrypted.
    /// Close the connection then.
    pub fn open<'a>(&self, frame: Frame<'a>) -> Result<Messages<'a>, ProtocolError> {
        match &self.stage {
            HandshakeStage::Opening(opening) => opening.0.open(frame),
            HandshakeStage::Negotiating(_) | HandshakeStage::Over => Ok(frame.open(|_| None)?),
        }
    }

    /// Processes the answer to the request in flight, and appends the next request.
    ///
    /// # Errors
    /// Returns an error if the session cannot be set up. Close the connection then.
    pub fn receive(
        &mut self,
        message: Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeProgress, HandshakeError> {
        // After any error the stage stays `Over`.
        match std::mem::replace(&mut self.stage, HandshakeStage::Over) {
            HandshakeStage::Negotiating(mut negotiating) => {
                self.stage = match negotiating.negotiation.receive(&message)? {
                    Some(connection) => negotiating.agreed(connection, out)?,
                    None => HandshakeStage::Negotiating(negotiating),
                };
                Ok(HandshakeProgress::Continue)
            }
            HandshakeStage::Opening(mut both) => {
                let (connection, opening) = &mut *both;
                let opened = match connection.receive(message)? {
                    Event::Completed(done) => opening.receive(connection, &done, out)?,
                    Event::Pending { .. } => SetupProgress::NotYet,
                    Event::Break(_) | Event::Reauthentication { .. } => {
                        return Err(ProtocolError::Unasked(UNSOLICITED).into());
                    }
                };
                match opened {
                    SetupProgress::Ready(_) => Ok(HandshakeProgress::Ready(both.0)),
                    // Each answer grants at least one credit (MS-SMB2 3.3.1.2),
                    // and no answer is outstanding. So no credit will arrive.
                    SetupProgress::Unfinished => Err(opening.give_up(connection)),
                    SetupProgress::NotYet => {
                        self.stage = HandshakeStage::Opening(both);
                        Ok(HandshakeProgress::Continue)
                    }
                }
            }
            HandshakeStage::Over => Err(ProtocolError::NotAResponse.into()),
        }
    }
}

impl Negotiating {
    fn agreed(
        self,
        mut connection: Connection,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStage, HandshakeError> {
        let Self {
            config,
            authenticator,
            binding,
            ..
        } = self;
        let opening = SessionSetup::of(config, authenticator, binding, &mut connection, TAG, out)?;
        Ok(HandshakeStage::Opening(Box::new((connection, opening))))
    }
}
