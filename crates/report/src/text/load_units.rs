//! Load points of units in a table: what the clients of each population reached of their rate.

use crate::curve::{Curve, CurveRow};
use crate::doc::{ReachedDoc, RunDoc};
use crate::doubt::Doubt;
use crate::latency::LatencyDoc;
use crate::population::PopulationRow;
use crate::statistics::Estimate;
use crate::table::{Cell, Column, Table};
use crate::units::{self, percent};

/// Returns a row for each population at each load point; `None` unless they count units.
#[must_use]
pub fn load_units(doc: &RunDoc, curve: &Curve<'_>) -> Option<Table> {
    let unit = doc.plan.unit.as_ref()?;
    let rows = curve.rows.iter();
    let rows: Vec<_> = rows.flat_map(of_load).collect();
    let name = units::plain(&unit.name);
    let mut columns = vec![Column::number(&name), Column::text("population")];
    let numbers = [
        "clients", "asked/s", "reached", "slowest", "mean", "p99", "errors",
    ];
    columns.extend(numbers.map(Column::number));
    let longest = unit.mean_latency_ns.map(|limit| {
        let limit = units::latency(limit as f64);
        format!(", and up to a mean response time of {limit}")
    });
    let mut notes = vec![
        "asked/s: operations of each client, where a sequence of requests counts once".to_owned(),
        format!(
            "reached: percent of them, valid from {}, from {} for the slowest client{}",
            percent(unit.mean_percent),
            percent(unit.slowest_percent),
            longest.unwrap_or_default()
        ),
        "operations that were due in the last 100 ms may be missing".to_owned(),
    ];
    let doubts = curve
        .rows
        .iter()
        .filter(|row| row.is_valid())
        .map(|row| Doubt::of_time(&row.passes, 99.0));
    notes.extend(Doubt::notes(doubts));
    let is_doubted = curve.rows.iter().any(|row| !row.is_valid());
    notes.extend(is_doubted.then(|| "!: not valid".to_owned()));
    (!rows.is_empty()).then(|| Table {
        title: format!("{name} of {} clients", unit.clients),
        columns,
        rows,
        notes,
    })
}

fn of_load(row: &CurveRow<'_>) -> Vec<Vec<Cell>> {
    let mark = if row.is_valid() { "" } else { "! " };
    let units = row
        .passes
        .first()
        .and_then(|pass| pass.units)
        .map(f64::from);
    let names = PopulationRow::names(row);
    let cells = names.filter_map(|name| {
        let population = PopulationRow::named(row, name)?;
        let reached = population.reached();
        let mean = |of: fn(&ReachedDoc) -> f64| {
            let values: Vec<_> = reached.iter().map(of).collect();
            Estimate::of(&values).map(|values| values.mean)
        };
        let slowest = reached.iter().map(|of| of.slowest_percent);
        let slowest = slowest.min_by(f64::total_cmp)?;
        let latencies = population.latency(None);
        let latency = |percent, of: fn(&LatencyDoc) -> f64| {
            let mark = if row.is_valid() {
                Doubt::of_time(&row.passes, percent).mark()
            } else {
                mark
            };
            Cell::latency(latencies.as_ref().map(of)).marked(mark)
        };
        Some(vec![
            Cell::of(units, |units| units.to_string()),
            units::plain(name).into(),
            Cell::count(population.clients().into()),
            Cell::of(mean(|reached| reached.requested_ops_per_s), units::rate),
            Cell::of(mean(|reached| reached.mean_percent), percent).marked(mark),
            Cell::of(Some(slowest), percent).marked(mark),
            latency(50.0, |doc| doc.mean),
            latency(99.0, |doc| doc.p99 as f64),
            Cell::count(population.errors(None).unwrap_or(0)),
        ])
    });
    cells.collect()
}
