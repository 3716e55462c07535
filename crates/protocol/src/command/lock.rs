//! SMB2 LOCK (MS-SMB2 2.2.26, 2.2.27): byte-range locks and unlocks.

use super::{EncodeError, FileId};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// Bits of [`LockElement::flags`] (MS-SMB2 2.2.26.1).
pub mod lock_flags {
    /// SMB2_LOCKFLAG_SHARED_LOCK: other opens may hold shared locks on the range.
    pub const SHARED: u32 = 0x0000_0001;
    /// SMB2_LOCKFLAG_EXCLUSIVE_LOCK: no other open may hold a lock on the range.
    pub const EXCLUSIVE: u32 = 0x0000_0002;
    /// SMB2_LOCKFLAG_UNLOCK: release the range.
    pub const UNLOCK: u32 = 0x0000_0004;
    /// SMB2_LOCKFLAG_FAIL_IMMEDIATELY: do not wait for a conflicting lock.
    pub const FAIL_IMMEDIATELY: u32 = 0x0000_0010;
}

/// One byte range to lock or unlock (MS-SMB2 2.2.26.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockElement {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Length of the range in bytes.
    pub length: u64,
    /// [`lock_flags`] bits.
    pub flags: u32,
}

impl LockElement {
    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0u8; 24];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }
}

/// A request to lock or unlock ranges of an open file. The server changes all
/// of them or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRequest<'a> {
    /// The open that holds the locks.
    pub file_id: FileId,
    /// LockSequenceNumber in the low 4 bits, LockSequenceIndex above them. It
    /// is zero unless the handle is resilient, durable or persistent.
    pub sequence: u32,
    /// The ranges, 1 to 65,535. One request must not mix locks and unlocks. If
    /// it has several locks, each needs `FAIL_IMMEDIATELY` (MS-SMB2 3.3.5.14).
    pub locks: &'a [LockElement],
}

impl LockRequest<'_> {
    /// Appends the body to `out`.
    ///
    /// # Errors
    /// Returns an error if there are more ranges than LockCount can express.
    /// `out` is unchanged then.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let count: u16 = EncodeError::fit("lock list", self.locks.len())?;
        let mut body = [0u8; 24];
        body[0..2].copy_from_slice(&48u16.to_le_bytes());
        body[2..4].copy_from_slice(&count.to_le_bytes());
        body[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        body[8..24].copy_from_slice(&self.file_id.to_bytes());
        out.extend_from_slice(&body);
        for lock in self.locks {
            out.extend_from_slice(&lock.to_bytes());
        }
        Ok(())
    }
}

/// The server's confirmation that every range was locked or unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockResponse;

impl LockResponse {
    /// Checks the response in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing or wrong.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        reader.structure_size(4, "LOCK response structure size")?;
        reader.u16("LOCK reserved")?;
        Ok(Self)
    }
}
