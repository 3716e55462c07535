//! Tools of the scripts: write fields of messages by their position, and make
//! unsolicited answers.

use smbench_protocol::NtStatus;
use smbench_protocol::header::{Command, Flags, Header, UNSOLICITED};

use super::relay::framed;

/// Where fields of the header lie (MS-SMB2 2.2.1).
pub(crate) const STATUS: usize = 8;
pub(super) const COMMAND: usize = 12;
pub(super) const CREDITS: usize = 14;
pub(super) const FLAGS: usize = 16;
pub(super) const NEXT_COMMAND: usize = 20;
pub(super) const MESSAGE_ID: usize = 24;
pub(super) const SESSION_ID: usize = 40;
pub(super) const SIGNATURE: usize = 48;
/// First byte after the header.
pub(super) const BODY: usize = 64;

/// A message with these bytes at `at`.
pub(crate) fn with<const N: usize>(mut message: Vec<u8>, at: usize, bytes: [u8; N]) -> Vec<u8> {
    message[at..at + N].copy_from_slice(&bytes);
    message
}

/// Returns a message with one flipped bit in the byte at `at`.
pub(super) fn flipped(mut message: Vec<u8>, at: usize) -> Vec<u8> {
    message[at] ^= 0x10;
    message
}

fn header_of(message: &[u8]) -> Header {
    Header::decode(message).unwrap()
}

fn encoded(header: Header, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(body);
    message
}

/// Returns an interim answer to the request that `message` answers (MS-SMB2
/// 3.3.4.2). It grants `credits`.
pub(super) fn pending(message: &[u8], credits: u16) -> Vec<u8> {
    let header = Header {
        status: NtStatus::PENDING,
        flags: Flags::RESPONSE.union(Flags::ASYNC),
        async_or_tree: 77,
        credits,
        next_command: 0,
        ..header_of(message)
    };
    encoded(header, &[9, 0, 0, 0, 0, 0, 0, 0, 0])
}

/// Returns an unsolicited oplock break with this body.
pub(super) fn oplock_break(body: &[u8]) -> Vec<u8> {
    let header = Header {
        flags: Flags::RESPONSE,
        credits: 0,
        ..Header::request(Command::OplockBreak, UNSOLICITED)
    };
    encoded(header, body)
}

/// Body of an oplock break to level II of some file (MS-SMB2 2.2.23.1).
pub(super) const OPLOCK_BREAK_BODY: [u8; 24] = {
    let mut body = [7; 24];
    body[0] = 24;
    body[1] = 0;
    body[2] = 1;
    body
};

/// Body of a lease break (MS-SMB2 2.2.23.2).
pub(super) const LEASE_BREAK_BODY: [u8; 44] = {
    let mut body = [0; 44];
    body[0] = 44;
    body
};

/// Returns a thousand framed breaks of both kinds.
pub(super) fn break_storm() -> Vec<u8> {
    let oplock = framed(&oplock_break(&OPLOCK_BREAK_BODY));
    let lease = framed(&oplock_break(&LEASE_BREAK_BODY));
    [oplock, lease].concat().repeat(500)
}

/// Returns a READ response with `data` in place of its own.
pub(super) fn read_of(message: &[u8], data: &[u8]) -> Vec<u8> {
    let mut forged = message[..BODY + 16].to_vec();
    forged[BODY + 4..BODY + 8].copy_from_slice(&(data.len() as u32).to_le_bytes());
    forged.extend_from_slice(data);
    forged
}

/// Returns a listing of `names` files that no run makes, in place of `message`
/// (MS-FSCC 2.4.10).
pub(super) fn listing(message: &[u8], names: usize) -> Vec<u8> {
    const ENTRY_LEN: usize = 72;
    let mut entry = [0; ENTRY_LEN];
    entry[0] = ENTRY_LEN as u8;
    entry[60] = 8;
    entry[64..].copy_from_slice(b"a\0b\0c\0d\0");
    let mut forged = with(message[..BODY].to_vec(), STATUS, [0; 4]);
    forged.extend([9, 0, 72, 0]);
    forged.extend(((names * ENTRY_LEN) as u32).to_le_bytes());
    forged.extend(entry.repeat(names));
    let last = forged.len() - ENTRY_LEN;
    forged[last] = 0;
    forged
}
