//! The codecs compared with `smb-msg`, an independent implementation. Each side
//! must read the other side's bytes with the same meaning.
//!
//! Fields stay within the limits of smb-msg. It supports CLOSE with
//! POSTQUERY_ATTRIB only, numbers the oplock levels of CREATE above II wrongly, and
//! refuses empty READ responses. Golden bytes and properties cover those cases.

mod control;
mod create;
mod create_context;
mod data;
mod query_info;

use std::io::Cursor;

use binrw::{BinRead, BinWrite};
use proptest::prelude::*;
use smb_msg as theirs;
use smb_msg::{PlainRequest, PlainResponse, RequestContent, ResponseContent};
use smbench_protocol::header::{Command, Flags, Header};
use smbench_protocol::{FileId, NtStatus};

/// Encodes a request with this crate and reads it with smb-msg.
fn read_by_them(command: Command, encode: impl FnOnce(&mut Vec<u8>)) -> RequestContent {
    let mut message = Vec::new();
    Header::request(command, 7).encode(&mut message);
    encode(&mut message);
    let mut cursor = Cursor::new(&message);
    let request = PlainRequest::read(&mut cursor).expect("smb-msg reads our request");
    assert_eq!(request.header.message_id, 7);
    request.content
}

/// Encodes a response with smb-msg, for this crate to read.
fn written_by_them(command: theirs::Command, content: impl Into<ResponseContent>) -> Vec<u8> {
    let mut response = PlainResponse::new_with_command(content.into(), command);
    response.header.flags.set_server_to_redir(true);
    let mut message = Cursor::new(Vec::new());
    response.write(&mut message).expect("smb-msg writes");
    message.into_inner()
}

fn their_id(id: FileId) -> theirs::FileId {
    theirs::FileId {
        persistent: id.persistent,
        volatile: id.volatile,
    }
}

proptest! {
    #[test]
    fn header(
        command in 0u16..19,
        (credit_charge, credits) in any::<(u16, u16)>(),
        (status, flags, next_command) in any::<(u32, u32, u32)>(),
        (message_id, async_id, session_id) in any::<(u64, u64, u64)>(),
        tree_id in any::<u32>(),
    ) {
        let mut header = Header {
            credit_charge,
            status: NtStatus(status),
            command: Command::from_code(command).expect("all below 19 exist"),
            credits,
            flags: Flags(flags),
            next_command,
            message_id,
            async_or_tree: async_id,
            session_id,
        };
        let is_async = header.flags.contains(Flags::ASYNC);
        if !is_async {
            header = header.with_tree(tree_id);
        }
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        let read = theirs::Header::read(&mut Cursor::new(&bytes)).expect("smb-msg reads our header");

        prop_assert_eq!(read.command as u16, command);
        prop_assert_eq!((read.credit_charge, read.credit_request), (credit_charge, credits));
        prop_assert_eq!((read.status, read.next_command), (status, next_command));
        prop_assert_eq!(read.flags.into_bytes(), flags.to_le_bytes());
        prop_assert_eq!((read.message_id, read.session_id), (message_id, session_id));
        prop_assert_eq!(read.tree_id, (!is_async).then_some(tree_id));
        prop_assert_eq!(read.async_id.unwrap_or_default(), if is_async { async_id } else { 0 });
        prop_assert_eq!(read.signature, 0);

        let mut again = Cursor::new(Vec::new());
        read.write(&mut again).expect("smb-msg writes");
        prop_assert_eq!(Header::decode(again.get_ref()), Ok(header));
    }
}
