//! SMB2 QUERY_INFO (MS-SMB2 2.2.37, 2.2.38).
//!
//! The answer is returned as bytes. Its meaning depends on the class (MS-FSCC
//! 2.4, 2.5), which the caller knows.
//!
//! Not here: queries that need an input buffer (quota, extended attributes).

use super::{FileId, read_output};
use crate::wire::DecodeError;

/// The type of information to query or set (MS-SMB2 2.2.37).
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
    pub const FILE_ALL_INFORMATION: u8 = 18;
}

/// Values of [`QueryInfoRequest::class`] for file systems (MS-FSCC 2.5).
#[expect(missing_docs, reason = "the names are those of MS-FSCC 2.5")]
pub mod file_system_class {
    pub const FILE_FS_SIZE_INFORMATION: u8 = 3;
    pub const FILE_FS_FULL_SIZE_INFORMATION: u8 = 7;
}

/// The parts of a security descriptor, as bits of
/// [`QueryInfoRequest::additional`] (MS-SMB2 2.2.37).
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.37")]
pub mod security {
    pub const OWNER_SECURITY_INFORMATION: u32 = 0x0000_0001;
    pub const GROUP_SECURITY_INFORMATION: u32 = 0x0000_0002;
    pub const DACL_SECURITY_INFORMATION: u32 = 0x0000_0004;
}

/// A query about an open file, or about its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInfoRequest {
    /// The type of information.
    pub info_type: InfoType,
    /// A [`file_class`] or [`file_system_class`] value; zero for security.
    pub class: u8,
    /// Largest length of the answer in bytes, up to the negotiated MaxTransactSize.
    pub output_length: u32,
    /// [`security`] bits for security; otherwise zero.
    pub additional: u32,
    /// The open to query.
    pub file_id: FileId,
}

impl QueryInfoRequest {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        // The last byte is the one-byte Buffer that StructureSize counts.
        // MS-SMB2 does not require it without an input buffer. Windows omits it
        // and Samba's client sends it, so every server accepts both.
        let mut body = [0u8; 41];
        body[0..2].copy_from_slice(&41u16.to_le_bytes());
        body[2] = self.info_type as u8;
        body[3] = self.class;
        body[4..8].copy_from_slice(&self.output_length.to_le_bytes());
        body[16..20].copy_from_slice(&self.additional.to_le_bytes());
        body[24..40].copy_from_slice(&self.file_id.to_bytes());
        out.extend_from_slice(&body);
    }
}

/// The result of a successful QUERY_INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInfoResponse<'a> {
    /// The answer, in the layout of its class.
    pub data: &'a [u8],
}

impl<'a> QueryInfoResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or the answer lies outside the
    /// message.
    #[inline]
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self {
            data: read_output(message, "QUERY_INFO response")?,
        })
    }
}
