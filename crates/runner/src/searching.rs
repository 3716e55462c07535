//! Searches for limits of a server: their requests ([`loads`], [`logons`], [`held`]), their
//! load points, and their outcomes so far.

pub mod defaults;
pub mod held;
pub mod loads;
pub mod logons;

use std::cell::RefCell;
use std::rc::Rc;

use smbench_engine::Cancel;
use smbench_engine::run::Course;
use smbench_model::load::{PointLoad, SetupFailures};
use smbench_model::load::{Rate, RateScope};
use smbench_model::plan::Plan;
use smbench_model::record::RunRecord;
use smbench_report::doc::{FindDoc, FindKind, OutcomeDoc, ProbeDoc};
use smbench_report::find::{HeldLimit, HeldMost, probe_outcome, sessions};
use smbench_report::units::plain;
use smbench_report::{Disclosure, Find, RunDoc};

use crate::observer::RunObserver;
use crate::request::document;

/// Returns a rate of all clients together.
pub const fn total(per_second: f64) -> Rate {
    Rate {
        per_second,
        scope: RateScope::Total,
    }
}

/// A search, before it begins.
#[derive(Clone, Debug)]
pub enum Search {
    /// For the highest load at which conditions hold.
    Load(Find),
    /// For the largest number of sessions, until this share of attempts fails.
    Sessions(HeldLimit, HeldMost),
}

impl Search {
    /// Returns the largest number of load points.
    pub fn probes_max(&self) -> u32 {
        match self {
            Self::Load(find) => find.spec().probes_max + find.curve_points().unwrap_or(0),
            Self::Sessions(..) => 1,
        }
    }
}

/// Where the outcomes of probes are told.
#[derive(Clone, Copy)]
pub enum ProbeLines<'a> {
    /// Nowhere.
    Hidden,
    /// To this observer, after the place of the search among others.
    Shown(&'a dyn RunObserver, Option<&'a str>),
}

/// A search and its probes so far. The course that chooses the next probe shares them with
/// the observer that saves the document.
#[derive(Clone)]
pub struct Searching(Rc<RefCell<SearchState>>);

struct SearchState {
    search: Search,
    /// Load of the probe that is measured, and the number of load points before it.
    probed: Option<(f64, usize)>,
    cancel: Cancel,
}

impl Searching {
    /// Begins a search, which `cancel` ends.
    pub fn begin(search: Search, cancel: &Cancel) -> Self {
        Self(Rc::new(RefCell::new(SearchState {
            search,
            probed: None,
            cancel: cancel.clone(),
        })))
    }

    /// Returns what the search has found, as a part of the document of the run.
    pub fn found(&self, doc: &RunDoc) -> FindDoc {
        let mut state = self.0.borrow_mut();
        state.judge(doc);
        match &state.search {
            Search::Load(find) => find.to_doc(),
            Search::Sessions(limit, most) => sessions(doc, limit, most),
        }
    }
}

impl SearchState {
    /// Judges the probe that was measured last, once. One that was cut off, or that could
    /// not begin, says nothing.
    fn judge(&mut self, doc: &RunDoc) {
        let Some((load, before)) = self.probed else {
            return;
        };
        let is_cut_off = self.cancel.is_cancelled() || doc.outcome == OutcomeDoc::Aborted;
        if let (Search::Load(find), false) = (&mut self.search, is_cut_off)
            && doc.load_points.len() > before
        {
            self.probed = None;
            find.judge(load, doc);
        }
    }
}

/// Chooses the load points of a search.
pub struct SearchCourse<'a> {
    /// The search and its probes so far.
    pub searching: Searching,
    /// Clients of every probe of a rate, or the most sessions.
    clients: u32,
    disclosure: Disclosure,
    lines: ProbeLines<'a>,
    /// Number of probes whose outcomes were told.
    printed: usize,
}

impl<'a> SearchCourse<'a> {
    /// Prepares the probes of this plan.
    pub fn of(
        searching: &Searching,
        plan: &Plan,
        disclosure: Disclosure,
        lines: ProbeLines<'a>,
    ) -> Self {
        Self {
            searching: searching.clone(),
            clients: plan.max_clients(),
            disclosure,
            lines,
            printed: 0,
        }
    }

    /// Tells the outcomes of the probes since the last call.
    fn print_outcomes(&mut self, find: &Find) {
        let before = self.printed;
        self.printed = find.probes().len();
        let ProbeLines::Shown(observer, place) = self.lines else {
            return;
        };
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        for (at, probe) in find.probes().iter().enumerate().skip(before) {
            let ProbeDoc {
                load,
                verdict,
                reason,
                ..
            } = probe;
            let (number, outcome) = (at + 1, probe_outcome(*verdict));
            let load = find.kind().print(*load);
            let reason = plain(reason);
            let text = format!("{place}probe {number}: {load} {outcome}: {reason}");
            observer.note(&text);
        }
    }
}

impl Course for SearchCourse<'_> {
    fn next(&mut self, record: &RunRecord) -> Option<PointLoad> {
        let mut load = PointLoad {
            clients: self.clients,
            rate: None,
            repeat: 1,
            place: None,
            setup: SetupFailures::EndRun,
        };
        let searching = self.searching.clone();
        let mut state = searching.0.borrow_mut();
        if state.probed.is_some() {
            state.judge(&document(record, self.disclosure.clone()));
        }
        let find = match &state.search {
            Search::Sessions(limit, _) => {
                load.setup = SetupFailures::CountUntil(limit.share());
                return record.load_points.is_empty().then_some(load);
            }
            Search::Load(find) => find,
        };
        self.print_outcomes(find);
        let next = find.next_load()?;
        match find.kind() {
            FindKind::Rate | FindKind::Logons => load.rate = Some(total(next)),
            FindKind::Clients | FindKind::Sessions => {
                load.clients = next as u32;
                // A refused client breaks the probe, and does not end the search.
                load.setup = SetupFailures::CountUntil(0.0);
            }
        }
        let before = find.probes().iter();
        load.repeat += before.filter(|probe| probe.load == next).count() as u32;
        state.probed = Some((next, record.load_points.len()));
        Some(load)
    }

    fn clients_for_certain(&self) -> u32 {
        match &self.searching.0.borrow().search {
            Search::Load(find) if find.kind() == FindKind::Clients => find.spec().start as u32,
            _ => self.clients,
        }
    }

    fn at_most(&self) -> u32 {
        self.searching.0.borrow().search.probes_max()
    }

    fn is_search(&self) -> bool {
        true
    }
}
