//! The caller's parameters of a session.

use std::time::SystemTime;

use crate::algorithm::{CipherList, SigningAlgorithm};
use crate::auth::{Claim, Credentials, LogonPlace};
use crate::credit::CreditLedger;
use crate::crypto::NONCE_SEED_LEN;
use crate::dialect::DialectRange;
use crate::negotiate::Channels;

/// The user's choice for signing or for encryption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Use it if the server requires it.
    #[default]
    AsServerRequires,
    /// Always use it, or fail.
    Required,
    /// Never use it, or fail. The protocol has two exceptions for signing: 3.1.1
    /// signs TREE_CONNECT, and 3.0 signs the validation of the negotiation.
    Off,
}

/// The parameters of a connection and its session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Dialects to offer.
    pub dialects: DialectRange,
    /// Signing. Encrypted messages are not signed.
    pub signing: Policy,
    /// The one algorithm to sign with. `None` uses the dialect's; 3.1.1 prefers
    /// AES-GMAC to AES-CMAC.
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// Encryption.
    pub encryption: Policy,
    /// Ciphers to offer. SMB 3.0 and 3.0.2 have AES-128-CCM only.
    pub ciphers: CipherList,
    /// The credentials of the user.
    pub credentials: Credentials,
    /// The wall-clock time. Kerberos uses it to prove that a log-on is new.
    pub now: SystemTime,
    /// The server's name or address as the user gave it.
    pub host: String,
    /// The NetBIOS name of the client's machine; empty if it has none.
    pub workstation: String,
    /// The share's name.
    pub share: String,
    /// Number of credits to aim for.
    pub credit_target: u16,
    /// Largest number of credits to use, even if more are granted; `None` for
    /// no limit.
    pub credit_cap: Option<u16>,
    /// The number of connections of the session.
    pub channels: Channels,
    /// Identifies this client to the server. It is the same on all connections
    /// of a session.
    pub client_guid: [u8; 16],
    /// The id of an earlier session of this client, which the server then ends; 0 for none
    /// (MS-SMB2 2.2.5).
    pub previous_session: u64,
    /// Random bytes for the 3.1.1 pre-authentication salt.
    pub salt: [u8; 32],
    /// Random bytes that the nonces of encryption start from.
    pub nonce_seed: [u8; NONCE_SEED_LEN],
}

impl SessionConfig {
    /// Returns what the client says in its log-on.
    #[must_use]
    pub fn claim(&self) -> Claim<'_> {
        Claim {
            credentials: &self.credentials,
            place: LogonPlace {
                host: &self.host,
                workstation: &self.workstation,
            },
            now: self.now,
        }
    }

    /// Makes the credit ledger of a new connection.
    pub(super) fn ledger(&self) -> CreditLedger {
        let ledger = CreditLedger::new(self.credit_target);
        match self.credit_cap {
            Some(cap) => ledger.capped(cap),
            None => ledger,
        }
    }
}
