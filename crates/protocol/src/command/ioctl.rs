//! SMB2 IOCTL (MS-SMB2 2.2.31, 2.2.32): whatever has no command of its own.
//!
//! The request and its answer carry bytes; what they mean depends on the code.
//! Those of copies on the server are in [`copy_chunk`], those of its network
//! interfaces in [`interfaces`]. Only FSCTLs, no device's own codes.

pub mod copy_chunk;
pub mod interfaces;

use super::FileId;
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Bytes of an IOCTL request before its input: header and fixed body.
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

/// Asks for what the code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoctlRequest<'a> {
    /// A [`fsctl`] value, or any other.
    pub code: u32,
    /// The open it is about; [`FileId::RELATED`], all ones, for none.
    pub file_id: FileId,
    /// What goes with it, up to the negotiated MaxTransactSize.
    pub input: &'a [u8],
    /// Bytes the answer may have, up to the negotiated MaxTransactSize.
    pub output_max: u32,
}

impl IoctlRequest<'_> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // No frame holds an input of 4 GiB.
        let input_len = self.input.len() as u32;
        encode_fixed(self.code, self.file_id, input_len, self.output_max, out);
        out.extend_from_slice(self.input);
        if self.input.is_empty() {
            // The one-byte Buffer that StructureSize counts. Windows leaves it
            // out, Samba's client sends it; every server takes both.
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

/// What an IOCTL brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoctlResponse<'a> {
    /// The code it answers.
    pub code: u32,
    /// The open it was about.
    pub file_id: FileId,
    /// What the code says it is.
    pub output: &'a [u8],
}

impl<'a> IoctlResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// When a field is missing or the output lies outside the message.
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        const FIXED: usize = HEADER_LEN + 48;
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(49, "IOCTL response structure size")?;
        reader.u16("IOCTL reserved")?;
        let code = reader.u32("IOCTL code")?;
        let file_id = FileId::from_bytes(reader.array("IOCTL file id")?);
        // Nothing here reads the input that may come back.
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
