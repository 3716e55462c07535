//! SMB2 OPLOCK_BREAK (MS-SMB2 2.2.23 to 2.2.25), for oplocks and for leases.
//!
//! The server withdraws caching, the client acknowledges that, and the server
//! confirms. Notifications arrive without a request;
//! [`crate::Connection::receive`] returns them.

use super::FileId;
use super::create::OplockLevel;
use super::lease::{LeaseKey, LeaseState};
use crate::header::HEADER_LEN;
use crate::wire::{DecodeError, Reader};

/// SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED in [`LeaseBreak::flags`].
pub const ACK_REQUIRED: u32 = 0x0000_0001;

const OPLOCK_SIZE: u16 = 24;
const LEASE_NOTIFICATION_SIZE: u16 = 44;
const LEASE_SIZE: u16 = 36;

/// A server's message that it withdraws caching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakNotification {
    /// It concerns an open with an oplock.
    Oplock(OplockBreak),
    /// It concerns all opens under a lease.
    Lease(LeaseBreak),
}

/// A break of an oplock to a lower level (MS-SMB2 2.2.23.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OplockBreak {
    /// The open that holds the oplock.
    pub file_id: FileId,
    /// The level that remains: level II or none.
    pub level: OplockLevel,
}

/// A break of a lease, which loses a part of its state (MS-SMB2 2.2.23.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseBreak {
    /// Key of the lease.
    pub key: LeaseKey,
    /// The state before the break.
    pub current: LeaseState,
    /// The state that remains.
    pub new: LeaseState,
    /// Zero or [`ACK_REQUIRED`].
    pub flags: u32,
    /// The count of changes of a V2 lease; zero in SMB 2.1 and for V1 leases.
    pub epoch: u16,
}

impl BreakNotification {
    /// Reads the notification in `message`.
    ///
    /// # Errors
    /// Returns an error if a field is missing, if the structure is neither of
    /// the two, or if MS-SMB2 does not have the oplock level.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::at(message, HEADER_LEN);
        let start = reader;
        match reader.u16("OPLOCK_BREAK structure size")? {
            OPLOCK_SIZE => Ok(Self::Oplock(read_oplock(&mut reader)?)),
            LEASE_NOTIFICATION_SIZE => {
                let notification = LeaseBreak {
                    epoch: reader.u16("lease break epoch")?,
                    flags: reader.u32("lease break flags")?,
                    key: LeaseKey(reader.array("lease break key")?),
                    current: LeaseState(reader.u32("lease break current state")?),
                    new: LeaseState(reader.u32("lease break new state")?),
                };
                reader.array::<12>("lease break reason and hints")?;
                Ok(Self::Lease(notification))
            }
            _ => Err(start.error("OPLOCK_BREAK structure size")),
        }
    }
}

impl OplockBreak {
    /// Makes the acknowledgement of the break.
    ///
    /// The server expects it if the oplock was exclusive or batch. It expects
    /// none for a level II oplock (MS-SMB2 3.2.5.19.1).
    #[must_use]
    pub const fn acknowledgement(&self) -> BreakAcknowledgement {
        BreakAcknowledgement::Oplock {
            file_id: self.file_id,
            level: self.level,
        }
    }
}

impl LeaseBreak {
    /// Makes the acknowledgement of the break, if the server expects one
    /// (MS-SMB2 3.2.5.19.2).
    #[must_use]
    pub const fn acknowledgement(&self) -> Option<BreakAcknowledgement> {
        if self.flags & ACK_REQUIRED == 0 {
            return None;
        }
        Some(BreakAcknowledgement::Lease {
            key: self.key,
            state: self.new,
        })
    }
}

/// The client's acknowledgement of a break (MS-SMB2 2.2.24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakAcknowledgement {
    /// Acknowledges the break of an oplock.
    Oplock {
        /// Id of the open.
        file_id: FileId,
        /// The level that the client keeps: at most the one that the server left.
        level: OplockLevel,
    },
    /// Acknowledges the break of a lease.
    Lease {
        /// Key of the lease.
        key: LeaseKey,
        /// The state that the client keeps: at most the one that the server left.
        state: LeaseState,
    },
}

impl BreakAcknowledgement {
    /// Appends the body to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Oplock { file_id, level } => {
                let mut body = [0u8; OPLOCK_SIZE as usize];
                body[0..2].copy_from_slice(&OPLOCK_SIZE.to_le_bytes());
                body[2] = *level as u8;
                body[8..24].copy_from_slice(&file_id.to_bytes());
                out.extend_from_slice(&body);
            }
            Self::Lease { key, state } => {
                let mut body = [0u8; LEASE_SIZE as usize];
                body[0..2].copy_from_slice(&LEASE_SIZE.to_le_bytes());
                body[8..24].copy_from_slice(&key.0);
                body[24..28].copy_from_slice(&state.0.to_le_bytes());
                out.extend_from_slice(&body);
            }
        }
    }
}

fn read_oplock(reader: &mut Reader<'_>) -> Result<OplockBreak, DecodeError> {
    let before_level = *reader;
    let level = OplockLevel::from_wire(reader.u8("OPLOCK_BREAK level")?)
        .ok_or_else(|| before_level.error("OPLOCK_BREAK level"))?;
    reader.array::<5>("OPLOCK_BREAK reserved")?;
    Ok(OplockBreak {
        file_id: FileId::from_bytes(reader.array("OPLOCK_BREAK file id")?),
        level,
    })
}
