//! The log of intervals that the user asked for.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use smbench_engine::run::MeasuredInterval;
use smbench_report::IntervalLog;

use crate::failure::Failure;
use crate::results::is_special;

/// The requested interval log.
pub struct Log {
    path: PathBuf,
    /// The log; created with the first interval, so that a run that measures nothing
    /// leaves none.
    log: Option<IntervalLog<File>>,
    written: io::Result<()>,
}

impl Log {
    /// Creates a log at `path`.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        // A pipe is opened at once. That loses no data, and its reader may have to
        // be waited for.
        let file = is_special(path).then(|| File::create(path));
        let file = file.transpose().map_err(Failure::write(path))?;
        Ok(Self {
            path: path.to_owned(),
            log: file.map(IntervalLog::new),
            written: Ok(()),
        })
    }

    /// Adds an interval, unless an earlier one could not be written. A log that
    /// ends early is easy to notice, but one with a gap is not.
    pub(super) fn add(&mut self, interval: &MeasuredInterval<'_>) {
        if self.written.is_ok() {
            self.written = self.write(interval);
        }
    }

    fn write(&mut self, interval: &MeasuredInterval<'_>) -> io::Result<()> {
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(IntervalLog::new(File::create(&self.path)?)),
        };
        log.write(interval)
    }

    /// Completes the log.
    pub fn close(self) -> Result<(), Failure> {
        self.written.map_err(Failure::write(&self.path))
    }
}
