//! SMB2/3 on the wire, without I/O: it takes bytes and returns events.
//!
//! The caller owns the socket and the clock. Decoders read hostile bytes. They
//! never panic, and they never allocate memory by a length that the peer states.
//!
//! In the order of use:
//!
//! 1. [`Handshake`] negotiates and logs on with [`Credentials`], by the options of a
//!    [`SessionConfig`].
//! 2. [`frame::Inbound`] cuts the received stream into messages.
//! 3. [`Connection`] encodes the requests in [`command`], and turns messages into
//!    [`Event`]s.
//! 4. [`handshake::SessionSetup`] adds sessions to a connection.
//!
//! [`cifs`] has the same for CIFS.

#[macro_use]
mod named;

pub mod algorithm;
mod auth;
pub mod cifs;
pub mod command;
pub mod connection;
pub mod credit;
pub mod crypto;
pub mod dialect;
pub mod directory;
pub mod frame;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod handshake;
pub mod header;
mod negotiate;
mod random;
mod setup;
mod status;
mod upper;
mod wire;

pub use handshake::{
    Channels, Handshake, HandshakeError, HandshakeProgress, Policy, SessionConfig,
};

pub use auth::{Account, AuthError, Claim, Credentials, Logon, LogonPlace, recorded_session_key};
pub use smbench_kerberos as kerberos;

pub use algorithm::{Cipher, CipherList, SigningAlgorithm};
pub use dialect::{Dialect, DialectRange};

pub use connection::{Completion, Connection, Event, ProtocolError, SessionIndex};

pub use command::FileId;
pub use random::random;
pub use status::NtStatus;
pub use wire::DecodeError;
