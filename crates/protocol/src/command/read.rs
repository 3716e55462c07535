//! SMB2 READ (MS-SMB2 2.2.19, 2.2.20).

use super::FileId;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Bytes of a READ response before its data: header and fixed body.
pub const READ_RESPONSE_FIXED: usize = HEADER_LEN + 16;

/// Bits of [`ReadRequest::flags`] (MS-SMB2 2.2.19).
pub mod read_flags {
    /// SMB2_READFLAG_READ_UNBUFFERED: from the disk, not from the server's
    /// memory. SMB 3.0.2 and later; earlier servers ignore it.
    pub const UNBUFFERED: u8 = 0x01;
}

/// Reads `length` bytes at `offset` of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The open to read from.
    pub file_id: FileId,
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Bytes wanted, up to the negotiated MaxReadSize.
    pub length: u32,
    /// Fewer bytes than this make the server fail the read.
    pub minimum_count: u32,
    /// Zero, or [`read_flags`] bits.
    pub flags: u8,
}

impl ReadRequest {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 49];
        body[0..2].copy_from_slice(&49u16.to_le_bytes());
        // Padding: where the client would like the data in the response; the
        // fixed part's own end costs the server no gap.
        body[2] = READ_RESPONSE_FIXED as u8;
        body[3] = self.flags;
        body[4..8].copy_from_slice(&self.length.to_le_bytes());
        body[8..16].copy_from_slice(&self.offset.to_le_bytes());
        body[16..32].copy_from_slice(&self.file_id.to_bytes());
        body[32..36].copy_from_slice(&self.minimum_count.to_le_bytes());
        // Channel, RemainingBytes and the channel info stay zero: no RDMA. The
        // last byte is the one-byte Buffer that StructureSize counts.
        out.extend_from_slice(&body);
    }
}

/// What a successful READ brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadResponse<'a> {
    /// Bytes the server returned; may be fewer than asked at the end of file.
    pub length: u32,
    /// The bytes, or `None` when the caller had them discarded unseen.
    pub data: Option<&'a [u8]>,
}

impl<'a> ReadResponse<'a> {
    /// Reads the response in `message`, of which `total_len` bytes were
    /// received; `message` may end at [`READ_RESPONSE_FIXED`] when the rest was
    /// discarded.
    ///
    /// # Errors
    /// When a field is missing or the data lies outside the message.
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
