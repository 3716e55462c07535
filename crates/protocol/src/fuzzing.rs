//! Access for the fuzz targets to parts that are otherwise private: decoders
//! that only the handshake calls, and connections made without a handshake.
//!
//! The module is compiled with the feature `fuzzing` only.

use smb_msg::{SessionSetupResponse, TreeConnectResponse};
use smbench_kerberos::DecodeError;

use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::auth::Logon;
use crate::connection::{Channel, Connection, Negotiated, Protection, SessionTerms};
use crate::credit::{CreditLedger, Payment};
use crate::crypto::{KeySource, NONCE_SEED_LEN, PreauthHash, Signer, Transform};
use crate::dialect::Dialect;
use crate::negotiate::{LARGE_MTU, NegotiateResponse};
use crate::setup;

/// The session id of every [`connection`].
pub const SESSION_ID: u64 = 0x51;
/// The session key of every protected [`connection`].
pub const SESSION_KEY: [u8; 16] = [7; 16];

/// The protection of a [`connection`].
#[derive(Clone, Copy, Debug)]
pub enum FuzzProtection {
    /// Messages are neither signed nor encrypted.
    None,
    /// Messages are signed as in 3.1.1.
    Signed(SigningAlgorithm),
    /// Messages are encrypted as in 3.1.1.
    Encrypted(Cipher),
}

/// Makes a 3.1.1 connection that is set up and has 100 credits.
#[must_use]
pub fn connection(shield: FuzzProtection) -> Connection {
    let preauth = PreauthHash::default();
    let keys = keys(&preauth);
    let (protection, signing, encryption) = match shield {
        FuzzProtection::None => (Protection::None, None, None),
        FuzzProtection::Signed(algorithm) => {
            let signer = Signer::new(algorithm, &keys.signing());
            (Protection::Signed(signer), Some(algorithm), None)
        }
        FuzzProtection::Encrypted(cipher) => {
            let transform = Transform::new(cipher, &keys, SESSION_ID, [1; NONCE_SEED_LEN]);
            (Protection::Encrypted(transform), None, Some(cipher))
        }
    };
    let negotiated = Negotiated {
        dialect: Dialect::Smb311,
        signing_algorithm: signing.unwrap_or(SigningAlgorithm::AesCmac),
        cipher: encryption,
        server_requires_signing: false,
        max_read: 1 << 20,
        max_write: 1 << 20,
        max_transact: 1 << 20,
        capabilities: LARGE_MTU,
        server_guid: [0; 16],
    };
    let mut credits = CreditLedger::new(128);
    credits.answered(Payment::default(), 99);
    let mut connection = Connection::new(negotiated, credits, preauth.clone(), None, Vec::new());
    connection.add(Channel {
        session_id: SESSION_ID,
        tree_id: 3,
        protection,
        terms: SessionTerms {
            signing,
            encryption,
            logon: Logon::Ntlm,
        },
        signer: None,
        root: None,
    });
    connection
}

/// Returns the source that the keys of every protected [`connection`] are
/// derived from.
#[must_use]
pub fn keys(preauth: &PreauthHash) -> KeySource<'_> {
    KeySource {
        dialect: Dialect::Smb311,
        full_session_key: &SESSION_KEY,
        preauth,
    }
}

/// Decodes a NEGOTIATE response.
///
/// # Errors
/// Returns an error if the response is malformed.
pub fn negotiate_response(message: &[u8]) -> Result<(), DecodeError> {
    NegotiateResponse::decode(message).map(|_| ())
}

/// Decodes the response to FSCTL_VALIDATE_NEGOTIATE_INFO.
///
/// # Errors
/// Returns an error if the response is malformed.
pub fn validation_response(message: &[u8]) -> Result<(), DecodeError> {
    let answer = NegotiateResponse {
        security_mode: 1,
        revision: Dialect::Smb302 as u16,
        server_guid: [0x5E; 16],
        capabilities: LARGE_MTU,
        max_transact: 1,
        max_read: 2,
        max_write: 3,
        signing: None,
        cipher: None,
    };
    answer.is_confirmed_by(message).map(|_| ())
}

/// Decodes a SESSION_SETUP response.
///
/// # Errors
/// Returns an error if the response is malformed.
pub fn session_setup_response(message: &[u8]) -> Result<(), DecodeError> {
    setup::decode::<SessionSetupResponse>(message, "SESSION_SETUP response").map(|_| ())
}

/// Decodes a TREE_CONNECT response.
///
/// # Errors
/// Returns an error if the response is malformed.
pub fn tree_connect_response(message: &[u8]) -> Result<(), DecodeError> {
    setup::decode::<TreeConnectResponse>(message, "TREE_CONNECT response").map(|_| ())
}

/// Decodes `bytes` as each type of encrypted Kerberos message, after decryption.
pub fn kerberos_opened(bytes: &[u8]) {
    smbench_kerberos::decode_opened(bytes);
}
