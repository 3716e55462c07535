//! The operations of one load point in a table: those of the peak, or of the last
//! row if no row may be quoted.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use smbench_model::kind::OpKind;

use super::in_flight::waiting;
use crate::curve::{Curve, CurveRow, total};
use crate::doc::{OpDoc, RecordedTimesDoc, WorkloadDoc, is_asked_for};
use crate::doubt::Doubt;
use crate::latency::{Hdr, LatencyDoc, pool};
use crate::replayed::{self, Replayed};
use crate::table::{Cell, Column, Table};
use crate::units;

const NUMBERS: [&str; 9] = [
    "count", "share", "Mbit/s", "mean", "p50", "p95", "p99", "max", "errors",
];

/// Column of the names that operations listed.
const ENTRIES: &str = "entries";

/// Columns of what was in flight when the window closed.
const IN_FLIGHT: [&str; 2] = ["in flight", "waited"];

/// Columns of the service times in a capture.
const RECORDED: [&str; 2] = ["recorded", "rec. p99"];
const RECORDED_NOTES: [&str; 2] = [
    "times: service times, from sent until answered",
    "recorded, rec. p99: mean and p99 of the service times in the capture",
];

const IN_FLIGHT_NOTE: &str = "in flight: not answered when the window closed; waited: the longest \
                              of these, until then";

/// Returns the operations at the peak. Without a peak they are those of the last
/// row, with `!` at each value if that is not valid. Counts and errors are over all passes,
/// response times are pooled. Beside the times in a capture they are service times, as those are.
/// Operations of a replay that did not go as recorded are in a column of their own.
/// `None` if the load point had no answered operation.
#[must_use]
pub fn operations(workload: &WorkloadDoc, curve: &Curve<'_>) -> Option<Table> {
    let row = curve.peak_row().or(curve.rows.last())?;
    let replayed = Replayed::of(row.passes.iter().copied());
    let names = row.passes.iter().flat_map(|pass| pass.ops.keys());
    let names = names.map(String::as_str).chain(replayed.kinds());
    // Names that this build does not know follow in alphabetical order.
    let names = names.unique().sorted_by_key(|name| {
        let known = OpKind::ALL.iter().position(|kind| kind.name() == *name);
        (known.unwrap_or(OpKind::ALL.len()), *name)
    });
    if names.len() == 0 {
        return None;
    }
    let all = total(row.asked_for().map(|op| op.count));
    let columns = [Column::text("op")].into_iter();
    let mut notes = if row.is_valid() {
        let of_times = Doubt::of_time(&row.passes, 100.0);
        Doubt::notes([Doubt::of_throughput(row), of_times]).collect()
    } else {
        vec!["!: not valid".to_owned()]
    };
    // The settings tell the shares of actions.
    if !workload.operations.is_empty() {
        notes.push("share: of requests; an action may be several requests".to_owned());
    }
    let differ = replayed.is_replay().then_some("differ");
    notes.extend(differ.map(|_| replayed::NOTE.to_owned()));
    let ops = row.passes.iter().flat_map(|pass| pass.ops.values());
    let lists = ops.filter_map(|op| op.entries).next().map(|_| ENTRIES);
    let waits = row.passes.iter().any(|pass| !waiting(pass).is_empty());
    let in_flight = if waits { &IN_FLIGHT[..] } else { &[] };
    notes.extend(waits.then(|| IN_FLIGHT_NOTE.to_owned()));
    let recorded = workload.replay.as_ref().map(|replay| &replay.recorded);
    let recorded = recorded.filter(|recorded| !recorded.is_empty());
    let mut of_capture: &[&str] = &[];
    let mut times: fn(&OpDoc) -> &Hdr = OpDoc::response;
    if recorded.is_some() {
        of_capture = &RECORDED;
        times = OpDoc::service;
        notes.extend(RECORDED_NOTES.map(str::to_owned));
    }
    let numbers = NUMBERS.into_iter().chain(lists);
    let numbers = numbers.chain(in_flight.iter().copied());
    let numbers = numbers.chain(of_capture.iter().copied()).chain(differ);
    let cells = |name| {
        let mut cells = cells(row, name, all, times);
        cells.extend(lists.map(|_| cell_of_entries(row, name)));
        if waits {
            cells.extend(cells_in_flight(row, name));
        }
        cells.extend(
            recorded
                .into_iter()
                .flat_map(|recorded| cells_recorded(recorded, name)),
        );
        cells.extend(differ.map(|_| replayed.cell_of(name)));
        cells
    };
    Some(Table {
        title: format!("operations at {}", row.load()),
        columns: columns.chain(numbers.map(Column::number)).collect(),
        rows: names.map(cells).collect(),
        notes,
    })
}

fn cells(row: &CurveRow<'_>, name: &str, all: u64, times: fn(&OpDoc) -> &Hdr) -> Vec<Cell> {
    let ops = || row.passes.iter().filter_map(|pass| pass.ops.get(name));
    let sum = |of: fn(&OpDoc) -> u64| total(ops().map(of));
    let count = sum(|op| op.count);
    // An operation without data, such as a FLUSH, has no throughput, rather than
    // one of zero.
    let mbps = row.op_per_s(name, |op| op.bytes);
    let mbps = mbps.filter(|bytes| *bytes > 0.0);
    let mbps = mbps.map(|bytes| bytes * 8.0 / 1e6);
    let share = (all > 0 && is_asked_for(name)).then(|| count as f64 / all as f64 * 100.0);
    let latencies = LatencyDoc::of(&pool(ops().map(times)));
    let mark = |doubt: Doubt| if row.is_valid() { doubt.mark() } else { "! " };
    let latency = |percent, of: fn(&LatencyDoc) -> f64| {
        let doubt = Doubt::of_time(&row.passes, percent);
        Cell::latency(latencies.as_ref().map(of)).marked(mark(doubt))
    };
    let of_throughput = mark(Doubt::of_throughput(row));
    vec![
        units::plain(name).into(),
        Cell::count(count).marked(mark(Doubt::None)),
        Cell::of(share, units::percent).marked(mark(Doubt::None)),
        Cell::of(mbps, units::throughput).marked(of_throughput),
        latency(50.0, |doc| doc.mean),
        latency(50.0, |doc| doc.p50 as f64),
        latency(95.0, |doc| doc.p95 as f64),
        latency(99.0, |doc| doc.p99 as f64),
        latency(100.0, |doc| doc.max as f64),
        Cell::count(sum(|op| op.errors)),
    ]
}

fn cells_recorded(recorded: &BTreeMap<String, RecordedTimesDoc>, name: &str) -> [Cell; 2] {
    let times = recorded.get(name);
    let of = |time: fn(&RecordedTimesDoc) -> u64| times.map(|times| time(times) as f64);
    [
        Cell::latency(of(|times| times.mean_ns)),
        Cell::latency(of(|times| times.p99_ns)),
    ]
}

fn cell_of_entries(row: &CurveRow<'_>, name: &str) -> Cell {
    let ops = row.passes.iter().filter_map(|pass| pass.ops.get(name));
    let entries: Vec<_> = ops.filter_map(|op| op.entries).collect();
    match &entries[..] {
        [] => Cell::from(""),
        some => Cell::count(total(some.iter().copied())),
    }
}

fn cells_in_flight(row: &CurveRow<'_>, name: &str) -> [Cell; 2] {
    let ops = || row.passes.iter().filter_map(|pass| pass.ops.get(name));
    let longest = ops().filter_map(|op| op.in_flight_ns_max).max();
    [
        Cell::count(total(ops().filter_map(|op| op.in_flight))),
        Cell::latency(longest.map(|longest| longest as f64)),
    ]
}
