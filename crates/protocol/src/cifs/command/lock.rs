//! LOCKING_ANDX: byte-range locks, and oplock breaks in both directions (MS-CIFS
//! 2.2.4.32).

use super::{CIFS_HEADER_LEN, FileNumber, NO_ANDX, body};
use crate::command::create::OplockLevel;
use crate::wire::{DecodeError, Reader};

/// TypeOfLock bits.
const SHARED: u8 = 0x01;
const OPLOCK_RELEASE: u8 = 0x02;
const LARGE_FILES: u8 = 0x10;

/// A time limit that lets a lock wait until the range is free.
pub const WITHOUT_END: u32 = u32::MAX;

/// What a request does with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifsLock {
    /// Locks it, so that no other client may lock or use it.
    Exclusive,
    /// Locks it, so that no client may write to it.
    Shared,
    /// Unlocks it.
    Unlock,
}

/// Appends the body of a request for one range. A lock that is not free waits for this many
/// milliseconds: with 0 it fails at once.
pub fn encode_lock(
    file: FileNumber,
    what: CifsLock,
    offset: u64,
    length: u64,
    timeout_ms: u32,
    out: &mut Vec<u8>,
) {
    let (locks, unlocks) = match what {
        CifsLock::Unlock => (0u16, 1u16),
        CifsLock::Exclusive | CifsLock::Shared => (1, 0),
    };
    let shared = match what {
        CifsLock::Shared => SHARED,
        CifsLock::Exclusive | CifsLock::Unlock => 0,
    };
    let body = out.len();
    encode_words(file, LARGE_FILES | shared, 0, unlocks, locks, out);
    out[body + 9..body + 13].copy_from_slice(&timeout_ms.to_le_bytes());
    let mut range = [0u8; 22];
    range[0..2].copy_from_slice(&20u16.to_le_bytes());
    // The PID of the header, two bytes of padding, then both values with the high part first.
    range[2..4].copy_from_slice(&1u16.to_le_bytes());
    for (at, value) in [(6, offset), (14, length)] {
        let bytes = value.to_le_bytes();
        range[at..at + 4].copy_from_slice(&bytes[4..]);
        range[at + 4..at + 8].copy_from_slice(&bytes[..4]);
    }
    out.extend_from_slice(&range);
}

/// Appends the acknowledgement of an oplock break. It gets no answer.
pub fn encode_release(file: FileNumber, level: OplockLevel, out: &mut Vec<u8>) {
    let kept = match level {
        OplockLevel::LevelII => 1,
        _ => 0,
    };
    encode_words(file, OPLOCK_RELEASE, kept, 0, 0, out);
    out.extend_from_slice(&[0; 2]);
}

fn encode_words(
    file: FileNumber,
    kind: u8,
    level: u8,
    unlocks: u16,
    locks: u16,
    out: &mut Vec<u8>,
) {
    let mut words = [0u8; 17];
    words[0] = 8;
    words[1] = NO_ANDX;
    words[5..7].copy_from_slice(&file.0.to_le_bytes());
    words[7] = kind;
    words[8] = level;
    words[13..15].copy_from_slice(&unlocks.to_le_bytes());
    words[15..17].copy_from_slice(&locks.to_le_bytes());
    out.extend_from_slice(&words);
}

/// A server's request to give up an oplock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsBreak {
    /// The open that has the oplock.
    pub file: FileNumber,
    /// The oplock that the client may keep.
    pub level: OplockLevel,
}

impl CifsBreak {
    /// Reads a LOCKING_ANDX request of the server.
    ///
    /// # Errors
    /// If a field is missing, or the message is no oplock break.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "oplock break";
        let start = Reader::at(message, CIFS_HEADER_LEN);
        let mut words = body(message, 8, WHAT)?.words;
        words.bytes(4, WHAT)?;
        let file = FileNumber(words.u16(WHAT)?);
        if words.u8(WHAT)? & OPLOCK_RELEASE == 0 {
            return Err(start.error(WHAT));
        }
        let level = match words.u8(WHAT)? {
            1 => OplockLevel::LevelII,
            _ => OplockLevel::None,
        };
        Ok(Self { file, level })
    }
}
