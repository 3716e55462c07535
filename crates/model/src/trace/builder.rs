//! Builds a [`Trace`] from operations in their order.
//!
//! Handles get new numbers, which are reused after a close. A client therefore
//! needs only as many entries as it has files open, and no look-up. Each name is
//! stored once.

mod captured;
mod handles;
mod paths;
mod record;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::time::Duration;

use smbench_protocol::NtStatus;

use super::prepared::{Names, PreparedName};
use super::record::DetailNumber;
use super::step::{ANY_STATUS, Handle, Step, StepError};
use super::{
    Awaited, CreateDetail, PathNumber, RECORDS_MAX, Record, RecordOrder, Summary, Trace, Verb,
};
use crate::bounds::OUTSTANDING_MAX;
use handles::Handles;
use paths::Paths;

/// Collects the operations of a trace.
#[doc(hidden)]
#[derive(Default)]
pub struct Builder {
    records: Vec<Record>,
    details: Vec<CreateDetail>,
    /// The index of the status of each record.
    ends: Vec<u16>,
    paths: Paths,
    names: Names,
    /// Records that set the size of a file to prepare, with that file's
    /// index among the prepared names.
    sized: Vec<(usize, usize)>,
    statuses: Vec<NtStatus>,
    handles: Handles,
    times: Vec<u64>,
    pauses: Vec<(u32, u64)>,
    episodes: Vec<u32>,
    order: RecordOrder,
    releases: Vec<u32>,
    in_flight: u32,
    awaited: Vec<Awaited>,
    joined: Vec<u32>,
    /// CLOSEs at the end that the log-off may do.
    left: u32,
    /// The names to prepare, if they do not follow from the records.
    given: Option<Vec<(PathNumber, PreparedName)>>,
    /// The length of a pass, if it is not that of the records.
    lasts: Option<Duration>,
    first: Option<Duration>,
    user: Option<String>,
    summary: Summary,
}

impl Builder {
    /// Begins a track of a capture, of which a pass lasts as long as the capture. Its
    /// times are those since the begin of the capture. All names are below `client1`, and
    /// only there a number takes the place of the 1. The names to prepare are those of
    /// [`prepare`](Self::prepare).
    #[must_use]
    pub fn of_capture_track(lasts: Duration) -> Self {
        Self {
            paths: Paths::below_client(),
            order: RecordOrder::Recorded,
            given: Some(Vec::new()),
            lasts: Some(lasts),
            first: Some(Duration::ZERO),
            ..Self::default()
        }
    }

    /// Takes memory for this number of further records with their times.
    pub fn reserve(&mut self, records: usize) {
        self.records.reserve_exact(records);
        self.ends.reserve_exact(records);
        self.times.reserve_exact(records);
    }

    /// Names the recorded user.
    pub fn user(&mut self, user: Option<String>) {
        self.user = user;
    }

    /// Makes a name exist before the first operation of a track of a capture.
    ///
    /// # Errors
    /// If the name is not valid.
    pub fn prepare(&mut self, path: &str, made: PreparedName) -> Result<(), StepError> {
        let (path, _) = self.path(path)?;
        self.given.get_or_insert_default().push((path, made));
        Ok(())
    }

    /// Makes records wait for those of other tracks. They come in the order of the records.
    pub fn wait_for(&mut self, awaited: Vec<Awaited>) {
        self.awaited = awaited;
    }

    /// Sets for each record the first one that was sent after its answer. Handles that are
    /// still open are closed after all of them.
    pub fn released(&mut self, releases: Vec<u32>) {
        let mut in_flight = BinaryHeap::new();
        for (at, &release) in (0..).zip(&releases) {
            while in_flight.peek().is_some_and(|&Reverse(first)| first <= at) {
                in_flight.pop();
            }
            in_flight.push(Reverse(release));
            self.in_flight = self.in_flight.max(in_flight.len() as u32);
        }
        self.in_flight = self.in_flight.min(OUTSTANDING_MAX);
        self.releases = releases;
    }

    /// Adds an operation with its recorded status and time.
    pub fn push(
        &mut self,
        step: &Step<'_>,
        status: NtStatus,
        at: Option<Duration>,
    ) -> Result<(), StepError> {
        if self.records.len() >= RECORDS_MAX {
            return Err(StepError::TooMany);
        }
        // dbench's genloadfile gives what it adds at the end the time 0.
        let at = at.map(|at| match (at, self.times.last()) {
            (Duration::ZERO, Some(&last)) => {
                self.first.unwrap_or_default() + Duration::from_nanos(last)
            }
            (at, _) => at,
        });
        if let Some(at) = at {
            self.pass_to(at)?;
        }
        self.names.pass();
        let end = self.status(status)?;
        let record = self.record(step, status)?;
        let verb = record.map_or(Verb::Sleep, |record| record.verb());
        *self.summary.operations.entry(verb).or_default() += 1;
        if let Some(record) = record {
            if at.is_some() {
                self.times.push(self.elapsed(at));
            }
            self.records.push(record);
            self.ends.push(end);
        }
        Ok(())
    }

    /// Lets the last record be answered with any status, because none was recorded.
    pub fn accept_any_status(&mut self) -> Result<(), StepError> {
        let any = self.status(ANY_STATUS)?;
        if let Some(last) = self.ends.last_mut() {
            *last = any;
        }
        Ok(())
    }

    /// Adds to the last record, a CREATE, what its record does not have.
    pub fn detail(&mut self, of_create: CreateDetail) {
        if let Some(Record::Create { detail, .. }) = self.records.last_mut() {
            // The number fits, because there are at most as many as records.
            let number = NonZeroU32::MIN.saturating_add(self.details.len() as u32);
            *detail = Some(DetailNumber(number));
            self.details.push(of_create);
        }
    }

    /// Gives flags to the last record, if it is a READ, a WRITE or a CLOSE.
    pub fn flags(&mut self, recorded: u8) {
        if let Some(
            Record::Read { flags, .. } | Record::Write { flags, .. } | Record::Close { flags, .. },
        ) = self.records.last_mut()
        {
            *flags = recorded;
        }
    }

    /// Puts the last record into one frame with the record before.
    pub fn join(&mut self) {
        self.joined
            .extend((self.records.len() as u32).checked_sub(1));
    }

    /// Closes a file at a time, because the end of its session did. Returns whether it was
    /// open.
    pub fn close_left(&mut self, handle: Handle, at: Duration) -> bool {
        let has_room = self.records.len() < RECORDS_MAX;
        if !has_room || self.handles.get(handle).is_none() || self.pass_to(at).is_err() {
            return false;
        }
        self.names.pass();
        let is_closed = self.close_stale(handle).is_ok();
        if let Some(last) = self.times.last_mut() {
            *last = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        }
        is_closed
    }

    /// Leaves the last CLOSEs to the log-off of a client that ends.
    pub const fn leave(&mut self, closes: u32) {
        self.left = closes;
    }

    /// Counts a line that is left out.
    pub fn skip(&mut self, what: &str) {
        /// Limit of different texts, because a file could have thousands.
        const TOLD_MAX: usize = 100;
        let skipped = &mut self.summary.skipped;
        let what = if skipped.len() < TOLD_MAX || skipped.contains_key(what) {
            what
        } else {
            "others"
        };
        *skipped.entry(what.to_owned()).or_default() += 1;
    }

    /// Makes a file of this size exist before the first operation.
    pub fn expect_file(&mut self, path: &str, size: u64) {
        if let Ok((_, node)) = self.path(path) {
            self.names.found(node, PreparedName::File(0));
            self.names.read_to(node, size);
        }
    }

    /// Forgets what only further operations with names need. There are none.
    pub fn forget_names(&mut self) {
        self.paths.forget();
        self.names.forget();
    }

    /// Begins an episode. Episodes may run in any order.
    pub fn begin_episode(&mut self) {
        self.episodes.push(self.records.len() as u32);
    }

    /// Sets what the records wait for; without it, each waits for the one before.
    pub const fn order(&mut self, order: RecordOrder) {
        self.order = order;
    }

    /// Builds the trace of all operations added. They come from `lines` lines of
    /// `source`.
    pub fn finish(mut self, source: String, lines: u64, digest: [u8; 32]) -> Trace {
        let left: Vec<_> = self.handles.left().collect();
        self.reserve(left.len());
        for handle in left {
            // This cannot fail. The status and the handle are known, and there is
            // room for one more record than a file may have.
            let _ = self.close_stale(handle);
            self.left += 1;
        }
        let has_times = self.times.len() == self.records.len();
        if self.episodes.is_empty() {
            self.episodes.push(0);
        }
        let mut prepared = self.names.prepared;
        prepared.own = self.paths.own;
        if let Some(given) = self.given {
            // Of the tracks of a capture, only one prepares names and deletes older ones.
            if given.is_empty() {
                prepared.own = Vec::new();
            }
            (prepared.made, self.sized) = (given, Vec::new());
        }
        // A record that sets a file's size must keep the data that later records
        // read.
        for (record, made) in self.sized {
            if let PreparedName::File(made) = prepared.made[made].1
                && let Record::SetFile { size, .. } = &mut self.records[record]
            {
                *size = made.max(*size);
            }
        }
        let mut summary = self.summary;
        summary.source = source;
        summary.lines = lines;
        let moved = self.records.iter().map(|record| match *record {
            Record::Read { length, .. } | Record::Write { length, .. } => length,
            _ => 0,
        });
        summary.largest = moved.max().unwrap_or(0);
        let last = self.times.last().filter(|_| has_times).copied();
        let lasts = self.lasts.map(|lasts| lasts.as_nanos() as u64);
        summary.length = lasts.max(last).map(Duration::from_nanos);
        Trace {
            times: if has_times {
                self.times.into_boxed_slice()
            } else {
                Box::default()
            },
            records: self.records.into_boxed_slice(),
            details: self.details.into_boxed_slice(),
            ends: self.ends.into_boxed_slice(),
            paths: self.paths.templates.into_boxed_slice(),
            statuses: self.statuses.into_boxed_slice(),
            handles: self.handles.most,
            pauses: self.pauses.into_boxed_slice(),
            episodes: self.episodes.into_boxed_slice(),
            order: self.order,
            releases: self.releases.into_boxed_slice(),
            in_flight: self.in_flight,
            left: self.left,
            awaited: self.awaited.into_boxed_slice(),
            joined: self.joined.into_boxed_slice(),
            user: self.user,
            prepared,
            summary,
            digest,
        }
    }

    /// Returns the path with this name, and its node.
    fn path(&mut self, name: &str) -> Result<(PathNumber, u32), StepError> {
        self.paths.find(name, &mut self.names)
    }

    /// Closes a handle that the recording left open.
    fn close_stale(&mut self, handle: Handle) -> Result<(), StepError> {
        let Some(open) = self.handles.close(handle) else {
            return Ok(());
        };
        let end = self.status(NtStatus::SUCCESS)?;
        if let Some(&last) = self.times.last() {
            self.times.push(last);
        }
        let handle = Some(open.number);
        self.records.push(Record::Close { handle, flags: 0 });
        self.ends.push(end);
        self.summary.closed += 1;
        Ok(())
    }

    fn pass_to(&mut self, at: Duration) -> Result<(), StepError> {
        let first = *self.first.get_or_insert(at);
        let last = self.times.last().copied().unwrap_or(0);
        if at >= first && self.elapsed(Some(at)) >= last {
            Ok(())
        } else {
            Err(StepError::Backwards)
        }
    }

    fn elapsed(&self, at: Option<Duration>) -> u64 {
        let (first, at) = (self.first.unwrap_or_default(), at.unwrap_or_default());
        u64::try_from(at.saturating_sub(first).as_nanos()).unwrap_or(u64::MAX)
    }
}
