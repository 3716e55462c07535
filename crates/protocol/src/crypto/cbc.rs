//! Message authentication with cipher block chaining: the CBC-MAC inside CCM,
//! and CMAC (RFC 4493), which is built on it.
//!
//! The library's CMAC copies its context to the heap for each message. Here the
//! state is one block on the stack.

use aws_lc_rs::cipher::{AES_128, AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;

/// An AES block.
pub(super) type AesBlock = [u8; BLOCK_LEN];
pub(super) const BLOCK_LEN: usize = 16;
/// Bytes chained at a time. They fit into the first-level cache.
const CHUNK_LEN: usize = 2048;

/// Makes an unbound AES key from 16 or 32 bytes.
pub(super) fn unbound(key: &[u8]) -> UnboundCipherKey {
    let algorithm = if key.len() == 32 { &AES_256 } else { &AES_128 };
    UnboundCipherKey::new(algorithm, key)
        .unwrap_or_else(|_| unreachable!("keys are derived with their cipher's length"))
}

/// A key for CBC-MAC.
pub(super) struct CbcMac {
    key: EncryptingKey,
}

impl CbcMac {
    /// Makes a key for CBC-MAC from 16 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        Self {
            key: EncryptingKey::cbc(unbound(key))
                .unwrap_or_else(|_| unreachable!("AES has a CBC mode")),
        }
    }

    /// Chains `data` into `state` and fills the last block with zeros.
    pub(super) fn update(&self, state: &mut AesBlock, data: &[u8]) {
        let mut chunk = [0; CHUNK_LEN];
        for part in data.chunks(CHUNK_LEN) {
            let len = part.len().next_multiple_of(BLOCK_LEN);
            chunk[..part.len()].copy_from_slice(part);
            chunk[part.len()..len].fill(0);
            let context = EncryptionContext::Iv128(FixedLength::from(*state));
            let encrypted = self.key.less_safe_encrypt(&mut chunk[..len], context);
            debug_assert!(encrypted.is_ok(), "whole blocks always encrypt");
            state.copy_from_slice(&chunk[len - BLOCK_LEN..len]);
        }
    }
}

/// AES-128-CMAC.
pub(super) struct Cmac {
    mac: CbcMac,
    /// Masks for the last block: one for a whole block, one for a padded block.
    masks: [AesBlock; 2],
}

impl Cmac {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        let mac = CbcMac::new(key);
        let mut zero = [0; BLOCK_LEN];
        mac.update(&mut zero, &[0; BLOCK_LEN]);
        let whole = doubled(zero);
        Self {
            mac,
            masks: [whole, doubled(whole)],
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> AesBlock {
        let last_len = match message.len() % BLOCK_LEN {
            0 => BLOCK_LEN.min(message.len()),
            rest => rest,
        };
        let (before, tail) = message.split_at(message.len() - last_len);
        let mut last = [0; BLOCK_LEN];
        last[..last_len].copy_from_slice(tail);
        let mask = if last_len == BLOCK_LEN {
            &self.masks[0]
        } else {
            last[last_len] = 0x80;
            &self.masks[1]
        };
        for (byte, mask) in last.iter_mut().zip(mask) {
            *byte ^= mask;
        }
        let mut state = [0; BLOCK_LEN];
        self.mac.update(&mut state, before);
        self.mac.update(&mut state, &last);
        state
    }
}

/// Doubles the block in GF(2^128) (RFC 4493 2.3).
fn doubled(block: AesBlock) -> AesBlock {
    let number = u128::from_be_bytes(block);
    let carry = if number >> 127 == 1 { 0x87 } else { 0 };
    ((number << 1) ^ carry).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::kdf::tests::hex;

    /// The examples of RFC 4493, section 4.
    #[test]
    fn the_published_cmacs_come_out() {
        let message: [u8; 64] = hex(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
             30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        );
        let cmac = Cmac::new(&hex("2b7e151628aed2a6abf7158809cf4f3c"));
        for (len, expected) in [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ] {
            assert_eq!(cmac.sign(&message[..len]), hex(expected), "{len} bytes");
        }
    }

    /// Compares with the library's CMAC, for lengths around that of a chunk.
    #[test]
    fn cmac_equals_the_librarys() {
        use aws_lc_rs::cmac;
        let key = [7; 16];
        let theirs = cmac::Key::new(cmac::AES_128, &key).unwrap();
        let ours = Cmac::new(&key);
        let message: Vec<u8> = (0..3 * CHUNK_LEN)
            .map(|at| ((at * 31) >> 3) as u8)
            .collect();
        for len in (0..70)
            .chain(CHUNK_LEN - 20..CHUNK_LEN + 40)
            .chain([3 * CHUNK_LEN])
        {
            let tag = cmac::sign(&theirs, &message[..len]).unwrap();
            assert_eq!(ours.sign(&message[..len])[..], *tag.as_ref(), "{len} bytes");
        }
    }
}
