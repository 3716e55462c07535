//! The table of load points and the peak line under it.

use super::intervals::{Intervals, interval};
use crate::curve::{Curve, CurveRow};
use crate::doc::{CurveDoc, LoopDoc};
use crate::doubt::Doubt;
use crate::latency::{LatencyDoc, pool};
use crate::load::Load;
use crate::metric::Metric;
use crate::replayed;
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;
use crate::units;

/// Optional columns of the table of load points.
#[derive(Clone, Copy)]
struct OptionalColumns {
    /// What differs between load points.
    axis: &'static str,
    /// The run moved data: a column for throughput.
    has_data: bool,
    /// The run has several passes: a column for the interval of their mean.
    intervals: Option<Intervals>,
    /// Operations were due by the clock: response and service times next to each
    /// other.
    is_paced: bool,
    /// The run has a requested rate: the share that was reached.
    has_rate: bool,
    /// The clients are streams, which have a share of late frames.
    has_streams: bool,
    /// The run is a replay: the share of its operations that did not go as recorded.
    is_replay: bool,
    extent: ColumnSet,
}

/// Which of the columns a table has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnSet {
    /// Those that answer how fast the server is.
    Brief,
    /// All.
    Full,
}

impl OptionalColumns {
    fn of(curve: &Curve<'_>, extent: ColumnSet) -> Self {
        let any = |is: fn(&CurveRow<'_>) -> bool| curve.rows.iter().any(is);
        let axis = curve
            .rows
            .first()
            .map_or("clients", |row| row.load().axis());
        Self {
            axis,
            has_data: curve.metric() == Metric::Throughput,
            intervals: Intervals::of(curve),
            is_paced: any(|row| row.service_ns.is_some()),
            has_rate: any(|row| row.reached_share().is_some()),
            has_streams: any(|row| row.late_percent().is_some()),
            is_replay: any(|row| row.replayed.is_replay()),
            extent,
        }
    }

    fn columns(self) -> Vec<&'static str> {
        let mut columns = vec![self.axis];
        columns.extend(self.has_data.then_some("Mbit/s"));
        let interval = self.intervals.map(Intervals::column);
        columns.extend(interval.filter(|_| self.has_data));
        columns.push("ops/s");
        columns.extend(interval.filter(|_| !self.has_data));
        columns.extend(self.has_rate.then_some("reached"));
        columns.extend(self.has_streams.then_some("late"));
        columns.extend_from_slice(if self.is_paced {
            &["resp p50", "serv p50", "resp p99", "serv p99"]
        } else {
            &["mean", "p50", "p95", "p99"]
        });
        let is_full = self.extent == ColumnSet::Full;
        columns.extend_from_slice(match (is_full, self.is_paced) {
            (false, _) => &[],
            (true, true) => &["resp p99.9"],
            (true, false) => &["p99.9", "max"],
        });
        columns.push("errors");
        columns.extend(self.is_replay.then_some("differ"));
        columns.extend((is_full && !self.is_paced).then_some("us/op"));
        columns
    }

    fn notes(self) -> Vec<String> {
        let mut notes = if self.is_paced {
            vec![
                "resp: response time, from when an operation was due until its answer",
                "serv: service time, from when it was sent until its answer",
            ]
        } else if self.extent == ColumnSet::Full {
            vec!["us/op: CPU time of smbench per operation, without the server's"]
        } else {
            Vec::new()
        };
        let late = "late: frames that were not there by their instants";
        notes.extend(self.has_streams.then_some(late));
        notes.extend(self.intervals.into_iter().flat_map(Intervals::notes));
        notes.extend(self.is_replay.then_some(replayed::NOTE));
        notes.into_iter().map(str::to_owned).collect()
    }
}

/// Returns a row per number of clients, averaged over passes. A load is marked `!` if one
/// of its passes is not valid. Each value has the mark of the [`Doubt`] about it.
#[must_use]
pub fn load_points(curve: &Curve<'_>) -> Table {
    table(curve, ColumnSet::Full)
}

/// Returns the same rows with the columns that answer how fast the server is.
pub(super) fn load_points_in_brief(curve: &Curve<'_>) -> Table {
    table(curve, ColumnSet::Brief)
}

fn table(curve: &Curve<'_>, extent: ColumnSet) -> Table {
    let shape = OptionalColumns::of(curve, extent);
    let mut notes = shape.notes();
    let highest = match extent {
        ColumnSet::Brief => 99.0,
        ColumnSet::Full => 100.0,
    };
    let valid = curve.rows.iter().filter(|row| row.is_valid());
    notes.extend(Doubt::notes(valid.flat_map(|row| {
        let of_times = Doubt::of_time(&row.passes, highest);
        [Doubt::of_throughput(row), of_times]
    })));
    Table {
        title: String::new(),
        columns: shape.columns().into_iter().map(Column::number).collect(),
        rows: curve.rows.iter().map(|row| cells(row, shape)).collect(),
        notes,
    }
}

fn cells(row: &CurveRow<'_>, shape: OptionalColumns) -> Vec<Cell> {
    let mark = if row.invalid.is_empty() { "" } else { "! " };
    let mut cells = vec![Cell::load(mark, row.load())];
    let of_throughput = if_valid(row, Doubt::of_throughput(row));
    if shape.has_data {
        let mbps = Cell::of(Some(row.throughput_mbps), units::throughput);
        cells.push(of_throughput.at(mbps));
    }
    let interval = shape.intervals.map(|_| {
        let number = if shape.has_data {
            units::throughput
        } else {
            units::rate
        };
        let interval = interval(row, shape.has_data);
        Cell::or_dash(interval.map(|interval| interval.print(number).into()))
    });
    let rate = of_throughput.at(Cell::of(Some(row.ops_per_s), units::rate));
    if shape.has_data {
        cells.extend(interval.into_iter().chain([rate]));
    } else {
        cells.extend([rate].into_iter().chain(interval));
    }
    if shape.has_rate {
        let reached = row.reached_share().map(|share| share * 100.0);
        cells.push(Cell::of(reached, units::percent));
    }
    if shape.has_streams {
        cells.push(Cell::of(row.late_percent(), units::percent));
    }
    let time = |all: Option<&LatencyDoc>, percent, of: fn(&LatencyDoc) -> f64| {
        let doubt = if_valid(row, Doubt::of_time(&row.passes, percent));
        doubt.at(Cell::latency(all.map(of)))
    };
    let latency = |percent, of| time(row.latency_ns.as_ref(), percent, of);
    let service = |percent, of| time(row.service_ns.as_ref(), percent, of);
    if shape.is_paced {
        cells.extend([
            latency(50.0, |doc| doc.p50 as f64),
            service(50.0, |doc| doc.p50 as f64),
            latency(99.0, |doc| doc.p99 as f64),
            service(99.0, |doc| doc.p99 as f64),
        ]);
    } else {
        cells.extend([
            latency(50.0, |doc| doc.mean),
            latency(50.0, |doc| doc.p50 as f64),
            latency(95.0, |doc| doc.p95 as f64),
            latency(99.0, |doc| doc.p99 as f64),
        ]);
    }
    let is_full = shape.extent == ColumnSet::Full;
    if is_full {
        cells.push(latency(99.9, |doc| doc.p999 as f64));
        cells.extend((!shape.is_paced).then(|| latency(100.0, |doc| doc.max as f64)));
    }
    cells.push(Cell::count(row.errors));
    cells.extend(shape.is_replay.then(|| {
        if is_full {
            row.replayed.cell()
        } else {
            row.replayed.cell_in_brief()
        }
    }));
    if is_full && !shape.is_paced {
        cells.push(Cell::of(row.cpu_us_per_op, units::cpu_us));
    }
    cells
}

/// Returns the doubt about a value of a row; none if the row is not valid, which its load
/// says.
fn if_valid(row: &CurveRow<'_>, doubt: Doubt) -> Doubt {
    if row.is_valid() { doubt } else { Doubt::None }
}

/// Describes the set-up of sessions at the load point with the most clients, over
/// its passes. It gives the rate at which sessions became ready for the load,
/// including the time to open files. It also gives the time of each log-on, which
/// comes before that. `None` without sessions, or if the document does not have
/// these values. Ends with a newline.
#[must_use]
pub fn setup_lines(curve: &Curve<'_>) -> Option<String> {
    let setups = || curve.rows.last().into_iter().flat_map(|row| &row.passes);
    let setups = || setups().map(|pass| &pass.setup);
    let kept: Option<Vec<_>> = setups().map(|setup| setup.hdr.as_ref()).collect();
    let each = LatencyDoc::of(&pool(kept?))?;
    let sessions: u64 = setups().map(|setup| setup.sessions).sum();
    let elapsed_s: f64 = setups().map(|setup| setup.elapsed_s).sum();
    let rate = if elapsed_s > 0.0 {
        format!(
            "session setup: {}, {} per second (with opening files)\n",
            units::counted(sessions, "session"),
            units::rate(sessions as f64 / elapsed_s)
        )
    } else {
        String::new()
    };
    Some(format!(
        "{rate}connect and log on: p50 {}, p99 {}, max {}\n",
        units::latency(each.p50 as f64),
        units::latency(each.p99 as f64),
        units::latency(each.max as f64),
    ))
}

/// Returns how fast sessions were set up that need no files, in a line; `None` as above.
pub(super) fn setup_words(curve: &Curve<'_>) -> Option<String> {
    let setup = &curve.rows.last()?.passes.last()?.setup;
    let (each, rate) = (setup.latency_ns?, setup.sessions_per_s?);
    Some(format!(
        "{} sessions per second; connect and log on: p50 {}, p99 {}, max {}",
        units::rate(rate),
        units::latency(each.p50 as f64),
        units::latency(each.p99 as f64),
        units::latency(each.max as f64),
    ))
}

/// Returns the peak, the range of the plateau around it, and the client-limited load
/// points from it on, in one line. `None` if the clock set the load: its highest load
/// point only had the most arrivals.
#[must_use]
pub fn peak_line(pacing: LoopDoc, curve: &Curve<'_>) -> Option<String> {
    let (tone, words) = peak_words(pacing, curve)?;
    Some(match tone {
        Tone::Problem => format!("no peak: {words}"),
        _ => format!("peak {words}"),
    })
}

/// Describes the curve of a run by its overall response time, without a label, or says why
/// it has none.
#[must_use]
pub fn overall(doc: &CurveDoc) -> String {
    let rightmost = doc.rightmost.as_ref().map(|point| {
        let load = Load::of(point.clients, point.rate);
        let mean = units::latency(point.latency_mean_ns);
        let of_units = point.units;
        let of_units = of_units.map(|number| units::counted(number.into(), "unit") + ", ");
        let of_units = of_units.unwrap_or_default();
        format!("; rightmost valid load {of_units}{load}, mean {mean}")
    });
    let rightmost = rightmost.unwrap_or_default();
    match (doc.ort_ns, &doc.reason) {
        (Some(ort_ns), _) => format!(
            "overall response time {}, from {} to {} ops/s ({} {}load points){rightmost}",
            units::latency(ort_ns),
            units::rate(doc.ops_per_s_from),
            units::rate(doc.ops_per_s_to),
            doc.points,
            if doc.even { "" } else { "uneven " },
        ),
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("no reason given");
            let reason = units::plain(reason);
            format!("no overall response time: {reason}{rightmost}")
        }
    }
}

/// Returns the words of [`peak_line`] after its label, and their meaning: a problem if
/// there is no peak.
pub(super) fn peak_words(pacing: LoopDoc, curve: &Curve<'_>) -> Option<(Tone, String)> {
    if pacing != LoopDoc::Closed {
        return None;
    }
    let Some((peak, row)) = curve.peak().zip(curve.peak_row()) else {
        return Some((Tone::Problem, "no load point is valid".to_owned()));
    };
    let interval = interval(row, true).map(|interval| interval.after(units::throughput));
    let throughput = (row.throughput_mbps > 0.0).then(|| {
        format!(
            "{}{} Mbit/s ({} MB/s), ",
            units::throughput(row.throughput_mbps),
            interval.unwrap_or_default(),
            units::throughput(row.throughput_mbps / 8.0)
        )
    });
    let latency = |of: fn(&LatencyDoc) -> f64| {
        let value = row.latency_ns.as_ref().map(of);
        value.map_or_else(String::new, units::latency)
    };
    let (from, to) = (
        peak.within_95_percent_from_clients,
        peak.within_95_percent_clients,
    );
    let plateau = (from != to).then(|| format!("; within 5 % from {from} to {to} clients"));
    Some((
        Tone::Peak,
        format!(
            "{}{} ops/s at {}; mean {}, p99 {}{}{}",
            throughput.unwrap_or_default(),
            units::rate(row.ops_per_s),
            row.load(),
            latency(|doc| doc.mean),
            latency(|doc| doc.p99 as f64),
            plateau.unwrap_or_default(),
            limited_from(curve, row.clients).unwrap_or_default(),
        ),
    ))
}

/// Names the client-limited load points from the peak on. There the server may have
/// done more.
fn limited_from(curve: &Curve<'_>, peak: u32) -> Option<String> {
    let limited = curve
        .rows
        .iter()
        .filter(|row| row.clients >= peak && row.is_quotable() && row.is_generator_limited());
    let clients: Vec<_> = limited.map(|row| row.clients).collect();
    Some(match clients.first()? {
        first if *first == peak => "; client-limited, so the server may do more".to_owned(),
        _ => format!("; client-limited above it, at {}", units::clients(&clients)),
    })
}
