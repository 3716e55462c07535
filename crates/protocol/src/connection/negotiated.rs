//! What client and server agreed on.

use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::auth::Logon;
use crate::dialect::Dialect;
use crate::negotiate::{LARGE_MTU, LEASING};

/// What the server agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Dialect in use.
    pub dialect: Dialect,
    /// Algorithm that signs every message, `None` when messages go unsigned;
    /// encrypted ones do.
    pub signing: Option<SigningAlgorithm>,
    /// Cipher that encrypts every message, `None` when messages go in plain.
    pub encryption: Option<Cipher>,
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
    /// As what the server let the user in.
    pub logon: Logon,
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
}
