//! Response times at one load: their percentiles, and their course over time.

use itertools::{Either, Itertools as _};
use smbench_report::curve::CurveRow;
use smbench_report::doc::{LoadPointDoc, OpDoc, SeriesDoc};
use smbench_report::latency::{LatencyDoc, pool, quantile};
use smbench_report::names::said_once;
use smbench_report::table::{Cell, Column, Table};
use smbench_report::units;

use super::failover::marks;
use super::level::Level;
use super::profile::ProfileContent;
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

/// Percentiles of every distribution. Higher ones need many operations.
const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
/// Highest number of points of a line over time.
const INTERVALS_MAX: usize = 120;

/// Returns the section with the distribution of response times.
pub(super) fn percentiles(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Latency percentiles");
    let level = Level::of(profile);
    if level.rows.is_empty() {
        part.text("No operations were measured.");
        return part;
    }
    let lines = level.rows.iter().map(|(server, row)| Line {
        name: level.line(server, row),
        style: server.number,
        points: distribution(row),
    });
    part.plot(Plot {
        name: format!("{}-percentiles", profile.stem),
        title: format!(
            "{}: response times by percentile {}",
            profile.name,
            level.name()
        ),
        x: Axis::new("percentile", Quantity::Percentile),
        y: Axis::new("response time", Quantity::WideLatency),
        lines: lines.collect(),
        notes: Vec::new(),
        marks: Vec::new(),
    });
    part.list(level.remark().into_iter().collect());
    part.table(percentile_table(&level));
    part
}

/// Returns the distribution from the fastest operation to the slowest, over all
/// valid passes.
fn distribution(row: &CurveRow<'_>) -> Vec<PlotPoint> {
    let histogram = pool(row.asked_for().map(OpDoc::response));
    let count = histogram.len() as f64;
    let validity = validity(row);
    let doubt = |percent: f64| Doubt::of_percentile(&row.passes, percent);
    // 99.5, 99.9, 99.95 and so on, as long as other operations than the slowest are
    // beyond. The slowest has its own point. Quantiles are fractions of whole
    // numbers, so that they equal those of documents.
    let nines = (3..9).flat_map(|digits| {
        let all = 10_f64.powi(digits);
        [5.0, 1.0].map(|beyond| (all - beyond, all))
    });
    let parts = PERCENTILES.map(|percent| (percent, 100.0)).into_iter();
    let parts = parts.chain(nines);
    let known = parts.filter(|(part, all)| (all - part) / all * count > 1.0 + 1e-6);
    let mut points: Vec<_> = known
        .map(|(part, all)| {
            let latency = quantile(&histogram, part, all) as f64;
            let share = if part > 0.0 {
                let percent = units::tick(part * 100.0 / all, 100.0 / all);
                format!("{percent} % of operations within")
            } else {
                "fastest operation".to_owned()
            };
            PlotPoint {
                x: all / (all - part),
                y: latency,
                spread: None,
                validity,
                doubt: doubt(part * 100.0 / all),
                label: format!("{share} {}", units::latency(latency)),
            }
        })
        .collect();
    let slowest = histogram.max() as f64;
    points.push(PlotPoint {
        x: count.max(1.0),
        y: slowest,
        spread: None,
        validity,
        doubt: doubt(100.0),
        label: format!(
            "slowest of {} {}",
            units::counted(histogram.len(), "operation"),
            units::latency(slowest)
        ),
    });
    points
}

/// Returns whether the points of a row may be quoted.
pub(super) fn validity(row: &CurveRow<'_>) -> PointValidity {
    if row.is_valid() {
        PointValidity::Valid
    } else {
        PointValidity::Invalid
    }
}

fn percentile_table(level: &Level<'_>) -> Table {
    let columns = [
        level
            .rows
            .first()
            .map_or("clients", |(_, row)| row.load().axis()),
        "operations",
        "mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
    ];
    let rows = level.rows.iter().map(|(server, row)| {
        let counts = row.asked_for().map(|op| op.count);
        let latency = |percent, of: fn(&LatencyDoc) -> f64| {
            let cell = Cell::latency(row.latency_ns.as_ref().map(of));
            if row.is_valid() {
                Doubt::of_time(&row.passes, percent).at(cell)
            } else {
                cell.marked("! ")
            }
        };
        let mark = if row.is_valid() { "" } else { "! " };
        vec![
            server.name.into(),
            Cell::load(mark, row.load()),
            Cell::count(counts.fold(0, u64::saturating_add)),
            latency(50.0, |doc| doc.mean),
            latency(50.0, |doc| doc.p50 as f64),
            latency(90.0, |doc| doc.p90 as f64),
            latency(95.0, |doc| doc.p95 as f64),
            latency(99.0, |doc| doc.p99 as f64),
            latency(99.9, |doc| doc.p999 as f64),
            latency(100.0, |doc| doc.max as f64),
        ]
    });
    let server = [Column::text("server")].into_iter();
    let is_any_invalid = level.rows.iter().any(|(_, row)| !row.is_valid());
    let mut notes = vec!["over the operations of all valid passes".to_owned()];
    let has_differences = level.rows.iter().any(|(_, row)| row.has_differences());
    notes.extend(has_differences.then(|| {
        "without operations of the replay that did not go as recorded: they have no response time"
            .to_owned()
    }));
    notes.extend(is_any_invalid.then(|| {
        "!: not valid: no pass there is, and this is over the operations of all of them".to_owned()
    }));
    let valid = level.rows.iter().filter(|(_, row)| row.is_valid());
    let doubts = valid.map(|(_, row)| Doubt::of_time(&row.passes, 100.0));
    notes.extend(Doubt::notes(doubts));
    Table {
        title: format!("Response times {}", level.name()),
        columns: server.chain(columns.map(Column::number)).collect(),
        rows: rows.collect(),
        notes,
    }
}

/// A function that selects values of a series.
type Values = fn(&SeriesDoc) -> &[Option<u64>];

/// Last part of the plot's name, the plotted metric, the title of the axis, and the
/// values.
const COURSES: [(&str, &str, &str, f64, Values); 2] = [
    ("median", "median response time", "median", 50.0, |series| {
        &series.all.p50_ns
    }),
    (
        "p99",
        "99th percentile",
        "99th percentile",
        99.0,
        |series| &series.all.p99_ns,
    ),
];

/// Returns the section with medians and 99th percentiles over a window.
pub(super) fn over_time(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new("Latency over time");
    let level = Level::of(profile);
    let rows = level.rows.iter();
    let (shown, without): (Vec<_>, Vec<_>) =
        rows.partition_map(|&(server, row)| match first_series(row) {
            Some(series) => Either::Left((server, row, series)),
            None => Either::Right(server),
        });
    // A series begins with its load point.
    let since = profile.stage_name().map_or_else(
        || "time since the window opened".to_owned(),
        |name| format!("time since the {} began", name.word()),
    );
    let mut has_plot = false;
    for (name, title, axis, percent, column) in COURSES.iter().filter(|_| !shown.is_empty()) {
        let lines = shown.iter().map(|(server, row, (pass, series))| Line {
            name: level.line(server, row),
            style: server.number,
            points: {
                let doubt = Doubt::of_percentile(&[pass], *percent);
                course(series, column(series), pass, validity(row), doubt)
            },
        });
        let lines = lines.collect_vec();
        // A window of one interval has no course.
        if lines.iter().all(|line| line.points.len() == 1) {
            continue;
        }
        has_plot = true;
        part.plot(Plot {
            name: format!("{}-time-{name}", profile.stem),
            title: format!("{}: {title} over time {}", profile.name, level.name()),
            x: Axis::new(&since, Quantity::Time),
            y: Axis::new(*axis, Quantity::Latency),
            marks: marks(shown.iter().map(|(_, _, (pass, _))| *pass)),
            lines,
            notes: Vec::new(),
        });
    }
    let mut remarks = Vec::new();
    for (server, row, (pass, series)) in shown.iter().filter(|_| has_plot) {
        if row.passes.len() > 1 {
            remarks.push((server.name, format!("pass {} is shown.", pass.repeat)));
        }
        if let Some(together) = together(series) {
            let seconds = units::seconds(series.interval_s * together as f64);
            let line =
                format!("points are the highest of {together} intervals, {seconds} together.");
            remarks.push((server.name, line));
        }
    }
    remarks.extend(without.iter().map(|server| {
        let line = "the document does not tell how the window went over time.";
        (server.name, line.to_owned())
    }));
    part.list(said_once(remarks, level.rows.len()));
    part
}

/// Returns the first pass with a series, among the passes in the averages.
pub(super) fn first_series<'a>(row: &CurveRow<'a>) -> Option<(&'a LoadPointDoc, &'a SeriesDoc)> {
    let mut passes = row.passes.iter();
    passes.find_map(|pass| Some((*pass, pass.series.as_ref()?)))
}

/// Returns the number of intervals that one point represents, if it is more than
/// one.
fn together(series: &SeriesDoc) -> Option<usize> {
    let intervals = series.all.count.len();
    Some(intervals.div_ceil(INTERVALS_MAX)).filter(|together| *together > 1)
}

/// Returns a point at the end of each interval. If that exceeds [`INTERVALS_MAX`]
/// points, each point is the maximum of several intervals, so that no outlier is
/// lost. The last ends with the window. Points have the validity of the load point,
/// except after a gap. They have the doubt about this pass, because the plot shows no
/// other pass.
fn course(
    series: &SeriesDoc,
    values: &[Option<u64>],
    pass: &LoadPointDoc,
    of_all: PointValidity,
    doubt: Doubt,
) -> Vec<PlotPoint> {
    let together = together(series).unwrap_or(1);
    let behind_gap = match of_all {
        PointValidity::Valid => PointValidity::AfterGap,
        other => other,
    };
    let mut points = Vec::new();
    let mut validity = behind_gap;
    for (at, chunk) in values.chunks(together).enumerate() {
        let Some(latency) = chunk.iter().flatten().max() else {
            validity = behind_gap;
            continue;
        };
        let seconds = series.interval_s * (at * together + chunk.len()) as f64;
        let seconds = seconds.min(pass.window_s);
        points.push(PlotPoint {
            x: seconds,
            y: *latency as f64,
            spread: None,
            validity,
            doubt,
            label: format!(
                "until {}, {}",
                units::seconds(seconds),
                units::latency(*latency as f64)
            ),
        });
        validity = of_all;
    }
    points
}
