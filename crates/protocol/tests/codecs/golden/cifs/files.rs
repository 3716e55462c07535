//! Log-ons, files, locks and breaks.

use smbench_protocol::NtStatus;
use smbench_protocol::cifs::FileNumber;
use smbench_protocol::cifs::command::close::{encode_close, encode_echo, encode_flush};
use smbench_protocol::cifs::command::create::{CifsCreated, encode_create};
use smbench_protocol::cifs::command::lock::{CifsBreak, CifsLock, encode_lock, encode_release};
use smbench_protocol::cifs::command::read::{CifsRead, decode_read};
use smbench_protocol::cifs::command::session::{
    CifsNegotiateResponse, CifsSetupResponse, cifs_capabilities, encode_logoff,
};
use smbench_protocol::cifs::command::tree::{decode_is_disk, encode_tree_connect};
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode, decode_write};
use smbench_protocol::cifs::command::{decode_empty, encode_empty};
use smbench_protocol::cifs::header::{CIFS_HEADER_LEN, CifsCommand, CifsHeader};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, Disposition, OplockLevel, options};

const FOX: &[u8] = b"The quick brown fox jumps over the lazy dog.\n";

/// Returns the body that `encode` appends to a header.
fn body(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; CIFS_HEADER_LEN];
    encode(&mut out);
    out.split_off(CIFS_HEADER_LEN)
}

/// Returns a captured body after these changes at offsets in the body.
fn changed(message: &[u8], changes: &[(usize, &[u8])]) -> Vec<u8> {
    let mut body = message[CIFS_HEADER_LEN..].to_vec();
    for (at, bytes) in changes {
        body[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    body
}

#[test]
fn headers() {
    let all = [
        (
            captured!("cifs", "negotiate-response"),
            CifsCommand::Negotiate,
        ),
        (
            captured!("cifs", "session-setup-request"),
            CifsCommand::SessionSetupAndX,
        ),
        (
            captured!("cifs", "create-request"),
            CifsCommand::NtCreateAndX,
        ),
        (captured!("cifs", "write-response"), CifsCommand::WriteAndX),
        (captured!("cifs", "oplock-break"), CifsCommand::LockingAndX),
        (captured!("cifs", "cancel-request"), CifsCommand::NtCancel),
        (
            captured!("cifs", "create-sharing-violation"),
            CifsCommand::NtCreateAndX,
        ),
    ];
    for (message, command) in &all {
        let header = CifsHeader::decode(message).unwrap();
        assert_eq!(header.command, *command);
        let mut again = body(|out| {
            out.clear();
            out.resize(CIFS_HEADER_LEN, 0);
            header.encode(out);
        });
        // The signature is not a field. Clients have other process ids.
        again[14..22].copy_from_slice(&message[14..22]);
        again[26..28].copy_from_slice(&message[26..28]);
        assert_eq!(again, message[..CIFS_HEADER_LEN], "{command:?}");
    }
    let created = CifsHeader::decode(&captured!("cifs", "create-response")).unwrap();
    let expected = CifsHeader {
        command: CifsCommand::NtCreateAndX,
        status: NtStatus::SUCCESS,
        flags: 0x88,
        flags2: 0xc817,
        tid: 0x9a39,
        uid: 0x6e77,
        mid: 7,
    };
    assert_eq!(created, expected);
    assert!(created.is_reply() && created.is_signed());
    let failed = CifsHeader::decode(&captured!("cifs", "create-sharing-violation")).unwrap();
    assert_eq!(failed.status, NtStatus::SHARING_VIOLATION);
}

#[test]
fn negotiations() {
    let extended = CifsNegotiateResponse::decode(&captured!("cifs", "negotiate-response")).unwrap();
    assert_eq!(extended.dialect, 0);
    assert_eq!((extended.max_mpx, extended.max_buffer), (50, 16_644));
    assert_eq!(extended.session_key, 0x29a2);
    assert_eq!(extended.capabilities, 0x8080_f3fd);
    assert_eq!(extended.challenge, None);
    assert!(extended.encrypts_passwords());
    assert!(!extended.can_sign() && !extended.requires_signing());
    let plain = captured!("cifs", "plain-negotiate-response");
    let plain = CifsNegotiateResponse::decode(&plain).unwrap();
    let has_extended = plain.capabilities & cifs_capabilities::EXTENDED_SECURITY != 0;
    assert!(!has_extended);
    let challenge = [0xa3, 0x7f, 0xe7, 0xf5, 0x23, 0x8c, 0xc8, 0x84];
    assert_eq!(plain.challenge, Some(challenge));
}

#[test]
fn log_ons() {
    let message = captured!("cifs", "session-setup-more-response");
    let more = CifsSetupResponse::decode(&message).unwrap();
    assert!(more.token.windows(8).any(|bytes| bytes == b"NTLMSSP\0"));
    let message = captured!("cifs", "session-setup-response");
    let done = CifsSetupResponse::decode(&message).unwrap();
    assert!(!done.is_guest);
    assert_eq!(
        (done.token.len(), &done.token[..4]),
        (29, &[0xa1, 0x1b, 0x30, 0x19][..])
    );
    let message = captured!("cifs", "plain-session-setup-response");
    let plain = CifsSetupResponse::decode(&message).unwrap();
    assert_eq!((plain.is_guest, plain.token), (false, &[][..]));
    assert_eq!(
        body(encode_logoff),
        changed(&captured!("cifs", "logoff-request"), &[])
    );
    decode_empty(&captured!("cifs", "logoff-response")).unwrap();
}

#[test]
fn tree_connects() {
    let share = WireName::new(r"\\127.0.0.1\BENCH").unwrap();
    let sent = body(|out| encode_tree_connect(&share, out));
    // The client asks for an extended response, which smbench does not need.
    let captured = captured!("cifs", "tree-connect-request");
    assert_eq!(sent, changed(&captured, &[(5, &[0])]));
    assert_eq!(
        decode_is_disk(&captured!("cifs", "tree-connect-response")),
        Ok(true)
    );
    assert_eq!(
        decode_is_disk(&captured!("cifs", "tree-connect-pipe-response")),
        Ok(false)
    );
    let disconnect = captured!("cifs", "tree-disconnect-request");
    assert_eq!(body(encode_empty), changed(&disconnect, &[]));
    decode_empty(&captured!("cifs", "tree-disconnect-response")).unwrap();
}

#[test]
fn creates() {
    let name = WireName::new("fox.txt").unwrap();
    let request = CreateRequest {
        file_attributes: 0,
        share_access: 3,
        disposition: Disposition::OverwriteIf,
        options: options::FILE_NON_DIRECTORY_FILE,
        ..CreateRequest::open(&name, 0x0012_019f)
    };
    // The client ends the name twice, and counts one of the ends.
    let captured = captured!("cifs", "create-request");
    let mut captured = changed(&captured, &[(6, &[0x10]), (49, &[0x13])]);
    captured.truncate(captured.len() - 2);
    assert_eq!(body(|out| encode_create(&request, out)), captured);
    let name = WireName::new(r"test_oplock\test_batch1.dat").unwrap();
    let request = CreateRequest {
        share_access: 0,
        disposition: Disposition::OpenIf,
        oplock: OplockLevel::Batch,
        ..CreateRequest::open(&name, 0x001f_01ff)
    };
    // The client asks for an extended response, and impersonates anonymously.
    let captured = captured!("cifs", "create-batch-request");
    let captured = changed(&captured, &[(8, &[0x06]), (44, &[2])]);
    assert_eq!(body(|out| encode_create(&request, out)), captured);
    assert_eq!(
        CifsCreated::decode(&captured!("cifs", "create-response")),
        Ok(CifsCreated {
            oplock: OplockLevel::None,
            file: FileNumber(0xffa3),
            action: 2,
            end_of_file: 0,
        })
    );
    assert_eq!(
        CifsCreated::decode(&captured!("cifs", "create-batch-response")),
        Ok(CifsCreated {
            oplock: OplockLevel::Batch,
            file: FileNumber(0xe1f3),
            action: 2,
            end_of_file: 0,
        })
    );
    assert!(CifsCreated::decode(&captured!("cifs", "create-sharing-violation")).is_err());
}

#[test]
fn reads() {
    let request = |file, length| CifsRead {
        file: FileNumber(file),
        offset: 0,
        length,
    };
    for (captured, request) in [
        (captured!("cifs", "read-request"), request(0x2c76, 45)),
        (captured!("cifs", "read-small-request"), request(0xfdeb, 9)),
    ] {
        // Clients ask for all bytes as the least number of bytes too.
        assert_eq!(
            body(|out| request.encode(out)),
            changed(&captured, &[(13, &[0, 0])])
        );
    }
    let message = captured!("cifs", "read-response");
    let read = decode_read(&message, message.len()).unwrap();
    assert_eq!((read.length, read.data), (45, Some(FOX)));
    let cut = decode_read(&message[..80], message.len()).unwrap();
    assert_eq!((cut.length, cut.data), (45, None));
    let message = captured!("cifs", "read-short-response");
    let short = decode_read(&message, message.len()).unwrap();
    assert_eq!((short.length, short.data), (9, Some(&b"TEST DATA"[..])));
    let message = captured!("cifs", "read-empty-response");
    let empty = decode_read(&message, message.len()).unwrap();
    assert_eq!((empty.length, empty.data), (0, Some(&[][..])));
}

#[test]
fn writes() {
    let write = |file, data: &[u8]| {
        let request = CifsWrite {
            file: FileNumber(file),
            offset: 0,
            length: data.len() as u32,
            mode: WriteMode::Buffered,
        };
        body(|out| request.encode_with(out, |out| out.extend_from_slice(data)))
    };
    let captured = captured!("cifs", "write-request");
    assert_eq!(write(0xffa3, FOX), changed(&captured, &[]));
    // The client pads no empty data.
    let mut padded = captured!("cifs", "write-empty-request");
    padded.push(0);
    let padded = changed(&padded, &[(23, &[0x40]), (29, &[1])]);
    assert_eq!(write(0x8439, b""), padded);
    assert_eq!(decode_write(&captured!("cifs", "write-response")), Ok(45));
}

#[test]
fn closes_flushes_echoes_and_cancels() {
    let close = captured!("cifs", "close-request");
    assert_eq!(
        body(|out| encode_close(FileNumber(0xffa3), out)),
        changed(&close, &[])
    );
    let flush = captured!("cifs", "flush-request");
    assert_eq!(
        body(|out| encode_flush(FileNumber(0xffff), out)),
        changed(&flush, &[])
    );
    // The client echoes `hello` instead of one zero byte.
    let echo = changed(&captured!("cifs", "echo-request"), &[(3, &[1]), (5, &[0])]);
    assert_eq!(body(encode_echo), echo[..6]);
    let cancel = captured!("cifs", "cancel-request");
    assert_eq!(body(encode_empty), changed(&cancel, &[]));
    for message in [
        captured!("cifs", "close-response"),
        captured!("cifs", "flush-response"),
        captured!("cifs", "echo-response"),
        captured!("cifs", "create-sharing-violation"),
    ] {
        decode_empty(&message).unwrap();
    }
}

#[test]
fn locks() {
    for (captured, what) in [
        (captured!("cifs", "lock-request"), CifsLock::Exclusive),
        (captured!("cifs", "unlock-request"), CifsLock::Unlock),
    ] {
        let sent = body(|out| encode_lock(FileNumber(0x4a6b), what, 4_009_754_623, 4000, 0, out));
        // Each client has process ids of its own.
        assert_eq!(sent, changed(&captured, &[(19, &[1, 0])]));
    }
    decode_empty(&captured!("cifs", "lock-response")).unwrap();
    decode_empty(&captured!("cifs", "lock-not-granted")).unwrap();
}

#[test]
fn breaks() {
    let broken = |level| CifsBreak {
        file: FileNumber(0xe1f3),
        level,
    };
    let message = captured!("cifs", "oplock-break");
    assert_eq!(
        CifsBreak::decode(&message),
        Ok(broken(OplockLevel::LevelII))
    );
    let header = CifsHeader::decode(&message).unwrap();
    assert_eq!((header.mid, header.uid, header.tid), (0xffff, 0, 0xf60e));
    assert!(!header.is_reply());
    let message = captured!("cifs", "oplock-break-none");
    assert_eq!(CifsBreak::decode(&message), Ok(broken(OplockLevel::None)));
    let sent = body(|out| encode_release(FileNumber(0xe1f3), OplockLevel::LevelII, out));
    assert_eq!(sent, changed(&captured!("cifs", "oplock-release"), &[]));
    // A request for a lock is no break.
    assert!(CifsBreak::decode(&captured!("cifs", "lock-request")).is_err());
}
