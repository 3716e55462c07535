//! The order of requests: the step at each position of the one sequence that all
//! clients share.
//!
//! sysbench steps through it with some counters under a lock. They are the requests
//! so far, the reads and writes so far, the next file, and whether anything was
//! written since the last flush. Here they are computed from the position, so that
//! clients share only one number. A test compares both.

use super::spread::Picker;
use super::{Fileio, Flushing, TestMode};
use crate::access::Access;
use crate::random::{GOLDEN_GAMMA, finalise};

/// The step at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceStep {
    /// Reads a range of a file.
    Read(FileRange),
    /// Writes a range of a file.
    Write(FileRange),
    /// Flushes the file with this index.
    Flush(u32),
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// The file's index.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// The sequence of a test and a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    mode: TestMode,
    files: u32,
    file_bytes: u64,
    /// Bytes of a request. The last request of a file may be shorter.
    request: u64,
    /// Number of sequential requests in a file.
    per_file: u64,
    flushes: Flushes,
    mixing: Mixing,
    picker: Picker,
}

/// When all files are flushed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flushes {
    Never,
    /// After every interval of this number of requests. Each interval contains a
    /// write.
    Regular(u64),
    /// After an interval of this number of requests, if it contains a write. No
    /// interval contains more than one.
    Sparse(u64),
}

impl Sequence {
    /// Makes the sequence of a test whose options are valid ([`Fileio::check`]).
    #[must_use]
    pub fn new(test: &Fileio, seed: u64) -> Self {
        let file_bytes = test.file_bytes();
        let request = test.request().0;
        let mixing = Mixing {
            ratio: test.rw_ratio,
        };
        let every = match test.flushing {
            Flushing::Sets { every, .. } if test.mode.writes() => every.map(u64::from),
            _ => None,
        };
        let flushes = match every.filter(|&every| every > 0) {
            None => Flushes::Never,
            Some(every) if test.mode == TestMode::RndRw && !mixing.writes_within(every) => {
                Flushes::Sparse(every)
            }
            Some(every) => Flushes::Regular(every),
        };
        let blocks = (file_bytes * u64::from(test.files)).div_ceil(request);
        let key = finalise(seed.wrapping_add(GOLDEN_GAMMA));
        Self {
            mode: test.mode,
            files: test.files,
            file_bytes,
            request,
            per_file: file_bytes.div_ceil(request),
            flushes,
            mixing,
            picker: Picker::new(test.spread, key, blocks),
        }
    }

    /// Returns the step at `position`, from 0.
    #[must_use]
    pub fn step(&self, position: u64) -> SequenceStep {
        match self.locate(position) {
            Located::Flush(file) => SequenceStep::Flush(file),
            Located::Request(number) => self.request(number),
        }
    }

    fn request(&self, number: u64) -> SequenceStep {
        let place = match self.mode.access() {
            Access::Sequential => {
                let at = number % (self.per_file * u64::from(self.files));
                self.place(at / self.per_file, at % self.per_file * self.request)
            }
            Access::Random => {
                let byte = self.picker.pick(number) * self.request;
                self.place(byte / self.file_bytes, byte % self.file_bytes)
            }
        };
        let is_write = match self.mode {
            TestMode::SeqRd | TestMode::RndRd => false,
            TestMode::SeqWr | TestMode::SeqReWr | TestMode::RndWr => true,
            TestMode::RndRw => self.mixing.is_write(number),
        };
        if is_write {
            SequenceStep::Write(place)
        } else {
            SequenceStep::Read(place)
        }
    }

    fn place(&self, file: u64, offset: u64) -> FileRange {
        FileRange {
            file: file as u32,
            offset,
            // The length fits: a request has at most OPERATION_BYTES_MAX.
            length: self.request.min(self.file_bytes - offset) as u32,
        }
    }

    /// Returns whether `position` is a flush, or which request it is.
    fn locate(&self, position: u64) -> Located {
        let files = u64::from(self.files);
        match self.flushes {
            Flushes::Never => Located::Request(position),
            Flushes::Regular(every) => {
                let round = every + files;
                let (rounds, within) = (position / round, position % round);
                match within.checked_sub(every) {
                    None => Located::Request(rounds * every + within),
                    Some(file) => Located::Flush(file as u32),
                }
            }
            Flushes::Sparse(every) => {
                // The position of the flushes after write number `index`.
                let start = |index: u64| {
                    let request = self.mixing.write_at(index);
                    let end = (request / every + 1).saturating_mul(every);
                    end.saturating_add(index * files)
                };
                let gap = self.mixing.ratio + 1.0 + files as f64;
                let mut begun = (position as f64 / gap) as u64;
                while begun > 0 && start(begun - 1) > position {
                    begun -= 1;
                }
                while start(begun) <= position {
                    begun += 1;
                }
                match begun.checked_sub(1).map(start) {
                    Some(start) if position - start < files => {
                        Located::Flush((position - start) as u32)
                    }
                    _ => Located::Request(position - begun * files),
                }
            }
        }
    }
}

enum Located {
    Request(u64),
    Flush(u32),
}

/// Reads and writes in a ratio. A request is a read if (reads + 1) / (writes + 1)
/// is less than the ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mixing {
    ratio: f64,
}

impl Mixing {
    /// Returns the number of reads before write number `index`.
    fn reads_before(self, index: u64) -> u64 {
        let writes = (index + 1) as f64;
        let is_due = |reads: u64| (reads + 1) as f64 / writes >= self.ratio;
        let mut reads = ((self.ratio * writes).ceil() as u64).saturating_sub(1);
        // Rounding may change the last digit of the product.
        while reads > 0 && is_due(reads - 1) {
            reads -= 1;
        }
        while !is_due(reads) {
            reads += 1;
        }
        reads
    }

    /// Returns the number of the request that is write number `index`.
    fn write_at(self, index: u64) -> u64 {
        self.reads_before(index) + index
    }

    /// Whether request `number` is a write.
    fn is_write(self, number: u64) -> bool {
        let mut writes = (number as f64 / (self.ratio + 1.0)) as u64;
        while writes > 0 && self.write_at(writes - 1) >= number {
            writes -= 1;
        }
        while self.write_at(writes) < number {
            writes += 1;
        }
        self.write_at(writes) == number
    }

    /// Whether any `every` consecutive requests contain a write. Two writes are at
    /// most the ratio, rounded up, plus one apart. If that is more than `every`,
    /// they are at least `every` apart.
    fn writes_within(self, every: u64) -> bool {
        self.ratio.ceil() + 1.0 <= every as f64
    }
}

#[cfg(test)]
mod tests;
