//! SMB 3.x key derivation (MS-SMB2 3.1.4.2) and the pre-authentication hash it
//! feeds on (3.1.4.4.1).

use aws_lc_rs::{digest, hmac};

/// The running SHA-512 over the messages before authentication.
#[derive(Clone)]
pub struct PreauthHash([u8; 64]);

impl Default for PreauthHash {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl PreauthHash {
    /// Hashes one more message, without its TCP prefix.
    pub fn update(&mut self, message: &[u8]) {
        let mut context = digest::Context::new(&digest::SHA512);
        context.update(&self.0);
        context.update(message);
        self.0.copy_from_slice(context.finish().as_ref());
    }

    /// The hash so far.
    #[must_use]
    pub const fn value(&self) -> &[u8; 64] {
        &self.0
    }
}

/// The signing key of a 3.1.1 session.
#[must_use]
pub fn signing_key_311(session_key: &[u8; 16], preauth: &PreauthHash) -> [u8; 16] {
    derive_128(session_key, b"SMBSigningKey\0", preauth.value())
}

/// SP 800-108 in counter mode with HMAC-SHA256, r = 32, L = 128.
fn derive_128(key: &[u8; 16], label: &[u8], context: &[u8]) -> [u8; 16] {
    let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    mac.update(&1u32.to_be_bytes());
    mac.update(label);
    mac.update(&[0]);
    mac.update(context);
    mac.update(&128u32.to_be_bytes());
    let mut derived = [0; 16];
    derived.copy_from_slice(&mac.sign().as_ref()[..16]);
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        let mut bytes = [0; N];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
        }
        bytes
    }

    /// Microsoft's published 3.1.1 example ("SMB 2 and SMB 3 security in
    /// Windows 10: the anatomy of signing and cryptographic keys").
    #[test]
    fn the_published_3_1_1_signing_key_comes_out() {
        let preauth = PreauthHash(hex(
            "0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79\
             28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01",
        ));
        let key = signing_key_311(&hex("270E1BA896585EEB7AF3472D3B4C75A7"), &preauth);
        assert_eq!(key, hex("73FE7A9A77BEF0BDE49C650D8CCB5F76"));
    }
}
