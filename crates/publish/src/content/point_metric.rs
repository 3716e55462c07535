//! The metrics of load points that plots and tables show.

use smbench_report::curve::CurveRow;
use smbench_report::doc::LoadPointDoc;
use smbench_report::statistics::Estimate;
use smbench_report::units;

use crate::plot::{Doubt, Quantity};

/// A metric of each load point.
pub(super) struct PointMetric {
    /// Last part of the plot's name; the profile's name comes first.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Title of the axis, which has less room than the plot's title.
    pub(super) axis: &'static str,
    /// Head of the column in a table of all metrics.
    pub(super) short: &'static str,
    pub(super) quantity: Quantity,
    /// The unit that is printed after a number; empty if the number contains it.
    pub(super) unit: &'static str,
    pub(super) print: fn(f64) -> String,
    pub(super) of_row: fn(&CurveRow<'_>) -> Option<f64>,
    pub(super) of_pass: fn(&LoadPointDoc) -> Option<f64>,
    pub(super) bar: ErrorBar,
    pub(super) doubt: fn(&CurveRow<'_>) -> Doubt,
    /// The part of a stage after which the value stands, 0 to 1. A mean stands in the middle,
    /// because that is where a line has its mean.
    pub(super) instant: f64,
}

/// Meaning of a bar at a point of three or more passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorBar {
    /// The 95 % confidence interval of the mean over passes, for a point that is
    /// this mean.
    Confidence,
    /// The lowest and the highest pass, for a point over all operations of all
    /// passes. An interval of the mean over passes may not contain such a point.
    Extremes,
}

pub(super) const THROUGHPUT: PointMetric = PointMetric {
    name: "throughput",
    title: "throughput",
    axis: "throughput",
    short: "Mbit/s",
    quantity: Quantity::Throughput,
    unit: " Mbit/s",
    print: units::throughput,
    of_row: |row| Some(row.throughput_mbps),
    of_pass: |pass| Some(pass.throughput_mbps),
    bar: ErrorBar::Confidence,
    doubt: Doubt::of_throughput,
    instant: 0.5,
};
pub(super) const RATE: PointMetric = PointMetric {
    name: "operations",
    title: "operations per second",
    axis: "rate",
    short: "ops/s",
    quantity: Quantity::Rate,
    unit: " operations/s",
    print: units::rate,
    of_row: |row| Some(row.ops_per_s),
    of_pass: |pass| Some(pass.ops_per_s),
    bar: ErrorBar::Confidence,
    doubt: Doubt::of_throughput,
    instant: 0.5,
};
pub(super) const MEAN: PointMetric = PointMetric {
    name: "response-mean",
    title: "mean response time",
    axis: "mean response time",
    short: "mean response",
    quantity: Quantity::Latency,
    unit: "",
    print: units::latency,
    of_row: |row| Some(row.latency_ns?.mean),
    of_pass: |pass| Some(pass.latency_ns?.mean),
    bar: ErrorBar::Extremes,
    doubt: |row| Doubt::of_mean(&row.passes),
    instant: 0.5,
};
pub(super) const P99: PointMetric = PointMetric {
    name: "response-p99",
    title: "99th percentile of the response time",
    axis: "99th percentile",
    short: "p99",
    quantity: Quantity::Latency,
    unit: "",
    print: units::latency,
    of_row: |row| Some(row.latency_ns?.p99 as f64),
    of_pass: |pass| Some(pass.latency_ns?.p99 as f64),
    bar: ErrorBar::Extremes,
    doubt: |row| Doubt::of_percentile(&row.passes, 99.0),
    instant: 0.5,
};
/// Only stages have it, at their end.
pub(super) const SERVER_MEMORY: PointMetric = PointMetric {
    name: "memory-server",
    title: "memory of the server",
    axis: "memory of the server",
    short: "server memory",
    quantity: Quantity::Memory,
    unit: "",
    print: |bytes| units::bytes(bytes as u64),
    of_row: |row| mean(row, server_memory),
    of_pass: server_memory,
    bar: ErrorBar::Confidence,
    doubt: |_| Doubt::None,
    instant: 1.0,
};
pub(super) const OWN_MEMORY: PointMetric = PointMetric {
    name: "memory-own",
    title: "memory of smbench",
    axis: "memory of smbench",
    short: "own memory",
    of_row: |row| mean(row, own_memory),
    of_pass: own_memory,
    ..SERVER_MEMORY
};

fn server_memory(pass: &LoadPointDoc) -> Option<f64> {
    Some(pass.memory?.server_bytes? as f64)
}

fn own_memory(pass: &LoadPointDoc) -> Option<f64> {
    Some(pass.memory?.own_bytes? as f64)
}

/// Returns the mean over passes; `None` unless each pass has the value.
fn mean(row: &CurveRow<'_>, of: fn(&LoadPointDoc) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<_>> = row.passes.iter().map(|pass| of(pass)).collect();
    Estimate::of(&values?).map(|estimate| estimate.mean)
}
