//! Why a handshake came to nothing.

use thiserror::Error;

use crate::auth::{AuthError, Logon};
use crate::connection::ProtocolError;
use crate::dialect::Dialect;
use crate::header::Command;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// Why no session came about.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// The server answered a set-up request with an error status.
    #[error("{} refused with {status}", .command.name())]
    Refused {
        /// The request.
        command: Command,
        /// The answer.
        status: NtStatus,
    },
    /// The server chose a dialect that was not offered.
    #[error("the server chose dialect 0x{0:04x}, which was not offered")]
    Dialect(u16),
    /// The server does not know the user and has guests instead.
    #[error("the server does not know the user and offers a guest session instead")]
    OnlyAsGuest,
    /// A guest was asked for, and the server made it a user.
    #[error("the server knows the user and gives more rights than a guest's, which were asked for")]
    NotAsGuest,
    /// Signing was asked for, but the session has no key.
    #[error("the session is to be signed, but {} sessions cannot be", .0.name())]
    CannotSign(Logon),
    /// Signing was switched off, but the server insists.
    #[error("the server requires signing, which was switched off")]
    SigningRequired,
    /// The dialect's algorithm, or the server's choice, is not among those
    /// offered.
    #[error("the server does not sign SMB {0} with an algorithm that was offered")]
    SigningAlgorithm(Dialect),
    /// Encryption was switched off, but the server insists.
    #[error("the server requires encryption, which was switched off")]
    EncryptionRequired,
    /// Encryption is wanted by one side, but impossible.
    #[error("{} is to be encrypted, but no cipher was agreed on for SMB {dialect}", .by.what())]
    NoCipher {
        /// Who wants it.
        by: Demand,
        /// The dialect chosen.
        dialect: Dialect,
    },
    /// Encryption is wanted by one side, but the session has no key.
    #[error("{} is to be encrypted, but {} sessions cannot be", .by.what(), .logon.name())]
    CannotEncrypt {
        /// Who wants it.
        by: Demand,
        /// As what the user was let in.
        logon: Logon,
    },
    /// The server does not stand by its NEGOTIATE response.
    #[error("someone between client and server has tampered with the negotiation")]
    Tampered,
    /// The answer to NEGOTIATE is one of SMB 1.
    #[error("the server answers in SMB 1, which smbench does not speak")]
    Smb1,
    /// The server has taken the right to send the next request.
    #[error("the server granted no credit for the {}", .0.name())]
    NoCredit(Command),
    /// The server behind a further connection is not the one, or not on the
    /// terms, of the session's first.
    #[error("a further connection came to another server, or to other terms, than the first")]
    OtherTerms,
    /// The share is a pipe or a printer.
    #[error("the share is not a disk share")]
    NotADisk,
    /// Authentication failed on this side.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The server broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// Who wants a session to be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// [`Policy::Required`](super::Policy::Required).
    Client,
    /// SMB2_NEGOTIATE_SIGNING_REQUIRED, SMB2_SESSION_FLAG_ENCRYPT_DATA.
    Server,
    /// SMB2_SHAREFLAG_ENCRYPT_DATA.
    Share,
}

impl Demand {
    const fn what(self) -> &'static str {
        match self {
            Self::Client => "the session",
            Self::Server => "each session of this server",
            Self::Share => "the share",
        }
    }
}

impl From<DecodeError> for HandshakeError {
    fn from(error: DecodeError) -> Self {
        Self::Protocol(error.into())
    }
}
