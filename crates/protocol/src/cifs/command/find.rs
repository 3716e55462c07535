//! Directory listings: TRANS2_FIND_FIRST2, TRANS2_FIND_NEXT2 and
//! SMB_COM_FIND_CLOSE2 (MS-CIFS 2.2.6.2, 2.2.6.3, 2.2.4.48).
//!
//! Entries have the layouts of SMB2's listings. Names stay in UTF-16 as
//! received. They include `.` and `..`.
//!
//! Not here: levels of OS/2 and of Unix.

use super::transaction::Transaction2;
use super::{write_name, write_path};
use crate::command::WireName;
use crate::command::query_directory::{DirectoryClass, DirectoryEntry, QueryDirectoryResponse};
use crate::directory::{self, Entry};
use crate::wire::{DecodeError, Reader};

/// MaxParameterCount of both requests, as clients send it.
const MAX_PARAMETERS: u16 = 10;

/// Bits of [`FindFirst2Request::flags`] (MS-CIFS 2.2.6.2.1).
#[expect(missing_docs, reason = "the names are those of MS-CIFS 2.2.6.2.1")]
pub mod find_flags {
    pub const SMB_FIND_CLOSE_AFTER_REQUEST: u16 = 0x0001;
    pub const SMB_FIND_CLOSE_AT_EOS: u16 = 0x0002;
    pub const SMB_FIND_RETURN_RESUME_KEYS: u16 = 0x0004;
    pub const SMB_FIND_CONTINUE_FROM_LAST: u16 = 0x0008;
}

/// Values of [`FindFirst2Request::level`] (MS-CIFS 2.2.2.3.1, MS-SMB
/// 2.2.2.3.1).
#[expect(missing_docs, reason = "the names are those of MS-CIFS and MS-SMB")]
pub mod find_level {
    pub const SMB_FIND_FILE_DIRECTORY_INFO: u16 = 0x0101;
    pub const SMB_FIND_FILE_FULL_DIRECTORY_INFO: u16 = 0x0102;
    pub const SMB_FIND_FILE_NAMES_INFO: u16 = 0x0103;
    pub const SMB_FIND_FILE_BOTH_DIRECTORY_INFO: u16 = 0x0104;
    pub const SMB_FIND_FILE_ID_FULL_DIRECTORY_INFO: u16 = 0x0105;
    pub const SMB_FIND_FILE_ID_BOTH_DIRECTORY_INFO: u16 = 0x0106;
}

/// Returns the layout of the entries of a level, if it is one of [`find_level`]
/// or the pass-through level of the same class.
#[must_use]
pub const fn class_of_level(level: u16) -> Option<DirectoryClass> {
    Some(match level {
        0x0101 | 1001 => DirectoryClass::Directory,
        0x0102 | 1002 => DirectoryClass::FullDirectory,
        0x0103 | 1012 => DirectoryClass::Names,
        0x0104 | 1003 => DirectoryClass::BothDirectory,
        0x0105 | 1038 => DirectoryClass::IdFullDirectory,
        0x0106 | 1037 => DirectoryClass::IdBothDirectory,
        _ => return None,
    })
}

/// A request for the first names of a directory (MS-CIFS 2.2.6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindFirst2Request<'a> {
    /// Bits of [`attributes`](crate::command::create::attributes). A hidden or
    /// system file, or a directory, is listed only if its bit is set here.
    pub search_attributes: u16,
    /// Largest number of names in the response.
    pub search_count: u16,
    /// [`find_flags`] bits.
    pub flags: u16,
    /// The information to return for each name: [`find_level`] or another level.
    pub level: u16,
    /// The path of the directory with the pattern of names as its last part.
    pub pattern: &'a WireName,
    /// Largest length of the entries in bytes.
    pub max_data: u16,
}

impl FindFirst2Request<'_> {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = Transaction2 {
            subcommand: 0x0001,
            max_parameters: MAX_PARAMETERS,
            max_data: self.max_data,
        };
        // SearchStorageType stays zero.
        let mut fixed = [0; 12];
        fixed[0..2].copy_from_slice(&self.search_attributes.to_le_bytes());
        fixed[2..4].copy_from_slice(&self.search_count.to_le_bytes());
        fixed[4..6].copy_from_slice(&self.flags.to_le_bytes());
        fixed[6..8].copy_from_slice(&self.level.to_le_bytes());
        let parameters = |out: &mut Vec<u8>| {
            out.extend_from_slice(&fixed);
            write_path(self.pattern, out);
        };
        frame.encode(out, parameters, |_| ());
    }
}

/// A request for the next names of a listing (MS-CIFS 2.2.6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindNext2Request<'a> {
    /// The listing, from [`FindFirst2Response::sid`].
    pub sid: u16,
    /// Largest number of names in the response.
    pub search_count: u16,
    /// The information to return for each name: [`find_level`] or another level.
    pub level: u16,
    /// [`find_flags`] bits.
    pub flags: u16,
    /// The last name of the previous response, in UTF-16. It may be empty if
    /// `flags` has SMB_FIND_CONTINUE_FROM_LAST.
    pub resume_name: &'a [u8],
    /// Largest length of the entries in bytes.
    pub max_data: u16,
}

impl FindNext2Request<'_> {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = Transaction2 {
            subcommand: 0x0002,
            max_parameters: MAX_PARAMETERS,
            max_data: self.max_data,
        };
        // ResumeKey stays zero, because the name or the flag has the position.
        let mut fixed = [0; 12];
        fixed[0..2].copy_from_slice(&self.sid.to_le_bytes());
        fixed[2..4].copy_from_slice(&self.search_count.to_le_bytes());
        fixed[4..6].copy_from_slice(&self.level.to_le_bytes());
        fixed[10..12].copy_from_slice(&self.flags.to_le_bytes());
        let parameters = |out: &mut Vec<u8>| {
            out.extend_from_slice(&fixed);
            write_name(self.resume_name, out);
        };
        frame.encode(out, parameters, |_| ());
    }
}

/// A request to end a listing (MS-CIFS 2.2.4.48.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindClose2Request {
    /// The listing, from [`FindFirst2Response::sid`].
    pub sid: u16,
}

impl FindClose2Request {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let [low, high] = self.sid.to_le_bytes();
        // WordCount, SearchHandle, ByteCount.
        out.extend_from_slice(&[1, low, high, 0, 0]);
    }
}

/// The result of a successful FIND_FIRST2 (MS-CIFS 2.2.6.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindFirst2Response<'a> {
    /// The listing, for later requests. It has no meaning if the server has
    /// closed the listing already.
    pub sid: u16,
    /// The names.
    pub found: FoundNames<'a>,
}

impl<'a> FindFirst2Response<'a> {
    /// Reads the response from its parameters and its data.
    ///
    /// # Errors
    /// Returns an error if a parameter is missing.
    #[inline]
    pub fn decode(parameters: &[u8], data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(parameters);
        Ok(Self {
            sid: reader.u16("FIND_FIRST2 search id")?,
            found: FoundNames::read(reader, data)?,
        })
    }
}

/// The names in one response. This is also the result of a successful FIND_NEXT2
/// (MS-CIFS 2.2.6.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundNames<'a> {
    /// Number of entries in `data`.
    pub search_count: u16,
    /// Whether there are no more names.
    pub end_of_search: bool,
    /// The entries, in the layout of their level.
    pub data: &'a [u8],
}

impl<'a> FoundNames<'a> {
    /// Reads a FIND_NEXT2 response from its parameters and its data.
    ///
    /// # Errors
    /// Returns an error if a parameter is missing.
    #[inline]
    pub fn decode(parameters: &[u8], data: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(Reader::new(parameters), data)
    }

    #[inline]
    fn read(mut reader: Reader<'_>, data: &'a [u8]) -> Result<Self, DecodeError> {
        let found = Self {
            search_count: reader.u16("FIND search count")?,
            end_of_search: reader.u16("FIND end of search")? != 0,
            data,
        };
        reader.u16("FIND extended attribute error")?;
        reader.u16("FIND last name offset")?;
        Ok(found)
    }

    /// Returns an iterator over the entries. `class` is that of the request's
    /// level.
    pub fn entries(
        &self,
        class: DirectoryClass,
    ) -> impl Iterator<Item = Result<DirectoryEntry<'a>, DecodeError>> + use<'a> {
        // Servers may end the list by its count, without a zero in the last entry.
        QueryDirectoryResponse { data: self.data }
            .entries(class)
            .take(self.search_count.into())
    }

    /// Returns all names as text, without `.` and `..`. `class` has details of each
    /// name, so it is not [`DirectoryClass::Names`].
    ///
    /// # Errors
    /// Returns an error if an entry lies outside the data.
    pub fn names(&self, class: DirectoryClass) -> Result<Vec<Entry>, DecodeError> {
        directory::names(self.entries(class))
    }
}
