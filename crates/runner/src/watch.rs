//! Observer of a run. It tells the progress, saves each load point at once, and
//! writes the interval log.

mod growing;
mod log;

use std::ffi::OsString;
use std::path::{self, Path};

use smbench_engine::run::{MeasuredInterval, Observer, Progress};
use smbench_model::cpu::UnreadServer;
use smbench_model::plan::Plan;
use smbench_model::record::{LoadPointRecord, RunRecord};
use smbench_report::doc::{GrowingDoc, LoadPointDoc};
use smbench_report::text::{height, reason_in_brief};
use smbench_report::{Disclosure, RunDoc, Threshold};

use self::growing::{Growing, RowOf};
pub use self::log::Log;
use crate::failure::Failure;
use crate::observer::RunObserver;
use crate::request::document;
use crate::results::Results;
use crate::searching::Searching;
use crate::time_left::TimeLeft;
use crate::unsaved::Unsaved;

/// Variable with the folder of the results, for commands around a load point.
const RESULTS: &str = "SMBENCH_POINT_RESULTS";

/// Number of load points up to which each is saved with a document as a whole.
const WHOLE_MAX: usize = 64;

/// Saves results during a run.
pub trait SaveResults {
    /// Notes that the run uses this directory of the share from now on.
    fn directory_claimed(&mut self, _directory: &str) {}

    /// Returns the folder of the document.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// Saves the document of an unfinished run.
    fn save(&mut self, doc: RunDoc) -> Result<(), Failure>;

    /// Returns whether load points can be added to the document one by one.
    fn can_grow(&self) -> bool {
        false
    }

    /// Adds a load point to the document: a stage under load, or one of many.
    fn grow(&mut self, _doc: &mut GrowingDoc, _row: &LoadPointDoc) -> Result<(), Failure> {
        Ok(())
    }
}

impl SaveResults for &mut Results {
    fn folder(&self) -> Option<&Path> {
        Some(Results::folder(self))
    }

    fn save(&mut self, doc: RunDoc) -> Result<(), Failure> {
        Results::save(self, &doc)
    }

    fn can_grow(&self) -> bool {
        true
    }

    fn grow(&mut self, doc: &mut GrowingDoc, row: &LoadPointDoc) -> Result<(), Failure> {
        Results::grow(self, doc, row)
    }
}

/// Whether a write has failed, which is reported once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteFailure {
    None,
    Reported,
}

/// Whether each load point is printed in a separate line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PointLines {
    /// In a line, because no progress can be shown.
    Printed,
    /// Nowhere, because the progress is shown.
    Hidden,
}

/// The part of a command that a run is.
pub struct RunPart<'a> {
    /// Remaining time of all runs of the command.
    pub left: &'a mut TimeLeft,
    /// Plan with the planned time of each load point.
    pub plan: &'a Plan,
    /// What distinguishes the run from the others of the command, if there are any.
    pub place: Option<&'a str>,
    /// Whether each load point has a line.
    pub points: PointLines,
}

/// Tells the progress and saves each load point.
pub struct Watch<'a, K> {
    observer: &'a dyn RunObserver,
    part: RunPart<'a>,
    keep: K,
    log: Option<Log>,
    disclosure: Disclosure,
    write_failure: WriteFailure,
    interim: Vec<IntervalReport<'a>>,
    /// The run is refused if the value of one cannot be read.
    pub(crate) conditions: &'a [Threshold],
    unsaved: Unsaved,
    /// The search whose probes the load points are, if there is one.
    searching: Option<Searching>,
    /// The document to which load points are added, if the load has stages, or if the run has many
    /// load points.
    growing: Option<Growing>,
    /// Number of load points of the document when it was last saved as a whole.
    whole: usize,
}

/// Function that reports an interval of the window.
pub type IntervalReport<'a> = Box<dyn FnMut(&MeasuredInterval<'_>) + 'a>;

impl<'a, K: SaveResults> Watch<'a, K> {
    /// Creates the observer. It marks unsaved results in `unsaved`.
    pub fn new(
        observer: &'a dyn RunObserver,
        part: RunPart<'a>,
        keep: K,
        log: Option<Log>,
        disclosure: Disclosure,
        unsaved: &Unsaved,
    ) -> Self {
        Self {
            observer,
            part,
            keep,
            log,
            disclosure,
            write_failure: WriteFailure::None,
            interim: Vec::new(),
            conditions: &[],
            unsaved: unsaved.clone(),
            searching: None,
            growing: None,
            whole: 0,
        }
    }

    /// Adds functions that report intervals.
    pub fn with_intervals(self, interim: impl IntoIterator<Item = IntervalReport<'a>>) -> Self {
        let interim = interim.into_iter().collect();
        Self { interim, ..self }
    }

    /// Saves what this search has found so far with each load point.
    pub fn with_search(self, searching: Option<Searching>) -> Self {
        Self { searching, ..self }
    }

    /// Completes the interval log.
    pub fn close(self) -> Result<(), Failure> {
        self.log.map_or(Ok(()), Log::close)
    }

    /// Saves the document of an unfinished run, if it has results. Of many load points, the last
    /// one is added alone, unless they have doubled.
    fn save(&mut self, record: &RunRecord) {
        let points = record.load_points.len();
        let can_grow = self.searching.is_none() && self.keep.can_grow();
        let is_of_many = can_grow && points > WHOLE_MAX;
        if let Some(last) = record.load_points.last()
            && is_of_many
            && points < 2 * self.whole
        {
            self.part.left.measured(self.part.plan);
            return self.grow(last, RowOf::LoadPoint);
        }
        let mut doc = document(record, self.disclosure.clone());
        if !doc.is_measured() {
            // Such a result is handled at the end of the run.
            return;
        }
        if let Some(searching) = &self.searching {
            doc.set_find(searching.found(&doc));
        }
        self.part.left.measured(self.part.plan);
        self.observer.points(&doc);
        let lines = self.point_line(&doc);
        if can_grow && points >= WHOLE_MAX {
            (self.whole, self.growing) = (points, Some(Growing::after(record, &doc)));
        }
        let saved = self.keep.save(doc);
        self.saved(saved);
        // After it is saved, because a reader of the lines may block.
        lines.iter().for_each(|line| self.observer.note(line));
    }

    /// Reports the first failure to save.
    fn saved(&mut self, saved: Result<(), Failure>) {
        if let (Err(failure), WriteFailure::None) = (saved, self.write_failure) {
            self.write_failure = WriteFailure::Reported;
            self.observer.note(&format!(
                "{failure}; the run continues, and writing is tried again"
            ));
        }
    }

    /// Adds a load point to the document.
    fn grow(&mut self, row: &LoadPointRecord, of: RowOf) {
        let Some(growing) = &mut self.growing else {
            return;
        };
        let (file, doc) = growing.add(row, of, &self.disclosure);
        let row = doc.load_points.last();
        let saved = row.map_or(Ok(()), |row| self.keep.grow(file, row));
        self.saved(saved);
        let line = self.point_line(&doc);
        line.iter().for_each(|line| self.observer.note(line));
    }
}

impl<K> Watch<'_, K> {
    /// Describes the last load point, if nothing else shows the progress.
    fn point_line(&self, doc: &RunDoc) -> Option<String> {
        let point = doc.load_points.last()?;
        if self.part.points == PointLines::Hidden {
            return None;
        }
        let mut place: Vec<_> = self.part.place.map(str::to_owned).into_iter().collect();
        if doc.plan.repeat > 1 {
            place.push(format!("pass {}/{}", point.repeat, doc.plan.repeat));
        }
        place.push(point.load().to_string());
        let mut line = format!("{}: {}", place.join(", "), height(doc, point));
        if !point.valid {
            let reason = point.invalid_reason.as_deref().unwrap_or("no reason given");
            line += &format!(", not valid: {}", reason_in_brief(reason));
        }
        let left = &self.part.left;
        if left.share() < 1.0 {
            line += &format!("; {}", left.words());
        }
        Some(line)
    }
}

impl<K: SaveResults> Observer for Watch<'_, K> {
    fn progress(&mut self, progress: &Progress) {
        match progress {
            // The files of a run are prepared once, so that time says nothing about
            // the load points that are left.
            Progress::SettingUp { .. } => self.part.left.begin(),
            Progress::Running { elapsed, .. } => self.part.left.running(*elapsed),
            Progress::ReadingBack { left, .. } => {
                self.part.left.reading_back(left.unwrap_or_default());
            }
            Progress::Connecting
            | Progress::Preparing { .. }
            | Progress::Pausing { .. }
            | Progress::CleaningUp => {}
        }
        match progress {
            Progress::SettingUp { .. }
            | Progress::Running { .. }
            | Progress::ReadingBack { .. } => self.unsaved.begin(),
            // The command after a load point runs before it is saved.
            Progress::Pausing { .. } => {}
            Progress::Connecting | Progress::Preparing { .. } | Progress::CleaningUp => {
                self.unsaved.end();
            }
        }
        self.observer.progress(progress, self.part.left);
    }

    fn directory_claimed(&mut self, directory: &str) {
        self.keep.directory_claimed(directory);
    }

    fn hook_environment(&self) -> Vec<(String, OsString)> {
        let folder = self
            .keep
            .folder()
            .and_then(|folder| path::absolute(folder).ok());
        let folder = folder.map(|folder| (RESULTS.to_owned(), folder.into()));
        folder.into_iter().collect()
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        if let Some(log) = &mut self.log {
            log.add(interval);
        }
        self.observer.interval(interval);
        for interim in &mut self.interim {
            interim(interval);
        }
    }

    fn server_unread(&mut self, unread: &UnreadServer) -> Result<(), String> {
        let mut conditions = self.conditions.iter();
        let checked = conditions.try_for_each(|condition| condition.check_server(unread));
        checked.map_err(|error| error.to_string())
    }

    fn run_begins(&mut self, record: &RunRecord) {
        if let Some(unused) = record.server.unused_tree() {
            self.observer.note(unused);
        }
        // A later pass is saved when it has ended.
        let work = &record.plan.work;
        let grows = work.stages.is_some() && work.repeat == 1;
        self.growing = grows.then(|| Growing::of(record));
        self.whole = 0;
    }

    fn stage_ended(&mut self, row: &LoadPointRecord) {
        self.grow(row, RowOf::Stage);
    }

    fn load_point_ended(&mut self, record: &RunRecord) {
        self.save(record);
        self.unsaved.end();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use crate::lab_facts::Durability;
    use smbench_engine::run::PointNumber;

    use super::*;
    use crate::request::{disclosure, tests::record};
    use crate::time_left::PlannedEnd;

    pub(crate) struct Discard;

    impl SaveResults for Discard {
        fn save(&mut self, _: RunDoc) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[test]
    fn a_load_point_is_unsaved_until_it_has_ended() {
        let unsaved = Unsaved::default();
        let disclosed = disclosure(Durability::default());
        let (mut left, record) = (TimeLeft::of(Duration::ZERO, PlannedEnd::Time), record());
        let part = RunPart {
            left: &mut left,
            plan: &record.plan,
            place: None,
            points: PointLines::Hidden,
        };
        let mut watch = Watch::new(&(), part, Discard, None, disclosed, &unsaved);
        for (progress, is_unsaved) in [
            (Progress::Connecting, false),
            (Progress::Preparing { done: 0, total: 1 }, false),
            (SETTING_UP, true),
            (Progress::CleaningUp, false),
        ] {
            watch.progress(&progress);
            assert_eq!(unsaved.is_there(), is_unsaved, "{progress:?}");
        }
        for progress in [SETTING_UP, READING_BACK] {
            watch.progress(&progress);
            assert!(unsaved.is_there(), "{progress:?}");
            watch.load_point_ended(&record);
            assert!(!unsaved.is_there());
        }
    }

    const POINT: PointNumber = PointNumber {
        number: 1,
        of: 1,
        repeat: 1,
        clients: 1,
        rate: None,
    };

    const READING_BACK: Progress = Progress::ReadingBack {
        point: POINT,
        done: 0,
        total: 1,
        left: None,
    };

    const SETTING_UP: Progress = Progress::SettingUp {
        point: POINT,
        ready: 0,
        elapsed: Duration::ZERO,
    };
}
