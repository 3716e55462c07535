//! Bodies of the commands that may be measured, one file per command, written
//! by hand.
//!
//! A request's `encode` appends the body to a header that the caller has
//! already written. Offsets inside bodies count from the start of that header
//! (MS-SMB2 2.2). A response's `decode` takes the whole message with its
//! header, and borrows from it.

pub mod bodyless;
pub mod change_notify;
pub mod close;
pub mod create;
pub mod create_context;
pub mod flush;
pub mod ioctl;
pub mod lease;
pub mod lock;
pub(crate) mod name;
pub mod oplock_break;
pub mod query_directory;
pub mod query_info;
pub mod read;
pub mod set_info;
pub mod tree_connect;
pub mod write;

pub use name::WireName;
use thiserror::Error;

use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Error for a request whose field is too long for the wire.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{what} of length {len} does not fit its length field")]
pub struct EncodeError {
    /// The field that is too long.
    pub what: &'static str,
    /// Its length, in the units of the length field.
    pub len: usize,
}

impl EncodeError {
    pub(crate) fn fit<T: TryFrom<usize>>(what: &'static str, len: usize) -> Result<T, Self> {
        T::try_from(len).map_err(|_| Self { what, len })
    }
}

/// Reads a response that has only the offset and the length of its output.
/// Returns the output.
#[inline]
fn read_output<'a>(message: &'a [u8], what: &'static str) -> Result<&'a [u8], DecodeError> {
    const FIXED: usize = HEADER_LEN + 8;
    let mut reader = Reader::at(message, HEADER_LEN);
    reader.structure_size(9, what)?;
    let before_offset = reader;
    let offset = usize::from(reader.u16(what)?);
    let before_length = reader;
    let length = reader.u32(what)? as usize;
    // Without output the offset has no meaning. Servers send zero, or the
    // offset where output would start.
    if length == 0 {
        return Ok(&[]);
    }
    if offset < FIXED {
        return Err(before_offset.error(what));
    }
    before_length.slice(offset, length, what)
}

/// A time in units of 100 ns since 1601-01-01 UTC (MS-DTYP 2.3.3). Zero means
/// that the server does not keep this time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub u64);

/// The four times of a file, in wire order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTimes {
    /// CreationTime.
    pub created: FileTime,
    /// LastAccessTime.
    pub accessed: FileTime,
    /// LastWriteTime.
    pub written: FileTime,
    /// ChangeTime: the last change of data or attributes.
    pub changed: FileTime,
}

impl FileTimes {
    #[inline(always)]
    fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        Ok(Self {
            created: FileTime(reader.u64(what)?),
            accessed: FileTime(reader.u64(what)?),
            written: FileTime(reader.u64(what)?),
            changed: FileTime(reader.u64(what)?),
        })
    }
}

/// The id of an open file or directory on the server (MS-SMB2 2.2.14.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Part that stays valid when a durable open is reconnected.
    pub persistent: u64,
    /// Part that is valid for this connection.
    pub volatile: u64,
}

impl FileId {
    /// The open that an earlier request in this compound creates (MS-SMB2
    /// 3.2.4.1.4).
    pub const RELATED: Self = Self {
        persistent: u64::MAX,
        volatile: u64::MAX,
    };

    /// Returns the 16 bytes as they lie on the wire.
    #[must_use]
    #[inline]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.persistent.to_le_bytes());
        bytes[8..].copy_from_slice(&self.volatile.to_le_bytes());
        bytes
    }

    /// Makes an id from the 16 bytes on the wire.
    #[must_use]
    #[inline]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [a, b] = [0, 8].map(|at| {
            let mut half = [0; 8];
            half.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(half)
        });
        Self {
            persistent: a,
            volatile: b,
        }
    }
}
