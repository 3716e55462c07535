//! The hot-command codecs against real Samba 4.17 traffic, in SMB 2.1 unsigned
//! and 3.1.1 signed. Provenance: `fixtures/captures/README.md`.

#[macro_use]
mod support;

use smbench_protocol::command::close::{CloseRequest, CloseResponse};
use smbench_protocol::command::create::{
    CreateAction, CreateRequest, CreateResponse, Disposition, OplockLevel, access, attributes,
    options, share,
};
use smbench_protocol::command::error::ErrorResponse;
use smbench_protocol::command::flush::{FlushRequest, FlushResponse};
use smbench_protocol::command::lock::{LockElement, LockRequest, LockResponse, lock_flags};
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_class, file_system_class,
};
use smbench_protocol::command::read::{READ_RESPONSE_FIXED, ReadRequest, ReadResponse};
use smbench_protocol::command::write::{WRITE_REQUEST_FIXED, WriteRequest, WriteResponse};
use smbench_protocol::command::{FileTime, FileTimes};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{FileId, NtStatus};

const FOX: &[u8; 45] = b"The quick brown fox jumps over the lazy dog.\n";

/// SMB2_FLAGS_PRIORITY_MASK: Samba's client sets priority 1 in 3.1.1.
const PRIORITY_1: Flags = Flags(0x10);

fn id(persistent: u64, volatile: u64) -> FileId {
    FileId {
        persistent,
        volatile,
    }
}

fn same_times(value: u64) -> FileTimes {
    let time = FileTime(value);
    FileTimes {
        created: time,
        accessed: time,
        written: time,
        changed: time,
    }
}

fn body(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

#[test]
fn every_captured_header_survives_decode_and_encode() {
    for (name, message) in support::all() {
        let header = Header::decode(&message).expect(name);
        let again = body(|out| header.encode(out));
        assert_eq!(again[..48], message[..48], "{name}");
        assert_eq!(again[48..], [0; 16], "{name}: the signature is left zero");
        // Interim responses go unsigned even in a signed session (MS-SMB2
        // 3.2.5.1.3), and Samba leaves garbage where the signature would be.
        let signed = name.starts_with("3.1.1-signed") && header.status != NtStatus::PENDING;
        assert_eq!(header.flags.contains(Flags::SIGNED), signed, "{name}");
    }
}

#[test]
fn header_fields() {
    assert_eq!(
        Header::decode(&captured!("2.1", "error-no-more-files")),
        Ok(Header {
            credit_charge: 128,
            status: NtStatus::NO_MORE_FILES,
            command: Command::QueryDirectory,
            credits: 128,
            flags: Flags::RESPONSE,
            next_command: 0,
            message_id: 0xa1,
            async_or_tree: Header::request(Command::Echo, 0)
                .with_tree(0x40fe_4efc)
                .async_or_tree,
            session_id: 0xf6a5_cfb2,
        })
    );
    let compound = Header::decode(&captured!("3.1.1-signed", "flush-request")).expect("decodes");
    assert_eq!(compound.tree_id(), 0x0a05_9877);
    assert_eq!(compound.session_id, 0x838f_bc21);
    assert_eq!(compound.next_command, 88);
    assert_eq!(compound.flags, Flags::SIGNED.union(PRIORITY_1));
    let related =
        Header::decode(&captured!("3.1.1-signed", "close-compound-request")).expect("decodes");
    assert!(related.flags.contains(Flags::RELATED));
    assert_eq!(related.message_id, compound.message_id + 1);
    assert_eq!(related.next_command, 0);
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
        // Its one byte of ErrorData is 0x21, which ByteCount does not count.
        assert_eq!(pending.len(), HEADER_LEN + 9);
        assert_eq!(
            ErrorResponse::decode(&pending),
            Ok(ErrorResponse {
                context_count: 0,
                data: &[]
            })
        );
        assert_eq!(LockResponse::decode(&granted), Ok(LockResponse));
    }
}

#[test]
fn create_request_of_a_file() {
    let ours = body(|out| {
        CreateRequest {
            name: r"dir\fox.txt",
            desired_access: access::FILE_READ_DATA
                | access::FILE_WRITE_DATA
                | access::FILE_APPEND_DATA
                | access::FILE_READ_EA
                | access::FILE_WRITE_EA
                | access::FILE_READ_ATTRIBUTES
                | access::FILE_WRITE_ATTRIBUTES
                | access::READ_CONTROL
                | access::SYNCHRONIZE,
            file_attributes: 0,
            share_access: share::FILE_SHARE_READ | share::FILE_SHARE_WRITE,
            disposition: Disposition::OverwriteIf,
            options: options::FILE_NON_DIRECTORY_FILE,
            oplock: OplockLevel::None,
            contexts: &[],
        }
        .encode(out)
        .expect("a short name");
    });
    for captured in [
        captured!("2.1", "create-request"),
        captured!("3.1.1-signed", "create-request"),
    ] {
        let theirs = &captured[HEADER_LEN..];
        assert_eq!(theirs[..ours.len()], ours);
        // smbclient adds two zero bytes that NameLength does not count.
        assert_eq!(theirs[ours.len()..], [0, 0]);
    }
}

#[test]
fn create_request_of_the_root() {
    let ours = body(|out| {
        CreateRequest {
            name: "",
            desired_access: access::FILE_READ_ATTRIBUTES,
            file_attributes: attributes::FILE_ATTRIBUTE_DIRECTORY,
            share_access: share::ALL,
            disposition: Disposition::Open,
            options: options::FILE_DIRECTORY_FILE,
            oplock: OplockLevel::None,
            contexts: &[],
        }
        .encode(out)
        .expect("no name");
    });
    for captured in [
        captured!("2.1", "create-root-request"),
        captured!("3.1.1-signed", "create-root-request"),
    ] {
        assert_eq!(captured[HEADER_LEN..], ours);
    }
}

#[test]
fn create_responses() {
    let new_file = |time, file_id| CreateResponse {
        oplock_level: OplockLevel::None,
        create_action: CreateAction::CREATED,
        times: same_times(time),
        allocation_size: 0,
        end_of_file: 0,
        file_attributes: attributes::FILE_ATTRIBUTE_ARCHIVE,
        file_id,
    };
    assert_eq!(
        CreateResponse::decode(&captured!("2.1", "create-response")),
        Ok(new_file(0x01dd_78e0_5be0_0fd3, FOX_21))
    );
    assert_eq!(
        CreateResponse::decode(&captured!("3.1.1-signed", "create-response")),
        Ok(new_file(0x01dd_78e0_f0f6_74a8, FOX_311))
    );
    assert_eq!(
        CreateResponse::decode(&captured!("2.1", "create-root-response")),
        Ok(CreateResponse {
            oplock_level: OplockLevel::None,
            create_action: CreateAction::OPENED,
            times: FileTimes {
                created: FileTime(0x01dd_78e0_5bdf_9d6b),
                accessed: FileTime(0x01dd_78e0_5bdf_9d6b),
                written: FileTime(0x01dd_78e0_5bdf_fae8),
                changed: FileTime(0x01dd_78e0_5bdf_fae8),
            },
            allocation_size: 0,
            end_of_file: 0,
            file_attributes: attributes::FILE_ATTRIBUTE_DIRECTORY,
            file_id: id(0x08ba_85d3, 0x0f80_4566),
        })
    );
}

/// `fox.txt` as opened for writing, in either capture.
const FOX_21: FileId = FileId {
    persistent: 0x3443_3478,
    volatile: 0x836f_665c,
};
const FOX_311: FileId = FileId {
    persistent: 0x469f_fa2d,
    volatile: 0x1cb8_a276,
};

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
            // The last message of a compound, padded to 8 bytes by Samba.
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
        }
        .encode(out);
    });
    let mut theirs = captured!("2.1", "read-request")[HEADER_LEN..].to_vec();
    // smbclient leaves Padding zero; we ask for the data right after the body.
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
fn query_info_of_a_file() {
    let ours = body(|out| {
        QueryInfoRequest {
            info_type: InfoType::File,
            class: file_class::FILE_ALL_INFORMATION,
            output_length: 0xffff,
            file_id: id(0x006f_e52a, 0xa585_bd3c),
        }
        .encode(out);
    });
    assert_eq!(captured!("2.1", "query-info-request")[HEADER_LEN..], ours);

    for response in [
        captured!("2.1", "query-info-response"),
        captured!("3.1.1-signed", "query-info-response"),
    ] {
        let info = QueryInfoResponse::decode(&response).expect("decodes");
        assert_eq!(info.data.len(), 124);
        // FileAllInformation (MS-FSCC 2.4.2): basic information of 40 bytes,
        // then AllocationSize and EndOfFile.
        assert_eq!(info.data[40..48], 4096u64.to_le_bytes());
        assert_eq!(info.data[48..56], 45u64.to_le_bytes());
        // It ends in the name.
        assert_eq!(info.data[122..], *b"t\0");
    }
}

#[test]
fn query_info_of_a_file_system() {
    let ours = body(|out| {
        QueryInfoRequest {
            info_type: InfoType::FileSystem,
            class: file_system_class::FILE_FS_SIZE_INFORMATION,
            output_length: 0xffff,
            file_id: id(0xd75e_4dac, 0x1f2b_5a0d),
        }
        .encode(out);
    });
    assert_eq!(
        captured!("2.1", "query-info-fs-request")[HEADER_LEN..],
        ours
    );
    let response = captured!("2.1", "query-info-fs-response");
    let info = QueryInfoResponse::decode(&response).expect("decodes");
    // FileFsSizeInformation (MS-FSCC 2.5.8): total and free units, sectors per
    // unit, bytes per sector.
    assert_eq!(info.data.len(), 24);
    assert_eq!(info.data[0..8], 0x0fbf_8e74u64.to_le_bytes());
    assert_eq!(info.data[16..20], 2u32.to_le_bytes());
    assert_eq!(info.data[20..24], 512u32.to_le_bytes());
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
        assert_eq!(FlushResponse::decode(&response), Ok(FlushResponse));
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
fn errors_without_data() {
    for (status, message) in [
        (
            NtStatus::OBJECT_NAME_NOT_FOUND,
            captured!("2.1", "error-name-not-found"),
        ),
        (
            NtStatus::OBJECT_NAME_NOT_FOUND,
            captured!("3.1.1-signed", "error-name-not-found"),
        ),
        (
            NtStatus::NO_MORE_FILES,
            captured!("2.1", "error-no-more-files"),
        ),
        (
            NtStatus::NO_MORE_FILES,
            captured!("3.1.1-signed", "error-no-more-files"),
        ),
    ] {
        assert_eq!(Header::decode(&message).map(|it| it.status), Ok(status));
        let nothing = Ok(ErrorResponse {
            context_count: 0,
            data: &[],
        });
        assert_eq!(ErrorResponse::decode(&message), nothing);
        // Some servers leave the uncounted byte out.
        assert_eq!(
            ErrorResponse::decode(&message[..message.len() - 1]),
            nothing
        );
    }
}
