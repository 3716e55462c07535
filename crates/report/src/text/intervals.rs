//! How far passes lie apart: a column of the table of load points, and a table of its own.

use itertools::Itertools as _;

use crate::curve::{Curve, CurveRow};
use crate::doc::PooledDoc;
use crate::doubt::Doubt;
use crate::metric::Metric;
use crate::statistics::{Estimate, PassInterval};
use crate::table::{Cell, Column, Table};
use crate::units;

/// What is beside the means over passes.
#[derive(Clone, Copy)]
pub(super) enum Intervals {
    /// Half the widths of their confidence intervals.
    Halves,
    /// The lowest and the highest pass at some load points, else half the widths.
    Mixed,
    /// The lowest and the highest pass.
    Ranges,
}

impl Intervals {
    /// Returns what a curve has; `None` without several passes.
    pub(super) fn of(curve: &Curve<'_>) -> Option<Self> {
        let has_data = curve.metric() == Metric::Throughput;
        let rows = curve.rows.iter();
        let is_half = |interval| matches!(interval, PassInterval::Half(_));
        let halves = rows.filter_map(|row| interval(row, has_data)).map(is_half);
        let halves = halves.collect_vec();
        match (halves.contains(&true), halves.contains(&false)) {
            (true, true) => Some(Self::Mixed),
            (true, false) => Some(Self::Halves),
            (false, true) => Some(Self::Ranges),
            (false, false) => None,
        }
    }

    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::Halves | Self::Mixed => "±",
            Self::Ranges => "passes",
        }
    }

    pub(super) const fn notes(self) -> &'static [&'static str] {
        const HALVES: &str =
            "±: 95 % confidence interval of the mean; latencies are over all passes";
        match self {
            Self::Halves => &[HALVES],
            Self::Mixed => &[
                HALVES,
                "`to`: lowest and highest pass, of two passes or if the interval reaches below 0",
            ],
            Self::Ranges => &["passes: the lowest and the highest; latencies are over all passes"],
        }
    }
}

/// Returns the interval of the mean of a row's height over its passes.
pub(super) fn interval(row: &CurveRow<'_>, has_data: bool) -> Option<PassInterval> {
    let repeats = row.repeats?;
    if has_data {
        repeats.throughput_mbps.interval()
    } else {
        repeats.ops_per_s.interval()
    }
}

/// Returns the values over passes with their confidence intervals; `None` if no load
/// point has several valid passes.
#[must_use]
pub fn repeats(curve: &Curve<'_>) -> Option<Table> {
    let with = |value: f64, interval: Option<PassInterval>, print: fn(f64) -> String| {
        let text = interval.map(|interval| interval.with(value, print));
        Cell::number(value, text.unwrap_or_else(|| print(value)))
    };
    let mean = |of: Estimate, print| with(of.mean, of.interval(), print);
    let mut doubts = Vec::new();
    let rows = curve.rows.iter().filter_map(|row| {
        let repeats = row.pooled()?;
        let of_throughput = Doubt::of_throughput(row);
        let [of_mean, of_p99] = [50.0, 99.0].map(|of| Doubt::of_time(&row.passes, of));
        doubts.extend([of_throughput, of_mean, of_p99]);
        let latency = |of: Option<PooledDoc>| {
            let cell =
                |of: PooledDoc| with(of.value, Some(of.interval(repeats.passes)), units::latency);
            Cell::or_dash(of.map(cell))
        };
        Some(vec![
            Cell::load("", row.load()),
            Cell::count(repeats.passes.into()),
            of_throughput.at(mean(repeats.throughput_mbps, units::throughput)),
            of_throughput.at(mean(repeats.ops_per_s, units::rate)),
            of_mean.at(latency(repeats.latency_mean_pooled_ns)),
            of_p99.at(latency(repeats.latency_p99_pooled_ns)),
        ])
    });
    let rows = rows.collect_vec();
    let title = "over passes: 95 % confidence intervals, or the lowest to the highest";
    let axis = curve.rows.first()?.load().axis();
    let columns = [axis, "passes", "Mbit/s", "ops/s", "mean", "p99"];
    (!rows.is_empty()).then(|| Table {
        notes: Doubt::notes(doubts).collect(),
        ..Table::of(title, columns.map(Column::number).into(), rows)
    })
}
