//! SMB2/3 on the wire, without I/O: bytes in, events out.
//!
//! The caller owns the socket and the clock. Decoders face hostile bytes: they
//! never panic and never allocate by a length a peer states.

pub mod command;
mod dialect;
pub mod header;
mod status;
mod wire;

pub use command::FileId;
pub use dialect::{Dialect, SigningAlgorithm, UnknownDialect};
pub use status::NtStatus;
pub use wire::DecodeError;
