//! The search for the highest load at which conditions hold: how a probe is judged, and
//! what the search has found.
//!
//! A probe is a load point. [`sessions`] finds how many sessions a server holds, in one
//! load point. Several searches for one limit are joined in [`FindDoc::pooled`]. Which load
//! comes next is decided by [`smbench_model::search`].

mod passes;
mod sessions;

use smbench_model::search::{
    ProbeVerdict, SearchBounds, SearchEnd, SearchProbe, SearchSpec, SearchStep,
};

use crate::doc::{
    ConditionOutcome, FindDoc, FindEnd, FindKind, LoadPointDoc, OutcomeDoc, ProbeDoc, ProbeOutcome,
    RunDoc,
};
use crate::threshold::Threshold;
use crate::units::{counted, percent, rate};

pub use sessions::{HeldLimit, HeldLimitError, HeldMost, sessions};

/// The share of the requests that clients may have in flight, from which on these bound a
/// rate.
const BUSY_SHARE: f64 = 0.8;

/// A search, and its probes so far.
#[derive(Clone, Debug)]
pub struct Find {
    kind: FindKind,
    spec: SearchSpec,
    limits: Vec<Threshold>,
    probes: Vec<ProbeDoc>,
    /// Why the server may take more than each probe says.
    doubts: Vec<Option<String>>,
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
        }
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

    /// Returns the next load; `None` at the end of the search.
    #[must_use]
    pub fn next_load(&self) -> Option<f64> {
        match self.spec.step(&self.steps()) {
            SearchStep::Probe(load) => Some(load),
            SearchStep::End(_) => None,
        }
    }

    /// Adds the last load point of `doc` as the probe of `load`.
    pub fn judge(&mut self, load: f64, doc: &RunDoc) {
        let Some(point) = doc.load_points.last() else {
            return;
        };
        let (verdict, reason) = self.verdict(doc, point);
        self.doubts.push(match verdict {
            ProbeOutcome::Held => self.busy(doc, point),
            ProbeOutcome::Broke => self.limits.iter().find_map(|limit| limit.noise(point)),
            ProbeOutcome::ClientLimited | ProbeOutcome::Unknown => None,
        });
        self.probes.push(ProbeDoc {
            load,
            ops_per_s: achieved(point),
            verdict,
            reason,
        });
    }

    /// Tells if nearly all clients were waiting for the server, so that they bounded the
    /// rate.
    fn busy(&self, doc: &RunDoc, point: &LoadPointDoc) -> Option<String> {
        let slots = u64::from(point.clients) * u64::from(doc.plan.outstanding);
        let in_flight = point.concurrency.as_ref()?.in_flight_mean;
        let is_busy = self.kind.is_rate() && in_flight >= slots as f64 * BUSY_SHARE;
        is_busy.then(|| {
            let requests = counted(slots, "request");
            format!("{in_flight:.0} of at most {requests} were in flight: give more clients")
        })
    }

    fn verdict(&self, doc: &RunDoc, point: &LoadPointDoc) -> (ProbeOutcome, String) {
        if let Some(reason) = own_limit(point) {
            return (ProbeOutcome::ClientLimited, reason);
        }
        let attempts = point.setup.attempts.as_ref();
        if let Some(refused) = attempts.filter(|attempts| attempts.failed > 0) {
            let sessions = counted(refused.ended.into(), "session");
            let told = format!("{} of {sessions} could not be set up", refused.failed);
            let causes: Vec<_> = sessions::causes(refused).collect();
            return (
                ProbeOutcome::Broke,
                format!("{told}: {}", causes.join(", ")),
            );
        }
        let allows_errors = self.limits.iter().any(Threshold::allows_errors);
        let wrong = point.verification.as_ref().map_or(0, |found| found.wrong);
        let failed_alone = point.errors > 0
            && wrong == 0
            && point.dropouts.is_empty()
            && point.latency_ns.is_some();
        let is_judged = point.valid || (allows_errors && failed_alone);
        if !is_judged {
            let reason = point.invalid_reason.clone();
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            return (ProbeOutcome::Broke, reason);
        }
        let alone = RunDoc {
            load_points: vec![LoadPointDoc {
                valid: true,
                ..point.clone()
            }],
            outcome: OutcomeDoc::Complete,
            ..doc.clone()
        };
        match self.judged(&alone, point) {
            (ProbeOutcome::Broke, _) if point.generator_limited == Some(true) => {
                (ProbeOutcome::ClientLimited, generator_reason(point))
            }
            judged => judged,
        }
    }

    /// Judges the conditions by a document with one load point.
    fn judged(&self, alone: &RunDoc, point: &LoadPointDoc) -> (ProbeOutcome, String) {
        let mut held = Vec::new();
        for limit in &self.limits {
            let judged = limit.required(alone);
            let is_close = self.kind == FindKind::Logons && limit.breaks_with_one_more(point);
            match judged.outcome {
                ConditionOutcome::Passed if is_close => {
                    let found = named(&judged.metric, &judged.found);
                    return (
                        ProbeOutcome::Broke,
                        format!("{found}, and one more would be too many"),
                    );
                }
                ConditionOutcome::Passed => held.push(named(&judged.metric, &judged.found)),
                ConditionOutcome::Unknown | ConditionOutcome::Skipped => {
                    let reason = format!("{}: {}", judged.condition, judged.found);
                    return (ProbeOutcome::Unknown, reason);
                }
                ConditionOutcome::Failed => {
                    return (ProbeOutcome::Broke, named(&judged.metric, &judged.found));
                }
            }
        }
        if let Some(share) = self.missed(point) {
            let share = percent(share * 100.0);
            return (ProbeOutcome::Broke, format!("{share} of the rate reached"));
        }
        if held.is_empty() {
            held.push("rate reached".to_owned());
        }
        (ProbeOutcome::Held, held.join(", "))
    }

    /// Returns the share of a rate that was reached, if the rate was missed. The limit is
    /// stricter than that of a run, because a load just above what the server takes is missed
    /// by little. Two operations may always be at the edges of the window.
    fn missed(&self, point: &LoadPointDoc) -> Option<f64> {
        let offered = point.rated()?;
        let share = offered.reached_share()?;
        let due = offered.operations as f64;
        let allowed = (due * (self.spec.precision / 2.0).min(0.01)).max(2.0);
        ((1.0 - share) * due > allowed).then_some(share)
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
            let is_bound = [held, broke].contains(&Some(probe.load));
            doubt.clone().filter(|_| is_bound)
        };
        let doubt = self.probes.iter().zip(&self.doubts).find_map(of_bounds);
        FindDoc {
            kind: self.kind,
            unit: self.kind.unit().to_owned(),
            limit: self.limits.iter().map(ToString::to_string).collect(),
            result: held.filter(|_| is_answer),
            broke_at: broke,
            broke_reason: broken.map(|probe| probe.reason.clone()),
            held_at: held,
            end,
            doubt: doubt.filter(|_| is_answer),
            precision: self.spec.precision,
            confirmations: self.spec.confirmations.held,
            confirmations_of: self.spec.confirmations.of,
            probes: self.probes.clone(),
            passes: Vec::new(),
            estimate: None,
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

/// Returns why the generator, or its machine, was the limit.
fn own_limit(point: &LoadPointDoc) -> Option<String> {
    if point.is_client_limited() {
        return Some(generator_reason(point));
    }
    let attempts = point.setup.attempts.as_ref();
    if let Some(reason) = attempts.and_then(|attempts| attempts.own_limit.clone()) {
        return Some(reason);
    }
    // Of a client that could not open a socket.
    let mut reasons = point.dropouts.iter().map(|lost| &lost.reason);
    reasons
        .find(|reason| reason.contains("this machine is the limit"))
        .cloned()
}

fn generator_reason(point: &LoadPointDoc) -> String {
    let generator = point.generator.as_ref();
    let reason = generator.and_then(|generator| generator.reason.clone());
    reason.unwrap_or_else(|| "no reason given".to_owned())
}

/// Returns the operations per second of a point. Operations of several requests count once
/// at a rate.
fn achieved(point: &LoadPointDoc) -> f64 {
    let offered = point.rated();
    let answered = offered.and_then(|offered| Some(offered.ops_per_s * offered.reached_share()?));
    answered.unwrap_or(point.ops_per_s)
}

/// Puts the metric before its value.
fn named(metric: &str, found: &str) -> String {
    format!("{metric} {found}")
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
