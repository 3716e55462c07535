//! SMB servers to run a benchmark against.
//!
//! - [`EmbeddedServer`]: a server in this process with shares in memory, which
//!   tests can look into ([`MemoryShare`]) and which misbehaves on request
//!   ([`Fault`]).
//! - [`ScratchSamba`]: a real `smbd` with everything it owns in a temporary
//!   folder, on loopback.
//! - [`ScratchKdc`]: a real MIT KDC, likewise.
//! - [`Tool`] and [`require`]: the programs tests depend on.
//!
//! Invariant: dropping a server leaves nothing behind, neither threads nor
//! processes nor files. Not here: anything that generates load or measures.

#![forbid(unsafe_code)]

mod embedded;
mod error;
mod kdc;
mod lock;
mod memory;
mod options;
mod password;
mod port;
mod process;
mod samba;
mod tools;

pub use embedded::{EmbeddedOptions, EmbeddedServer};
pub use error::LabError;
pub use kdc::{KdcOptions, ScratchKdc};
pub use memory::{Fault, MemoryCounts, MemoryOptions, MemoryShare, NOMINAL_CAPACITY_BYTES};
pub use options::{ShareAccess, Signing};
pub use password::Password;
pub use samba::{PreparedSamba, SambaKerberos, SambaOptions, SambaShare, ScratchSamba};
pub use tools::{Skip, Tool, require};
