use super::*;
use crate::command::CommandKey;
use crate::names::NameTreatment;
use crate::opens::OpenKey;

const ECHO: u8 = 13;
const ANSWER: u8 = 1;

/// Returns a connection, without messages.
fn connection() -> SmbState {
    let ends = [
        ([127, 0, 0, 1], 50_000).into(),
        ([127, 0, 0, 2], 445).into(),
    ];
    SmbState::new(ends, Some(End::A))
}

/// Takes a message of this session.
fn take(
    state: &mut SmbState,
    ledger: &mut CaptureLedger,
    session: u8,
    [command, flags]: [u8; 2],
    id: u64,
    len: usize,
) {
    let mut bytes = vec![0; len];
    bytes[..6].copy_from_slice(b"\xFESMB\x40\0");
    (bytes[12], bytes[16], bytes[40]) = (command, flags, session);
    bytes[24..32].copy_from_slice(&id.to_le_bytes());
    let from = if flags & ANSWER == 0 { End::A } else { End::B };
    Receiver {
        state,
        ledger,
        from,
    }
    .message(CapturedMessage {
        bytes: &bytes,
        wire_len: len,
        is_cut: false,
        end: Moment::default(),
    });
}

/// Takes an ECHO of this length with these flags and this id.
fn echo(state: &mut SmbState, ledger: &mut CaptureLedger, flags: u8, id: u64, len: usize) {
    take(state, ledger, 0, [ECHO, flags], id, len);
}

#[test]
fn files_are_open_until_their_session_or_its_last_connection_ends() {
    const LOGOFF: u8 = 2;
    const FLUSH: u8 = 7;
    let mut ledger = CaptureLedger::new(NameTreatment::Hash);
    let mut state = connection();
    for session in [1, 2] {
        take(
            &mut state,
            &mut ledger,
            session,
            [FLUSH, 0],
            session.into(),
            88,
        );
    }
    let file = |session: u32| OpenKey::Smb2(Some(session), [0; 16]);
    assert!(ledger.opens.get(file(0)).is_some() && ledger.opens.get(file(1)).is_some());
    for flags in [0, ANSWER] {
        take(&mut state, &mut ledger, 1, [LOGOFF, flags], 3, 68);
    }
    assert!(ledger.opens.get(file(0)).is_none() && ledger.opens.get(file(1)).is_some());
    state.finish(Moment::default(), &mut ledger);
    state.leave_sessions(Moment::default(), &mut ledger);
    assert!(ledger.opens.get(file(1)).is_none());
}

#[test]
fn requests_without_answers_are_kept_up_to_a_limit_for_all_connections() {
    const EACH: u64 = 20_000;
    let mut ledger = CaptureLedger::new(NameTreatment::Hash);
    let mut states: Vec<_> = (0..8).map(|_| connection()).collect();
    for (number, state) in (1..).zip(&mut states) {
        for id in 0..EACH {
            echo(state, &mut ledger, 0, id, 68);
            let usual = WaitingMax::USUAL.requests;
            assert!(state.pending.len() <= usual && ledger.waiting <= WaitingMax::ALL + 256);
        }
        // The latest ones are kept.
        assert_eq!(
            state.pending.last_key_value().map(|(&id, _)| id),
            Some(EACH - 1)
        );
        // An answer still finds its request.
        echo(state, &mut ledger, ANSWER, EACH - 1, 68);
        assert_eq!(
            ledger.tally.command(CommandKey::Smb2(ECHO.into())).matched,
            number
        );
    }
    let waiting: usize = states.iter().map(|state| state.pending.len()).sum();
    assert_eq!(ledger.waiting, waiting);
    for state in &mut states {
        state.finish(Moment::default(), &mut ledger);
    }
    let unanswered = ledger.tally.unanswered[&CommandKey::Smb2(ECHO.into())];
    assert_eq!((unanswered, ledger.waiting), (8 * (EACH - 1), 0));
}

#[test]
fn a_request_is_in_flight_until_its_answer_may_be_missing() {
    let mut ledger = CaptureLedger::new(NameTreatment::Hash);
    let mut state = connection();
    for id in 1..=3 {
        echo(&mut state, &mut ledger, 0, id, 68);
    }
    // The client sends no answers.
    for (from, in_flight) in [(End::A, 3), (End::B, 0), (End::B, 0)] {
        let mut receiver = Receiver {
            state: &mut state,
            ledger: &mut ledger,
            from,
        };
        receiver.missed(Moment::default());
        assert_eq!(state.in_flight, in_flight);
    }
    for id in 4..=6 {
        echo(&mut state, &mut ledger, 0, id, 68);
    }
    // An answer may still come.
    for (id, in_flight) in [(2, 3), (5, 2)] {
        echo(&mut state, &mut ledger, ANSWER, id, 68);
        assert_eq!(state.in_flight, in_flight);
    }
    state.finish(Moment::default(), &mut ledger);
    assert_eq!((state.in_flight, ledger.waiting), (0, 0));
    let key = CommandKey::Smb2(ECHO.into());
    assert_eq!(ledger.tally.unanswered[&key], 4);
    assert_eq!(ledger.tally.command(key).matched, 2);
    assert_eq!(ledger.tally.concurrency.in_flight_max, 3);
}

#[test]
fn answers_without_requests_are_kept_in_part() {
    let mut ledger = CaptureLedger::new(NameTreatment::Hash);
    let mut state = connection();
    for id in 0..1000 {
        echo(&mut state, &mut ledger, ANSWER, id, 5000);
    }
    assert_eq!((state.early.len(), ledger.waiting), (128, 128));
    assert!(state.early.iter().all(|early| early.bytes.len() == 160));
    // The request of the last one comes late.
    echo(&mut state, &mut ledger, 0, 999, 68);
    assert_eq!((state.early.len(), ledger.waiting), (127, 127));
    ledger.waiting += WaitingMax::ALL;
    echo(&mut state, &mut ledger, ANSWER, 1000, 68);
    assert_eq!(state.early.len(), WaitingMax::SMALL.answers);
    ledger.waiting -= WaitingMax::ALL;
    state.finish(Moment::default(), &mut ledger);
    let echoes = ledger.tally.command(CommandKey::Smb2(ECHO.into()));
    assert_eq!(
        (echoes.matched, echoes.unasked, ledger.waiting),
        (1, 1000, 0)
    );
}

const SESSION_SETUP: u16 = 1;
const RESPONSE: u32 = 1;
const SESSION: u64 = 0x1234;

/// Makes a message of the session.
fn message(command: u16, flags: u32, number: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..4].copy_from_slice(b"\xFESMB");
    bytes[4] = 64;
    bytes[12..14].copy_from_slice(&command.to_le_bytes());
    bytes[16..20].copy_from_slice(&flags.to_le_bytes());
    bytes[24..32].copy_from_slice(&number.to_le_bytes());
    bytes[40..48].copy_from_slice(&SESSION.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Logs on to a server, and sends an ECHO.
fn log_on(server: u8, setup_flags: u8, ledger: &mut CaptureLedger) {
    let ends = [
        ([192, 0, 2, 1], 50_000 + u16::from(server)).into(),
        ([192, 0, 2, server], 445).into(),
    ];
    let mut state = SmbState::new(ends, Some(End::A));
    let mut setup = vec![0; 24];
    (setup[0], setup[2]) = (25, setup_flags);
    for (from, bytes) in [
        (End::A, message(SESSION_SETUP, 0, 1, &setup)),
        (End::B, message(SESSION_SETUP, RESPONSE, 1, &[9, 0])),
        (End::A, message(ECHO.into(), 0, 2, &[4, 0, 0, 0])),
        (End::B, message(ECHO.into(), RESPONSE, 2, &[4, 0, 0, 0])),
    ] {
        let mut receiver = Receiver {
            state: &mut state,
            ledger: &mut *ledger,
            from,
        };
        receiver.message(CapturedMessage {
            bytes: &bytes,
            wire_len: bytes.len(),
            is_cut: false,
            end: Moment::default(),
        });
    }
}

#[test]
fn channels_to_several_addresses_of_a_server_are_one_session() {
    const BINDING: u8 = 1;
    let mut ledger = CaptureLedger::new(NameTreatment::Hash);
    log_on(2, 0, &mut ledger);
    log_on(3, BINDING, &mut ledger);
    let [session] = &ledger.sessions.all[..] else {
        panic!("{:?}", ledger.sessions.all);
    };
    assert_eq!((session.connections, session.requests), (2, 2));
    // Another server may give the same id.
    log_on(4, 0, &mut ledger);
    assert_eq!(ledger.sessions.all.len(), 2);
}
