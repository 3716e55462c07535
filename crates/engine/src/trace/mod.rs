//! Operations of a client in the order in which they were recorded, or made up:
//! what a replay asks of a server.
//!
//! A trace is read or generated once, then immutable and shared by all clients of
//! a run. A `Record` has 24 bytes; names are kept once each, as SMB2 sends them.
//! Nothing here knows where records come from ([`crate::loadfile`],
//! [`crate::netbench`]) or how they look on the wire (the driver).

mod builder;
mod path;
mod population;
mod replay;
mod step;
mod verb;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use smbench_protocol::NtStatus;

use crate::record::OpKind;

pub(crate) use builder::Builder;
pub(crate) use path::Template;
pub(crate) use population::{Made, Population};
pub use replay::Replays;
pub(crate) use replay::{Player, pause_before};
pub(crate) use step::{Handle, Step, StepError};
pub use verb::Verb;

/// Records beyond which a trace is refused: 400 MB of them.
pub const RECORDS_MAX: usize = 1 << 24;

/// Stands for a handle that no record opened.
pub(crate) const NO_HANDLE: u32 = u32::MAX;

/// One operation. What fields mean is the verb's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) verb: Verb,
    /// Disposition of a create; class of what is asked, set or listed.
    pub(crate) class: u8,
    /// Index of the status that was recorded.
    pub(crate) status: u16,
    /// Index of a path, or of a handle.
    pub(crate) subject: u32,
    /// First byte; where the end of a file is set, that.
    pub(crate) offset: u64,
    /// Bytes; options of a create; names wanted of a listing.
    pub(crate) length: u32,
    /// Bytes that were moved; the handle a create makes; the path a rename
    /// leads to; the pattern of a listing.
    pub(crate) extra: u32,
}

/// What is recorded of whom, and in which order.
#[derive(Clone)]
pub struct Trace {
    pub(crate) records: Box<[Record]>,
    pub(crate) paths: Box<[Template]>,
    pub(crate) statuses: Box<[NtStatus]>,
    /// Handles open at the same time at most.
    pub(crate) handles: u32,
    /// When each record was made, in nanoseconds from the first; empty where
    /// nobody wrote it down.
    pub(crate) times: Box<[u64]>,
    /// Records before which the client slept, the one behind the last among them, and
    /// for how many nanoseconds.
    pub(crate) pauses: Box<[(u32, u64)]>,
    /// Where stretches begin that may follow each other in any order; a file is
    /// one of them.
    pub(crate) episodes: Box<[u32]>,
    pub(crate) population: Population,
    pub(crate) summary: Summary,
    /// Of whatever it was made from: equal for equal traces.
    pub(crate) digest: [u8; 32],
}

/// What there is to say of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The file it was read from, or the name of what it was made up by.
    pub source: String,
    /// Lines of that file; of what was made up, records.
    pub lines: u64,
    /// Operations, by the verb of a loadfile. Pauses are among them.
    pub operations: BTreeMap<Verb, u64>,
    /// Lines left out, by what they begin with.
    pub skipped: BTreeMap<String, u64>,
    /// Handles closed at the end, or before they are opened again, because the
    /// file leaves them open. Not among `operations`.
    pub closed: u64,
    /// Bytes that READs asked for.
    pub bytes_read: u64,
    /// Bytes that WRITEs carried.
    pub bytes_written: u64,
    /// Bytes of the largest READ or WRITE.
    pub largest: u32,
    /// From the first record to the last, where times are known.
    pub length: Option<Duration>,
}

impl Trace {
    /// What there is to say of it.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// SHA-256, as 64 hexadecimal digits, of what it was made from.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Records of one pass.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Kinds of operations that occur, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<OpKind> {
        let verbs = self.summary.operations.keys();
        let mut kinds: Vec<_> = verbs.filter_map(|verb| verb.kind()).collect();
        // What is opened although the record says that it could not be, or stays
        // open at the end, is closed.
        if kinds.contains(&OpKind::Create) {
            kinds.push(OpKind::Close);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether clients sleep.
    #[must_use]
    pub fn has_pauses(&self) -> bool {
        !self.pauses.is_empty()
    }

    /// Whether it is known when each operation began.
    #[must_use]
    pub fn has_times(&self) -> bool {
        !self.times.is_empty()
    }

    /// Bytes of the files that a client's replay finds, as far as it needs any.
    #[must_use]
    pub fn bytes_per_client(&self) -> u64 {
        self.population.bytes()
    }

    /// Files that a client's replay finds.
    #[must_use]
    pub fn files_per_client(&self) -> u32 {
        self.population.files()
    }

    /// The status that was recorded.
    pub(crate) fn recorded(&self, record: &Record) -> NtStatus {
        self.statuses[usize::from(record.status)]
    }

    /// Record number `at` as the client with this number (from 0) replays it, in
    /// the words of a loadfile.
    #[must_use]
    pub fn describe(&self, at: usize, client: u32) -> String {
        let record = &self.records[at];
        let Record {
            offset,
            length,
            class,
            extra,
            subject,
            verb,
            ..
        } = *record;
        let path = |index: u32| self.paths[index as usize].display(client);
        let what = match verb {
            Verb::Create => format!("\"{}\" 0x{length:x} 0x{class:x}", path(subject)),
            Verb::Read | Verb::Write => format!("{length} bytes at {offset}"),
            Verb::Lock | Verb::Unlock => format!("{length} at {offset}"),
            Verb::Rename => format!("\"{}\" \"{}\"", path(subject), path(extra)),
            Verb::Find => format!("\"{}\\{}\"", path(subject), path(extra)),
            Verb::Unlink | Verb::Mkdir | Verb::Rmdir | Verb::Deltree => {
                format!("\"{}\"", path(subject))
            }
            Verb::QueryPath => format!("\"{}\" class {class}", path(subject)),
            Verb::QueryFile | Verb::QueryFs | Verb::SetFile => format!("class {class}"),
            Verb::Close | Verb::Flush | Verb::Sleep => String::new(),
        };
        let status = self.recorded(record);
        match what.is_empty() {
            true => format!("{verb} {status}"),
            false => format!("{verb} {what} {status}"),
        }
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.summary == other.summary
    }
}

impl fmt::Debug for Trace {
    /// Without its records, which nobody could read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("summary", &self.summary)
            .field("digest", &self.digest())
            .finish_non_exhaustive()
    }
}
