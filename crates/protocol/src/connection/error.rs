//! Why a connection is unusable, or a request cannot be sent now.

use thiserror::Error;

use crate::frame::Undecipherable;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// A connection that can no longer be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProtocolError {
    /// A message does not follow MS-SMB2.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The stream is not SMB over direct TCP.
    #[error(transparent)]
    Frame(#[from] crate::frame::FrameError),
    /// No request with this message id is in flight.
    #[error("an answer to message {0}, which was not asked")]
    Unasked(u64),
    /// The answer names another command than the request.
    #[error("a {got} answer to a {asked} request")]
    WrongCommand {
        /// Name of the command sent.
        asked: &'static str,
        /// Name of the command received.
        got: &'static str,
    },
    /// The message is a request, or answers for another session.
    #[error("a message that is no answer to this session")]
    NotAResponse,
    /// Missing or wrong signature on a signed session.
    #[error("a {0} answer whose signature is missing or wrong")]
    Signature(&'static str),
    /// An unprotected end of a protected session: a server that has forgotten
    /// the session has no key for its answer (MS-SMB2 3.3.5.2.9).
    #[error("an unprotected {0}, as a server sends when it has ended the session")]
    SessionEnded(NtStatus),
    /// The server has let the session go on, but not as it should.
    #[error("a wrong answer to authenticating again: {0}")]
    Reauthentication(String),
    /// An encrypted message is damaged, forged or for someone else.
    #[error(transparent)]
    Undecipherable(#[from] Undecipherable),
    /// A message in plain on an encrypted session.
    #[error("a {0} answer in plain on an encrypted session")]
    Unencrypted(&'static str),
}

/// Not enough credits at hand to send this request now.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no credit for the request")]
pub struct NoCredit;

/// A request that was not sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RequestError<E> {
    /// Not enough credits at hand.
    #[error(transparent)]
    NoCredit(#[from] NoCredit),
    /// Its body cannot be put on the wire.
    #[error(transparent)]
    Body(E),
}

/// No request with this tag is in flight: it has been answered meanwhile.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no request with this tag is in flight")]
pub struct NotInFlight;
