//! SMB2 QUERY_DIRECTORY (MS-SMB2 2.2.33, 2.2.34), for finding leftovers.
//!
//! Set-up work: encoded by smb-rs's message crates, decoded by hand because
//! its list reader trusts the entries' lengths.

use smb_fscc::QueryDirectoryInfoClass;
use smb_msg::{QueryDirectoryFlags, QueryDirectoryRequest};

use crate::FileId;
use crate::header::HEADER_LEN;
use crate::setup;
use crate::wire::{DecodeError, Reader};

/// FILE_ATTRIBUTE_DIRECTORY (MS-FSCC 2.6).
const DIRECTORY: u32 = 0x10;

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, without a path.
    pub name: String,
    /// Bytes to the end of the file.
    pub end_of_file: u64,
    /// Whether it is a directory itself.
    pub is_directory: bool,
}

/// Appends the body that asks for the next names in the directory.
pub fn encode_request(directory: FileId, output_len_max: u32, out: &mut Vec<u8>) {
    setup::encode(
        &QueryDirectoryRequest {
            file_information_class: QueryDirectoryInfoClass::DirectoryInformation,
            flags: QueryDirectoryFlags::new(),
            file_index: 0,
            file_id: directory.to_bytes().into(),
            output_buffer_length: output_len_max,
            file_name: "*".into(),
        },
        out,
    );
}

/// Reads a successful answer of FileDirectoryInformation (MS-FSCC 2.4.10),
/// leaving out `.` and `..`.
///
/// # Errors
/// When a length or offset points out of the message.
pub fn decode_response(message: &[u8]) -> Result<Vec<Entry>, DecodeError> {
    let mut reader = Reader::at(message, HEADER_LEN);
    reader.structure_size(9, "QUERY_DIRECTORY response structure size")?;
    let offset = usize::from(reader.u16("QUERY_DIRECTORY offset")?);
    let len = reader.u32("QUERY_DIRECTORY length")? as usize;
    let mut rest = reader.slice(offset, len, "QUERY_DIRECTORY buffer")?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let mut reader = Reader::new(rest);
        let next = reader.u32("next entry offset")? as usize;
        let mut reader = Reader::at(rest, 40);
        let end_of_file = reader.u64("end of file")?;
        let mut reader = Reader::at(rest, 56);
        let attributes = reader.u32("file attributes")?;
        let name_len = reader.u32("file name length")? as usize;
        let name = reader.slice(64, name_len, "file name")?;
        let units = name
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let name: String = char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        if name != "." && name != ".." {
            entries.push(Entry {
                name,
                end_of_file,
                is_directory: attributes & DIRECTORY != 0,
            });
        }
        if next == 0 {
            break;
        }
        // Entries follow each other; ones that overlap would multiply the names
        // in a message of bounded length.
        rest = rest
            .get(next..)
            .filter(|_| next >= 64 + name_len)
            .ok_or(DecodeError {
                what: "next entry offset",
                offset: 0,
            })?;
    }
    Ok(entries)
}
