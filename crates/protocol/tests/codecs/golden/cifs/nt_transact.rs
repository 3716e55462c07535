//! Security descriptors and changes in directories.

use smbench_protocol::cifs::command::nt_transact::{
    NotifyChangeRequest, QuerySecurityRequest, SetSecurityRequest, WatchScope,
};
use smbench_protocol::cifs::command::transaction::TransactionPart;
use smbench_protocol::command::change_notify::completion_filter;
use smbench_protocol::command::query_info::security;

use super::{HEADER_LEN, message, whole};

const PARTS: u32 = security::OWNER_SECURITY_INFORMATION
    | security::GROUP_SECURITY_INFORMATION
    | security::DACL_SECURITY_INFORMATION;

fn u32_at(message: &[u8], at: usize) -> usize {
    u32::from_le_bytes(message[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Returns the request's words without offsets, its parameters and its data.
fn content(message: &[u8]) -> (Vec<u8>, &[u8], &[u8]) {
    let words = HEADER_LEN + 1 + 2 * usize::from(message[HEADER_LEN]);
    let part = |count_at: usize| {
        let (count, offset) = (u32_at(message, count_at), u32_at(message, count_at + 4));
        assert!(offset >= words + 2);
        &message[offset..offset + count]
    };
    let mut without_offsets = message[HEADER_LEN..words].to_vec();
    without_offsets.drain(32..36);
    without_offsets.drain(24..28);
    (without_offsets, part(52), part(60))
}

/// Checks that a request has the content of the captured one. Samba's clients
/// align parameters to 2 bytes. MS-CIFS 2.2.4.62.1 aligns them to 4, so offsets
/// differ.
fn check(captured: &[u8], encode: impl FnOnce(&mut Vec<u8>)) {
    let ours = message(encode);
    assert_eq!(content(captured), content(&ours));
    assert_eq!((u32_at(&ours, 56) % 4, u32_at(&ours, 64) % 4), (0, 0));
    let words = HEADER_LEN + 1 + 2 * usize::from(ours[HEADER_LEN]);
    let byte_count = u16::from_le_bytes([ours[words], ours[words + 1]]);
    assert_eq!(words + 2 + usize::from(byte_count), ours.len());
}

#[test]
fn security_descriptors() {
    let request = QuerySecurityRequest {
        fid: 0xE952,
        parts: PARTS,
        max_data: 0x0001_0000,
    };
    check(&captured!("cifs", "query-security-request"), |out| {
        request.encode(out);
    });
    let response = captured!("cifs", "query-security-response");
    let part = TransactionPart::decode_nt_transact(&response).expect("decodes");
    let (parameters, descriptor) = whole(part);
    assert_eq!(parameters, 128u32.to_le_bytes());
    // Revision 1, self-relative (MS-DTYP 2.4.6).
    assert_eq!(
        (descriptor.len(), descriptor[0], descriptor[3] & 0x80),
        (128, 1, 0x80)
    );

    let captured = captured!("cifs", "set-security-request");
    let request = SetSecurityRequest {
        fid: 0x0377,
        parts: PARTS,
        descriptor: &captured[0x54..],
    };
    check(&captured, |out| request.encode(out));
    let response = captured!("cifs", "set-security-response");
    let part = TransactionPart::decode_nt_transact(&response).expect("decodes");
    assert_eq!(whole(part), (&[][..], &[][..]));
}

#[test]
fn changes_in_a_directory() {
    let request = NotifyChangeRequest {
        fid: 0xD188,
        completion_filter: completion_filter::ALL,
        watched: WatchScope::Tree,
        max_parameters: 1000,
    };
    let captured = captured!("cifs", "notify-request");
    check(&captured, |out| request.encode(out));
    let directory = message(|out| {
        let watched = WatchScope::Directory;
        NotifyChangeRequest { watched, ..request }.encode(out);
    });
    assert_eq!((directory[77], captured[77]), (0, 1));

    let response = captured!("cifs", "notify-response");
    let part = TransactionPart::decode_nt_transact(&response).expect("decodes");
    // The only change: a file was added. The server pads the last name too.
    let expected = b"\0\0\0\0\x01\0\0\0\x06\0\0\0n\0e\0w\0\0\0";
    assert_eq!(whole(part), (&expected[..], &[][..]));
}
