//! Whether a block may hold what a read has found.

use super::{BlockState, Epoch, Ledger, OtherWriters, ReadVerdict};
use crate::contents::block::{BLOCK_BYTES, Mismatch, Stamp, Tear, check, check_torn};

impl Ledger {
    /// Checks the block with this index.
    #[inline]
    pub(super) fn judge(
        &self,
        index: usize,
        file: u32,
        offset: u64,
        found: &[u8; BLOCK_BYTES],
        epoch: Epoch,
    ) -> Result<ReadVerdict, Mismatch> {
        match self.blocks.get(index) {
            Some(block) => self.judge_private(block, file, offset, found, epoch),
            None => self.judge_shared(file, offset, found),
        }
    }

    fn judge_private(
        &self,
        block: &BlockState,
        file: u32,
        offset: u64,
        found: &[u8; BLOCK_BYTES],
        epoch: Epoch,
    ) -> Result<ReadVerdict, Mismatch> {
        let answered_since = block.answered > epoch.0;
        let is_beside = answered_since || block.in_flight > 0;
        let damage = match check(found, offset, self.salt) {
            Ok(whole) => return self.judge_version(block, file, offset, whole, answered_since),
            Err(damage @ Mismatch::Byte { .. }) => damage,
            Err(mismatch) => return Err(mismatch),
        };
        // A write that was refused, or not answered, may have left half of its data.
        let may_be_torn = is_beside || block.latest > block.floor;
        let Tear { front, back } = match check_torn(found, offset, self.salt) {
            Some(tear) if may_be_torn => tear,
            None if is_beside => Tear::default(),
            _ => return Err(damage_or_nothing(damage, found, offset, block.floor)),
        };
        let mut verdict = ReadVerdict::Checked;
        for part in [front, back] {
            verdict = verdict.and(match part {
                Some(part) => self.judge_version(block, file, offset, part, answered_since)?,
                None => ReadVerdict::Unjudged,
            });
        }
        Ok(verdict)
    }

    /// Checks whether a block of a private file may hold what this stamp wrote.
    fn judge_version(
        &self,
        block: &BlockState,
        file: u32,
        offset: u64,
        found: Stamp,
        answered_since: bool,
    ) -> Result<ReadVerdict, Mismatch> {
        let generation = match found.run {
            run if run == self.run => found.generation,
            run if run < self.run => 0,
            _ => u32::MAX,
        };
        let is_own = found.client == self.client && found.file == file;
        if !is_own || generation > block.latest {
            return Err(Mismatch::Foreign { offset, found });
        }
        if generation >= block.floor {
            Ok(ReadVerdict::Checked)
        } else if answered_since {
            // The floor may have risen after the read was sent. The server may have
            // answered the read from before the write.
            Ok(ReadVerdict::Unjudged)
        } else if self.unanswered.contains(&generation) {
            let oldest = block.floor;
            Err(Mismatch::Late {
                offset,
                oldest,
                found,
            })
        } else {
            Err(Mismatch::Stale {
                offset,
                oldest: block.floor,
                found,
            })
        }
    }

    /// Checks a block of a shared file. Another client's write may be in flight at
    /// any time, so a block may be torn between two sound ones. Nothing else is
    /// excused. If no client writes, a torn block is not excused either.
    fn judge_shared(
        &self,
        file: u32,
        offset: u64,
        found: &[u8; BLOCK_BYTES],
    ) -> Result<ReadVerdict, Mismatch> {
        let Tear { front, back } = match check(found, offset, self.salt) {
            Ok(whole) => Tear {
                front: Some(whole),
                back: Some(whole),
            },
            Err(damage) => {
                let tear = check_torn(found, offset, self.salt);
                let tear = tear.filter(|_| self.others == OtherWriters::Write);
                tear.ok_or_else(|| damage_or_nothing(damage, found, offset, 0))?
            }
        };
        let mut known = front.into_iter().chain(back);
        match known.find(|stamp| stamp.file != file) {
            Some(found) => Err(Mismatch::Foreign { offset, found }),
            None if front.is_some() && back.is_some() => Ok(ReadVerdict::Checked),
            None => Ok(ReadVerdict::Unjudged),
        }
    }
}

/// Returns what is wrong with a damaged block: a block of zeros has lost its data.
fn damage_or_nothing(
    damage: Mismatch,
    found: &[u8; BLOCK_BYTES],
    offset: u64,
    oldest: u32,
) -> Mismatch {
    if found.iter().all(|&byte| byte == 0) {
        Mismatch::Missing { offset, oldest }
    } else {
        damage
    }
}
