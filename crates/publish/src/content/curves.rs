//! Throughput and response time against the number of clients; of stages, over time.

use std::collections::BTreeSet;

use itertools::Itertools as _;
use smbench_report::curve::CurveRow;
use smbench_report::load::loads;
use smbench_report::names::said_once;
use smbench_report::statistics::{Estimate, PassInterval};
use smbench_report::table::{Cell, Column, Table};

use super::point_metric::{
    ErrorBar, MEAN, OWN_MEMORY, P99, PointMetric, RATE, SERVER_MEMORY, THROUGHPUT,
};
use super::profile::{MeasuredServer, ProfileContent, limits, reasons};
use super::{headline, stages};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

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
    let times = [&MEAN, &P99].map(|measure| whole_plot(profile, measure));
    let memory = [&SERVER_MEMORY, &OWN_MEMORY].map(|measure| whole_plot(profile, measure));
    let memory = memory.into_iter().filter(|plot| !plot.is_empty());
    let stages = stages::plots(profile).into_iter();
    for plot in stages.chain(times).chain(memory) {
        part.plot(plot);
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

/// Returns the plots of throughput, if any data was moved, of the rate and of response times.
pub(super) fn plots(profile: &ProfileContent<'_>) -> Vec<Plot> {
    let data = profile.moves_data().then_some(&THROUGHPUT).into_iter();
    let measures = data.chain([&RATE, &MEAN, &P99]);
    measures
        .map(|measure| whole_plot(profile, measure))
        .collect()
}

/// Returns the plot of the rate for all servers. `stem` begins its name.
pub(super) fn rate_plot(profile: &ProfileContent<'_>, stem: &str) -> Plot {
    plot(profile, &RATE, stem, |_| true)
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

/// Returns the plot of a metric for all servers.
fn whole_plot(profile: &ProfileContent<'_>, measure: &PointMetric) -> Plot {
    plot(profile, measure, &profile.stem, |_| true)
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
    let (across, x) = across(profile);
    Plot {
        name: format!("{stem}-{}", measure.name),
        title: format!("{}: {} {across}", profile.name, measure.title),
        x,
        y: Axis::new(measure.axis, measure.quantity),
        notes: Vec::new(),
        marks: Vec::new(),
        lines,
    }
}

/// Returns what the load points of a profile stand across, in words and as an axis. Stages follow
/// one another in time.
fn across(profile: &ProfileContent<'_>) -> (String, Axis) {
    if profile.is_staged() {
        let time = Axis::new("time since the window opened", Quantity::Time);
        return ("over time".to_owned(), time);
    }
    let axis = axis(profile);
    let quantity = match axis {
        "clients" => Quantity::Clients,
        _ => Quantity::Rate,
    };
    (format!("by {axis}"), Axis::new(axis, quantity))
}

/// Returns what differs between the load points of a profile.
fn axis(profile: &ProfileContent<'_>) -> &'static str {
    let mut axes = all_rows(profile).map(|row| row.load().axis());
    axes.next().unwrap_or("clients")
}

/// Returns the load points of all servers.
fn all_rows<'a>(profile: &'a ProfileContent<'a>) -> impl Iterator<Item = &'a CurveRow<'a>> + Clone {
    let servers = profile.servers.iter();
    servers.flat_map(|server| &server.curve.rows)
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
        x: place(row, measure),
        y: value,
        spread: spread.map(|(low, high, _)| (low, high)),
        validity,
        doubt,
        label,
    })
}

/// Returns where a row stands across: its load, or the instant of its value in a stage, in seconds.
fn place(row: &CurveRow<'_>, measure: &PointMetric) -> f64 {
    let instant = row.passes.first().and_then(|pass| {
        let stage = pass.stage.as_ref()?;
        Some(stage.begin_s + pass.window_s * measure.instant)
    });
    instant.unwrap_or_else(|| row.load().number())
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
pub(super) fn cell(row: &CurveRow<'_>, measure: &PointMetric) -> Cell {
    let cell = Cell::of((measure.of_row)(row), measure.print);
    if row.is_valid() {
        (measure.doubt)(row).at(cell)
    } else {
        cell.marked("! ")
    }
}

/// Explains the marks of the measures in a table of these rows.
pub(super) fn marks<'a>(
    rows: impl Iterator<Item = &'a CurveRow<'a>> + Clone,
    measures: &[&PointMetric],
) -> Vec<String> {
    let invalid = rows.clone().any(|row| !row.is_valid());
    let valid = rows.filter(|row| row.is_valid());
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
        notes: marks(all_rows(profile), measures),
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
        notes: marks(all_rows(profile), &[measure]),
    }
}
