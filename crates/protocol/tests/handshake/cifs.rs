//! Handshakes in CIFS with servers that violate MS-CIFS, message by message.

mod further;
mod signed;

use smbench_protocol::cifs::command::session::cifs_capabilities;
use smbench_protocol::cifs::handshake::{CifsHandshake, CifsProgress};
use smbench_protocol::cifs::header::{CIFS_HEADER_LEN, CifsCommand, CifsHeader, cifs_flags2};
use smbench_protocol::cifs::{CifsConnection, command::lock::encode_release};
use smbench_protocol::command::create::OplockLevel;

use super::*;

/// What every server of the tests supports.
const CAPABILITIES: u32 =
    cifs_capabilities::UNICODE | cifs_capabilities::STATUS32 | cifs_capabilities::NT_SMBS;
const EXTENDED: u32 = cifs_capabilities::EXTENDED_SECURITY;

/// SecurityMode: users, and passwords that are encrypted.
const USERS: u8 = 0x03;
const SIGNS: u8 = 0x04;
const SIGNS_ALWAYS: u8 = 0x08;

const CHALLENGE: [u8; 8] = [0xC1; 8];

/// A handshake with a server that the test simulates.
struct CifsPair {
    handshake: CifsHandshake,
    /// Header and body of the request to answer.
    asked: CifsHeader,
    body: Vec<u8>,
}

impl CifsPair {
    fn new(config: SessionConfig) -> Self {
        let mut out = Vec::new();
        let handshake = CifsHandshake::start(config, &mut out).expect("usable credentials");
        let (asked, body) = parse(&out);
        Self {
            handshake,
            asked,
            body,
        }
    }

    /// Sends `message` to the client unchanged.
    fn send(&mut self, message: &[u8]) -> Result<CifsProgress, HandshakeError> {
        let mut out = Vec::new();
        let progress = framed(message, |message| self.handshake.receive(message, &mut out));
        if !out.is_empty() {
            (self.asked, self.body) = parse(&out);
        }
        progress
    }

    /// Answers the last request. `alter` may change the header of the answer.
    fn answer(
        &mut self,
        alter: impl FnOnce(&mut CifsHeader),
        body: &[u8],
    ) -> Result<CifsProgress, HandshakeError> {
        let message = answer_to(&self.asked, alter, body);
        self.send(&message)
    }

    /// Answers the last request, to which another follows.
    fn continues(&mut self, alter: impl FnOnce(&mut CifsHeader), body: &[u8]) {
        let progress = self.answer(alter, body);
        assert!(
            matches!(progress, Ok(CifsProgress::Continue)),
            "{progress:?}"
        );
    }

    /// Advances to the request after SESSION_SETUP_ANDX, as a guest.
    fn log_on(&mut self) {
        self.continues(|_| {}, &negotiate(USERS, CAPABILITIES));
        self.continues(|header| header.uid = 0x51, &session_setup(IS_GUEST));
        assert_eq!(self.asked.command, CifsCommand::TreeConnectAndX);
    }
}

/// Passes a message on as the frame of a stream.
fn framed<T>(message: &[u8], receive: impl FnOnce(smbench_protocol::frame::Message<'_>) -> T) -> T {
    let mut frame = (message.len() as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    let mut inbound = Inbound::default();
    let mut input = frame.as_mut_slice();
    let frame = inbound.next(&mut input, Payload::Keep);
    receive(
        frame
            .expect("a frame")
            .expect("a whole frame")
            .into_message(),
    )
}

/// Returns header and body of the one frame in `out`.
fn parse(out: &[u8]) -> (CifsHeader, Vec<u8>) {
    let message = &out[PREFIX_LEN..];
    let header = CifsHeader::decode(message).expect("a request");
    (header, message[CIFS_HEADER_LEN..].to_vec())
}

fn answer_to(request: &CifsHeader, alter: impl FnOnce(&mut CifsHeader), body: &[u8]) -> Vec<u8> {
    let mut header = CifsHeader {
        flags: 0x80,
        ..*request
    };
    alter(&mut header);
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    message
}

/// Makes the body of a NEGOTIATE response with a challenge.
fn negotiate(security_mode: u8, capabilities: u32) -> Vec<u8> {
    let mut body = vec![17, 0, 0, security_mode];
    body.extend(10u16.to_le_bytes());
    body.extend([1, 0]);
    body.extend(16_644u32.to_le_bytes());
    body.extend([0; 4]);
    body.extend(0xABCDu32.to_le_bytes());
    body.extend(capabilities.to_le_bytes());
    body.extend([0; 10]);
    body.push(8);
    body.extend([16, 0]);
    body.extend(CHALLENGE);
    body.extend([0; 8]);
    body
}

/// Makes the body of a SESSION_SETUP_ANDX response without a token.
fn session_setup(action: u16) -> Vec<u8> {
    let [low, high] = action.to_le_bytes();
    vec![3, 0xFF, 0, 0, 0, low, high, 0, 0]
}

/// Makes the body of a TREE_CONNECT_ANDX response.
fn tree_connect(service: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 0xFF, 0, 0, 0, 1, 0, service.len() as u8, 0];
    body.extend_from_slice(service);
    body
}

/// The same with extended security and without a token.
const EXTENDED_SETUP: [u8; 11] = [4, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0];

const DISK: &[u8] = b"A:\0";

fn u16_at(body: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([body[at], body[at + 1]])
}

/// Carries out a whole handshake.
fn ready(config: SessionConfig) -> CifsConnection {
    let mut pair = CifsPair::new(config);
    pair.log_on();
    match pair.answer(|header| header.tid = 9, &tree_connect(DISK)) {
        Ok(CifsProgress::Ready(connection)) => *connection,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handshake_without_extended_security_has_three_requests() {
    let mut pair = CifsPair::new(config());
    assert_eq!(pair.asked.command, CifsCommand::Negotiate);
    assert_eq!(pair.handshake.awaited(), Command::Negotiate);
    let extended = cifs_flags2::EXTENDED_SECURITY;
    assert_eq!(pair.asked.flags2, cifs_flags2::REQUEST | extended);
    assert_eq!(pair.body, b"\0\x0C\0\x02NT LM 0.12\0");

    pair.continues(|_| {}, &negotiate(USERS, CAPABILITIES));
    assert_eq!(pair.handshake.awaited(), Command::SessionSetup);
    assert_eq!(pair.asked.command, CifsCommand::SessionSetupAndX);
    assert_eq!(
        (pair.asked.flags2, pair.asked.uid),
        (cifs_flags2::REQUEST, 0)
    );
    assert_eq!((pair.body[0], pair.body[1]), (13, 0xFF));
    // MaxMpxCount and SessionKey are those of the server.
    assert_eq!(
        (u16_at(&pair.body, 7), u16_at(&pair.body, 11)),
        (10, 0xABCD)
    );
    let (lm, nt) = (u16_at(&pair.body, 15), u16_at(&pair.body, 17));
    assert_eq!(lm, 24);
    let own = u32::from(u16_at(&pair.body, 23)) | u32::from(u16_at(&pair.body, 25)) << 16;
    assert_eq!(own & (EXTENDED | CAPABILITIES), CAPABILITIES);
    let strings = 29 + usize::from(lm + nt);
    // Strings begin at an even offset of the message.
    let strings = strings + (CIFS_HEADER_LEN + strings) % 2;
    let expected: Vec<u8> = "guest\0\0smbench\0smbench\0"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(pair.body[strings..], expected);

    pair.continues(|header| header.uid = 0x51, &session_setup(IS_GUEST));
    assert_eq!(pair.handshake.awaited(), Command::TreeConnect);
    assert_eq!((pair.asked.uid, pair.asked.tid), (0x51, 0));
    let done = pair.answer(|header| header.tid = 9, &tree_connect(DISK));
    let Ok(CifsProgress::Ready(connection)) = done else {
        panic!("{done:?}");
    };
    assert_eq!(connection.logon(SessionIndex::FIRST), Logon::Guest);
    assert_eq!((connection.room(), connection.in_flight()), (10, 0));
    assert!(!connection.is_signed());
    let error = pair.answer(|_| {}, &tree_connect(DISK)).unwrap_err();
    assert!(matches!(
        error,
        HandshakeError::Protocol(ProtocolError::NotAResponse)
    ));
}

/// Carries out a whole handshake with extended security, without an account.
fn ready_with_extended_security() -> CifsConnection {
    let mut pair = CifsPair::new(anonymous());
    pair.continues(|_| {}, &negotiate(USERS, CAPABILITIES | EXTENDED));
    let extended = cifs_flags2::EXTENDED_SECURITY;
    assert_eq!(pair.asked.flags2, cifs_flags2::REQUEST | extended);
    assert_eq!(pair.body[0], 12);
    pair.continues(|header| header.uid = 0x51, &EXTENDED_SETUP);
    match pair.answer(|header| header.tid = 9, &tree_connect(DISK)) {
        Ok(CifsProgress::Ready(connection)) => *connection,
        other => panic!("{other:?}"),
    }
}

fn anonymous() -> SessionConfig {
    SessionConfig {
        credentials: Credentials::Anonymous,
        ..config()
    }
}

/// Answers the NEGOTIATE request. Returns the words of the error.
fn refused(policy: Policy, alter: impl FnOnce(&mut CifsHeader), body: &[u8]) -> String {
    let mut pair = CifsPair::new(SessionConfig {
        signing: policy,
        ..config()
    });
    match pair.answer(alter, body) {
        Ok(progress) => format!("{progress:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_server_must_choose_nt_lm_0_12_with_what_it_needs() {
    let negotiated = |alter: &dyn Fn(&mut Vec<u8>)| {
        let mut body = negotiate(USERS, CAPABILITIES);
        alter(&mut body);
        refused(Policy::AsServerRequires, |_| {}, &body)
    };
    assert_eq!(negotiated(&|_| {}), "Continue");
    let no_cifs = "the server does not speak CIFS";
    assert_eq!(negotiated(&|body| body[1..3].fill(0xFF)), no_cifs);
    assert_eq!(
        negotiated(&|body| *body = vec![1, 0xFF, 0xFF, 0, 0]),
        no_cifs
    );
    // The words of LANMAN2.1.
    assert_eq!(negotiated(&|body| body[0] = 13), no_cifs);
    assert_eq!(
        negotiated(&|body| body[1] = 1),
        "the server chose dialect 0x0001, which was not offered"
    );
    for missing in [
        cifs_capabilities::UNICODE,
        cifs_capabilities::STATUS32,
        cifs_capabilities::NT_SMBS,
    ] {
        let body = negotiate(USERS, CAPABILITIES & !missing);
        assert_eq!(
            refused(Policy::AsServerRequires, |_| {}, &body),
            "the server has no Unicode, NTSTATUS codes or NT requests in CIFS"
        );
    }
    let plain = "the server wants the password as plain text, which smbench never sends";
    assert_eq!(negotiated(&|body| body[3] = 0x01), plain);
    // No challenge.
    assert_eq!(negotiated(&|body| body[34] = 0), plain);
    let whole = negotiate(USERS, CAPABILITIES);
    for len in 0..37 + 8 {
        let words = refused(Policy::AsServerRequires, |_| {}, &whole[..len]);
        assert!(
            words.starts_with("malformed") || words.contains("response"),
            "{words}"
        );
    }
}

#[test]
fn signing_is_agreed_on_or_refused() {
    let off = "the server requires signing, which was switched off";
    let none = "the server does not sign in CIFS";
    for (mode, policy, expected) in [
        (0, Policy::AsServerRequires, "Continue"),
        (0, Policy::Off, "Continue"),
        (0, Policy::Required, none),
        (SIGNS, Policy::Off, "Continue"),
        (SIGNS, Policy::Required, "Continue"),
        (SIGNS | SIGNS_ALWAYS, Policy::AsServerRequires, "Continue"),
        (SIGNS | SIGNS_ALWAYS, Policy::Off, off),
        (SIGNS_ALWAYS, Policy::Required, "Continue"),
    ] {
        let body = negotiate(USERS | mode, CAPABILITIES);
        assert_eq!(
            refused(policy, |_| {}, &body),
            expected,
            "{mode} {policy:?}"
        );
    }
}

#[test]
fn other_messages_than_the_answer_to_negotiate_are_refused() {
    let body = negotiate(USERS, CAPABILITIES);
    let altered = |alter: &dyn Fn(&mut CifsHeader)| refused(Policy::Off, alter, &body);
    let no_answer = ProtocolError::NotAResponse.to_string();
    assert_eq!(altered(&|header| header.mid = 1), no_answer);
    assert_eq!(altered(&|header| header.flags = 0), no_answer);
    assert_eq!(
        altered(&|header| header.command = CifsCommand::Echo),
        no_answer
    );
    assert_eq!(
        altered(&|header| header.status = NtStatus::INSUFFICIENT_RESOURCES),
        "NEGOTIATE refused with STATUS_INSUFFICIENT_RESOURCES"
    );
    let mut smb2 = Vec::new();
    Header::request(Command::Negotiate, 0).encode(&mut smb2);
    let mut pair = CifsPair::new(config());
    let error = pair.send(&smb2).unwrap_err();
    assert!(matches!(error, HandshakeError::NoCifs), "{error}");
}

#[test]
fn the_answer_to_a_log_on_must_be_one() {
    for (what, alter, body) in [
        ("refused", refuse as fn(&mut CifsHeader), session_setup(0)),
        ("no challenge was sent", go_on, session_setup(0)),
        ("too short", leave, vec![3, 0xFF, 0, 0, 0, 1, 0]),
        ("no words", leave, vec![0, 0, 0]),
        ("another command", command, session_setup(0)),
        ("another request", mid, session_setup(0)),
        ("not a guest", leave, session_setup(0)),
    ] {
        let mut pair = CifsPair::new(config());
        pair.continues(|_| {}, &negotiate(USERS, CAPABILITIES));
        let outcome = pair.answer(alter, &body);
        match what {
            "refused" => {
                let words = outcome.unwrap_err().to_string();
                assert_eq!(words, "SESSION_SETUP refused with STATUS_ACCESS_DENIED");
            }
            // The server's session is ended first.
            "not a guest" => {
                assert!(matches!(outcome, Ok(CifsProgress::Continue)));
                assert_eq!(pair.asked.command, CifsCommand::LogoffAndX);
                let error = pair.answer(|_| {}, &[2, 0xFF, 0, 0, 0, 0, 0]).unwrap_err();
                assert!(matches!(error, HandshakeError::NotAsGuest), "{error}");
            }
            _ => {
                let error = outcome.unwrap_err();
                assert!(
                    matches!(error, HandshakeError::Protocol(_)),
                    "{what}: {error}"
                );
            }
        }
    }
}

fn leave(_: &mut CifsHeader) {}

fn refuse(header: &mut CifsHeader) {
    header.status = NtStatus::ACCESS_DENIED;
}

fn go_on(header: &mut CifsHeader) {
    header.status = NtStatus::MORE_PROCESSING_REQUIRED;
}

fn command(header: &mut CifsHeader) {
    header.command = CifsCommand::Echo;
}

fn mid(header: &mut CifsHeader) {
    header.mid += 1;
}

#[test]
fn a_server_may_put_the_name_of_the_share_in_place_of_its_service() {
    let mut pair = CifsPair::new(config());
    pair.log_on();
    let done = pair.answer(|header| header.tid = 9, &tree_connect(b"SHARE\0"));
    assert!(matches!(done, Ok(CifsProgress::Ready(_))), "{done:?}");
}

#[test]
fn a_refused_share_ends_the_session() {
    for (alter, body, words) in [
        (
            refuse as fn(&mut CifsHeader),
            vec![0, 0, 0],
            "TREE_CONNECT refused with STATUS_ACCESS_DENIED",
        ),
        (
            leave,
            tree_connect(b"IPC\0"),
            "the share is not a disk share",
        ),
        (
            leave,
            tree_connect(b"LPT1:\0"),
            "the share is not a disk share",
        ),
    ] {
        let mut pair = CifsPair::new(config());
        pair.log_on();
        pair.continues(alter, &body);
        assert_eq!(pair.asked.command, CifsCommand::LogoffAndX);
        assert_eq!(pair.asked.uid, 0x51);
        assert_eq!(pair.handshake.awaited(), Command::Logoff);
        let error = pair.answer(refuse, &[0, 0, 0]).unwrap_err();
        assert_eq!(error.to_string(), words);
    }
    let mut pair = CifsPair::new(config());
    pair.log_on();
    let error = pair
        .answer(|_| {}, &[3, 0xFF, 0, 0, 0, 1, 0, 0, 0])
        .unwrap_err();
    assert!(matches!(error, HandshakeError::Protocol(_)), "{error}");
}

#[test]
fn nothing_but_answers_is_expected() {
    let mut pair = CifsPair::new(config());
    pair.log_on();
    let mut message = Vec::new();
    CifsHeader {
        command: CifsCommand::LockingAndX,
        flags: 0,
        mid: u16::MAX,
        ..pair.asked
    }
    .encode(&mut message);
    let file = smbench_protocol::cifs::FileNumber(1);
    encode_release(file, OplockLevel::None, &mut message);
    let error = pair.send(&message).unwrap_err();
    assert!(
        matches!(error, HandshakeError::Protocol(ProtocolError::NotAResponse)),
        "{error}"
    );
}
