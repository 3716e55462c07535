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
enum Purpose {
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
    enctype: Enctype,
    bytes: Vec<u8>,
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

    pub(super) const fn enctype(&self) -> Enctype {
        self.enctype
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
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
            cts::encrypt_block(&self.bytes, &mut block);
            derived.extend_from_slice(&block);
        }
        derived.truncate(len);
        derived
    }

    fn derive_for(&self, usage: u32, purpose: Purpose) -> Vec<u8> {
        let mut constant = [0; 5];
        constant[..4].copy_from_slice(&usage.to_be_bytes());
        constant[4] = purpose as u8;
        let len = match purpose {
            Purpose::Encryption => self.enctype.key_len(),
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
        let mut mac = self.mac(&self.derive_for(usage, Purpose::Checksum), data);
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
        let key = self.derive_for(usage, Purpose::Encryption);
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
        let key = self.derive_for(usage, Purpose::Encryption);
        let confounded = cts::decrypt(&key, encrypted.to_vec())?;
        verify_slices_are_equal(&self.integrity(usage, &confounded, encrypted), mac).ok()?;
        Some(confounded[BLOCK_LEN..].to_vec())
    }

    /// Returns the MAC of an encryption. RFC 3961 authenticates the data before
    /// encryption, RFC 8009 the data after it.
    fn integrity(&self, usage: u32, confounded: &[u8], encrypted: &[u8]) -> Vec<u8> {
        let key = self.derive_for(usage, Purpose::Integrity);
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
mod tests {
    use proptest::prelude::*;

    use super::super::hex;
    use super::*;

    fn key(enctype: Enctype, bytes: &str) -> Key {
        Key::new(enctype, &hex(bytes)).unwrap()
    }

    /// RFC 3961 appendix A.1 has one vector of 128 bits. It is also the
    /// constant of string-to-key.
    #[test]
    fn folding_gives_the_vector_of_rfc_3961() {
        assert_eq!(
            n_fold(b"kerberos").to_vec(),
            hex("6b65726265726f737b9b5b2b93132b93")
        );
    }

    /// The examples of RFC 3962 appendix B.
    #[test]
    fn passwords_give_the_keys_of_rfc_3962() {
        for (iterations, password, salt, aes128, aes256) in [
            (
                1u32,
                "password",
                b"ATHENA.MIT.EDUraeburn".to_vec(),
                "42263c6e89f4fc28b8df68ee09799f15",
                "fe697b52bc0d3ce14432ba036a92e65bbb52280990a2fa27883998d72af30161",
            ),
            (
                2,
                "password",
                b"ATHENA.MIT.EDUraeburn".to_vec(),
                "c651bf29e2300ac27fa469d693bdda13",
                "a2e16d16b36069c135d5e9d2e25f896102685618b95914b467c67622225824ff",
            ),
            (
                1200,
                "password",
                b"ATHENA.MIT.EDUraeburn".to_vec(),
                "4c01cd46d632d01e6dbe230a01ed642a",
                "55a6ac740ad17b4846941051e1e8b0a7548d93b0ab30a8bc3ff16280382b8c2a",
            ),
            (
                50,
                "\u{1d11e}",
                b"EXAMPLE.COMpianist".to_vec(),
                "f149c1f2e154a73452d43e7fe62a56e5",
                "4b6d9839f84406df1f09cc166db4b83c571848b784a3d6bdc346589a3e393f9e",
            ),
        ] {
            let parameters = iterations.to_be_bytes();
            for (enctype, expected) in
                [(Enctype::Aes128Sha1, aes128), (Enctype::Aes256Sha1, aes256)]
            {
                let key = Key::from_password(enctype, password, &salt, &parameters).unwrap();
                assert_eq!(key.bytes(), hex(expected), "{enctype:?}, {iterations}");
            }
        }
    }

    /// The examples of RFC 8009 appendix A.
    #[test]
    fn passwords_give_the_keys_of_rfc_8009() {
        let mut salt = hex("10df9dd783e5bc8acea1730e74355f61");
        salt.extend_from_slice(b"ATHENA.MIT.EDUraeburn");
        for (enctype, expected) in [
            (Enctype::Aes128Sha2, "089bca48b105ea6ea77ca5d2f39dc5e7"),
            (
                Enctype::Aes256Sha2,
                "45bd806dbf6a833a9cffc1c94589a222367a79bc21c413718906e9f578a78467",
            ),
        ] {
            for parameters in [&[][..], &32_768u32.to_be_bytes()] {
                let key = Key::from_password(enctype, "password", &salt, parameters).unwrap();
                assert_eq!(key.bytes(), hex(expected));
            }
        }
    }

    #[test]
    fn stretching_without_sense_or_end_is_refused() {
        for parameters in [
            &[0, 0, 0, 0][..],
            &[1],
            &[0; 8],
            &[0xff; 4],
            &[0, 0x10, 0, 1],
        ] {
            let key = Key::from_password(Enctype::Aes128Sha1, "p", b"s", parameters);
            assert_eq!(key, None, "{parameters:?}");
        }
    }

    const SHA2_128: &str = "3705d96080c17728a0e800eab6e0d23c";
    const SHA2_256: &str = "6d404d37faf79f9df0d33568d320669800eb4836472ea8a026d16b7182460c52";

    /// The examples of RFC 8009 appendix A.
    #[test]
    fn derived_keys_are_those_of_rfc_8009() {
        for (enctype, base, checksum, encryption, integrity) in [
            (
                Enctype::Aes128Sha2,
                SHA2_128,
                "b31a018a48f54776f403e9a396325dc3",
                "9b197dd1e8c5609d6e67c3e37c62c72e",
                "9fda0e56ab2d85e1569a688696c26a6c",
            ),
            (
                Enctype::Aes256Sha2,
                SHA2_256,
                "ef5718be86cc84963d8bbb5031e9f5c4ba41f28faf69e73d",
                "56ab22bee63d82d7bc5227f6773f8ea7a5eb1c825160c38312980c442e5c7e49",
                "69b16514e3cd8e56b82010d5c73012b622c4d00ffc23ed1f",
            ),
        ] {
            let key = key(enctype, base);
            for (purpose, expected) in [
                (Purpose::Checksum, checksum),
                (Purpose::Encryption, encryption),
                (Purpose::Integrity, integrity),
            ] {
                assert_eq!(key.derive_for(2, purpose), hex(expected));
            }
        }
    }

    /// The examples of RFC 8009 appendix A.
    #[test]
    fn encryption_gives_the_vectors_of_rfc_8009() {
        let key = key(Enctype::Aes128Sha2, SHA2_128);
        for (plain, confounder, expected) in [
            (
                "",
                "7e5895eaf2672435bad817f545a37148",
                "ef85fb890bb8472f4dab20394dca781dad877eda39d50c870c0d5a0a8e48c718",
            ),
            (
                "000102030405",
                "7bca285e2fd4130fb55b1a5c83bc5b24",
                "84d7f30754ed987bab0bf3506beb09cfb55402cef7e6877ce99e247e52d16ed4421dfdf8976c",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "56ab21713ff62c0a1457200f6fa9948f",
                "3517d640f50ddc8ad3628722b3569d2ae07493fa8263254080ea65c1008e8fc2\
                 95fb4852e7d83e1e7c48c37eebe6b0d3",
            ),
        ] {
            let confounder = hex(confounder).try_into().unwrap();
            let encrypted = key.encrypt_with(2, &hex(plain), confounder);
            assert_eq!(encrypted, hex(expected));
            assert_eq!(key.decrypt(2, &encrypted), Some(hex(plain)));
        }
    }

    /// The examples of RFC 8009 appendix A, and for SHA-1 those of MIT's own tests.
    #[test]
    fn checksums_are_the_published_ones() {
        let counting: Vec<u8> = (0..0x15).collect();
        for (enctype, bytes, usage, data, expected) in [
            (
                Enctype::Aes128Sha2,
                SHA2_128,
                2,
                &counting[..],
                "d78367186643d67b411cba9139fc1dee",
            ),
            (
                Enctype::Aes256Sha2,
                SHA2_256,
                2,
                &counting,
                "45ee791567eefca37f4ac1e0222de80d43c3bfa06699672a",
            ),
            (
                Enctype::Aes128Sha1,
                "9062430c8cda3388922e6d6a509f5b7a",
                3,
                b"eight nine ten eleven twelve thirteen",
                "01a4b088d45628f6946614e3",
            ),
        ] {
            let key = key(enctype, bytes);
            let checksum = key.checksum(usage, &[data]);
            assert_eq!(checksum, hex(expected), "{enctype:?}");
            assert!(key.verifies(usage, &[data], &checksum));
            assert!(!key.verifies(usage + 1, &[data], &checksum));
            assert!(!key.verifies(usage, &[data], &checksum[1..]));
        }
    }

    #[test]
    fn a_key_does_not_show() {
        let key = Key::new(Enctype::Aes128Sha1, &[0x41; 16]).unwrap();
        assert_eq!(format!("{key:?}"), "Key(aes128-cts-hmac-sha1-96)");
        assert_eq!(Key::new(Enctype::Aes128Sha1, &[0x41; 32]), None);
    }

    proptest! {
        #[test]
        fn what_is_encrypted_decrypts_and_damage_does_not(
            plain in proptest::collection::vec(any::<u8>(), 0..100),
            which in 0usize..4,
            at: prop::sample::Index,
        ) {
            let key = Key::random(Enctype::ALL[which]);
            let mut encrypted = key.encrypt(7, &plain);
            let decrypted = key.decrypt(7, &encrypted);
            prop_assert_eq!(decrypted.as_deref(), Some(&plain[..]));
            prop_assert_eq!(key.decrypt(8, &encrypted), None);
            let at = at.index(encrypted.len());
            encrypted[at] ^= 0x10;
            prop_assert_eq!(key.decrypt(7, &encrypted), None);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            for enctype in Enctype::ALL {
                prop_assert_eq!(Key::random(enctype).decrypt(3, &bytes), None);
            }
        }
    }
}
