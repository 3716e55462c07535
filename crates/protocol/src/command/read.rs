//! SMB2 READ (MS-SMB2 2.2.19, 2.2.20).

use super::FileId;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Length of a READ response before its data: header and fixed body, in bytes.
pub const READ_RESPONSE_FIXED: usize = HEADER_LEN + 16;

/// Bits of [`ReadRequest::flags`] (MS-SMB2 2.2.19).
pub mod read_flags {
    /// SMB2_READFLAG_READ_UNBUFFERED: read from the disk instead of the
    /// server's memory. SMB 3.0.2 and later; earlier servers ignore it.
    pub const UNBUFFERED: u8 = 0x01;
}

/// A request to read `length` bytes at `offset` of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The open to read from.
    pub file_id: FileId,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes to read, up to the negotiated MaxReadSize.
    pub length: u32,
    /// The server fails the read if it can return fewer bytes than this.
    pub minimum_count: u32,
    /// Zero, or [`read_flags`] bits.
    pub flags: u8,
}

impl ReadRequest {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 49];
        body[0..2].copy_from_slice(&49u16.to_le_bytes());
        // Padding: the preferred offset of the data in the response. At the end
        // of the fixed part the server needs no gap.
        body[2] = READ_RESPONSE_FIXED as u8;
        body[3] = self.flags;
        body[4..8].copy_from_slice(&self.length.to_le_bytes());
        body[8..16].copy_from_slice(&self.offset.to_le_bytes());
        body[16..32].copy_from_slice(&self.file_id.to_bytes());
        body[32..36].copy_from_slice(&self.minimum_count.to_le_bytes());
        // Channel, RemainingBytes and the channel info stay zero, because RDMA is
        // not used. The last byte is the one-byte Buffer that StructureSize counts.
        out.extend_from_slice(&body);
    }
}

/// The result of a successful READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadResponse<'a> {
    /// Number of bytes returned. It may be smaller than requested at the end of
    /// the file.
    pub length: u32,
    /// The bytes, or `None` if the caller had them discarded.
    pub data: Option<&'a [u8]>,
}

impl<'a> ReadResponse<'a> {
    /// Reads the response in `message`, of which `total_len` bytes were received.
    /// If the data was discarded, `message` may end at [`READ_RESPONSE_FIXED`].
    ///
    /// # Errors
    /// Returns an error if a field is missing or the data lies outside the message.
    #[inline]
    pub fn decode(message: &'a [u8], total_len: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(17, "READ response structure size")?;
        let before_offset = reader;
        let data_offset = usize::from(reader.u8("READ data offset")?);
        reader.u8("READ reserved")?;
        let before_length = reader;
        let length = reader.u32("READ data length")?;
        if data_offset < READ_RESPONSE_FIXED && length > 0 {
            return Err(before_offset.error("READ data offset"));
        }
        let end = data_offset
            .checked_add(length as usize)
            .filter(|&end| end <= total_len)
            .ok_or_else(|| before_length.error("READ data length"))?;
        Ok(Self {
            length,
            data: message.get(data_offset..end),
        })
    }
}
