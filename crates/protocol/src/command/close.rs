//! SMB2 CLOSE (MS-SMB2 2.2.15, 2.2.16).

use super::{FileId, FileTimes};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB: in a request, asks for the attributes; in
/// a response, says that it carries them.
pub const POSTQUERY_ATTRIB: u16 = 0x0001;

/// A request to close an open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseRequest {
    /// The open to close.
    pub file_id: FileId,
    /// Zero or [`POSTQUERY_ATTRIB`].
    pub flags: u16,
}

impl CloseRequest {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 24];
        body[0..2].copy_from_slice(&24u16.to_le_bytes());
        body[2..4].copy_from_slice(&self.flags.to_le_bytes());
        body[8..24].copy_from_slice(&self.file_id.to_bytes());
        out.extend_from_slice(&body);
    }
}

/// The file's attributes after the close.
///
/// The other fields are valid only if `flags` contains [`POSTQUERY_ATTRIB`].
/// Otherwise servers send zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseResponse {
    /// Zero or [`POSTQUERY_ATTRIB`].
    pub flags: u16,
    /// The file's four times.
    pub times: FileTimes,
    /// Space on the server's disk in bytes.
    pub allocation_size: u64,
    /// File size in bytes.
    pub end_of_file: u64,
    /// [`super::create::attributes`] bits.
    pub file_attributes: u32,
}

impl CloseResponse {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(60, "CLOSE response structure size")?;
        let flags = reader.u16("CLOSE flags")?;
        reader.u32("CLOSE reserved")?;
        Ok(Self {
            flags,
            times: FileTimes::read(&mut reader, "CLOSE times")?,
            allocation_size: reader.u64("CLOSE allocation size")?,
            end_of_file: reader.u64("CLOSE end of file")?,
            file_attributes: reader.u32("CLOSE file attributes")?,
        })
    }
}
