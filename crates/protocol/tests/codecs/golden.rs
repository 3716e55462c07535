//! The codecs compared with captured traffic of Samba 4.17: SMB 2.1 unsigned, and
//! 3.1.1 signed and unsigned. See `fixtures/captures/README.md` for its provenance.

mod breaks;
mod cifs;
mod create;
mod create_context;
mod data;
mod ioctl;
mod notify;
mod query_directory;
mod query_info;
mod set_info;

use smbench_protocol::command::{FileTime, FileTimes};
use smbench_protocol::header::{Command, Flags, Header};
use smbench_protocol::{FileId, NtStatus};

use crate::support;

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
        // Interim responses are unsigned even in a signed session (MS-SMB2
        // 3.2.5.1.3). Samba leaves random bytes in their signature field. The
        // validation of a negotiation is signed in every session (3.2.5.5).
        let signed = name.contains("validate")
            || name.starts_with("3.1.1-signed") && header.status != NtStatus::PENDING;
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

/// The handle of `fox.txt`, opened for writing, in the 2.1 capture.
const FOX_21: FileId = FileId {
    persistent: 0x3443_3478,
    volatile: 0x836f_665c,
};

/// The handle of `fox.txt`, opened for writing, in the 3.1.1 capture.
const FOX_311: FileId = FileId {
    persistent: 0x469f_fa2d,
    volatile: 0x1cb8_a276,
};

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
    }
}
