//! What each client does next: a pure function of workload, seed, client and
//! sequence number.
//!
//! Requests that move data are numbered from 0 for each client. What is random
//! about request `index` (its kind, its size, and for random access its file
//! and offset) depends on (seed, client, index) and nothing else, so any one
//! can be computed alone. Two things are folds over the indices before: where a
//! sequential request starts, and when a FLUSH falls due. Neither depends on
//! time, threads or answers.
//!
//! Sequential access starts at the beginning of the client's first file. On
//! shared files clients start spread over the whole set instead, so that they
//! do not all read the block that another has just brought into the server's
//! cache: client c starts c golden sections along, rounded down to a multiple
//! of the largest request. That leaves even gaps for any number of clients.
//!
//! [`OpStream::next`] allocates nothing and does no floating-point arithmetic.

use std::sync::Arc;

use crate::plan::{Access, FileSet, Scope, Workload};
use crate::random::{GOLDEN_GAMMA, below, draw, finalise};
use crate::record::OpKind;

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is.
    pub kind: OpKind,
    /// The file's index among the client's files, or among the shared ones.
    pub file: u32,
    /// First byte; 0 for a FLUSH.
    pub offset: u64,
    /// Bytes; 0 for a FLUSH.
    pub length: u32,
}

/// Probabilities are scaled to this, and compared with draws of 63 bits, so
/// that 0 % never and 100 % always happens.
const CERTAIN: u64 = 1 << 63;

/// A workload made ready for drawing; all clients share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Below this, a draw is a read.
    reads_below: u64,
    /// Below the n-th of these, a draw has at most the n-th size.
    sizes_below: Vec<u64>,
    sizes: Vec<RequestSize>,
    access: Access,
    files: FileSet,
    flush_every_writes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct RequestSize {
    bytes: u32,
    /// Multiples of `bytes` at which a request fits into a file.
    slots: u64,
}

/// What a draw is for. The draws of one request are that many positions of one
/// SplitMix64 sequence.
#[derive(Clone, Copy)]
enum Purpose {
    Kind,
    Size,
    File,
    Slot,
}

const PURPOSES: u64 = 4;

impl Mix {
    /// Prepares a workload out of a valid [`Plan`](crate::plan::Plan).
    #[must_use]
    pub fn new(workload: &Workload) -> Arc<Self> {
        let drawn = || workload.sizes.iter().filter(|size| size.weight > 0.0);
        let total: f64 = drawn().map(|size| size.weight).sum();
        let mut sum = 0.0;
        let mut sizes_below: Vec<u64> = drawn()
            .map(|size| {
                sum += size.weight;
                scaled(sum / total)
            })
            .collect();
        // The sum of the shares can miss 1 by a rounding error.
        if let Some(last) = sizes_below.last_mut() {
            *last = CERTAIN;
        }
        let sizes = drawn()
            .map(|size| RequestSize {
                bytes: size.size,
                slots: workload.files.size / u64::from(size.size),
            })
            .collect();
        Arc::new(Self {
            reads_below: scaled(workload.read_percent / 100.0),
            sizes_below,
            sizes,
            access: workload.access,
            files: workload.files,
            flush_every_writes: workload.flush_every_writes,
        })
    }

    /// Kind and size of data request `index` of the client with this key.
    fn kind_and_size(&self, key: u64, index: u64) -> (OpKind, RequestSize) {
        let kind = match pick(key, index, Purpose::Kind) >> 1 < self.reads_below {
            true => OpKind::Read,
            false => OpKind::Write,
        };
        let share = pick(key, index, Purpose::Size) >> 1;
        let at = self.sizes_below.partition_point(|below| *below <= share);
        (kind, self.sizes[at])
    }

    /// File and offset of a random request of this size.
    fn random_place(&self, key: u64, index: u64, size: RequestSize) -> (u32, u64) {
        let file = match self.files.count {
            1 => 0,
            count => below(pick(key, index, Purpose::File), u64::from(count)) as u32,
        };
        let slot = below(pick(key, index, Purpose::Slot), size.slots);
        (file, slot * u64::from(size.bytes))
    }

    /// Where a client's sequential access starts.
    fn start(&self, client: u32) -> Cursor {
        let largest = self.sizes.iter().max_by_key(|size| size.bytes);
        let (Scope::Shared, Some(largest)) = (self.files.scope, largest) else {
            return Cursor::default();
        };
        let along = u64::from(client).wrapping_mul(GOLDEN_GAMMA);
        let slot = below(along, largest.slots * u64::from(self.files.count));
        Cursor {
            file: (slot / largest.slots) as u32,
            offset: slot % largest.slots * u64::from(largest.bytes),
        }
    }
}

fn scaled(share: f64) -> u64 {
    (share * CERTAIN as f64) as u64
}

fn pick(key: u64, index: u64, purpose: Purpose) -> u64 {
    draw(key, index.wrapping_mul(PURPOSES) + purpose as u64)
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
            self.offset = 0;
            self.file = match self.file + 1 {
                file if file < files.count => file,
                _ => 0,
            };
        }
        let place = (self.file, self.offset);
        self.offset += u64::from(bytes);
        place
    }
}

/// The requests of one client, without end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpStream {
    mix: Arc<Mix>,
    key: u64,
    /// Of the next request that moves data.
    index: u64,
    cursor: Cursor,
    writes_since_flush: u32,
    last_written: u32,
}

impl OpStream {
    /// The stream of `client` (from 0) from its first request.
    #[must_use]
    pub fn new(mix: &Arc<Mix>, seed: u64, client: u32) -> Self {
        Self {
            mix: Arc::clone(mix),
            // Hashed apart, so that seed 1 of client 2 is not seed 2 of client 1
            // and neighbouring keys are far apart in the generator's sequence.
            key: finalise(finalise(seed.wrapping_add(GOLDEN_GAMMA)) ^ u64::from(client)),
            index: 0,
            cursor: mix.start(client),
            writes_since_flush: 0,
            last_written: 0,
        }
    }

    /// The stream of `client` as it is after `index` data requests; a FLUSH
    /// that the last of them made due comes first. Constant time when nothing
    /// is folded (random access without flushes), else proportional to `index`.
    #[must_use]
    pub fn at(mix: &Arc<Mix>, seed: u64, client: u32, index: u64) -> Self {
        let mut stream = Self::new(mix, seed, client);
        if mix.access == Access::Random && mix.flush_every_writes.is_none() {
            stream.index = index;
        }
        while stream.index < index {
            stream.next();
        }
        stream
    }

    /// Data request number `index` of `client`, alone. Constant time for random
    /// access; for sequential access the cursor is folded over those before.
    #[must_use]
    pub fn data_operation(mix: &Arc<Mix>, seed: u64, client: u32, index: u64) -> Operation {
        let mut stream = Self::new(mix, seed, client);
        if mix.access == Access::Random {
            stream.index = index;
        }
        while stream.index < index {
            stream.next_data();
        }
        stream.next_data()
    }

    /// The next request: a FLUSH of the file last written when one is due, and
    /// else the next that moves data.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would wrap each item of an endless stream in Some"
    )]
    pub fn next(&mut self) -> Operation {
        if self.mix.flush_every_writes == Some(self.writes_since_flush) {
            self.writes_since_flush = 0;
            return Operation {
                kind: OpKind::Flush,
                file: self.last_written,
                offset: 0,
                length: 0,
            };
        }
        let operation = self.next_data();
        if operation.kind == OpKind::Write {
            self.last_written = operation.file;
            // Only ever compared when flushes are wanted; otherwise free to wrap.
            self.writes_since_flush = self.writes_since_flush.wrapping_add(1);
        }
        operation
    }

    fn next_data(&mut self) -> Operation {
        let (kind, size) = self.mix.kind_and_size(self.key, self.index);
        let (file, offset) = match self.mix.access {
            Access::Random => self.mix.random_place(self.key, self.index, size),
            Access::Sequential => self.cursor.advance(size.bytes, &self.mix.files),
        };
        self.index += 1;
        Operation {
            kind,
            file,
            offset,
            length: size.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
