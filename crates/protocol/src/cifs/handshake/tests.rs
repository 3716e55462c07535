use std::time::SystemTime;

use super::*;
use crate::auth::{Account, Credentials};
use crate::cifs::header::CIFS_HEADER_LEN;
use crate::dialect::Dialect;
use crate::frame::Secrecy;
use crate::negotiate::Channels;
use crate::{CipherList, Logon, SessionIndex};

const UNICODE_AND_MORE: u32 = NEEDED;

fn config(signing: Policy) -> SessionConfig {
    SessionConfig {
        dialects: Dialect::Cifs.into(),
        signing,
        signing_algorithm: None,
        encryption: Policy::Off,
        ciphers: CipherList::default(),
        credentials: Credentials::Ntlm(Account {
            domain: "LAB".to_owned(),
            user: "ann".to_owned(),
            password: "pw".to_owned(),
        }),
        now: SystemTime::UNIX_EPOCH,
        host: "nas".to_owned(),
        workstation: "LOADER".to_owned(),
        share: "data".to_owned(),
        credit_target: 1,
        credit_cap: None,
        channels: Channels::One,
        client_guid: [0; 16],
        previous_session: 0,
        salt: [0; 32],
        nonce_seed: [0; 12],
    }
}

fn answer(command: CifsCommand, mid: u16, body: &[u8]) -> Vec<u8> {
    let header = CifsHeader {
        command,
        status: NtStatus::SUCCESS,
        flags: cifs_flags::REPLY,
        flags2: cifs_flags2::REQUEST,
        tid: 4,
        uid: 5,
        mid,
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    message
}

/// Returns an answer to NEGOTIATE, with a challenge.
fn negotiation(dialect: u16, security_mode: u8, capabilities: u32) -> Vec<u8> {
    let mut body = vec![17];
    body.extend(dialect.to_le_bytes());
    body.push(security_mode);
    body.extend([50, 0, 1, 0]);
    body.extend(16_644u32.to_le_bytes());
    body.extend([0; 4]);
    body.extend(77u32.to_le_bytes());
    body.extend(capabilities.to_le_bytes());
    body.extend([0; 10]);
    body.extend([8, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    answer(CifsCommand::Negotiate, 0, &body)
}

fn receive(
    handshake: &mut CifsHandshake,
    mut bytes: Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<CifsProgress, HandshakeError> {
    out.clear();
    let message = Message {
        total_len: bytes.len(),
        bytes: &mut bytes,
        secrecy: Secrecy::Plain,
    };
    handshake.receive(message, out)
}

fn refused(config: SessionConfig, negotiation: Vec<u8>) -> String {
    let mut out = Vec::new();
    let mut handshake = CifsHandshake::start(config, &mut out).unwrap();
    let refused = receive(&mut handshake, negotiation, &mut out);
    refused.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

#[test]
fn a_negotiation_that_cannot_be_used_is_refused_with_its_reason() {
    const SIGNING_ENABLED: u8 = 0x07;
    const SIGNING_REQUIRED: u8 = 0x0F;
    let with = |signing, mode| refused(config(signing), negotiation(0, mode, UNICODE_AND_MORE));
    assert_eq!(with(Policy::AsServerRequires, 3), "accepted");
    assert_eq!(with(Policy::Required, SIGNING_ENABLED), "accepted");
    assert_eq!(
        with(Policy::Required, 3),
        "the server does not sign in CIFS"
    );
    assert_eq!(
        with(Policy::Off, SIGNING_REQUIRED),
        "the server requires signing, which was switched off"
    );
    assert_eq!(
        with(Policy::Off, 1),
        "the server wants the password as plain text, which smbench never sends"
    );
    let plain = || config(Policy::Off);
    let none = negotiation(u16::MAX, 3, UNICODE_AND_MORE);
    assert_eq!(refused(plain(), none), "the server does not speak CIFS");
    let mut smb2 = vec![0; 64];
    smb2[..4].copy_from_slice(&PROTOCOL_ID);
    assert_eq!(refused(plain(), smb2), "the server does not speak CIFS");
    let oem = negotiation(0, 3, UNICODE_AND_MORE & !cifs_capabilities::UNICODE);
    assert!(refused(plain(), oem).contains("no Unicode"));
    let other = negotiation(3, 3, UNICODE_AND_MORE);
    assert!(refused(plain(), other).contains("not offered"));
}

/// Returns the words of the first message in `out`.
fn words(out: &[u8]) -> &[u8] {
    &out[PREFIX_LEN + CIFS_HEADER_LEN..]
}

#[test]
fn a_server_without_extended_security_gets_responses_to_its_challenge() {
    let mut out = Vec::new();
    let mut handshake = CifsHandshake::start(config(Policy::Off), &mut out).unwrap();
    receive(
        &mut handshake,
        negotiation(0, 3, UNICODE_AND_MORE),
        &mut out,
    )
    .unwrap();
    let request = words(&out);
    assert_eq!(request[0], 13);
    let u16_at = |at: usize| u16::from_le_bytes([request[at], request[at + 1]]);
    // SessionKey of the server, then the lengths of both responses.
    assert_eq!(u16_at(11), 77);
    let (lm, nt) = (u16_at(15), u16_at(17));
    assert_eq!(lm, 24);
    assert!(nt >= 44, "{nt}");
    let mid = CifsHeader::decode(&out[PREFIX_LEN..]).unwrap().mid;
    let let_in = answer(
        CifsCommand::SessionSetupAndX,
        mid,
        &[3, 0xFF, 0, 0, 0, 0, 0, 0, 0],
    );
    receive(&mut handshake, let_in, &mut out).unwrap();
    assert_eq!(handshake.awaited(), Command::TreeConnect);
    let header = CifsHeader::decode(&out[PREFIX_LEN..]).unwrap();
    assert_eq!(header.uid, 5);
    let share: Vec<u8> = r"\\NAS\DATA"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert!(out.windows(share.len()).any(|window| window == share));
    let mut connected = vec![3];
    connected.extend([0xFF, 0, 0, 0, 0, 0]);
    connected.extend([3, 0, b'A', b':', 0]);
    let connected = answer(CifsCommand::TreeConnectAndX, header.mid, &connected);
    let Ok(CifsProgress::Ready(connection)) = receive(&mut handshake, connected, &mut out) else {
        panic!("the session is set up");
    };
    assert_eq!(connection.logon(SessionIndex::FIRST), Logon::Ntlm);
    assert!(!connection.is_signed());
}

#[test]
fn a_guest_session_that_was_not_asked_for_is_refused() {
    let mut out = Vec::new();
    let mut handshake = CifsHandshake::start(config(Policy::Off), &mut out).unwrap();
    receive(
        &mut handshake,
        negotiation(0, 3, UNICODE_AND_MORE),
        &mut out,
    )
    .unwrap();
    let mid = CifsHeader::decode(&out[PREFIX_LEN..]).unwrap().mid;
    let guest = answer(
        CifsCommand::SessionSetupAndX,
        mid,
        &[3, 0xFF, 0, 0, 0, 1, 0, 0, 0],
    );
    // The server would keep the session, so it is ended first.
    receive(&mut handshake, guest, &mut out).unwrap();
    let logoff = CifsHeader::decode(&out[PREFIX_LEN..]).unwrap();
    assert_eq!(logoff.command, CifsCommand::LogoffAndX);
    let ended = answer(logoff.command, logoff.mid, &[0, 0, 0]);
    let refused = receive(&mut handshake, ended, &mut out);
    assert!(matches!(refused, Err(HandshakeError::OnlyAsGuest)));
}
