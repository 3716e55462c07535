//! The workload of `sysbench fileio`: its six test modes on a fixed set of files
//! that all clients share, with its options and their meaning.
//!
//! The order of requests is that of sysbench 1.0.20 (akopytov/sysbench,
//! `src/tests/fileio/sb_fileio.c`). All threads, here clients, share one sequence.
//! Each takes the next request when it has finished its last one. Here every
//! request is a pure function of the seed and of its position in the sequence
//! ([`Sequence`]). As in sysbench, the server's speed determines which client sends
//! it.
//!
//! Two things differ:
//!
//! - In `rndrw` sysbench counts answered requests, and this module counts sent
//!   ones. With several clients the two counts differ by at most the number of
//!   clients.
//! - Offsets are drawn as `--rand-type` says. sysbench reads that option, but
//!   always draws uniformly here. Uniform is the default of this module.
//!
//! Not here: where the files are and how they are made (`share`), and the names of
//! the command's options.

mod manifest;
mod sequence;
mod spread;

use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::access::Access;
use crate::action::Action;
use crate::bounds::{HELD_FILES_MAX, OPERATION_BYTES_MAX};
use crate::units::{Size, format_duration};
pub use manifest::{Contents, MANIFEST_BYTES_MAX, Manifest};
pub use manifest::{FileioError, Prepared};
pub use sequence::{FileRange, Sequence, SequenceStep};
pub use spread::RequestSpread;

/// The largest ratio of reads to writes.
pub const RW_RATIO_MAX: f64 = 1e9;

smbench_protocol::named! {
    /// The test mode: the order of offsets, and reads or writes there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TestMode {
        /// Sequential writes into files that are emptied before.
        SeqWr => "seqwr",
        /// Sequential writes.
        SeqReWr => "seqrewr",
        /// Sequential reads.
        SeqRd => "seqrd",
        /// Random reads.
        RndRd => "rndrd",
        /// Random writes.
        RndWr => "rndwr",
        /// Random reads and writes.
        RndRw => "rndrw",
    }
}

impl TestMode {
    /// Returns the order of offsets.
    #[must_use]
    pub const fn access(self) -> Access {
        match self {
            Self::SeqWr | Self::SeqReWr | Self::SeqRd => Access::Sequential,
            Self::RndRd | Self::RndWr | Self::RndRw => Access::Random,
        }
    }

    /// Whether the mode reads.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::SeqRd | Self::RndRd | Self::RndRw)
    }

    /// Whether the mode writes.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::SeqRd | Self::RndRd)
    }
}

/// When files are flushed. A test without writes never flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Flushing {
    /// A FLUSH of the file follows each write. The two are one event.
    EachWrite,
    /// Flushes of every file, at an interval or at the end.
    Sets {
        /// Number of requests after which every file is flushed, if any of them was
        /// a write; `None` for never. Each FLUSH is an event.
        every: Option<u32>,
        /// Whether every client flushes every file after the load. These flushes
        /// are not events.
        at_end: bool,
    },
}

/// The files to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileOrigin {
    /// Files that were prepared before. They stay after the run.
    Prepared,
    /// Files of the run, which makes and removes them.
    Own,
}

/// The options of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Fileio {
    /// The test mode.
    pub mode: TestMode,
    /// The number of files.
    pub files: u32,
    /// Bytes of all files together. Each file has an equal share, rounded down.
    pub total: Size,
    /// Bytes of a request. The last request of a file may be shorter.
    pub block: Size,
    /// Number of blocks in a sequential request; 0 means 1.
    pub merged: u32,
    /// When files are flushed.
    pub flushing: Flushing,
    /// Reads for each write in [`TestMode::RndRw`].
    pub rw_ratio: f64,
    /// Distribution of random requests over the blocks.
    pub spread: RequestSpread,
    /// Number of events after which the test ends; `None` for no limit. Events of a
    /// warm-up do not count.
    pub events: Option<u64>,
    /// Time after which the test ends; `None` for no limit.
    pub time: Option<Duration>,
    /// The files to work on.
    pub home: FileOrigin,
}

/// A problem with an option, and how to correct it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FileioProblem {
    /// There are no files, or too many.
    #[error("there are {0} files: 1 to {HELD_FILES_MAX} are possible, all open at once")]
    Files(u32),
    /// The requests have no bytes.
    #[error("requests of no bytes do nothing: give 1 or more")]
    BlockZero,
    /// The requests are too large.
    #[error("requests of {} are too large: at most {} are possible", .0, Size(OPERATION_BYTES_MAX))]
    RequestTooLarge(Size),
    /// The files are too small for a request.
    #[error(
        "{total} in {files} files is {file} in each, less than a block of {block}: give more bytes, \
         fewer files or smaller blocks"
    )]
    FileBelowBlock {
        /// Bytes of all files.
        total: Size,
        /// Number of files.
        files: u32,
        /// Bytes of each file.
        file: Size,
        /// Bytes of a request.
        block: Size,
    },
    /// The ratio of reads to writes is not possible.
    #[error("{0} reads for each write are none: give 0 to {RW_RATIO_MAX:e}")]
    RwRatio(f64),
    /// A parameter of the distribution is not valid.
    #[error("{0}")]
    Spread(&'static str),
    /// The test has neither a time nor a number of events.
    #[error("neither a time nor a number of events: the test would never end, give one of them")]
    Endless,
    /// The run's options ask for several outstanding requests.
    #[error("one client has one request in flight here: give outstanding 1")]
    Outstanding,
    /// The run's options have another time.
    #[error("the time is {}, but the measured time is {}", format_duration(*.time), format_duration(*.duration))]
    Time {
        /// The time of the test.
        time: Duration,
        /// The time in the options of the run.
        duration: Duration,
    },
}

impl Fileio {
    /// Returns the bytes in each file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.total.0 / u64::from(self.files.max(1))
    }

    /// Returns the bytes of a request. The last request of a file may be shorter.
    #[must_use]
    pub fn request(&self) -> Size {
        let blocks = match self.mode.access() {
            Access::Sequential => self.merged.max(1),
            Access::Random => 1,
        };
        let bytes = self.block.0.saturating_mul(blocks.into());
        // A request is never longer than its file.
        Size(bytes.min(self.file_bytes().max(self.block.0)))
    }

    /// Finds the first option that is not valid, by its field in sysbench's words.
    ///
    /// # Errors
    /// The problem with the option.
    pub fn check(&self) -> Result<(), (&'static str, FileioProblem)> {
        use FileioProblem as P;
        if !(1..=HELD_FILES_MAX).contains(&self.files) {
            return Err(("file_num", P::Files(self.files)));
        }
        if self.block.0 == 0 {
            return Err(("file_block_size", P::BlockZero));
        }
        let file = Size(self.file_bytes());
        if file < self.block {
            let (total, files, block) = (self.total, self.files, self.block);
            let problem = P::FileBelowBlock {
                total,
                files,
                file,
                block,
            };
            return Err(("file_total_size", problem));
        }
        if self.request().0 > OPERATION_BYTES_MAX {
            let field = if self.block.0 > OPERATION_BYTES_MAX {
                "file_block_size"
            } else {
                "file_merged_requests"
            };
            return Err((field, P::RequestTooLarge(self.request())));
        }
        if !(0.0..=RW_RATIO_MAX).contains(&self.rw_ratio) {
            return Err(("file_rw_ratio", P::RwRatio(self.rw_ratio)));
        }
        self.spread
            .check()
            .map_err(|(field, problem)| (field, P::Spread(problem)))?;
        if self.events.is_none() && self.time.is_none() {
            return Err(("time", P::Endless));
        }
        Ok(())
    }

    /// Returns every action that can occur: first reads, then writes, then flushes.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.mode.reads() {
            actions.push(Action::Read { unbuffered: false });
        }
        if !self.mode.writes() {
            return actions;
        }
        match self.flushing {
            Flushing::EachWrite => actions.push(Action::WriteFlush),
            Flushing::Sets { every, at_end } => {
                actions.push(Action::Write {
                    write_through: false,
                    unbuffered: false,
                });
                actions.extend(every.map(|_| Action::Flush));
                actions.extend(at_end.then_some(Action::FinalFlush));
            }
        }
        actions
    }
}
