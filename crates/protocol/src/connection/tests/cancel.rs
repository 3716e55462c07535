//! CANCEL, and the interim answers that give it an async id.

use super::*;

const TAG: u32 = 40;

/// Makes a connection with an ECHO in flight and the request to cancel.
fn waiting(protection: Protection) -> (Connection, Header) {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
    let mut out = Vec::new();
    for (command, charge, tag) in [(Command::Echo, 3, 1), (Command::ChangeNotify, 1, TAG)] {
        out.clear();
        connection
            .request(SessionIndex::FIRST, command, charge, tag, &mut out, |_| {})
            .unwrap();
    }
    let server = transform(Cipher::Aes128Gcm).reversed();
    let transform =
        matches!(connection.sessions[0].protection, Protection::Encrypted(_)).then_some(&server);
    let header = sent(&out, transform)[0].0;
    (connection, header)
}

fn cancelled(connection: &mut Connection) -> (Header, Vec<u8>) {
    let mut out = Vec::new();
    let before = (connection.credits, connection.in_flight());
    connection.cancel(TAG, &mut out).unwrap();
    assert_eq!((connection.credits, connection.in_flight()), before);
    let server = transform(Cipher::Aes128Gcm).reversed();
    let transform =
        matches!(connection.sessions[0].protection, Protection::Encrypted(_)).then_some(&server);
    let mut messages = sent(&out, transform);
    assert_eq!(messages.len(), 1);
    messages.remove(0)
}

fn interim(request: &Header, async_id: u64) -> Vec<u8> {
    let named = Header {
        async_or_tree: async_id,
        ..*request
    };
    answer_to(&named, NtStatus::PENDING, Flags::ASYNC)
}

#[test]
fn before_an_interim_answer_it_goes_by_message_id() {
    let (mut connection, request) = waiting(Protection::None);
    let (header, message) = cancelled(&mut connection);
    let expected = Header {
        credit_charge: 0,
        credits: 0,
        command: Command::Cancel,
        ..request
    };
    assert_eq!(header, expected);
    assert_eq!((header.message_id, header.tree_id()), (3, 3));
    assert_eq!(message[64..], EMPTY_BODY);
}

#[test]
fn after_it_by_the_async_id_and_signed_or_encrypted_like_all_else() {
    for protection in [
        Protection::None,
        Protection::Signed(signer()),
        Protection::Encrypted(transform(Cipher::Aes128Gcm)),
    ] {
        let (mut connection, request) = waiting(protection);
        let plain = !matches!(connection.sessions[0].protection, Protection::Encrypted(_));
        if plain {
            // Interim answers are unsigned in a signed session too.
            for async_id in [0xA1, 0xA2] {
                let outcome = receive_all(&mut connection, &interim(&request, async_id));
                assert_eq!(outcome, Ok(vec![Outcome::Pending { tag: TAG }]));
            }
            assert_eq!(connection.interim.len(), 1, "renamed, not hoarded");
        }
        let (header, mut message) = cancelled(&mut connection);
        assert_eq!(header.message_id, request.message_id);
        if plain {
            assert!(header.flags.contains(Flags::ASYNC));
            assert_eq!(header.async_or_tree, 0xA2);
        }
        let signed = matches!(connection.sessions[0].protection, Protection::Signed(_));
        assert_eq!(header.flags.contains(Flags::SIGNED), signed);
        assert_eq!(signer().verify(&mut message), signed);
    }
}

#[test]
fn what_was_answered_cannot_be_cancelled() {
    let (mut connection, request) = waiting(Protection::None);
    let pending = interim(&request, 0xA1);
    assert!(receive(&mut connection, &pending).is_ok());
    let last = answer_to(&request, NtStatus::CANCELLED, Flags::ASYNC);
    let status = NtStatus::CANCELLED;
    assert_eq!(
        receive_all(&mut connection, &last),
        Ok(vec![Outcome::Completed { tag: TAG, status }])
    );
    assert!(connection.interim.is_empty());
    let mut out = vec![1];
    assert_eq!(connection.cancel(TAG, &mut out), Err(NotInFlight));
    assert_eq!(connection.cancel(999, &mut out), Err(NotInFlight));
    assert_eq!(out, [1]);
    let again = receive(&mut connection, &pending);
    assert_eq!(again, Err(ProtocolError::Unasked(request.message_id)));
}
