//! Lists a directory outside of measurements, to find leftover files. It
//! returns all names at once, as text.
//!
//! Not here: listings that are measured, see
//! [`command::query_directory`](crate::command::query_directory).

use crate::FileId;
use crate::command::create::attributes::FILE_ATTRIBUTE_DIRECTORY;
use crate::command::name;
use crate::command::query_directory::{
    DirectoryClass, DirectoryEntry, QueryDirectoryRequest, QueryDirectoryResponse,
};
use crate::command::{FileTime, WireName};
use crate::wire::DecodeError;

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, without a path.
    pub name: String,
    /// File size in bytes (EndOfFile).
    pub end_of_file: u64,
    /// Whether the entry is a directory.
    pub is_directory: bool,
    /// Time of creation by the server's clock.
    pub created: FileTime,
}

/// Appends the body of a request for the next names in the directory.
pub fn encode_request(directory: FileId, output_len_max: u32, out: &mut Vec<u8>) {
    QueryDirectoryRequest {
        directory,
        class: DirectoryClass::Directory,
        flags: 0,
        pattern: &WireName::every(),
        output_length: output_len_max,
    }
    .encode(out);
}

/// Reads a successful answer and leaves out `.` and `..`.
///
/// # Errors
/// Returns an error if a length or offset points out of the message.
pub fn decode_response(message: &[u8]) -> Result<Vec<Entry>, DecodeError> {
    let response = QueryDirectoryResponse::decode(message)?;
    names(response.entries(DirectoryClass::Directory))
}

/// Collects the entries of a listing and leaves out `.` and `..`. It also leaves out
/// entries without details.
pub(crate) fn names<'a>(
    listing: impl Iterator<Item = Result<DirectoryEntry<'a>, DecodeError>>,
) -> Result<Vec<Entry>, DecodeError> {
    let mut entries = Vec::new();
    for entry in listing {
        let entry = entry?;
        let name = name::decode(entry.name);
        if let Some(details) = entry.details.filter(|_| name != "." && name != "..") {
            entries.push(Entry {
                name,
                end_of_file: details.end_of_file,
                is_directory: details.file_attributes & FILE_ATTRIBUTE_DIRECTORY != 0,
                created: details.times.created,
            });
        }
    }
    Ok(entries)
}
