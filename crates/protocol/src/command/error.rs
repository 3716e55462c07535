//! SMB2 ERROR Response (MS-SMB2 2.2.2): the body that comes instead of a
//! command's own when the status says it failed.
//!
//! The error data is handed on as bytes; symlink targets and required lengths
//! are not interpreted here.

use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// What a server added to a failure status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorResponse<'a> {
    /// How many error contexts (MS-SMB2 2.2.2.1) `data` holds; always zero
    /// before SMB 3.1.1, where `data` is one bare structure.
    pub context_count: u8,
    /// Usually empty.
    pub data: &'a [u8],
}

impl<'a> ErrorResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// With a ByteCount of zero the specification asks for one byte of
    /// ErrorData all the same; it is accepted present or absent.
    ///
    /// # Errors
    /// When a field is missing or ByteCount points past the message.
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        const FIXED: usize = HEADER_LEN + 8;
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(9, "ERROR response structure size")?;
        let context_count = reader.u8("ERROR context count")?;
        reader.u8("ERROR reserved")?;
        let before_count = reader;
        let byte_count = reader.u32("ERROR byte count")? as usize;
        Ok(Self {
            context_count,
            data: before_count.slice(FIXED, byte_count, "ERROR byte count")?,
        })
    }
}
