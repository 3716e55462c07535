//! Signed connections.

use md5::{Digest as _, Md5};
use proptest::prelude::*;

use super::*;

pub(super) const KEY: [u8; 16] = [7; 16];

fn signed() -> CifsConnection {
    let mut connection = connection();
    connection.signer = Some(CifsSigner::new(KEY.to_vec()));
    connection.flags2 |= cifs_flags2::SIGNATURE;
    connection
}

/// Writes the signature of MS-CIFS 3.1.4.1 into a message: the sequence number takes its
/// place first.
pub(super) fn sign(message: &mut [u8], sequence: u64) {
    message[14..22].copy_from_slice(&sequence.to_le_bytes());
    let hash = Md5::new().chain_update(KEY).chain_update(&*message);
    message[14..22].copy_from_slice(&hash.finalize()[..8]);
}

fn is_signed_with(message: &[u8], sequence: u64) -> bool {
    let mut again = message.to_vec();
    sign(&mut again, sequence);
    again == message
}

fn signed_answer(request: &CifsHeader, sequence: u64) -> Vec<u8> {
    let mut message = answer(request, NtStatus::SUCCESS, &EMPTY);
    sign(&mut message, sequence);
    message
}

const WRONG: Result<CifsOutcome, ProtocolError> = Err(ProtocolError::Signature("ECHO"));

#[test]
fn a_request_and_its_answer_have_two_sequence_numbers() {
    let mut connection = signed();
    let mut out = Vec::new();
    for tag in 0..2 {
        connection.echo(FIRST, tag, &mut out).unwrap();
    }
    // A cancel has no answer, so it takes one number. An acknowledgement takes two.
    connection.cancel(FIRST, 0, &mut out).unwrap();
    connection.release(FIRST, BROKEN, &mut out);
    connection.echo(FIRST, 2, &mut out).unwrap();
    let all = sent(&out);
    let sequences = [2, 4, 6, 7, 9];
    for ((header, message), sequence) in all.iter().zip(sequences) {
        assert!(header.is_signed());
        assert!(is_signed_with(message, sequence), "{:?}", header.command);
    }
    for (at, tag, sequence) in [(4, 2, 10), (0, 0, 3), (1, 1, 5)] {
        let message = signed_answer(&all[at].0, sequence);
        assert_eq!(receive(&mut connection, &message), completed(tag));
    }
}

#[test]
fn an_answer_needs_the_signature_of_its_request() {
    let mut first = signed();
    let requests = [ask(&mut first, 0), ask(&mut first, 1)];
    for (what, message) in [
        ("unsigned", answer(&requests[0], NtStatus::SUCCESS, &EMPTY)),
        ("of the request", signed_answer(&requests[0], 2)),
        ("of the other answer", signed_answer(&requests[0], 5)),
        ("of the other request", signed_answer(&requests[1], 3)),
    ] {
        let mut connection = signed();
        ask(&mut connection, 0);
        ask(&mut connection, 1);
        assert_eq!(receive(&mut connection, &message), WRONG, "{what}");
    }
}

#[test]
fn breaks_need_no_signature() {
    let message = break_of(TID, CIFS_UNSOLICITED, CifsCommand::LockingAndX);
    let outcome = receive(&mut signed(), &message);
    assert!(matches!(outcome, Ok(CifsOutcome::Break(Some(FIRST), _))));
}

#[test]
fn each_part_of_an_answer_is_signed() {
    let mut connection = signed();
    let mut out = Vec::new();
    let command = CifsCommand::Transaction2;
    connection
        .request(FIRST, command, 0, &mut out, encode_empty)
        .unwrap();
    let mut part = answer(&sent(&out)[0].0, NtStatus::SUCCESS, &parts::whole());
    let outcome = receive(&mut connection, &part);
    assert_eq!(outcome, Err(ProtocolError::Signature("TRANSACTION2")));
    sign(&mut part, 3);
    assert_eq!(receive(&mut connection, &part), completed(0));
}

proptest! {
    #[test]
    fn any_flipped_bit_is_detected(
        body in prop::collection::vec(any::<u8>(), 3..200),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let mut connection = signed();
        let mut message = answer(&ask(&mut connection, 0), NtStatus::SUCCESS, &body);
        sign(&mut message, 3);
        let at = at.index(message.len());
        message[at] ^= 1 << bit;
        prop_assert!(receive(&mut connection, &message).is_err());
        message[at] ^= 1 << bit;
        prop_assert_eq!(receive(&mut connection, &message), completed(0));
    }
}
