//! SMB servers to run a benchmark against.
//!
//! - [`EmbeddedServer`]: a server in this process with shares in memory. Tests
//!   can inspect the shares ([`MemoryShare`]), and the server can inject faults
//!   ([`Fault`]).
//! - [`ScratchSamba`]: a real `smbd` on loopback, with all its files in a
//!   temporary folder.
//! - [`ScratchKdc`]: a real MIT KDC on loopback, with all its files in a
//!   temporary folder.
//! - [`Tool`] and [`require`]: the programs that tests depend on.
//!
//! Invariant: dropping a server leaves no threads, no processes and no files.
//!
//! Not here: load generation and measurement.

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
pub use memory::{Fault, MemoryCounts, MemoryShare};
pub use options::{ServicePace, ShareAccess, Signing};
pub use password::Password;
pub use samba::{PreparedSamba, SambaBuild, SambaKerberos, SambaOptions, SambaShare, ScratchSamba};
pub use tools::{Skip, Tool, require};
