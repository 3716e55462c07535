//! SMB2 QUERY_INFO (MS-SMB2 2.2.37, 2.2.38).
//!
//! The answer is handed on as bytes; what they mean depends on the class
//! (MS-FSCC 2.4, 2.5) and is the caller's to know. Queries that need an input
//! buffer (quota, extended attributes) are not here.

use super::FileId;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// What kind of thing is asked about (MS-SMB2 2.2.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InfoType {
    /// SMB2_0_INFO_FILE; the class is one of MS-FSCC 2.4.
    File = 1,
    /// SMB2_0_INFO_FILESYSTEM; the class is one of MS-FSCC 2.5.
    FileSystem = 2,
    /// SMB2_0_INFO_SECURITY; the class is zero.
    Security = 3,
}

/// Values of [`QueryInfoRequest::class`] for files (MS-FSCC 2.4).
#[expect(missing_docs, reason = "the names are those of MS-FSCC 2.4")]
pub mod file_class {
    pub const FILE_BASIC_INFORMATION: u8 = 4;
    pub const FILE_STANDARD_INFORMATION: u8 = 5;
    pub const FILE_INTERNAL_INFORMATION: u8 = 6;
    pub const FILE_ALL_INFORMATION: u8 = 18;
    pub const FILE_NETWORK_OPEN_INFORMATION: u8 = 34;
}

/// Values of [`QueryInfoRequest::class`] for file systems (MS-FSCC 2.5).
#[expect(missing_docs, reason = "the names are those of MS-FSCC 2.5")]
pub mod file_system_class {
    pub const FILE_FS_VOLUME_INFORMATION: u8 = 1;
    pub const FILE_FS_SIZE_INFORMATION: u8 = 3;
    pub const FILE_FS_ATTRIBUTE_INFORMATION: u8 = 5;
    pub const FILE_FS_FULL_SIZE_INFORMATION: u8 = 7;
}

/// Asks about an open file, or about the volume it lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInfoRequest {
    /// The kind of thing asked about.
    pub info_type: InfoType,
    /// [`file_class`] or [`file_system_class`] value, zero for security.
    pub class: u8,
    /// Bytes the answer may have, up to the negotiated MaxTransactSize.
    pub output_length: u32,
    /// The open asked about.
    pub file_id: FileId,
}

impl QueryInfoRequest {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // The last byte is the one-byte Buffer that StructureSize counts.
        // MS-SMB2 does not ask for it without an input buffer and Windows
        // leaves it out; Samba's client sends it, so every server takes both.
        let mut body = [0u8; 41];
        body[0..2].copy_from_slice(&41u16.to_le_bytes());
        body[2] = self.info_type as u8;
        body[3] = self.class;
        body[4..8].copy_from_slice(&self.output_length.to_le_bytes());
        body[24..40].copy_from_slice(&self.file_id.to_bytes());
        out.extend_from_slice(&body);
    }
}

/// What a QUERY_INFO brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInfoResponse<'a> {
    /// The answer, laid out as its class says.
    pub data: &'a [u8],
}

impl<'a> QueryInfoResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// When a field is missing or the answer lies outside the message.
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        const FIXED: usize = HEADER_LEN + 8;
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(9, "QUERY_INFO response structure size")?;
        let before_offset = reader;
        let offset = usize::from(reader.u16("QUERY_INFO buffer offset")?);
        let before_length = reader;
        let length = reader.u32("QUERY_INFO buffer length")? as usize;
        // Without data the offset points nowhere; servers send zero or the
        // place where data would have been.
        if length == 0 {
            return Ok(Self { data: &[] });
        }
        if offset < FIXED {
            return Err(before_offset.error("QUERY_INFO buffer offset"));
        }
        Ok(Self {
            data: before_length.slice(offset, length, "QUERY_INFO buffer length")?,
        })
    }
}
