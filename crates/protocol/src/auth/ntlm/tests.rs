use std::time::UNIX_EPOCH;

use proptest::prelude::*;

use super::*;

const FLAGS: u32 = 0xe28a_8235;

fn ntlm() -> Ntlm {
    let account = Account {
        domain: "LAB".to_owned(),
        user: "ann".to_owned(),
        password: "pw".to_owned(),
    };
    Ntlm::new(Some(&account), PLACE, UNIX_EPOCH).unwrap()
}

const PLACE: LogonPlace<'_> = LogonPlace {
    host: "files",
    workstation: "LOADER",
};

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Returns a CHALLENGE message with these attributes.
pub(super) fn challenge(flags: u32, attributes: &[u8]) -> Vec<u8> {
    let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&flags.to_le_bytes());
    message.extend_from_slice(&[7; 8]);
    message.extend_from_slice(&[0; 8]);
    let len = (attributes.len() as u16).to_le_bytes();
    message.extend_from_slice(&[len, len].concat());
    message.extend_from_slice(&48u32.to_le_bytes());
    message.extend_from_slice(attributes);
    message
}

const TIMESTAMP: [u8; 16] = [7, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0];

#[test]
fn a_server_with_a_clock_gets_a_mic_and_no_lm_response() {
    let mut ntlm = ntlm();
    ntlm.step(&[]).unwrap();
    let (message, mic) = ntlm.answer(&challenge(FLAGS, &TIMESTAMP)).unwrap();
    assert!(mic.is_some());
    let lm = message::authenticate_field(&message, 12);
    assert_eq!(lm, [0; 24]);
    assert_ne!(message[72..88], [0; 16]);
    let proof = message::authenticate_field(&message, 20);
    // Its time, then what Windows adds behind the server's attributes.
    assert_eq!(proof[24..32], TIMESTAMP[4..12]);
    let added = [
        &[6, 0, 4, 0, 2, 0, 0, 0, 10, 0, 16, 0][..],
        &[0; 16],
        &[9, 0, 20, 0],
        &utf16("cifs/files"),
        &[0; 8],
    ];
    assert!(proof.ends_with(&added.concat()));
    assert_eq!(message::authenticate_field(&message, 52).len(), 16);
    assert!(ntlm.is_complete());
}

/// The offer of Windows 10, from a capture.
#[test]
fn the_first_message_is_that_of_windows() {
    let expected = [
        &b"NTLMSSP\0\x01\0\0\0"[..],
        &[0x97, 0x82, 0x08, 0xe2],
        &[0; 16],
        &[10, 0, 0x61, 0x4a, 0, 0, 0, 15],
    ];
    assert_eq!(negotiate(), expected.concat());
}

/// Some servers take the payload for one that begins at byte 64, if the flag of the version
/// is missing, and read its fields in this order.
#[test]
fn the_last_message_lies_as_that_of_windows() {
    // Domain, user and workstation take 6, 6 and 12 bytes.
    let of_user = [(12, 24, 112), (28, 6, 88), (36, 6, 94), (44, 12, 100)];
    let of_anonymous = [(12, 1, 100), (28, 0, 88), (36, 0, 88), (44, 12, 88)];
    let nobody = Ntlm::new(None, PLACE, UNIX_EPOCH).unwrap();
    for (mut ntlm, flags, fields) in [
        (ntlm(), 0xe288_8215u32, of_user),
        (nobody, 0xe288_8a15, of_anonymous),
    ] {
        ntlm.step(&[]).unwrap();
        let (message, _) = ntlm.answer(&challenge(FLAGS, &TIMESTAMP)).unwrap();
        assert_eq!(message[60..64], flags.to_le_bytes());
        assert_eq!(message[64..72], [10, 0, 0x61, 0x4a, 0, 0, 0, 15]);
        assert_ne!(message[72..88], [0; 16]);
        for (at, len, offset) in fields {
            assert_eq!(message[at..at + 2], u16::to_le_bytes(len), "{at}");
            assert_eq!(message[at + 4..at + 8], u32::to_le_bytes(offset), "{at}");
        }
        // The NT response, then the key, are at the end.
        let nt = message::authenticate_field(&message, 20).len();
        let nt_at = message[24..28].try_into().map(u32::from_le_bytes).unwrap() as usize;
        assert_eq!(nt_at + nt, message.len() - 16);
        assert_eq!(message::authenticate_field(&message, 52).len(), 16);
    }
}

#[test]
fn an_anonymous_user_signs_no_list_of_mechanisms() {
    let mut nobody = Ntlm::new(None, PLACE, UNIX_EPOCH).unwrap();
    nobody.step(&[]).unwrap();
    let (message, mic) = nobody.answer(&challenge(FLAGS, &TIMESTAMP)).unwrap();
    assert_eq!(mic, None);
    assert_eq!(message::authenticate_field(&message, 12), [0]);
    assert_eq!(message::authenticate_field(&message, 20), [0; 0]);
}

#[test]
fn a_server_that_chooses_no_key_gets_none() {
    let mut ntlm = ntlm();
    ntlm.step(&[]).unwrap();
    let (message, mic) = ntlm.answer(&challenge(0x0000_0201, &[])).unwrap();
    assert_eq!(mic, None);
    assert_eq!(message[72..88], [0; 16]);
    assert_eq!(message::authenticate_field(&message, 52), [0; 0]);
    assert_eq!(ntlm.session_key().unwrap().len(), KEY_LEN);
}

#[test]
fn a_key_before_the_challenge_is_an_error() {
    assert!(ntlm().session_key().is_err());
    let mut refused = ntlm();
    refused.step(&[]).unwrap();
    assert!(refused.step(b"nonsense").is_err());
    // Without Unicode.
    assert!(refused.answer(&challenge(0x0000_0202, &[])).is_err());
}

proptest! {
    #[test]
    fn any_challenge_is_answered_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        cut in 0usize..64,
    ) {
        let mut ntlm = ntlm();
        ntlm.step(&[]).unwrap();
        let _ = ntlm.answer(&bytes);
        let whole = challenge(FLAGS, &bytes);
        let _ = ntlm.answer(&whole[..cut.min(whole.len())]);
        let _ = ntlm.answer(&whole);
    }
}
