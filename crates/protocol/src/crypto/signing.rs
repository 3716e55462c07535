//! Message signing (MS-SMB2 3.1.4.1, 3.1.5.1).
//!
//! The signature is the MAC of the whole message with a zero signature field.
//! Its first 16 bytes are stored at offset 48.

use std::fmt;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{constant_time, hmac};

use super::cbc::Cmac;
use super::mark::MarkedMac;
use crate::algorithm::SigningAlgorithm;
use crate::header::{Command, Flags, HEADER_LEN};

const SIGNATURE: std::ops::Range<usize> = 48..64;
const FLAGS: usize = 16;
const COMMAND: usize = 12;
const MESSAGE_ID: std::ops::Range<usize> = 24..32;

/// A session's signing key, ready for use.
pub struct Signer {
    pub(super) mac: Mac,
}

pub(super) enum Mac {
    Hmac(Box<hmac::Key>),
    Cmac(Box<Cmac>),
    Gmac(Box<LessSafeKey>),
    /// The session has lost a channel.
    Marked(Box<MarkedMac>),
}

impl Signer {
    /// Makes a signer with `algorithm` and a 16-byte key.
    #[must_use]
    pub fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Self {
        let mac = match algorithm {
            SigningAlgorithm::HmacSha256 => {
                Mac::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
            }
            SigningAlgorithm::AesCmac => Mac::Cmac(Box::new(Cmac::new(key))),
            SigningAlgorithm::AesGmac => {
                let key = UnboundKey::new(&AES_128_GCM, key)
                    .unwrap_or_else(|_| unreachable!("AES-128 takes 16-byte keys"));
                Mac::Gmac(Box::new(LessSafeKey::new(key)))
            }
        };
        Self::of(mac)
    }

    pub(super) const fn of(mac: Mac) -> Self {
        Self { mac }
    }

    /// Returns the algorithm in use; `None` in a session that has lost a channel.
    #[must_use]
    pub const fn algorithm(&self) -> Option<SigningAlgorithm> {
        Some(match self.mac {
            Mac::Hmac(_) => SigningAlgorithm::HmacSha256,
            Mac::Cmac(_) => SigningAlgorithm::AesCmac,
            Mac::Gmac(_) => SigningAlgorithm::AesGmac,
            Mac::Marked(_) => return None,
        })
    }

    /// Sets the SIGNED flag and the signature of `message`. It must start at an
    /// SMB2 header and be complete otherwise.
    pub fn sign(&self, message: &mut [u8]) {
        debug_assert!(message.len() >= HEADER_LEN);
        message[FLAGS] |= Flags::SIGNED.0 as u8;
        message[SIGNATURE].fill(0);
        let signature = self.mac_of(message);
        message[SIGNATURE].copy_from_slice(&signature);
    }

    /// Returns whether the signature of `message` is right. The signature field
    /// is set to zero meanwhile and restored afterwards.
    #[must_use]
    pub fn verify(&self, message: &mut [u8]) -> bool {
        if message.len() < HEADER_LEN {
            return false;
        }
        let mut received = [0; 16];
        received.swap_with_slice(&mut message[SIGNATURE]);
        let expected = self.mac_of(message);
        message[SIGNATURE].copy_from_slice(&received);
        constant_time::verify_slices_are_equal(&expected, &received).is_ok()
    }

    #[inline]
    pub(super) fn mac_of(&self, message: &mut [u8]) -> [u8; 16] {
        match &self.mac {
            Mac::Marked(marked) => marked.mac_of(message),
            mac => mac.of(message),
        }
    }
}

impl Mac {
    /// Returns the signature of a message that needs no mark.
    #[inline(always)]
    pub(super) fn of(&self, message: &[u8]) -> [u8; 16] {
        let mut signature = [0; 16];
        match self {
            Self::Hmac(key) => {
                signature.copy_from_slice(&hmac::sign(key, message).as_ref()[..16]);
            }
            Self::Cmac(key) => signature = key.sign(message),
            Self::Gmac(key) => {
                let nonce = Nonce::assume_unique_for_key(gmac_nonce(message));
                match key.seal_in_place_separate_tag(nonce, Aad::from(message), &mut []) {
                    Ok(tag) => signature.copy_from_slice(tag.as_ref()),
                    Err(_) => unreachable!("a message is far below the limits of GCM"),
                }
            }
            Self::Marked(_) => unreachable!("a mark is not marked"),
        }
        signature
    }
}

/// Makes the nonce (MS-SMB2 3.1.4.1): the message id, the sender, and whether the
/// message is a CANCEL. A CANCEL has the message id of the request it cancels.
fn gmac_nonce(message: &[u8]) -> [u8; 12] {
    const FROM_SERVER: u8 = 1;
    const CANCEL: u8 = 2;
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&message[MESSAGE_ID]);
    if message[FLAGS] & Flags::RESPONSE.0 as u8 != 0 {
        nonce[8] |= FROM_SERVER;
    }
    if message[COMMAND..COMMAND + 2] == (Command::Cancel as u16).to_le_bytes() {
        nonce[8] |= CANCEL;
    }
    nonce
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm() {
            Some(algorithm) => write!(f, "Signer({algorithm})"),
            None => f.write_str("Signer(after the loss of a channel)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Command, Header};
    use proptest::prelude::*;

    fn message(body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header::request(Command::Write, 7).encode(&mut bytes);
        bytes.extend_from_slice(body);
        bytes
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_detected(
            body in proptest::collection::vec(any::<u8>(), 0..300),
            key in any::<[u8; 16]>(),
            at in any::<proptest::sample::Index>(),
            bit in 0u8..8,
        ) {
            for algorithm in SigningAlgorithm::ALL {
                let signer = Signer::new(algorithm, &key);
                let mut bytes = message(&body);
                signer.sign(&mut bytes);
                let signed = bytes.clone();
                prop_assert!(signer.verify(&mut bytes));
                prop_assert_eq!(&bytes, &signed);
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
                prop_assert!(!signer.verify(&mut bytes));
            }
        }
    }

    /// The signed SESSION_SETUP response of Microsoft's published 3.1.1 example
    /// ("the anatomy of signing and cryptographic keys").
    #[test]
    fn the_published_signature_verifies() {
        let mut bytes = unhex(
            "FE534D4240000100000000000100800009000000000000000300000000000000FFFE000000000000\
             1900000000100000EBE146DA120BA25FC3376A49DFE31BC10900000048001D00A11B3019A0030A01\
             00A3120410010000003B453CDC3524164200000000",
        );
        let key = unhex("73FE7A9A77BEF0BDE49C650D8CCB5F76");
        let signer = Signer::new(SigningAlgorithm::AesCmac, &key.try_into().unwrap());
        assert!(signer.verify(&mut bytes));
        let mut again = bytes.clone();
        signer.sign(&mut again);
        assert_eq!(again, bytes);
    }

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn a_message_shorter_than_a_header_is_not_signed() {
        let signer = Signer::new(SigningAlgorithm::AesCmac, &[1; 16]);
        assert!(!signer.verify(&mut [0; 63]));
    }

    #[test]
    fn a_nonce_tells_direction_and_cancel_from_the_rest() {
        let mut bytes = message(b"");
        assert_eq!(gmac_nonce(&bytes), [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes[FLAGS] = Flags::RESPONSE.0 as u8;
        assert_eq!(gmac_nonce(&bytes)[8..], [1, 0, 0, 0]);
        bytes[FLAGS] = 0;
        bytes[COMMAND] = Command::Cancel as u8;
        assert_eq!(gmac_nonce(&bytes)[8..], [2, 0, 0, 0]);
    }
}
