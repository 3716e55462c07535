//! What a share must hold after a crash, by the [notes](super::notes) on its run.
//!
//! For each block there are three instants, of writes that were answered with success:
//!
//! * `stored`: the last sending of any of them
//! * `through`: the last sending of one that asked for write-through
//! * `flushed`: the last sending of one that the same client flushed later: the FLUSH was
//!   sent after the answer to the write, on the same open of the file, and was answered with
//!   success
//!
//! A write is older than another one if it was answered before the other one was sent. A block
//! that holds a write older than `flushed` has lost what FLUSH promised. Of writes that were in
//! flight together, either may remain.
//!
//! Invariant: a server that keeps its promises is never accused. A write without a note was
//! not answered, or answered in the last moments before the program was killed. It may be
//! found anywhere.

mod examined;
mod promises;

use crate::Nanos;
use crate::contents::block::{BLOCK_BYTES, Mismatch, Salt, Stamp, Tear, check, check_torn};
use crate::contents::notes::{NotesEnd, NotesHead};

pub use examined::Examined;
pub use promises::Promises;

/// The most blocks whose promises are kept in memory: about 4 GiB.
pub const BLOCKS_MAX: u64 = 100_000_000;

/// A file with noted writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotedFile {
    /// Index of its population.
    pub population: u32,
    /// The client that it belongs to; 0 for a shared file.
    pub client: u32,
    /// Its index.
    pub file: u32,
}

/// What the answers to writes and flushes promise of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockPromise {
    /// See the module; 0 if no write to the block was answered.
    pub stored: Nanos,
    /// See the module; 0 without such a write.
    pub through: Nanos,
    /// See the module; 0 without such a write.
    pub flushed: Nanos,
    /// The stamp of the last write that was sent and answered with success.
    pub latest: Stamp,
}

impl BlockPromise {
    /// Returns whether a write to the block was answered with success.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.stored > Nanos(0)
    }

    /// Returns the instant that a write must not be older than.
    pub(in crate::contents) const fn instant(&self, fate: BlockFate) -> Nanos {
        match fate {
            BlockFate::LostFlushed => self.flushed,
            BlockFate::LostThrough => self.through,
            _ => self.stored,
        }
    }

    /// Returns the fate of a block with data whose write was answered at `done`.
    fn fate(&self, done: Nanos) -> BlockFate {
        let is_older = |than: Nanos| than > Nanos(0) && done <= than;
        if is_older(self.flushed) {
            BlockFate::LostFlushed
        } else if is_older(self.through) {
            BlockFate::LostThrough
        } else if is_older(self.stored) {
            BlockFate::LostUnpromised
        } else {
            BlockFate::Kept
        }
    }

    /// Returns whether a flush or a write-through promised data of the block.
    fn is_promised(&self) -> bool {
        self.flushed.max(self.through) > Nanos(0)
    }
}

/// The fate of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockFate {
    /// It holds older data than a FLUSH promised.
    LostFlushed,
    /// It holds older data than a write-through promised.
    LostThrough,
    /// It is not as any write made it, and a FLUSH or a write-through promised its data.
    TornPromised,
    /// It holds older data than was answered, but nothing promised that it is on disk.
    LostUnpromised,
    /// It is not as any write made it, but nothing promised its data.
    TornUnpromised,
    /// It holds the last answered data, or newer data.
    Kept,
}

impl BlockFate {
    /// All of them, the worst first.
    pub const ALL: [Self; 6] = [
        Self::LostFlushed,
        Self::LostThrough,
        Self::TornPromised,
        Self::LostUnpromised,
        Self::TornUnpromised,
        Self::Kept,
    ];

    /// Returns whether the server broke a promise.
    #[must_use]
    pub const fn is_broken(self) -> bool {
        matches!(
            self,
            Self::LostFlushed | Self::LostThrough | Self::TornPromised
        )
    }
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockContent {
    /// What one write of the run wrote there.
    Whole(Stamp),
    /// The start of one write and the rest of another one.
    Torn(Tear),
    /// Data of another run.
    OtherRun,
    /// Nothing: the file ends before it, or it has only zeros.
    Nothing,
    /// Anything else.
    Damaged,
}

impl BlockContent {
    /// Returns what a block holds that was read from `offset`.
    #[must_use]
    pub fn of(found: &[u8; BLOCK_BYTES], offset: u64, salt: Salt) -> Self {
        match check(found, offset, salt) {
            Ok(stamp) => Self::Whole(stamp),
            Err(Mismatch::OtherRun { .. }) => Self::OtherRun,
            Err(_) if found.iter().all(|&byte| byte == 0) => Self::Nothing,
            Err(_) => match check_torn(found, offset, salt) {
                Some(tear) if tear != Tear::default() => Self::Torn(tear),
                _ => Self::Damaged,
            },
        }
    }

    /// Returns the stamps that it has.
    fn stamps(&self) -> impl Iterator<Item = Stamp> + use<> {
        let (one, other) = match *self {
            Self::Whole(stamp) => (Some(stamp), None),
            Self::Torn(Tear { front, back }) => (front, back),
            Self::OtherRun | Self::Nothing | Self::Damaged => (None, None),
        };
        one.into_iter().chain(other)
    }
}

/// The fates of all blocks.
#[derive(Clone, Debug, Default)]
pub struct Fates {
    /// Number of blocks of each fate, in the order of [`BlockFate::ALL`].
    pub blocks: [u64; BlockFate::ALL.len()],
    /// Number of blocks with data that a FLUSH or a write-through promised.
    pub promised: u64,
    /// Number of kept blocks that hold a write without a note.
    pub unanswered: u64,
    /// The first blocks that are not kept, the worst first.
    pub first: Vec<LostBlock>,
}

impl Fates {
    /// Returns the number of blocks with this fate.
    #[must_use]
    pub fn of(&self, fate: BlockFate) -> u64 {
        self.blocks[fate as usize]
    }

    /// Returns the number of blocks whose promise was broken.
    #[must_use]
    pub fn broken(&self) -> u64 {
        let broken = BlockFate::ALL.into_iter().filter(|fate| fate.is_broken());
        broken.map(|fate| self.of(fate)).sum()
    }

    /// Returns the number of all blocks.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.blocks.iter().sum()
    }
}

/// A block that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostBlock {
    /// What became of it.
    pub fate: BlockFate,
    /// Its file.
    pub file: NotedFile,
    /// Its first byte.
    pub offset: u64,
    /// The write that it must hold, or a newer one. `None` if its note is not found.
    pub expected: Option<Stamp>,
    /// What it holds.
    pub found: BlockContent,
    /// When the expected write was sent.
    sent: Nanos,
}

/// What a share holds of a run after a crash.
#[derive(Debug)]
pub struct AfterCrash {
    /// The run.
    pub head: NotesHead,
    /// How its notes end.
    pub end: NotesEnd,
    /// Number of notes that the run could not write.
    pub notes_lost: u64,
    /// Number of answered writes and flushes that the notes know.
    pub notes: u64,
    /// Number of answered flushes among them.
    pub flushes: u64,
    /// The fates of the blocks.
    pub fates: Fates,
    /// The paths of the files of [`Fates::first`].
    pub paths: Vec<String>,
    /// Directories of the run that are not there.
    pub missing: Vec<String>,
}

#[cfg(test)]
mod tests;
