//! The populations of a run in tables: a row for each, and their operations.

use itertools::Itertools as _;
use smbench_model::kind::OpKind;

use crate::curve::{Curve, CurveRow, total};
use crate::doc::{FindDoc, FindKind, OpDoc, PopulationPointDoc, RunDoc};
use crate::doubt::Doubt;
use crate::latency::{LatencyDoc, pool};
use crate::population::PopulationRow;
use crate::table::{Cell, Column, Table};
use crate::units;

/// Returns a row for each population at each load; `None` without named populations. A load
/// that is not valid is marked `!`. The rows of a load sum up to its row in the other tables.
#[must_use]
pub fn populations(curve: &Curve<'_>) -> Option<Table> {
    let has_any = |row: &&CurveRow<'_>| PopulationRow::names(row).next().is_some();
    let rows: Vec<_> = curve.rows.iter().filter(has_any).collect();
    let first = rows.first()?;
    let of_several = rows.len() > 1;
    let has_data = rows.iter().any(|row| row.throughput_mbps > 0.0);
    let mut columns = Vec::new();
    columns.extend(of_several.then(|| Column::number("of")));
    columns.extend([Column::text("population"), Column::number("clients")]);
    columns.extend(has_data.then(|| Column::number("Mbit/s")));
    let numbers = ["ops/s", "mean", "p50", "p99", "errors"];
    columns.extend(numbers.map(Column::number));
    let cells = |row: &CurveRow<'_>, name: &str| {
        let population = PopulationRow::named(row, name)?;
        let mark = |doubt: Doubt| if row.is_valid() { doubt.mark() } else { "! " };
        let latencies = population.latency(None);
        let latency = |percent, of: fn(&LatencyDoc) -> f64| {
            let doubt = Doubt::of_time(&row.passes, percent);
            Cell::latency(latencies.as_ref().map(of)).marked(mark(doubt))
        };
        let of_rate = mark(Doubt::of_throughput(row));
        let mut cells = Vec::new();
        cells.extend(of_several.then(|| Cell::load("", row.load())));
        cells.extend([
            units::plain(name).into(),
            Cell::count(population.clients().into()),
        ]);
        cells.extend(has_data.then(|| {
            let mbps = population.throughput_mbps(None);
            let mbps = mbps.filter(|mbps| *mbps > 0.0);
            Cell::of(mbps, units::throughput).marked(of_rate)
        }));
        cells.extend([
            Cell::of(population.ops_per_s(None), units::rate).marked(of_rate),
            latency(50.0, |doc| doc.mean),
            latency(50.0, |doc| doc.p50 as f64),
            latency(99.0, |doc| doc.p99 as f64),
            Cell::count(population.errors(None).unwrap_or(0)),
        ]);
        Some(cells)
    };
    let of_row = |row: &&CurveRow<'_>| -> Vec<Vec<Cell>> {
        let names = PopulationRow::names(row);
        names.filter_map(|name| cells(row, name)).collect()
    };
    let doubts = rows
        .iter()
        .flat_map(|row| [Doubt::of_throughput(row), Doubt::of_time(&row.passes, 99.0)]);
    let mut notes: Vec<_> = Doubt::notes(doubts).collect();
    notes.extend(
        rows.iter()
            .any(|row| !row.is_valid())
            .then(|| "!: not valid".to_owned()),
    );
    Some(Table {
        title: if of_several {
            "populations".to_owned()
        } else {
            format!("populations at {}", first.load())
        },
        columns,
        rows: rows.iter().flat_map(of_row).collect(),
        notes,
    })
}

/// Returns the operations of each population at the peak. Without a peak they are those of the
/// last row, with `!` at each value if that is not valid. `None` without named populations.
#[must_use]
pub fn operations_of_populations(curve: &Curve<'_>) -> Option<Table> {
    let row = curve.peak_row().or(curve.rows.last())?;
    let parts = PopulationRow::names(row);
    let parts = parts.filter_map(|name| Some((name, PopulationRow::named(row, name)?)));
    let cells = |(name, population): (&str, PopulationRow<'_>)| {
        let kinds = population.kinds().unique().sorted_by_key(|name| {
            let known = OpKind::ALL.iter().position(|kind| kind.name() == *name);
            (known.unwrap_or(OpKind::ALL.len()), *name)
        });
        let of_kind = |kind| cells_of(row, name, &population, kind);
        kinds.map(of_kind).collect::<Vec<_>>()
    };
    let rows: Vec<_> = parts.flat_map(cells).collect();
    let numbers = [
        "count", "Mbit/s", "mean", "p50", "p95", "p99", "max", "errors",
    ];
    let columns = ["population", "op"].map(Column::text).into_iter();
    (!rows.is_empty()).then(|| Table {
        title: format!("operations of populations at {}", row.load()),
        columns: columns.chain(numbers.map(Column::number)).collect(),
        rows,
        notes: Vec::new(),
    })
}

fn cells_of(
    row: &CurveRow<'_>,
    name: &str,
    population: &PopulationRow<'_>,
    kind: &str,
) -> Vec<Cell> {
    let ops = || population.ops_of(kind);
    let mark = |doubt: Doubt| if row.is_valid() { doubt.mark() } else { "! " };
    let mbps = population.throughput_mbps(Some(kind));
    let mbps = mbps.filter(|mbps| *mbps > 0.0);
    let latencies = LatencyDoc::of(&pool(ops().map(OpDoc::response)));
    let latency = |percent, of: fn(&LatencyDoc) -> f64| {
        let doubt = Doubt::of_time(&row.passes, percent);
        Cell::latency(latencies.as_ref().map(of)).marked(mark(doubt))
    };
    vec![
        units::plain(name).into(),
        units::plain(kind).into(),
        Cell::count(total(ops().map(|op| op.count))).marked(mark(Doubt::None)),
        Cell::of(mbps, units::throughput).marked(mark(Doubt::of_throughput(row))),
        latency(50.0, |doc| doc.mean),
        latency(50.0, |doc| doc.p50 as f64),
        latency(95.0, |doc| doc.p95 as f64),
        latency(99.0, |doc| doc.p99 as f64),
        latency(100.0, |doc| doc.max as f64),
        Cell::count(total(ops().map(|op| op.errors))),
    ]
}

/// Returns the clients of each population at the answer of a search.
pub(super) fn at_answer(doc: &RunDoc, find: &FindDoc) -> Option<String> {
    let found = find.result.filter(|_| find.kind == FindKind::Clients)?;
    let mut points = doc.load_points.iter();
    let point = points.find(|point| f64::from(point.clients) == found)?;
    let parts = point.populations.iter();
    let clients =
        |part: &PopulationPointDoc| format!("{} {}", units::plain(&part.name), part.clients);
    let words = parts.map(clients).join(", ");
    (!words.is_empty()).then_some(words)
}
