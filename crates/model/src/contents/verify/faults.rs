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

    /// Returns the faults that were noted since the last time.
    #[must_use]
    pub fn take_faults(&mut self) -> Vec<DataFault> {
        std::mem::take(&mut self.faults.new)
    }

    fn note(&mut self, index: usize, file: u32, mismatch: Mismatch) {
        let floor = self.blocks.get(index).map_or(0, |block| block.floor);
        let key = match mismatch {
            Mismatch::Stale { oldest, .. } => FaultKey::Lost(oldest),
            Mismatch::Late { found, .. } => FaultKey::Late(found.generation),
            Mismatch::Byte { .. } | Mismatch::OtherRun { .. } | Mismatch::Foreign { .. } => {
                FaultKey::Block(index, floor)
            }
        };
        self.faults.add(key, DataFault { file, mismatch });
    }
}
