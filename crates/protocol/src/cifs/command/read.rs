//! READ_ANDX (MS-CIFS 2.2.4.42, MS-SMB 2.2.4.2).

use super::{CIFS_HEADER_LEN, FileNumber, NO_ANDX};
use crate::command::read::ReadResponse;
use crate::wire::{DecodeError, Reader};

/// Length of a response before its data, in bytes, without padding.
pub const CIFS_READ_FIXED: usize = CIFS_HEADER_LEN + 27;

/// A request to read `length` bytes at `offset` of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsRead {
    /// The open to read from.
    pub file: FileNumber,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes to read.
    pub length: u32,
}

impl CifsRead {
    /// Appends the body.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 27];
        body[0] = 12;
        body[1] = NO_ANDX;
        body[5..7].copy_from_slice(&self.file.0.to_le_bytes());
        let offset = self.offset.to_le_bytes();
        body[7..11].copy_from_slice(&offset[..4]);
        let length = self.length.to_le_bytes();
        body[11..13].copy_from_slice(&length[..2]);
        // MinCountOfBytesToReturn stays zero. MaxCountHigh follows it, in a field that is a
        // timeout for pipes.
        body[15..17].copy_from_slice(&length[2..]);
        body[21..25].copy_from_slice(&offset[4..]);
        out.extend_from_slice(&body);
    }
}

/// Reads the response in `message`, of which `total_len` bytes were received. If the data
/// was discarded, `message` may end before it.
///
/// # Errors
/// If a field is missing or the data lies outside the message.
#[inline]
pub fn decode_read(message: &[u8], total_len: usize) -> Result<ReadResponse<'_>, DecodeError> {
    let mut reader = Reader::at(message, CIFS_HEADER_LEN);
    let start = reader;
    let words: [u8; 25] = reader.array("READ_ANDX response")?;
    if words[0] != 12 {
        return Err(start.error("READ_ANDX word count"));
    }
    let u16_at = |at: usize| u16::from_le_bytes([words[at], words[at + 1]]);
    let length = u32::from(u16_at(11)) | u32::from(u16_at(15)) << 16;
    let data_offset = usize::from(u16_at(13));
    if data_offset < CIFS_READ_FIXED && length > 0 {
        return Err(start.ahead(13).error("READ_ANDX data offset"));
    }
    let end = data_offset
        .checked_add(length as usize)
        .filter(|&end| end <= total_len || length == 0)
        .ok_or_else(|| start.ahead(11).error("READ_ANDX data length"))?;
    Ok(ReadResponse {
        length,
        data: match length {
            0 => Some(&[]),
            _ => message.get(data_offset..end),
        },
    })
}
