//! Requests for files and shares, read back where MS-CIFS puts them.

use proptest::prelude::*;
use smbench_protocol::cifs::FileNumber;
use smbench_protocol::cifs::command::create::encode_create;
use smbench_protocol::cifs::command::lock::{CifsBreak, CifsLock, encode_lock, encode_release};
use smbench_protocol::cifs::command::read::CifsRead;
use smbench_protocol::cifs::command::tree::encode_tree_connect;
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode};
use smbench_protocol::cifs::header::CIFS_HEADER_LEN;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, OplockLevel};

/// Returns the body that `encode` appends to a header.
fn body(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; CIFS_HEADER_LEN];
    encode(&mut out);
    out.split_off(CIFS_HEADER_LEN)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// Checks WordCount and ByteCount. Returns the bytes.
fn bytes_of(body: &[u8], words: usize) -> &[u8] {
    assert_eq!(usize::from(body[0]), words);
    let bytes = &body[1 + 2 * words + 2..];
    assert_eq!(usize::from(u16_at(body, 1 + 2 * words)), bytes.len());
    bytes
}

proptest! {
    #[test]
    fn a_read_has_a_long_offset_and_length(
        (file, offset, length) in any::<(u16, u64, u32)>(),
    ) {
        let request = CifsRead { file: FileNumber(file), offset, length };
        let body = body(|out| request.encode(out));
        prop_assert_eq!(bytes_of(&body, 12), b"");
        prop_assert_eq!(body[1], 0xFF);
        prop_assert_eq!(u16_at(&body, 5), file);
        let high = u64::from(u32_at(&body, 21));
        prop_assert_eq!(u64::from(u32_at(&body, 7)) | high << 32, offset);
        prop_assert_eq!(u32::from(u16_at(&body, 11)) | u32_at(&body, 15) << 16, length);
    }

    #[test]
    fn a_write_has_its_data_where_it_says(
        (file, offset, through) in any::<(u16, u64, bool)>(),
        data in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mode = if through { WriteMode::Through } else { WriteMode::Buffered };
        let request = CifsWrite {
            file: FileNumber(file),
            offset,
            length: data.len() as u32,
            mode,
        };
        let body = body(|out| request.encode_with(out, |out| out.extend_from_slice(&data)));
        bytes_of(&body, 14);
        prop_assert_eq!(u16_at(&body, 5), file);
        let high = u64::from(u32_at(&body, 25));
        prop_assert_eq!(u64::from(u32_at(&body, 7)) | high << 32, offset);
        prop_assert_eq!(u16_at(&body, 15), u16::from(through));
        prop_assert_eq!((u16_at(&body, 19), u16_at(&body, 21)), (0, data.len() as u16));
        let at = usize::from(u16_at(&body, 23)) - CIFS_HEADER_LEN;
        prop_assert_eq!(&body[at..], data);
    }

    #[test]
    fn a_create_has_its_name_at_an_even_offset(
        name in r"([a-zé]{1,9}\\){0,3}[a-zé]{0,9}",
        (access, attributes, share, options) in any::<(u32, u32, u32, u32)>(),
        is_batch in any::<bool>(),
    ) {
        let wire = WireName::new(&name).unwrap();
        let request = CreateRequest {
            name: &wire,
            desired_access: access,
            file_attributes: attributes,
            share_access: share,
            disposition: Disposition::OpenIf,
            options,
            oplock: if is_batch { OplockLevel::Batch } else { OplockLevel::Exclusive },
            contexts: &[],
        };
        let body = body(|out| encode_create(&request, out));
        let bytes = bytes_of(&body, 24);
        prop_assert_eq!(u32_at(&body, 8), if is_batch { 6 } else { 2 });
        // RootDirectoryFID.
        prop_assert_eq!(u32_at(&body, 12), 0);
        let fields = [16, 28, 32, 36].map(|at| u32_at(&body, at));
        prop_assert_eq!(fields, [access, attributes, share, 3]);
        prop_assert_eq!(u32_at(&body, 40), options & !0x2000);
        // The header and the words have an odd length.
        let name_len = usize::from(u16_at(&body, 6));
        prop_assert_eq!(bytes.len(), 1 + name_len + 2);
        let expected: Vec<u8> = format!("\\{name}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        prop_assert_eq!(&bytes[1..=name_len], expected);
    }

    #[test]
    fn a_lock_has_the_high_parts_first(
        (file, offset, length, timeout_ms) in any::<(u16, u64, u64, u32)>(),
        which in 0usize..3,
    ) {
        let (what, kind, counts) = [
            (CifsLock::Exclusive, 0x10, (0, 1)),
            (CifsLock::Shared, 0x11, (0, 1)),
            (CifsLock::Unlock, 0x10, (1, 0)),
        ][which];
        let body = body(|out| encode_lock(FileNumber(file), what, offset, length, timeout_ms, out));
        let range = bytes_of(&body, 8);
        prop_assert_eq!((u16_at(&body, 5), body[7]), (file, kind));
        prop_assert_eq!(u32_at(&body, 9), timeout_ms);
        prop_assert_eq!((u16_at(&body, 13), u16_at(&body, 15)), counts);
        let long = |at| u64::from(u32_at(range, at)) << 32 | u64::from(u32_at(range, at + 4));
        prop_assert_eq!((range.len(), long(4), long(12)), (20, offset, length));
    }

    #[test]
    fn an_acknowledgement_says_what_is_kept(file in any::<u16>(), keeps in any::<bool>()) {
        let level = if keeps { OplockLevel::LevelII } else { OplockLevel::None };
        let body = body(|out| encode_release(FileNumber(file), level, out));
        prop_assert_eq!(bytes_of(&body, 8), b"");
        // The server's break has the same form.
        let file = FileNumber(file);
        let message = [&[0; CIFS_HEADER_LEN][..], &body].concat();
        prop_assert_eq!(CifsBreak::decode(&message), Ok(CifsBreak { file, level }));
    }

    #[test]
    fn a_tree_connect_accepts_any_service(share in r"[a-z$é]{1,30}") {
        let wire = WireName::new(&share).unwrap();
        let body = body(|out| encode_tree_connect(&wire, out));
        let bytes = bytes_of(&body, 4);
        // One byte of password at an odd offset.
        prop_assert_eq!((u16_at(&body, 7), bytes[0]), (1, 0));
        let expected = [wire.as_bytes(), b"\0\0?????\0"].concat();
        prop_assert_eq!(&bytes[1..], expected);
    }
}
