//! CIFS on the wire, without I/O: the dialect NT LM 0.12, also called SMB1 (MS-CIFS,
//! MS-SMB).
//!
//! The counterpart of the SMB2 modules, in the order of use:
//!
//! 1. [`handshake::CifsHandshake`] negotiates and logs on.
//! 2. [`CifsConnection`] encodes the requests in [`command`], and turns messages into
//!    [`CifsEvent`]s.
//! 3. [`handshake::CifsSetup`] adds sessions to a connection.
//!
//! Only Unicode strings and NTSTATUS codes are spoken.

pub mod command;
pub mod connection;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod handshake;
pub mod header;

pub use command::FileNumber;
pub use connection::{CifsCompletion, CifsConnection, CifsEvent, CifsTree, TRANSACTION_DATA_MAX};
