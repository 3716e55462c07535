//! Re-authentication while other requests are in flight.

use std::time::SystemTime;

use super::*;
use crate::auth::{Claim, Credentials, LogonPlace};
use crate::credit::Payment;

const NOBODY: Claim<'_> = Claim {
    credentials: &Credentials::Anonymous,
    place: LogonPlace {
        host: "server",
        workstation: "",
    },
    now: SystemTime::UNIX_EPOCH,
};
const IS_NULL: u16 = 2;

/// Returns a SPNEGO response with the state "accept-incomplete" and a challenge of NTLM, whose
/// only flag is UNICODE.
fn go_on() -> Vec<u8> {
    let spnego = [0xa1, 59, 0x30, 57, 0xa0, 3, 0x0a, 1, 1, 0xa2, 50, 4, 48];
    let mut challenge = *b"NTLMSSP\0\x02\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    challenge[24..32].fill(7);
    [&spnego[..], &challenge].concat()
}

/// Makes an anonymous session. It is signed, so that tests see which messages
/// stay signed.
fn anonymous() -> Connection {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    connection.sessions[0].terms.logon = Logon::Anonymous;
    connection.sessions[0].terms.signing = Some(SigningAlgorithm::AesGmac);
    connection
}

/// Starts a re-authentication and returns the request.
fn begin(connection: &mut Connection) -> Header {
    let mut out = Vec::new();
    let begun = connection.reauthenticate(SessionIndex::FIRST, NOBODY, &mut out);
    begun.unwrap();
    request(&out)
}

fn request(out: &[u8]) -> Header {
    let mut messages = sent(out, None);
    let (header, mut message) = messages.remove(0);
    assert!(signer().verify(&mut message));
    assert_eq!(header.command, Command::SessionSetup);
    assert_eq!((header.session_id, header.async_or_tree), (0x51, 0));
    header
}

fn session_setup(request: &Header, status: NtStatus, flags: u16, token: &[u8]) -> Vec<u8> {
    let mut message = answer_to(request, status, Flags::SIGNED);
    message.truncate(64);
    message.extend([9, 0]);
    message.extend(flags.to_le_bytes());
    message.extend([72, 0]);
    message.extend((token.len() as u16).to_le_bytes());
    message.extend_from_slice(token);
    signer().sign(&mut message);
    message
}

fn echo(connection: &mut Connection, tag: u32) -> Header {
    let mut out = Vec::new();
    let body = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
    connection
        .request(SessionIndex::FIRST, Command::Echo, 1, tag, &mut out, body)
        .unwrap();
    sent(&out, None)[0].0
}

fn signed(mut message: Vec<u8>) -> Vec<u8> {
    signer().sign(&mut message);
    message
}

#[test]
fn a_session_continues_where_it_was() {
    let mut connection = anonymous();
    let before = echo(&mut connection, 1);
    let first = begin(&mut connection);
    let again = connection.reauthenticate(SessionIndex::FIRST, NOBODY, &mut Vec::new());
    assert!(matches!(again, Err(ReauthenticationError::UnderWay)));
    let between = echo(&mut connection, 2);
    let go_on = session_setup(&first, NtStatus::MORE_PROCESSING_REQUIRED, 0, &go_on());
    assert_eq!(
        receive_all(&mut connection, &go_on),
        Ok(vec![Outcome::Reauthentication(
            Reauthentication::Unfinished
        )])
    );
    let expired = answer_to(&before, NtStatus::NETWORK_SESSION_EXPIRED, Flags::SIGNED);
    assert_eq!(
        receive_all(&mut connection, &signed(expired)),
        Ok(vec![Outcome::Completed {
            tag: 1,
            status: NtStatus::NETWORK_SESSION_EXPIRED
        }])
    );
    let mut out = Vec::new();
    connection
        .continue_reauthentication(SessionIndex::FIRST, &mut out)
        .unwrap();
    let second = request(&out);
    // The second call sends nothing, because there is no new token.
    connection
        .continue_reauthentication(SessionIndex::FIRST, &mut out)
        .unwrap();
    assert_eq!(sent(&out, None).len(), 1);
    let done = session_setup(&second, NtStatus::SUCCESS, IS_NULL, &[]);
    assert_eq!(
        receive_all(&mut connection, &done),
        Ok(vec![Outcome::Reauthentication(Reauthentication::Done)])
    );
    let answered = signed(answer_to(&between, NtStatus::SUCCESS, Flags::SIGNED));
    assert_eq!(receive(&mut connection, &answered), Ok(()));
    assert_eq!(connection.in_flight(), 0);
    // The session can be re-authenticated again.
    begin(&mut connection);
}

#[test]
fn a_refusal_ends_it() {
    let mut connection = anonymous();
    let first = begin(&mut connection);
    let refused = answer_to(&first, NtStatus::LOGON_FAILURE, Flags::SIGNED);
    assert_eq!(
        receive_all(&mut connection, &signed(refused)),
        Ok(vec![Outcome::Reauthentication(Reauthentication::Refused(
            NtStatus::LOGON_FAILURE
        ))])
    );
    connection
        .continue_reauthentication(SessionIndex::FIRST, &mut Vec::new())
        .unwrap();
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn an_answer_that_gives_other_rights_or_is_unsigned_is_refused() {
    let mut connection = anonymous();
    connection.sessions[0].terms.logon = Logon::Guest;
    let first = begin(&mut connection);
    let user = session_setup(&first, NtStatus::SUCCESS, 0, &[]);
    assert!(matches!(
        receive(&mut connection, &user),
        Err(ProtocolError::Reauthentication(_))
    ));

    let mut connection = anonymous();
    let first = begin(&mut connection);
    let mut unsigned = session_setup(&first, NtStatus::SUCCESS, IS_NULL, &[]);
    unsigned[48..64].fill(0);
    assert_eq!(
        receive(&mut connection, &unsigned),
        Err(ProtocolError::Signature("SESSION_SETUP"))
    );
}

#[test]
fn without_a_credit_nothing_is_begun() {
    let mut connection = anonymous();
    connection.credits = CreditLedger::new(1);
    connection.credits.reserve(1).unwrap();
    let mut out = Vec::new();
    let begun = connection.reauthenticate(SessionIndex::FIRST, NOBODY, &mut out);
    assert!(matches!(begun, Err(ReauthenticationError::NoCredit(_))));
    assert_eq!(out, []);
    connection.credits.answered(Payment::default(), 1);
    begin(&mut connection);
}
