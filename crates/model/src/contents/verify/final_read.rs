//! The blocks that a client reads once more after its load: those that hold an acknowledged write
//! of its ledger.
//!
//! The state of a block shows them anyway, so that they cost the load nothing. A block that a read
//! has found right is among them, because a server may apply an old write after that read. Not
//! here: what is wrong ([`super::judge`]).

use super::Ledger;
use crate::contents::block::BLOCK_BYTES;

/// Successive blocks of a file that hold acknowledged writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenRange {
    /// The file's index.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Where [`Ledger::written_from`] goes on behind it.
    pub next: usize,
}

impl Ledger {
    /// Returns the number of blocks that hold acknowledged writes; 0 for shared files.
    #[must_use]
    pub fn written_blocks(&self) -> u64 {
        let written = self.blocks.iter().filter(|block| block.floor > 0);
        written.count() as u64
    }

    /// Returns the next range of such blocks, of at most `most` bytes but at least a block. The
    /// first one begins at index 0, and each further one at the index from the last. Returns
    /// `None` behind the last one.
    #[must_use]
    pub fn written_from(&self, index: usize, most: u32) -> Option<WrittenRange> {
        let rest = self.blocks.get(index..)?;
        let first = index + rest.iter().position(|block| block.floor > 0)?;
        let (file, in_file) = (first / self.blocks_per_file, first % self.blocks_per_file);
        let most = (most as usize / BLOCK_BYTES).max(1);
        let most = most.min(self.blocks_per_file - in_file);
        let blocks = self.blocks[first..].iter().take(most);
        let count = blocks.take_while(|block| block.floor > 0).count();
        Some(WrittenRange {
            file: file as u32,
            offset: (in_file * BLOCK_BYTES) as u64,
            length: (count * BLOCK_BYTES) as u32,
            next: first + count,
        })
    }
}
