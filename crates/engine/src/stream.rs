//! What each client does next: a pure function of workload, seed, client and
//! sequence number.
//!
//! Actions that are drawn are numbered from 0 for each client. What is random
//! about action `index` (which it is, its size, and for random access its file
//! and offset) depends on (seed, client, index) and nothing else, so any one
//! can be computed alone. Two things are folds over the indices before: where a
//! sequential request starts, and when a FLUSH falls due. Neither depends on
//! time, threads or answers. Of an access pattern, bursts and places are folds
//! as well.
//!
//! An action may take several requests. Those after the first are a pure
//! function of the one before and how it went: [`Mix::after`].
//!
//! Sequential access starts at the beginning of the client's first file. On
//! shared files clients start spread over the whole set instead, so that they
//! do not all read the block that another has just brought into the server's
//! cache: client c starts c golden sections along, rounded down to a multiple
//! of the largest request. That leaves even gaps for any number of clients.
//!
//! [`OpStream::next`] allocates nothing and does no floating-point arithmetic.

mod mix;
mod own;
pub(crate) mod pattern;

use std::sync::Arc;

use crate::plan::action::Range;
use crate::plan::{Access, FileSet};
use crate::random::{GOLDEN_GAMMA, finalise};
use crate::record::OpKind;

use mix::Turns;
pub use mix::{Mix, Went};
pub use own::{Drawn, Stream, Streams};
use pattern::Walk;

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is.
    pub kind: OpKind,
    /// Which action of its [`Mix`] it belongs to.
    pub action: u8,
    /// The file's index among the client's files, or among the shared ones.
    pub file: u32,
    /// First byte; 0 where no range of a file is worked on.
    pub offset: u64,
    /// Bytes; likewise.
    pub length: u32,
}

/// Where the next sequential request starts, if it fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    file: u32,
    offset: u64,
}

impl Cursor {
    /// The place of the next request of `bytes`, and moves behind it.
    fn advance(&mut self, bytes: u32, files: &FileSet) -> (u32, u64) {
        if self.offset + u64::from(bytes) > files.size {
            self.turn_over(files);
        }
        let place = (self.file, self.offset);
        self.offset += u64::from(bytes);
        place
    }

    /// To the beginning of the next file.
    fn turn_over(&mut self, files: &FileSet) {
        self.offset = 0;
        self.file = match self.file + 1 {
            file if file < files.count => file,
            _ => 0,
        };
    }
}

/// The requests of one client, without end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpStream {
    mix: Arc<Mix>,
    key: u64,
    /// Of the next action that is drawn.
    index: u64,
    cursor: Cursor,
    writes_since_flush: u32,
    last_written: u32,
    /// Of a pattern, and the kind of its last request.
    walk: (Walk, OpKind),
}

/// The key of a client's draws.
pub(crate) const fn client_key(seed: u64, client: u32) -> u64 {
    // Hashed apart, so that seed 1 of client 2 is not seed 2 of client 1 and
    // neighbouring keys are far apart in the generator's sequence.
    finalise(finalise(seed.wrapping_add(GOLDEN_GAMMA)) ^ client as u64)
}

impl OpStream {
    /// The stream of `client` (from 0) from its first request.
    #[must_use]
    pub fn new(mix: &Arc<Mix>, seed: u64, client: u32) -> Self {
        Self {
            mix: mix.of_client(client),
            key: client_key(seed, client),
            index: 0,
            cursor: mix.start(client),
            writes_since_flush: 0,
            last_written: 0,
            walk: (Walk::default(), OpKind::Read),
        }
    }

    /// The stream of `client` as it is after `index` drawn actions; a FLUSH
    /// that the last of them made due comes first. Constant time when nothing
    /// is folded (random access without flushes or pattern), else proportional to `index`.
    #[must_use]
    pub fn at(mix: &Arc<Mix>, seed: u64, client: u32, index: u64) -> Self {
        let mut stream = Self::new(mix, seed, client);
        if mix.draws_apart() && mix.turns == Turns::Draws {
            stream.index = index;
        }
        while stream.index < index {
            stream.next();
        }
        stream
    }

    /// The first request of drawn action number `index` of `client`, alone.
    /// Constant time for random access; for sequential access and patterns what
    /// is folded is folded over those before.
    #[must_use]
    pub fn drawn_operation(mix: &Arc<Mix>, seed: u64, client: u32, index: u64) -> Operation {
        let mut stream = Self::new(mix, seed, client);
        if mix.draws_apart() {
            stream.index = index;
        }
        while stream.index < index {
            stream.next_action();
        }
        stream.next_action()
    }

    /// The next request: a FLUSH of the file last written when one is due, and
    /// else the first request of the next action.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would wrap each item of an endless stream in Some"
    )]
    pub fn next(&mut self) -> Operation {
        if !matches!(self.mix.turns, Turns::Draws)
            && let Some(operation) = self.next_in_turn()
        {
            return operation;
        }
        let operation = self.next_drawn();
        if operation.kind == OpKind::Write {
            self.last_written = operation.file;
            // Only ever compared when flushes are wanted; otherwise free to wrap.
            self.writes_since_flush = self.writes_since_flush.wrapping_add(1);
        }
        operation
    }

    /// What comes next where that is not for a draw to say. Apart, so that draws keep
    /// their registers.
    #[inline(never)]
    fn next_in_turn(&mut self) -> Option<Operation> {
        match &self.mix.turns {
            Turns::Draws => None,
            Turns::Lines(_) => Some(self.next_in_pattern()),
            Turns::Flushes(flush) => {
                let is_due = flush.every_writes == self.writes_since_flush;
                is_due.then(|| {
                    self.writes_since_flush = 0;
                    Operation {
                        kind: OpKind::Flush,
                        action: flush.action,
                        file: self.last_written,
                        offset: 0,
                        length: 0,
                    }
                })
            }
        }
    }

    /// The first request of the next action.
    fn next_action(&mut self) -> Operation {
        match self.mix.turns {
            Turns::Lines(_) => self.next_in_pattern(),
            Turns::Draws | Turns::Flushes(_) => self.next_drawn(),
        }
    }

    fn next_in_pattern(&mut self) -> Operation {
        let Turns::Lines(lines) = &self.mix.turns else {
            unreachable!("only called where there are lines");
        };
        let at = (self.key, self.index);
        self.index += 1;
        let (walk, last) = &mut self.walk;
        let operation = lines.next(at, (walk, *last), &mut self.cursor, &self.mix.files);
        *last = operation.kind;
        operation
    }

    fn next_drawn(&mut self) -> Operation {
        let (mix, key, index) = (&*self.mix, self.key, self.index);
        let drawn = mix.drawn(key, index);
        let (file, offset, length) = match (drawn.range, mix.access) {
            (Range::Request, access) => {
                let size = mix.size(key, index);
                let (file, offset) = match access {
                    Access::Random => mix.random_place(key, index, size),
                    Access::Sequential => self.cursor.advance(size.bytes, &mix.files),
                };
                (file, offset, size.bytes)
            }
            (range, access) => {
                let file = match access {
                    Access::Random => mix.random_file(key, index),
                    Access::Sequential => self.cursor.file,
                };
                match range {
                    Range::PastEnd => (file, mix.past_end(key, index), 1),
                    _ => (file, 0, 0),
                }
            }
        };
        self.index += 1;
        Operation {
            kind: drawn.kind,
            action: drawn.action,
            file,
            offset,
            length,
        }
    }
}

#[cfg(test)]
mod tests;
