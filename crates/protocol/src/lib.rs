//! SMB2/3 on the wire, without I/O: it takes bytes and returns events.
//!
//! The caller owns the socket and the clock. Decoders read hostile bytes. They
//! never panic, and they never allocate memory by a length that the peer states.
//!
//! A connection starts as a [`handshake::Handshake`] and becomes a
//! [`connection::Connection`]. [`handshake::Opening`] adds sessions to it.
//! [`frame::Inbound`] cuts the received stream into messages for all of these.

mod algorithm;
mod auth;
pub mod command;
pub mod connection;
pub mod credit;
pub mod crypto;
mod dialect;
pub mod directory;
pub mod frame;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod handshake;
pub mod header;
mod negotiate;
mod setup;
mod status;
mod wire;

pub use algorithm::{Cipher, CipherList, SigningAlgorithm, UnknownCipher, UnknownSigning};
pub use auth::{Account, AuthError, Credentials, Logon};
pub use command::FileId;
pub use command::lease::{LeaseKey, LeaseState, UnknownLease};
pub use connection::{
    Binding, Chain, Completion, Connection, Event, Negotiated, NoCredit, NotInFlight,
    ProtocolError, Reauthentication, ReauthenticationError, RequestError, SessionIndex,
    SessionTerms, TreeId,
};
pub use dialect::{Dialect, DialectRange, UnknownDialect};
pub use handshake::{
    Channels, Handshake, HandshakeError, Opened, Opening, Policy, Progress, SessionConfig,
};
pub use smbench_kerberos as kerberos;
pub use status::NtStatus;
pub use wire::DecodeError;
