//! Tests of offers, answers and validations.

use proptest::prelude::*;

use super::*;
use crate::header::{Command, Header};

fn offer(dialects: &str) -> Offer {
    Offer {
        dialects: dialects.parse().unwrap(),
        signing_required: false,
        signing: None,
        ciphers: Some(CipherList::default()),
        channels: Channels::One,
        client_guid: [0xC1; 16],
        salt: [0x5A; 32],
        host: "files".to_owned(),
    }
}

fn encoded(offer: &Offer) -> Vec<u8> {
    let mut body = Vec::new();
    offer.encode(&mut body);
    body
}

#[test]
fn an_offer_of_everything_lies_as_ms_smb2_has_it() {
    let mut expected = vec![36, 0, 5, 0, 1, 0, 0, 0, 0x66, 0, 0, 0];
    expected.extend([0xC1; 16]);
    // The contexts start after the dialects, aligned to 8 bytes from the
    // header's start: 64 + 36 + 10 is 110.
    expected.extend([112, 0, 0, 0, 4, 0, 0, 0]);
    expected.extend([0x02, 2, 0x10, 2, 0, 3, 2, 3, 0x11, 3, 0, 0]);
    expected.extend([1, 0, 38, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0]);
    expected.extend([0x5A; 32]);
    expected.extend([0, 0]);
    expected.extend([2, 0, 10, 0, 0, 0, 0, 0, 4, 0, 2, 0, 1, 0, 4, 0, 3, 0]);
    expected.extend([0; 6]);
    expected.extend([8, 0, 6, 0, 0, 0, 0, 0, 2, 0, 2, 0, 1, 0, 0, 0]);
    expected.extend([5, 0, 10, 0, 0, 0, 0, 0]);
    expected.extend(b"f\0i\0l\0e\0s\0");
    assert_eq!(encoded(&offer("2.0.2..3.1.1")), expected);
}

#[test]
fn older_offers_have_no_contexts_and_no_new_capabilities() {
    let mut expected = vec![36, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0];
    expected.extend([0xC1; 16]);
    expected.extend([0; 8]);
    expected.extend([0x02, 2, 0x10, 2]);
    let mut offer = offer("2.0.2..2.1");
    offer.signing_required = true;
    let body = encoded(&offer);
    assert_eq!(body[..expected.len()], expected);
    assert!(body[expected.len()..].iter().all(|&byte| byte == 0));
}

fn answer() -> NegotiateResponse {
    NegotiateResponse {
        security_mode: 1,
        revision: Dialect::Smb311 as u16,
        server_guid: [0x5E; 16],
        capabilities: LARGE_MTU | ENCRYPTION,
        max_transact: 1,
        max_read: 2,
        max_write: 3,
        signing: Some(2),
        cipher: Some(4),
    }
}

/// Makes a NEGOTIATE response with these contexts, each a type and its data.
fn response(answer: &NegotiateResponse, contexts: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = Vec::new();
    Header::request(Command::Negotiate, 0).encode(&mut message);
    message.extend([65, 0]);
    message.extend(answer.security_mode.to_le_bytes());
    message.extend(answer.revision.to_le_bytes());
    message.extend((contexts.len() as u16).to_le_bytes());
    message.extend(answer.server_guid);
    message.extend(answer.capabilities.to_le_bytes());
    for size in [answer.max_transact, answer.max_read, answer.max_write] {
        message.extend(size.to_le_bytes());
    }
    message.extend([0; 16]);
    message.extend([128, 0, 3, 0]);
    message.extend(136u32.to_le_bytes());
    message.extend([9, 9, 9, 0, 0, 0, 0, 0]);
    for (kind, data) in contexts {
        message.resize(message.len().next_multiple_of(8), 0);
        message.extend(kind.to_le_bytes());
        message.extend((data.len() as u16).to_le_bytes());
        message.extend([0; 4]);
        message.extend_from_slice(data);
    }
    message
}

const HASH: (u16, &[u8]) = (1, &[1, 0, 2, 0, 1, 0, 0xAA, 0xBB]);
const MAC: (u16, &[u8]) = (8, &[1, 0, 2, 0]);
const CIPHER: (u16, &[u8]) = (2, &[1, 0, 4, 0]);

#[test]
fn an_answer_is_read_past_contexts_nobody_knows() {
    let unknown = (0x77, &b"?"[..]);
    let contexts = [unknown, MAC, HASH, unknown, CIPHER];
    let message = response(&answer(), &contexts);
    assert_eq!(NegotiateResponse::decode(&message), Ok(answer()));
    for len in HEADER_LEN..message.len() {
        let error = NegotiateResponse::decode(&message[..len]).expect_err("cut short");
        assert!(error.offset <= len);
    }
}

#[test]
fn contexts_that_contradict_each_other_are_refused() {
    let no_hash = (1, &[0, 0, 0, 0][..]);
    let two_hashes = (1, &[2, 0, 0, 0, 1, 0, 1, 0][..]);
    let other_hash = (1, &[1, 0, 0, 0, 2, 0][..]);
    let two_ciphers = (2, &[2, 0, 4, 0, 2, 0][..]);
    let no_signing = (8, &[0, 0][..]);
    let too_short = (8, &[1, 0][..]);
    for (contexts, what) in [
        (&[][..], "without pre-authentication"),
        (&[MAC, CIPHER], "without pre-authentication"),
        (&[HASH, MAC, HASH], "comes twice"),
        (&[HASH, MAC, MAC], "comes twice"),
        (&[CIPHER, HASH, CIPHER], "comes twice"),
        (&[no_hash], "algorithm count"),
        (&[two_hashes], "algorithm count"),
        (&[other_hash], "hash algorithm"),
        (&[HASH, two_ciphers], "algorithm count"),
        (&[HASH, no_signing], "algorithm count"),
        // The bytes after this context belong to the next one.
        (&[HASH, too_short, CIPHER], "context algorithm"),
    ] {
        let error = NegotiateResponse::decode(&response(&answer(), contexts)).unwrap_err();
        assert!(error.what.contains(what), "{contexts:?}: {error}");
    }
    // Older dialects have no contexts; bytes that look like contexts are not read.
    let old = NegotiateResponse {
        revision: Dialect::Smb302 as u16,
        signing: None,
        cipher: None,
        ..answer()
    };
    assert_eq!(
        NegotiateResponse::decode(&response(&old, &[MAC, MAC])),
        Ok(old)
    );
}

#[test]
fn what_was_chosen_must_have_been_offered() {
    let everything = offer("2.0.2..3.1.1");
    let chosen = |offer: &Offer, signing, cipher, dialect| {
        let answer = NegotiateResponse {
            signing,
            cipher,
            ..answer()
        };
        (
            offer.signing(&answer, dialect),
            offer.cipher(&answer, dialect),
        )
    };
    use {Cipher as C, Dialect as D, SigningAlgorithm as S};
    for (signing, cipher, dialect, expected) in [
        (
            Some(2),
            Some(4),
            D::Smb311,
            (Some(S::AesGmac), Some(C::Aes256Gcm)),
        ),
        (None, None, D::Smb311, (Some(S::AesCmac), None)),
        // HMAC was not offered. Cipher zero means that no cipher is common.
        (Some(0), Some(0), D::Smb311, (None, None)),
        (Some(9), Some(9), D::Smb311, (None, None)),
        (
            None,
            None,
            D::Smb302,
            (Some(S::AesCmac), Some(C::Aes128Ccm)),
        ),
        (None, None, D::Smb21, (Some(S::HmacSha256), None)),
    ] {
        assert_eq!(chosen(&everything, signing, cipher, dialect), expected);
    }
    let picky = Offer {
        signing: Some(S::AesGmac),
        ciphers: Some(CipherList::only(C::Aes128Gcm)),
        ..everything.clone()
    };
    assert_eq!(chosen(&picky, Some(1), Some(1), D::Smb311), (None, None));
    assert_eq!(chosen(&picky, None, None, D::Smb30), (None, None));
    let plain = Offer {
        ciphers: None,
        ..everything
    };
    assert_eq!(chosen(&plain, None, Some(2), D::Smb311).1, None);
}

#[test]
fn only_3_1_1_and_pure_smb_2_go_without_validation() {
    for (range, dialect, expected) in [
        ("2.0.2..3.1.1", Dialect::Smb311, false),
        ("2.0.2..3.1.1", Dialect::Smb302, true),
        ("3.0", Dialect::Smb30, true),
        ("2.0.2..3.0", Dialect::Smb202, true),
        ("2.0.2..2.1", Dialect::Smb21, false),
    ] {
        assert_eq!(offer(range).needs_validation(dialect), expected, "{range}");
    }
}

/// Makes the answer to a validation.
fn validation(answer: &NegotiateResponse) -> Vec<u8> {
    let mut message = vec![0; HEADER_LEN];
    message.extend([49, 0, 0, 0]);
    message.extend(FSCTL_VALIDATE_NEGOTIATE_INFO.to_le_bytes());
    message.extend([0xFF; 16]);
    message.extend([112, 0, 0, 0, 0, 0, 0, 0, 112, 0, 0, 0, 24, 0, 0, 0]);
    message.extend([0; 8]);
    message.extend(answer.capabilities.to_le_bytes());
    message.extend(answer.server_guid);
    message.extend(answer.security_mode.to_le_bytes());
    message.extend(answer.revision.to_le_bytes());
    message
}

#[test]
fn a_validation_repeats_the_offer_and_must_repeat_the_answer() {
    let mut request = Vec::new();
    offer("2.1..3.0").encode_validation(&mut request);
    assert_eq!(request.len(), 56 + 24 + 4);
    assert_eq!(request[56..60], [0x66, 0, 0, 0]);
    assert_eq!(request[60..76], [0xC1; 16]);
    assert_eq!(request[76..], [1, 0, 2, 0, 0x10, 2, 0, 3]);

    let message = validation(&answer());
    assert_eq!(answer().is_confirmed_by(&message), Ok(Confirmed::Yes));
    for at in HEADER_LEN + 48..message.len() {
        let mut tampered = message.clone();
        tampered[at] ^= 0x10;
        assert_eq!(answer().is_confirmed_by(&tampered), Ok(Confirmed::No));
    }
    assert!(
        answer()
            .is_confirmed_by(&message[..message.len() - 1])
            .is_err()
    );
}

proptest! {
    #[test]
    fn arbitrary_answers_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        revision in any::<bool>(),
    ) {
        let mut message = vec![0; HEADER_LEN];
        message.extend([65, 0]);
        message.extend(&bytes);
        if revision && message.len() > HEADER_LEN + 6 {
            message[HEADER_LEN + 4..HEADER_LEN + 6].copy_from_slice(&[0x11, 3]);
        }
        let _ = NegotiateResponse::decode(&message);
        message[HEADER_LEN] = 49;
        let _ = answer().is_confirmed_by(&message);
    }
}
