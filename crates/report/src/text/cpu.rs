//! Tables of the CPU use of the server and of the generator.

use std::collections::BTreeMap;

use itertools::Itertools as _;

use crate::curve::{Curve, CurveRow};
use crate::doc::ServerCpuDoc;
use crate::metric::Metric;
use crate::published::{Efficiency, RankedBy, cpu_of, is_mixed};
use crate::server_cpu::CpuOf;
use crate::statistics::per;
use crate::table::{Cell, Column, Table};
use crate::units::{self, plain};

const COLUMNS: [&str; 6] = [
    "clients",
    "cores busy",
    "of all",
    "us/op",
    "Mbit/s per %",
    "ops/s per %",
];

/// Returns the columns of a curve. Those of Mbit/s are left out if it moved no
/// data.
fn columns(merit: RankedBy) -> impl Iterator<Item = &'static str> {
    COLUMNS.into_iter().filter(move |name| merit.has(name))
}

fn merit(curve: &Curve<'_>) -> RankedBy {
    match curve.metric() {
        Metric::Operations => RankedBy::Operations,
        _ => RankedBy::Index,
    }
}

/// Returns the table of the server's CPU use. If nothing was measured, the table
/// has only a title that says why. `None` if no load point tried to measure it.
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
    let rows = curve.rows.iter();
    let rows = rows.map(|row| (row, Efficiency::of_row("", row)));
    let rows = rows.collect_vec();
    let is_mixed = is_mixed(rows.iter().map(|(_, efficiency)| efficiency));
    let reason = reason.map(|reason| format!("-: not measured: {}", plain(reason)));
    let mut notes = Vec::from_iter(reason);
    if rows.iter().any(|(_, of)| of.cpu_of == Some(CpuOf::Both)) {
        notes.push("-: of two kinds over the passes, of which there is no mean".to_owned());
    }
    if is_mixed {
        notes.push(
            "CPU of the whole machine is more than that of the processes: the two do not compare"
                .to_owned(),
        );
    }
    let merit = merit(curve);
    let mut columns: Vec<_> = columns(merit).map(Column::number).collect();
    columns.extend(is_mixed.then(|| Column::text("CPU of")));
    let cells = rows.iter().map(|(row, efficiency)| {
        let mut cells = cells(merit, row, efficiency);
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

fn docs<'a>(row: &'a CurveRow<'_>) -> impl Iterator<Item = &'a ServerCpuDoc> + Clone {
    row.passes
        .iter()
        .filter_map(|pass| pass.server_cpu.as_ref())
}

/// Names the measured CPUs and the number of cores, once for each combination.
fn whose<'a>(docs: impl Iterator<Item = &'a ServerCpuDoc>) -> Vec<String> {
    let mut found = BTreeMap::new();
    for doc in docs.filter(|doc| doc.not_measured.is_none()) {
        let kind = CpuOf::of(doc);
        found.entry(kind).or_insert_with(|| {
            let all = match kind {
                Some(CpuOf::Machine) => "all that its machine did, as reported by ",
                _ => "",
            };
            let cores = units::counted(doc.cores.unwrap_or(0).into(), "core");
            format!("{all}{}; {cores}", plain(&doc.source))
        });
    }
    found.into_values().collect()
}

/// Returns the table of the generator's CPU use, which is always measured. `cpus`
/// is the number of CPUs that the generator can use.
#[must_use]
pub fn generator_cpu(curve: &Curve<'_>, cpus: Option<u32>) -> Table {
    let merit = merit(curve);
    let cores = cpus.map(|cpus| format!("; {}", units::counted(cpus.into(), "core")));
    let cells = |row: &CurveRow<'_>| {
        let use_of_cpu = CpuUse {
            busy: Metric::Cpu.cores_busy(&row.passes),
            percent: busy_percent(row, cpus),
            us_per_op: row.cpu_us_per_op,
        };
        figures(merit, row, use_of_cpu)
    };
    let cores = cores.unwrap_or_default();
    let title = format!("CPU of the generator: that of smbench itself{cores}");
    let columns = columns(merit).map(Column::number).collect();
    Table::of(title, columns, curve.rows.iter().map(cells).collect())
}

/// Returns the share of the machine's CPUs that smbench used, in percent.
pub(super) fn busy_percent(row: &CurveRow<'_>, cpus: Option<u32>) -> Option<f64> {
    let cpus = cpus.filter(|&cpus| cpus > 0)?;
    Some(Metric::Cpu.cores_busy(&row.passes)? / f64::from(cpus) * 100.0)
}

fn cells(merit: RankedBy, row: &CurveRow<'_>, efficiency: &Efficiency) -> Vec<Cell> {
    let use_of_cpu = CpuUse {
        busy: Metric::ServerCpu.cores_busy(&row.passes),
        percent: efficiency.cpu_percent,
        us_per_op: efficiency.us_per_op,
    };
    figures(merit, row, use_of_cpu)
}

/// CPU use of a row.
#[derive(Clone, Copy)]
struct CpuUse {
    /// Number of busy cores.
    busy: Option<f64>,
    /// Percentage of all cores.
    percent: Option<f64>,
    us_per_op: Option<f64>,
}

/// Returns the cells for a row's CPU use, and for its work per percent.
fn figures(merit: RankedBy, row: &CurveRow<'_>, cost: CpuUse) -> Vec<Cell> {
    let for_each = |value: f64| {
        let figure = cost.percent.map(|percent| per(value, percent));
        Cell::of(figure, units::rate)
    };
    let cell = |column: &str| match column {
        "clients" => Cell::count(row.clients.into()),
        "cores busy" => Cell::of(cost.busy, units::cores),
        "of all" => Cell::of(cost.percent, units::utilisation),
        "us/op" => Cell::of(cost.us_per_op, units::cpu_us),
        "Mbit/s per %" => for_each(row.throughput_mbps),
        _ => for_each(row.ops_per_s),
    };
    columns(merit).map(cell).collect()
}
