//! Signing without extended security, by a server of the test. Samba does not sign then.

use hmac::{Hmac, Mac as _};
use md4::Md4;
use md5::{Digest as _, Md5};
use smbench_protocol::cifs::handshake::CifsSetup;

use super::*;

const PASSWORD: &str = "a password";

fn user() -> SessionConfig {
    SessionConfig {
        credentials: Credentials::Ntlm(Account {
            domain: "Lab".to_owned(),
            user: "ann".to_owned(),
            password: PASSWORD.to_owned(),
        }),
        ..config()
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

/// Returns the key of the connection: the session key and the response (MS-CIFS 3.1.4.1).
/// Checks the proof of the password (MS-NLMP 3.3.2).
fn key_of(body: &[u8]) -> Vec<u8> {
    let (lm, nt) = (u16_at(body, 15), u16_at(body, 17));
    let responses = &body[29..][..usize::from(lm + nt)];
    let (lm, nt) = responses.split_at(usize::from(lm));
    let hash = Md4::digest(utf16(PASSWORD));
    let owf = hmac_md5(&hash, &[&utf16("ANN"), &utf16("Lab")]);
    let proof = hmac_md5(&owf, &[&CHALLENGE, &nt[16..]]);
    assert_eq!(nt[..16], proof);
    // LMv2, which is no LM response.
    assert_eq!(lm[..16], hmac_md5(&owf, &[&CHALLENGE, &lm[16..]]));
    [&hmac_md5(&owf, &[&proof])[..], nt].concat()
}

fn sign(key: &[u8], message: &mut [u8], sequence: u64) {
    message[14..22].copy_from_slice(&sequence.to_le_bytes());
    let hash = Md5::digest([key, &*message].concat());
    message[14..22].copy_from_slice(&hash[..8]);
}

/// Advances to the log-on. Returns the key.
fn logging_on(policy: Policy, mode: u8) -> (CifsPair, Vec<u8>) {
    let mut pair = CifsPair::new(SessionConfig {
        signing: policy,
        ..user()
    });
    pair.continues(|_| {}, &negotiate(USERS | mode, CAPABILITIES));
    let key = key_of(&pair.body);
    (pair, key)
}

fn logged_on(pair: &CifsPair, flags2: u16) -> Vec<u8> {
    let alter = |header: &mut CifsHeader| {
        header.uid = 0x51;
        header.flags2 = flags2;
    };
    answer_to(&pair.asked, alter, &session_setup(0))
}

const SIGNED: u16 = cifs_flags2::REQUEST | cifs_flags2::SIGNATURE;

#[test]
fn the_key_is_that_of_the_session_with_the_response() {
    let required = SIGNED | cifs_flags2::SIGNATURE_REQUIRED;
    for (policy, mode, flags2) in [
        (Policy::Required, SIGNS, required),
        (Policy::AsServerRequires, SIGNS | SIGNS_ALWAYS, SIGNED),
    ] {
        let (mut pair, key) = logging_on(policy, mode);
        assert_eq!(pair.asked.flags2, flags2);
        let mut message = logged_on(&pair, SIGNED);
        sign(&key, &mut message, 1);
        assert!(matches!(pair.send(&message), Ok(CifsProgress::Continue)));
        assert!(pair.asked.is_signed());
        let mut message = answer_to(&pair.asked, |header| header.tid = 9, &tree_connect(DISK));
        sign(&key, &mut message, 3);
        let Ok(CifsProgress::Ready(mut connection)) = pair.send(&message) else {
            panic!("not accepted");
        };
        assert!(connection.is_signed());
        let mut out = Vec::new();
        connection
            .echo(SessionIndex::FIRST, 1, &mut out)
            .expect("room");
        let message = &mut out[PREFIX_LEN..];
        let sent = message.to_vec();
        sign(&key, message, 4);
        assert_eq!(sent, message);
    }
}

/// A connection that signs does so in all its sessions.
#[test]
fn a_further_session_signs_like_the_first() {
    let (mut pair, key) = logging_on(Policy::Required, SIGNS);
    let mut message = logged_on(&pair, SIGNED);
    sign(&key, &mut message, 1);
    assert!(matches!(pair.send(&message), Ok(CifsProgress::Continue)));
    let mut message = answer_to(&pair.asked, |header| header.tid = 9, &tree_connect(DISK));
    sign(&key, &mut message, 3);
    let Ok(CifsProgress::Ready(mut connection)) = pair.send(&message) else {
        panic!("not accepted");
    };
    let mut out = Vec::new();
    CifsSetup::start(user(), &mut connection, 1, &mut out).expect("room");
    let mut message = out.split_off(PREFIX_LEN);
    assert!(CifsHeader::decode(&message).expect("a request").is_signed());
    let sent = message.clone();
    sign(&key, &mut message, 4);
    assert_eq!(sent, message);
}

#[test]
fn a_wrong_signature_ends_the_handshake() {
    let required = || logging_on(Policy::Required, SIGNS);
    let is_refused = |outcome: Result<CifsProgress, HandshakeError>| {
        let error = outcome.map(drop).expect_err("a wrong signature");
        let is_signature = matches!(error, HandshakeError::Protocol(ProtocolError::Signature(_)));
        assert!(is_signature, "{error}");
    };
    // The answer to the log-on has another number, or no signature.
    let (mut pair, key) = required();
    let mut message = logged_on(&pair, SIGNED);
    sign(&key, &mut message, 2);
    is_refused(pair.send(&message));
    let (mut pair, _) = required();
    let message = logged_on(&pair, SIGNED);
    is_refused(pair.send(&message));
    // A later answer has none.
    let (mut pair, key) = required();
    let mut message = logged_on(&pair, SIGNED);
    sign(&key, &mut message, 1);
    assert!(matches!(pair.send(&message), Ok(CifsProgress::Continue)));
    is_refused(pair.answer(|header| header.tid = 9, &tree_connect(DISK)));
}

#[test]
fn the_next_answer_proves_a_server_that_does_not_sign_the_first() {
    let (mut pair, key) = logging_on(Policy::Required, SIGNS);
    let message = logged_on(&pair, cifs_flags2::REQUEST);
    assert!(matches!(pair.send(&message), Ok(CifsProgress::Continue)));
    let mut message = answer_to(&pair.asked, |header| header.tid = 9, &tree_connect(DISK));
    sign(&key, &mut message, 3);
    assert!(matches!(pair.send(&message), Ok(CifsProgress::Ready(_))));
}

#[test]
fn a_guest_of_a_server_that_requires_signatures_does_not_sign() {
    let mut pair = CifsPair::new(config());
    let mode = USERS | SIGNS | SIGNS_ALWAYS;
    pair.continues(|_| {}, &negotiate(mode, CAPABILITIES));
    assert_eq!(pair.asked.flags2, SIGNED);
    pair.continues(|header| header.uid = 0x51, &session_setup(IS_GUEST));
    assert_eq!(pair.asked.flags2, cifs_flags2::REQUEST);
    let done = pair.answer(|header| header.tid = 9, &tree_connect(DISK));
    let Ok(CifsProgress::Ready(connection)) = done else {
        panic!("{done:?}");
    };
    assert!(!connection.is_signed());
}
