//! Signatures of CIFS messages (MS-CIFS 3.1.4.1, 3.1.5.1).
//!
//! A connection has one key, of its first log-on with a key. The signature of a message is
//! made with a sequence number, which a request and its answer have one after the other.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use md5::{Digest as _, Md5};

use crate::cifs::header::{CIFS_SIGNATURE_AT, CIFS_SIGNATURE_LEN};

/// The key of a connection and the number of its next request.
pub(crate) struct CifsSigner {
    key: Vec<u8>,
    next: u32,
}

impl fmt::Debug for CifsSigner {
    /// Leaves the key out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CifsSigner")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// Whether a request gets an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CifsReplies {
    Yes,
    No,
}

/// Sequence number of the answer to the log-on that activates signing.
pub(crate) const FIRST_ANSWER: u32 = 1;

impl CifsSigner {
    /// Makes the signer for the requests after the log-on.
    pub(crate) const fn new(key: Vec<u8>) -> Self {
        Self { key, next: 2 }
    }

    /// Signs a request. Returns the sequence number of its answer.
    pub(crate) fn sign(&mut self, message: &mut [u8], answered: CifsReplies) -> u32 {
        let sequence = self.next;
        self.next = self.next.wrapping_add(match answered {
            CifsReplies::Yes => 2,
            CifsReplies::No => 1,
        });
        let signature = self.signature(message, sequence);
        if let Some(field) = message.get_mut(FIELD) {
            field.copy_from_slice(&signature);
        }
        sequence.wrapping_add(1)
    }

    /// Returns whether a message has the signature of a sequence number.
    pub(crate) fn verify(&self, message: &[u8], sequence: u32) -> bool {
        let signature = self.signature(message, sequence);
        message
            .get(FIELD)
            .is_some_and(|field| verify_slices_are_equal(field, &signature).is_ok())
    }

    fn signature(&self, message: &[u8], sequence: u32) -> [u8; CIFS_SIGNATURE_LEN] {
        let mut hash = Md5::new();
        hash.update(&self.key);
        hash.update(message.get(..FIELD.start).unwrap_or_default());
        hash.update(sequence.to_le_bytes());
        hash.update([0; 4]);
        hash.update(message.get(FIELD.end..).unwrap_or_default());
        let hash: [u8; 16] = hash.finalize().into();
        let mut signature = [0; CIFS_SIGNATURE_LEN];
        signature.copy_from_slice(&hash[..CIFS_SIGNATURE_LEN]);
        signature
    }
}

/// The place of the signature in a message.
const FIELD: std::ops::Range<usize> = CIFS_SIGNATURE_AT..CIFS_SIGNATURE_AT + CIFS_SIGNATURE_LEN;

#[cfg(test)]
mod tests {
    use super::*;

    /// The session key of `smbclient-cifs-signed.pcap`. See
    /// `fixtures/captures/README.md`.
    const CAPTURED_KEY: [u8; 16] = [
        0x2a, 0x24, 0x10, 0x61, 0x7c, 0xc1, 0x1f, 0x89, 0x08, 0xe6, 0xa9, 0xb0, 0x40, 0x00, 0xc2,
        0xd9,
    ];

    macro_rules! captured {
        ($name:literal) => {
            unhex(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../fixtures/captures/messages/cifs/",
                $name,
                ".hex"
            )))
        };
    }

    fn unhex(text: &str) -> Vec<u8> {
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(str::split_whitespace)
            .map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect()
    }

    #[test]
    fn captured_signatures_verify() {
        let signer = CifsSigner::new(CAPTURED_KEY.to_vec());
        for (message, sequence) in [
            (captured!("session-setup-response"), FIRST_ANSWER),
            (captured!("tree-connect-request"), 8),
            (captured!("tree-connect-response"), 9),
            (captured!("write-request"), 12),
            (captured!("read-response"), 21),
            (captured!("logoff-response"), 31),
        ] {
            assert!(signer.verify(&message, sequence));
            for other in [0, sequence - 1, sequence + 1, sequence + 2] {
                assert!(!signer.verify(&message, other));
            }
        }
    }

    #[test]
    fn a_request_is_signed_as_it_was_captured() {
        let mut signer = CifsSigner::new(CAPTURED_KEY.to_vec());
        signer.next = 8;
        let captured = captured!("tree-connect-request");
        let mut message = captured.clone();
        message[FIELD].fill(0xAA);
        assert_eq!(signer.sign(&mut message, CifsReplies::Yes), 9);
        assert_eq!((message, signer.next), (captured, 10));
    }

    #[test]
    fn numbers_begin_again_after_the_last() {
        let mut signer = CifsSigner::new(CAPTURED_KEY.to_vec());
        signer.next = u32::MAX - 1;
        let mut message = captured!("tree-connect-request");
        assert_eq!(signer.sign(&mut message, CifsReplies::Yes), u32::MAX);
        assert_eq!(signer.sign(&mut message, CifsReplies::Yes), 1);
        assert!(signer.verify(&message, 0));
        assert_eq!(signer.sign(&mut message, CifsReplies::No), 3);
        assert_eq!(signer.next, 3);
    }

    #[test]
    fn a_message_shorter_than_a_header_is_not_signed() {
        let mut signer = CifsSigner::new(CAPTURED_KEY.to_vec());
        for len in 0..FIELD.end {
            let mut message = vec![0; len];
            signer.sign(&mut message, CifsReplies::Yes);
            assert_eq!(message, vec![0; len]);
            assert!(!signer.verify(&message, 1), "{len} bytes");
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        let signer = CifsSigner::new(CAPTURED_KEY.to_vec());
        assert_eq!(format!("{signer:?}"), "CifsSigner { next: 2, .. }");
    }
}
