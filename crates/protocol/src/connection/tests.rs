mod allocations;
mod breaks;
mod cancel;
mod chain;
mod further;
mod loss;
mod reauthentication;
mod sessions;

use super::*;
use crate::algorithm::{Cipher, CipherList, SigningAlgorithm};
use crate::auth::Logon;
use crate::command::oplock_break::BreakNotification;
use crate::crypto::{
    KeySource, NONCE_SEED_LEN, PreauthHash, Signer, TRANSFORM_HEADER_LEN, Transform,
};
use crate::dialect::Dialect;
use crate::frame::{Inbound, PREFIX_LEN, Payload, Secrecy, Undecipherable};
use crate::header::Flags;
use crate::negotiate::LARGE_MTU;
use crate::status::NtStatus;

fn transform(cipher: Cipher) -> Transform {
    let keys = KeySource {
        dialect: Dialect::Smb311,
        full_session_key: &[7; 16],
        preauth: &PreauthHash::default(),
    };
    Transform::new(cipher, &keys, 0x51, [1; NONCE_SEED_LEN])
}

fn connection(dialect: Dialect, capabilities: u32, protection: Protection) -> Connection {
    let negotiated = Negotiated {
        dialect,
        signing_algorithm: SigningAlgorithm::AesCmac,
        cipher: None,
        server_requires_signing: false,
        max_read: 1 << 20,
        max_write: 1 << 20,
        max_transact: 1 << 20,
        capabilities,
        server_guid: [0; 16],
    };
    let mut credits = CreditLedger::new(64);
    credits.answered(Payment::default(), 99);
    let mut connection = Connection::new(
        negotiated,
        credits,
        PreauthHash::default(),
        None,
        Vec::new(),
    );
    connection.add(Channel {
        session_id: 0x51,
        tree_id: 3,
        protection,
        terms: SessionTerms::NONE,
        signer: None,
        root: None,
    });
    connection
}

/// Makes the answer to an ECHO with message id 0.
fn answer(status: NtStatus, flags: Flags) -> Vec<u8> {
    let header = Header {
        status,
        flags: Flags::RESPONSE.union(flags),
        session_id: 0x51,
        ..Header::request(Command::Echo, 0)
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(&EMPTY_BODY);
    message
}

/// The result of one message in a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Completed { tag: u32, status: NtStatus },
    Pending { tag: u32 },
    Break(BreakNotification),
    Reauthentication(Reauthentication),
}

fn receive_all(
    connection: &mut Connection,
    messages: &[u8],
) -> Result<Vec<Outcome>, ProtocolError> {
    let mut stream = (messages.len() as u32).to_be_bytes().to_vec();
    stream.extend_from_slice(messages);
    let mut inbound = Inbound::default();
    let mut input = stream.as_mut_slice();
    let frame = inbound.next(&mut input, Payload::Discard)?.unwrap();
    let mut messages = connection.open(frame)?;
    let mut outcomes = Vec::new();
    while let Some(message) = messages.next_message()? {
        outcomes.push(match connection.receive(message)? {
            Event::Completed(Completion { tag, status, .. }) => Outcome::Completed { tag, status },
            Event::Pending { tag } => Outcome::Pending { tag },
            Event::Break(notification) => Outcome::Break(notification),
            Event::Reauthentication { progress, .. } => Outcome::Reauthentication(progress),
        });
    }
    Ok(outcomes)
}

fn receive(connection: &mut Connection, message: &[u8]) -> Result<(), ProtocolError> {
    receive_all(connection, message).map(drop)
}

fn signer() -> Signer {
    Signer::new(SigningAlgorithm::AesGmac, &[9; 16])
}

/// Returns the one frame in `out` as the server sees it: the header and all
/// bytes of each message.
fn sent(out: &[u8], transform: Option<&Transform>) -> Vec<(Header, Vec<u8>)> {
    let mut bytes = out.to_vec();
    let mut input = bytes.as_mut_slice();
    let mut inbound = Inbound::default();
    let frame = inbound.next(&mut input, Payload::Keep).unwrap().unwrap();
    let mut messages = frame.open(|_| transform).unwrap();
    let mut all = Vec::new();
    while let Some(message) = messages.next_message().unwrap() {
        all.push((
            Header::decode(message.bytes).unwrap(),
            message.bytes.to_vec(),
        ));
    }
    assert!(input.is_empty(), "one frame");
    all
}

/// Makes an answer to `request` with an empty body.
fn answer_to(request: &Header, status: NtStatus, flags: Flags) -> Vec<u8> {
    let header = Header {
        status,
        flags: Flags::RESPONSE.union(flags),
        credits: 1,
        ..*request
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(&EMPTY_BODY);
    message
}

#[test]
fn an_encrypted_session_takes_nothing_in_plain_but_breaks() {
    for cipher in CipherList::default().iter() {
        let encrypted = || {
            let protection = Protection::Encrypted(transform(cipher));
            let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
            let mut out = Vec::new();
            connection
                .request(SessionIndex::FIRST, Command::Echo, 1, 0, &mut out, |out| {
                    out.extend_from_slice(&EMPTY_BODY);
                })
                .unwrap();
            assert_eq!(out[4..8], *b"\xFDSMB");
            connection
        };
        for (status, flags) in [
            (NtStatus::SUCCESS, Flags(0)),
            (NtStatus::SUCCESS, Flags::SIGNED),
            (NtStatus::PENDING, Flags::ASYNC),
        ] {
            let outcome = receive(&mut encrypted(), &answer(status, flags));
            assert_eq!(outcome, Err(ProtocolError::Unencrypted("ECHO")));
        }
        let ended = NtStatus::USER_SESSION_DELETED;
        let outcome = receive(&mut encrypted(), &answer(ended, Flags(0)));
        assert_eq!(outcome, Err(ProtocolError::SessionEnded(ended)));
        let notification = breaks::oplock_notification();
        assert_eq!(receive(&mut encrypted(), &notification), Ok(()));
    }
}

#[test]
fn an_encrypted_frame_is_refused_without_its_key() {
    let mut sealed = vec![0; TRANSFORM_HEADER_LEN];
    sealed.append(&mut answer(NtStatus::SUCCESS, Flags(0)));
    transform(Cipher::Aes128Gcm).seal(&mut sealed);
    for protection in [
        Protection::None,
        // This key decrypts messages of the server, but the client's key sealed
        // the frame.
        Protection::Encrypted(transform(Cipher::Aes128Gcm)),
        Protection::Encrypted(transform(Cipher::Aes128Ccm)),
    ] {
        let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
        let outcome = receive(&mut connection, &sealed);
        assert_eq!(outcome, Err(ProtocolError::Undecipherable(Undecipherable)));
    }
}

#[test]
fn without_multi_credit_requests_there_is_no_charge() {
    for (dialect, capabilities, expected) in [
        (Dialect::Smb202, LARGE_MTU, [0, 0]),
        (Dialect::Smb21, 0, [0, 0]),
        (Dialect::Smb21, LARGE_MTU, [1, 4]),
    ] {
        let mut connection = connection(dialect, capabilities, Protection::None);
        let ids = expected.map(|charge: u16| {
            let before = connection.credits();
            let mut out = Vec::new();
            connection
                .request(
                    SessionIndex::FIRST,
                    Command::Echo,
                    charge.max(1),
                    0,
                    &mut out,
                    |_| {},
                )
                .unwrap();
            assert_eq!(before - connection.credits(), u32::from(charge.max(1)));
            let header = Header::decode(&out[PREFIX_LEN..]).unwrap();
            assert_eq!(header.credit_charge, charge);
            header.message_id
        });
        assert_eq!(ids, [0, 1]);
    }
}

#[test]
fn a_request_without_credits_costs_nothing() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    let mut out = vec![1, 2, 3];
    let before = connection.credits;
    let outcome = connection.request(SessionIndex::FIRST, Command::Echo, 101, 0, &mut out, |_| {
        unreachable!("it is not sent");
    });
    assert_eq!(outcome, Err(NoCredit));
    assert_eq!((&out[..], connection.in_flight()), (&[1, 2, 3][..], 0));
    assert_eq!(connection.credits, before);
}

#[test]
fn a_signed_session_that_the_server_forgot_is_not_blamed_on_the_signature() {
    let ended = NtStatus::USER_SESSION_DELETED;
    for (status, flags, expected) in [
        (ended, Flags(0), ProtocolError::SessionEnded(ended)),
        (ended, Flags::SIGNED, ProtocolError::Signature("ECHO")),
        (
            NtStatus::SUCCESS,
            Flags(0),
            ProtocolError::Signature("ECHO"),
        ),
    ] {
        let signer = Signer::new(SigningAlgorithm::AesCmac, &[7; 16]);
        let protection = Protection::Signed(signer);
        let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
        connection
            .request(
                SessionIndex::FIRST,
                Command::Echo,
                1,
                0,
                &mut Vec::new(),
                |_| {},
            )
            .unwrap();
        let outcome = receive(&mut connection, &answer(status, flags));
        assert_eq!(outcome, Err(expected));
    }
}
