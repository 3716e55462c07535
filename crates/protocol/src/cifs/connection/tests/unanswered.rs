use super::*;
use crate::cifs::connection::unanswered::KEPT;
use crate::connection::NotInFlight;

#[test]
fn the_answer_to_an_acknowledgement_does_not_matter() {
    let mut connection = connection();
    let mut out = Vec::new();
    connection.release(FIRST, BROKEN, &mut out);
    assert_eq!(connection.in_flight(), 0);
    let (release, _) = sent(&out)[0];
    assert_eq!(release.command, CifsCommand::LockingAndX);
    let request = ask(&mut connection, 1);
    assert_ne!(request.mid, release.mid);
    let message = answer(&release, NtStatus::INVALID_HANDLE, &EMPTY);
    assert_eq!(receive(&mut connection, &message), Ok(CifsOutcome::Part));
    let again = receive(&mut connection, &message);
    assert_eq!(again, Err(ProtocolError::Unasked(release.mid.into())));
}

#[test]
fn only_the_latest_acknowledgements_are_remembered() {
    let mut connection = connection();
    let mut out = Vec::new();
    for _ in 0..=KEPT {
        connection.release(FIRST, BROKEN, &mut out);
    }
    let all = sent(&out);
    let message = |at: usize| answer(&all[at].0, NtStatus::INVALID_HANDLE, &EMPTY);
    let oldest = receive(&mut connection, &message(0));
    assert_eq!(oldest, Err(ProtocolError::Unasked(all[0].0.mid.into())));
    for at in 1..=KEPT {
        assert_eq!(
            receive(&mut connection, &message(at)),
            Ok(CifsOutcome::Part)
        );
    }
}

#[test]
fn a_cancel_names_its_request_and_gets_no_answer() {
    let mut connection = connection();
    let request = ask(&mut connection, 6);
    let mut out = Vec::new();
    assert_eq!(connection.cancel(FIRST, 7, &mut out), Err(NotInFlight));
    assert!(out.is_empty());
    connection.cancel(FIRST, 6, &mut out).unwrap();
    let (cancel, message) = &sent(&out)[0];
    assert_eq!(cancel.command, CifsCommand::NtCancel);
    assert_eq!(
        (cancel.mid, cancel.uid, cancel.tid),
        (request.mid, UID, TID)
    );
    assert_eq!(message[CIFS_HEADER_LEN..], EMPTY);
    assert_eq!(connection.in_flight(), 1);
    let message = answer(&request, NtStatus::CANCELLED, &EMPTY);
    receive(&mut connection, &message).unwrap();
    assert_eq!(connection.cancel(FIRST, 6, &mut out), Err(NotInFlight));
}

/// Servers answer every request of an expired session, also those without an answer.
#[test]
fn an_expired_session_answers_a_cancel() {
    let mut connection = connection();
    let request = ask(&mut connection, 6);
    let mut out = Vec::new();
    connection.cancel(FIRST, 6, &mut out).unwrap();
    let (cancel, _) = sent(&out)[0];
    let expired = NtStatus::NETWORK_SESSION_EXPIRED;
    let to_cancel = answer(&cancel, expired, &EMPTY);
    // Before and after the answer to the request itself.
    let uncancelled = Ok(CifsOutcome::Uncancelled(FIRST, 6));
    assert_eq!(receive(&mut connection, &to_cancel), uncancelled);
    let outcome = receive(&mut connection, &to_cancel);
    assert_eq!(outcome, Err(ProtocolError::Unasked(request.mid.into())));
    connection.cancel(FIRST, 6, &mut out).unwrap();
    receive(&mut connection, &answer(&request, expired, &EMPTY)).unwrap();
    assert_eq!(receive(&mut connection, &to_cancel), uncancelled);
}

#[test]
fn an_acknowledgement_in_an_expired_session_is_reported() {
    let mut connection = connection();
    let mut out = Vec::new();
    connection.release(FIRST, BROKEN, &mut out);
    let message = answer(&sent(&out)[0].0, NtStatus::NETWORK_SESSION_EXPIRED, &EMPTY);
    let outcome = receive(&mut connection, &message);
    assert_eq!(outcome, Ok(CifsOutcome::Unreleased(FIRST, BROKEN)));
}
