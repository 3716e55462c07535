//! Throughput and response time against the number of clients.

use std::collections::BTreeSet;

use itertools::Itertools as _;
use smbench_report::curve::CurveRow;
use smbench_report::doc::LoadPointDoc;
use smbench_report::load::loads;
use smbench_report::names::said_once;
use smbench_report::statistics::{Estimate, PassInterval};
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units;

use super::headline;
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
    /// Head of the column in a table of all metrics.
    short: &'static str,
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
    short: "Mbit/s",
    quantity: Quantity::Throughput,
    unit: " Mbit/s",
    print: units::throughput,
    of_row: |row| Some(row.throughput_mbps),
    of_pass: |pass| Some(pass.throughput_mbps),
    bar: ErrorBar::Confidence,
    doubt: Doubt::of_throughput,
};
const RATE: PointMetric = PointMetric {
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
};
const MEAN: PointMetric = PointMetric {
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
};
const P99: PointMetric = PointMetric {
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
};

/// Returns plots and tables of all servers.
pub(super) fn part(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Throughput and response time");
    let height = height(profile);
    let measures = [&height, &MEAN, &P99];
    if profile.has_one_point() {
        part.table(one_point_each(profile, &measures));
        part.list(explanations(profile));
        return part;
    }
    // The plot of the height is in the first section.
    for measure in [&MEAN, &P99] {
        part.plot(plot(profile, measure, &profile.stem, |_| true));
    }
    if let Some(curve) = headline::plot(profile) {
        part.plot(curve);
        part.list(headline::values(profile));
    }
    part.list(explanations(profile));
    for measure in measures {
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
    if profile.moves_data() {
        THROUGHPUT
    } else {
        RATE
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
        notes: Vec::new(),
        marks: Vec::new(),
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

/// Returns the point of the mean response time at a load.
pub(super) fn mean_response(row: &CurveRow<'_>) -> Option<PlotPoint> {
    point(row, &MEAN)
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
    let validity = if row.is_valid() {
        PointValidity::Valid
    } else {
        label += &format!("; not valid: {}", reasons(row));
        PointValidity::Invalid
    };
    let doubt = (measure.doubt)(row);
    label += &match (doubt.meaning(), limits(row)) {
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
    let has_bars = !profile.has_one_point();
    if has_bars && passes.contains(&2) {
        lines.push("Bars at load points of two passes are the lower and the higher.".to_owned());
    }
    if has_bars && passes.iter().any(|passes| *passes > 2) {
        lines.push(format!(
            "Bars at load points of three or more passes are the 95 % confidence interval of the \
             mean over passes for {}. They are the lowest and the highest pass if the interval \
             reaches below 0. \
             For response times, which are those of all operations together, they are the lowest \
             and the highest pass.",
            height(profile).title
        ));
    }
    let invalid = rows().filter(|(_, row)| !row.is_valid());
    let invalid = invalid.map(|(server, row)| {
        let place = format!("{} at {}", server.name, row.load());
        (place, reasons(row))
    });
    let invalid = invalid.collect_vec();
    let invalid = invalid.iter();
    let invalid = invalid.map(|(place, reason)| (place.as_str(), reason.clone()));
    let how = if profile.has_one_point() {
        "Not valid, !"
    } else {
        "Hollow, not valid, !"
    };
    let invalid = said_once(invalid, 0).into_iter();
    lines.extend(invalid.map(|line| format!("{how}: {line}")));
    let doubts = Doubt::ALL.into_iter();
    lines.extend(doubts.filter_map(|doubt| doubtful(profile, doubt)));
    lines
}
/// Names the load points with a doubt in one line; `None` if there are none.
fn doubtful(profile: &ProfileContent<'_>, doubt: Doubt) -> Option<String> {
    let name = match doubt {
        Doubt::None => return None,
        Doubt::ClientLimited => "Client-limited, ~",
        Doubt::LateAnswers => "Answers handled late, ^",
        Doubt::Stalled => "Stalled, *",
    };
    let places = profile.servers.iter().filter_map(|server| {
        let has_it = |row: &&CurveRow<'_>| {
            let of_latency = Doubt::of_percentile(&row.passes, 100.0);
            [Doubt::of_throughput(row), of_latency].contains(&doubt)
        };
        let found = server.curve.rows.iter().filter(has_it);
        let found = found.map(CurveRow::load).collect_vec();
        let place = || format!("at {}", loads(&found));
        (!found.is_empty()).then(|| (server.name, place()))
    });
    let places = said_once(places, profile.servers.len());
    // The names stand before the places: `a, b at 8 clients`.
    let places = places
        .iter()
        .map(|place| place.replacen(": at ", " at ", 1));
    let places = places.collect_vec().join("; ");
    let why = match doubt {
        Doubt::ClientLimited => " The remarks below the load points say why.",
        _ => "",
    };
    (!places.is_empty()).then(|| format!("{name}: {places}.{why}"))
}

/// Returns the cell of a measure at a load point, with its mark.
fn cell(row: &CurveRow<'_>, measure: &PointMetric) -> Cell {
    let cell = Cell::of((measure.of_row)(row), measure.print);
    if row.is_valid() {
        (measure.doubt)(row).at(cell)
    } else {
        cell.marked("! ")
    }
}

/// Explains the marks of the measures in a table.
fn marks(profile: &ProfileContent<'_>, measures: &[&PointMetric]) -> Vec<String> {
    let rows = || profile.servers.iter().flat_map(|server| &server.curve.rows);
    let invalid = rows().any(|row| !row.is_valid());
    let valid = rows().filter(|row| row.is_valid());
    let doubts = valid.flat_map(|row| measures.iter().map(|measure| (measure.doubt)(row)));
    let invalid = invalid.then(|| "!: not valid".to_owned());
    invalid.into_iter().chain(Doubt::notes(doubts)).collect()
}

/// Returns a row for each server, and a column for each measure.
fn one_point_each(profile: &ProfileContent<'_>, measures: &[&PointMetric]) -> Table {
    let mut columns = vec![Column::text("server"), Column::number(axis(profile))];
    columns.extend(measures.iter().map(|measure| Column::number(measure.short)));
    let points = profile.servers.iter();
    let points = points.filter_map(|server| Some((server, server.curve.rows.first()?)));
    let rows = points.map(|(server, row)| {
        let mut cells = vec![server.name.into(), Cell::load("", row.load())];
        cells.extend(measures.iter().map(|measure| cell(row, measure)));
        cells
    });
    Table {
        title: "The load point of each server".to_owned(),
        columns,
        rows: rows.collect(),
        notes: marks(profile, measures),
    }
}

/// Returns a row for each load point, and a column for each server.
fn table(profile: &ProfileContent<'_>, measure: &PointMetric) -> Table {
    let servers = || profile.servers.iter();
    let points = servers().flat_map(|server| &server.curve.rows);
    let points: BTreeSet<_> = points.map(CurveRow::load).collect();
    let axis = axis(profile);
    let mut columns = vec![Column::number(axis)];
    columns.extend(servers().map(|server| Column::number(server.name)));
    let rows = points.into_iter().map(|load| {
        let mut cells = vec![Cell::load("", load)];
        cells.extend(servers().map(|server| {
            let row = server.curve.row(load);
            Cell::or_dash(row.map(|row| cell(row, measure)))
        }));
        cells
    });
    Table {
        title: match measure.quantity {
            Quantity::Throughput => format!("Throughput in Mbit/s by {axis}"),
            Quantity::Rate => format!("Operations per second by {axis}"),
            _ => format!("Response time by {axis}: {}", measure.title),
        },
        columns,
        rows: rows.collect(),
        notes: marks(profile, &[measure]),
    }
}
