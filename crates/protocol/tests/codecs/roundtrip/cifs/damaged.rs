//! Decoders with arbitrary bytes, and with responses that are damaged.

use proptest::prelude::*;
use smbench_protocol::DecodeError;
use smbench_protocol::cifs::command::create::CifsCreated;
use smbench_protocol::cifs::command::decode_empty;
use smbench_protocol::cifs::command::lock::CifsBreak;
use smbench_protocol::cifs::command::read::decode_read;
use smbench_protocol::cifs::command::session::{CifsNegotiateResponse, CifsSetupResponse};
use smbench_protocol::cifs::command::tree::decode_is_disk;
use smbench_protocol::cifs::command::write::decode_write;
use smbench_protocol::cifs::header::CifsHeader;

/// A decoder without its result.
type Check = fn(&[u8]) -> Result<(), DecodeError>;

/// Every decoder, with a captured message for it and the length up to which it needs that
/// message.
fn decoders() -> [(&'static str, Check, Vec<u8>, usize); 11] {
    [
        (
            "header",
            |it| CifsHeader::decode(it).map(drop),
            captured!("cifs", "read-response"),
            32,
        ),
        (
            "NEGOTIATE",
            |it| CifsNegotiateResponse::decode(it).map(drop),
            captured!("cifs", "negotiate-response"),
            69,
        ),
        (
            "NEGOTIATE with a challenge",
            |it| CifsNegotiateResponse::decode(it).map(drop),
            captured!("cifs", "plain-negotiate-response"),
            77,
        ),
        (
            "SESSION_SETUP_ANDX",
            |it| CifsSetupResponse::decode(it).map(drop),
            captured!("cifs", "session-setup-response"),
            43 + 29,
        ),
        (
            "TREE_CONNECT_ANDX",
            |it| decode_is_disk(it).map(drop),
            captured!("cifs", "tree-connect-response"),
            52,
        ),
        (
            "NT_CREATE_ANDX",
            |it| CifsCreated::decode(it).map(drop),
            captured!("cifs", "create-response"),
            103,
        ),
        (
            "READ_ANDX",
            |it| decode_read(it, it.len()).map(drop),
            captured!("cifs", "read-response"),
            105,
        ),
        (
            "WRITE_ANDX",
            |it| decode_write(it).map(drop),
            captured!("cifs", "write-response"),
            47,
        ),
        (
            "FLUSH",
            decode_empty,
            captured!("cifs", "flush-response"),
            35,
        ),
        (
            "LOCKING_ANDX",
            decode_empty,
            captured!("cifs", "lock-response"),
            39,
        ),
        (
            "break",
            |it| CifsBreak::decode(it).map(drop),
            captured!("cifs", "oplock-break"),
            51,
        ),
    ]
}

#[test]
fn a_message_that_is_cut_short_is_refused() {
    for (what, decode, message, needed) in decoders() {
        for len in 0..=message.len() {
            let outcome = decode(&message[..len]);
            assert_eq!(
                outcome.is_ok(),
                len >= needed,
                "{what} of {len} bytes: {outcome:?}"
            );
            if let Err(error) = outcome {
                assert!(error.offset <= len, "{what} of {len} bytes: {error}");
            }
        }
    }
}

#[test]
fn a_response_without_its_words_is_refused() {
    for (what, decode, mut message, _) in decoders() {
        let is_bodyless = ["header", "FLUSH", "LOCKING_ANDX"].contains(&what);
        message[32] = 0;
        assert_eq!(decode(&message).is_ok(), is_bodyless, "{what}");
        // As many words as no message can have.
        message[32] = 255;
        assert_eq!(decode(&message).is_ok(), what == "header", "{what}");
    }
}

#[test]
fn data_must_lie_behind_the_words_and_in_the_message() {
    let good = captured!("cifs", "read-response");
    let data_offset_at = 32 + 13;
    for (offset, is_ok) in [
        (0u16, false),
        (58, false),
        (59, true),
        (60, true),
        (61, false),
    ] {
        let mut message = good.clone();
        message[data_offset_at..data_offset_at + 2].copy_from_slice(&offset.to_le_bytes());
        let outcome = decode_read(&message, message.len());
        assert_eq!(outcome.is_ok(), is_ok, "offset {offset}: {outcome:?}");
    }
    for (high, low, is_ok) in [
        (0u16, 45u16, true),
        (0, 46, false),
        (1, 45, false),
        (0xFFFF, 0xFFFF, false),
    ] {
        let mut message = good.clone();
        message[32 + 11..32 + 13].copy_from_slice(&low.to_le_bytes());
        message[32 + 15..32 + 17].copy_from_slice(&high.to_le_bytes());
        let outcome = decode_read(&message, message.len());
        assert_eq!(outcome.is_ok(), is_ok, "{high} {low}");
    }
    // The length of a token.
    let mut message = captured!("cifs", "session-setup-response");
    message[32 + 7..32 + 9].copy_from_slice(&u16::MAX.to_le_bytes());
    assert!(CifsSetupResponse::decode(&message).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        total in 0usize..500,
    ) {
        let message = [&[0; 32][..], &bytes].concat();
        for bytes in [&bytes, &message] {
            for (_, decode, ..) in decoders() {
                if let Err(error) = decode(bytes) {
                    prop_assert!(error.offset <= bytes.len());
                }
            }
            if let Ok(read) = decode_read(bytes, total) {
                prop_assert!(read.length == 0 || read.length as usize <= total);
                prop_assert!(read.data.is_none_or(|data| data.len() == read.length as usize));
            }
        }
    }

    #[test]
    fn damaged_responses_are_read_or_refused(
        which in 0usize..11,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let (_, decode, mut message, _) = decoders()[which].clone();
        for (at, value) in changes {
            let at = at.index(message.len());
            message[at] = value;
        }
        if let Err(error) = decode(&message) {
            prop_assert!(error.offset <= message.len());
        }
    }
}
