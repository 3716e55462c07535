//! What client and server agreed on before any session.

use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::dialect::Dialect;
use crate::negotiate::{LARGE_MTU, LEASING, MULTI_CHANNEL};

/// What the server agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Dialect in use.
    pub dialect: Dialect,
    /// Algorithm that signs, where something is signed.
    pub signing_algorithm: SigningAlgorithm,
    /// Cipher that encrypts, where something is; `None` where nothing can be.
    pub cipher: Option<Cipher>,
    /// Whether the server demands signatures.
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
    /// Whether the server grants leases (SMB2_GLOBAL_CAP_LEASING; MS-SMB2
    /// 2.2.4).
    #[must_use]
    pub fn offers_leases(&self) -> bool {
        self.dialect > Dialect::Smb202 && self.capabilities & LEASING != 0
    }

    /// Whether requests may cost several credits (MS-SMB2 3.2.5.2).
    #[must_use]
    pub fn multi_credit(&self) -> bool {
        self.dialect > Dialect::Smb202 && self.capabilities & LARGE_MTU != 0
    }

    /// Whether sessions may have channels on several connections (MS-SMB2
    /// 3.2.5.2). Servers say so to those who ask for it.
    #[must_use]
    pub fn multi_channel(&self) -> bool {
        self.dialect >= Dialect::Smb30 && self.capabilities & MULTI_CHANNEL != 0
    }
}
