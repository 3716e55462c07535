//! How soon clients learn what others change.

use smbench_model::kind::OpKind;

use crate::doc::{LoadPointDoc, OpDoc, RunDoc};
use crate::doubt::Doubt;
use crate::table::{Cell, Column, Table};
use crate::units;

/// The operations that wait for a change of another client, and what is counted of each.
const WAITS: [(OpKind, &str); 2] = [
    (
        OpKind::Neighbour,
        "neighbour: from the first look at a new file until it shows",
    ),
    (OpKind::Watch, "watch: from a change until its notification"),
];

/// Returns how long changes took until other clients saw them; `None` if nobody looked for any.
#[must_use]
pub fn changes(doc: &RunDoc) -> Option<Table> {
    let waits = |(kind, _): &(OpKind, &str)| {
        doc.load_points
            .iter()
            .any(|point| op(point, *kind).is_some())
    };
    let waits: Vec<_> = WAITS.into_iter().filter(waits).collect();
    if waits.is_empty() {
        return None;
    }
    let columns = vec![
        Column::number("clients"),
        Column::text("op"),
        Column::number("times"),
        Column::number("mean"),
        Column::number("p50"),
        Column::number("p99"),
    ];
    let rows = doc.load_points.iter().flat_map(|point| {
        let waits = waits.iter();
        waits.map(move |(kind, _)| row(point, *kind))
    });
    let valid = doc.load_points.iter().filter(|point| point.valid);
    let doubts = valid.map(|point| Doubt::of_time(&[point], 99.0));
    let mut notes: Vec<_> = waits.iter().map(|(_, note)| (*note).to_owned()).collect();
    notes.extend(Doubt::notes(doubts));
    Some(Table {
        notes,
        ..Table::of("until other clients saw a change", columns, rows.collect())
    })
}

fn op(point: &LoadPointDoc, kind: OpKind) -> Option<&OpDoc> {
    point.ops.get(kind.name())
}

fn row(point: &LoadPointDoc, kind: OpKind) -> Vec<Cell> {
    let of = op(point, kind);
    let times = of.and_then(|op| op.response_ns);
    let time = |value: Option<f64>, percent: f64| {
        let mark = if point.valid {
            Doubt::of_time(&[point], percent).mark()
        } else {
            "! "
        };
        Cell::of(value, units::latency).marked(mark)
    };
    vec![
        Cell::load("", point.load()),
        Cell::from(kind.name()),
        Cell::count(of.map_or(0, |op| op.count)),
        time(times.map(|times| times.mean), 50.0),
        time(times.map(|times| times.p50 as f64), 50.0),
        time(times.map(|times| times.p99 as f64), 99.0),
    ]
}
