//! The search for the highest load at which conditions hold: its probes, and what it has
//! found: the answer as a sentence, and the probes as a table.
//!
//! A probe is a load point. [`sessions`] finds how many sessions a server holds, in one
//! load point. Several searches for one limit are joined in [`FindDoc::pooled`]. Which load
//! comes next is decided by [`smbench_model::search`].

mod answer;
mod busy_machine;
mod contradiction;
mod curve;
mod judge;
mod passes;
mod sessions;
mod slow;

use smbench_model::search::{
    ProbeVerdict, SearchBounds, SearchEnd, SearchProbe, SearchSpec, SearchStep,
};

use self::curve::LoadCurve;
use self::judge::{ProbeJudgement, achieved};
use crate::doc::{ContradictionDoc, FindDoc, FindEnd, FindKind, ProbeDoc, ProbeOutcome, RunDoc};
use crate::threshold::Threshold;
use crate::units::{counted, rate};

pub(crate) use answer::contradiction;
pub use answer::{answer, answer_in_brief, probe_outcome, probes};
pub use curve::curve;
pub use sessions::{HeldLimit, HeldLimitError, HeldMost, sessions};

/// A search, and its probes so far.
#[derive(Clone, Debug)]
pub struct Find {
    kind: FindKind,
    spec: SearchSpec,
    limits: Vec<Threshold>,
    probes: Vec<ProbeDoc>,
    /// Why the server may take more than each probe says.
    doubts: Vec<Option<String>>,
    /// What may help if the machine of the last probe was the limit.
    remedy: String,
    curve: Option<LoadCurve>,
    /// The population whose rate is searched for, if loads are not of all clients.
    population: Option<String>,
}

impl Find {
    /// Begins a search for the highest load at which all `limits` hold.
    #[must_use]
    pub const fn new(kind: FindKind, spec: SearchSpec, limits: Vec<Threshold>) -> Self {
        Self {
            kind,
            spec,
            limits,
            probes: Vec::new(),
            doubts: Vec::new(),
            remedy: String::new(),
            curve: None,
            population: None,
        }
    }

    /// Searches for the rate of this population, while the others keep their load.
    #[must_use]
    pub fn of_population(self, name: &str) -> Self {
        Self {
            population: Some(name.to_owned()),
            ..self
        }
    }

    /// Begins with at least this load.
    #[must_use]
    pub fn at_least(mut self, load: u32) -> Self {
        self.spec.min = self.spec.min.max(load.into());
        self.spec.start = self.spec.start.max(self.spec.min);
        self
    }

    /// Probes multiples of this load only. Returns `None` if the highest load is less.
    #[must_use]
    pub fn in_steps(self, load: u32) -> Option<Self> {
        let spec = self.spec.in_steps(load)?;
        Some(Self { spec, ..self })
    }

    /// Measures a load curve with this number of points after a search for a rate.
    #[must_use]
    pub fn with_curve(mut self, points: Option<u32>) -> Self {
        self.curve = points.map(LoadCurve::new);
        self
    }

    /// Returns the number of points of the curve after the search.
    #[must_use]
    pub fn curve_points(&self) -> Option<u32> {
        self.curve.as_ref().map(|curve| curve.asked)
    }

    /// Returns what is searched for.
    #[must_use]
    pub const fn kind(&self) -> FindKind {
        self.kind
    }

    /// Returns the range and the precision of the search.
    #[must_use]
    pub const fn spec(&self) -> &SearchSpec {
        &self.spec
    }

    /// Returns the conditions that must hold.
    #[must_use]
    pub fn limits(&self) -> &[Threshold] {
        &self.limits
    }

    /// Returns the probes so far.
    #[must_use]
    pub fn probes(&self) -> &[ProbeDoc] {
        &self.probes
    }

    /// Returns the next load; `None` at the end of the search and of its curve.
    #[must_use]
    pub fn next_load(&self) -> Option<f64> {
        let steps = self.steps();
        match self.spec.step(&steps) {
            SearchStep::Probe(load) => Some(load),
            SearchStep::End(SearchEnd::Found | SearchEnd::NeverBroke) => {
                let answer = self.spec.bounds(&steps).held?;
                self.curve.as_ref()?.next_load(answer)
            }
            SearchStep::End(_) => None,
        }
    }

    /// Adds the last load point of `doc` as the probe of `load`, or as a point of the curve.
    pub fn judge(&mut self, load: f64, doc: &RunDoc) {
        let Some(point) = doc.load_points.last() else {
            return;
        };
        let part = point.part_of(self.population.as_deref());
        let is_over = matches!(self.spec.step(&self.steps()), SearchStep::End(_));
        // Of one population, the curve judges its rate itself.
        let missed = (point.populations.len() > 1).then(|| self.missed(doc, point));
        if let Some(curve) = self.curve.as_mut().filter(|_| is_over) {
            return curve.add(load, &part, missed.flatten());
        }
        let ProbeJudgement {
            outcome,
            reason,
            doubt,
        } = self.judgement(doc, point);
        self.doubts.push(doubt);
        self.remedy = busy_machine::remedy(doc, point);
        self.probes.push(ProbeDoc {
            load,
            ops_per_s: achieved(&part),
            verdict: outcome,
            reason,
        });
    }

    /// Returns the search as a part of a document. The end is that of the probes so far.
    #[must_use]
    pub fn to_doc(&self) -> FindDoc {
        let steps = self.steps();
        let end = match self.spec.step(&steps) {
            SearchStep::Probe(_) => FindEnd::Unfinished,
            SearchStep::End(SearchEnd::Found) => FindEnd::Found,
            SearchStep::End(SearchEnd::NeverBroke) => FindEnd::NeverBroke,
            SearchStep::End(SearchEnd::NeverHeld) => FindEnd::NeverHeld,
            SearchStep::End(SearchEnd::ClientLimited) => FindEnd::ClientLimited,
            SearchStep::End(SearchEnd::Unknown) => FindEnd::Unknown,
            SearchStep::End(SearchEnd::ProbesUsedUp) => FindEnd::ProbesUsedUp,
        };
        let SearchBounds { held, broke } = self.spec.bounds(&steps);
        let is_answer = matches!(end, FindEnd::Found | FindEnd::NeverBroke);
        let broken = self
            .probes
            .iter()
            .rev()
            .find(|probe| probe.verdict == ProbeOutcome::Broke && Some(probe.load) == broke);
        let of_bounds = |(probe, doubt): (&ProbeDoc, &Option<String>)| {
            let bound = match probe.verdict {
                ProbeOutcome::Held => held,
                ProbeOutcome::Broke => broke,
                ProbeOutcome::ClientLimited | ProbeOutcome::Unknown => None,
            };
            doubt.clone().filter(|_| bound == Some(probe.load))
        };
        let doubt = self.probes.iter().zip(&self.doubts).find_map(of_bounds);
        FindDoc {
            kind: self.kind,
            unit: self.kind.unit().to_owned(),
            population: self.population.clone(),
            limit: self.limits.iter().map(ToString::to_string).collect(),
            result: held.filter(|_| is_answer),
            broke_at: broke,
            broke_reason: broken.map(|probe| probe.reason.clone()),
            held_at: held,
            end,
            doubt: doubt.filter(|_| is_answer),
            contradiction: ContradictionDoc::of(&self.probes),
            remedy: (end == FindEnd::ClientLimited).then(|| self.remedy.clone()),
            precision: self.spec.precision,
            confirmations: self.spec.confirmations.held,
            confirmations_of: self.spec.confirmations.of,
            probes: self.probes.clone(),
            passes: Vec::new(),
            estimate: None,
            curve: self.curve.as_ref().map(LoadCurve::to_doc),
        }
    }

    /// Returns the probes without what only people read.
    fn steps(&self) -> Vec<SearchProbe> {
        let probe = |probe: &ProbeDoc| SearchProbe {
            load: probe.load,
            verdict: match probe.verdict {
                ProbeOutcome::Held => ProbeVerdict::Held,
                ProbeOutcome::ClientLimited => ProbeVerdict::ClientLimited,
                ProbeOutcome::Unknown => ProbeVerdict::Unknown,
                ProbeOutcome::Broke => ProbeVerdict::Broke {
                    achieved: self.kind.is_rate().then_some(probe.ops_per_s),
                },
            },
        };
        self.probes.iter().map(probe).collect()
    }
}

impl FindKind {
    /// Returns whether loads are rates.
    #[must_use]
    pub const fn is_rate(self) -> bool {
        matches!(self, Self::Rate | Self::Logons)
    }

    /// Returns the value of `kind` in documents and suites.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Clients => "clients",
            Self::Sessions => "sessions",
            Self::Logons => "logons",
        }
    }

    /// Returns what the run is.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "a search for a rate",
            Self::Clients => "a search for clients",
            Self::Sessions => "a search for sessions",
            Self::Logons => "a search for log-ons",
        }
    }

    /// Returns the unit of loads.
    const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "ops/s",
            Self::Clients => "clients",
            Self::Sessions => "sessions",
            Self::Logons => "log-ons/s",
        }
    }

    /// Formats a load with its unit.
    #[must_use]
    pub fn print(self, load: f64) -> String {
        match self {
            Self::Rate => format!("{} ops/s", rate(load)),
            Self::Clients => counted(load as u64, "client"),
            Self::Sessions => counted(load as u64, "session"),
            Self::Logons => format!("{} log-ons/s", rate(load)),
        }
    }
}
