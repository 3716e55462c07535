//! Two load points, compared by metric.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools as _;
use serde::Serialize;

use crate::change::{CONFIDENCE, Change, Measured, Noise};
use crate::curve::CurveRow;
use crate::doc::LoadPointDoc;
use crate::load::Load;
use crate::metric::{Better, Metric, PassSample};
use crate::percentile::Percentile;
use crate::population::PopulationRow;

/// Comparison of two load points.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PointComparison {
    /// Load point of the baseline.
    pub baseline: ComparedPoint,
    /// Load point of the other run.
    pub other: ComparedPoint,
    /// Metrics over all operations.
    pub metrics: Vec<MetricChange>,
    /// Metrics by kind of operation.
    pub ops: BTreeMap<String, Vec<MetricChange>>,
    /// The same of each population. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub populations: Vec<PopulationComparison>,
}

/// Comparison of a population at two load points. CPU time is that of all populations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PopulationComparison {
    /// Name of the population.
    pub name: String,
    /// Metrics over all its operations.
    pub metrics: Vec<MetricChange>,
    /// Metrics by kind of operation.
    pub ops: BTreeMap<String, Vec<MetricChange>>,
}

/// A load point of one of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ComparedPoint {
    /// Number of clients, and the rate where load points differ in it.
    #[serde(flatten)]
    pub load: Load,
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
#[non_exhaustive]
pub struct MetricChange {
    /// The metric.
    pub metric: Metric,
    /// The unit of the values.
    pub unit: &'static str,
    /// The change of the mean of the passes' values. For rates it is that of `pooled`.
    #[serde(flatten)]
    pub of_passes: ChangeFigures,
    /// The kind of noise that the intervals are based on. `window` does not suffice
    /// for a verdict. `null` if the noise is not known.
    pub noise: Option<Noise>,
    /// The change that tables show and that the verdict and conditions are about. Its
    /// values are those of all other tables: response times over the operations of all
    /// passes, CPU time per operation as busy cores over operations per second.
    pub pooled: ChangeFigures,
    /// Meaning of the change.
    pub verdict: Verdict,
}

/// Two values and their change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeFigures {
    /// The baseline's value; `null` if it has none.
    pub baseline: Option<f64>,
    /// The other run's value; `null` if it has none.
    pub other: Option<f64>,
    /// Change from the baseline to the other run, in percent of the baseline.
    /// `null` if a value is missing, or if the two are different quantities: CPU
    /// time of the serving processes, and of the whole machine.
    pub change_percent: Option<f64>,
    /// Lower bound of the 95 % confidence interval of the change. `null`, like the
    /// next two keys, if the noise is not known.
    pub low_percent: Option<f64>,
    /// Upper bound of that interval.
    pub high_percent: Option<f64>,
    /// Smallest increase that such data would show in four of five cases.
    pub shows_from_percent: Option<f64>,
}

impl ChangeFigures {
    pub(super) fn of(values: [Option<Measured>; 2], change: Option<Change>) -> Self {
        let [baseline, other] = values.map(|measured| measured.map(|measured| measured.value));
        let interval = change.and_then(|change| change.interval);
        Self {
            baseline,
            other,
            change_percent: change.map(|change| change.percent),
            low_percent: interval.map(|interval| interval.low),
            high_percent: interval.map(|interval| interval.high),
            shows_from_percent: interval.map(|interval| interval.shows_from),
        }
    }
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
    /// Either run has only one pass, a value is missing, the values are different
    /// quantities, or a side is client-limited.
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

/// Returns the fall that is as large as this rise, both in percent. Intervals are of
/// ratios: a rise to 5/4 is as large as a fall to 4/5.
pub(super) fn as_fall(rise: f64) -> f64 {
    -100.0 * rise / (100.0 + rise)
}

impl MetricChange {
    /// Compares a metric of two rows by samples of their passes. `None` if neither has
    /// a value.
    fn of(metric: Metric, rows: [&CurveRow<'_>; 2], samples: &[PassSample<'_>; 2]) -> Option<Self> {
        let between = |[baseline, other]: [Option<Measured>; 2]| {
            baseline
                .zip(other)
                .filter(|_| metric.is_alike(&rows[0].passes, &rows[1].passes))
                .and_then(|(from, to)| Change::between(&from, &to, CONFIDENCE))
        };
        let values = samples.each_ref().map(|side| metric.measured_in(side));
        values[0].or(values[1])?;
        let of_passes = samples.each_ref().map(|side| metric.mean_of_passes(side));
        let change = between(values);
        let interval = change.and_then(|change| change.interval);
        let is_better =
            |change: &Change| (change.percent > 0.0) == (metric.better() == Better::Higher);
        let verdict = match change.zip(interval) {
            Some((change, _)) if is_open(metric, rows, is_better(&change)) => Verdict::CannotTell,
            Some((change, interval)) if interval.noise == Noise::Passes => {
                if !interval.shows_a_change() {
                    Verdict::NoDifferenceShown
                } else if is_better(&change) {
                    Verdict::Better
                } else {
                    Verdict::Worse
                }
            }
            _ => Verdict::CannotTell,
        };
        Some(Self {
            metric,
            unit: metric.unit(),
            of_passes: ChangeFigures::of(of_passes, between(of_passes)),
            noise: interval.map(|interval| interval.noise),
            pooled: ChangeFigures::of(values, change),
            verdict,
        })
    }

    /// Returns the smallest deterioration that such passes show in four of five
    /// cases, in percent. `None` if the noise between passes is not known.
    pub(super) fn shows_worse_from(&self) -> Option<f64> {
        let is_over_passes = self.noise == Some(Noise::Passes);
        let rise = self.pooled.shows_from_percent.filter(|_| is_over_passes)?;
        Some(match self.metric.better() {
            Better::Higher => as_fall(rise),
            Better::Lower => rise,
        })
    }
}

/// Returns whether a client-limited generator leaves a change open. Its server may be
/// faster than the figures. So where the slower of two load points is client-limited,
/// neither rates nor response times are judged: in a closed loop they are one fact, and
/// the server had less load. The generator's own delay is in response times. So they
/// are not judged either if those of a client-limited load point are longer.
fn is_open(metric: Metric, rows: [&CurveRow<'_>; 2], is_other_better: bool) -> bool {
    let is_other_slower = rows[1].ops_per_s < rows[0].ops_per_s;
    let doubtful = [is_other_slower, !is_other_better].map(|is_other| rows[usize::from(is_other)]);
    !metric.is_of_cpu() && doubtful.iter().any(|row| row.is_generator_limited())
}

impl PointComparison {
    pub(super) fn of(baseline: &CurveRow<'_>, other: &CurveRow<'_>) -> Self {
        let rows = [baseline, other];
        let (metrics, ops) = changes(rows, rows.map(|row| &row.passes[..]));
        let names = rows.into_iter().flat_map(PopulationRow::names).unique();
        let populations = names.map(|name| PopulationComparison::of(name, rows));
        Self {
            baseline: ComparedPoint::of(baseline),
            other: ComparedPoint::of(other),
            metrics,
            ops,
            populations: populations.collect(),
        }
    }

    /// Returns a metric of all operations, or of one kind.
    #[must_use]
    pub fn find(&self, op: Option<&str>, metric: Metric) -> Option<&MetricChange> {
        self.find_in(None, op, metric)
    }

    /// Returns the same of a population. If none is given and `op` is no kind of operation, it
    /// is the name of a population.
    #[must_use]
    pub fn find_in(
        &self,
        population: Option<&str>,
        op: Option<&str>,
        metric: Metric,
    ) -> Option<&MetricChange> {
        let named = |name: &str| self.populations.iter().find(|of| of.name == name);
        let changes = match (population, op) {
            (None, None) => &self.metrics,
            (None, Some(word)) => match self.ops.get(word) {
                Some(changes) => changes,
                None => &named(word)?.metrics,
            },
            (Some(population), None) => &named(population)?.metrics,
            (Some(population), Some(op)) => named(population)?.ops.get(op)?,
        };
        changes.iter().find(|change| change.metric == metric)
    }
}

/// Compares all metrics of two rows, by these passes of each: over all operations, and by kind.
fn changes(
    rows: [&CurveRow<'_>; 2],
    passes: [&[&LoadPointDoc]; 2],
) -> (Vec<MetricChange>, BTreeMap<String, Vec<MetricChange>>) {
    let of = |op: Option<&str>| -> Vec<_> {
        let samples = passes.map(|passes| PassSample::new(passes, op));
        let change = |metric: Metric| MetricChange::of(metric, rows, &samples);
        Metric::ALL.into_iter().filter_map(change).collect()
    };
    let all = passes.into_iter().flatten();
    let names: BTreeSet<&String> = all.flat_map(|pass| pass.ops.keys()).collect();
    let ops = names.into_iter().map(|name| (name.clone(), of(Some(name))));
    (of(None), ops.collect())
}

/// Returns the changes of all operations, and then of each kind.
pub(in crate::compare) fn by_operation<'a>(
    metrics: &'a [MetricChange],
    ops: &'a BTreeMap<String, Vec<MetricChange>>,
) -> impl Iterator<Item = (&'a str, &'a MetricChange)> {
    let all = metrics.iter().map(|change| ("all", change));
    let ops = ops
        .iter()
        .flat_map(|(name, changes)| changes.iter().map(move |change| (name.as_str(), change)));
    all.chain(ops)
}

impl PopulationComparison {
    /// Compares a population of two rows.
    fn of(name: &str, rows: [&CurveRow<'_>; 2]) -> Self {
        let [one, other] = rows.map(|row| PopulationRow::points(row, name));
        let [one, other] = [&one, &other].map(|points| points.iter().collect::<Vec<_>>());
        let (metrics, ops) = changes(rows, [&one, &other]);
        let its_own = metrics.into_iter().filter(|of| !of.metric.is_of_cpu());
        Self {
            name: name.to_owned(),
            metrics: its_own.collect(),
            ops,
        }
    }
}

impl ComparedPoint {
    fn of(row: &CurveRow<'_>) -> Self {
        Self {
            load: row.load(),
            passes: row.passes.len(),
            generator_limited: row.is_generator_limited(),
            noisy_from: Percentile::lowest_noisy(&row.passes),
            stalled: row.is_stalled(),
        }
    }
}
