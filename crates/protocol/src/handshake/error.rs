//! Errors of a handshake.

use thiserror::Error;

use crate::auth::{AuthError, Logon};
use crate::connection::ProtocolError;
use crate::dialect::Dialect;
use crate::header::Command;
use crate::status::NtStatus;
use crate::wire::DecodeError;

/// The reason why a session was not set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The server answered a set-up request with an error status.
    #[error("{} refused with {status}", .command.name())]
    Refused {
        /// The command of the request.
        command: Command,
        /// The status of the answer.
        status: NtStatus,
    },
    /// The server chose a dialect that was not offered.
    #[error("the server chose {}, which was not offered", named(*.0))]
    Dialect(u16),
    /// The server does not know the user and offers a guest session instead.
    #[error("the server does not know the user and offers a guest session instead")]
    OnlyAsGuest,
    /// The server made an anonymous session (a null session) for a user.
    #[error("the server takes the user for nobody and offers an anonymous session instead")]
    OnlyAsNobody,
    /// A guest session was requested, but the server made a user session.
    #[error("the server knows the user and gives more rights than a guest's, which were asked for")]
    NotAsGuest,
    /// Signing was requested, but the session has no key.
    #[error("the session needs signing, but {} sessions cannot sign", .0.name())]
    CannotSign(Logon),
    /// Signing was switched off, but the server requires it.
    #[error("the server requires signing, which was switched off")]
    SigningRequired,
    /// The signing algorithm of the dialect, or of the server's choice, was not
    /// offered.
    #[error("the server does not sign SMB {0} with an algorithm that was offered")]
    SigningAlgorithm(Dialect),
    /// Encryption was switched off, but the server requires it.
    #[error("the server requires encryption, which was switched off")]
    EncryptionRequired,
    /// One side requires encryption, but it is impossible.
    #[error("{} needs encryption, but SMB {dialect} was negotiated without a cipher", .by.what())]
    NoCipher {
        /// The side that requires it.
        by: Demand,
        /// The chosen dialect.
        dialect: Dialect,
    },
    /// One side requires encryption, but the session has no key.
    #[error("{} needs encryption, but {} sessions cannot encrypt", .by.what(), .logon.name())]
    CannotEncrypt {
        /// The side that requires it.
        by: Demand,
        /// The kind of log-on that the server accepted.
        logon: Logon,
    },
    /// The server does not confirm its NEGOTIATE response.
    #[error("someone between client and server has tampered with the negotiation")]
    Tampered,
    /// The answer to NEGOTIATE is a CIFS message.
    #[error("the server answers in CIFS, which was not offered")]
    Smb1,
    /// SMB2 is needed, but only CIFS was offered.
    #[error("this needs SMB2, but only CIFS was offered")]
    OnlyCifs,
    /// The server does not speak CIFS.
    #[error("the server does not speak CIFS")]
    NoCifs,
    /// The server lacks something that every CIFS server since 1996 has.
    #[error("the server has no Unicode, NTSTATUS codes or NT requests in CIFS")]
    CifsCapabilities,
    /// The server accepts messages of at most this many bytes.
    #[error("the server accepts messages of {0} bytes only, CIFS needs 1024")]
    CifsBuffer(u32),
    /// The server wants passwords as plain text.
    #[error("the server wants the password as plain text, which smbench never sends")]
    PlainPassword,
    /// Signing was requested, but the server cannot sign.
    #[error("the server does not sign in CIFS")]
    NoSigning,
    /// The server has no extended security, which Kerberos needs.
    #[error("the server has no extended security, which Kerberos needs")]
    NoExtendedSecurity,
    /// The server cannot authenticate a session again.
    #[error("the server does not authenticate sessions again in CIFS, so log on anew")]
    NoRenewal,
    /// The server granted no credit for the next request.
    #[error("the server granted no credit for the {}", .0.name())]
    NoCredit(Command),
    /// A further connection reached another server, or its terms differ from
    /// those of the session's first connection.
    #[error("a further connection came to another server, or to other terms, than the first")]
    OtherTerms,
    /// The share is a pipe or a printer.
    #[error("the share is not a disk share")]
    NotADisk,
    /// Authentication failed on the client's side.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The server broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// Names a dialect revision of a server.
fn named(revision: u16) -> String {
    match Dialect::from_revision(revision) {
        Some(dialect) => format!("SMB {dialect}"),
        None => format!("dialect 0x{revision:04x}"),
    }
}

/// The side that requires encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// The client, by [`Policy::Required`](super::Policy::Required).
    Client,
    /// The server, by SMB2_NEGOTIATE_SIGNING_REQUIRED or
    /// SMB2_SESSION_FLAG_ENCRYPT_DATA.
    Server,
    /// The share, by SMB2_SHAREFLAG_ENCRYPT_DATA.
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
