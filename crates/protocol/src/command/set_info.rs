//! SMB2 SET_INFO (MS-SMB2 2.2.39, 2.2.40): sets attributes, sizes and security,
//! renames and deletes.
//!
//! The caller passes security descriptors (MS-DTYP 2.4.6) as bytes.
//!
//! Not here: quotas, extended attributes, file system information.

use super::query_info::InfoType;
use super::{FileId, FileTimes, WireName};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Length of a SET_INFO request before its buffer: header and fixed body, in bytes.
pub const SET_INFO_REQUEST_FIXED: usize = HEADER_LEN + 32;

/// Smallest length of FileRenameInformation. The fixed part and a name of one
/// unit are shorter, but some servers refuse that. Samba's client pads it too.
const RENAME_LEN_MIN: usize = 24;

/// The treatment of a file that already has the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Existing {
    /// The file stays, and the rename fails.
    Keep = 0,
    /// The file is replaced.
    Replace = 1,
}

/// Whether a file is deleted when its last handle is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// The file stays.
    Revoked = 0,
    /// The file is deleted.
    Pending = 1,
}

/// The change to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetInfo<'a> {
    /// FileBasicInformation (MS-FSCC 2.4.7).
    ///
    /// A zero leaves that time, or the attributes, unchanged. A time of all
    /// ones also keeps the server from changing it while the handle is open.
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
        /// The treatment of a file that already has this name.
        existing: Existing,
    },
    /// FileDispositionInformation (MS-FSCC 2.4.11). The open needs DELETE
    /// access.
    Disposition(Deletion),
    /// FileAllocationInformation (MS-FSCC 2.4.4): the number of bytes to
    /// reserve on disk.
    Allocation(u64),
    /// FileEndOfFileInformation (MS-FSCC 2.4.14): the new file size in bytes.
    EndOfFile(u64),
    /// A security descriptor.
    Security {
        /// The parts of it to set: [`super::query_info::security`] bits.
        parts: u32,
        /// The descriptor, self-relative, up to the negotiated MaxTransactSize.
        descriptor: &'a [u8],
    },
}

/// A request to change a property of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfoRequest<'a> {
    /// The open to change.
    pub file_id: FileId,
    /// The change to make.
    pub info: SetInfo<'a>,
}

impl SetInfoRequest<'_> {
    /// Appends the body to `out`.
    #[inline]
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
        // The cast is safe, because no frame holds a buffer of 4 GiB.
        let len = (out.len() - buffer) as u32;
        out[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
    }
}

impl SetInfo<'_> {
    /// Returns type, class (MS-FSCC 2.4) and additional information.
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

    /// Appends the buffer to `out`.
    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
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

/// The server's confirmation of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfoResponse;

impl SetInfoResponse {
    /// Checks the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or wrong.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(2, "SET_INFO response structure size")?;
        Ok(Self)
    }
}
