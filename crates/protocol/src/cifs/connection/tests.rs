mod allocations;
mod parts;
mod signed;
mod unanswered;

use super::*;
use crate::cifs::FileNumber;
use crate::cifs::command::lock::{CifsBreak, encode_release};
use crate::cifs::command::session::cifs_capabilities;
use crate::cifs::header::CIFS_HEADER_LEN;
use crate::command::create::OplockLevel;
use crate::connection::ProtocolError;
use crate::frame::{Inbound, Payload};
use crate::wire::DecodeError;

const FIRST: SessionIndex = SessionIndex::FIRST;
const UID: u16 = 0x51;
const TID: u16 = 0x33;

fn negotiated(capabilities: u32) -> CifsNegotiated {
    CifsNegotiated {
        max_mpx: 10,
        max_buffer: 16_644,
        capabilities,
        can_sign: true,
        server_requires_signing: false,
    }
}

fn connection() -> CifsConnection {
    let mut connection = CifsConnection::new(negotiated(0), 0);
    let first = connection.add_user();
    let user = connection.user_mut(first);
    (user.uid, user.tid) = (UID, TID);
    connection
}

/// Returns the frames in `out` as the server sees them.
fn sent(out: &[u8]) -> Vec<(CifsHeader, Vec<u8>)> {
    let mut bytes = out.to_vec();
    let mut input = bytes.as_mut_slice();
    let mut inbound = Inbound::default();
    let mut all = Vec::new();
    while let Some(frame) = inbound.next(&mut input, Payload::Keep).unwrap() {
        let message = frame.into_message().bytes.to_vec();
        all.push((CifsHeader::decode(&message).unwrap(), message));
    }
    all
}

/// Sends an ECHO and returns its header.
fn ask(connection: &mut CifsConnection, tag: u32) -> CifsHeader {
    let mut out = Vec::new();
    connection.echo(FIRST, tag, &mut out).unwrap();
    sent(&out)[0].0
}

/// Makes an answer to `request` with this body.
fn answer(request: &CifsHeader, status: NtStatus, body: &[u8]) -> Vec<u8> {
    let header = CifsHeader {
        status,
        flags: cifs_flags::REPLY,
        ..*request
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    message
}

/// The result of a received message.
#[derive(Debug, PartialEq, Eq)]
enum CifsOutcome {
    Completed { tag: u32, status: NtStatus },
    Part,
    Break(Option<SessionIndex>, CifsBreak),
    Unreleased(SessionIndex, CifsBreak),
    Uncancelled(SessionIndex, u32),
}

fn receive(connection: &mut CifsConnection, message: &[u8]) -> Result<CifsOutcome, ProtocolError> {
    let mut stream = (message.len() as u32).to_be_bytes().to_vec();
    stream.extend_from_slice(message);
    let mut inbound = Inbound::default();
    let mut input = stream.as_mut_slice();
    let frame = inbound.next(&mut input, Payload::Discard)?.unwrap();
    Ok(match connection.receive(frame.into_message())? {
        CifsEvent::Completed(CifsCompletion { tag, status, .. }) => {
            CifsOutcome::Completed { tag, status }
        }
        CifsEvent::Part => CifsOutcome::Part,
        CifsEvent::Break { session, broken } => CifsOutcome::Break(session, broken),
        CifsEvent::Unreleased { session, broken } => CifsOutcome::Unreleased(session, broken),
        CifsEvent::Uncancelled { session, tag } => CifsOutcome::Uncancelled(session, tag),
    })
}

const EMPTY: [u8; 3] = [0; 3];

fn completed(tag: u32) -> Result<CifsOutcome, ProtocolError> {
    let status = NtStatus::SUCCESS;
    Ok(CifsOutcome::Completed { tag, status })
}

/// An oplock that the client gives up.
const BROKEN: CifsBreak = CifsBreak {
    file: FileNumber(9),
    level: OplockLevel::None,
};

#[test]
fn an_error_of_dos_is_a_failure_without_a_name() {
    let mut connection = connection();
    let request = ask(&mut connection, 1);
    let mut message = answer(&request, NtStatus(0x0005_0001), &EMPTY);
    message[11] &= !0x40;
    let status = NtStatus::UNSUCCESSFUL;
    let outcome = receive(&mut connection, &message);
    assert_eq!(outcome, Ok(CifsOutcome::Completed { tag: 1, status }));
}

#[test]
fn a_request_names_its_session_and_has_a_mid_of_its_own() {
    let mut connection = connection();
    let second = connection.add_user();
    connection.user_mut(second).uid = 7;
    let first = ask(&mut connection, 1);
    let next = ask(&mut connection, 2);
    let mut out = Vec::new();
    connection.echo(second, 3, &mut out).unwrap();
    let other = sent(&out)[0].0;
    assert_eq!([first.mid, next.mid, other.mid], [1, 2, 3]);
    assert_eq!(
        [(first.uid, first.tid), (other.uid, other.tid)],
        [(UID, TID), (7, 0)]
    );
    assert!(!first.is_reply() && !first.is_signed());
    // Answers may arrive in any order.
    for (request, tag) in [(other, 3), (first, 1), (next, 2)] {
        let message = answer(&request, NtStatus::SUCCESS, &EMPTY);
        assert_eq!(receive(&mut connection, &message), completed(tag));
    }
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn no_mid_is_that_of_breaks_or_of_a_request_in_flight() {
    let mut connection = connection();
    let first = ask(&mut connection, 0);
    connection.next_mid = u16::MAX - 2;
    let mids = [1, 2, 3, 4].map(|tag| ask(&mut connection, tag).mid);
    assert_eq!((first.mid, mids), (1, [u16::MAX - 1, 0, 2, 3]));
}

#[test]
fn the_server_limits_the_requests_in_flight() {
    let mut connection = connection();
    let requests: Vec<_> = (0..10).map(|tag| ask(&mut connection, tag)).collect();
    assert_eq!((connection.in_flight(), connection.room()), (10, 0));
    let mut out = vec![1, 2, 3];
    let command = CifsCommand::Flush;
    let refused = connection.request(FIRST, command, 99, &mut out, |_| {
        unreachable!("it is not sent");
    });
    assert_eq!((refused, &out[..]), (Err(NoCredit), &[1, 2, 3][..]));
    assert!(connection.is_in_flight(3) && !connection.is_in_flight(99));
    let message = answer(&requests[3], NtStatus::SUCCESS, &EMPTY);
    receive(&mut connection, &message).unwrap();
    assert_eq!(connection.room(), 1);
    assert!(!connection.is_in_flight(3));
    // A server cannot permit less than one.
    let none = CifsNegotiated {
        max_mpx: 0,
        ..negotiated(0)
    };
    assert_eq!(CifsConnection::new(none, 0).room(), 1);
}

#[test]
fn answers_that_fit_no_request_end_the_connection() {
    let request = ask(&mut connection(), 0);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut connection = connection();
        ask(&mut connection, 0);
        let mut message = answer(&request, NtStatus::SUCCESS, &EMPTY);
        change(&mut message);
        receive(&mut connection, &message)
    };
    assert_eq!(changed(&|_| ()), completed(0));
    assert_eq!(
        changed(&|message| message[30] = 2),
        Err(ProtocolError::Unasked(2))
    );
    assert_eq!(
        changed(&|message| message[4] = CifsCommand::Close as u8),
        Err(ProtocolError::WrongCommand {
            asked: "ECHO",
            got: "CLOSE"
        })
    );
    assert_eq!(
        changed(&|message| message[9] = 0),
        Err(ProtocolError::NotAResponse)
    );
    let decode = |what, offset| Err(ProtocolError::Decode(DecodeError { what, offset }));
    assert_eq!(
        changed(&|message| message[0] = 0xFE),
        decode("CIFS protocol id", 0)
    );
    assert_eq!(
        changed(&|message| message[4] = 0xFF),
        decode("CIFS command", 4)
    );
    // A keepalive packet is an empty message.
    assert_eq!(changed(&|message| message.clear()), Ok(CifsOutcome::Part));
    for len in 1..CIFS_HEADER_LEN {
        assert_eq!(
            changed(&|message| message.truncate(len)),
            decode("CIFS header", 0)
        );
    }
}

#[test]
fn an_answer_arrives_once() {
    let mut connection = connection();
    let request = ask(&mut connection, 5);
    let message = answer(&request, NtStatus::ACCESS_DENIED, &EMPTY);
    let status = NtStatus::ACCESS_DENIED;
    let outcome = receive(&mut connection, &message);
    assert_eq!(outcome, Ok(CifsOutcome::Completed { tag: 5, status }));
    let again = receive(&mut connection, &message);
    assert_eq!(again, Err(ProtocolError::Unasked(request.mid.into())));
}

/// Makes the break of an oplock that the tree connect `tid` has.
fn break_of(tid: u16, mid: u16, command: CifsCommand) -> Vec<u8> {
    let header = CifsHeader {
        command,
        status: NtStatus::SUCCESS,
        flags: 0,
        flags2: 0,
        tid,
        uid: 0,
        mid,
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    encode_release(FileNumber(9), OplockLevel::LevelII, &mut message);
    message
}

#[test]
fn a_break_names_the_session_of_its_tree_connect() {
    let mut connection = connection();
    let second = connection.add_user();
    connection.user_mut(second).tid = 4;
    let broken = CifsBreak {
        file: FileNumber(9),
        level: OplockLevel::LevelII,
    };
    let locking = CifsCommand::LockingAndX;
    for (tid, session) in [(TID, Some(FIRST)), (4, Some(second)), (5, None)] {
        let message = break_of(tid, CIFS_UNSOLICITED, locking);
        let outcome = receive(&mut connection, &message);
        assert_eq!(outcome, Ok(CifsOutcome::Break(session, broken)));
    }
    connection.forget(second);
    let outcome = receive(&mut connection, &break_of(4, CIFS_UNSOLICITED, locking));
    assert_eq!(outcome, Ok(CifsOutcome::Break(None, broken)));
    for message in [
        break_of(TID, 1, locking),
        break_of(TID, CIFS_UNSOLICITED, CifsCommand::Echo),
    ] {
        let outcome = receive(&mut connection, &message);
        assert_eq!(outcome, Err(ProtocolError::NotAResponse));
    }
}

#[test]
fn another_tree_connect_is_ended_under_its_own_id() {
    let mut connection = connection();
    let mut out = Vec::new();
    connection
        .tree_disconnect(FIRST, 1, CifsTree(8), &mut out)
        .unwrap();
    assert_eq!(sent(&out)[0].0.tid, 8);
    assert_eq!(ask(&mut connection, 2).tid, TID);
}

#[test]
fn a_forgotten_session_leaves_its_index() {
    let mut connection = connection();
    let second = connection.add_user();
    connection.forget(FIRST);
    let third = connection.add_user();
    assert_eq!(third, FIRST);
    assert_ne!(connection.add_user(), second);
    assert_eq!(connection.user(third).uid, 0);
}

#[test]
fn capabilities_and_signatures_limit_reads_and_writes() {
    use cifs_capabilities::{LARGE_READ, LARGE_WRITE};
    const LARGE_MAX: u32 = 65_536;
    let fits = 16_580;
    for (capabilities, signer, expected) in [
        (0, None, (fits, fits)),
        (LARGE_READ, None, (LARGE_MAX, fits)),
        (LARGE_READ | LARGE_WRITE, None, (LARGE_MAX, LARGE_MAX)),
        (
            LARGE_READ | LARGE_WRITE,
            Some(CifsSigner::new(vec![7; 16])),
            (LARGE_MAX, fits),
        ),
    ] {
        let mut connection = CifsConnection::new(negotiated(capabilities), 0);
        connection.signer = signer;
        assert_eq!((connection.max_read(), connection.max_write()), expected);
    }
    // Odd limits of the server.
    for (max_buffer, expected) in [(0, 0), (63, 0), (u32::MAX, LARGE_MAX)] {
        let odd = CifsNegotiated {
            max_buffer,
            ..negotiated(0)
        };
        assert_eq!(CifsConnection::new(odd, 0).max_write(), expected);
    }
}
