//! The document of a run to which load points are added one by one, at a cost that does not depend
//! on their number.

use smbench_model::record::{LoadPointRecord, RunRecord};
use smbench_report::doc::{GrowingDoc, LoadPointDoc};
use smbench_report::{Disclosure, RunDoc};

use crate::request::document;

/// The kind of a load point that is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOf {
    /// It is a stage, and the load goes on.
    Stage,
    /// Its load has ended.
    LoadPoint,
}

/// The document of a run, and what is known of it apart from load points.
pub(super) struct Growing {
    record: RunRecord,
    /// `None` before the first row.
    doc: Option<GrowingDoc>,
}

impl Growing {
    /// Begins with a run that has no load points yet.
    pub(super) fn of(record: &RunRecord) -> Self {
        Self {
            record: RunRecord {
                load_points: Vec::new(),
                ..record.clone()
            },
            doc: None,
        }
    }

    /// Begins with the load points of a document.
    pub(super) fn after(record: &RunRecord, doc: &RunDoc) -> Self {
        Self {
            doc: Some(GrowingDoc::of(&without_sums(doc.clone()))),
            ..Self::of(record)
        }
    }

    /// Returns the file to which a load point is to be added, and the document of it alone.
    pub(super) fn add(
        &mut self,
        row: &LoadPointRecord,
        of: RowOf,
        disclosure: &Disclosure,
    ) -> (&mut GrowingDoc, RunDoc) {
        self.record.load_points = vec![row.clone()];
        let mut doc = without_sums(document(&self.record, disclosure.clone()));
        self.record.load_points.clear();
        if of == RowOf::Stage {
            let rows = std::mem::take(&mut doc.load_points).into_iter();
            doc.load_points = rows.map(LoadPointDoc::under_load).collect();
        }
        let head = || RunDoc {
            load_points: Vec::new(),
            ..doc.clone()
        };
        let file = self.doc.get_or_insert_with(|| GrowingDoc::of(&head()));
        (file, doc)
    }
}

/// Leaves out what sums up load points, of which there will be more.
fn without_sums(doc: RunDoc) -> RunDoc {
    RunDoc {
        repeats: Vec::new(),
        peak: None,
        curve: None,
        soak: None,
        ..doc
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use smbench_engine::Observer as _;
    use smbench_model::Nanos;
    use smbench_model::kind::OpKind;
    use smbench_model::record::{Phase, Recorder};

    use super::*;
    use crate::lab_facts::Durability;
    use crate::request::{disclosure, tests::record};
    use crate::results::{ResultFiles, Results};
    use crate::time_left::{PlannedEnd, TimeLeft};
    use crate::unsaved::Unsaved;
    use crate::watch::{PointLines, RunPart, WHOLE_MAX, Watch};

    /// Whether it is saved as a whole or not, the document has each load point.
    #[test]
    fn each_of_many_load_points_is_saved_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = ResultFiles {
            folder: folder.path().to_owned(),
            ..ResultFiles::default()
        };
        let mut results = Results::prepare(&files, "many", SystemTime::now()).unwrap();
        let (mut left, mut record) = (TimeLeft::of(Duration::ZERO, PlannedEnd::Time), record());
        let mut window = Recorder::default();
        window.success(OpKind::Read, 4096, Nanos(1_000_000));
        let mut point = LoadPointRecord::begun(1, None, 1);
        point.window = Duration::from_secs(1);
        point.ops.add(&window, Phase::Window);
        let plan = record.plan.clone();
        let part = RunPart {
            left: &mut left,
            plan: &plan,
            place: None,
            points: PointLines::Hidden,
        };
        let unsaved = Unsaved::default();
        let disclosed = disclosure(Durability::default());
        let mut watch = Watch::new(&(), part, &mut results, None, disclosed, &unsaved);
        watch.run_begins(&record);
        for points in 1..=WHOLE_MAX * 2 + 3 {
            record.load_points.push(LoadPointRecord {
                repeat: points as u32,
                ..point.clone()
            });
            if points < WHOLE_MAX - 1 {
                continue;
            }
            watch.load_point_ended(&record);
            let saved = std::fs::read_dir(folder.path()).unwrap();
            let saved: Vec<_> = saved.map(|entry| entry.unwrap().path()).collect();
            let [path] = &saved[..] else {
                panic!("there is one document: {saved:?}");
            };
            if points <= WHOLE_MAX + 2 || points >= WHOLE_MAX * 2 - 1 {
                let doc = RunDoc::load(path).unwrap();
                let passes = doc.load_points.iter().map(|point| point.repeat as usize);
                assert!(passes.eq(1..=points), "{points}");
                let is_whole = points <= WHOLE_MAX || points == WHOLE_MAX * 2;
                assert_eq!(doc.peak.is_some(), is_whole, "{points}");
            }
        }
    }
}
