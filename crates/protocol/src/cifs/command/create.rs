//! NT_CREATE_ANDX (MS-CIFS 2.2.4.64, MS-SMB 2.2.4.9).

use super::{CIFS_HEADER_LEN, FileNumber, NO_ANDX, align, body, push_bytes, write_path};
use crate::command::WireName;
use crate::command::create::{CreateRequest, OplockLevel};
use crate::wire::DecodeError;

/// NT_CREATE_REQUEST_OPLOCK and NT_CREATE_REQUEST_OPBATCH.
const REQUEST_OPLOCK: u32 = 0x02;
const REQUEST_OPBATCH: u32 = 0x04;
/// SECURITY_IMPERSONATION.
const IMPERSONATION: u32 = 2;
/// FILE_OPEN_BY_FILE_ID, with which the server would read the name as a number.
const BY_ID: u32 = 0x2000;

/// Appends the body of a request. A client can ask for an exclusive or a batch oplock;
/// every other level asks for none. There are no create contexts.
#[inline]
pub fn encode_create(request: &CreateRequest<'_, WireName>, out: &mut Vec<u8>) {
    let start = out.len() - CIFS_HEADER_LEN;
    let mut words = [0u8; 49];
    let mut put = |at: usize, value: u32| {
        words[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    put(
        8,
        match request.oplock {
            OplockLevel::Exclusive => REQUEST_OPLOCK,
            OplockLevel::Batch => REQUEST_OPLOCK | REQUEST_OPBATCH,
            OplockLevel::None | OplockLevel::LevelII | OplockLevel::Lease => 0,
        },
    );
    put(16, request.desired_access);
    put(28, request.file_attributes);
    put(32, request.share_access);
    put(36, request.disposition as u32);
    put(40, request.options & !BY_ID);
    put(44, IMPERSONATION);
    words[0] = 24;
    words[1] = NO_ANDX;
    let at = out.len();
    out.extend_from_slice(&words);
    let mut name_at = 0;
    push_bytes(out, |out| {
        align(2, start, out);
        name_at = out.len();
        write_path(request.name, out);
    });
    // The name without its end. The cast is safe: a name has at most 65,534 bytes.
    let name_len = (out.len() - name_at - 2) as u16;
    out[at + 6..at + 8].copy_from_slice(&name_len.to_le_bytes());
}

/// A file or directory that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsCreated {
    /// The oplock granted.
    pub oplock: OplockLevel,
    /// The number of the open.
    pub file: FileNumber,
    /// The server's action on the name (CreateDisposition of the response).
    pub action: u32,
    /// File size in bytes.
    pub end_of_file: u64,
}

impl CifsCreated {
    /// Reads a response.
    ///
    /// # Errors
    /// If a field is missing, or MS-CIFS does not have the oplock level.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "NT_CREATE_ANDX response";
        let mut words = body(message, 34, WHAT)?.words;
        words.bytes(4, WHAT)?;
        let before_level = words;
        let oplock = match words.u8(WHAT)? {
            0 => OplockLevel::None,
            1 => OplockLevel::Exclusive,
            2 => OplockLevel::Batch,
            3 => OplockLevel::LevelII,
            _ => return Err(before_level.error("NT_CREATE_ANDX oplock level")),
        };
        let file = FileNumber(words.u16(WHAT)?);
        let action = words.u32(WHAT)?;
        // Four times, attributes and the allocation size.
        words.bytes(32 + 4 + 8, WHAT)?;
        Ok(Self {
            oplock,
            file,
            action,
            end_of_file: words.u64(WHAT)?,
        })
    }
}
