use super::*;
use crate::cifs::command::decode_empty;
use crate::cifs::command::session::cifs_capabilities;
use crate::cifs::header::CIFS_HEADER_LEN;
use crate::connection::ProtocolError;
use crate::frame::{Message, Secrecy};

const KEY: [u8; 16] = [7; 16];
const SESSION: SessionIndex = SessionIndex::FIRST;

fn connection(max_mpx: u16) -> CifsConnection {
    let negotiated = CifsNegotiated {
        max_mpx,
        max_buffer: 16_644,
        capabilities: cifs_capabilities::LARGE_READ | cifs_capabilities::LARGE_WRITE,
        can_sign: true,
        server_requires_signing: false,
    };
    let mut connection = CifsConnection::new(negotiated, 0);
    let session = connection.add_user();
    assert_eq!(session, SESSION);
    let user = connection.user_mut(session);
    (user.uid, user.tid) = (7, 9);
    connection
}

/// Returns an answer with this body.
fn answer(command: CifsCommand, mid: u16, status: NtStatus, body: &[u8]) -> Vec<u8> {
    let header = CifsHeader {
        command,
        status,
        flags: cifs_flags::REPLY,
        flags2: cifs_flags2::REQUEST,
        tid: 9,
        uid: 7,
        mid,
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    message
}

fn receive<'a>(
    connection: &mut CifsConnection,
    bytes: &'a mut [u8],
) -> Result<CifsEvent<'a>, ProtocolError> {
    connection.receive(Message {
        total_len: bytes.len(),
        bytes,
        secrecy: Secrecy::Plain,
    })
}

/// Sends an ECHO and returns its message.
fn echo(connection: &mut CifsConnection, tag: u32) -> Vec<u8> {
    let mut out = Vec::new();
    connection.echo(SESSION, tag, &mut out).unwrap();
    out.split_off(PREFIX_LEN)
}

fn mid_of(message: &[u8]) -> u16 {
    CifsHeader::decode(message).unwrap().mid
}

const EMPTY: [u8; 3] = [0; 3];

#[test]
fn the_server_limits_the_requests_in_flight() {
    let mut connection = connection(2);
    let first = mid_of(&echo(&mut connection, 1));
    let second = mid_of(&echo(&mut connection, 2));
    assert_ne!(first, second);
    assert_eq!((connection.room(), connection.in_flight()), (0, 2));
    let mut out = Vec::new();
    assert_eq!(connection.echo(SESSION, 3, &mut out), Err(NoCredit));
    assert_eq!(out, []);
    let mut bytes = answer(CifsCommand::Echo, first, NtStatus::SUCCESS, &EMPTY);
    let CifsEvent::Completed(done) = receive(&mut connection, &mut bytes).unwrap() else {
        panic!("the request was answered");
    };
    assert_eq!((done.tag, done.status), (1, NtStatus::SUCCESS));
    decode_empty(done.message()).unwrap();
    assert_eq!(connection.room(), 1);
    assert!(connection.is_in_flight(2) && !connection.is_in_flight(1));
}

#[test]
fn message_ids_go_round_and_leave_out_those_in_use() {
    let mut connection = connection(2);
    let kept = mid_of(&echo(&mut connection, 1));
    for _ in 0..70_000 {
        let mid = mid_of(&echo(&mut connection, 2));
        assert!(mid != kept && mid != CIFS_UNSOLICITED);
        let mut bytes = answer(CifsCommand::Echo, mid, NtStatus::SUCCESS, &EMPTY);
        receive(&mut connection, &mut bytes).unwrap();
    }
}

#[test]
fn answers_to_nothing_or_to_another_command_are_refused() {
    let mut connection = connection(10);
    let mid = mid_of(&echo(&mut connection, 1));
    let mut other = answer(CifsCommand::Echo, mid + 1, NtStatus::SUCCESS, &EMPTY);
    let refused = receive(&mut connection, &mut other).unwrap_err();
    assert_eq!(refused, ProtocolError::Unasked((mid + 1).into()));
    let mut other = answer(CifsCommand::Close, mid, NtStatus::SUCCESS, &EMPTY);
    let refused = receive(&mut connection, &mut other).unwrap_err();
    assert!(matches!(refused, ProtocolError::WrongCommand { .. }));
    let mut request = echo(&mut connection, 2);
    let refused = receive(&mut connection, &mut request).unwrap_err();
    assert_eq!(refused, ProtocolError::NotAResponse);
    let mut short = vec![0xFF; CIFS_HEADER_LEN - 1];
    assert!(receive(&mut connection, &mut short).is_err());
}

/// The file of a break was closed meanwhile, so that the acknowledgement is answered.
#[test]
fn the_answer_to_an_acknowledgement_means_nothing_but_once() {
    let mut connection = connection(10);
    let mut out = Vec::new();
    connection.release(SESSION, FileNumber(3), OplockLevel::None, &mut out);
    let mid = mid_of(&out[PREFIX_LEN..]);
    assert_eq!(connection.in_flight(), 0);
    let failed = || {
        answer(
            CifsCommand::LockingAndX,
            mid,
            NtStatus::INVALID_HANDLE,
            &EMPTY,
        )
    };
    let event =
        receive(&mut connection, &mut failed()).map(|event| matches!(event, CifsEvent::Part));
    assert_eq!(event, Ok(true));
    assert!(receive(&mut connection, &mut failed()).is_err());
}

#[test]
fn a_signed_connection_takes_no_other_answer() {
    let mut connection = connection(10);
    connection.signer = Some(CifsSigner::new(KEY.to_vec()));
    // The request has number 2, and its answer number 3.
    let mid = mid_of(&echo(&mut connection, 1));
    let unsigned = answer(CifsCommand::Echo, mid, NtStatus::SUCCESS, &EMPTY);
    for (skipped, is_taken) in [(0, false), (2, false), (1, true)] {
        let mut signer = CifsSigner::new(KEY.to_vec());
        for _ in 0..skipped {
            signer.sign(&mut [0; 40], CifsReplies::No);
        }
        let mut signed = unsigned.clone();
        signer.sign(&mut signed, CifsReplies::Yes);
        if !is_taken {
            let refused = receive(&mut connection, &mut signed).unwrap_err();
            assert_eq!(refused, ProtocolError::Signature("ECHO"));
            continue;
        }
        let mut changed = signed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(receive(&mut connection, &mut changed).is_err());
        assert!(receive(&mut connection, &mut signed).is_ok());
    }
    // Larger than MaxBufferSize permits: only READs.
    assert_eq!(
        (connection.max_read(), connection.max_write()),
        (65_536, 16_580)
    );
}

/// Returns the body of a part: 1000 bytes of data in all, `len` of them at `at`.
fn part(total: u16, at: u16, len: u16) -> Vec<u8> {
    let mut body = vec![10];
    for word in [0, total, 0, 0, 0, 0, len, 56, at, 0] {
        body.extend(u16::to_le_bytes(word));
    }
    body.extend((len + 1).to_le_bytes());
    body.push(0);
    body.extend((0..len).map(|n| (at + n) as u8));
    body
}

/// Receives parts of one answer. Returns its data.
fn joined(parts: &[(u16, u16, u16)]) -> Result<Vec<u8>, ProtocolError> {
    let mut connection = connection(10);
    let mut out = Vec::new();
    let command = CifsCommand::Transaction2;
    connection
        .request(SESSION, command, 4, &mut out, encode_empty)
        .unwrap();
    let mid = mid_of(&out[PREFIX_LEN..]);
    for &(total, at, len) in parts {
        let mut bytes = answer(command, mid, NtStatus::SUCCESS, &part(total, at, len));
        if let CifsEvent::Completed(done) = receive(&mut connection, &mut bytes)? {
            assert_eq!(connection.in_flight(), 0);
            return Ok(done.transaction().unwrap().1.to_vec());
        }
    }
    assert_eq!(connection.in_flight(), 1);
    Ok(Vec::new())
}

#[test]
fn parts_of_an_answer_are_joined_in_order() {
    let whole: Vec<_> = (0..300u16).map(|n| n as u8).collect();
    assert_eq!(joined(&[(300, 0, 300)]).unwrap(), whole);
    assert_eq!(
        joined(&[(300, 0, 100), (300, 100, 150), (300, 250, 50)]).unwrap(),
        whole
    );
    // A later part may lower the total.
    assert_eq!(joined(&[(400, 0, 100), (300, 100, 200)]).unwrap(), whole);
    assert_eq!(joined(&[(300, 0, 100)]).unwrap(), []);
    for wrong in [
        // They overlap, leave a gap, exceed the total, let it grow, or bring nothing.
        &[(300, 0, 100), (300, 50, 250)][..],
        &[(300, 0, 100), (300, 150, 150)],
        &[(300, 0, 100), (300, 100, 201)],
        &[(300, 0, 100), (400, 100, 200)],
        &[(300, 0, 100), (300, 100, 0)],
    ] {
        assert!(joined(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_break_finds_its_session_by_its_tree() {
    let mut connection = connection(10);
    let mut body = vec![8, 0xFF, 0, 0, 0, 5, 0, 2, 1];
    body.resize(1 + 16 + 2, 0);
    let mut message = answer(
        CifsCommand::LockingAndX,
        CIFS_UNSOLICITED,
        NtStatus::SUCCESS,
        &body,
    );
    message[9] = 0;
    let CifsEvent::Break { session, broken } = receive(&mut connection, &mut message).unwrap()
    else {
        panic!("an oplock break");
    };
    assert_eq!(session, Some(SESSION));
    assert_eq!(
        (broken.file, broken.level),
        (FileNumber(5), OplockLevel::LevelII)
    );
}

#[test]
fn only_what_is_in_flight_is_cancelled() {
    let mut connection = connection(10);
    let mut out = Vec::new();
    assert_eq!(connection.cancel(SESSION, 1, &mut out), Err(NotInFlight));
    let mid = mid_of(&echo(&mut connection, 1));
    connection.cancel(SESSION, 1, &mut out).unwrap();
    assert_eq!(mid_of(&out[PREFIX_LEN..]), mid);
    assert_eq!(connection.in_flight(), 1);
}
