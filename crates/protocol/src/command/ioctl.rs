//! SMB2 IOCTL (MS-SMB2 2.2.31, 2.2.32): operations that have no command of
//! their own.
//!
//! Request and response carry bytes, and their meaning depends on the code. See
//! [`copy_chunk`] for copies inside the server.
//!
//! Not here: codes that are not FSCTLs.

pub mod copy_chunk;

use super::FileId;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Length of an IOCTL request before its input: header and fixed body, in bytes.
pub const IOCTL_REQUEST_FIXED: usize = HEADER_LEN + 56;

/// Values of [`IoctlRequest::code`] (MS-SMB2 2.2.31, MS-FSCC 2.3).
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.31")]
pub mod fsctl {
    pub const FSCTL_SRV_REQUEST_RESUME_KEY: u32 = 0x0014_0078;
    pub const FSCTL_SRV_COPYCHUNK: u32 = 0x0014_40F2;
    pub const FSCTL_SRV_COPYCHUNK_WRITE: u32 = 0x0014_80F2;
    pub const FSCTL_QUERY_NETWORK_INTERFACE_INFO: u32 = 0x0014_01FC;
    pub const FSCTL_VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
}

/// A request for the operation that `code` identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoctlRequest<'a> {
    /// An [`fsctl`] value, or any other.
    pub code: u32,
    /// The open that the operation is for; [`FileId::RELATED`], all ones, for none.
    pub file_id: FileId,
    /// The operation's input, up to the negotiated MaxTransactSize.
    pub input: &'a [u8],
    /// Largest length of the output in bytes, up to the negotiated MaxTransactSize.
    pub output_max: u32,
}

impl IoctlRequest<'_> {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // The cast is safe, because no frame holds an input of 4 GiB.
        let input_len = self.input.len() as u32;
        encode_fixed(self.code, self.file_id, input_len, self.output_max, out);
        out.extend_from_slice(self.input);
        if self.input.is_empty() {
            // This is the one-byte Buffer that StructureSize counts. Windows omits
            // it and Samba's client sends it, so every server accepts both.
            out.push(0);
        }
    }
}

/// Appends the body up to its input.
pub(crate) fn encode_fixed(
    code: u32,
    file_id: FileId,
    input_len: u32,
    output_max: u32,
    out: &mut Vec<u8>,
) {
    const IS_FSCTL: u32 = 1;
    let mut body = [0u8; IOCTL_REQUEST_FIXED - HEADER_LEN];
    body[0..2].copy_from_slice(&57u16.to_le_bytes());
    body[4..8].copy_from_slice(&code.to_le_bytes());
    body[8..24].copy_from_slice(&file_id.to_bytes());
    body[24..28].copy_from_slice(&(IOCTL_REQUEST_FIXED as u32).to_le_bytes());
    body[28..32].copy_from_slice(&input_len.to_le_bytes());
    body[44..48].copy_from_slice(&output_max.to_le_bytes());
    body[48..52].copy_from_slice(&IS_FSCTL.to_le_bytes());
    out.extend_from_slice(&body);
}

/// The result of a successful IOCTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoctlResponse<'a> {
    /// The code of the request.
    pub code: u32,
    /// The open of the request.
    pub file_id: FileId,
    /// The output. Its meaning depends on the code.
    pub output: &'a [u8],
}

impl<'a> IoctlResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or the output lies outside the
    /// message.
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        const FIXED: usize = HEADER_LEN + 48;
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(49, "IOCTL response structure size")?;
        reader.u16("IOCTL reserved")?;
        let code = reader.u32("IOCTL code")?;
        let file_id = FileId::from_bytes(reader.array("IOCTL file id")?);
        // The response may repeat the input, which is not needed.
        reader.u64("IOCTL input offset and count")?;
        let before_offset = reader;
        let offset = reader.u32("IOCTL output offset")? as usize;
        let before_count = reader;
        let count = reader.u32("IOCTL output count")? as usize;
        reader.u64("IOCTL flags")?;
        let output = match count {
            0 => &[],
            _ if offset < FIXED => return Err(before_offset.error("IOCTL output offset")),
            _ => before_count.slice(offset, count, "IOCTL output count")?,
        };
        Ok(Self {
            code,
            file_id,
            output,
        })
    }
}
