//! SMB2 CHANGE_NOTIFY (MS-SMB2 2.2.35, 2.2.36): the server answers when
//! something in a directory changes, or when the request is cancelled.

use super::{FileId, read_output};
use crate::wire::DecodeError;

/// SMB2_WATCH_TREE in [`ChangeNotifyRequest::flags`]: report changes in
/// subdirectories too.
pub const WATCH_TREE: u16 = 0x0001;

/// Bits of [`ChangeNotifyRequest::completion_filter`] (MS-SMB2 2.2.35).
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.35")]
pub mod completion_filter {
    pub const FILE_NOTIFY_CHANGE_FILE_NAME: u32 = 0x0001;
    pub const FILE_NOTIFY_CHANGE_DIR_NAME: u32 = 0x0002;
    pub const FILE_NOTIFY_CHANGE_ATTRIBUTES: u32 = 0x0004;
    pub const FILE_NOTIFY_CHANGE_SIZE: u32 = 0x0008;
    pub const FILE_NOTIFY_CHANGE_LAST_WRITE: u32 = 0x0010;
    pub const FILE_NOTIFY_CHANGE_LAST_ACCESS: u32 = 0x0020;
    pub const FILE_NOTIFY_CHANGE_CREATION: u32 = 0x0040;
    pub const FILE_NOTIFY_CHANGE_EA: u32 = 0x0080;
    pub const FILE_NOTIFY_CHANGE_SECURITY: u32 = 0x0100;
    pub const FILE_NOTIFY_CHANGE_STREAM_NAME: u32 = 0x0200;
    pub const FILE_NOTIFY_CHANGE_STREAM_SIZE: u32 = 0x0400;
    pub const FILE_NOTIFY_CHANGE_STREAM_WRITE: u32 = 0x0800;

    /// All kinds of changes.
    pub const ALL: u32 = 0x0FFF;
}

/// A request to report the next changes in an open directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeNotifyRequest {
    /// The open directory.
    pub directory: FileId,
    /// Zero or [`WATCH_TREE`].
    pub flags: u16,
    /// The changes to report: [`completion_filter`] bits.
    pub completion_filter: u32,
    /// Largest length of the answer in bytes. If the changes do not fit, the
    /// answer is STATUS_NOTIFY_ENUM_DIR without names.
    pub output_length: u32,
}

impl ChangeNotifyRequest {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut body = [0u8; 32];
        body[0..2].copy_from_slice(&32u16.to_le_bytes());
        body[2..4].copy_from_slice(&self.flags.to_le_bytes());
        body[4..8].copy_from_slice(&self.output_length.to_le_bytes());
        body[8..24].copy_from_slice(&self.directory.to_bytes());
        body[24..28].copy_from_slice(&self.completion_filter.to_le_bytes());
        out.extend_from_slice(&body);
    }
}

/// The changes in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeNotifyResponse<'a> {
    /// The changes, in the layout of MS-FSCC 2.7.1.
    pub data: &'a [u8],
}

impl<'a> ChangeNotifyResponse<'a> {
    /// Reads the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or the changes lie outside the
    /// message.
    pub fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self {
            data: read_output(message, "CHANGE_NOTIFY response")?,
        })
    }
}
