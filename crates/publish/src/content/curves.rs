//! Throughput and response time against the number of clients.

use std::collections::BTreeSet;

use itertools::Itertools as _;
use smbench_report::curve::CurveRow;
use smbench_report::doc::LoadPointDoc;
use smbench_report::load::loads;
use smbench_report::statistics::{Estimate, PassInterval};
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units;

use super::doubt;
use super::profile::{MeasuredServer, ProfileContent, limits, reasons};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

/// A metric of each load point.
struct PointMetric {
    /// Last part of the plot's name; the profile's name comes first.
    name: &'static str,
    title: &'static str,
    /// Title of the axis, which has less room than the plot's title.
    axis: &'static str,
    quantity: Quantity,
    /// The unit that is printed after a number; empty if the number contains it.
    unit: &'static str,
    print: fn(f64) -> String,
    of_row: fn(&CurveRow<'_>) -> Option<f64>,
    of_pass: fn(&LoadPointDoc) -> Option<f64>,
    bar: ErrorBar,
    doubt: fn(&CurveRow<'_>) -> Doubt,
}

/// Meaning of a bar at a point of three or more passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ErrorBar {
    /// The 95 % confidence interval of the mean over passes, for a point that is
    /// this mean.
    Confidence,
    /// The lowest and the highest pass, for a point over all operations of all
    /// passes. An interval of the mean over passes may not contain such a point.
    Extremes,
}

const THROUGHPUT: PointMetric = PointMetric {
    name: "throughput",
    title: "throughput",
    axis: "throughput",
    quantity: Quantity::Throughput,
    unit: " Mbit/s",
    print: units::throughput,
    of_row: |row| Some(row.throughput_mbps),
    of_pass: |pass| Some(pass.throughput_mbps),
    bar: ErrorBar::Confidence,
    doubt: doubt::of_throughput,
};
const RATE: PointMetric = PointMetric {
    name: "operations",
    title: "operations per second",
    axis: "rate",
    quantity: Quantity::Rate,
    unit: " operations/s",
    print: units::rate,
    of_row: |row| Some(row.ops_per_s),
    of_pass: |pass| Some(pass.ops_per_s),
    bar: ErrorBar::Confidence,
    doubt: doubt::of_throughput,
};
const MEAN: PointMetric = PointMetric {
    name: "response-mean",
    title: "mean response time",
    axis: "mean response time",
    quantity: Quantity::Latency,
    unit: "",
    print: units::latency,
    of_row: |row| Some(row.latency_ns?.mean),
    of_pass: |pass| Some(pass.latency_ns?.mean),
    bar: ErrorBar::Extremes,
    doubt: |row| doubt::of_percentile(&row.passes, 50.0),
};
const P99: PointMetric = PointMetric {
    name: "response-p99",
    title: "99th percentile of the response time",
    axis: "99th percentile",
    quantity: Quantity::Latency,
    unit: "",
    print: units::latency,
    of_row: |row| Some(row.latency_ns?.p99 as f64),
    of_pass: |pass| Some(pass.latency_ns?.p99 as f64),
    bar: ErrorBar::Extremes,
    doubt: |row| doubt::of_percentile(&row.passes, 99.0),
};

/// Returns plots and tables of all servers.
pub(super) fn part(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Throughput and response time");
    if profile.has_one_point() {
        part.text(
            "Each server was measured with one number of clients: there are points, not curves.",
        );
    }
    let height = height(profile);
    // The plot of the height is in the first section.
    for measure in [&MEAN, &P99] {
        part.plot(plot(profile, measure, &profile.stem, |_| true));
    }
    part.list(explanations(profile));
    for measure in [&height, &MEAN, &P99] {
        part.table(table(profile, measure));
    }
    part
}

/// Returns the plot of the main metric of a profile against clients, for some
/// servers. `stem` begins its name.
pub(super) fn height_plot(
    profile: &ProfileContent<'_>,
    stem: &str,
    is_shown: impl Fn(&MeasuredServer<'_>) -> bool,
) -> Plot {
    plot(profile, &height(profile), stem, is_shown)
}

fn height(profile: &ProfileContent<'_>) -> PointMetric {
    match profile.moves_data() {
        true => THROUGHPUT,
        false => RATE,
    }
}

fn plot(
    profile: &ProfileContent<'_>,
    measure: &PointMetric,
    stem: &str,
    is_shown: impl Fn(&MeasuredServer<'_>) -> bool,
) -> Plot {
    let servers = profile.servers.iter().filter(|server| is_shown(server));
    let lines = servers.map(|server| Line {
        name: server.name.to_owned(),
        style: server.number,
        points: {
            let rows = server.curve.rows.iter();
            rows.filter_map(|row| point(row, measure)).collect()
        },
    });
    let lines = lines.collect_vec();
    let axis = axis(profile);
    let quantity = match axis {
        "clients" => Quantity::Clients,
        _ => Quantity::Rate,
    };
    Plot {
        name: format!("{stem}-{}", measure.name),
        title: format!("{}: {} by {axis}", profile.name, measure.title),
        x: Axis::new(axis, quantity),
        y: Axis::new(measure.axis, measure.quantity),
        notes: doubt::notes(&lines),
        lines,
    }
}

/// Returns what differs between the load points of a profile.
fn axis(profile: &ProfileContent<'_>) -> &'static str {
    let rows = profile.servers.iter().flat_map(|server| &server.curve.rows);
    rows.map(|row| row.load().axis())
        .next()
        .unwrap_or("clients")
}

fn point(row: &CurveRow<'_>, measure: &PointMetric) -> Option<PlotPoint> {
    let value = (measure.of_row)(row)?;
    let spread = spread(row, measure);
    let shown = |value| format!("{}{}", (measure.print)(value), measure.unit);
    let mut label = format!("{}, {}", row.load(), shown(value));
    if let Some((low, high, bar)) = spread {
        let passes = row.passes.len();
        let how = match bar {
            _ if passes == 2 => "of 2 passes".to_owned(),
            ErrorBar::Confidence => {
                format!("is the 95 % confidence interval over {passes} passes")
            }
            ErrorBar::Extremes => {
                format!("are the lowest and the highest of {passes} passes")
            }
        };
        label += &format!("; {} to {} {how}", shown(low), shown(high));
    }
    let validity = match row.is_valid() {
        true => PointValidity::Valid,
        false => {
            label += &format!("; not valid: {}", reasons(row));
            PointValidity::Invalid
        }
    };
    let doubt = (measure.doubt)(row);
    label += &match (doubt::meaning(doubt), limits(row)) {
        (Some(meaning), Some(reasons)) if doubt == Doubt::ClientLimited => {
            format!("; {meaning}: {reasons}")
        }
        (Some(meaning), _) => format!("; {meaning}"),
        (None, _) => String::new(),
    };
    Some(PlotPoint {
        x: row.load().number(),
        y: value,
        spread: spread.map(|(low, high, _)| (low, high)),
        validity,
        doubt,
        label,
    })
}

/// Returns the bar at a point, and its meaning. If the point is the mean over passes,
/// the bar is the mean's 95 % confidence interval. Where that says little, it is the
/// lowest and the highest pass.
fn spread(row: &CurveRow<'_>, measure: &PointMetric) -> Option<(f64, f64, ErrorBar)> {
    if !row.is_valid() {
        return None;
    }
    let values = row.passes.iter().map(|pass| (measure.of_pass)(pass));
    let values: Vec<_> = values.collect::<Option<_>>()?;
    let estimate = Estimate::of(&values)?;
    match (measure.bar, estimate.interval()?) {
        (ErrorBar::Confidence, PassInterval::Half(half)) => {
            let ends = (estimate.mean - half, estimate.mean + half);
            Some((ends.0, ends.1, ErrorBar::Confidence))
        }
        _ => Some((estimate.lowest?, estimate.highest?, ErrorBar::Extremes)),
    }
}

/// Explains how to read the plots.
fn explanations(profile: &ProfileContent<'_>) -> Vec<String> {
    let rows = || {
        let servers = profile.servers.iter();
        servers.flat_map(|server| server.curve.rows.iter().map(move |row| (server, row)))
    };
    let valid = rows().filter(|(_, row)| row.is_valid());
    let passes: BTreeSet<_> = valid.map(|(_, row)| row.passes.len()).collect();
    let mut lines = Vec::new();
    if passes.contains(&2) {
        lines.push("Bars at load points of two passes are the lower and the higher.".to_owned());
    }
    if passes.iter().any(|passes| *passes > 2) {
        lines.push(format!(
            "Bars at load points of three or more passes are the 95 % confidence interval of the \
             mean over passes for {}, or the lowest and the highest pass if that reaches below 0. \
             For response times, which are those of all operations together, they are the lowest \
             and the highest pass.",
            height(profile).title
        ));
    }
    for (server, row) in rows().filter(|(_, row)| !row.is_valid()) {
        lines.push(format!(
            "Hollow, not valid: {} at {}: {}",
            server.name,
            row.load(),
            reasons(row)
        ));
    }
    for server in &profile.servers {
        let at = |kind: Doubt| {
            let has_kind = |row: &&CurveRow<'_>| {
                let of_latency = doubt::of_percentile(&row.passes, 100.0);
                [doubt::of_throughput(row), of_latency].contains(&kind)
            };
            let found = server.curve.rows.iter().filter(has_kind);
            let found = found.map(CurveRow::load).collect_vec();
            let at = || format!("{} at {}", server.name, loads(&found));
            (!found.is_empty()).then(at)
        };
        let kinds = [
            at(Doubt::ClientLimited).map(|place| {
                format!(
                    "Ringed, ~: {place}: client-limited, so its throughput is not to be trusted \
                     there. The remarks below the load points say why."
                )
            }),
            at(Doubt::LateAnswers).map(|place| {
                format!(
                    "Answers were handled late: {place}. Response times with a ring, ^, may be too \
                     high there."
                )
            }),
            at(Doubt::Stalled).map(|place| {
                format!("A square and * mark response times that miss a stall: {place}.")
            }),
        ];
        lines.extend(kinds.into_iter().flatten());
    }
    lines
}

/// Returns a row for each load point, and a column for each server.
fn table(profile: &ProfileContent<'_>, measure: &PointMetric) -> Table {
    let servers = || profile.servers.iter();
    let points = servers().flat_map(|server| &server.curve.rows);
    let points: BTreeSet<_> = points.map(CurveRow::load).collect();
    let axis = axis(profile);
    let mut columns = vec![Column::number(axis)];
    columns.extend(servers().map(|server| Column::number(server.name)));
    let cell = |server: &MeasuredServer<'_>, load| {
        let row = server.curve.row(load)?;
        let value = (measure.of_row)(row)?;
        let mark = match row.is_valid() {
            true => doubt::mark((measure.doubt)(row)),
            false => "! ",
        };
        let text = format!("{mark}{}", (measure.print)(value));
        Some(Cell::number(value, text))
    };
    let rows = points.into_iter().map(|load| {
        let mut cells = vec![Cell::load("", load)];
        cells.extend(servers().map(|server| Cell::or_dash(cell(server, load))));
        cells
    });
    let rows_of_all = || servers().flat_map(|server| &server.curve.rows);
    let mut notes = Vec::new();
    if rows_of_all().any(|row| !row.is_valid()) {
        notes.push("!: not valid".to_owned());
    }
    let is_there = |doubt| rows_of_all().any(|row| row.is_valid() && (measure.doubt)(row) == doubt);
    let doubts = Doubt::ALL.into_iter().filter(|doubt| is_there(*doubt));
    notes.extend(doubts.filter_map(|found| {
        let mark = doubt::mark(found).trim_end();
        Some(format!("{mark}: {}", doubt::meaning(found)?))
    }));
    Table {
        title: match measure.quantity {
            Quantity::Throughput => format!("Throughput in Mbit/s by {axis}"),
            Quantity::Rate => format!("Operations per second by {axis}"),
            _ => format!("Response time by {axis}: {}", measure.title),
        },
        columns,
        rows: rows.collect(),
        notes,
    }
}
