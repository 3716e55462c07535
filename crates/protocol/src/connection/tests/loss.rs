use super::*;

/// Sends an ECHO, and returns its header as the server sees it.
fn echo(connection: &mut Connection, transform: Option<&Transform>) -> Header {
    let mut out = Vec::new();
    let echo = connection.request(SessionIndex::FIRST, Command::Echo, 1, 7, &mut out, |out| {
        out.extend_from_slice(&EMPTY_BODY);
    });
    echo.unwrap();
    let [(header, message)] = <[_; 1]>::try_from(sent(&out, transform)).unwrap();
    let is_signed = header.flags.contains(Flags::SIGNED);
    if is_signed {
        assert!(signer().verify(&mut message.clone()), "signed as sent");
    }
    header
}

/// Each loss raises the number in all further requests. Signature and encryption cover it.
#[test]
fn requests_after_a_loss_have_the_next_channel_sequence() {
    let server = transform(Cipher::Aes128Gcm).reversed();
    for (protection, is_signed, transform) in [
        (Protection::None, false, None),
        (Protection::Signed(signer()), true, None),
        (
            Protection::Encrypted(transform(Cipher::Aes128Gcm)),
            false,
            Some(&server),
        ),
    ] {
        let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
        let seen = |header: Header| {
            assert_eq!(header.flags.contains(Flags::SIGNED), is_signed);
            let is_replay = header.flags.contains(Flags::REPLAY);
            (header.channel_sequence(), is_replay)
        };
        let first = SessionIndex::FIRST;
        assert_eq!(seen(echo(&mut connection, transform)), (0, false));
        connection.lost_channel(first);
        assert_eq!(seen(echo(&mut connection, transform)), (1, false));
        connection.lost_channel(first);
        connection.repeat(first, Repetition::Replay);
        assert_eq!(seen(echo(&mut connection, transform)), (2, true));
        connection.repeat(first, Repetition::First);
        assert_eq!(seen(echo(&mut connection, transform)), (2, false));
    }
}

/// A server refuses changes with a lower number than the session has elsewhere.
#[test]
fn a_channel_that_is_added_after_a_loss_has_the_sequence_of_the_others() {
    let mut standing = connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    let mut added = connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    let first = SessionIndex::FIRST;
    standing.lost_channel(first);
    standing.lost_channel(first);
    standing.repeat(first, Repetition::Replay);
    added.follow_sequence(first, &mut standing);
    let seen = echo(&mut added, None);
    assert!(!seen.flags.contains(Flags::REPLAY));
    assert_eq!(seen.channel_sequence(), 2);
}

/// The answers are judged as before the loss.
#[test]
fn answers_after_a_loss_still_need_their_signature() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    connection.lost_channel(SessionIndex::FIRST);
    let request = echo(&mut connection, None);
    let mut signed = answer_to(&request, NtStatus::SUCCESS, Flags::default());
    let refused = receive(&mut connection, &signed.clone());
    assert!(matches!(refused, Err(ProtocolError::Signature(_))));
    signer().sign(&mut signed);
    assert_eq!(receive(&mut connection, &signed), Ok(()));
}

#[test]
fn the_requests_in_flight_have_their_order() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    assert_eq!(connection.oldest_in_flight(), None);
    let mut out = Vec::new();
    for tag in [9, 4, 6] {
        let sent = connection.request(
            SessionIndex::FIRST,
            Command::Echo,
            1,
            tag,
            &mut out,
            |out| {
                out.extend_from_slice(&EMPTY_BODY);
            },
        );
        sent.unwrap();
    }
    assert_eq!(connection.oldest_in_flight(), Some(0));
    assert_eq!(connection.tags_in_flight(), [9, 4, 6]);
}
