//! Traces: operations of a client, recorded or generated, in the order in which a
//! replay sends them.
//!
//! A trace is read or generated once. It is then immutable, and all clients of a
//! run share it. A [`Record`] has 24 bytes. Each name is stored once, in the encoding
//! of SMB2. Not here: the sources of records (the formats) and their requests on the
//! wire (the driver).

mod builder;
#[doc(hidden)]
pub mod level;
mod path;
mod prepared;
mod record;
mod recording;
mod step;
mod verb;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

pub use smbench_protocol::NtStatus;

use crate::digest::hex;
use crate::kind::{Direction, OpKind};
pub use builder::Builder;
pub use path::Template;
pub use prepared::{PreparedName, PreparedNames};
use record::DetailNumber;
pub use record::{CreateDetail, HandleNumber, PathNumber, QueriedInfo, Record};
pub use recording::{RecordedTimes, Recording};
pub use step::{ANY_STATUS, EXCLUSIVE_AT_ONCE, Handle, InfoLevel, RECORDS_MAX, Step, StepError};
pub use verb::Verb;

/// The bytes of the largest READ or WRITE that a trace may have.
#[doc(hidden)]
pub const TRANSFER_BYTES_MAX: u64 = crate::bounds::REQUEST_BYTES_MAX;

/// What a record waits for in a replay.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordOrder {
    /// The record before it: a loadfile does not show what was in flight together.
    #[default]
    Strict,
    /// Earlier records with the same handle. READs do not wait for READs, and WRITEs
    /// not for WRITEs. Records that open, close or use a name also wait for each
    /// other.
    ByHandle,
    /// The records that were answered before it was sent ([`Builder::released`]), and
    /// those that open or close its handle.
    Recorded,
}

/// A record of another track that must be answered before a record is sent.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The record that waits.
    pub record: u32,
    /// The number of the other track.
    pub track: u32,
    /// Its record.
    pub on: u32,
}

/// The recorded operations of a client, in their order.
#[derive(Clone)]
pub struct Trace {
    #[doc(hidden)]
    pub records: Box<[Record]>,
    paths: Box<[Template]>,
    /// What some CREATEs have beside their records.
    details: Box<[CreateDetail]>,
    /// The index of the recorded status of each record.
    ends: Box<[u16]>,
    statuses: Box<[NtStatus]>,
    /// The largest number of handles open at the same time.
    #[doc(hidden)]
    pub handles: u32,
    /// The time of each record in nanoseconds from the first; empty if the
    /// recording has no times.
    #[doc(hidden)]
    pub times: Box<[u64]>,
    /// The pauses of the client, each with the index of the record after it and its
    /// length in nanoseconds. A pause at the end has the index after the last
    /// record.
    #[doc(hidden)]
    pub pauses: Box<[(u32, u64)]>,
    /// The first records of the episodes: stretches that may run in any order. A
    /// loadfile is one episode.
    pub(crate) episodes: Box<[u32]>,
    pub(crate) order: RecordOrder,
    /// The first record that was sent after the answer to each record; empty unless the
    /// order is the recorded one.
    releases: Box<[u32]>,
    /// What records wait for in other tracks, in the order of the records.
    awaited: Box<[Awaited]>,
    /// Records that were in one frame with the record before, in their order.
    joined: Box<[u32]>,
    /// CLOSEs at the end that the client of a capture did not send, and no other track awaits.
    left: u32,
    /// The largest number of requests in flight; 0 if that was not recorded.
    pub(crate) in_flight: u32,
    /// The recorded user, by name or hash; `None` if it is not known.
    user: Option<String>,
    #[doc(hidden)]
    pub prepared: PreparedNames,
    #[doc(hidden)]
    pub summary: Summary,
    /// SHA-256 of the source of the trace; equal for equal traces.
    #[doc(hidden)]
    pub digest: [u8; 32],
}

/// A summary of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The file that it was read from, or the name of its generator.
    pub source: String,
    /// Lines of that file; for a generated trace, its records.
    pub lines: u64,
    /// Number of operations by the verb of a loadfile, including pauses.
    pub operations: BTreeMap<Verb, u64>,
    /// Number of lines left out, by the text that they begin with.
    pub skipped: BTreeMap<String, u64>,
    /// Handles that the replay closes at the end, or before they are opened again,
    /// because the file leaves them open. `operations` does not include them.
    pub closed: u64,
    /// Bytes that READs asked for.
    pub bytes_read: u64,
    /// Bytes that WRITEs carried.
    pub bytes_written: u64,
    /// Bytes of the largest READ or WRITE.
    pub largest: u32,
    /// Time from the first record to the last, if times are known.
    pub length: Option<Duration>,
    /// Service times in the recording by kind, if they are known.
    pub recorded: BTreeMap<OpKind, RecordedTimes>,
}

impl Trace {
    /// Returns the summary of the trace.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the recorded user, by name or hash; `None` if it is not known.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the SHA-256 of the source of the trace, as 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        hex(&self.digest)
    }

    /// Returns the bytes of the largest READ or WRITE.
    pub(crate) fn largest_of(&self, direction: Direction) -> u32 {
        let verb = match direction {
            Direction::Read => Verb::Read,
            Direction::Write => Verb::Write,
        };
        let moved = self.records.iter().filter(|record| record.verb() == verb);
        moved.map(|record| record.range().1).max().unwrap_or(0)
    }

    /// Returns the recorded paths.
    pub fn paths(&self) -> impl Iterator<Item = &Template> {
        self.paths.iter()
    }

    /// Returns the number of records in one pass.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the trace has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the kinds of operations that occur, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<OpKind> {
        let verbs = self.summary.operations.keys();
        let mut kinds: Vec<_> = verbs.filter_map(|verb| verb.kind()).collect();
        // The replay also closes files that stay open at the end, and files that it
        // could open although the recording could not.
        if kinds.contains(&OpKind::Create) {
            kinds.push(OpKind::Close);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether clients pause.
    #[must_use]
    pub fn has_pauses(&self) -> bool {
        !self.pauses.is_empty()
    }

    /// Whether the time of each operation is known.
    #[must_use]
    pub fn has_times(&self) -> bool {
        !self.times.is_empty()
    }

    /// Returns how long a pass lasts in the recording, in nanoseconds; 0 if that is not
    /// known.
    #[must_use]
    pub fn pass_ns(&self) -> u64 {
        let length = self.summary.length.unwrap_or_default();
        u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the bytes of the files that a client's replay needs to exist.
    #[must_use]
    pub fn bytes_per_client(&self) -> u64 {
        self.prepared.bytes()
    }

    /// Returns the number of files that a client's replay needs to exist.
    #[must_use]
    pub fn files_per_client(&self) -> u32 {
        self.prepared.files()
    }

    /// Returns record number `at`.
    #[inline]
    #[must_use]
    pub fn record(&self, at: u32) -> &Record {
        &self.records[at as usize]
    }

    /// Returns the recorded status of record number `at`.
    #[inline]
    #[must_use]
    pub fn status(&self, at: u32) -> NtStatus {
        self.statuses[usize::from(self.ends[at as usize])]
    }

    /// Returns a path of a record.
    #[inline]
    #[must_use]
    pub fn path(&self, PathNumber(number): PathNumber) -> &Template {
        &self.paths[number as usize]
    }

    /// Returns what a CREATE has beside its record.
    #[must_use]
    pub fn detail(&self, record: &Record) -> Option<&CreateDetail> {
        match *record {
            Record::Create {
                detail: Some(DetailNumber(number)),
                ..
            } => self.details.get(number.get() as usize - 1),
            _ => None,
        }
    }

    /// Whether record number `later` waits for an earlier one in flight, in a trace in the
    /// recorded order. A record with a lower number is of the next pass.
    pub(crate) fn is_after(&self, later: u32, earlier: u32) -> bool {
        later <= earlier
            || self
                .releases
                .get(earlier as usize)
                .is_none_or(|&at| at <= later)
    }

    /// Returns the records that were in one frame with a record, and itself.
    #[doc(hidden)]
    #[must_use]
    pub fn frame(&self, record: u32) -> Range<u32> {
        let (mut first, mut end) = (record, record + 1);
        if !self.joined.is_empty() {
            while self.joined.binary_search(&first).is_ok() {
                first -= 1;
            }
            while self.joined.binary_search(&end).is_ok() {
                end += 1;
            }
        }
        first..end
    }

    /// Returns the number of CLOSEs at the end that the last pass leaves to the log-off.
    pub(crate) fn closed_by_log_off(&self) -> u32 {
        match self.order {
            RecordOrder::Recorded => self.left,
            RecordOrder::Strict | RecordOrder::ByHandle => 0,
        }
    }

    /// Returns what a record waits for in other tracks.
    #[doc(hidden)]
    #[must_use]
    pub fn awaited(&self, record: u32) -> &[Awaited] {
        let first = self
            .awaited
            .partition_point(|awaited| awaited.record < record);
        let of_record = self.awaited[first..].iter();
        let count = of_record
            .take_while(|awaited| awaited.record == record)
            .count();
        &self.awaited[first..first + count]
    }

    /// Describes record number `at` in the syntax of a loadfile, as the client with
    /// this number (from 0) replays it.
    #[must_use]
    pub fn describe(&self, at: u32, client: u32) -> String {
        let record = self.record(at);
        let path = |number| self.path(number).display(client);
        let what = match *record {
            Record::Create {
                path: name,
                options,
                disposition,
                ..
            } => format!("\"{}\" 0x{options:x} 0x{disposition:x} ", path(name)),
            Record::Read { offset, length, .. } | Record::Write { offset, length, .. } => {
                format!("{length} bytes at {offset} ")
            }
            Record::Lock { offset, length, .. } | Record::Unlock { offset, length, .. } => {
                format!("{length} at {offset} ")
            }
            Record::Rename { from, to } => format!("\"{}\" \"{}\" ", path(from), path(to)),
            Record::Find {
                directory, pattern, ..
            } => format!("\"{}\\{}\" ", path(directory), path(pattern)),
            Record::Unlink(name)
            | Record::Mkdir(name)
            | Record::Rmdir(name)
            | Record::Deltree(name) => format!("\"{}\" ", path(name)),
            Record::QueryPath { path: name, level } => {
                format!("\"{}\" class {} ", path(name), level.class)
            }
            Record::QueryFile { level, .. }
            | Record::QueryFs { level }
            | Record::SetFile { level, .. } => format!("class {} ", level.class),
            Record::Query { class, length, .. } => format!("class {class} {length} bytes "),
            Record::List {
                pattern,
                class,
                length,
                ..
            } => format!("\"{}\" class {class} {length} bytes ", path(pattern)),
            Record::RenameOpen { to, .. } => format!("\"{}\" ", path(to)),
            Record::MarkDeleted { is_pending, .. } => format!("{} ", u8::from(is_pending)),
            Record::Close { .. } | Record::Flush(_) | Record::SetSecurity(_) | Record::Echo => {
                String::new()
            }
        };
        format!("{} {what}{}", record.verb(), self.status(at))
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.summary == other.summary
    }
}

impl fmt::Debug for Trace {
    /// Writes the summary and the digest. The records would be too long to read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("summary", &self.summary)
            .field("digest", &self.digest())
            .finish_non_exhaustive()
    }
}
