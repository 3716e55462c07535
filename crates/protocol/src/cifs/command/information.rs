//! Information about files and file systems: TRANS2_QUERY_PATH_INFORMATION,
//! TRANS2_QUERY_FILE_INFORMATION, TRANS2_QUERY_FS_INFORMATION,
//! TRANS2_SET_PATH_INFORMATION and TRANS2_SET_FILE_INFORMATION (MS-CIFS 2.2.6.4,
//! 2.2.6.6 to 2.2.6.9).
//!
//! The answer to a query is the transaction's data. Its meaning depends on the
//! level, which the caller knows.
//!
//! Not here: extended attributes, levels of OS/2 and of Unix.

use super::transaction::Transaction2;
use super::{write_name, write_path};
use crate::command::set_info::{Deletion, Existing, SetInfo};
use crate::command::{FileTimes, WireName};

/// MaxParameterCount for files: EaErrorOffset (MS-CIFS 2.2.6.6.2).
const MAX_PARAMETERS: u16 = 2;

/// Information levels (MS-CIFS 2.2.2.3.2 to 2.2.2.3.4). The data of these levels
/// has the layout of the class in MS-FSCC with the same name.
#[expect(missing_docs, reason = "the names are those of MS-CIFS 2.2.2.3")]
pub mod level {
    pub const SMB_QUERY_FILE_BASIC_INFO: u16 = 0x0101;
    pub const SMB_QUERY_FILE_STANDARD_INFO: u16 = 0x0102;
    pub const SMB_QUERY_FILE_EA_INFO: u16 = 0x0103;
    pub const SMB_QUERY_FILE_ALL_INFO: u16 = 0x0107;
    pub const SMB_QUERY_FILE_STREAM_INFO: u16 = 0x0109;

    pub const SMB_SET_FILE_BASIC_INFO: u16 = 0x0101;
    pub const SMB_SET_FILE_DISPOSITION_INFO: u16 = 0x0102;
    pub const SMB_SET_FILE_ALLOCATION_INFO: u16 = 0x0103;
    pub const SMB_SET_FILE_END_OF_FILE_INFO: u16 = 0x0104;

    pub const SMB_QUERY_FS_VOLUME_INFO: u16 = 0x0102;
    pub const SMB_QUERY_FS_SIZE_INFO: u16 = 0x0103;
    pub const SMB_QUERY_FS_DEVICE_INFO: u16 = 0x0104;
    pub const SMB_QUERY_FS_ATTRIBUTE_INFO: u16 = 0x0105;

    /// SMB_INFO_PASSTHROUGH (MS-SMB 2.2.2.3.5): added to the number of a class in
    /// MS-FSCC. The server needs CAP_INFOLEVEL_PASSTHRU.
    pub const SMB_INFO_PASSTHROUGH: u16 = 1000;
}

/// The file that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifsTarget<'a> {
    /// A file or a directory by its path, without an open.
    Path(&'a WireName),
    /// The FID of an open file or directory.
    Fid(u16),
}

/// A query about a file (MS-CIFS 2.2.6.6.1, 2.2.6.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInformationRequest<'a> {
    /// The file to query.
    pub target: CifsTarget<'a>,
    /// A [`level`].
    pub level: u16,
    /// Largest length of the answer in bytes.
    pub max_data: u16,
}

impl QueryInformationRequest<'_> {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = Transaction2 {
            subcommand: match self.target {
                CifsTarget::Path(_) => 0x0005,
                CifsTarget::Fid(_) => 0x0007,
            },
            max_parameters: MAX_PARAMETERS,
            max_data: self.max_data,
        };
        let parameters = |out: &mut Vec<u8>| self.target.encode(self.level, &[], out);
        frame.encode(out, parameters, |_| ());
    }
}

/// A query about the file system of the share (MS-CIFS 2.2.6.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryFsInformationRequest {
    /// A [`level`].
    pub level: u16,
    /// Largest length of the answer in bytes.
    pub max_data: u16,
}

impl QueryFsInformationRequest {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = Transaction2 {
            subcommand: 0x0003,
            max_parameters: 0,
            max_data: self.max_data,
        };
        let parameters = |out: &mut Vec<u8>| out.extend_from_slice(&self.level.to_le_bytes());
        frame.encode(out, parameters, |_| ());
    }
}

/// The change to make to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifsChange<'a> {
    /// The four times and the attributes (MS-CIFS 2.2.8.4.3). A zero leaves that
    /// time, or the attributes, unchanged.
    Basic {
        /// The four times.
        times: FileTimes,
        /// [`attributes`](crate::command::create::attributes) bits.
        file_attributes: u32,
    },
    /// A new name in the same directory, at the pass-through level 1010 (MS-FSCC
    /// 2.4.42.1). The open needs DELETE access.
    Rename {
        /// The new name, without a path.
        to: &'a WireName,
        /// The treatment of a file that already has this name.
        existing: Existing,
    },
    /// Whether to delete the file when its last handle is closed (MS-CIFS
    /// 2.2.8.4.4). The open needs DELETE access.
    Disposition(Deletion),
    /// The number of bytes to reserve on disk (MS-CIFS 2.2.8.4.5).
    Allocation(u64),
    /// The new file size in bytes (MS-CIFS 2.2.8.4.6).
    EndOfFile(u64),
}

impl CifsChange<'_> {
    /// Appends the data to `out`.
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        let same_as_smb2 = match *self {
            Self::Basic {
                times,
                file_attributes,
            } => SetInfo::Basic {
                times,
                file_attributes,
            },
            Self::Disposition(deletion) => SetInfo::Disposition(deletion),
            Self::Allocation(bytes) => SetInfo::Allocation(bytes),
            Self::EndOfFile(bytes) => SetInfo::EndOfFile(bytes),
            Self::Rename { to, existing } => {
                // RootDirectory has 4 bytes here, and 8 in SMB2. It stays zero.
                let mut info = [0; 12];
                info[0] = existing as u8;
                info[8..12].copy_from_slice(&u32::from(to.wire_len()).to_le_bytes());
                out.extend_from_slice(&info);
                // The length does not count the null, but clients send it.
                write_name(to.as_bytes(), out);
                return;
            }
        };
        same_as_smb2.encode(out);
    }
}

/// A request to change a file (MS-CIFS 2.2.6.7.1, 2.2.6.9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInformationRequest<'a> {
    /// The file to change.
    pub target: CifsTarget<'a>,
    /// The [`level`] of the change.
    pub level: u16,
    /// The change to make.
    pub change: CifsChange<'a>,
}

impl SetInformationRequest<'_> {
    /// Appends the body to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = Transaction2 {
            subcommand: match self.target {
                CifsTarget::Path(_) => 0x0006,
                CifsTarget::Fid(_) => 0x0008,
            },
            max_parameters: MAX_PARAMETERS,
            max_data: 0,
        };
        // A FID is followed by a reserved field only in requests that set.
        let parameters = |out: &mut Vec<u8>| self.target.encode(self.level, &[0, 0], out);
        frame.encode(out, parameters, |out| self.change.encode(out));
    }
}

impl CifsTarget<'_> {
    /// Appends the parameters of a request for this file. `after_fid` follows the
    /// level if the file is open.
    #[inline]
    fn encode(&self, level: u16, after_fid: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Path(path) => {
                out.extend_from_slice(&level.to_le_bytes());
                out.extend_from_slice(&[0; 4]);
                write_path(path, out);
            }
            Self::Fid(fid) => {
                out.extend_from_slice(&fid.to_le_bytes());
                out.extend_from_slice(&level.to_le_bytes());
                out.extend_from_slice(after_fid);
            }
        }
    }
}
