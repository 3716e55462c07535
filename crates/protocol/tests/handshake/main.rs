//! Handshakes with servers that violate MS-SMB2, message by message.

mod cifs;
mod further;

use std::time::SystemTime;

use smbench_protocol::connection::EMPTY_BODY;
use smbench_protocol::crypto::NONCE_SEED_LEN;
use smbench_protocol::frame::{Inbound, PREFIX_LEN, Payload};
use smbench_protocol::handshake::Demand;
use smbench_protocol::handshake::{SessionSetup, SetupProgress};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{
    Account, Channels, CipherList, Connection, Credentials, Dialect, DialectRange, Event,
    Handshake, HandshakeError, HandshakeProgress, Logon, NtStatus, Policy, ProtocolError,
    SessionConfig, SessionIndex,
};

const SIGNING_REQUIRED: u16 = 2;
const IS_GUEST: u16 = 1;
const ENCRYPT_DATA: u16 = 4;

fn config() -> SessionConfig {
    SessionConfig {
        dialects: DialectRange::ALL,
        signing: Policy::AsServerRequires,
        signing_algorithm: None,
        encryption: Policy::AsServerRequires,
        ciphers: CipherList::default(),
        credentials: Credentials::Guest(Account {
            domain: String::new(),
            user: "guest".to_owned(),
            password: String::new(),
        }),
        now: SystemTime::UNIX_EPOCH,
        host: "server".to_owned(),
        workstation: "LOADER".to_owned(),
        share: "share".to_owned(),
        credit_target: 64,
        credit_cap: None,
        channels: Channels::One,
        client_guid: [1; 16],
        previous_session: 0,
        salt: [2; 32],
        nonce_seed: [3; NONCE_SEED_LEN],
    }
}

/// A handshake with a server that the test simulates.
struct Pair {
    handshake: Handshake,
    /// Header of the request to answer.
    asked: Header,
    out: Vec<u8>,
}

impl Pair {
    fn new(config: SessionConfig) -> Self {
        let mut out = Vec::new();
        let handshake = Handshake::start(config, None, &mut out).expect("usable credentials");
        let asked = Header::decode(&out[PREFIX_LEN..]).expect("a request");
        Self {
            handshake,
            asked,
            out,
        }
    }

    /// Sends `message` to the client unchanged.
    fn send(&mut self, message: &[u8]) -> Result<HandshakeProgress, HandshakeError> {
        let mut frame = (message.len() as u32).to_be_bytes().to_vec();
        frame.extend_from_slice(message);
        let mut inbound = Inbound::default();
        let mut input = frame.as_mut_slice();
        let frame = inbound.next(&mut input, Payload::Keep);
        let frame = frame.expect("a frame").expect("a whole frame");
        let mut messages = self.handshake.open(frame)?;
        let message = messages.next_message()?.expect("a message");
        self.out.clear();
        let progress = self.handshake.receive(message, &mut self.out);
        if !self.out.is_empty() {
            self.asked = Header::decode(&self.out[PREFIX_LEN..]).expect("a request");
        }
        progress
    }

    /// Answers the last request. `alter` may change the header of the answer.
    fn answer(
        &mut self,
        alter: impl FnOnce(&mut Header),
        body: &[u8],
    ) -> Result<HandshakeProgress, HandshakeError> {
        let mut header = Header {
            flags: Flags::RESPONSE,
            session_id: 0x51,
            ..self.asked
        };
        alter(&mut header);
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(body);
        self.send(&message)
    }

    /// Advances to the request after SESSION_SETUP, as a guest.
    fn log_on(&mut self) {
        for body in [negotiate(Dialect::Smb21, 0), session_setup(IS_GUEST)] {
            let progress = self.answer(|_| {}, &body);
            assert!(
                matches!(progress, Ok(HandshakeProgress::Continue)),
                "{progress:?}"
            );
        }
        assert_eq!(self.asked.command, Command::TreeConnect);
    }
}

fn negotiate(dialect: Dialect, security_mode: u16) -> Vec<u8> {
    let mut body = vec![65, 0];
    body.extend(security_mode.to_le_bytes());
    body.extend((dialect as u16).to_le_bytes());
    body.extend([0; 2 + 16 + 4]);
    for _ in 0..3 {
        body.extend((1u32 << 20).to_le_bytes());
    }
    body.extend([0; 16]);
    body.extend([128, 0, 0, 0, 0, 0, 0, 0]);
    body
}

fn session_setup(flags: u16) -> Vec<u8> {
    let mut body = vec![9, 0];
    body.extend(flags.to_le_bytes());
    body.extend([72, 0, 0, 0]);
    body
}

const TREE_CONNECT: [u8; 16] = [16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 1, 0x1F, 0];

#[test]
fn a_guest_gets_in_without_a_signature_whatever_the_server_requires_of_others() {
    for security_mode in [0, SIGNING_REQUIRED] {
        let mut pair = Pair::new(config());
        let answers = [
            negotiate(Dialect::Smb302, security_mode),
            session_setup(IS_GUEST),
        ];
        for body in answers {
            let progress = pair.answer(|_| {}, &body);
            assert!(
                matches!(progress, Ok(HandshakeProgress::Continue)),
                "{progress:?}"
            );
        }
        let Ok(HandshakeProgress::Ready(connection)) = pair.answer(|_| {}, &TREE_CONNECT) else {
            panic!("the session stands");
        };
        let terms = connection.terms(SessionIndex::FIRST);
        assert_eq!((terms.logon, terms.signing), (Logon::Guest, None));
    }
}

#[test]
fn without_a_credit_no_message_id_is_used_again() {
    let mut pair = Pair::new(config());
    let refused = pair.answer(|header| header.credits = 0, &negotiate(Dialect::Smb21, 0));
    let error = refused.unwrap_err();
    assert!(matches!(
        error,
        HandshakeError::NoCredit(Command::SessionSetup)
    ));
    assert_eq!(
        error.to_string(),
        "the server granted no credit for the SESSION_SETUP"
    );
    assert_eq!(pair.out, []);
}

#[test]
fn a_session_keeps_its_id() {
    let mut pair = Pair::new(config());
    pair.log_on();
    let refused = pair.answer(|header| header.session_id = 0x52, &TREE_CONNECT);
    assert!(matches!(
        refused,
        Err(HandshakeError::Protocol(ProtocolError::NotAResponse))
    ));
}

#[test]
fn a_server_of_smb_1_is_called_by_its_name() {
    let mut pair = Pair::new(config());
    let mut message = b"\xFFSMBr".to_vec();
    message.resize(40, 0);
    let refused = pair.send(&message);
    assert!(matches!(refused, Err(HandshakeError::Smb1)), "{refused:?}");
}

#[test]
fn a_3_1_1_answer_without_contexts_is_refused() {
    let mut pair = Pair::new(config());
    let refused = pair.answer(|_| {}, &negotiate(Dialect::Smb311, 0));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("without pre-authentication"), "{text}");
}

/// The server ends the session that a client names (MS-SMB2 2.2.5 PreviousSessionId).
#[test]
fn a_session_names_the_one_that_it_takes_the_place_of() {
    let mut pair = Pair::new(SessionConfig {
        previous_session: 0x1122_3344_5566_7788,
        ..config()
    });
    pair.answer(|_| {}, &negotiate(Dialect::Smb21, 0)).unwrap();
    let body = &pair.out[PREFIX_LEN + HEADER_LEN..];
    let previous: [u8; 8] = body[16..24].try_into().unwrap();
    assert_eq!(u64::from_le_bytes(previous), 0x1122_3344_5566_7788);
}

#[test]
fn who_wants_what_a_guest_cannot_have_is_named() {
    for (signing, flags, who) in [
        (Policy::Required, IS_GUEST, "the session needs signing"),
        (
            Policy::AsServerRequires,
            IS_GUEST | ENCRYPT_DATA,
            "each session of this server needs encryption",
        ),
    ] {
        let mut pair = Pair::new(SessionConfig {
            signing,
            ..config()
        });
        let negotiated = pair.answer(|_| {}, &negotiate(Dialect::Smb302, 0));
        assert!(negotiated.is_ok(), "{negotiated:?}");
        let refused = pair.answer(|_| {}, &session_setup(flags));
        let error = refused.unwrap_err();
        assert!(matches!(
            (&error, signing),
            (HandshakeError::CannotSign(Logon::Guest), Policy::Required)
                | (
                    HandshakeError::CannotEncrypt {
                        by: Demand::Server,
                        logon: Logon::Guest
                    },
                    Policy::AsServerRequires
                )
        ));
        assert!(error.to_string().starts_with(who), "{error}");
    }
}
