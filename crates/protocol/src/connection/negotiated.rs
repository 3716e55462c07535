//! The terms that client and server agree on before any session.

use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::dialect::Dialect;
use crate::negotiate::{DIRECTORY_LEASING, LARGE_MTU, LEASING, MULTI_CHANNEL};

/// The terms that the server agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Dialect in use.
    pub dialect: Dialect,
    /// Algorithm for messages that are signed.
    pub signing_algorithm: SigningAlgorithm,
    /// Cipher for messages that are encrypted; `None` if encryption is impossible.
    pub cipher: Option<Cipher>,
    /// Whether the server requires signatures.
    pub server_requires_signing: bool,
    /// Largest READ in bytes.
    pub max_read: u32,
    /// Largest WRITE in bytes.
    pub max_write: u32,
    /// Largest query or directory listing in bytes.
    pub max_transact: u32,
    /// Capability bits of the NEGOTIATE response (MS-SMB2 2.2.4).
    pub capabilities: u32,
    /// The server's own identifier.
    pub server_guid: [u8; 16],
}

impl Negotiated {
    /// Returns the length of the output that a request asks for: `wanted`, but no more
    /// than the server's MaxTransactSize. A server refuses a longer one (MS-SMB2
    /// 3.3.5.15, 3.3.5.18, 3.3.5.19, 3.3.5.20).
    #[must_use]
    pub fn output_len(&self, wanted: u32) -> u32 {
        wanted.min(self.max_transact)
    }

    /// Returns whether the server grants leases (SMB2_GLOBAL_CAP_LEASING;
    /// MS-SMB2 2.2.4).
    #[must_use]
    pub fn offers_leases(&self) -> bool {
        self.dialect > Dialect::Smb202 && self.capabilities & LEASING != 0
    }

    /// Returns whether the server grants leases on directories
    /// (SMB2_GLOBAL_CAP_DIRECTORY_LEASING; MS-SMB2 2.2.4).
    #[must_use]
    pub fn offers_directory_leases(&self) -> bool {
        self.dialect >= Dialect::Smb30 && self.capabilities & DIRECTORY_LEASING != 0
    }

    /// Returns whether requests may cost several credits (MS-SMB2 3.2.5.2).
    #[must_use]
    pub fn multi_credit(&self) -> bool {
        self.dialect > Dialect::Smb202 && self.capabilities & LARGE_MTU != 0
    }

    /// Returns whether sessions may have channels on several connections (MS-SMB2
    /// 3.2.5.2). A server states that only to clients that asked for it.
    #[must_use]
    pub fn multi_channel(&self) -> bool {
        self.dialect >= Dialect::Smb30 && self.capabilities & MULTI_CHANNEL != 0
    }
}
