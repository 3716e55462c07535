//! AES in CBC mode with ciphertext stealing and a zero initial vector, as
//! Kerberos uses it (RFC 3962 5, RFC 8009 5).
//!
//! The last two blocks are always swapped.

use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;

pub(super) const BLOCK_LEN: usize = 16;

/// Makes an unbound AES key from 16 or 32 bytes.
fn unbound(key: &[u8]) -> UnboundCipherKey {
    let algorithm = if key.len() == 32 { &AES_256 } else { &AES_128 };
    UnboundCipherKey::new(algorithm, key)
        .unwrap_or_else(|_| unreachable!("keys have the length of their encryption type"))
}

/// Encrypts whole blocks in CBC mode.
pub(super) fn encrypt_blocks(key: &[u8], blocks: &mut [u8]) {
    let iv = EncryptionContext::Iv128(FixedLength::from([0; BLOCK_LEN]));
    EncryptingKey::cbc(unbound(key))
        .and_then(|key| key.less_safe_encrypt(blocks, iv))
        .unwrap_or_else(|_| unreachable!("whole blocks always encrypt"));
}

fn decrypt_blocks(key: &[u8], blocks: &mut [u8]) {
    let iv = DecryptionContext::Iv128(FixedLength::from([0; BLOCK_LEN]));
    DecryptingKey::cbc(unbound(key))
        .and_then(|key| key.decrypt(blocks, iv).map(|_| ()))
        .unwrap_or_else(|_| unreachable!("whole blocks always decrypt"));
}

/// Encrypts `data`, which has at least one block.
pub(super) fn encrypt(key: &[u8], mut data: Vec<u8>) -> Vec<u8> {
    let len = data.len();
    data.resize(len.next_multiple_of(BLOCK_LEN), 0);
    encrypt_blocks(key, &mut data);
    if let Some(last) = data.len().checked_sub(BLOCK_LEN)
        && let Some(before) = last.checked_sub(BLOCK_LEN)
    {
        let (head, last) = data.split_at_mut(last);
        head[before..].swap_with_slice(last);
    }
    data.truncate(len);
    data
}

/// Decrypts `data`. Returns `None` if it is shorter than one block.
pub(super) fn decrypt(key: &[u8], mut data: Vec<u8>) -> Option<Vec<u8>> {
    let len = data.len();
    if len <= BLOCK_LEN {
        (len == BLOCK_LEN).then(|| decrypt_blocks(key, &mut data))?;
        return Some(data);
    }
    // The wire order at the end is: the last block, then the rest of the block
    // before it.
    let last = (len - 1) / BLOCK_LEN * BLOCK_LEN;
    let stolen_from = last - BLOCK_LEN;
    let mut block = data[stolen_from..last].to_vec();
    decrypt_blocks(key, &mut block);
    // The padding was zero, so the decrypted padding is the end of the block
    // before.
    let mut before = data[last..].to_vec();
    before.extend_from_slice(&block[len - last..]);
    let end = data[stolen_from..last].to_vec();
    data.truncate(stolen_from);
    data.extend_from_slice(&before);
    data.extend_from_slice(&end);
    decrypt_blocks(key, &mut data);
    data.truncate(len);
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;

    /// The examples of RFC 3962 appendix B.
    #[test]
    fn the_vectors_of_rfc_3962_come_out() {
        let key = b"chicken teriyaki";
        let text = b"I would like the General Gau's Chicken, please, and wonton soup.";
        for (len, encrypted) in [
            (17, "c6353568f2bf8cb4d8a580362da7ff7f97"),
            (
                31,
                "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5",
            ),
            (
                32,
                "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584",
            ),
            (
                47,
                "97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e\
                 39312523a78662d5be7fcbcc98ebf5",
            ),
            (
                48,
                "97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd8\
                 39312523a78662d5be7fcbcc98ebf5a8",
            ),
            (
                64,
                "97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a8\
                 4807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8",
            ),
        ] {
            let plain = text[..len].to_vec();
            let encrypted = hex(encrypted);
            assert_eq!(encrypt(key, plain.clone()), encrypted, "{len} bytes");
            assert_eq!(decrypt(key, encrypted), Some(plain), "{len} bytes");
        }
    }

    #[test]
    fn every_length_from_one_block_is_undone() {
        for len in BLOCK_LEN..100 {
            let plain: Vec<u8> = (0..len as u8).collect();
            let encrypted = encrypt(&[7; 32], plain.clone());
            assert_eq!(encrypted.len(), len);
            assert_eq!(decrypt(&[7; 32], encrypted), Some(plain));
        }
        for len in 0..BLOCK_LEN {
            assert_eq!(decrypt(&[7; 32], vec![0; len]), None);
        }
    }
}
