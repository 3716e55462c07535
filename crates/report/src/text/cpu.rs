//! What the server's CPUs had to do for it, beside the generator's.

use std::collections::BTreeMap;

use crate::curve::{Curve, Row};
use crate::doc::{ServerCpuDoc, per};
use crate::published::{CpuOf, Efficiency, cpu_of, is_mixed};
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
    let docs = || curve.rows.iter().flat_map(docs);
    let reason = docs().find_map(|doc| doc.not_measured.as_deref());
    let whose = whose(docs());
    if whose.is_empty() {
        return Some(Table {
            title: format!("CPU of the server: not measured: {}", plain(reason?)),
            ..Table::default()
        });
    }
    let rows: Vec<_> = curve
        .rows
        .iter()
        .map(|row| (row, Efficiency::of_row("", row)))
        .collect();
    let is_mixed = is_mixed(rows.iter().map(|(_, efficiency)| efficiency));
    let mut notes: Vec<_> = reason
        .map(|reason| format!("-: not measured: {}", plain(reason)))
        .into_iter()
        .collect();
    if rows
        .iter()
        .any(|(_, efficiency)| efficiency.cpu_of == Some(CpuOf::Both))
    {
        notes.push("-: of two kinds over the passes, of which there is no mean".to_owned());
    }
    if is_mixed {
        notes.push(
            "CPU of the whole machine is more than that of the processes: the two do not compare"
                .to_owned(),
        );
    }
    let mut columns: Vec<_> = COLUMNS.map(Column::number).into();
    columns.extend(is_mixed.then(|| Column::text("CPU of")));
    let cells = rows.iter().map(|(row, efficiency)| {
        let mut cells = cells(row, efficiency);
        cells.extend(is_mixed.then(|| cpu_of(efficiency)));
        cells
    });
    Some(Table {
        title: format!("CPU of the server: {}", whose.join("; in other passes ")),
        rows: cells.collect(),
        columns,
        notes,
    })
}

fn docs<'a>(row: &'a Row<'_>) -> impl Iterator<Item = &'a ServerCpuDoc> + Clone {
    row.passes
        .iter()
        .filter_map(|pass| pass.server_cpu.as_ref())
}

/// Whose CPU was measured, and of how many cores: one for each kind there is.
fn whose<'a>(docs: impl Iterator<Item = &'a ServerCpuDoc>) -> Vec<String> {
    let mut found = BTreeMap::new();
    for doc in docs.filter(|doc| doc.not_measured.is_none()) {
        let kind = CpuOf::of(doc);
        found.entry(kind).or_insert_with(|| {
            let all = match kind {
                Some(CpuOf::Machine) => "all that its machine did, as told by ",
                _ => "",
            };
            let cores = units::counted(doc.cores.unwrap_or(0).into(), "core");
            format!("{all}{}; {cores}", plain(&doc.source))
        });
    }
    found.into_values().collect()
}

fn cells(row: &Row<'_>, efficiency: &Efficiency) -> Vec<Cell> {
    let passes = row.passes.len() as f64;
    let window_s: f64 = row.passes.iter().map(|pass| pass.window_s).sum();
    let busy = |seconds: f64| (window_s > 0.0).then(|| seconds / window_s);
    let mean_s = row
        .server_cpu(|doc| doc.busy_s)
        .filter(|_| efficiency.cpu_of != Some(CpuOf::Both));
    let percent = efficiency.cpu_percent;
    let for_each = |value: f64| Cell::of(percent.map(|percent| per(value, percent)), units::rate);
    let generator_s: f64 = row
        .passes
        .iter()
        .map(|pass| pass.client.cpu_user_s + pass.client.cpu_system_s)
        .sum();
    vec![
        Cell::count(row.clients.into()),
        Cell::of(
            mean_s.and_then(|mean_s| busy(mean_s * passes)),
            units::cores,
        ),
        Cell::of(percent, units::percent),
        Cell::of(efficiency.us_per_op, units::cpu_us),
        for_each(row.throughput_mbps),
        for_each(row.ops_per_s),
        Cell::of(busy(generator_s), units::cores),
    ]
}
