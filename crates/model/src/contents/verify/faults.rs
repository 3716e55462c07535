//! The wrong data that a ledger has found, each fault once.
//!
//! Every read of its blocks finds a lost write, and one read may find several. So faults are
//! told apart by the write that a block should hold. Not here: what is wrong ([`super`]).

use std::collections::HashSet;

use super::{Epoch, Ledger};
use crate::contents::block::{BLOCK_BYTES, Mismatch};

/// The largest number of faults that a ledger tells apart. Further ones are left out.
const FAULTS_MAX: usize = 1 << 16;

/// Wrong data that no earlier read of the client has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFault {
    /// The file's index.
    pub file: u32,
    /// What is wrong.
    pub mismatch: Mismatch,
}

/// What tells faults apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FaultKey {
    /// The write of this generation is lost.
    Lost(u32),
    /// The write of this generation has taken effect again.
    Late(u32),
    /// The block with this index is wrong, and must hold this generation or a newer one.
    Block(usize, u32),
}

/// The faults that a ledger has found.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundFaults {
    known: HashSet<FaultKey>,
    /// Those that were not taken yet.
    new: Vec<DataFault>,
}

impl FoundFaults {
    fn add(&mut self, key: FaultKey, fault: DataFault) {
        if self.known.len() < FAULTS_MAX && self.known.insert(key) {
            self.new.push(fault);
        }
    }
}

impl Ledger {
    /// Notes what is wrong in a read that [`Self::read_done`] has refused, with the same
    /// arguments.
    #[cold]
    pub fn note_faults(&mut self, file: u32, offset: u64, data: &[u8], epoch: Epoch) {
        let (found, _) = data.as_chunks::<BLOCK_BYTES>();
        let first = self.index(file, offset);
        let places = (first..).zip((offset..).step_by(BLOCK_BYTES));
        for ((index, at), found) in places.zip(found) {
            if let Err(mismatch) = self.judge(index, file, at, found, epoch) {
                self.note(index, file, mismatch);
            }
        }
    }

    /// Notes that a file has ended at `offset` or before, `length` bytes before the end of a
    /// read.
    #[cold]
    pub fn note_end(&mut self, file: u32, offset: u64, length: u32) {
        if length == 0 {
            return;
        }
        let end = offset + u64::from(length);
        let mut offset = offset - offset % BLOCK_BYTES as u64;
        while offset < end {
            let index = self.index(file, offset);
            let oldest = self.floor(index);
            self.note(index, file, Mismatch::Missing { offset, oldest });
            offset += BLOCK_BYTES as u64;
        }
    }

    /// Returns the faults that were noted since the last time.
    #[must_use]
    pub fn take_faults(&mut self) -> Vec<DataFault> {
        std::mem::take(&mut self.faults.new)
    }

    fn note(&mut self, index: usize, file: u32, mismatch: Mismatch) {
        let floor = self.floor(index);
        let key = match mismatch {
            Mismatch::Late { found, .. } => FaultKey::Late(found.generation),
            Mismatch::Stale { .. } | Mismatch::Missing { .. } | Mismatch::OtherRun { .. }
                if floor > 0 =>
            {
                FaultKey::Lost(floor)
            }
            // The prepared data is of no write of the client.
            _ => FaultKey::Block(index, floor),
        };
        self.faults.add(key, DataFault { file, mismatch });
    }

    /// Returns the oldest generation that a block can hold; 0 for a shared file.
    fn floor(&self, index: usize) -> u32 {
        self.blocks.get(index).map_or(0, |block| block.floor)
    }
}
