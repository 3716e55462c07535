//! Makes the record of an operation, and follows its effect on names and handles.

use std::time::Duration;

use smbench_protocol::NtStatus;

use super::Builder;
use super::paths::clean;
use crate::bounds::REQUEST_BYTES_MAX;
use crate::trace::prepared::{Names, PreparedName};
use crate::trace::step::{Handle, InfoLevel, PAUSE_MAX, STATUSES_MAX, Step, StepError};
use crate::trace::{HandleNumber, PathNumber, Record};

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

impl Builder {
    /// Returns the record of a step that ended with `status`; `None` for a pause.
    pub(super) fn record(
        &mut self,
        step: &Step<'_>,
        status: NtStatus,
    ) -> Result<Option<Record>, StepError> {
        Ok(Some(match *step {
            Step::Create {
                path,
                options,
                disposition,
                handle,
            } => self.create(path, options, disposition, handle, status)?,
            Step::Close(of) => {
                let handle = self.handles.number(of, status)?;
                self.handles.close(of);
                Record::Close { handle, flags: 0 }
            }
            Step::Read {
                handle,
                offset,
                length,
                returned,
            } => self.read(handle, offset, length, returned, status)?,
            Step::Write {
                handle,
                offset,
                length,
                written,
            } => self.write(handle, offset, length, written, status)?,
            Step::Flush(of) => Record::Flush(self.handles.number(of, status)?),
            Step::Lock {
                handle,
                offset,
                length,
                flags,
            } => Record::Lock {
                handle: self.of_range(handle, offset, length, status)?,
                offset,
                length,
                flags,
            },
            Step::Unlock {
                handle,
                offset,
                length,
            } => Record::Unlock {
                handle: self.of_range(handle, offset, length, status)?,
                offset,
                length,
            },
            Step::Unlink(path) => {
                Record::Unlink(self.remove(path, PreparedName::File(0), status)?)
            }
            Step::Rmdir(path) => {
                Record::Rmdir(self.remove(path, PreparedName::Directory, status)?)
            }
            Step::Rename { from, to } => self.rename(from, to, status)?,
            Step::Mkdir(path) => Record::Mkdir(self.of_path(path, status, Names::created)?),
            Step::Deltree(path) => Record::Deltree(self.deltree(path, status)?),
            Step::QueryPath { path, level } => self.query_path(path, level, status)?,
            Step::QueryFile { handle, level } => Record::QueryFile {
                handle: self.handles.number(handle, status)?,
                level,
            },
            Step::QueryFs { level } => Record::QueryFs { level },
            Step::SetFile {
                handle,
                level,
                size,
            } => self.set_file(handle, level, size, status)?,
            Step::Find {
                pattern,
                level,
                most,
            } => self.find(pattern, level, most, status)?,
            Step::Sleep(pause) => return self.pause(pause).map(|()| None),
            of_capture => self.of_capture(of_capture, status)?,
        }))
    }

    fn create(
        &mut self,
        path: &str,
        options: u32,
        disposition: u8,
        of: Handle,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        if disposition > DISPOSITION_MAX {
            return Err(StepError::Disposition(disposition));
        }
        let (path, node) = self.path(path)?;
        let handle = if status == NtStatus::SUCCESS {
            let made = match options & DIRECTORY_FILE {
                0 => PreparedName::File(0),
                _ => PreparedName::Directory,
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
            self.close_stale(of)?;
            Some(self.handles.take(of, node)?)
        } else {
            self.missed(node, status);
            None
        };
        Ok(Record::Create {
            path,
            options,
            disposition,
            handle,
            detail: None,
        })
    }

    /// Returns the handle of a request for a range, after checking the range.
    fn of_range(
        &self,
        of: Handle,
        offset: u64,
        length: u32,
        status: NtStatus,
    ) -> Result<Option<HandleNumber>, StepError> {
        let end = offset.checked_add(length.into());
        if end.is_none_or(|end| end >= OFFSET_MAX) {
            return Err(StepError::TooFar);
        }
        self.handles.number(of, status)
    }

    /// Records a READ, whose file must be as long as the data read.
    fn read(
        &mut self,
        of: Handle,
        offset: u64,
        length: u32,
        returned: u32,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        check_size(length)?;
        let handle = self.of_range(of, offset, length, status)?;
        if let Some(open) = self.handles.get(of)
            && returned > 0
        {
            self.names.read_to(open.node, offset + u64::from(returned));
        }
        self.summary.bytes_read += u64::from(length);
        Ok(Record::Read {
            handle,
            offset,
            length,
            returned,
            flags: 0,
        })
    }

    /// Records a WRITE, whose file is as long as the data written.
    fn write(
        &mut self,
        of: Handle,
        offset: u64,
        length: u32,
        written: u32,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        check_size(length)?;
        let handle = self.of_range(of, offset, length, status)?;
        if let Some(open) = self.handles.get(of) {
            self.names
                .written_to(open.node, offset + u64::from(written));
        }
        self.summary.bytes_written += u64::from(length);
        Ok(Record::Write {
            handle,
            offset,
            length,
            written,
            flags: 0,
        })
    }

    /// Records an operation by name, which has this effect on the name if it
    /// succeeds.
    fn of_path(
        &mut self,
        path: &str,
        status: NtStatus,
        effect: impl FnOnce(&mut Names, u32),
    ) -> Result<PathNumber, StepError> {
        let (path, node) = self.path(path)?;
        match status {
            NtStatus::SUCCESS => effect(&mut self.names, node),
            _ => self.missed(node, status),
        }
        Ok(path)
    }

    /// Records the deletion of a name that stood for such an entry.
    fn remove(
        &mut self,
        path: &str,
        made: PreparedName,
        status: NtStatus,
    ) -> Result<PathNumber, StepError> {
        self.of_path(path, status, |names, node| {
            names.found(node, made);
            names.vanished(node);
        })
    }

    fn query_path(
        &mut self,
        path: &str,
        level: InfoLevel,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        let path = self.of_path(path, status, |names, node| {
            names.found(node, PreparedName::File(0));
        })?;
        Ok(Record::QueryPath { path, level })
    }

    fn rename(&mut self, from: &str, to: &str, status: NtStatus) -> Result<Record, StepError> {
        // The first path gets the lower number.
        self.path(from)?;
        let (to, target) = self.path(to)?;
        let from = self.of_path(from, status, |names, node| {
            names.found(node, PreparedName::File(0));
            names.renamed(node, target);
        })?;
        Ok(Record::Rename { from, to })
    }

    fn deltree(&mut self, path: &str, status: NtStatus) -> Result<PathNumber, StepError> {
        let (path, node) = self.path(path)?;
        if status == NtStatus::SUCCESS {
            self.names.vanished(node);
        }
        Ok(path)
    }

    /// Records a SET_INFO with the file's size so far, which it may set.
    fn set_file(
        &mut self,
        of: Handle,
        level: InfoLevel,
        recorded: Option<u64>,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        let handle = self.handles.number(of, status)?;
        let mut size = recorded.unwrap_or(0);
        if recorded.is_none()
            && let Some(open) = self.handles.get(of)
        {
            size = self.names.end(open.node);
            if let Some(made) = self.names.made(open.node) {
                self.sized.push((self.records.len(), made));
            }
        }
        Ok(Record::SetFile {
            handle,
            level,
            size,
        })
    }

    /// Records a listing. Its directory exists even if no name matches.
    fn find(
        &mut self,
        pattern: &str,
        level: InfoLevel,
        most: u32,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        let pattern = clean(pattern)?;
        let (directory, pattern) = pattern.rsplit_once('\\').unwrap_or(("", &pattern));
        let (directory, node) = self.path(directory)?;
        let (pattern, _) = self.path(pattern)?;
        match status {
            NtStatus::SUCCESS | NtStatus::NO_SUCH_FILE => {
                self.names.found(node, PreparedName::Directory);
            }
            _ => self.missed(node, status),
        }
        Ok(Record::Find {
            directory,
            pattern,
            level,
            most,
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

    /// Returns the index of a status.
    pub(super) fn status(&mut self, status: NtStatus) -> Result<u16, StepError> {
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

fn check_size(length: u32) -> Result<(), StepError> {
    if u64::from(length) > REQUEST_BYTES_MAX {
        Err(StepError::TooLarge(length))
    } else {
        Ok(())
    }
}
