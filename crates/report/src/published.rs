//! The tables of published studies: peaks, changes from a baseline, scaling from
//! row to row, the dip after the peak, rankings by efficiency, and costs of events.
//!
//! A curve has means over passes, and its peak is the highest valid load point. A
//! percentage is computed from unrounded peaks and printed as a whole number. All
//! percentages of the VeriTest reports of 2003 and 2004 follow this rule. Intervals
//! are those of [`crate::change`]. Not here: how a table is printed
//! ([`crate::table`]), and comparisons of documents ([`crate::compare`]).

mod adapter;
mod dip;
mod efficiency;
mod events;
mod headline;
mod limits;
mod tables;
mod words;

pub use adapter::adapter;
pub use dip::{Dip, DipVerdict};
pub use efficiency::{Efficiency, Ranked, RankedBy, efficiency, efficiency_at_peaks, ranked};
pub(crate) use efficiency::{cpu_of, is_mixed};
pub use events::event_costs;
pub use headline::headlines;
pub use limits::{found, limit_changes, limits};
pub use tables::{asked_for, comparison, contenders, dips, peaks, tables};

use itertools::Itertools as _;

use crate::change::{CONFIDENCE, Change, Measured};
use crate::curve::{Curve, CurveRow, first_highest};
use crate::doc::RunDoc;
use crate::doubt::Doubt;
use crate::metric::Metric;
use crate::replayed::Replayed;
use crate::study::ComparisonKind;
use crate::units;

/// Curve of one server, or of one setting of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// Name of the server.
    pub name: String,
    /// Metric of the points: [`Metric::Throughput`], or [`Metric::Operations`] if
    /// no data was moved.
    pub metric: Metric,
    /// Load points that may be quoted, by ascending clients.
    pub points: Vec<CurvePoint>,
    /// Clients of the planned load points that are not among `points`, in ascending
    /// order. These are not valid, lack values of `metric`, or were never reached.
    pub left_out: Vec<u32>,
    /// Clients of the first and the last load point around the peak within 95 % of
    /// it; `None` if that is not known.
    pub plateau: Option<(u32, u32)>,
    /// Remarks for the table, a sentence each without the server's name.
    pub remarks: Vec<String>,
}

/// A load point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Number of clients.
    pub clients: u32,
    /// Number of valid passes.
    pub passes: usize,
    /// Throughput in Mbit/s, or operations per second: the mean over passes.
    pub height: Measured,
    /// Mean response time over the operations of all passes, in nanoseconds.
    pub response_mean_ns: Option<f64>,
    /// 99th percentile of the response time over the operations of all passes, in
    /// nanoseconds.
    pub response_p99_ns: Option<u64>,
    /// Whether the generator was the limit.
    pub is_generator_limited: bool,
    /// The doubts about the mean response time and its 99th percentile.
    pub response_doubts: [Doubt; 2],
}

impl Contender {
    /// Builds the curve of a run.
    #[must_use]
    pub fn of_run(name: &str, run: &RunDoc) -> Self {
        let curve = Curve::of(&run.load_points);
        let metric = curve.metric();
        let rows = curve.rows.iter().filter(|row| row.is_quotable());
        let points = rows.filter_map(|row| CurvePoint::of_row(row, metric));
        let points = points.collect_vec();
        let asked_for = run.plan.load_points.iter().copied();
        let left_out = asked_for
            .chain(curve.rows.iter().map(|row| row.clients))
            .filter(|&clients| points.iter().all(|point| point.clients != clients));
        let left_out = left_out.sorted().dedup().collect_vec();
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
                .server
                .mixed_passes()
                .into_iter()
                .chain(run.server.idle_flushes())
                .chain(otherwise)
                .chain(gaps)
                .collect(),
        }
    }

    /// Returns the highest point; of two equal ones, the one with fewer clients.
    #[must_use]
    pub fn peak(&self) -> Option<&CurvePoint> {
        self.peak_index().map(|at| &self.points[at])
    }

    /// Describes the curve after its peak.
    #[must_use]
    pub fn dip(&self) -> Option<Dip> {
        Dip::after(&self.points, self.peak_index()?)
    }

    fn peak_index(&self) -> Option<usize> {
        let points = self.points.iter().enumerate();
        first_highest(points.map(|(at, point)| (at, point.height.value)))
    }
}

impl CurvePoint {
    /// Returns the doubt about the height.
    #[must_use]
    pub(crate) const fn height_doubt(&self) -> Doubt {
        if self.is_generator_limited {
            Doubt::ClientLimited
        } else {
            Doubt::None
        }
    }

    fn of_row(row: &CurveRow<'_>, metric: Metric) -> Option<Self> {
        Some(Self {
            clients: row.clients,
            passes: row.passes.len(),
            height: metric.measured(&row.passes, None)?,
            response_mean_ns: row.latency_ns.map(|latency| latency.mean),
            response_p99_ns: row.latency_ns.map(|latency| latency.p99),
            is_generator_limited: row.is_generator_limited(),
            response_doubts: [
                Doubt::of_time(&row.passes, 50.0),
                Doubt::of_time(&row.passes, 99.0),
            ],
        })
    }
}

/// Describes the operations of a replay that did not go as recorded, at load points
/// where their share matters. There the server did not do the work that it is
/// quoted with.
fn otherwise(curve: &Curve<'_>) -> Option<String> {
    let rows = curve.rows.iter().filter(|row| row.is_quotable());
    let of = |row: &CurveRow<'_>| Replayed::of(row.passes.iter().copied());
    let rows = rows.filter(|row| of(row).is_worth_reporting());
    let rows = rows.collect_vec();
    let clients: Vec<_> = rows.iter().map(|row| row.clients).collect();
    let all = Replayed::of(rows.iter().flat_map(|row| &row.passes).copied());
    (!rows.is_empty()).then(|| format!("{} (at {})", all.text(), units::clients(&clients)))
}

/// Names omitted load points; `None` if there are none.
fn gaps(left_out: &[u32]) -> Option<String> {
    (!left_out.is_empty()).then(|| format!("no valid result at {}", units::clients(left_out)))
}

/// Returns the percentages of a table, one for each contender's peak. A percentage
/// is the change from the peak of the first contender, which is the baseline, or
/// with `Scaling` from that of the contender before. `None` if there is no other
/// value, or if it is another quantity.
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
