//! SMB 3.x key derivation (MS-SMB2 3.1.4.2) and its input, the
//! pre-authentication hash (3.1.4.4.1).

use aws_lc_rs::{digest, hmac};

use crate::algorithm::Cipher;
use crate::dialect::Dialect;

/// The running SHA-512 over the messages before authentication has completed.
#[derive(Clone, Debug)]
pub struct PreauthHash([u8; 64]);

impl Default for PreauthHash {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl PreauthHash {
    /// Adds one more message, without its TCP prefix.
    pub fn update(&mut self, message: &[u8]) {
        let mut context = digest::Context::new(&digest::SHA512);
        context.update(&self.0);
        context.update(message);
        self.0.copy_from_slice(context.finish().as_ref());
    }
}

#[cfg(test)]
impl PreauthHash {
    /// Sets the hash to that of a published example.
    pub(super) const fn set(&mut self, value: [u8; 64]) {
        self.0 = value;
    }
}

/// The values that all keys of a session are derived from.
pub struct KeySource<'a> {
    /// The session's dialect.
    pub dialect: Dialect,
    /// The whole key that authentication exchanged: 16 bytes or more.
    pub full_session_key: &'a [u8],
    /// The hash up to the request that completed authentication.
    pub preauth: &'a PreauthHash,
}

/// The use of a derived key.
#[derive(Clone, Copy)]
enum KeyPurpose {
    Sign,
    /// Encrypts messages from the client.
    EncryptByClient,
    /// Encrypts messages from the server.
    EncryptByServer,
}

impl KeySource<'_> {
    /// Derives the signing key. In SMB 2.x it is the session key itself.
    #[must_use]
    pub fn signing(&self) -> [u8; 16] {
        let mut key = [0; 16];
        if self.dialect < Dialect::Smb30 {
            key.copy_from_slice(self.session_key());
        } else {
            self.derive(self.session_key(), KeyPurpose::Sign, &mut key);
        }
        key
    }

    /// Derives the two encryption keys: first the client's, then the server's.
    #[must_use]
    pub fn encryption(&self, cipher: Cipher) -> [Vec<u8>; 2] {
        let len = cipher.key_len();
        let source = if len == 16 {
            self.session_key()
        } else {
            self.full_session_key
        };
        [KeyPurpose::EncryptByClient, KeyPurpose::EncryptByServer].map(|purpose| {
            let mut key = vec![0; len];
            self.derive(source, purpose, &mut key);
            key
        })
    }

    fn session_key(&self) -> &[u8] {
        &self.full_session_key[..16]
    }

    fn derive(&self, source: &[u8], purpose: KeyPurpose, key: &mut [u8]) {
        let (label, context): (&[u8], &[u8]) = if self.dialect == Dialect::Smb311 {
            let label: &[u8] = match purpose {
                KeyPurpose::Sign => b"SMBSigningKey\0",
                KeyPurpose::EncryptByClient => b"SMBC2SCipherKey\0",
                KeyPurpose::EncryptByServer => b"SMBS2CCipherKey\0",
            };
            (label, &self.preauth.0)
        } else {
            match purpose {
                KeyPurpose::Sign => (b"SMB2AESCMAC\0", b"SmbSign\0"),
                KeyPurpose::EncryptByClient => (b"SMB2AESCCM\0", b"ServerIn \0"),
                KeyPurpose::EncryptByServer => (b"SMB2AESCCM\0", b"ServerOut\0"),
            }
        };
        derive(source, label, context, key);
    }
}

/// Derives a key by SP 800-108 in counter mode, with HMAC-SHA256 and r = 32.
/// `key` has at most 32 bytes, the output of one iteration.
fn derive(source: &[u8], label: &[u8], context: &[u8], key: &mut [u8]) {
    let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, source));
    mac.update(&1u32.to_be_bytes());
    mac.update(label);
    mac.update(&[0]);
    mac.update(context);
    mac.update(&(8 * key.len() as u32).to_be_bytes());
    let len = key.len();
    key.copy_from_slice(&mac.sign().as_ref()[..len]);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::crypto) fn hex<const N: usize>(text: &str) -> [u8; N] {
        assert_eq!(text.len(), 2 * N);
        let mut bytes = [0; N];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
        }
        bytes
    }

    /// Microsoft's published examples ("SMB 2 and SMB 3 security in Windows 10:
    /// the anatomy of signing and cryptographic keys").
    #[test]
    fn the_published_keys_come_out() {
        let preauth = PreauthHash(hex(
            "0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79\
             28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01",
        ));
        for (dialect, cipher, session, signing, encryption, decryption) in [
            (
                Dialect::Smb30,
                Cipher::Aes128Ccm,
                "7CD451825D0450D235424E44BA6E78CC",
                "0B7E9C5CAC36C0F6EA9AB275298CEDCE",
                "FAD27796665B313EBB578F388632B4F7",
                "B0F0427F7CEB416D1D9DCC0CD4F99447",
            ),
            (
                Dialect::Smb311,
                Cipher::Aes128Gcm,
                "270E1BA896585EEB7AF3472D3B4C75A7",
                "73FE7A9A77BEF0BDE49C650D8CCB5F76",
                "629BCBC54422A0F572B97F45989B6073",
                "E2AF0DCEFAC68DA71A0DFBD0D1350D74",
            ),
        ] {
            let source = KeySource {
                dialect,
                full_session_key: &hex::<16>(session),
                preauth: &preauth,
            };
            assert_eq!(source.signing(), hex(signing));
            let [client, server] = source.encryption(cipher);
            assert_eq!(client, hex::<16>(encryption));
            assert_eq!(server, hex::<16>(decryption));
        }
    }

    #[test]
    fn long_keys_use_all_of_a_long_session_key() {
        let preauth = PreauthHash::default();
        let keys = |full_session_key: &[u8], cipher| {
            let source = KeySource {
                dialect: Dialect::Smb311,
                full_session_key,
                preauth: &preauth,
            };
            source.encryption(cipher)
        };
        let (mut long, short) = ([1; 32], [1; 16]);
        long[31] = 2;
        assert_eq!(
            keys(&long, Cipher::Aes128Gcm),
            keys(&short, Cipher::Aes128Gcm)
        );
        let [client, server] = keys(&long, Cipher::Aes256Gcm);
        assert_eq!((client.len(), server.len()), (32, 32));
        assert_ne!(client, server);
        assert_ne!([client, server], keys(&short, Cipher::Aes256Gcm));
    }

    #[test]
    fn smb_2_signs_with_the_session_key() {
        let source = KeySource {
            dialect: Dialect::Smb21,
            full_session_key: &[9; 32],
            preauth: &PreauthHash::default(),
        };
        assert_eq!(source.signing(), [9; 16]);
    }
}
