//! Carries out a run: its load points, or the probes of a search, each saved when it has
//! ended. Not here: how a load point is measured ([`smbench_engine`]).

use smbench_engine::Cancel;
use smbench_engine::run::{PlannedCourse, RunError, StateFile};
use smbench_model::plan::Plan;
use smbench_model::record::RunRecord;
use smbench_report::{Disclosure, RunDoc, Threshold};

use crate::failure::Failure;
use crate::hosts::Hosts;
use crate::observer::RunObserver;
use crate::request::document;
use crate::searching::{ProbeLines, SearchCourse, Searching};
use crate::unsaved::Unsaved;
use crate::watch::{IntervalReport, Log, RunPart, SaveResults, Watch};

/// A run that is to be carried out.
pub struct RunJob<'a> {
    /// What is to be measured.
    pub plan: &'a Plan,
    /// Facts about the server and the run for its document.
    pub disclosure: Disclosure,
    /// The part of a command that the run is.
    pub part: RunPart<'a>,
    /// The search that chooses the load points, if the run is one.
    pub search: Option<&'a Searching>,
    /// Where outcomes of probes are told.
    pub probes: ProbeLines<'a>,
    /// The interval log, if one is asked for.
    pub log: Option<Log>,
    /// What else is done with each interval.
    pub reports: Vec<IntervalReport<'a>>,
    /// The conditions of the run. One on a value of the server that cannot be read between
    /// stages ends the run before its load.
    pub conditions: &'a [Threshold],
    /// The file for notes on answers, if such are to be made.
    pub state: Option<StateFile>,
    /// The hosts of the run.
    pub hosts: &'a Hosts,
    /// Gets progress and messages.
    pub observer: &'a dyn RunObserver,
    /// Marks results that are not on disk yet.
    pub unsaved: &'a Unsaved,
    /// Ends the run in good order.
    pub cancel: &'a Cancel,
}

/// What a run has measured.
#[derive(Debug)]
pub struct JobOutcome {
    /// Its record, if anything was measured.
    pub record: Result<RunRecord, RunError>,
    /// Whether the interval log is complete.
    pub logged: Result<(), Failure>,
}

impl<'a> RunJob<'a> {
    /// Returns a run of this machine alone, without a search, a log or lines of load points.
    pub fn simple(
        part: RunPart<'a>,
        disclosure: Disclosure,
        observer: &'a dyn RunObserver,
        unsaved: &'a Unsaved,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            plan: part.plan,
            disclosure,
            part,
            search: None,
            probes: ProbeLines::Hidden,
            log: None,
            reports: Vec::new(),
            conditions: &[],
            state: None,
            hosts: &Hosts::Alone,
            observer,
            unsaved,
            cancel,
        }
    }

    /// Measures, and saves each load point to `keep` when it has ended. The document of the
    /// whole run is [`finished`], and the caller saves it.
    #[must_use]
    pub fn measure(self, keep: impl SaveResults) -> JobOutcome {
        let Self {
            plan,
            disclosure,
            part,
            search,
            probes,
            log,
            reports,
            conditions,
            state,
            hosts,
            observer,
            unsaved,
            cancel,
        } = self;
        let watch = Watch::new(observer, part, keep, log, disclosure.clone(), unsaved);
        let watch = watch.with_intervals(reports);
        let mut watch = watch.with_search(search.cloned());
        watch.conditions = conditions;
        let record = match search {
            Some(search) => {
                let mut course = SearchCourse::of(search, plan, disclosure, probes);
                hosts.execute(plan, &mut course, state, &mut watch, observer, cancel)
            }
            None => {
                let mut course = PlannedCourse::of(plan);
                hosts.execute(plan, &mut course, state, &mut watch, observer, cancel)
            }
        };
        let logged = watch.close();
        JobOutcome { record, logged }
    }
}

/// Builds the document of a run that has ended.
pub fn finished(record: &RunRecord, disclosure: Disclosure, search: Option<&Searching>) -> RunDoc {
    let mut doc = document(record, disclosure);
    if let Some(search) = search {
        doc.set_find(search.found(&doc));
    }
    doc
}
