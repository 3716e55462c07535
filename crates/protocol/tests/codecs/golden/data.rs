//! The commands on an open file: WRITE, READ, FLUSH, LOCK, CLOSE.

use smbench_protocol::command::FileTimes;
use smbench_protocol::command::bodyless::EmptyResponse;
use smbench_protocol::command::close::{CloseRequest, CloseResponse};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::lock::{LockElement, LockRequest, LockResponse, lock_flags};
use smbench_protocol::command::read::{READ_RESPONSE_FIXED, ReadRequest, ReadResponse};
use smbench_protocol::command::write::{WRITE_REQUEST_FIXED, WriteRequest, WriteResponse};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{FileId, NtStatus};

use super::{FOX_21, FOX_311, body, id};

const FOX: &[u8; 45] = b"The quick brown fox jumps over the lazy dog.\n";

#[test]
fn write() {
    for (file_id, request, response) in [
        (
            FOX_21,
            captured!("2.1", "write-request"),
            captured!("2.1", "write-response"),
        ),
        (
            FOX_311,
            captured!("3.1.1-signed", "write-request"),
            captured!("3.1.1-signed", "write-response"),
        ),
    ] {
        let ours = body(|out| {
            WriteRequest {
                file_id,
                offset: 0,
                length: 45,
                flags: 0,
            }
            .encode(out);
            assert_eq!(HEADER_LEN + out.len(), WRITE_REQUEST_FIXED);
            out.extend_from_slice(FOX);
        });
        assert_eq!(request[HEADER_LEN..], ours);
        assert_eq!(
            WriteResponse::decode(&response),
            Ok(WriteResponse { count: 45 })
        );
    }
}

#[test]
fn close() {
    for (file_id, request, response) in [
        (
            FOX_21,
            captured!("2.1", "close-request"),
            captured!("2.1", "close-response"),
        ),
        (
            FOX_311,
            captured!("3.1.1-signed", "close-request"),
            captured!("3.1.1-signed", "close-response"),
        ),
        (
            FileId::RELATED,
            captured!("2.1", "close-compound-request"),
            // Samba pads the last message of a compound to 8 bytes.
            captured!("2.1", "close-compound-response"),
        ),
        (
            FileId::RELATED,
            captured!("3.1.1-signed", "close-compound-request"),
            captured!("3.1.1-signed", "close-compound-response"),
        ),
    ] {
        let ours = body(|out| CloseRequest { file_id, flags: 0 }.encode(out));
        assert_eq!(request[HEADER_LEN..], ours);
        assert_eq!(
            CloseResponse::decode(&response),
            Ok(CloseResponse {
                flags: 0,
                times: FileTimes::default(),
                allocation_size: 0,
                end_of_file: 0,
                file_attributes: 0,
            })
        );
    }
}

#[test]
fn read() {
    let ours = body(|out| {
        ReadRequest {
            file_id: id(0x966e_0b0b, 0x3544_ab87),
            offset: 0,
            length: 45,
            minimum_count: 0,
            flags: 0,
        }
        .encode(out);
    });
    let mut theirs = captured!("2.1", "read-request")[HEADER_LEN..].to_vec();
    // smbclient sets Padding to zero. This crate asks for the data directly
    // after the body.
    assert_eq!(theirs[2], 0);
    theirs[2] = READ_RESPONSE_FIXED as u8;
    assert_eq!(ours, theirs);

    for response in [
        captured!("2.1", "read-response"),
        captured!("3.1.1-signed", "read-response"),
    ] {
        let whole = ReadResponse {
            length: 45,
            data: Some(FOX.as_slice()),
        };
        assert_eq!(ReadResponse::decode(&response, response.len()), Ok(whole));
        assert_eq!(
            ReadResponse::decode(&response[..READ_RESPONSE_FIXED], response.len()),
            Ok(ReadResponse {
                data: None,
                ..whole
            }),
            "the payload was discarded unseen"
        );
    }

    let empty = captured!("3.1.1", "read-response-empty");
    assert_eq!(
        ReadResponse::decode(&empty, empty.len()),
        Ok(ReadResponse {
            length: 0,
            data: Some(&[])
        })
    );
}

#[test]
fn flush() {
    for (file_id, request, response) in [
        (
            id(0x9b25_ee54, 0x901f_bb10),
            captured!("2.1", "flush-request"),
            captured!("2.1", "flush-response"),
        ),
        (
            id(0xfb4f_b93e, 0xdb0f_7b85),
            captured!("3.1.1-signed", "flush-request"),
            captured!("3.1.1-signed", "flush-response"),
        ),
    ] {
        assert_eq!(
            request[HEADER_LEN..],
            body(|out| FlushRequest { file_id }.encode(out))
        );
        assert_eq!(EmptyResponse::decode(&response), Ok(EmptyResponse));
    }
}

#[test]
fn lock_and_unlock() {
    for (file_id, flags, request, response) in [
        (
            id(0xb864_b17b, 0xbb27_5a4d),
            lock_flags::EXCLUSIVE,
            captured!("2.1", "lock-request"),
            captured!("2.1", "lock-response"),
        ),
        (
            id(0x1050_a474, 0xb2a1_13a8),
            lock_flags::EXCLUSIVE,
            captured!("3.1.1-signed", "lock-request"),
            captured!("3.1.1-signed", "lock-response"),
        ),
        (
            id(0xb864_b17b, 0xbb27_5a4d),
            lock_flags::UNLOCK,
            captured!("2.1", "unlock-request"),
            captured!("2.1", "unlock-response"),
        ),
        (
            id(0x1050_a474, 0xb2a1_13a8),
            lock_flags::UNLOCK,
            captured!("3.1.1-signed", "unlock-request"),
            captured!("3.1.1-signed", "unlock-response"),
        ),
    ] {
        let ours = body(|out| {
            LockRequest {
                file_id,
                sequence: 0,
                locks: &[LockElement {
                    offset: 100,
                    length: 50,
                    flags,
                }],
            }
            .encode(out)
            .expect("one lock");
        });
        assert_eq!(request[HEADER_LEN..], ours);
        assert_eq!(LockResponse::decode(&response), Ok(LockResponse));
    }
}

#[test]
fn a_waiting_lock_is_answered_twice() {
    for (pending, granted) in [
        (
            captured!("2.1", "lock-pending"),
            captured!("2.1", "lock-granted-late"),
        ),
        (
            captured!("3.1.1-signed", "lock-pending"),
            captured!("3.1.1-signed", "lock-granted-late"),
        ),
    ] {
        let interim = Header::decode(&pending).expect("decodes");
        let last = Header::decode(&granted).expect("decodes");
        assert_eq!(interim.status, NtStatus::PENDING);
        assert_eq!(last.status, NtStatus::SUCCESS);
        for header in [interim, last] {
            assert!(header.flags.contains(Flags::ASYNC.union(Flags::RESPONSE)));
            assert_eq!(header.command, Command::Lock);
        }
        assert_eq!(interim.message_id, last.message_id);
        assert_eq!(interim.async_or_tree, last.async_or_tree);
        assert_eq!((interim.credits, last.credits), (1, 0));
        assert_eq!(LockResponse::decode(&granted), Ok(LockResponse));
    }
}
