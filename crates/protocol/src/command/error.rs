//! SMB2 ERROR Response (MS-SMB2 2.2.2): the body of a failed command, in place
//! of the command's own body.
//!
//! The error data is returned as bytes. Not here: the meaning of symlink
//! targets and required lengths.

use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// The data that a server adds to a failure status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorResponse<'a> {
    /// Number of error contexts (MS-SMB2 2.2.2.1) in `data`. It is always zero
    /// before SMB 3.1.1, where `data` is one structure without a context.
    pub context_count: u8,
    /// The error data; usually empty.
    pub data: &'a [u8],
}

impl<'a> ErrorResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// If ByteCount is zero, the specification still requires one byte of
    /// ErrorData. This function accepts responses with and without it.
    ///
    /// # Errors
    /// Returns an error if a field is missing or ByteCount points past the message.
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
