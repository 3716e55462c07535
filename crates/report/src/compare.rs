//! Comparisons of runs: `smbench compare`.
//!
//! Every number of a load point that both runs have is compared, in percent of the
//! first run. Each change has the interval of [`crate::change`] and a verdict.
//! Values are means over the valid passes, including percentiles. Their noise is
//! the noise of the passes' percentiles. One pass never gives a verdict. Each
//! comparison is judged separately: of twenty without a difference, about one shows
//! a difference by chance. Not here: the arithmetic ([`crate::change`]), and how
//! results are made.

mod condition;
mod csv;
mod difference;
mod error;
mod input;
mod judgement;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use condition::{Condition, GrammarError};
pub use csv::write_csv;
pub use difference::Difference;
pub use error::CompareError;
pub use input::{Input, compare};
pub use judgement::Judgement;
pub use text::{Depth, render};

use crate::change::{CONFIDENCE, Change, Noise};
use crate::curve::{Curve, Row};
use crate::doc::{LoadPointDoc, OutcomeDoc, RunDoc, ToolDoc};
use crate::metric::{Better, Metric};
use crate::percentile::Percentile;
use crate::units;

/// Runs compared with the first of them, or each server compared with its own
/// baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`crate::doc::SCHEMA_VERSION`] of the program that wrote the comparison.
    pub schema_version: u32,
    /// The program that made the comparison.
    pub tool: ToolDoc,
    /// The compared pairs, in the order the inputs were given.
    pub pairs: Vec<Pair>,
    /// Results without a counterpart, one sentence each.
    pub unmatched: Vec<String>,
}

impl Comparison {
    /// Removes pairs of runs that did different work. Each becomes a sentence of
    /// `unmatched`.
    ///
    /// # Errors
    ///
    /// [`CompareError::OtherWork`] if no pair is left.
    pub fn of_same_work(mut self) -> Result<Self, CompareError> {
        let refused: Vec<_> = self.pairs.iter().filter_map(Pair::other_work).collect();
        self.pairs.retain(|pair| pair.other_work().is_none());
        self.unmatched
            .extend(refused.iter().map(CompareError::to_string));
        match refused.into_iter().next() {
            Some(first) if self.pairs.is_empty() => Err(first),
            _ => Ok(self),
        }
    }
}

/// A run compared with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The baseline.
    pub baseline: Subject,
    /// The run that is compared with the baseline.
    pub other: Subject,
    /// Differences of servers, sessions and generators. They may be the purpose of
    /// the comparison.
    pub settings: Vec<Difference>,
    /// Differences of the work. If there are any, the comparison needs care.
    pub workload: Vec<Difference>,
    /// Load points and passes that are not compared, one sentence each.
    pub left_out: Vec<String>,
    /// Numbers of clients whose load points are valid in the baseline, but not in
    /// the other run, although its plan has them. The other run failed there, or
    /// was stopped before. Ascending.
    pub lost: Vec<u32>,
    /// Comparison of the two peaks; `null` if one of the runs has none.
    pub peak: Option<Held>,
    /// Comparisons at each number of clients that both runs have, ascending.
    pub load_points: Vec<Held>,
}

/// One of the compared runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Label of the run: `A`.
    pub label: String,
    /// File or folder of the run, and its name within a study.
    pub name: String,
    /// Only the name within a study; `null` for a separate result.
    pub server: Option<String>,
    /// Name of the profile.
    pub profile: String,
    /// The target without its password.
    pub url: String,
    /// Wall-clock time of the start, RFC 3339 in UTC.
    pub started: String,
    /// The way in which the run ended.
    pub outcome: OutcomeDoc,
}

/// Comparison of two load points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// Load point of the baseline.
    pub baseline: Place,
    /// Load point of the other run.
    pub other: Place,
    /// Metrics over all operations.
    pub metrics: Vec<MetricChange>,
    /// Metrics by kind of operation.
    pub ops: BTreeMap<String, Vec<MetricChange>>,
}

/// A load point of one of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Number of clients.
    pub clients: u32,
    /// Number of valid passes.
    pub passes: usize,
    /// Whether the generator was the limit in any of those passes.
    pub generator_limited: bool,
    /// The lowest percentile that may be too high in any of them, because answers were
    /// handled late; `null` where none is.
    pub noisy_from: Option<Percentile>,
    /// Whether the latencies of any of them miss a stall at the end of the window.
    pub stalled: bool,
}

/// One metric of two load points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    /// The metric.
    pub metric: Metric,
    /// The unit of the two values.
    pub unit: &'static str,
    /// The baseline's value, the mean over passes; `null` if it has none.
    pub baseline: Option<f64>,
    /// The other run's value, the mean over passes; `null` if it has none.
    pub other: Option<f64>,
    /// Change from the baseline to the other run, in percent of the baseline.
    /// `null` if a value is missing, or if the two are different quantities: CPU
    /// time of the serving processes, and of the whole machine.
    pub change_percent: Option<f64>,
    /// Lower bound of the 95 % confidence interval of the change. `null`, like the
    /// next three keys, if the noise is not known.
    pub low_percent: Option<f64>,
    /// Upper bound of that interval.
    pub high_percent: Option<f64>,
    /// The kind of noise that the interval is based on. `window` does not suffice
    /// for a verdict.
    pub noise: Option<Noise>,
    /// Smallest increase that such data would show in four of five cases.
    pub shows_from_percent: Option<f64>,
    /// Meaning of the change.
    pub verdict: Verdict,
}

/// Meaning of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// An improvement.
    Better,
    /// A deterioration.
    Worse,
    /// The change may be noise.
    NoDifferenceShown,
    /// Either run has only one pass, a value is missing, or the values are
    /// different quantities.
    CannotTell,
}

impl Verdict {
    /// Returns the verdict as tables show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceShown => "no difference shown",
            Self::CannotTell => "cannot tell",
        }
    }
}

impl MetricChange {
    /// Compares a metric of all operations, or of one kind. `None` if neither run
    /// has a value.
    fn of(metric: Metric, op: Option<&str>, rows: [&Row<'_>; 2]) -> Option<Self> {
        let [baseline, other] = rows.map(|row| metric.measured(&row.passes, op));
        baseline.or(other)?;
        let change = baseline
            .zip(other)
            .filter(|_| metric.is_alike(&rows[0].passes, &rows[1].passes))
            .and_then(|(from, to)| Change::between(&from, &to, CONFIDENCE));
        let interval = change.and_then(|change| change.interval);
        let verdict = match change.zip(interval) {
            Some((change, interval)) if interval.noise == Noise::Passes => {
                let rises = change.percent > 0.0;
                match interval.shows_a_change() {
                    false => Verdict::NoDifferenceShown,
                    true if rises == (metric.better() == Better::Higher) => Verdict::Better,
                    true => Verdict::Worse,
                }
            }
            _ => Verdict::CannotTell,
        };
        Some(Self {
            metric,
            unit: metric.unit(),
            baseline: baseline.map(|measured| measured.value),
            other: other.map(|measured| measured.value),
            change_percent: change.map(|change| change.percent),
            low_percent: interval.map(|interval| interval.low),
            high_percent: interval.map(|interval| interval.high),
            noise: interval.map(|interval| interval.noise),
            shows_from_percent: interval.map(|interval| interval.shows_from),
            verdict,
        })
    }
}

impl Held {
    fn of(baseline: &Row<'_>, other: &Row<'_>) -> Self {
        let changes = |op: Option<&str>| {
            let change = |metric: Metric| MetricChange::of(metric, op, [baseline, other]);
            Metric::ALL.into_iter().filter_map(change).collect()
        };
        let passes = baseline.passes.iter().chain(&other.passes);
        let names: BTreeSet<&String> = passes.flat_map(|pass| pass.ops.keys()).collect();
        Self {
            baseline: Place::of(baseline),
            other: Place::of(other),
            metrics: changes(None),
            ops: names
                .into_iter()
                .map(|name| (name.clone(), changes(Some(name))))
                .collect(),
        }
    }

    /// Returns a metric of all operations, or of one kind.
    #[must_use]
    pub fn find(&self, op: Option<&str>, metric: Metric) -> Option<&MetricChange> {
        let changes = match op {
            None => &self.metrics,
            Some(op) => self.ops.get(op)?,
        };
        changes.iter().find(|change| change.metric == metric)
    }
}

impl Place {
    fn of(row: &Row<'_>) -> Self {
        Self {
            clients: row.clients,
            passes: row.passes.len(),
            generator_limited: row.is_generator_limited(),
            noisy_from: Percentile::lowest_noisy(&row.passes),
            stalled: row.is_stalled(),
        }
    }
}

impl Pair {
    /// Compares `other` with `baseline`.
    fn of(baseline: (Subject, &RunDoc), other: (Subject, &RunDoc)) -> Result<Self, CompareError> {
        let curves = [&baseline, &other].map(|(_, run)| Curve::of(&run.load_points));
        let [first, second] = &curves;
        let counterpart = |row: &Row<'_>| {
            let mut rows = second.rows.iter();
            rows.find(|found| found.clients == row.clients)
        };
        let common: Vec<_> = first
            .rows
            .iter()
            .filter_map(|row| Some((row, counterpart(row)?)))
            .collect();
        if common.is_empty() {
            return Err(CompareError::NoLoadPoint {
                baseline: input::with_clients(&baseline.0, first),
                other: input::with_clients(&other.0, second),
            });
        }
        let valid = |(one, other): &(&Row<'_>, &Row<'_>)| one.is_quotable() && other.is_quotable();
        let peaks = first.peak_row().zip(second.peak_row());
        if peaks.is_none() {
            let invalid = |(subject, curve): (&Subject, &Curve<'_>)| {
                (!curve.rows.iter().any(Row::is_quotable)).then(|| subject.name.clone())
            };
            let sides = [(&baseline.0, first), (&other.0, second)];
            let none: Vec<_> = sides.into_iter().filter_map(invalid).collect();
            return Err(CompareError::NotQuotable {
                names: none.join(" and "),
            });
        }
        let (settings, mut workload) = difference::between(baseline.1, other.1);
        let compared: Vec<_> = common.iter().copied().filter(valid).chain(peaks).collect();
        workload.extend(difference::of_replays(&compared));
        let left_out = [(&baseline.0, first, second), (&other.0, second, first)]
            .into_iter()
            .flat_map(|(subject, curve, opposite)| left_out(subject, curve, opposite))
            .collect();
        let lost = lost(first, second, &other.1.plan.load_points);
        let held = |(one, other): (&Row<'_>, &Row<'_>)| Held::of(one, other);
        Ok(Self {
            peak: peaks.map(held),
            load_points: common.into_iter().filter(valid).map(held).collect(),
            baseline: baseline.0,
            other: other.0,
            settings,
            workload,
            left_out,
            lost,
        })
    }

    /// Returns the error for a pair whose plans have different work.
    fn other_work(&self) -> Option<CompareError> {
        let mut differences = self.workload.iter();
        let first = differences.find(|difference| difference.is_of_planned_work())?;
        let profile = text::profiles(self);
        Some(CompareError::OtherWork {
            baseline: self.baseline.name.clone(),
            other: self.other.name.clone(),
            difference: profile.unwrap_or_else(|| text::difference(self, first)),
        })
    }

    /// Returns the comparison at the load point where the baseline has its peak.
    #[must_use]
    pub fn at_baseline_peak(&self) -> Option<&Held> {
        self.at(self.peak.as_ref()?.baseline.clients)
    }

    /// Returns the comparison at this number of clients.
    #[must_use]
    pub fn at(&self, clients: u32) -> Option<&Held> {
        let mut points = self.load_points.iter();
        points.find(|held| held.baseline.clients == clients)
    }
}

/// Returns the load points that may be quoted from the baseline, but not from the
/// other run. The other run has them or was expected to have them.
fn lost(baseline: &Curve<'_>, other: &Curve<'_>, asked_for: &[u32]) -> Vec<u32> {
    let is_asked_for = |clients: u32| {
        asked_for.contains(&clients) || other.rows.iter().any(|row| row.clients == clients)
    };
    let is_there = |clients: u32| {
        let mut rows = other.rows.iter();
        rows.any(|row| row.clients == clients && row.is_quotable())
    };
    let quotable = baseline.rows.iter().filter(|row| row.is_quotable());
    let clients = quotable.map(|row| row.clients);
    clients
        .filter(|&clients| is_asked_for(clients) && !is_there(clients))
        .collect()
}

/// Names the parts of a run that are not compared, and the reason.
fn left_out(subject: &Subject, curve: &Curve<'_>, opposite: &Curve<'_>) -> Vec<String> {
    let label = &subject.label;
    let mut sentences = Vec::new();
    let alone: Vec<_> = curve
        .rows
        .iter()
        .map(|row| row.clients)
        .filter(|clients| !opposite.rows.iter().any(|row| row.clients == *clients))
        .collect();
    if !alone.is_empty() {
        sentences.push(format!("only in {label}: {}", units::clients(&alone)));
    }
    let invalid = |pass: &&LoadPointDoc| {
        format!(
            "not valid in {label}: {}, pass {}: {}",
            units::clients(&[pass.clients]),
            pass.repeat,
            pass.invalid_reason.as_deref().unwrap_or("no reason given")
        )
    };
    sentences.extend(curve.rows.iter().flat_map(|row| &row.invalid).map(invalid));
    sentences
}
