//! SMB2 WRITE (MS-SMB2 2.2.21, 2.2.22).

use super::FileId;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Length of a WRITE request before its data: header and fixed body, in bytes.
pub const WRITE_REQUEST_FIXED: usize = HEADER_LEN + 48;

/// Bits of [`WriteRequest::flags`] (MS-SMB2 2.2.21).
pub mod write_flags {
    /// SMB2_WRITEFLAG_WRITE_THROUGH: write to stable storage before answering.
    /// SMB 2.1 and later.
    pub const WRITE_THROUGH: u32 = 0x0000_0001;
    /// SMB2_WRITEFLAG_WRITE_UNBUFFERED: bypass the server's memory. SMB 3.0.2
    /// and later; earlier servers ignore it.
    pub const UNBUFFERED: u32 = 0x0000_0002;
}

/// A request to write bytes at `offset` of an open file.
///
/// The data is not a field. It follows the body and is written directly into
/// the send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// The open to write to.
    pub file_id: FileId,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes that follow the body, up to the negotiated MaxWriteSize.
    pub length: u32,
    /// Zero, or [`write_flags`] bits.
    pub flags: u32,
}

impl WriteRequest {
    /// Appends the body. The caller must append `length` bytes of data next.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 48];
        body[0..2].copy_from_slice(&49u16.to_le_bytes());
        body[2..4].copy_from_slice(&(WRITE_REQUEST_FIXED as u16).to_le_bytes());
        body[4..8].copy_from_slice(&self.length.to_le_bytes());
        body[8..16].copy_from_slice(&self.offset.to_le_bytes());
        body[16..32].copy_from_slice(&self.file_id.to_bytes());
        body[44..48].copy_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&body);
    }

    /// Appends the body, and then calls `data` to append `length` bytes.
    pub fn encode_with(&self, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
        self.encode(out);
        let begin = out.len();
        data(out);
        debug_assert_eq!(out.len() - begin, self.length as usize, "bytes of data");
    }
}

/// The result of a successful WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteResponse {
    /// Number of bytes that the server wrote.
    pub count: u32,
}

impl WriteResponse {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(17, "WRITE response structure size")?;
        reader.u16("WRITE reserved")?;
        Ok(Self {
            count: reader.u32("WRITE count")?,
        })
    }
}
