//! Errors of connections and of single requests.

use thiserror::Error;

use crate::frame::Undecipherable;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// The reason why a connection can no longer be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The message is a request, or belongs to another session.
    #[error("a message that is no answer to this session")]
    NotAResponse,
    /// The signature on a signed session is missing or wrong.
    #[error("a {0} answer whose signature is missing or wrong")]
    Signature(&'static str),
    /// The server ended a protected session with an unprotected message. A server
    /// that has deleted the session has no key for its answer (MS-SMB2 3.3.5.2.9).
    #[error("an unprotected {0}, as a server sends when it has ended the session")]
    SessionEnded(NtStatus),
    /// The server accepted a re-authentication, but its answer is wrong.
    #[error("a wrong answer to authenticating again: {0}")]
    Reauthentication(String),
    /// An encrypted message is damaged, forged, or for another session.
    #[error(transparent)]
    Undecipherable(#[from] Undecipherable),
    /// A message on an encrypted session was not encrypted.
    #[error("a {0} answer in plain on an encrypted session")]
    Unencrypted(&'static str),
}

/// Error for a request that the available credits do not suffice for.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no credit for the request")]
pub struct NoCredit;

/// Error for a tag that belongs to no request in flight. The request was
/// answered meanwhile.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no request with this tag is in flight")]
pub struct NotInFlight;
