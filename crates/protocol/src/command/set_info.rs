//! SMB2 SET_INFO (MS-SMB2 2.2.39, 2.2.40): attributes, renames, deletion,
//! sizes, security.
//!
//! Security descriptors (MS-DTYP 2.4.6) are the caller's bytes. Quotas, extended
//! attributes and whole file systems are not set here.

use super::query_info::InfoType;
use super::{FileId, FileTimes, WireName};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Bytes of a SET_INFO request before its buffer: header and fixed body.
pub const SET_INFO_REQUEST_FIXED: usize = HEADER_LEN + 32;

/// FileRenameInformation of less than this is refused by some servers, though
/// its fixed part and a name of one unit are shorter; Samba's client pads it.
const RENAME_LEN_MIN: usize = 24;

/// What happens to a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Existing {
    /// It stays, and the rename fails.
    Keep = 0,
    /// It is replaced.
    Replace = 1,
}

/// Whether a file goes when its last handle is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// It stays.
    Revoked = 0,
    /// It goes.
    Pending = 1,
}

/// What to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetInfo<'a> {
    /// FileBasicInformation (MS-FSCC 2.4.7). Zero leaves a time, or the
    /// attributes, as they are; a time of all ones leaves it so for as long as
    /// the handle is open.
    Basic {
        /// The four times.
        times: FileTimes,
        /// [`super::create::attributes`] bits.
        file_attributes: u32,
    },
    /// FileRenameInformation (MS-FSCC 2.4.42.2). The open needs DELETE access.
    Rename {
        /// The new path, below the share.
        to: &'a WireName,
        /// What happens to a file of that name.
        existing: Existing,
    },
    /// FileDispositionInformation (MS-FSCC 2.4.11). The open needs DELETE
    /// access.
    Disposition(Deletion),
    /// FileAllocationInformation (MS-FSCC 2.4.4): bytes to reserve on disk.
    Allocation(u64),
    /// FileEndOfFileInformation (MS-FSCC 2.4.14): bytes the file shall have.
    EndOfFile(u64),
    /// A security descriptor.
    Security {
        /// Which parts of it to set: [`super::query_info::security`] bits.
        parts: u32,
        /// The descriptor, self-relative, up to the negotiated MaxTransactSize.
        descriptor: &'a [u8],
    },
}

/// Changes something about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfoRequest<'a> {
    /// The open.
    pub file_id: FileId,
    /// What to change.
    pub info: SetInfo<'a>,
}

impl SetInfoRequest<'_> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut body = [0u8; SET_INFO_REQUEST_FIXED - HEADER_LEN];
        let (info_type, class, additional) = self.info.kind();
        body[0..2].copy_from_slice(&33u16.to_le_bytes());
        body[2] = info_type as u8;
        body[3] = class;
        body[8..10].copy_from_slice(&(SET_INFO_REQUEST_FIXED as u16).to_le_bytes());
        body[12..16].copy_from_slice(&additional.to_le_bytes());
        body[16..32].copy_from_slice(&self.file_id.to_bytes());
        out.extend_from_slice(&body);
        let buffer = out.len();
        self.info.encode(out);
        // No frame holds a buffer of 4 GiB.
        let len = (out.len() - buffer) as u32;
        out[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
    }
}

impl SetInfo<'_> {
    /// Type, class (MS-FSCC 2.4) and additional information.
    const fn kind(&self) -> (InfoType, u8, u32) {
        match self {
            Self::Basic { .. } => (InfoType::File, 4, 0),
            Self::Rename { .. } => (InfoType::File, 10, 0),
            Self::Disposition(_) => (InfoType::File, 13, 0),
            Self::Allocation(_) => (InfoType::File, 19, 0),
            Self::EndOfFile(_) => (InfoType::File, 20, 0),
            Self::Security { parts, .. } => (InfoType::Security, 0, *parts),
        }
    }

    /// Appends the buffer.
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Basic {
                times,
                file_attributes,
            } => {
                let mut info = [0u8; 40];
                info[0..8].copy_from_slice(&times.created.0.to_le_bytes());
                info[8..16].copy_from_slice(&times.accessed.0.to_le_bytes());
                info[16..24].copy_from_slice(&times.written.0.to_le_bytes());
                info[24..32].copy_from_slice(&times.changed.0.to_le_bytes());
                info[32..36].copy_from_slice(&file_attributes.to_le_bytes());
                out.extend_from_slice(&info);
            }
            Self::Rename { to, existing } => {
                let mut info = [0u8; 20];
                info[0] = *existing as u8;
                info[16..20].copy_from_slice(&u32::from(to.wire_len()).to_le_bytes());
                let start = out.len();
                out.extend_from_slice(&info);
                out.extend_from_slice(to.as_bytes());
                out.resize(out.len().max(start + RENAME_LEN_MIN), 0);
            }
            Self::Disposition(deletion) => out.push(*deletion as u8),
            Self::Allocation(bytes) | Self::EndOfFile(bytes) => {
                out.extend_from_slice(&bytes.to_le_bytes());
            }
            Self::Security { descriptor, .. } => out.extend_from_slice(descriptor),
        }
    }
}

/// The server's word that it is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfoResponse;

impl SetInfoResponse {
    /// Checks the response in `message`.
    ///
    /// # Errors
    /// When a field is missing.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(2, "SET_INFO response structure size")?;
        Ok(Self)
    }
}
