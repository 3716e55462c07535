//! What a caller asks of a session.

use std::time::SystemTime;

use crate::algorithm::{CipherList, SigningAlgorithm};
use crate::auth::Credentials;
use crate::credit::CreditLedger;
use crate::crypto::NONCE_SEED_LEN;
use crate::dialect::DialectRange;

/// Signing or encryption as the user wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// When the server requires it.
    #[default]
    AsServerRequires,
    /// Always, or fail.
    Required,
    /// Never, or fail. (3.1.1 still signs TREE_CONNECT, and 3.0 the validation
    /// of the negotiation; they must.)
    Off,
}

/// Over how many connections a session is to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// The one it is set up on.
    #[default]
    One,
    /// Further ones may follow: asks whether the server offers them, and keeps
    /// the session's keys for them.
    Several,
}

/// What to ask of the server.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Dialects to offer.
    pub dialects: DialectRange,
    /// Signing. What is encrypted is not signed besides.
    pub signing: Policy,
    /// The one algorithm to sign with; `None` takes what the dialect has, in
    /// 3.1.1 AES-GMAC before AES-CMAC.
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// Encryption.
    pub encryption: Policy,
    /// Ciphers to offer. SMB 3.0 and 3.0.2 have AES-128-CCM only.
    pub ciphers: CipherList,
    /// Who logs on.
    pub credentials: Credentials,
    /// The time by the wall clock; Kerberos proves that a log-on is new by it.
    pub now: SystemTime,
    /// The server's name or address, as the user knows it.
    pub host: String,
    /// The share's name.
    pub share: String,
    /// Credits to strive for.
    pub credit_target: u16,
    /// Credits to use at most, whatever is granted; `None` for no limit.
    pub credit_cap: Option<u16>,
    /// Over how many connections the session is to go.
    pub channels: Channels,
    /// Identifies this client to the server; the same on all connections that
    /// share a session.
    pub client_guid: [u8; 16],
    /// Unpredictable bytes for the 3.1.1 pre-authentication salt.
    pub salt: [u8; 32],
    /// Unpredictable bytes for the nonces of encryption to start from.
    pub nonce_seed: [u8; NONCE_SEED_LEN],
}

impl SessionConfig {
    /// The account of a new connection.
    pub(super) fn ledger(&self) -> CreditLedger {
        let ledger = CreditLedger::new(self.credit_target);
        match self.credit_cap {
            Some(cap) => ledger.capped(cap),
            None => ledger,
        }
    }
}
