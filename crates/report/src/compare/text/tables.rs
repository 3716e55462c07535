//! The tables of changes.

use itertools::Itertools as _;

use super::title;
use crate::block::Block;
use crate::change::Noise;
use crate::compare::pair::Pair;
use crate::compare::points::{MetricChange, PointComparison, Verdict, by_operation};
use crate::metric::Metric;
use crate::table::{Cell, Column, Table};
use crate::units::{change, changes};

/// Returns the columns that describe a change completely.
fn columns_of_changes(pair: &Pair) -> Vec<Column> {
    vec![
        Column::number(&pair.baseline.label),
        Column::number(&pair.other.label),
        Column::number("change"),
        Column::number("95 % interval"),
        Column::text("verdict"),
        Column::number("detectable"),
    ]
}

fn cells_of_change(found: &MetricChange) -> Vec<Cell> {
    let shown = found.pooled;
    let value = |value: Option<f64>| Cell::of(value, |value| found.metric.print(value));
    let percent = |value: Option<f64>| Cell::of(value, change);
    let mark = match found.noise {
        Some(Noise::Window) => " *",
        _ => "",
    };
    let interval = shown.low_percent.zip(shown.high_percent);
    let interval = interval.map(|(low, high)| format!("{}{mark}", changes(low, high)).into());
    vec![
        value(shown.baseline),
        value(shown.other),
        percent(shown.change_percent),
        Cell::or_dash(interval),
        found.verdict.name().into(),
        percent(found.shows_worse_from()),
    ]
}

/// Returns all numbers of a load point.
pub(super) fn numbers(pair: &Pair, held: &PointComparison, title: &str) -> Block {
    let mut columns = vec![Column::text("")];
    columns.extend(columns_of_changes(pair));
    let row = |found: &MetricChange| {
        let mut cells = vec![found.metric.name().into()];
        cells.extend(cells_of_change(found));
        cells
    };
    let rows = held.metrics.iter().map(row).collect();
    Block::Table(Table::of(title, columns, rows))
}

/// Returns all numbers of each operation of a load point.
pub(super) fn details(pair: &Pair, held: &PointComparison) -> Block {
    let mut columns = vec![Column::text("op"), Column::text("")];
    columns.extend(columns_of_changes(pair));
    let rows = held.ops.iter().flat_map(|(name, changes)| {
        changes.iter().map(move |found| {
            let mut cells = vec![name.as_str().into(), found.metric.name().into()];
            cells.extend(cells_of_change(found));
            cells
        })
    });
    Block::Table(Table::of("", columns, rows.collect()))
}

/// Returns all numbers of each population of a load point, if there are several.
pub(super) fn populations_in_full(pair: &Pair, held: &PointComparison) -> Option<Block> {
    let mut columns = ["population", "op", ""].map(Column::text).to_vec();
    columns.extend(columns_of_changes(pair));
    let rows = held.populations.iter().flat_map(|population| {
        by_operation(&population.metrics, &population.ops).map(|(op, found)| {
            let names = [&population.name, op, found.metric.name()].map(Cell::from);
            names.into_iter().chain(cells_of_change(found)).collect()
        })
    });
    let rows: Vec<_> = rows.collect();
    (held.populations.len() > 1).then(|| Block::Table(Table::of("", columns, rows)))
}

/// Formats a change for one cell: in brackets if it may be noise.
fn short(found: Option<&MetricChange>) -> Cell {
    let Some((found, percent)) =
        found.and_then(|found| Some((found, found.pooled.change_percent?)))
    else {
        return Cell::or_dash(None);
    };
    let text = match found.verdict {
        Verdict::Better | Verdict::Worse => change(percent),
        Verdict::NoDifferenceShown => format!("({})", change(percent)),
        Verdict::CannotTell => format!("{}?", change(percent)),
    };
    Cell::number(percent, text)
}

/// Returns the metrics that any of these changes has, without the one that depends on a
/// single operation.
fn columns_in_use<'a>(changes: impl Iterator<Item = &'a MetricChange>) -> Vec<Metric> {
    let metrics = changes.map(|found| found.metric);
    let metrics = metrics.filter(|metric| *metric != Metric::Max);
    metrics.sorted().dedup().collect()
}

/// Returns a table with the changes of each operation in a row.
pub(super) fn operations(pair: &Pair, held: &PointComparison) -> Block {
    let rows = held
        .ops
        .iter()
        .map(|(name, changes)| (&**name, &changes[..]));
    let title = format!("operations: {}", title(pair, held));
    overview("op", title, &rows.collect_vec())
}

/// Returns a table with the changes of each population in a row, if there are several.
pub(super) fn populations(pair: &Pair, held: &PointComparison) -> Option<Block> {
    let rows = held.populations.iter();
    let rows = rows.map(|of| (&*of.name, &of.metrics[..])).collect_vec();
    let title = format!("populations: {}", title(pair, held));
    (rows.len() > 1).then(|| overview("population", title, &rows))
}

/// Returns a table with the changes of each row. The first column has the name of the row.
fn overview(named: &str, title: String, rows: &[(&str, &[MetricChange])]) -> Block {
    let metrics = columns_in_use(rows.iter().flat_map(|(_, changes)| *changes));
    let mut columns = vec![Column::text(named)];
    columns.extend(metrics.iter().map(|metric| Column::number(metric.name())));
    let rows = rows.iter().map(|(name, changes)| {
        let mut cells = vec![(*name).into()];
        let find = |metric: &Metric| changes.iter().find(|found| found.metric == *metric);
        cells.extend(metrics.iter().map(|metric| short(find(metric))));
        cells
    });
    Block::Table(Table::of(title, columns, rows.collect()))
}

/// Returns a table with the changes of each load point in a row.
pub(super) fn load_points(pair: &Pair) -> Block {
    let metrics = columns_in_use(pair.load_points.iter().flat_map(|held| &held.metrics));
    let first = pair.load_points.first();
    let axis = first.map_or("clients", |held| held.baseline.load.axis());
    let mut columns = vec![Column::number(axis)];
    columns.extend(metrics.iter().map(|metric| Column::number(metric.name())));
    let rows = pair.load_points.iter().map(|held| {
        let is_limited = held.baseline.generator_limited || held.other.generator_limited;
        let mut cells = vec![Cell::load(
            if is_limited { "~ " } else { "" },
            held.baseline.load,
        )];
        cells.extend(metrics.iter().map(|metric| short(held.find(None, *metric))));
        cells
    });
    let (one, other) = (&pair.baseline.label, &pair.other.label);
    let title = format!("{other} against {one} by load point");
    Block::Table(Table::of(title, columns, rows.collect()))
}
