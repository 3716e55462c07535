//! Commands that take only names: SMB_COM_DELETE, SMB_COM_RENAME, and the three
//! commands for a directory (MS-CIFS 2.2.4.1, 2.2.4.2, 2.2.4.7, 2.2.4.8,
//! 2.2.4.17).

use super::{close_body, write_path};
use crate::command::WireName;

/// BufferFormat of a string that ends with a null (MS-CIFS 2.2.4.1.1).
const STRING: u8 = 0x04;

/// SMB_COM_DELETE: deletes a file, or all files whose names match a pattern
/// (MS-CIFS 2.2.4.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsDeleteRequest<'a> {
    /// Bits of [`attributes`](crate::command::create::attributes). A hidden or
    /// system file is deleted only if its bit is set here.
    pub search_attributes: u16,
    /// The file. The last part of the path may have wildcards.
    pub path: &'a WireName,
}

impl CifsDeleteRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode(Some(self.search_attributes), &[self.path], out);
    }
}

/// SMB_COM_RENAME: renames or moves a file or a directory (MS-CIFS 2.2.4.8.1).
/// It fails if the new name exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsRenameRequest<'a> {
    /// Bits of [`attributes`](crate::command::create::attributes). A hidden or
    /// system file is renamed only if its bit is set here.
    pub search_attributes: u16,
    /// The old path.
    pub from: &'a WireName,
    /// The new path.
    pub to: &'a WireName,
}

impl CifsRenameRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode(Some(self.search_attributes), &[self.from, self.to], out);
    }
}

/// SMB_COM_CREATE_DIRECTORY, SMB_COM_DELETE_DIRECTORY or
/// SMB_COM_CHECK_DIRECTORY. Their bodies are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryPathRequest<'a> {
    /// The directory to create, to delete, or to look for.
    pub path: &'a WireName,
}

impl DirectoryPathRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode(None, &[self.path], out);
    }
}

/// Appends a body of at most one word and of `paths`.
fn encode(word: Option<u16>, paths: &[&WireName], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(u8::from(word.is_some()));
    if let Some(word) = word {
        out.extend_from_slice(&word.to_le_bytes());
    }
    let byte_count = out.len();
    out.extend_from_slice(&[0, 0]);
    for path in paths {
        out.push(STRING);
        // Unicode strings have even offsets in the message. The length of the
        // header is even, so the offset in the body decides.
        if (out.len() - start) % 2 == 1 {
            out.push(0);
        }
        write_path(path, out);
    }
    close_body(out, byte_count);
}
