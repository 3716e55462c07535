//! Clients that log off and come back.

use crate::doc::{ChurnDoc, LoadPointDoc, RunDoc};
use crate::latency::LatencyDoc;
use crate::table::{Cell, Column, Table};

/// Returns a row for each load point whose clients leave; `None` if there is none.
#[must_use]
pub fn churn(doc: &RunDoc) -> Option<Table> {
    let points = doc.load_points.iter();
    let rows = points.filter_map(|point| Some(row(point, point.churn.as_ref()?)));
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let columns = vec![
        Column::number("clients"),
        Column::number("left"),
        Column::number("vanished"),
        Column::number("silent"),
        Column::number("back"),
        Column::number("away"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("max"),
    ];
    let title = "churn: clients that left and came back, times of their log-ons";
    Some(Table::of(title, columns, rows))
}

fn row(point: &LoadPointDoc, churn: &ChurnDoc) -> Vec<Cell> {
    let log_on = churn.log_on_ns.as_ref();
    let time = |of: fn(&LatencyDoc) -> u64| Cell::latency(log_on.map(|log_on| of(log_on) as f64));
    vec![
        Cell::load(if point.valid { "" } else { "! " }, point.load()),
        Cell::count(churn.left),
        Cell::count(churn.vanished),
        Cell::count(churn.silent),
        Cell::count(churn.back),
        Cell::count(churn.not_back),
        time(|log_on| log_on.p50),
        time(|log_on| log_on.p99),
        time(|log_on| log_on.max),
    ]
}
