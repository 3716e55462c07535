//! Encryption types: keys from passwords, encryption and checksums, with AES
//! and HMAC-SHA-1 (RFC 3961, RFC 3962) or HMAC-SHA-2 (RFC 8009).
//!
//! Not here: DES and RC4. They are broken, and no server of the last decade
//! needs them.

use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{hmac, pbkdf2, rand};

use super::cts::{self, BLOCK_LEN};

/// The use of a key that is derived from the base key (RFC 3961 5.3). The value
/// is the last byte of the constant that it is derived with.
#[derive(Clone, Copy)]
enum KeyUse {
    Checksum = 0x99,
    Encryption = 0xaa,
    Integrity = 0x55,
}

/// The most rounds of key stretching that a KDC may ask for: about one second
/// of work.
const ITERATIONS_MAX: u32 = 1 << 20;

/// An encryption type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enctype {
    Aes128Sha1,
    Aes256Sha1,
    Aes128Sha2,
    Aes256Sha2,
}

impl Enctype {
    /// All supported types in order of preference.
    pub(super) const ALL: [Self; 4] = [
        Self::Aes256Sha1,
        Self::Aes128Sha1,
        Self::Aes256Sha2,
        Self::Aes128Sha2,
    ];

    pub(super) fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|enctype| i64::from(enctype.number()) == number)
    }

    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Aes128Sha1 => 17,
            Self::Aes256Sha1 => 18,
            Self::Aes128Sha2 => 19,
            Self::Aes256Sha2 => 20,
        }
    }

    /// Returns the number of the checksum type that belongs to this encryption
    /// type.
    pub(super) const fn checksum_number(self) -> u8 {
        match self {
            Self::Aes128Sha1 => 15,
            Self::Aes256Sha1 => 16,
            Self::Aes128Sha2 => 19,
            Self::Aes256Sha2 => 20,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Aes128Sha1 => "aes128-cts-hmac-sha1-96",
            Self::Aes256Sha1 => "aes256-cts-hmac-sha1-96",
            Self::Aes128Sha2 => "aes128-cts-hmac-sha256-128",
            Self::Aes256Sha2 => "aes256-cts-hmac-sha384-192",
        }
    }

    pub(super) const fn key_len(self) -> usize {
        match self {
            Self::Aes128Sha1 | Self::Aes128Sha2 => 16,
            Self::Aes256Sha1 | Self::Aes256Sha2 => 32,
        }
    }

    const fn mac_len(self) -> usize {
        match self {
            Self::Aes128Sha1 | Self::Aes256Sha1 => 12,
            Self::Aes128Sha2 => 16,
            Self::Aes256Sha2 => 24,
        }
    }

    const fn hash(self) -> hmac::Algorithm {
        match self {
            Self::Aes128Sha1 | Self::Aes256Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Aes128Sha2 => hmac::HMAC_SHA256,
            Self::Aes256Sha2 => hmac::HMAC_SHA384,
        }
    }

    const fn is_sha1(self) -> bool {
        matches!(self, Self::Aes128Sha1 | Self::Aes256Sha1)
    }
}

/// A key and its encryption type. `Debug` does not show the key.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) enctype: Enctype,
    pub(super) bytes: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.enctype.name())
    }
}

impl Key {
    /// Makes a key from its bytes. Returns `None` if their number is wrong.
    pub(super) fn new(enctype: Enctype, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == enctype.key_len()).then(|| Self {
            enctype,
            bytes: bytes.to_vec(),
        })
    }

    pub(super) fn random(enctype: Enctype) -> Self {
        let mut bytes = vec![0; enctype.key_len()];
        fill_random(&mut bytes);
        Self { enctype, bytes }
    }

    /// Makes the key of a password. `parameters` are the KDC's: four bytes, or
    /// empty for the default. Returns `None` if they are invalid.
    pub(super) fn from_password(
        enctype: Enctype,
        password: &str,
        salt: &[u8],
        parameters: &[u8],
    ) -> Option<Self> {
        let default = if enctype.is_sha1() { 4096 } else { 32_768 };
        let iterations = match parameters {
            [] => default,
            _ => u32::from_be_bytes(parameters.try_into().ok()?),
        };
        let iterations = NonZeroU32::new(iterations).filter(|n| n.get() <= ITERATIONS_MAX)?;
        let (algorithm, salt) = match enctype {
            Enctype::Aes128Sha1 | Enctype::Aes256Sha1 => (pbkdf2::PBKDF2_HMAC_SHA1, salt.to_vec()),
            Enctype::Aes128Sha2 | Enctype::Aes256Sha2 => {
                let algorithm = match enctype {
                    Enctype::Aes128Sha2 => pbkdf2::PBKDF2_HMAC_SHA256,
                    _ => pbkdf2::PBKDF2_HMAC_SHA384,
                };
                let named = [enctype.name().as_bytes(), &[0], salt];
                (algorithm, named.concat())
            }
        };
        let mut bytes = vec![0; enctype.key_len()];
        pbkdf2::derive(
            algorithm,
            iterations,
            &salt,
            password.as_bytes(),
            &mut bytes,
        );
        let stretched = Self { enctype, bytes };
        let bytes = stretched.derive(b"kerberos", enctype.key_len());
        Some(Self { enctype, bytes })
    }

    /// Derives `len` bytes: DK of RFC 3961 5.1, or KDF-HMAC-SHA2 of RFC 8009 3.
    fn derive(&self, constant: &[u8], len: usize) -> Vec<u8> {
        if !self.enctype.is_sha1() {
            let bits = (len as u32 * 8).to_be_bytes();
            let mut derived = self.mac(&self.bytes, &[&[0, 0, 0, 1], constant, &[0], &bits]);
            derived.truncate(len);
            return derived;
        }
        let mut block = n_fold(constant);
        let mut derived = Vec::with_capacity(len);
        while derived.len() < len {
            cts::encrypt_blocks(&self.bytes, &mut block);
            derived.extend_from_slice(&block);
        }
        derived.truncate(len);
        derived
    }

    fn derive_for(&self, usage: u32, purpose: KeyUse) -> Vec<u8> {
        let mut constant = [0; 5];
        constant[..4].copy_from_slice(&usage.to_be_bytes());
        constant[4] = purpose as u8;
        let len = match purpose {
            KeyUse::Encryption => self.enctype.key_len(),
            // RFC 8009 truncates these keys to the length of the MAC.
            _ if !self.enctype.is_sha1() => self.enctype.mac_len(),
            _ => self.enctype.key_len(),
        };
        self.derive(&constant, len)
    }

    fn mac(&self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        let key = hmac::Key::new(self.enctype.hash(), key);
        let mut context = hmac::Context::with_key(&key);
        for part in parts {
            context.update(part);
        }
        context.sign().as_ref().to_vec()
    }

    /// Returns the checksum of `data`.
    pub(super) fn checksum(&self, usage: u32, data: &[&[u8]]) -> Vec<u8> {
        let mut mac = self.mac(&self.derive_for(usage, KeyUse::Checksum), data);
        mac.truncate(self.enctype.mac_len());
        mac
    }

    /// Returns whether `checksum` is the checksum of `data`.
    pub(super) fn verifies(&self, usage: u32, data: &[&[u8]], checksum: &[u8]) -> bool {
        verify_slices_are_equal(&self.checksum(usage, data), checksum).is_ok()
    }

    pub(super) fn encrypt(&self, usage: u32, plain: &[u8]) -> Vec<u8> {
        let mut confounder = [0; BLOCK_LEN];
        fill_random(&mut confounder);
        self.encrypt_with(usage, plain, confounder)
    }

    fn encrypt_with(&self, usage: u32, plain: &[u8], confounder: [u8; BLOCK_LEN]) -> Vec<u8> {
        let confounded = [&confounder[..], plain].concat();
        let key = self.derive_for(usage, KeyUse::Encryption);
        let mut encrypted = cts::encrypt(&key, confounded.clone());
        let mac = self.integrity(usage, &confounded, &encrypted);
        encrypted.extend_from_slice(&mac);
        encrypted
    }

    /// Decrypts data. Returns `None` for another key, another usage or damaged
    /// data.
    pub(super) fn decrypt(&self, usage: u32, encrypted: &[u8]) -> Option<Vec<u8>> {
        let len = encrypted.len().checked_sub(self.enctype.mac_len())?;
        let (encrypted, mac) = encrypted.split_at(len);
        let key = self.derive_for(usage, KeyUse::Encryption);
        let confounded = cts::decrypt(&key, encrypted.to_vec())?;
        verify_slices_are_equal(&self.integrity(usage, &confounded, encrypted), mac).ok()?;
        Some(confounded[BLOCK_LEN..].to_vec())
    }

    /// Returns the MAC of an encryption. RFC 3961 authenticates the data before
    /// encryption, RFC 8009 the data after it.
    fn integrity(&self, usage: u32, confounded: &[u8], encrypted: &[u8]) -> Vec<u8> {
        let key = self.derive_for(usage, KeyUse::Integrity);
        let mut mac = if self.enctype.is_sha1() {
            self.mac(&key, &[confounded])
        } else {
            self.mac(&key, &[&[0; BLOCK_LEN], encrypted])
        };
        mac.truncate(self.enctype.mac_len());
        mac
    }
}

/// Fills `bytes` with cryptographically random values.
pub(super) fn fill_random(bytes: &mut [u8]) {
    rand::fill(bytes).unwrap_or_else(|_| unreachable!("the system's random source does not fail"));
}

/// Stretches or folds `data` to one block (RFC 3961 5.1).
///
/// It writes copies of `data` one after the other, each rotated by 13 more
/// bits. Then it adds them up block by block in one's complement.
fn n_fold(data: &[u8]) -> [u8; BLOCK_LEN] {
    let bits = data.len() * 8;
    let bit = |at: usize| data[at / 8] >> (7 - at % 8) & 1;
    let total = lcm(data.len(), BLOCK_LEN);
    let mut sum = [0u32; BLOCK_LEN];
    for at in 0..total {
        let copy = at / data.len();
        let byte = (0..8).fold(0, |byte, offset| {
            let source = (at % data.len() * 8 + offset + bits - 13 * copy % bits) % bits;
            byte << 1 | bit(source)
        });
        sum[at % BLOCK_LEN] += u32::from(byte);
    }
    // The carry out of the first byte is added to the last byte.
    while sum.iter().any(|&byte| byte > 0xff) {
        for at in (0..BLOCK_LEN).rev() {
            let carry = sum[at] >> 8;
            sum[at] &= 0xff;
            sum[(at + BLOCK_LEN - 1) % BLOCK_LEN] += carry;
        }
    }
    sum.map(|byte| byte as u8)
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests;
