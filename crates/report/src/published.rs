//! The tables of published studies: peaks, changes against a baseline, scaling from
//! row to row, the dip after the peak, and rankings by efficiency.
//!
//! A curve is that of means over passes, its peak the highest valid load point,
//! and a percentage that of the unrounded peaks, printed as the nearest whole one:
//! the rule that all percentages of the VeriTest reports of 2003 and 2004 follow.
//! Intervals are those of [`crate::change`]. Not here: how a table is printed
//! ([`crate::table`]), and documents held against each other ([`crate::compare`]).

mod adapter;
mod dip;
mod efficiency;
mod tables;

pub use adapter::adapter;
pub use dip::{Dip, DipVerdict};
pub use efficiency::{CpuOf, Efficiency, Merit, Ranked, efficiency, efficiency_at_peaks, ranked};
pub(crate) use efficiency::{cpu_of, is_mixed};
pub use tables::{asked_for, comparison, contenders, dips, peaks, tables};

use crate::change::{CONFIDENCE, Change, Measured};
use crate::curve::{Curve, Row};
use crate::doc::RunDoc;
use crate::metric::Metric;
use crate::replayed::Replayed;
use crate::study::ComparisonKind;
use crate::units;

/// What one server, or one setting of it, did at each number of clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// What it is called.
    pub name: String,
    /// What its points are of: [`Metric::Throughput`], or [`Metric::Operations`]
    /// where no data was moved.
    pub metric: Metric,
    /// The load points that may be quoted, by ascending clients.
    pub points: Vec<Point>,
    /// Clients of the load points that were asked for and are not among `points`, in
    /// ascending order: not valid, without what `metric` counts, or never reached.
    pub left_out: Vec<u32>,
    /// The first and the last of the load points around the peak that lie within
    /// 95 % of it, in clients; `None` where that is not known.
    pub plateau: Option<(u32, u32)>,
    /// What its table must say of it, a sentence each without its name.
    pub remarks: Vec<String>,
}

/// A load point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Clients.
    pub clients: u32,
    /// Valid passes.
    pub passes: usize,
    /// Throughput in Mbit/s, or operations per second; the mean over passes.
    pub height: Measured,
    /// Mean response time over the operations of all passes, in nanoseconds.
    pub response_mean_ns: Option<f64>,
    /// 99th percentile of them.
    pub response_p99_ns: Option<u64>,
    /// Whether the generator was the limit.
    pub is_generator_limited: bool,
}

impl Contender {
    /// The curve of a run.
    #[must_use]
    pub fn of_run(name: &str, run: &RunDoc) -> Self {
        let curve = Curve::of(&run.load_points);
        let metric = curve.metric();
        let rows = curve.rows.iter().filter(|row| row.is_quotable());
        let points: Vec<_> = rows.filter_map(|row| Point::of_row(row, metric)).collect();
        let asked_for = run.plan.load_points.iter().copied();
        let mut left_out: Vec<_> = asked_for
            .chain(curve.rows.iter().map(|row| row.clients))
            .filter(|&clients| points.iter().all(|point| point.clients != clients))
            .collect();
        left_out.sort_unstable();
        left_out.dedup();
        let gaps = (!points.is_empty()).then(|| gaps(&left_out)).flatten();
        let otherwise = otherwise(&curve);
        Self {
            name: name.to_owned(),
            metric,
            points,
            left_out,
            plateau: curve.peak().map(|peak| {
                (
                    peak.within_95_percent_from_clients,
                    peak.within_95_percent_clients,
                )
            }),
            remarks: run
                .mixed_passes()
                .into_iter()
                .chain(run.idle_flushes())
                .chain(otherwise)
                .chain(gaps)
                .collect(),
        }
    }

    /// Of a published peak, of which nothing more is known.
    #[must_use]
    pub fn of_peak(name: &str, clients: u32, throughput_mbps: f64) -> Self {
        Self {
            name: name.to_owned(),
            metric: Metric::Throughput,
            points: vec![Point {
                clients,
                passes: 1,
                height: Measured {
                    value: throughput_mbps,
                    spread: None,
                    resolution: 0.0,
                },
                response_mean_ns: None,
                response_p99_ns: None,
                is_generator_limited: false,
            }],
            left_out: Vec::new(),
            plateau: None,
            remarks: Vec::new(),
        }
    }

    /// The highest point, the one with fewer clients where two are equal.
    #[must_use]
    pub fn peak(&self) -> Option<&Point> {
        self.peak_index().map(|at| &self.points[at])
    }

    /// What happens after the peak.
    #[must_use]
    pub fn dip(&self) -> Option<Dip> {
        Dip::after(&self.points, self.peak_index()?)
    }

    fn peak_index(&self) -> Option<usize> {
        let mut peak: Option<usize> = None;
        for (at, point) in self.points.iter().enumerate() {
            let is_higher = |best: usize| point.height.value > self.points[best].height.value;
            if peak.is_none_or(is_higher) {
                peak = Some(at);
            }
        }
        peak
    }
}

impl Point {
    fn of_row(row: &Row<'_>, metric: Metric) -> Option<Self> {
        Some(Self {
            clients: row.clients,
            passes: row.passes.len(),
            height: metric.measured(&row.passes, None)?,
            response_mean_ns: row.latency_ns.map(|latency| latency.mean),
            response_p99_ns: row.latency_ns.map(|latency| latency.p99),
            is_generator_limited: row.is_generator_limited(),
        })
    }
}

/// What of a replay did not go as recorded, at load points at which that is no
/// trifle: there the server did not do the work that it is quoted with.
fn otherwise(curve: &Curve<'_>) -> Option<String> {
    let rows = curve.rows.iter().filter(|row| row.is_quotable());
    let rows: Vec<_> = rows
        .filter(|row| Replayed::of([*row]).is_worth_telling())
        .collect();
    let clients: Vec<_> = rows.iter().map(|row| row.clients).collect();
    let all = Replayed::of(rows.iter().copied());
    (!rows.is_empty()).then(|| format!("{} (at {})", all.told(), units::clients(&clients)))
}

/// Load points that are left out, in words; `None` where none is.
fn gaps(left_out: &[u32]) -> Option<String> {
    (!left_out.is_empty()).then(|| format!("no valid result at {}", units::clients(left_out)))
}

/// The percentages of a table, one for each contender's peak: the change from the peak
/// of the first, which is the baseline, or of `Scaling` from that of the one before.
/// `None` where there is nothing to compare it with, or not the same quantity.
#[must_use]
pub fn percentages(kind: ComparisonKind, contenders: &[Contender]) -> Vec<Option<Change>> {
    let between = |from: &Contender, to: &Contender| {
        let (start, end) = (from.peak()?, to.peak()?);
        let is_alike = from.metric == to.metric;
        is_alike.then(|| Change::between(&start.height, &end.height, CONFIDENCE))?
    };
    let percentage = |at: usize| {
        let before = at.checked_sub(1)?;
        let from = match kind {
            ComparisonKind::Scaling => before,
            ComparisonKind::Change | ComparisonKind::Gain => 0,
        };
        between(&contenders[from], &contenders[at])
    };
    (0..contenders.len()).map(percentage).collect()
}
