//! From a fresh TCP connection to a session and its tree connect: NEGOTIATE,
//! and then what [`Opening`] does for each session (MS-SMB2 3.2.4.2, 3.2.5.2
//! to 3.2.5.5).
//!
//! Sans-IO like everything here: [`Handshake::start`] and
//! [`Handshake::receive`] append what to send next to the caller's buffer.

mod config;
mod error;
mod logon;
mod negotiation;
mod opening;

use crate::auth::Authenticator;
use crate::connection::{Binding, Connection, Event, ProtocolError};
use crate::frame::{Frame, Message, Messages};
use crate::header::UNSOLICITED;
use negotiation::Negotiation;

pub use config::{Channels, Policy, SessionConfig};
pub use error::{Demand, HandshakeError};
pub use opening::{Opened, Opening};

/// What a received message led to.
#[derive(Debug)]
pub enum Progress {
    /// Send what was appended and wait for the answer.
    Continue,
    /// The session stands, as [`SessionIndex::FIRST`] of this connection;
    /// nothing was appended.
    ///
    /// [`SessionIndex::FIRST`]: crate::SessionIndex::FIRST
    Ready(Connection),
}

/// A connection and its first session being set up.
pub struct Handshake {
    stage: Stage,
}

enum Stage {
    Negotiating(Box<Negotiating>),
    Opening(Box<(Connection, Opening)>),
    /// The session stands, or never will.
    Over,
}

/// What the negotiation needs, and what is to come after it.
struct Negotiating {
    negotiation: Negotiation,
    config: SessionConfig,
    authenticator: Authenticator,
    binding: Option<Binding>,
}

/// Tag of the one request in flight.
const TAG: u32 = 0;

impl Handshake {
    /// Begins, appending the NEGOTIATE request.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn start(config: SessionConfig, out: &mut Vec<u8>) -> Result<Self, HandshakeError> {
        Self::to(None, config, out)
    }

    /// Begins to make this connection another channel of the session that
    /// `binding` is from. `config` must have the same client GUID, and name
    /// the same user.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn bind(
        config: SessionConfig,
        binding: Binding,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        Self::to(Some(binding), config, out)
    }

    fn to(
        binding: Option<Binding>,
        config: SessionConfig,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let authenticator = Authenticator::new(&config.credentials, config.now)?;
        let negotiation = Negotiation::start(&config, out)?;
        Ok(Self {
            stage: Stage::Negotiating(Box::new(Negotiating {
                negotiation,
                config,
                authenticator,
                binding,
            })),
        })
    }

    /// The messages of a received frame, decrypted in place.
    ///
    /// # Errors
    /// When it is encrypted and does not decrypt; the connection is to be
    /// closed.
    pub fn open<'a>(&self, frame: Frame<'a>) -> Result<Messages<'a>, ProtocolError> {
        match &self.stage {
            Stage::Opening(opening) => opening.0.open(frame),
            Stage::Negotiating(_) | Stage::Over => Ok(frame.open(|_| None)?),
        }
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
        // Wherever this ends in an error, it is over.
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Negotiating(mut negotiating) => {
                self.stage = match negotiating.negotiation.receive(&message)? {
                    Some(connection) => negotiating.agreed(connection, out)?,
                    None => Stage::Negotiating(negotiating),
                };
                Ok(Progress::Continue)
            }
            Stage::Opening(mut both) => {
                let (connection, opening) = &mut *both;
                let opened = match connection.receive(message)? {
                    Event::Completed(done) => opening.receive(connection, &done, out)?,
                    Event::Pending { .. } => Opened::NotYet,
                    Event::Break(_) | Event::Reauthentication { .. } => {
                        return Err(ProtocolError::Unasked(UNSOLICITED).into());
                    }
                };
                match opened {
                    Opened::Ready(_) => Ok(Progress::Ready(both.0)),
                    // Each answer grants at least one credit (MS-SMB2 3.3.1.2),
                    // and none is on its way.
                    Opened::Unfinished => Err(opening.give_up(connection)),
                    Opened::NotYet => {
                        self.stage = Stage::Opening(both);
                        Ok(Progress::Continue)
                    }
                }
            }
            Stage::Over => Err(ProtocolError::NotAResponse.into()),
        }
    }
}

impl Negotiating {
    fn agreed(
        self,
        mut connection: Connection,
        out: &mut Vec<u8>,
    ) -> Result<Stage, HandshakeError> {
        let Self {
            config,
            authenticator,
            binding,
            ..
        } = self;
        let opening = Opening::of(config, authenticator, binding, &mut connection, TAG, out)?;
        Ok(Stage::Opening(Box::new((connection, opening))))
    }
}
