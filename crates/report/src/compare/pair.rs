//! Two runs, compared by load point.

use itertools::Itertools as _;
use serde::Serialize;

use super::difference::{self, Difference};
use super::error::CompareError;
use super::points::PointComparison;
use crate::change::Noise;
use crate::curve::{Curve, CurveRow};
use crate::doc::{
    DurabilityRemark, FindDoc, FindEnd, FindKind, LoadPointDoc, NamedRun, OutcomeDoc, RunDoc,
};
use crate::load::{Load, loads};
use crate::units::plain;

/// A run compared with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Pair {
    /// The baseline.
    pub baseline: ComparedRun,
    /// The run that is compared with the baseline.
    pub other: ComparedRun,
    /// Whether both are one and the same result, so that no change can show.
    pub is_same_result: bool,
    /// Differences of servers, sessions and generators. They may be the purpose of
    /// the comparison.
    pub settings: Vec<Difference>,
    /// Differences of the work. If there are any, the comparison needs care.
    pub workload: Vec<Difference>,
    /// Whether the servers' flush policies differ, although nothing in either run
    /// waited for stable storage.
    pub hides_flush_policy: bool,
    /// Remarks on flush and write policies that differ, one sentence each.
    pub durability: Vec<String>,
    /// Load points and passes that are not compared, one sentence each.
    pub left_out: Vec<String>,
    /// Numbers of clients whose load points are valid in the baseline, but not in
    /// the other run, although its plan has them. The other run failed there, or
    /// was stopped before. Ascending.
    pub lost: Vec<u32>,
    /// The answers of two searches; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundComparison>,
    /// Comparison of the two peaks; `null` if one of the runs has none, or if they are
    /// searches.
    pub peak: Option<PointComparison>,
    /// Comparisons at each number of clients that both runs have, ascending.
    pub load_points: Vec<PointComparison>,
}

/// One of the compared runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ComparedRun {
    /// Label of the run: `A`.
    pub label: String,
    /// File or folder of the run, and its name within a study; or the label of a
    /// separate result.
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
    /// Whether the server is smbench's own, with files in memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_built_in: bool,
}

/// The answers of two searches of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FoundComparison {
    /// What was searched for.
    pub kind: FindKind,
    /// The unit of both answers.
    pub unit: String,
    /// Answer of the baseline; `null` without one.
    pub baseline: Option<f64>,
    /// Answer of the other run; `null` without one.
    pub other: Option<f64>,
    /// How the search of the baseline ended. With `never_broke`, its answer is the least.
    pub baseline_end: FindEnd,
    /// The same of the other run.
    pub other_end: FindEnd,
    /// Change from the baseline to the other run in percent; `null` unless both found the
    /// same limit.
    pub change_percent: Option<f64>,
    /// The 95 % interval of the change in percent. Absent unless both have several passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_percent: Option<(f64, f64)>,
    /// Why there is no change. Absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_change_because: Option<String>,
    /// Why the servers may take more than the answers say, of the baseline and of the other
    /// run. Absent without doubt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// How far an answer may be below the limit in percent: the larger of both.
    pub precision_percent: f64,
}

/// One of the two runs that are compared.
pub(super) struct ComparedSide<'a> {
    pub(super) subject: ComparedRun,
    pub(super) run: &'a RunDoc,
}

impl FoundComparison {
    /// Compares two searches; `None` for two runs that are none.
    fn of(
        baseline: &ComparedSide<'_>,
        other: &ComparedSide<'_>,
    ) -> Result<Option<Self>, CompareError> {
        let kind = |run: &RunDoc| run.find.as_ref().map(|find| find.kind);
        if kind(baseline.run) != kind(other.run) {
            let text = |run: &RunDoc| kind(run).map_or("a run", FindKind::name);
            return Err(CompareError::OtherKind {
                baseline: baseline.subject.name.clone(),
                kind: text(baseline.run),
                other: other.subject.name.clone(),
                other_kind: text(other.run),
            });
        }
        let finds = baseline.run.find.as_ref().zip(other.run.find.as_ref());
        let labels = [&baseline.subject.label, &other.subject.label].map(String::as_str);
        Ok(finds.map(|(one, two)| Self::between(one, two, labels)))
    }

    fn between(one: &FindDoc, two: &FindDoc, names: [&str; 2]) -> Self {
        let change = one.change_to(two);
        let interval = change.as_ref().and_then(|change| change.interval);
        let interval = interval.filter(|interval| interval.noise == Noise::Passes);
        let because = if one.is_for_same_limit_as(two) {
            let sides = names.into_iter().zip([one, two]);
            let open = sides.filter_map(|(name, find)| match find.first_open_end()? {
                FindEnd::NeverBroke => Some(format!("{name} did not break the limit")),
                end => Some(format!("{name} did not find the limit: {}", end.reason())),
            });
            let open = open.collect_vec();
            if open.is_empty() {
                "an answer is 0".to_owned()
            } else {
                open.join(", ")
            }
        } else if one.has_same_limit_as(two) {
            "the searches differ in precision or confirmations".to_owned()
        } else {
            let [one, two] = [one, two].map(FindDoc::limit_in_words);
            format!("the limits differ: {one} and {two}")
        };
        let doubts = names.into_iter().zip([one, two]);
        let doubts = doubts.filter_map(|(name, find)| {
            let doubt = find.doubt.as_ref()?;
            Some(format!(
                "{name}: the server may take more: {}",
                plain(doubt)
            ))
        });
        Self {
            kind: one.kind,
            unit: one.unit.clone(),
            baseline: one.result,
            other: two.result,
            baseline_end: one.end,
            other_end: two.end,
            interval_percent: interval.map(|of| (of.low, of.high)),
            no_change_because: change.is_none().then_some(because),
            doubts: doubts.collect(),
            change_percent: change.map(|change| change.percent),
            precision_percent: one.precision.max(two.precision) * 100.0,
        }
    }
}

impl Pair {
    /// Compares `other` with `baseline`.
    pub(super) fn of(
        baseline: ComparedSide<'_>,
        other: ComparedSide<'_>,
    ) -> Result<Self, CompareError> {
        let curves = [&baseline, &other].map(|side| Curve::of(&side.run.load_points));
        let [first, second] = &curves;
        let rows = first.rows.iter();
        let common = rows.filter_map(|row| Some((row, second.row(row.load())?)));
        let common = common.collect_vec();
        let found = FoundComparison::of(&baseline, &other)?;
        if common.is_empty() && found.is_none() {
            return Err(CompareError::NoLoadPoint {
                baseline: with_clients(&baseline.subject, first),
                other: with_clients(&other.subject, second),
            });
        }
        let valid = |(one, other): &(&CurveRow<'_>, &CurveRow<'_>)| {
            one.is_quotable() && other.is_quotable()
        };
        let peaks = first.peak_row().zip(second.peak_row());
        let peaks = peaks.filter(|_| found.is_none());
        if peaks.is_none() && found.is_none() {
            let invalid = |(subject, curve): (&ComparedRun, &Curve<'_>)| {
                (!curve.rows.iter().any(CurveRow::is_quotable)).then(|| subject.name.clone())
            };
            let sides = [(&baseline.subject, first), (&other.subject, second)];
            let names = sides.into_iter().filter_map(invalid).join(" and ");
            return Err(CompareError::NotQuotable { names });
        }
        let (settings, mut workload) = difference::between(baseline.run, other.run);
        let compared: Vec<_> = common.iter().copied().filter(valid).chain(peaks).collect();
        workload.extend(difference::of_replays(&compared));
        let left_out = match found {
            // Each search has probes of its own.
            Some(_) => Vec::new(),
            None => [
                (&baseline.subject, first, second),
                (&other.subject, second, first),
            ]
            .into_iter()
            .flat_map(|(subject, curve, opposite)| left_out(subject, curve, opposite))
            .collect(),
        };
        let lost = match found {
            Some(_) => Vec::new(),
            None => lost(first, second, &other.run.plan.load_points),
        };
        let remarks = DurabilityRemark::all(&[&baseline, &other].map(|side| NamedRun {
            name: side.subject.label.clone(),
            run: side.run,
        }));
        let held = |(one, other): (&CurveRow<'_>, &CurveRow<'_>)| PointComparison::of(one, other);
        Ok(Self {
            found,
            peak: peaks.map(held),
            load_points: common.into_iter().filter(valid).map(held).collect(),
            is_same_result: baseline.run == other.run,
            hides_flush_policy: remarks.contains(&DurabilityRemark::FlushesHidden),
            durability: remarks.iter().map(DurabilityRemark::to_string).collect(),
            baseline: baseline.subject,
            other: other.subject,
            settings,
            workload,
            left_out,
            lost,
        })
    }

    /// Returns the comparison at the load point where the baseline has its peak.
    #[must_use]
    pub fn at_baseline_peak(&self) -> Option<&PointComparison> {
        let peak = self.peak.as_ref()?.baseline.load;
        self.load_points
            .iter()
            .find(|held| held.baseline.load == peak)
    }

    /// Returns the comparison at this number of clients.
    #[must_use]
    pub fn at(&self, clients: u32) -> Option<&PointComparison> {
        let mut points = self.load_points.iter();
        points.find(|held| held.baseline.load.clients == clients)
    }
}

/// Returns the load points that may be quoted from the baseline, but not from the
/// other run. The other run has them or was expected to have them.
fn lost(baseline: &Curve<'_>, other: &Curve<'_>, asked_for: &[u32]) -> Vec<u32> {
    let is_lost = |load: &Load| match other.row(*load) {
        Some(row) => !row.is_quotable(),
        None => load.rate.is_none() && asked_for.contains(&load.clients),
    };
    let quotable = baseline.rows.iter().filter(|row| row.is_quotable());
    let lost = quotable.map(CurveRow::load).filter(is_lost);
    lost.map(|load| load.clients).dedup().collect()
}

/// Names the parts of a run that are not compared, and the reason.
fn left_out(subject: &ComparedRun, curve: &Curve<'_>, opposite: &Curve<'_>) -> Vec<String> {
    let label = &subject.label;
    let mut sentences = Vec::new();
    let points = curve.rows.iter().map(CurveRow::load);
    let alone = points.filter(|&load| opposite.row(load).is_none());
    let alone = alone.collect_vec();
    if !alone.is_empty() {
        sentences.push(format!("only in {label}: {}", loads(&alone)));
    }
    let invalid = |pass: &&LoadPointDoc| {
        format!(
            "not valid in {label}: {}, pass {}: {}",
            pass.load(),
            pass.repeat,
            pass.invalid_reason.as_deref().unwrap_or("no reason given")
        )
    };
    sentences.extend(curve.rows.iter().flat_map(|row| &row.invalid).map(invalid));
    sentences
}

/// Returns a run and its load points, for a message.
fn with_clients(subject: &ComparedRun, curve: &Curve<'_>) -> String {
    let points = curve.rows.iter().map(CurveRow::load).collect_vec();
    if points.is_empty() {
        format!("{} has none", subject.name)
    } else {
        format!("{} has {}", subject.name, loads(&points))
    }
}
