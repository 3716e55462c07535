//! TRANS2_FIND_FIRST2, TRANS2_FIND_NEXT2 and FIND_CLOSE2 (MS-CIFS 2.2.6.2, 2.2.6.3,
//! 2.2.4.48).

use super::transaction::{TransactionLimits, encode_transaction2};
use super::{CIFS_HEADER_LEN, encode_words, push_path};
use crate::command::WireName;
use crate::command::create::attributes::FILE_ATTRIBUTE_DIRECTORY;
use crate::command::name;
use crate::directory::Entry;
use crate::wire::{DecodeError, Reader};

const FIND_FIRST2: u16 = 0x0001;
const FIND_NEXT2: u16 = 0x0002;
/// Hidden and system files, and directories, are included.
const SEARCH_ATTRIBUTES: u16 = 0x0016;

/// Bits of the Flags of a search.
pub mod find_flags {
    /// SMB_FIND_CLOSE_AFTER_REQUEST: the search ends with this answer.
    pub const CLOSE_AFTER_REQUEST: u16 = 0x0001;
    /// SMB_FIND_CLOSE_AT_EOS: the search ends with the last name.
    pub const CLOSE_AT_EOS: u16 = 0x0002;
    /// SMB_FIND_RETURN_RESUME_KEYS.
    pub const RETURN_RESUME_KEYS: u16 = 0x0004;
    /// SMB_FIND_CONTINUE_FROM_LAST: the next names follow the last answer.
    pub const CONTINUE_FROM_LAST: u16 = 0x0008;
}

/// SMB_FIND_FILE_BOTH_DIRECTORY_INFO.
pub const FIND_BOTH_DIRECTORY_INFO: u16 = 0x0104;

/// The parts of a search that the first request and the next ones have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsFind {
    /// Largest number of names in the answer.
    pub count: u16,
    /// [`find_flags`] bits.
    pub flags: u16,
    /// Information level of the names.
    pub level: u16,
    /// Largest answer in bytes.
    pub data_max: u16,
}

impl CifsFind {
    /// Appends the body of a request for the names that match a pattern: a path whose last
    /// part may have wildcards.
    pub fn encode_first(&self, pattern: &WireName, out: &mut Vec<u8>) {
        let start = out.len() - CIFS_HEADER_LEN;
        let parameters = |out: &mut Vec<u8>| {
            for field in [SEARCH_ATTRIBUTES, self.count, self.flags, self.level, 0, 0] {
                out.extend_from_slice(&field.to_le_bytes());
            }
            push_path(pattern, start, out);
        };
        let limits = self.limits(10);
        encode_transaction2(FIND_FIRST2, limits, out, parameters, |_| ());
    }

    /// Appends the body of a request for the next names of a search. They begin after
    /// `last`, the last name so far.
    pub fn encode_next(&self, search: u16, last: &WireName, out: &mut Vec<u8>) {
        let parameters = |out: &mut Vec<u8>| {
            for field in [search, self.count, self.level, 0, 0, self.flags] {
                out.extend_from_slice(&field.to_le_bytes());
            }
            out.extend_from_slice(last.as_bytes());
            out.extend_from_slice(&[0; 2]);
        };
        let limits = self.limits(8);
        encode_transaction2(FIND_NEXT2, limits, out, parameters, |_| ());
    }

    const fn limits(&self, parameters: u16) -> TransactionLimits {
        TransactionLimits {
            parameters,
            data: self.data_max,
        }
    }
}

/// Appends the body of a FIND_CLOSE2, which ends a search.
pub fn encode_find_close(search: u16, out: &mut Vec<u8>) {
    encode_words(&search.to_le_bytes(), out);
}

/// The state of a search after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsFound {
    /// Number of the search.
    pub search: u16,
    /// Whether there are no further names.
    pub is_end: bool,
}

impl CifsFound {
    /// Reads the parameters of the answer to the first request.
    ///
    /// # Errors
    /// If a field is missing.
    pub fn decode_first(parameters: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(parameters);
        let search = reader.u16("FIND_FIRST2 search")?;
        reader.u16("FIND_FIRST2 count")?;
        let is_end = reader.u16("FIND_FIRST2 end of search")? != 0;
        Ok(Self { search, is_end })
    }

    /// Reads the parameters of the answer to a next request of `search`.
    ///
    /// # Errors
    /// If a field is missing.
    pub fn decode_next(search: u16, parameters: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(parameters);
        reader.u16("FIND_NEXT2 count")?;
        let is_end = reader.u16("FIND_NEXT2 end of search")? != 0;
        Ok(Self { search, is_end })
    }
}

/// Reads the names of an answer of level [`FIND_BOTH_DIRECTORY_INFO`]. Leaves out `.` and
/// `..`, but returns the last name of all beside them, from which the next request goes on.
///
/// # Errors
/// If a length or offset points out of the data.
pub fn decode_entries(data: &[u8]) -> Result<(Vec<Entry>, Option<String>), DecodeError> {
    const WHAT: &str = "FIND_FIRST2 entry";
    let (mut entries, mut last) = (Vec::new(), None);
    let mut at = 0;
    // The same layout as FileBothDirectoryInformation (MS-FSCC 2.4.8). But the last entry
    // may point to the end of the data.
    while at < data.len() {
        let mut reader = Reader::at(data, at);
        let before_next = reader;
        let next = reader.u32(WHAT)? as usize;
        reader.bytes(4 + 32, WHAT)?;
        let end_of_file = reader.u64(WHAT)?;
        reader.u64(WHAT)?;
        let attributes = reader.u32(WHAT)?;
        let name_len = reader.u32(WHAT)? as usize;
        reader.bytes(4 + 2 + 24, WHAT)?;
        let name = name::decode(reader.bytes(name_len, WHAT)?);
        let name = name.trim_end_matches('\0').to_owned();
        if name != "." && name != ".." {
            entries.push(Entry {
                name: name.clone(),
                end_of_file,
                is_directory: attributes & FILE_ATTRIBUTE_DIRECTORY != 0,
            });
        }
        last = Some(name);
        match next {
            0 => break,
            next if next < FIXED + name_len => return Err(before_next.error("next entry offset")),
            next => at += next,
        }
    }
    Ok((entries, last))
}

/// Length of an entry before its name, in bytes.
const FIXED: usize = 94;
