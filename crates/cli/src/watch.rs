//! What a run is watched by: its progress is shown, each load point is saved at
//! once, and the interval log is written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use smbench_engine::record::RunRecord;
use smbench_engine::run::{MeasuredInterval, Observer, Progress};
use smbench_report::{Disclosure, IntervalLog, RunDoc};

use crate::failure::Failure;
use crate::output::complain;
use crate::progress::Line;
use crate::request::document;
use crate::results::is_special;
use crate::unsaved::Unsaved;

/// What is done with what was measured so far.
pub(crate) trait Keep {
    /// The run works in this directory of the share from now on.
    fn directory_claimed(&mut self, _directory: &str) {}

    /// Saves the document of a run that goes on.
    fn save(&mut self, doc: RunDoc) -> Result<(), Failure>;
}

/// The interval log that was asked for.
pub(crate) struct Log {
    path: PathBuf,
    /// Begun with the first interval: until then a log that was there stays.
    log: Option<IntervalLog<File>>,
    written: io::Result<()>,
}

impl Log {
    /// A log at `path`, in place of whatever is there.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        // A pipe is opened at once: it loses nothing, and may wait for a reader.
        let file = is_special(path).then(|| File::create(path));
        let file = file.transpose().map_err(Failure::write(path))?;
        Ok(Self {
            path: path.to_owned(),
            log: file.map(IntervalLog::new),
            written: Ok(()),
        })
    }

    /// Adds an interval, unless one before it could not be written: a log that ends
    /// early is plain to see, one with a hole in it is not.
    fn add(&mut self, interval: &MeasuredInterval<'_>) {
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

    pub(crate) fn close(self) -> Result<(), Failure> {
        self.written.map_err(Failure::write(&self.path))
    }
}

/// Whether writing has failed, which is said once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    Told,
}

/// Shows progress and saves each load point.
pub(crate) struct Watch<'a, K> {
    line: &'a Line,
    keep: K,
    log: Option<Log>,
    disclosure: Disclosure,
    trouble: Trouble,
    interim: Option<Interim<'a>>,
    unsaved: Unsaved,
}

/// Tells of an interval of the window, while the progress is off the terminal.
pub(crate) type Interim<'a> = Box<dyn FnMut(&MeasuredInterval<'_>, &Line) + 'a>;

impl<'a, K: Keep> Watch<'a, K> {
    /// Marks in `unsaved` what it has not saved yet.
    pub(crate) fn new(
        line: &'a Line,
        keep: K,
        log: Option<Log>,
        disclosure: Disclosure,
        unsaved: &Unsaved,
    ) -> Self {
        Self {
            line,
            keep,
            log,
            disclosure,
            trouble: Trouble::None,
            interim: None,
            unsaved: unsaved.clone(),
        }
    }

    /// The same, that tells of intervals as well.
    pub(crate) fn telling(self, interim: Option<Interim<'a>>) -> Self {
        Self { interim, ..self }
    }

    /// Completes the interval log.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.log.map_or(Ok(()), Log::close)
    }

    /// Saves the document of a run that goes on, if it holds anything.
    fn save(&mut self, record: &RunRecord) {
        let doc = document(record, self.disclosure.clone());
        if !doc.is_measured() {
            // The end of the run says what becomes of it.
            return;
        }
        if let (Err(failure), Trouble::None) = (self.keep.save(doc), self.trouble) {
            self.trouble = Trouble::Told;
            self.line.suspended(|| {
                complain(format_args!(
                    "{failure}; the run goes on, and writing is tried again"
                ));
            });
        }
    }
}

impl<K: Keep> Observer for Watch<'_, K> {
    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::SettingUp { .. } | Progress::Running { .. } => self.unsaved.begin(),
            Progress::Connecting | Progress::Preparing { .. } | Progress::CleaningUp => {
                self.unsaved.end();
            }
        }
        self.line.show(progress);
    }

    fn directory_claimed(&mut self, directory: &str) {
        self.keep.directory_claimed(directory);
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        if let Some(log) = &mut self.log {
            log.add(interval);
        }
        if let Some(interim) = &mut self.interim {
            interim(interval, self.line);
        }
    }

    fn load_point_ended(&mut self, record: &RunRecord) {
        self.save(record);
        self.unsaved.end();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smbench_engine::run::Point;
    use smbench_report::FlushDoc;

    use super::*;
    use crate::progress::Visibility;
    use crate::request::{disclosure, tests::record};

    struct Discard;

    impl Keep for Discard {
        fn save(&mut self, _: RunDoc) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[test]
    fn a_load_point_is_unsaved_until_it_has_ended() {
        let line = Line::new(Visibility::Hidden);
        let unsaved = Unsaved::default();
        let told = disclosure(FlushDoc::Unknown);
        let mut watch = Watch::new(&line, Discard, None, told, &unsaved);
        for (progress, is_unsaved) in [
            (Progress::Connecting, false),
            (Progress::Preparing { done: 0, total: 1 }, false),
            (SETTING_UP, true),
            (Progress::CleaningUp, false),
        ] {
            watch.progress(&progress);
            assert_eq!(unsaved.is_there(), is_unsaved, "{progress:?}");
        }
        watch.progress(&SETTING_UP);
        watch.load_point_ended(&record());
        assert!(!unsaved.is_there());
    }

    const SETTING_UP: Progress = Progress::SettingUp {
        point: Point {
            number: 1,
            of: 1,
            clients: 1,
        },
        ready: 0,
        elapsed: Duration::ZERO,
    };
}
