//! The ciphers of SMB 3.x as one type. They encrypt and authenticate in place,
//! and the tag is separate from the data.
//!
//! GCM comes from the library. The library has no CCM with 11-byte nonces. So
//! CCM (SP 800-38C) is built here from the library's CBC and CTR modes.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{EncryptingKey, EncryptionContext};
use aws_lc_rs::constant_time;
use aws_lc_rs::iv::FixedLength;

use super::cbc::{AesBlock, BLOCK_LEN, CbcMac, unbound};
use crate::algorithm::Cipher;

/// Length of a tag in bytes.
pub const TAG_LEN: usize = 16;
/// Length of the longest nonce that any cipher uses, in bytes.
pub const NONCE_LEN_MAX: usize = 12;

/// A key that is ready to encrypt or to decrypt.
pub struct Aead(CipherMode);

enum CipherMode {
    Gcm(Box<LessSafeKey>),
    Ccm(Box<Ccm>),
}

impl Aead {
    /// Makes a key for `cipher`. `key` must have the length [`Cipher::key_len`].
    #[must_use]
    pub fn new(cipher: Cipher, key: &[u8]) -> Self {
        let gcm = |algorithm| {
            let key = UnboundKey::new(algorithm, key)
                .unwrap_or_else(|_| unreachable!("keys are derived with their cipher's length"));
            CipherMode::Gcm(Box::new(LessSafeKey::new(key)))
        };
        Self(match cipher {
            Cipher::Aes128Gcm => gcm(&AES_128_GCM),
            Cipher::Aes256Gcm => gcm(&AES_256_GCM),
            Cipher::Aes128Ccm | Cipher::Aes256Ccm => CipherMode::Ccm(Box::new(Ccm::new(key))),
        })
    }

    /// Encrypts `data` and returns the tag.
    ///
    /// CCM uses the first 11 bytes of `nonce`, GCM all 12 (MS-SMB2 2.2.41). The
    /// used bytes must never repeat under one key.
    #[must_use]
    pub fn seal(&self, nonce: [u8; NONCE_LEN_MAX], aad: &[u8], data: &mut [u8]) -> [u8; TAG_LEN] {
        match &self.0 {
            CipherMode::Gcm(key) => {
                let nonce = Nonce::assume_unique_for_key(nonce);
                let sealed = key.seal_in_place_separate_tag(nonce, Aad::from(aad), data);
                let mut tag = [0; TAG_LEN];
                match sealed {
                    Ok(sealed) => tag.copy_from_slice(sealed.as_ref()),
                    Err(_) => unreachable!("a message is far below the limits of GCM"),
                }
                tag
            }
            CipherMode::Ccm(key) => key.seal(nonce, aad, data),
        }
    }

    /// Decrypts `data`. Use the result only if the tag was right, that is, if
    /// this returns [`Decrypted::Genuine`].
    pub fn open(
        &self,
        nonce: [u8; NONCE_LEN_MAX],
        aad: &[u8],
        tag: &[u8; TAG_LEN],
        data: &mut [u8],
    ) -> Decrypted {
        let genuine = match &self.0 {
            CipherMode::Gcm(key) => {
                let nonce = Nonce::assume_unique_for_key(nonce);
                key.open_in_place_separate_tag(nonce, Aad::from(aad), tag, data)
                    .is_ok()
            }
            CipherMode::Ccm(key) => {
                let expected = key.open(nonce, aad, data);
                constant_time::verify_slices_are_equal(&expected, tag).is_ok()
            }
        };
        if genuine {
            Decrypted::Genuine
        } else {
            Decrypted::Forged
        }
    }
}

/// Whether a decrypted message can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decrypted {
    /// The owner of the key encrypted exactly this message.
    Genuine,
    /// The message was altered, or encrypted with another key.
    Forged,
}

/// CCM with q = 4 length bytes, 11-byte nonces and 16-byte tags.
struct Ccm {
    mac: CbcMac,
    ctr: EncryptingKey,
}

/// Flags of the first block (SP 800-38C A.2.1): there is associated data,
/// (t - 2) / 2 is 7, and q - 1 is 3.
const FIRST_FLAGS: u8 = 0x40 | 7 << 3 | LENGTH_FLAGS;
const LENGTH_FLAGS: u8 = 3;
const CCM_NONCE_LEN: usize = 11;

impl Ccm {
    fn new(key: &[u8]) -> Self {
        Self {
            mac: CbcMac::new(key),
            ctr: EncryptingKey::ctr(unbound(key))
                .unwrap_or_else(|_| unreachable!("AES has a CTR mode")),
        }
    }

    fn seal(&self, nonce: [u8; NONCE_LEN_MAX], aad: &[u8], data: &mut [u8]) -> AesBlock {
        let tag = self.tag(nonce, aad, data);
        self.apply_keystream(nonce, data);
        tag
    }

    /// Decrypts `data` and returns the tag that belongs to the result.
    fn open(&self, nonce: [u8; NONCE_LEN_MAX], aad: &[u8], data: &mut [u8]) -> AesBlock {
        self.apply_keystream(nonce, data);
        self.tag(nonce, aad, data)
    }

    fn tag(&self, nonce: [u8; NONCE_LEN_MAX], aad: &[u8], data: &[u8]) -> AesBlock {
        let mut state = [0; BLOCK_LEN];
        let first = block(FIRST_FLAGS, nonce, data.len() as u32);
        self.mac.update(&mut state, &first);
        // Length, associated data and zeros, in whole blocks. The associated
        // data is 32 bytes of the transform header.
        let mut head = [0; 3 * BLOCK_LEN];
        head[..2].copy_from_slice(&(aad.len() as u16).to_be_bytes());
        head[2..2 + aad.len()].copy_from_slice(aad);
        let head_len = (2 + aad.len()).next_multiple_of(BLOCK_LEN);
        self.mac.update(&mut state, &head[..head_len]);
        self.mac.update(&mut state, data);
        self.count(block(LENGTH_FLAGS, nonce, 0), &mut state);
        state
    }

    fn apply_keystream(&self, nonce: [u8; NONCE_LEN_MAX], data: &mut [u8]) {
        self.count(block(LENGTH_FLAGS, nonce, 1), data);
    }

    fn count(&self, from: AesBlock, data: &mut [u8]) {
        let context = EncryptionContext::Iv128(FixedLength::from(from));
        let counted = self.ctr.less_safe_encrypt(data, context);
        debug_assert!(counted.is_ok(), "CTR takes any length");
    }
}

fn block(flags: u8, nonce: [u8; NONCE_LEN_MAX], number: u32) -> AesBlock {
    let mut block = [0; BLOCK_LEN];
    block[0] = flags;
    block[1..=CCM_NONCE_LEN].copy_from_slice(&nonce[..CCM_NONCE_LEN]);
    block[1 + CCM_NONCE_LEN..].copy_from_slice(&number.to_be_bytes());
    block
}
