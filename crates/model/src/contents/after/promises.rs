//! From notes to promises: the instants of each block.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{BLOCKS_MAX, BlockPromise, NotedFile};
use crate::Nanos;
use crate::contents::block::{BLOCK_BYTES, Stamp};
use crate::contents::notes::{AnswerNote, NoteOutcome, NotePage, NotedPopulation, NotesError};
use crate::files::Scope;

/// A write that has an answer, but was not flushed yet.
struct PendingWrite {
    generation: u32,
    sent: Nanos,
    done: Nanos,
    offset: u64,
    length: u32,
}

/// The promises of all blocks with answered writes.
#[derive(Default)]
pub struct Promises {
    populations: Vec<NotedPopulation>,
    files: BTreeMap<NotedFile, Vec<BlockPromise>>,
    /// Writes of each client to each file that no flush of its covers.
    pending: HashMap<NotedHandle, VecDeque<PendingWrite>>,
    blocks: u64,
}

/// A file as one client writes to it in a load point. It opens the file again for the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NotedHandle {
    population: u32,
    run: u32,
    client: u32,
    file: u32,
}

impl Promises {
    /// Begins without a note.
    #[must_use]
    pub fn of(populations: &[NotedPopulation]) -> Self {
        Self {
            populations: populations.to_vec(),
            ..Self::default()
        }
    }

    /// Adds the notes of a page. Pages of a worker must come in their order.
    ///
    /// # Errors
    /// If a note has a place that the run does not have, or there are too many blocks.
    pub fn add(&mut self, page: &NotePage) -> Result<(), NotesError> {
        for note in &page.notes {
            self.add_note(page.source.population, page.source.run, note)?;
        }
        Ok(())
    }

    fn add_note(&mut self, population: u32, run: u32, note: &AnswerNote) -> Result<(), NotesError> {
        let noted = self.populations.get(population as usize);
        let noted = noted.ok_or(NotesError::Place)?;
        let end = note.offset.checked_add(note.length.into());
        if note.file >= noted.files || end.is_none_or(|end| end > noted.file_bytes) {
            return Err(NotesError::Place);
        }
        let (flushes, place) = (noted.flushes, place(noted, population, note));
        let pending = NotedHandle {
            population,
            run,
            client: note.client,
            file: note.file,
        };
        match note.outcome {
            NoteOutcome::Refused => {}
            NoteOutcome::Flushed => {
                self.flush(place, pending, note);
            }
            NoteOutcome::Stored | NoteOutcome::WrittenThrough => {
                let latest = Stamp {
                    client: note.client,
                    file: note.file,
                    generation: note.generation,
                    run,
                };
                self.reach(place, end.unwrap_or_default())?;
                for block in blocks(&mut self.files, place, note.offset, note.length) {
                    if note.sent >= block.stored {
                        (block.stored, block.latest) = (note.sent, latest);
                    }
                    if note.outcome == NoteOutcome::WrittenThrough {
                        block.through = block.through.max(note.sent);
                    }
                }
                if flushes {
                    let writes = self.pending.entry(pending).or_default();
                    writes.push_back(PendingWrite {
                        generation: note.generation,
                        sent: note.sent,
                        done: note.done,
                        offset: note.offset,
                        length: note.length,
                    });
                }
            }
        }
        Ok(())
    }

    /// Notes that a client flushed the writes that were answered before it sent the flush. Those
    /// before it opened the file are no matter of this flush: the server may have started anew,
    /// and have lost them by then.
    fn flush(&mut self, place: NotedFile, pending: NotedHandle, flush: &AnswerNote) {
        let Some(writes) = self.pending.get_mut(&pending) else {
            return;
        };
        while let Some(write) = writes.pop_front_if(|write| write.done <= flush.sent) {
            if write.generation <= flush.generation {
                continue;
            }
            for block in blocks(&mut self.files, place, write.offset, write.length) {
                block.flushed = block.flushed.max(write.sent);
            }
        }
    }

    /// Makes room for the blocks of a file up to this byte.
    fn reach(&mut self, place: NotedFile, end: u64) -> Result<(), NotesError> {
        let blocks = self.files.entry(place).or_default();
        let needed = end.div_ceil(BLOCK_BYTES as u64);
        let more = needed.saturating_sub(blocks.len() as u64);
        if more > 0 {
            self.blocks += more;
            if self.blocks > BLOCKS_MAX {
                return Err(NotesError::TooLarge);
            }
            blocks.resize(needed as usize, BlockPromise::default());
        }
        Ok(())
    }

    /// Returns the files in their order, each with its blocks from the first one on. A block
    /// without an answered write is not known.
    pub fn files(&self) -> impl Iterator<Item = (NotedFile, &[BlockPromise])> {
        self.files.iter().map(|(file, blocks)| (*file, &blocks[..]))
    }

    /// Returns the population of a file.
    #[must_use]
    pub fn population(&self, file: NotedFile) -> &NotedPopulation {
        &self.populations[file.population as usize]
    }

    pub(super) fn noted(&self, population: u32) -> Option<&NotedPopulation> {
        self.populations.get(population as usize)
    }

    pub(super) fn promise(&self, file: NotedFile, block: u32) -> BlockPromise {
        let blocks = self.files.get(&file);
        let block = blocks.and_then(|blocks| blocks.get(block as usize));
        block.copied().unwrap_or_default()
    }
}

pub(super) fn place(population: &NotedPopulation, index: u32, note: &AnswerNote) -> NotedFile {
    NotedFile {
        population: index,
        client: match population.scope {
            Scope::Private => note.client,
            Scope::Shared => 0,
        },
        file: note.file,
    }
}

/// Returns the blocks of a write. They are in memory.
fn blocks(
    files: &mut BTreeMap<NotedFile, Vec<BlockPromise>>,
    place: NotedFile,
    offset: u64,
    length: u32,
) -> &mut [BlockPromise] {
    let first = (offset / BLOCK_BYTES as u64) as usize;
    let count = length as usize / BLOCK_BYTES;
    let blocks = files.get_mut(&place);
    blocks.map_or(&mut [], |blocks| &mut blocks[first..first + count])
}
