//! Further tree connects, and another validation of the negotiation.

use smb_msg::TreeConnectRequest as Theirs;

use super::*;
use crate::command::WireName;
use crate::command::tree_connect::TreeConnectRequest;
use crate::header::HEADER_LEN;
use crate::setup;

const SHARE: &str = r"\\files\bench";

fn further(dialect: Dialect, protection: Protection) -> Connection {
    let mut connection = connection(dialect, LARGE_MTU, protection);
    connection.sessions[0].signer = Some(signer());
    connection.setup.validation = vec![57, 0, 1, 2, 3];
    connection
}

/// Returns the only message in `out`, without its prefix.
fn only(out: &[u8]) -> (Header, Vec<u8>) {
    let message = out[PREFIX_LEN..].to_vec();
    (Header::decode(&message).unwrap(), message)
}

/// Makes the answer to a TREE_CONNECT with message id 0: tree 77.
fn connected(status: NtStatus, sign: bool) -> Vec<u8> {
    let header = Header {
        status,
        flags: Flags::RESPONSE,
        session_id: 0x51,
        ..Header::request(Command::TreeConnect, 0).with_tree(77)
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend([16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 1, 0x1F, 0]);
    if sign {
        signer().sign(&mut message);
    }
    message
}

/// Passes `message` to `connection`. Returns the tree of a TREE_CONNECT.
fn passed(connection: &mut Connection, message: &[u8]) -> Result<TreeId, ProtocolError> {
    let mut frame = (message.len() as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    let mut inbound = Inbound::default();
    let mut input = &mut frame[..];
    let frame = inbound.next(&mut input, Payload::Keep).unwrap().unwrap();
    let message = connection.open(frame)?.next_message()?.unwrap();
    match connection.receive(message)? {
        Event::Completed(done) => Ok(done.tree()?),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tree_connect_is_encoded_as_by_smb_rs() {
    let mut ours = Vec::new();
    let path = &WireName::new(SHARE).unwrap();
    TreeConnectRequest { path }.encode(&mut ours);
    let mut theirs = Vec::new();
    setup::encode(&Theirs::new(SHARE), &mut theirs);
    assert_eq!(ours, theirs);
}

#[test]
fn in_3_1_1_a_tree_connect_is_signed_and_so_is_its_answer() {
    let path = WireName::new(SHARE).unwrap();
    for (dialect, is_signed) in [(Dialect::Smb302, false), (Dialect::Smb311, true)] {
        let mut connection = further(dialect, Protection::None);
        let mut out = Vec::new();
        connection
            .tree_connect(SessionIndex::FIRST, 5, &path, &mut out)
            .unwrap();
        let (header, mut message) = only(&out);
        assert_eq!(
            (header.command, header.tree_id()),
            (Command::TreeConnect, 0)
        );
        assert_eq!(header.flags.contains(Flags::SIGNED), is_signed);
        assert_eq!(signer().verify(&mut message), is_signed);
        let plain = passed(&mut connection, &connected(NtStatus::SUCCESS, false));
        if is_signed {
            assert_eq!(plain, Err(ProtocolError::Signature("TREE_CONNECT")));
        } else {
            assert_eq!(plain.unwrap().0, 77);
        }
    }
    let mut connection = further(Dialect::Smb311, Protection::None);
    let mut out = Vec::new();
    connection
        .tree_connect(SessionIndex::FIRST, 5, &path, &mut out)
        .unwrap();
    let tree = passed(&mut connection, &connected(NtStatus::SUCCESS, true)).unwrap();
    out.clear();
    connection
        .tree_disconnect(SessionIndex::FIRST, 5, tree, &mut out)
        .unwrap();
    let (header, message) = only(&out);
    assert_eq!(header.tree_id(), 77);
    assert_eq!(header.command, Command::TreeDisconnect);
    assert!(!header.flags.contains(Flags::SIGNED));
    assert_eq!(message[HEADER_LEN..], EMPTY_BODY);
    // Other requests still go to their own tree.
    out.clear();
    connection
        .request(SessionIndex::FIRST, Command::Echo, 1, 6, &mut out, |out| {
            out.extend_from_slice(&EMPTY_BODY);
        })
        .unwrap();
    assert_eq!(only(&out).0.tree_id(), 3);
}

#[test]
fn a_tampered_answer_to_a_tree_connect_is_noticed() {
    let path = WireName::new(SHARE).unwrap();
    let genuine = connected(NtStatus::SUCCESS, true);
    for at in [36, HEADER_LEN + 2, HEADER_LEN + 12] {
        let mut connection = further(Dialect::Smb311, Protection::None);
        connection
            .tree_connect(SessionIndex::FIRST, 5, &path, &mut Vec::new())
            .unwrap();
        let mut tampered = genuine.clone();
        tampered[at] ^= 1;
        let passed = passed(&mut connection, &tampered);
        assert_eq!(
            passed,
            Err(ProtocolError::Signature("TREE_CONNECT")),
            "{at}"
        );
    }
}

#[test]
fn a_validation_is_what_the_handshake_sent_and_signed() {
    let mut connection = further(Dialect::Smb302, Protection::None);
    for _ in 0..2 {
        let mut out = Vec::new();
        connection
            .validate_negotiation(SessionIndex::FIRST, 5, &mut out)
            .unwrap();
        let (header, mut message) = only(&out);
        assert_eq!(header.command, Command::Ioctl);
        assert_eq!(message[HEADER_LEN..], [57, 0, 1, 2, 3]);
        assert!(signer().verify(&mut message));
    }
}
