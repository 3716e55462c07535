//! What the server's CPUs had to do for it, beside the generator's.

use crate::curve::{Curve, Row};
use crate::doc::{ServerCpuDoc, per};
use crate::table::{Cell, Column, Table};
use crate::units::{self, plain};

const COLUMNS: [&str; 7] = [
    "clients",
    "cores busy",
    "of all",
    "us/op",
    "Mbit/s per %",
    "ops/s per %",
    "generator cores",
];

/// What each row cost the server; only a title that says why where nothing was
/// measured; `None` where nobody looked.
#[must_use]
pub fn server_cpu(curve: &Curve<'_>) -> Option<Table> {
    let mut docs = curve.rows.iter().flat_map(docs);
    let measured = docs.clone().find(|doc| doc.not_measured.is_none());
    let Some(first) = measured else {
        let reason = docs.next()?.not_measured.as_deref()?;
        return Some(Table {
            title: format!("CPU of the server: not measured: {}", plain(reason)),
            ..Table::default()
        });
    };
    let whose = match first.scope.as_deref() {
        Some("machine") => "all that its machine did, as told by ",
        _ => "",
    };
    let reason = docs.find_map(|doc| doc.not_measured.as_deref());
    let note = reason.map(|reason| format!("-: not measured: {}", plain(reason)));
    Some(Table {
        title: format!(
            "CPU of the server: {whose}{}; {}",
            plain(&first.source),
            units::counted(first.cores.unwrap_or(0).into(), "core"),
        ),
        columns: COLUMNS.map(Column::number).into(),
        rows: curve.rows.iter().map(cells).collect(),
        notes: note.into_iter().collect(),
    })
}

fn docs<'a>(row: &'a Row<'_>) -> impl Iterator<Item = &'a ServerCpuDoc> + Clone {
    row.passes
        .iter()
        .filter_map(|pass| pass.server_cpu.as_ref())
}

fn cells(row: &Row<'_>) -> Vec<Cell> {
    let passes = row.passes.len() as f64;
    let window_s: f64 = row.passes.iter().map(|pass| pass.window_s).sum();
    let busy = |seconds: f64| (window_s > 0.0).then(|| seconds / window_s);
    let percent = row.server_cpu(|doc| doc.percent);
    let for_each = |value: f64| Cell::of(percent.map(|percent| per(value, percent)), units::rate);
    let generator_s: f64 = row
        .passes
        .iter()
        .map(|pass| pass.client.cpu_user_s + pass.client.cpu_system_s)
        .sum();
    vec![
        Cell::count(row.clients.into()),
        Cell::of(
            row.server_cpu(|doc| doc.busy_s)
                .and_then(|mean_s| busy(mean_s * passes)),
            units::cores,
        ),
        Cell::of(percent, units::percent),
        Cell::of(row.server_cpu(|doc| doc.us_per_op), units::cpu_us),
        for_each(row.throughput_mbps),
        for_each(row.ops_per_s),
        Cell::of(busy(generator_s), units::cores),
    ]
}
