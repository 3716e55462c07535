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
    Ntlm::new(&account, UNIX_EPOCH).unwrap()
}

/// Returns a CHALLENGE message with these attributes.
fn challenge(flags: u32, attributes: &[u8]) -> Vec<u8> {
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
    // Its time, then MsvAvFlags behind the server's attributes.
    assert_eq!(proof[24..32], TIMESTAMP[4..12]);
    assert!(proof.ends_with(&[6, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(message::authenticate_field(&message, 52).len(), 16);
    assert!(ntlm.is_complete());
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
