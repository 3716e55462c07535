//! Messages that the server sends without a request.

use super::*;
use crate::FileId;
use crate::command::create::OplockLevel;
use crate::command::lease::{LeaseKey, LeaseState};
use crate::command::oplock_break::{LeaseBreak, OplockBreak};
use crate::header::UNSOLICITED;
use crate::wire::DecodeError;

const FILE: FileId = FileId {
    persistent: 0x11,
    volatile: 0x22,
};

fn unsolicited(command: Command, body: &[u8]) -> Vec<u8> {
    let header = Header {
        flags: Flags::RESPONSE,
        credits: 0,
        ..Header::request(command, UNSOLICITED)
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    message
}

pub(super) fn oplock_notification() -> Vec<u8> {
    let mut body = vec![24, 0, 1, 0, 0, 0, 0, 0];
    body.extend(FILE.to_bytes());
    unsolicited(Command::OplockBreak, &body)
}

fn lease_notification(flags: u32) -> Vec<u8> {
    let mut body = vec![44, 0, 5, 0];
    body.extend(flags.to_le_bytes());
    body.extend([0xAB; 16]);
    body.extend([7, 0, 0, 0, 1, 0, 0, 0]);
    body.extend([0; 12]);
    unsolicited(Command::OplockBreak, &body)
}

fn quiet(protection: Protection) -> Connection {
    connection(Dialect::Smb311, LARGE_MTU, protection)
}

#[test]
fn breaks_are_handed_out_however_the_session_is_protected() {
    let lease = LeaseBreak {
        key: LeaseKey([0xAB; 16]),
        current: LeaseState::RWH,
        new: LeaseState::R,
        flags: 1,
        epoch: 5,
    };
    let oplock = OplockBreak {
        file_id: FILE,
        level: OplockLevel::LevelII,
    };
    let protections = [
        Protection::None,
        Protection::Signed(signer()),
        Protection::Encrypted(transform(Cipher::Aes256Gcm)),
    ];
    for protection in protections {
        let mut connection = quiet(protection);
        let before = connection.credits;
        for (message, expected) in [
            (oplock_notification(), BreakNotification::Oplock(oplock)),
            (lease_notification(1), BreakNotification::Lease(lease)),
        ] {
            let outcome = receive_all(&mut connection, &message);
            assert_eq!(outcome, Ok(vec![Outcome::Break(expected)]));
        }
        assert_eq!(connection.credits, before);
    }
}

#[test]
fn anything_else_unasked_ends_the_connection() {
    let mut connection = quiet(Protection::None);
    let echo = unsolicited(Command::Echo, &EMPTY_BODY);
    let outcome = receive(&mut connection, &echo);
    assert_eq!(outcome, Err(ProtocolError::Unasked(UNSOLICITED)));

    for whole in [oplock_notification(), lease_notification(0)] {
        for len in 64..whole.len() {
            let outcome = receive(&mut connection, &whole[..len]);
            assert!(matches!(outcome, Err(ProtocolError::Decode(_))), "{len}");
        }
    }
    let mut unknown = oplock_notification();
    unknown[66] = 2;
    let malformed = DecodeError {
        what: "OPLOCK_BREAK level",
        offset: 66,
    };
    let outcome = receive(&mut connection, &unknown);
    assert_eq!(outcome, Err(ProtocolError::Decode(malformed)));
}

#[test]
fn an_acknowledgement_is_a_request_of_its_own() {
    let mut connection = quiet(Protection::None);
    let Ok(outcomes) = receive_all(&mut connection, &lease_notification(1)) else {
        panic!("a good notification");
    };
    let [Outcome::Break(BreakNotification::Lease(lease))] = outcomes[..] else {
        panic!("a lease break, not {outcomes:?}");
    };
    let mut out = Vec::new();
    let acknowledgement = lease.acknowledgement().unwrap();
    connection
        .acknowledge(SessionIndex::FIRST, 77, &acknowledgement, &mut out)
        .unwrap();
    let [(header, message)] = &sent(&out, None)[..] else {
        panic!("one message");
    };
    assert_eq!(
        (header.command, header.message_id),
        (Command::OplockBreak, 0)
    );
    let mut expected = vec![36, 0, 0, 0, 0, 0, 0, 0];
    expected.extend([0xAB; 16]);
    expected.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(message[64..], expected);
    let outcome = receive_all(
        &mut connection,
        &answer_to(header, NtStatus::SUCCESS, Flags(0)),
    );
    let status = NtStatus::SUCCESS;
    assert_eq!(outcome, Ok(vec![Outcome::Completed { tag: 77, status }]));
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn a_break_that_wants_no_acknowledgement_gets_none() {
    let mut connection = quiet(Protection::None);
    let Ok(outcomes) = receive_all(&mut connection, &lease_notification(0)) else {
        panic!("a good notification");
    };
    let [Outcome::Break(BreakNotification::Lease(lease))] = outcomes[..] else {
        panic!("a lease break, not {outcomes:?}");
    };
    assert_eq!(lease.acknowledgement(), None);
}
