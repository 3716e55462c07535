//! Builds a [`Trace`] from operations in their order.
//!
//! Handles get new numbers, which are reused after a close. A client therefore
//! needs only as many entries as it has files open, and no look-up. Each name is
//! stored once.

mod handles;
mod paths;

use std::time::Duration;

use smbench_protocol::NtStatus;

use super::population::{Made, Names};
use super::step::{Handle, PAUSE_MAX, STATUSES_MAX, Step, StepError};
use super::{NO_HANDLE, RECORDS_MAX, Record, Summary, Trace, Verb};
use crate::bounds::REQUEST_BYTES_MAX;
use handles::Handles;
use paths::{Paths, clean};

/// FILE_DIRECTORY_FILE (MS-SMB2 2.2.13).
const DIRECTORY_FILE: u32 = 1;
/// CreateDisposition values (MS-SMB2 2.2.13). FILE_OPEN and FILE_OVERWRITE create
/// nothing; FILE_OPEN_IF may. All others end with an empty file.
const OPEN: u8 = 1;
const OPEN_IF: u8 = 3;
const OVERWRITE: u8 = 4;
/// Limit of offsets. Locks must end below it (MS-SMB2 3.3.5.14), and files too.
const OFFSET_MAX: u64 = 1 << 63;

/// Collects the operations of a trace.
#[doc(hidden)]
#[derive(Default)]
pub struct Builder {
    records: Vec<Record>,
    paths: Paths,
    names: Names,
    /// Records that set the size of a file of the population, with that file's
    /// index in the population.
    sized: Vec<(usize, usize)>,
    statuses: Vec<NtStatus>,
    handles: Handles,
    times: Vec<u64>,
    pauses: Vec<(u32, u64)>,
    episodes: Vec<u32>,
    first: Option<Duration>,
    summary: Summary,
}

impl Builder {
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
        if let Some(at) = at {
            self.pass_to(at)?;
        }
        self.names.pass();
        let went_well = status == NtStatus::SUCCESS;
        let mut record = Record {
            verb: step.verb(),
            class: 0,
            status: self.status(status)?,
            subject: 0,
            offset: 0,
            length: 0,
            extra: 0,
        };
        match *step {
            Step::Create {
                path,
                options,
                disposition,
                handle,
            } => {
                if disposition > 5 {
                    return Err(StepError::Disposition(disposition));
                }
                let (path, node) = self.path(path)?;
                record.subject = path;
                record.length = options;
                record.class = disposition;
                record.extra = NO_HANDLE;
                if went_well {
                    let made = match options & DIRECTORY_FILE {
                        0 => Made::File(0),
                        _ => Made::Directory,
                    };
                    match disposition {
                        OPEN => self.names.found(node, made),
                        OVERWRITE => {
                            self.names.found(node, made);
                            self.names.created(node);
                        }
                        OPEN_IF => self.names.found_or_made(node, made),
                        _ => self.names.created(node),
                    }
                    self.close_stale(handle)?;
                    record.extra = self.handles.take(handle, node)?;
                } else {
                    self.missed(node, status);
                }
            }
            Step::Close(handle) => {
                record.subject = self.handles.slot(handle, went_well)?;
                self.handles.close(handle);
            }
            Step::Read {
                handle,
                offset,
                length,
                returned: moved,
            }
            | Step::Write {
                handle,
                offset,
                length,
                written: moved,
            } => {
                self.range(offset, length)?;
                record = Record {
                    subject: self.handles.slot(handle, went_well)?,
                    offset,
                    length,
                    extra: moved,
                    ..record
                };
                let node = self.handles.get(handle).map(|open| open.node);
                let (end, length) = (offset + u64::from(moved), u64::from(length));
                match (step, node) {
                    (Step::Read { .. }, Some(node)) if moved > 0 => self.names.read_to(node, end),
                    (Step::Write { .. }, Some(node)) => self.names.written_to(node, end),
                    _ => {}
                }
                match step {
                    Step::Read { .. } => self.summary.bytes_read += length,
                    _ => self.summary.bytes_written += length,
                }
            }
            Step::Flush(handle) => record.subject = self.handles.slot(handle, went_well)?,
            Step::Lock {
                handle,
                offset,
                length,
            }
            | Step::Unlock {
                handle,
                offset,
                length,
            } => {
                self.end(offset, length)?;
                record = Record {
                    subject: self.handles.slot(handle, went_well)?,
                    offset,
                    length,
                    ..record
                };
            }
            Step::Unlink(path) | Step::Rmdir(path) => {
                let (path, node) = self.path(path)?;
                record.subject = path;
                match went_well {
                    true => {
                        let made = match step {
                            Step::Rmdir(_) => Made::Directory,
                            _ => Made::File(0),
                        };
                        self.names.found(node, made);
                        self.names.vanished(node);
                    }
                    false => self.missed(node, status),
                }
            }
            Step::Rename { from, to } => {
                let ((from, source), (to, target)) = (self.path(from)?, self.path(to)?);
                record.subject = from;
                record.extra = to;
                match went_well {
                    true => {
                        self.names.found(source, Made::File(0));
                        self.names.renamed(source, target);
                    }
                    false => self.missed(source, status),
                }
            }
            Step::Mkdir(path) => {
                let (path, node) = self.path(path)?;
                record.subject = path;
                match went_well {
                    true => self.names.created(node),
                    false => self.missed(node, status),
                }
            }
            Step::Deltree(path) => {
                let (path, node) = self.path(path)?;
                record.subject = path;
                if went_well {
                    self.names.vanished(node);
                }
            }
            Step::QueryPath { path, class } => {
                let (path, node) = self.path(path)?;
                record.subject = path;
                record.class = class;
                match went_well {
                    true => self.names.found(node, Made::File(0)),
                    false => self.missed(node, status),
                }
            }
            Step::QueryFile { handle, class } => {
                record.subject = self.handles.slot(handle, went_well)?;
                record.class = class;
            }
            Step::QueryFs { class } => record.class = class,
            Step::SetFile { handle, class } => {
                record.subject = self.handles.slot(handle, went_well)?;
                record.class = class;
                if let Some(open) = self.handles.get(handle) {
                    record.offset = self.names.end(open.node);
                    if let Some(made) = self.names.made(open.node) {
                        self.sized.push((self.records.len(), made));
                    }
                }
            }
            Step::Find {
                pattern,
                class,
                most,
            } => {
                let pattern = clean(pattern)?;
                let (directory, pattern) = pattern.rsplit_once('\\').unwrap_or(("", &pattern));
                let (directory, node) = self.path(directory)?;
                record.subject = directory;
                record.extra = self.path(pattern)?.0;
                record.class = class;
                record.length = most;
                match status {
                    NtStatus::SUCCESS | NtStatus::NO_SUCH_FILE => {
                        self.names.found(node, Made::Directory);
                    }
                    _ => self.missed(node, status),
                }
            }
            Step::Sleep(pause) if pause > PAUSE_MAX => return Err(StepError::Pause(pause)),
            Step::Sleep(pause) => {
                let at = self.records.len() as u32;
                // A pause is at most a day, which a u64 of nanoseconds holds many
                // times over.
                let pause = pause.as_nanos() as u64;
                match self.pauses.last_mut() {
                    Some((before, sum)) if *before == at => *sum = sum.saturating_add(pause),
                    _ => self.pauses.push((at, pause)),
                }
            }
        }
        *self.summary.operations.entry(record.verb).or_default() += 1;
        if !matches!(step, Step::Sleep(_)) {
            if at.is_some() {
                self.times.push(self.elapsed(at));
            }
            self.records.push(record);
        }
        Ok(())
    }

    /// Counts a line that is left out.
    pub fn skip(&mut self, what: &str) {
        /// Limit of different texts, because a file could have thousands.
        const TOLD_MAX: usize = 100;
        let skipped = &mut self.summary.skipped;
        let what = match skipped.len() < TOLD_MAX || skipped.contains_key(what) {
            true => what,
            false => "others",
        };
        *skipped.entry(what.to_owned()).or_default() += 1;
    }

    /// Makes a file of this size exist before the first operation.
    pub fn expect_file(&mut self, path: &str, size: u64) {
        if let Ok((_, node)) = self.path(path) {
            self.names.found(node, Made::File(0));
            self.names.read_to(node, size);
        }
    }

    /// Begins an episode. Episodes may run in any order.
    pub fn begin_episode(&mut self) {
        self.episodes.push(self.records.len() as u32);
    }

    /// Builds the trace of all operations added. They come from `lines` lines of
    /// `source`.
    pub fn finish(mut self, source: String, lines: u64, digest: [u8; 32]) -> Trace {
        for handle in self.handles.left() {
            // This cannot fail. The status and the handle are known, and there is
            // room for one more record than a file may have.
            let _ = self.close_stale(handle);
        }
        let has_times = self.times.len() == self.records.len();
        if self.episodes.is_empty() {
            self.episodes.push(0);
        }
        let mut population = self.names.into_population();
        population.own = self.paths.own;
        // A record that sets a file's size must keep the data that later records
        // read.
        for (record, made) in self.sized {
            if let Made::File(size) = population.made[made].1 {
                let record = &mut self.records[record];
                record.offset = record.offset.max(size);
            }
        }
        let mut summary = self.summary;
        summary.source = source;
        summary.lines = lines;
        summary.largest = self
            .records
            .iter()
            .filter(|record| matches!(record.verb, Verb::Read | Verb::Write))
            .map(|record| record.length)
            .max()
            .unwrap_or(0);
        let last = self.times.last().filter(|_| has_times);
        summary.length = last.map(|&last| Duration::from_nanos(last));
        Trace {
            times: match has_times {
                true => self.times.into_boxed_slice(),
                false => Box::default(),
            },
            records: self.records.into_boxed_slice(),
            paths: self.paths.templates.into_boxed_slice(),
            statuses: self.statuses.into_boxed_slice(),
            handles: self.handles.most,
            pauses: self.pauses.into_boxed_slice(),
            episodes: self.episodes.into_boxed_slice(),
            population,
            summary,
            digest,
        }
    }

    /// Notes a failed look-up. If only the name was missing, its parent exists.
    fn missed(&mut self, node: u32, status: NtStatus) {
        if status == NtStatus::OBJECT_NAME_NOT_FOUND {
            self.names.parent_found(node);
        }
    }

    fn range(&self, offset: u64, length: u32) -> Result<(), StepError> {
        match u64::from(length) <= REQUEST_BYTES_MAX {
            true => self.end(offset, length),
            false => Err(StepError::TooLarge(length)),
        }
    }

    #[expect(clippy::unused_self, reason = "as the others are called")]
    fn end(&self, offset: u64, length: u32) -> Result<(), StepError> {
        let end = offset.checked_add(length.into());
        end.filter(|&end| end < OFFSET_MAX)
            .map(|_| ())
            .ok_or(StepError::TooFar)
    }

    fn status(&mut self, status: NtStatus) -> Result<u16, StepError> {
        let known = self.statuses.iter().position(|&known| known == status);
        let at = match known {
            Some(at) => at,
            None if self.statuses.len() < STATUSES_MAX => {
                self.statuses.push(status);
                self.statuses.len() - 1
            }
            None => return Err(StepError::TooManyStatuses),
        };
        Ok(at as u16)
    }

    /// Returns the path with this name, and its node.
    fn path(&mut self, name: &str) -> Result<(u32, u32), StepError> {
        self.paths.find(name, &mut self.names)
    }

    /// Closes a handle that the recording left open.
    fn close_stale(&mut self, handle: Handle) -> Result<(), StepError> {
        let Some(open) = self.handles.close(handle) else {
            return Ok(());
        };
        let record = Record {
            verb: Verb::Close,
            class: 0,
            status: self.status(NtStatus::SUCCESS)?,
            subject: open.slot,
            offset: 0,
            length: 0,
            extra: 0,
        };
        if let Some(&last) = self.times.last() {
            self.times.push(last);
        }
        self.records.push(record);
        self.summary.closed += 1;
        Ok(())
    }

    fn pass_to(&mut self, at: Duration) -> Result<(), StepError> {
        let first = *self.first.get_or_insert(at);
        let last = self.times.last().copied().unwrap_or(0);
        match at >= first && self.elapsed(Some(at)) >= last {
            true => Ok(()),
            false => Err(StepError::Backwards),
        }
    }

    fn elapsed(&self, at: Option<Duration>) -> u64 {
        let (first, at) = (self.first.unwrap_or_default(), at.unwrap_or_default());
        u64::try_from(at.saturating_sub(first).as_nanos()).unwrap_or(u64::MAX)
    }
}
