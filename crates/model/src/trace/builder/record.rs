//! Makes the record of an operation, and follows its effect on names and handles.

use std::time::Duration;

use smbench_protocol::NtStatus;

use super::Builder;
use super::paths::clean;
use crate::bounds::REQUEST_BYTES_MAX;
use crate::trace::population::{Names, PreparedName};
use crate::trace::step::{Handle, PAUSE_MAX, STATUSES_MAX, Step, StepError};
use crate::trace::{NO_HANDLE, Record, Verb};

/// FILE_DIRECTORY_FILE (MS-SMB2 2.2.13).
const DIRECTORY_FILE: u32 = 1;
/// CreateDisposition values (MS-SMB2 2.2.13). FILE_OPEN and FILE_OVERWRITE create
/// nothing; FILE_OPEN_IF may. All others end with an empty file.
const OPEN: u8 = 1;
const OPEN_IF: u8 = 3;
const OVERWRITE: u8 = 4;
/// The largest CreateDisposition.
const DISPOSITION_MAX: u8 = 5;
/// Limit of offsets. Locks must end below it (MS-SMB2 3.3.5.14), and files too.
const OFFSET_MAX: u64 = 1 << 63;

/// A record, or the reason why its operation cannot be replayed.
type Recorded = Result<Record, StepError>;

impl Builder {
    /// Returns the record of a step that ended with `status`.
    pub(super) fn record(&mut self, step: &Step<'_>, status: NtStatus) -> Recorded {
        let mut record = self.blank(step.verb(), status)?;
        match *step {
            Step::Create {
                path,
                options,
                disposition,
                handle,
            } => {
                (record.class, record.length) = (disposition, options);
                self.create(record, path, handle, status)
            }
            Step::Close(handle) => {
                let record = self.of_handle(record, handle, status);
                self.handles.close(handle);
                record
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
                (record.offset, record.length, record.extra) = (offset, length, moved);
                self.transfer(record, handle, status)
            }
            Step::Flush(handle) => self.of_handle(record, handle, status),
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
                check_end(offset, length)?;
                (record.offset, record.length) = (offset, length);
                self.of_handle(record, handle, status)
            }
            Step::Unlink(path) => self.remove(record, path, PreparedName::File(0), status),
            Step::Rmdir(path) => self.remove(record, path, PreparedName::Directory, status),
            Step::Rename { from, to } => self.rename(record, from, to, status),
            Step::Mkdir(path) => self.of_path(record, path, status, Names::created),
            Step::Deltree(path) => self.deltree(record, path, status),
            Step::QueryPath { path, level } => {
                record.set_level(level);
                let found = |names: &mut Names, node| names.found(node, PreparedName::File(0));
                self.of_path(record, path, status, found)
            }
            Step::QueryFile { handle, level } => {
                record.set_level(level);
                self.of_handle(record, handle, status)
            }
            Step::QueryFs { level } => {
                record.set_level(level);
                Ok(record)
            }
            Step::SetFile { handle, level } => {
                record.set_level(level);
                self.set_file(record, handle, status)
            }
            Step::Find {
                pattern,
                level,
                most,
            } => {
                record.set_level(level);
                record.length = most;
                self.find(record, pattern, status)
            }
            Step::Sleep(pause) => self.pause(pause).map(|()| record),
        }
    }

    /// Returns a record with a verb and a status only.
    pub(super) fn blank(&mut self, verb: Verb, status: NtStatus) -> Recorded {
        Ok(Record {
            verb,
            class: 0,
            status: self.status(status)?,
            subject: 0,
            offset: 0,
            length: 0,
            extra: 0,
        })
    }

    fn create(
        &mut self,
        mut record: Record,
        path: &str,
        handle: Handle,
        status: NtStatus,
    ) -> Recorded {
        if record.class > DISPOSITION_MAX {
            return Err(StepError::Disposition(record.class));
        }
        let (subject, node) = self.path(path)?;
        (record.subject, record.extra) = (subject, NO_HANDLE);
        if status != NtStatus::SUCCESS {
            self.missed(node, status);
            return Ok(record);
        }
        let made = match record.length & DIRECTORY_FILE {
            0 => PreparedName::File(0),
            _ => PreparedName::Directory,
        };
        match record.class {
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
        Ok(record)
    }

    /// Adds the handle to a record. A request with a handle that is not open must
    /// have failed.
    fn of_handle(&self, record: Record, handle: Handle, status: NtStatus) -> Recorded {
        let subject = self.handles.slot(handle, status == NtStatus::SUCCESS)?;
        Ok(Record { subject, ..record })
    }

    /// Records a READ or a WRITE. The file must be as long as the data read, and is
    /// as long as the data written.
    fn transfer(&mut self, record: Record, handle: Handle, status: NtStatus) -> Recorded {
        let Record {
            verb,
            offset,
            length,
            extra: moved,
            ..
        } = record;
        if u64::from(length) > REQUEST_BYTES_MAX {
            return Err(StepError::TooLarge(length));
        }
        check_end(offset, length)?;
        let record = self.of_handle(record, handle, status)?;
        let node = self.handles.get(handle).map(|open| open.node);
        let end = offset + u64::from(moved);
        match (verb, node) {
            (Verb::Read, Some(node)) if moved > 0 => self.names.read_to(node, end),
            (Verb::Write, Some(node)) => self.names.written_to(node, end),
            _ => {}
        }
        match verb {
            Verb::Read => self.summary.bytes_read += u64::from(length),
            _ => self.summary.bytes_written += u64::from(length),
        }
        Ok(record)
    }

    /// Records an operation by name, which has this effect on the name if it
    /// succeeds.
    fn of_path(
        &mut self,
        record: Record,
        path: &str,
        status: NtStatus,
        effect: impl FnOnce(&mut Names, u32),
    ) -> Recorded {
        let (subject, node) = self.path(path)?;
        match status {
            NtStatus::SUCCESS => effect(&mut self.names, node),
            _ => self.missed(node, status),
        }
        Ok(Record { subject, ..record })
    }

    /// Records the deletion of a name that stood for such an entry.
    fn remove(
        &mut self,
        record: Record,
        path: &str,
        made: PreparedName,
        status: NtStatus,
    ) -> Recorded {
        self.of_path(record, path, status, |names, node| {
            names.found(node, made);
            names.vanished(node);
        })
    }

    fn rename(&mut self, mut record: Record, from: &str, to: &str, status: NtStatus) -> Recorded {
        // The first path gets the lower number.
        self.path(from)?;
        let (extra, target) = self.path(to)?;
        record.extra = extra;
        self.of_path(record, from, status, |names, node| {
            names.found(node, PreparedName::File(0));
            names.renamed(node, target);
        })
    }

    fn deltree(&mut self, record: Record, path: &str, status: NtStatus) -> Recorded {
        let (subject, node) = self.path(path)?;
        if status == NtStatus::SUCCESS {
            self.names.vanished(node);
        }
        Ok(Record { subject, ..record })
    }

    /// Records a SET_INFO with the file's size so far, which it may set.
    fn set_file(&mut self, record: Record, handle: Handle, status: NtStatus) -> Recorded {
        let mut record = self.of_handle(record, handle, status)?;
        if let Some(open) = self.handles.get(handle) {
            record.offset = self.names.end(open.node);
            if let Some(made) = self.names.made(open.node) {
                self.sized.push((self.records.len(), made));
            }
        }
        Ok(record)
    }

    /// Records a listing. Its directory exists even if no name matches.
    fn find(&mut self, record: Record, pattern: &str, status: NtStatus) -> Recorded {
        let pattern = clean(pattern)?;
        let (directory, pattern) = pattern.rsplit_once('\\').unwrap_or(("", &pattern));
        let (subject, node) = self.path(directory)?;
        let (extra, _) = self.path(pattern)?;
        match status {
            NtStatus::SUCCESS | NtStatus::NO_SUCH_FILE => {
                self.names.found(node, PreparedName::Directory);
            }
            _ => self.missed(node, status),
        }
        Ok(Record {
            subject,
            extra,
            ..record
        })
    }

    /// Adds a pause before the next record.
    fn pause(&mut self, pause: Duration) -> Result<(), StepError> {
        if pause > PAUSE_MAX {
            return Err(StepError::Pause(pause));
        }
        let at = self.records.len() as u32;
        // A pause is at most a day, which a u64 of nanoseconds holds many times
        // over.
        let pause = pause.as_nanos() as u64;
        match self.pauses.last_mut() {
            Some((before, sum)) if *before == at => *sum = sum.saturating_add(pause),
            _ => self.pauses.push((at, pause)),
        }
        Ok(())
    }

    /// Notes a failed look-up. If only the name was missing, its parent exists.
    fn missed(&mut self, node: u32, status: NtStatus) {
        if status == NtStatus::OBJECT_NAME_NOT_FOUND {
            self.names.parent_found(node);
        }
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
}

/// Checks that a range ends below the limit of offsets.
fn check_end(offset: u64, length: u32) -> Result<(), StepError> {
    let end = offset.checked_add(length.into());
    match end.is_some_and(|end| end < OFFSET_MAX) {
        true => Ok(()),
        false => Err(StepError::TooFar),
    }
}
