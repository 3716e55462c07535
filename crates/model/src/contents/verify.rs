//! Verification of the data that a client reads back (`--verify`).
//!
//! A [`Ledger`] belongs to one client. It is called for every write and read, when
//! it is sent and when it is answered. It checks the contents of each read.
//!
//! Invariant: a server that keeps its promises is never accused, in whatever order
//! requests in flight take effect. Damaged, misplaced or lost data is found as soon
//! as it is read without a concurrent write.
//!
//! On private files the client knows every write, so stale data is found too. On
//! shared files it does not. There it only checks that each block is sound: made by
//! one write of this run, for this file and this offset.
//!
//! During a write to the same block, a sound block must be a version that the block
//! can have. A torn block must consist of two such versions. A block may be neither
//! sound nor torn, or it may be old but possibly read before the write. Such a
//! block does not show whether the server keeps its promises, so the read is only
//! counted ([`ReadVerdict::Unjudged`]). A write that failed may also leave a torn block
//! behind, until a later one is stored.
//!
//! All offsets and lengths are multiples of 512 bytes. A
//! [`Plan`](crate::plan::Plan) with verification has no others. Not here: the
//! contents ([`crate::contents::block`]).

mod faults;
mod final_read;
mod judge;

use std::collections::HashSet;

use crate::contents::block::{BLOCK_BYTES, Mismatch, Salt, Stamp};
use crate::files::{FileSet, Scope};
pub use faults::DataFault;
use faults::FoundFaults;
pub use final_read::WrittenRange;

/// The largest number of writes without an answer that a ledger remembers.
const UNANSWERED_MAX: usize = 1 << 16;

/// One client's knowledge of the contents of its files. It has 24 bytes for each
/// block of a private file, 48 KiB per MiB, and none for shared files.
#[derive(Clone, Debug)]
pub struct Ledger {
    client: u32,
    run: u32,
    salt: Salt,
    /// The generation of the newest write. The next write has one more.
    generation: u32,
    /// Number of answered writes.
    epoch: u64,
    blocks_per_file: usize,
    /// The blocks of all files in order; empty for shared files.
    blocks: Vec<BlockState>,
    /// Generations of writes to private files whose connection was lost, up to
    /// [`UNANSWERED_MAX`].
    unanswered: HashSet<u32>,
    /// Whether other clients may write to the files.
    others: OtherWriters,
    faults: FoundFaults,
}

/// Whether other clients than the ledger's may write to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherWriters {
    /// No client writes, not even the ledger's own, so a block cannot be torn.
    Read,
    /// Other clients may write at any time and anywhere, if the files are shared.
    Write,
}

/// The state of one block. Generation 0 is the content before this ledger.
///
/// Writes that are in flight at the same time may take effect in any order. Chains
/// of them (A overlaps B, B overlaps C) leave open which came last. They are
/// therefore treated as one batch, from the first write that finds no other in
/// flight to the answer that leaves none.
///
/// Once any write of the batch has succeeded, the earlier content is gone for good,
/// and the block holds a member of the batch. It is unknown which one, so the only
/// certain bound is the smallest generation among them. Until then the bound of
/// earlier batches stays valid. Failed members count too, because one may have
/// taken effect last.
#[derive(Clone, Copy, Debug, Default)]
struct BlockState {
    /// The oldest generation the block can hold.
    floor: u32,
    /// The newest generation ever sent.
    latest: u32,
    /// The smallest generation of the batch in flight.
    batch_min: u32,
    /// Writes in flight.
    in_flight: u16,
    /// The ledger's epoch when a write to this block was last answered.
    answered: u64,
}

/// The verdict on a read that was not found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadVerdict {
    /// All of the data is valid.
    Checked,
    /// All data that could be judged is valid. The rest was concurrent with writes
    /// to the same blocks.
    Unjudged,
}

impl ReadVerdict {
    /// Returns the verdict on both parts together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Checked, Self::Checked) => Self::Checked,
            _ => Self::Unjudged,
        }
    }
}

/// The time at which a read was sent, as the number of answered writes in its
/// ledger; of a write, its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

/// Returns the bytes of memory that the ledgers of `clients` clients take together.
#[must_use]
pub fn memory_bytes(files: &FileSet, clients: u32) -> u64 {
    let blocks = match files.scope {
        Scope::Private => files.bytes(clients) / BLOCK_BYTES as u64,
        Scope::Shared => 0,
    };
    blocks.saturating_mul(size_of::<BlockState>() as u64)
}

impl Ledger {
    /// Makes a ledger for `client`'s files in their present state. `run` is 0 for
    /// files that were just prepared, with generation 0 of run 0. Files that writes
    /// of earlier ledgers have changed need a higher `run` than any before. The
    /// number of load points since the preparation is suitable. All ledgers have
    /// the same salt.
    #[must_use]
    pub fn new(files: &FileSet, client: u32, run: u32, salt: Salt) -> Self {
        Self::beside(OtherWriters::Write, files, client, run, salt)
    }

    /// Makes a ledger as [`Ledger::new`] does, but with `others`: whether other
    /// clients write.
    #[must_use]
    pub fn beside(
        others: OtherWriters,
        files: &FileSet,
        client: u32,
        run: u32,
        salt: Salt,
    ) -> Self {
        let blocks_per_file = (files.size / BLOCK_BYTES as u64) as usize;
        let tracked = match files.scope {
            Scope::Private => blocks_per_file * files.count as usize,
            Scope::Shared => 0,
        };
        Self {
            client,
            run,
            salt,
            generation: 0,
            epoch: 0,
            blocks_per_file,
            blocks: vec![BlockState::default(); tracked],
            unanswered: HashSet::new(),
            others,
            faults: FoundFaults::default(),
        }
    }

    /// Notes that a write is about to be sent. Returns the stamp to fill it with.
    pub fn write_issued(&mut self, file: u32, offset: u64, length: u32) -> Stamp {
        // After 2^32 - 1 writes all have the same generation. Stale data may then
        // pass for fresh data, but nothing is accused wrongly.
        self.generation = self.generation.saturating_add(1);
        let generation = self.generation;
        for block in self.range(file, offset, u64::from(length)) {
            if block.in_flight == 0 {
                block.batch_min = generation;
            }
            block.in_flight += 1;
            block.latest = generation;
        }
        Stamp {
            client: self.client,
            file,
            generation,
            run: self.run,
        }
    }

    /// Notes that a write was answered in full and without error.
    pub fn write_done(&mut self, file: u32, offset: u64, length: u32) {
        self.write_answered(file, offset, length, WriteOutcome::Stored);
    }

    /// Notes that a write was answered with an error, or stored fewer bytes. The
    /// blocks may or may not hold it.
    pub fn write_failed(&mut self, file: u32, offset: u64, length: u32) {
        self.write_answered(file, offset, length, WriteOutcome::Failed);
    }

    /// Notes that a write gets no answer, because its connection was lost. The blocks may or may
    /// not hold it, or hold it later.
    pub fn write_unanswered(&mut self, file: u32, offset: u64, length: u32, write: Epoch) {
        if self.unanswered.len() < UNANSWERED_MAX {
            // A generation has 32 bits.
            self.unanswered.insert(write.0 as u32);
        }
        self.write_failed(file, offset, length);
    }

    /// Returns which write was sent last. Pass it to [`Self::write_unanswered`].
    #[must_use]
    pub fn last_write(&self) -> Epoch {
        Epoch(self.generation.into())
    }

    fn write_answered(&mut self, file: u32, offset: u64, length: u32, answer: WriteOutcome) {
        self.epoch += 1;
        let epoch = self.epoch;
        for block in self.range(file, offset, u64::from(length)) {
            debug_assert!(
                block.in_flight > 0,
                "a write was answered that was not sent"
            );
            block.in_flight = block.in_flight.saturating_sub(1);
            block.answered = epoch;
            // Generations rise from batch to batch, so the floor never falls.
            if answer == WriteOutcome::Stored {
                block.floor = block.batch_min;
            }
        }
    }

    /// Notes that a read is about to be sent. Pass the epoch to
    /// [`Self::read_done`].
    #[must_use]
    pub fn read_issued(&self) -> Epoch {
        Epoch(self.epoch)
    }

    /// Checks a read that was sent at `epoch` and answered with `data` from
    /// `offset`.
    ///
    /// # Errors
    /// The first place at which `data` cannot be right.
    pub fn read_done(
        &self,
        file: u32,
        offset: u64,
        data: &[u8],
        epoch: Epoch,
    ) -> Result<ReadVerdict, Mismatch> {
        let (found, rest) = data.as_chunks::<BLOCK_BYTES>();
        debug_assert!(rest.is_empty(), "verified reads are whole blocks");
        let first = self.index(file, offset);
        let mut at = offset;
        let mut verdict = ReadVerdict::Checked;
        for (index, found) in found.iter().enumerate() {
            verdict = verdict.and(self.judge(first + index, file, at, found, epoch)?);
            at += BLOCK_BYTES as u64;
        }
        Ok(verdict)
    }

    /// Returns the index in `blocks` of the block at `offset` of `file`.
    fn index(&self, file: u32, offset: u64) -> usize {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64));
        file as usize * self.blocks_per_file + (offset / BLOCK_BYTES as u64) as usize
    }

    fn range(&mut self, file: u32, offset: u64, length: u64) -> &mut [BlockState] {
        if self.blocks.is_empty() {
            return &mut [];
        }
        let first = self.index(file, offset);
        let count = (length / BLOCK_BYTES as u64) as usize;
        &mut self.blocks[first..first + count]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteOutcome {
    Stored,
    Failed,
}

#[cfg(test)]
mod tests;
