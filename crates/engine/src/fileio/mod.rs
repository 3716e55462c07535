//! What `sysbench fileio` does, as a workload: its six test modes on a fixed set
//! of files that all clients share, with its options and their meaning.
//!
//! The order of requests is that of sysbench 1.0.20 (akopytov/sysbench,
//! `src/tests/fileio/sb_fileio.c`): one sequence of which each thread, here each
//! client, takes the next request when it has finished its last. Here every
//! request is a pure function of the seed and of its position in that sequence
//! ([`Sequence`]); which client comes to carry it out depends on the server, as it
//! does there. Two things differ. In `rndrw` sysbench counts what has been
//! answered and this what has been sent, so with several clients the two are at
//! most as many requests apart as there are clients. And positions are drawn from
//! `--rand-type`, which sysbench reads but does not use here: it is always uniform
//! there, which is the default here.
//!
//! Not here: where the files are and how they are made (`share`), nor what the
//! command calls its options.

mod manifest;
mod sequence;
mod sharing;
mod spread;

use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::cancel::Cancel;
use crate::plan::action::Action;
use crate::plan::{Access, FILES_MAX, Limits, REQUEST_BYTES_MAX, SessionOptions};
use crate::probe::block_on;
use crate::session::{Endpoint, SessionError};
use crate::share;
use crate::target::Target;
use crate::units::{Size, format_duration};

pub(crate) use manifest::{Contents, MANIFEST_BYTES_MAX, Manifest};
pub use manifest::{FileioError, Prepared};
pub use sequence::{Place, Sequence, Step};
pub(crate) use sharing::{Player, Sequences};
pub use spread::Spread;

/// Reads for each write beyond which a ratio is no ratio.
pub const RW_RATIO_MAX: f64 = 1e9;

/// Credits asked for while files are prepared.
const CREDITS: u16 = 32;

/// The order of offsets, and what is done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestMode {
    /// Writes one after the other, into files that are made anew.
    SeqWr,
    /// Writes one after the other.
    SeqReWr,
    /// Reads one after the other.
    SeqRd,
    /// Reads anywhere.
    RndRd,
    /// Writes anywhere.
    RndWr,
    /// Reads and writes anywhere.
    RndRw,
}

impl TestMode {
    /// Every mode.
    pub const ALL: [Self; 6] = [
        Self::SeqWr,
        Self::SeqReWr,
        Self::SeqRd,
        Self::RndRd,
        Self::RndWr,
        Self::RndRw,
    ];

    /// What sysbench calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SeqWr => "seqwr",
            Self::SeqReWr => "seqrewr",
            Self::SeqRd => "seqrd",
            Self::RndRd => "rndrd",
            Self::RndWr => "rndwr",
            Self::RndRw => "rndrw",
        }
    }

    /// The order of its offsets.
    #[must_use]
    pub const fn access(self) -> Access {
        match self {
            Self::SeqWr | Self::SeqReWr | Self::SeqRd => Access::Sequential,
            Self::RndRd | Self::RndWr | Self::RndRw => Access::Random,
        }
    }

    /// Whether it reads.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::SeqRd | Self::RndRd | Self::RndRw)
    }

    /// Whether it writes.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::SeqRd | Self::RndRd)
    }
}

/// When files are flushed; never where nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Flushing {
    /// Each write is followed by a FLUSH of its file; the two are one event.
    EachWrite,
    /// Now and then.
    Sets {
        /// Every file after each this many requests, if any of them was a write;
        /// `None` is never. Each FLUSH is an event.
        every: Option<u32>,
        /// Every file by every client when the load is over. None is an event.
        at_end: bool,
    },
}

/// Whose files are worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// Those that were prepared before, which stay.
    Prepared,
    /// The run's own, made and removed by it.
    Own,
}

/// A run of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fileio {
    /// What is done.
    pub mode: TestMode,
    /// How many files there are.
    pub files: u32,
    /// Bytes of all files together; each has an equal share, rounded down.
    pub total: Size,
    /// Bytes of a request, but for the last one of a file.
    pub block: Size,
    /// As many blocks make a sequential request; 0 is one, like 1.
    pub merged: u32,
    /// When files are flushed.
    pub flushing: Flushing,
    /// Reads for each write in [`TestMode::RndRw`].
    pub rw_ratio: f64,
    /// Which blocks random requests go to.
    pub spread: Spread,
    /// Events after which it is over; `None` is no limit. Those of a warm-up do
    /// not count.
    pub events: Option<u64>,
    /// After which it is over; `None` is no limit.
    pub time: Option<Duration>,
    /// Whose files are worked on.
    pub home: Home,
}

/// What is wrong with an option, and what would be right.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FileioProblem {
    /// No files, or too many.
    #[error("there are {0} files: 1 to {FILES_MAX} are possible, all open at once")]
    Files(u32),
    /// Requests of no bytes.
    #[error("requests of no bytes do nothing: give 1 or more")]
    BlockZero,
    /// Requests beyond what SMB carries.
    #[error("requests of {} are too large: at most {} are possible", .0, Size(REQUEST_BYTES_MAX))]
    RequestTooLarge(Size),
    /// Files that hold no request.
    #[error(
        "{total} in {files} files is {file} in each, less than a block of {block}: give more bytes, \
         fewer files or smaller blocks"
    )]
    FileBelowBlock {
        /// Of all files.
        total: Size,
        /// How many.
        files: u32,
        /// Of each.
        file: Size,
        /// Of a request.
        block: Size,
    },
    /// Reads for each write.
    #[error("{0} reads for each write are none: give 0 to {RW_RATIO_MAX:e}")]
    RwRatio(f64),
    /// A parameter of a distribution.
    #[error("{0}")]
    Spread(&'static str),
    /// Neither an end by the clock nor by the count.
    #[error("neither a time nor a number of events: the test would never end, give one of them")]
    Endless,
    /// Several of something that is once.
    #[error("one client has one request in flight here: give outstanding 1")]
    Outstanding,
    /// What came from elsewhere.
    #[error("the time is {}, but the measured time is {}", format_duration(*.time), format_duration(*.duration))]
    Time {
        /// Here.
        time: Duration,
        /// In the options of the run.
        duration: Duration,
    },
}

impl Fileio {
    /// Bytes in each file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.total.0 / u64::from(self.files.max(1))
    }

    /// Bytes of a request, but for the last one of a file.
    #[must_use]
    pub fn request(&self) -> Size {
        let blocks = match self.mode.access() {
            Access::Sequential => self.merged.max(1),
            Access::Random => 1,
        };
        let bytes = self.block.0.saturating_mul(blocks.into());
        // No request is longer than its file.
        Size(bytes.min(self.file_bytes().max(self.block.0)))
    }

    /// The first option that makes no sense, by its field in sysbench's words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, FileioProblem)> {
        use FileioProblem as P;
        if !(1..=FILES_MAX).contains(&self.files) {
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
        if self.request().0 > REQUEST_BYTES_MAX {
            let field = match self.block.0 > REQUEST_BYTES_MAX {
                true => "file_block_size",
                false => "file_merged_requests",
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

    /// Checks requests against the most that a server, the one `at` this place,
    /// takes in each of these kinds.
    pub(crate) fn check_requests(
        &self,
        limits: impl IntoIterator<Item = (&'static str, u32)>,
        at: &str,
    ) -> Result<(), FileioError> {
        let request = self.request();
        let mut limits = limits.into_iter();
        match limits.find(|(_, limit)| request.0 > u64::from(*limit)) {
            Some((kind, limit)) => Err(FileioError::BlockTooLarge {
                kind,
                wanted: format!("{request:#}"),
                at: at.to_owned(),
                limit: format!("{:#}", Size(limit.into())),
            }),
            None => Ok(()),
        }
    }

    /// Everything that can happen; reads first, then writes, then flushes.
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

/// Makes the files of a test on a share, blocking the thread, or goes on where an
/// earlier call has stopped. They stay until [`remove`] is called. `progress` is
/// called with bytes written so far, and those that were missing.
///
/// # Errors
/// When the server cannot be reached or refuses; when the files cannot fit, or
/// others were prepared before: nothing has been written then.
pub fn prepare(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    test: &Fileio,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Prepared, SessionError> {
    block_on(async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS).await?;
        share::prepare_kept(&endpoint, test, cancel, progress).await
    })
}

/// Removes what [`prepare`] has made, blocking the thread; the directory's name
/// from the share's root, `None` where there was none.
///
/// # Errors
/// When the server cannot be reached or refuses, or the files are in use.
pub fn remove(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
) -> Result<Option<String>, SessionError> {
    block_on(async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS).await?;
        share::remove_kept(&endpoint).await
    })
}
