//! WRITE_ANDX (MS-CIFS 2.2.4.43, MS-SMB 2.2.4.3).

use super::{CIFS_HEADER_LEN, FileNumber, NO_ANDX, body};
use crate::wire::DecodeError;

/// Length of a request before its data, in bytes: words, ByteCount and one byte of padding,
/// so that the data is aligned to 4 bytes.
const FIXED: usize = 1 + 28 + 2 + 1;

/// Whether the answer waits until the data is on stable storage (WritethroughMode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The server may keep the data in memory.
    Buffered,
    /// The data is on stable storage.
    Through,
}

/// A request to write `length` bytes at `offset` of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsWrite {
    /// The open to write to.
    pub file: FileNumber,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes to write.
    pub length: u32,
    /// When the answer may come.
    pub mode: WriteMode,
}

impl CifsWrite {
    /// Appends the body. `data` must append the `length` bytes of data.
    #[inline]
    pub fn encode_with(&self, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
        let mut body = [0u8; FIXED];
        body[0] = 14;
        body[1] = NO_ANDX;
        body[5..7].copy_from_slice(&self.file.0.to_le_bytes());
        let offset = self.offset.to_le_bytes();
        body[7..11].copy_from_slice(&offset[..4]);
        body[15] = u8::from(self.mode == WriteMode::Through);
        let length = self.length.to_le_bytes();
        body[19..21].copy_from_slice(&length[2..]);
        body[21..23].copy_from_slice(&length[..2]);
        let data_offset = (CIFS_HEADER_LEN + FIXED) as u16;
        body[23..25].copy_from_slice(&data_offset.to_le_bytes());
        body[25..29].copy_from_slice(&offset[4..]);
        // ByteCount has 16 bits. Servers take the length of larger WRITEs from the words.
        let count = (self.length.wrapping_add(1)) as u16;
        body[29..31].copy_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&body);
        data(out);
    }
}

/// Returns the number of bytes that the server wrote.
///
/// # Errors
/// If a field is missing.
#[inline]
pub fn decode_write(message: &[u8]) -> Result<u32, DecodeError> {
    const WHAT: &str = "WRITE_ANDX response";
    let mut words = body(message, 6, WHAT)?.words;
    words.bytes(4, WHAT)?;
    let low = words.u16(WHAT)?;
    words.u16(WHAT)?;
    let high = words.u16(WHAT)?;
    Ok(u32::from(high) << 16 | u32::from(low))
}
