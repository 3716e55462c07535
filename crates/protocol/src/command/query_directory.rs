//! SMB2 QUERY_DIRECTORY (MS-SMB2 2.2.33, 2.2.34): lists a directory, some names
//! per request.
//!
//! Names stay in UTF-16 as received. They include `.` and `..`.

use serde::{Deserialize, Serialize};

use super::{FileId, FileTimes, WireName, read_output};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Linked, Reader};

/// Length of a QUERY_DIRECTORY request before its pattern: header and fixed
/// body, in bytes.
pub const QUERY_DIRECTORY_REQUEST_FIXED: usize = HEADER_LEN + 32;

/// Bits of [`QueryDirectoryRequest::flags`] (MS-SMB2 2.2.33).
pub mod query_directory_flags {
    /// SMB2_RESTART_SCANS: start again at the first name.
    pub const RESTART_SCANS: u8 = 0x01;
    /// SMB2_RETURN_SINGLE_ENTRY: return one name, even if there is room for more.
    pub const RETURN_SINGLE_ENTRY: u8 = 0x02;
    /// SMB2_REOPEN: start again at the first name, with a new pattern.
    pub const REOPEN: u8 = 0x10;
}

/// The information to return for each name (MS-FSCC 2.4). Profiles and results write
/// it in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum DirectoryClass {
    /// FileDirectoryInformation: times, sizes and attributes.
    Directory = 1,
    /// FileFullDirectoryInformation: also the size of extended attributes.
    FullDirectory = 2,
    /// FileBothDirectoryInformation: also the short name.
    BothDirectory = 3,
    /// FileNamesInformation: only the name.
    Names = 12,
    /// FileIdBothDirectoryInformation: both names and the file's number.
    IdBothDirectory = 37,
    /// FileIdFullDirectoryInformation: like `FullDirectory`, and the file's number.
    IdFullDirectory = 38,
}

impl DirectoryClass {
    /// Returns the offsets in an entry of the file's number, if it has one, and
    /// of the name.
    const fn layout(self) -> (Option<usize>, usize) {
        match self {
            Self::Directory => (None, 64),
            Self::FullDirectory => (None, 68),
            Self::BothDirectory => (None, 94),
            Self::Names => (None, 12),
            Self::IdBothDirectory => (Some(96), 104),
            Self::IdFullDirectory => (Some(72), 80),
        }
    }
}

/// A request for the next names in an open directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryDirectoryRequest<'a> {
    /// The open directory.
    pub directory: FileId,
    /// The information to return for each name.
    pub class: DirectoryClass,
    /// [`query_directory_flags`] bits.
    pub flags: u8,
    /// The names to return; `*` for all. The server reads it in the first
    /// request, and in requests with a flag that starts again.
    pub pattern: &'a WireName,
    /// Largest length of the answer in bytes, up to the negotiated MaxTransactSize.
    pub output_length: u32,
}

impl QueryDirectoryRequest<'_> {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; QUERY_DIRECTORY_REQUEST_FIXED - HEADER_LEN];
        body[0..2].copy_from_slice(&33u16.to_le_bytes());
        body[2] = self.class as u8;
        body[3] = self.flags;
        body[8..24].copy_from_slice(&self.directory.to_bytes());
        body[24..26].copy_from_slice(&(QUERY_DIRECTORY_REQUEST_FIXED as u16).to_le_bytes());
        body[26..28].copy_from_slice(&self.pattern.wire_len().to_le_bytes());
        body[28..32].copy_from_slice(&self.output_length.to_le_bytes());
        out.extend_from_slice(&body);
        out.extend_from_slice(self.pattern.as_bytes());
    }
}

/// The names in one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryDirectoryResponse<'a> {
    /// The entries, in the layout of their class.
    pub data: &'a [u8],
}

impl<'a> QueryDirectoryResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or the entries lie outside the
    /// message.
    #[inline]
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self {
            data: read_output(message, "QUERY_DIRECTORY response")?,
        })
    }

    /// Returns an iterator over the entries. `class` is that of the request.
    #[must_use]
    pub const fn entries(&self, class: DirectoryClass) -> DirectoryEntries<'a> {
        DirectoryEntries {
            rest: Linked::new(self.data),
            class,
        }
    }
}

impl QueryDirectoryResponse<'_> {
    /// Counts the names but `.` and `..`. `class` is that of the request.
    ///
    /// # Errors
    /// Returns an error if a length or offset points out of the message.
    pub fn count_names(&self, class: DirectoryClass) -> Result<u32, DecodeError> {
        let mut names = 0;
        for entry in self.entries(class) {
            let is_dots = matches!(entry?.name, b".\0" | b".\0.\0");
            names += u32::from(!is_dots);
        }
        Ok(names)
    }
}

/// One name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry<'a> {
    /// The name, in UTF-16, little-endian.
    pub name: &'a [u8],
    /// Times, sizes and attributes; `None` if only names were asked for.
    pub details: Option<EntryDetails>,
    /// The file's number on its volume, if it was asked for.
    pub file_number: Option<u64>,
}

/// Times, sizes and attributes of a file in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryDetails {
    /// The file's four times.
    pub times: FileTimes,
    /// File size in bytes.
    pub end_of_file: u64,
    /// Space on the server's disk in bytes.
    pub allocation_size: u64,
    /// [`super::create::attributes`] bits.
    pub file_attributes: u32,
}

/// An iterator over the entries of a [`QueryDirectoryResponse`].
///
/// It ends after an error. The error's offset counts from the first entry.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryEntries<'a> {
    rest: Linked<'a>,
    class: DirectoryClass,
}

impl<'a> Iterator for DirectoryEntries<'a> {
    type Item = Result<DirectoryEntry<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let class = self.class;
        self.rest.next_entry(|entry| read_entry(entry, class))
    }
}

/// Reads one entry. Returns it with its length in bytes.
fn read_entry<'a>(
    entry: Reader<'a>,
    class: DirectoryClass,
) -> Result<(DirectoryEntry<'a>, usize), DecodeError> {
    let (number_at, name_at) = class.layout();
    let mut reader = entry.ahead(8);
    let details = match class {
        DirectoryClass::Names => None,
        _ => Some(EntryDetails {
            times: FileTimes::read(&mut reader, "entry times")?,
            end_of_file: reader.u64("end of file")?,
            allocation_size: reader.u64("allocation size")?,
            file_attributes: reader.u32("file attributes")?,
        }),
    };
    let name_len = reader.u32("file name length")? as usize;
    let file_number = match number_at {
        Some(at) => Some(entry.ahead(at).u64("file number")?),
        None => None,
    };
    let name = entry.ahead(name_at).bytes(name_len, "file name")?;
    let entry = DirectoryEntry {
        name,
        details,
        file_number,
    };
    Ok((entry, name_at + name_len))
}
