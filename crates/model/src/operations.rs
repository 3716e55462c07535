//! The operations of each client: a pure function of workload, seed, client and
//! sequence number.
//!
//! Drawn actions are numbered from 0 for each client. The random properties of
//! action `index` are its kind, its size, and for random access its file and
//! offset. They depend only on (seed, client, index), so each action can be
//! computed alone. Two properties are folds over the earlier indices: the start of
//! a sequential request, and when a FLUSH falls due. Neither depends on time,
//! threads or answers. In an access pattern, bursts and offsets are folds too.
//!
//! An action may take several requests. Each request after the first is a pure
//! function of the previous one and its result: [`Mix::after`].
//!
//! Sequential access starts at the beginning of the client's first file. On shared
//! files the starts of the clients are spread over the whole set. Otherwise all
//! clients would read the block that another client has just brought into the
//! server's cache. Client c starts c golden sections into the set, rounded down to
//! a multiple of the largest request. The gaps are therefore even for any number of
//! clients.
//!
//! [`OpStream::next`] does not allocate and does no floating-point arithmetic.

pub mod fileio;
mod mix;
mod own;
#[doc(hidden)]
pub mod pattern;
pub mod replay;
mod steps;

use std::sync::Arc;

use crate::access::Access;
use crate::action::Range;
use crate::files::FileSet;
use crate::kind::OpKind;
use crate::random::{GOLDEN_GAMMA, finalise};
use crate::tree::Tree;
use mix::Turns;
pub use mix::{Mix, RequestResult};
pub use own::{Drawn, Stream, Streams};
use pattern::Walk;

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The kind of request.
    pub kind: OpKind,
    /// Index of its action in its [`Mix`]. In a replay each record of the trace is
    /// an action.
    pub action: u32,
    /// The file's index among the client's files, or among the shared files. In a
    /// replay these are the files that the trace has open at the same time; an
    /// operation without a handle has the index after them.
    pub file: u32,
    /// First byte; 0 for a request without a range of a file.
    pub offset: u64,
    /// Bytes; 0 for a request without a range of a file.
    pub length: u32,
}

/// The start of the next sequential request, if it fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    file: u32,
    /// The next directory of a tree.
    directory: u32,
    offset: u64,
}

impl Cursor {
    /// Returns file and offset of the next request of `bytes`, and moves behind it.
    fn advance(&mut self, bytes: u32, files: &FileSet) -> (u32, u64) {
        if self.offset + u64::from(bytes) > files.size {
            self.turn_over(files);
        }
        let place = (self.file, self.offset);
        self.offset += u64::from(bytes);
        place
    }

    /// Moves to the beginning of the next file.
    fn turn_over(&mut self, files: &FileSet) {
        self.offset = 0;
        self.file = match self.file + 1 {
            file if file < files.count => file,
            _ => 0,
        };
    }

    /// Returns the next directory, and moves behind it.
    fn advance_directory(&mut self, tree: &Tree) -> u32 {
        let directory = self.directory;
        self.directory = (directory + 1) % tree.directories();
        directory
    }
}

/// The endless requests of one client.
#[derive(Clone, Debug, PartialEq)]
pub struct OpStream {
    mix: Arc<Mix>,
    key: u64,
    /// Index of the next action to draw.
    index: u64,
    cursor: Cursor,
    writes_since_flush: u32,
    last_written: u32,
    /// The position in a pattern, and the kind of its last request.
    walk: (Walk, OpKind),
}

/// Returns the key of a client's draws.
#[doc(hidden)]
#[inline]
pub const fn client_key(seed: u64, client: u32) -> u64 {
    // Seed and client are hashed separately. Seed 1 of client 2 therefore differs
    // from seed 2 of client 1, and similar keys are far apart in the generator's
    // sequence.
    finalise(finalise(seed.wrapping_add(GOLDEN_GAMMA)) ^ client as u64)
}

impl OpStream {
    /// Returns the stream of `client` (from 0) at its first request.
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

    /// Returns the stream of `client` after `index` drawn actions. A FLUSH that the
    /// last of them made due comes first. It takes constant time for random access
    /// without flushes or a pattern. Otherwise the time is proportional to `index`.
    #[must_use]
    pub fn at(mix: &Arc<Mix>, seed: u64, client: u32, index: u64) -> Self {
        let mut stream = Self::new(mix, seed, client);
        if mix.draws_apart() && matches!(mix.turns, Turns::Draws | Turns::Tree) {
            stream.index = index;
        }
        while stream.index < index {
            stream.next();
        }
        stream
    }

    /// Returns the mix that it draws from.
    #[inline]
    #[must_use]
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Returns the next request: a FLUSH of the file last written if one is due,
    /// otherwise the first request of the next action.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would wrap each item of an endless stream in Some"
    )]
    #[inline]
    pub fn next(&mut self) -> Operation {
        if !matches!(self.mix.turns, Turns::Draws)
            && let Some(operation) = self.next_in_turn()
        {
            return operation;
        }
        let operation = self.next_drawn();
        if operation.kind == OpKind::Write {
            self.last_written = operation.file;
            // Only compared when flushes are wanted; otherwise it may wrap.
            self.writes_since_flush = self.writes_since_flush.wrapping_add(1);
        }
        operation
    }

    /// Returns the next request if a flush rule or a pattern decides it. It is not
    /// inlined, so that drawing keeps its registers.
    #[inline(never)]
    fn next_in_turn(&mut self) -> Option<Operation> {
        match &self.mix.turns {
            Turns::Draws => None,
            Turns::Tree => Some(self.next_in_tree()),
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

    fn next_in_pattern(&mut self) -> Operation {
        let Turns::Lines(lines) = &self.mix.turns else {
            unreachable!("only called where there are lines");
        };
        let (key, index) = (self.key, self.index);
        self.index += 1;
        let (walk, last) = &mut self.walk;
        let operation = lines.next(key, index, walk, *last, &mut self.cursor, &self.mix.files);
        *last = operation.kind;
        operation
    }

    /// Returns the next request on a file or a directory of a tree. Sequential access takes
    /// them in the order of their numbers.
    fn next_in_tree(&mut self) -> Operation {
        let (mix, key, index) = (&*self.mix, self.key, self.index);
        let Some(tree) = mix.files().tree() else {
            unreachable!("only called where there is a tree");
        };
        let drawn = mix.drawn(key, index);
        let file = match (drawn.range, mix.access) {
            (Range::NewFile, _) => index as u32,
            (Range::Directory, Access::Random) => mix.popular_directory(tree, key, index),
            (Range::Directory, Access::Sequential) => self.cursor.advance_directory(tree),
            (_, Access::Random) => mix.popular_file(tree, key, index),
            (_, Access::Sequential) => {
                let file = self.cursor.file;
                self.cursor.turn_over(mix.files());
                file
            }
        };
        let (offset, length) = match drawn.range {
            Range::Request => {
                let size = mix.size(key, index);
                mix.place_in(tree.size(file), size, key, index)
            }
            Range::PastEnd => (mix.past_end(key, index), 1),
            _ => (0, 0),
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
            (range, _) => self.beside_requests(range),
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

    /// Returns file, offset and length of an action that moves no data of a drawn size. It is
    /// not inlined, so that drawing a READ or a WRITE stays short.
    #[inline(never)]
    fn beside_requests(&mut self, range: Range) -> (u32, u64, u32) {
        let (mix, key, index) = (&*self.mix, self.key, self.index);
        let file = match (range, mix.access) {
            (Range::NewFile, _) => index as u32,
            // A set of files has one directory.
            (Range::Directory, _) => 0,
            (_, Access::Random) => mix.random_file(key, index),
            (Range::WholeFile, Access::Sequential) => {
                let file = self.cursor.file;
                self.cursor.turn_over(&mix.files);
                file
            }
            (_, Access::Sequential) => self.cursor.file,
        };
        match range {
            Range::PastEnd => (file, mix.past_end(key, index), 1),
            _ => (file, 0, 0),
        }
    }
}

#[cfg(test)]
mod tests;
