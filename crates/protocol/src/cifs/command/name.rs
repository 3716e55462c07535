//! Commands on names: DELETE, RENAME, CREATE_DIRECTORY, DELETE_DIRECTORY and
//! CHECK_DIRECTORY (MS-CIFS 2.2.4.7, 2.2.4.8, 2.2.4.1, 2.2.4.2, 2.2.4.17).

use super::{CIFS_HEADER_LEN, push_bytes, push_path};
use crate::command::WireName;

/// BufferFormat of a string.
const STRING: u8 = 0x04;
/// SMB_FILE_ATTRIBUTE_HIDDEN and _SYSTEM: files with these attributes are included.
const HIDDEN_AND_SYSTEM: u16 = 0x0006;
/// The same with SMB_FILE_ATTRIBUTE_DIRECTORY.
const ALL: u16 = 0x0016;

/// Appends the body of a DELETE of a file.
pub fn encode_delete(path: &WireName, out: &mut Vec<u8>) {
    encode(Some(HIDDEN_AND_SYSTEM), &[path], out);
}

/// Appends the body of a RENAME of a file or a directory.
pub fn encode_rename(from: &WireName, to: &WireName, out: &mut Vec<u8>) {
    encode(Some(ALL), &[from, to], out);
}

/// Appends the body of CREATE_DIRECTORY, DELETE_DIRECTORY or CHECK_DIRECTORY.
pub fn encode_directory(path: &WireName, out: &mut Vec<u8>) {
    encode(None, &[path], out);
}

fn encode(attributes: Option<u16>, paths: &[&WireName], out: &mut Vec<u8>) {
    let start = out.len() - CIFS_HEADER_LEN;
    match attributes {
        Some(attributes) => {
            out.push(1);
            out.extend_from_slice(&attributes.to_le_bytes());
        }
        None => out.push(0),
    }
    push_bytes(out, |out| {
        for path in paths {
            out.push(STRING);
            push_path(path, start, out);
        }
    });
}
