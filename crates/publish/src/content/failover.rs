//! Load points with events: throughput over time, and the events as marks in plots over time.

use smbench_report::curve::CurveRow;
use smbench_report::doc::{LoadPointDoc, SeriesDoc};
use smbench_report::units;

use super::latency::{first_series, validity};
use super::level::Level;
use super::profile::ProfileContent;
use crate::plot::{Axis, Doubt, Line, Plot, PlotMark, PlotPoint, Quantity};
use crate::report::Section;

/// Returns the events of load points in the order of their instants. Those with the same words
/// are one.
pub(super) fn marks<'a>(passes: impl Iterator<Item = &'a LoadPointDoc>) -> Vec<PlotMark> {
    let mut marks: Vec<PlotMark> = Vec::new();
    for event in passes.flat_map(|pass| &pass.events) {
        let (Some(x), Some(written)) = (event.at_s, &event.event) else {
            continue;
        };
        let label = units::plain(written.strip_prefix("at ").unwrap_or(written));
        if marks.iter().all(|mark| mark.label != label) {
            marks.push(PlotMark { x, label });
        }
    }
    marks.sort_by(|one, other| one.x.total_cmp(&other.x));
    marks
}

/// Returns the section with the throughput over a window with events; `None` if no load point
/// had any.
pub(super) fn over_time(profile: &ProfileContent<'_>) -> Option<Section> {
    let level = Level::of(profile);
    let rows = level.rows.iter();
    let shown = rows.filter_map(|&(server, row)| {
        let (pass, series) = first_series(row)?;
        (!pass.events.is_empty()).then_some((server, row, pass, series))
    });
    let shown: Vec<_> = shown.collect();
    let marks = marks(shown.iter().map(|(_, _, pass, _)| *pass));
    if marks.is_empty() {
        return None;
    }
    let carries = shown
        .iter()
        .any(|(_, _, pass, _)| pass.throughput_mbps > 0.0);
    let lines = shown.iter().map(|(server, row, pass, series)| Line {
        name: level.line(server, row),
        style: server.number,
        points: course(row, pass, series, if carries { mbps } else { ops_per_s }),
    });
    let (what, quantity) = if carries {
        ("throughput", Quantity::Throughput)
    } else {
        ("operations per second", Quantity::Rate)
    };
    let mut section = Section::new("Events over time");
    section.plot(Plot {
        name: format!("{}-time-events", profile.stem),
        title: format!("{}: {what} over time {}", profile.name, level.name()),
        x: Axis::new("time since the window opened", Quantity::Time),
        y: Axis::new(what, quantity),
        lines: lines.collect(),
        marks,
        notes: Vec::new(),
    });
    Some(section)
}

/// Returns the throughput of an interval of this length in seconds.
fn mbps(series: &SeriesDoc, at: usize, seconds: f64) -> (f64, String) {
    let bytes = series.all.bytes.get(at).copied().unwrap_or(0);
    let mbps = bytes as f64 * 8.0 / 1e6 / seconds;
    (mbps, format!("{} Mbit/s", units::throughput(mbps)))
}

/// Returns the operations per second of an interval of this length in seconds.
fn ops_per_s(series: &SeriesDoc, at: usize, seconds: f64) -> (f64, String) {
    let count = series.all.count.get(at).copied().unwrap_or(0);
    let rate = count as f64 / seconds;
    (rate, format!("{} operations/s", units::rate(rate)))
}

/// Returns a point at the end of each interval. An interval without an operation is 0, because
/// that is what an event can cost.
fn course(
    row: &CurveRow<'_>,
    pass: &LoadPointDoc,
    series: &SeriesDoc,
    of: fn(&SeriesDoc, usize, f64) -> (f64, String),
) -> Vec<PlotPoint> {
    let validity = validity(row);
    let intervals = 0..series.all.count.len();
    let points = intervals.filter_map(|at| {
        let begin = series.interval_s * at as f64;
        let end = (begin + series.interval_s).min(pass.window_s);
        if end <= begin {
            return None;
        }
        let (y, label) = of(series, at, end - begin);
        Some(PlotPoint {
            x: end,
            y,
            spread: None,
            validity,
            doubt: Doubt::None,
            label: format!("until {}, {label}", units::seconds(end)),
        })
    });
    points.collect()
}
