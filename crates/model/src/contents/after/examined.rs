//! From what a share holds to the fates of blocks.

use std::collections::{HashMap, HashSet};

use super::promises::{Promises, place};
use super::{BlockContent, BlockFate, BlockPromise, Fates, LostBlock, NotedFile};
use crate::Nanos;
use crate::contents::block::{BLOCK_BYTES, Stamp};
use crate::contents::notes::{AnswerNote, NoteOutcome, NotePage};
use crate::files::Scope;

/// The writes by which blocks are judged that do not hold the last one.
type WriteKey = (u32, Stamp);

/// The blocks that a share holds, and their fates.
pub struct Examined<'a> {
    promises: &'a Promises,
    /// Blocks that do not hold the last answered write.
    unsure: Vec<UnsureBlock>,
    /// When the writes that they hold were answered, as far as there are notes.
    answered: HashMap<WriteKey, Nanos>,
    wanted: HashSet<WriteKey>,
    kept: u64,
    promised: u64,
}

struct UnsureBlock {
    file: NotedFile,
    block: u32,
    content: BlockContent,
}

impl<'a> Examined<'a> {
    /// Begins without a block.
    #[must_use]
    pub fn of(promises: &'a Promises) -> Self {
        Self {
            promises,
            unsure: Vec::new(),
            answered: HashMap::new(),
            wanted: HashSet::new(),
            kept: 0,
            promised: 0,
        }
    }

    /// Notes what a known block holds.
    pub fn add(&mut self, file: NotedFile, block: u32, content: BlockContent) {
        let promise = self.promises.promise(file, block);
        self.promised += u64::from(promise.is_promised());
        if content == BlockContent::Whole(promise.latest) {
            self.kept += 1;
            return;
        }
        let keys = content.stamps().map(|stamp| (file.population, stamp));
        self.wanted.extend(keys);
        self.unsure.push(UnsureBlock {
            file,
            block,
            content,
        });
    }

    /// Returns whether the notes must be read again to judge the blocks.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        !self.unsure.is_empty()
    }

    /// Looks for the writes that the blocks hold in a page of the notes.
    pub fn look(&mut self, page: &NotePage) {
        for note in &page.notes {
            let stamp = stamp(note, page.source.run);
            let key = (page.source.population, stamp);
            if note.outcome != NoteOutcome::Flushed && self.wanted.contains(&key) {
                self.answered.insert(key, note.done);
            }
        }
    }

    /// Judges all blocks. Of those that are not kept, the first `most` are listed.
    #[must_use]
    pub fn judge(&self, most: usize) -> Fates {
        let mut fates = Fates {
            promised: self.promised,
            ..Fates::default()
        };
        fates.blocks[BlockFate::Kept as usize] = self.kept;
        for unsure in &self.unsure {
            let promise = self.promises.promise(unsure.file, unsure.block);
            let (fate, is_unanswered) = self.fate(&promise, unsure);
            fates.blocks[fate as usize] += 1;
            if fate == BlockFate::Kept {
                fates.unanswered += u64::from(is_unanswered);
                continue;
            }
            fates.first.push(LostBlock {
                fate,
                file: unsure.file,
                offset: u64::from(unsure.block) * BLOCK_BYTES as u64,
                expected: None,
                found: unsure.content,
                sent: match fate {
                    BlockFate::TornPromised => promise.flushed.max(promise.through),
                    fate => promise.instant(fate),
                },
            });
            if fates.first.len() >= 2 * most.max(1) {
                sort(&mut fates.first, most);
            }
        }
        sort(&mut fates.first, most);
        fates
    }

    fn fate(&self, promise: &BlockPromise, unsure: &UnsureBlock) -> (BlockFate, bool) {
        let done = |stamp| self.done(unsure.file, stamp);
        match unsure.content {
            BlockContent::Whole(stamp) => {
                let done = done(stamp);
                let is_unanswered = done.is_none();
                (promise.fate(done.unwrap_or(Nanos::MAX)), is_unanswered)
            }
            BlockContent::OtherRun | BlockContent::Nothing => (promise.fate(Nanos(0)), false),
            BlockContent::Damaged if promise.is_promised() => (BlockFate::TornPromised, false),
            BlockContent::Damaged => (BlockFate::TornUnpromised, false),
            BlockContent::Torn(_) => {
                let parts = unsure.content.stamps();
                let mut fates = parts.map(|stamp| promise.fate(done(stamp).unwrap_or(Nanos::MAX)));
                let is_broken = fates.any(BlockFate::is_broken);
                let fate = if is_broken {
                    BlockFate::TornPromised
                } else {
                    BlockFate::TornUnpromised
                };
                (fate, false)
            }
        }
    }

    /// Returns when a write was answered, or instant 0 for data that was there before the
    /// load or does not belong there; `None` if there is no note of it.
    fn done(&self, file: NotedFile, stamp: Stamp) -> Option<Nanos> {
        let population = self.promises.population(file);
        let is_own = population.scope == Scope::Shared || stamp.client == file.client;
        if stamp.file != file.file || !is_own || stamp.generation == 0 {
            return Some(Nanos(0));
        }
        self.answered.get(&(file.population, stamp)).copied()
    }
}

fn stamp(note: &AnswerNote, run: u32) -> Stamp {
    Stamp {
        client: note.client,
        file: note.file,
        generation: note.generation,
        run,
    }
}

/// Keeps the first blocks, the worst first.
fn sort(blocks: &mut Vec<LostBlock>, most: usize) {
    blocks.sort_by_key(|block| (block.fate, block.file, block.offset));
    blocks.truncate(most);
}

impl Fates {
    /// Looks for the writes that the listed blocks must hold in a page of the notes.
    pub fn look(&mut self, page: &NotePage, promises: &Promises) {
        let mut wanted: HashMap<_, Vec<_>> = HashMap::new();
        for block in &mut self.first {
            let key = (block.file, block.sent);
            wanted.entry(key).or_default().push(block);
        }
        for note in &page.notes {
            let population = page.source.population;
            let Some(noted) = promises.noted(population) else {
                continue;
            };
            let is_write = matches!(
                note.outcome,
                NoteOutcome::Stored | NoteOutcome::WrittenThrough
            );
            let place = place(noted, population, note);
            let range = note.offset..note.offset + u64::from(note.length);
            let of_file = wanted.get_mut(&(place, note.sent)).into_iter().flatten();
            for block in of_file.filter(|block| is_write && range.contains(&block.offset)) {
                block.expected = Some(stamp(note, page.source.run));
            }
        }
    }
}
