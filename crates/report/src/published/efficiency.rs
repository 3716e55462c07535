//! Servers, adapters or settings ranked by what they do for each percent of CPU:
//! the P/E index of the adapter tests that ComputerPress published, Mbit/s through
//! the server divided by the percentage of its CPUs that it took.

use std::cmp::Ordering;

use crate::curve::{Curve, Row};
use crate::doc::RunDoc;
use crate::table::{Cell, Column, Table};
use crate::units;

/// What something did, and what it cost the server's CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Efficiency {
    /// What it is called.
    pub name: String,
    /// Throughput in Mbit/s (10^6), reads and writes together.
    pub throughput_mbps: f64,
    /// Operations per second; `None` where nobody told.
    pub ops_per_s: Option<f64>,
    /// CPU utilisation of the server in percent of all its CPUs; `None` where it
    /// was not measured.
    pub cpu_percent: Option<f64>,
    /// Microseconds of the server's CPU per operation; `None` likewise.
    pub us_per_op: Option<f64>,
}

impl Efficiency {
    /// Of a published throughput and P/E index: the CPU utilisation is what they
    /// imply.
    #[must_use]
    pub fn of_index(name: &str, throughput_mbps: f64, index: f64) -> Self {
        Self {
            name: name.to_owned(),
            throughput_mbps,
            ops_per_s: None,
            cpu_percent: Some(throughput_mbps / index),
            us_per_op: None,
        }
    }

    /// Of a row of a curve. CPU figures are means over passes, and only there where
    /// each pass has them.
    #[must_use]
    pub fn of_row(name: &str, row: &Row<'_>) -> Self {
        Self {
            name: name.to_owned(),
            throughput_mbps: row.throughput_mbps,
            ops_per_s: Some(row.ops_per_s),
            cpu_percent: row.server_cpu(|cpu| cpu.percent),
            us_per_op: row.server_cpu(|cpu| cpu.us_per_op),
        }
    }

    /// Of a run at its peak; `None` where no load point may be quoted.
    #[must_use]
    pub fn of_run(name: &str, run: &RunDoc) -> Option<Self> {
        let curve = Curve::of(&run.load_points);
        curve.peak_row().map(|row| Self::of_row(name, row))
    }

    /// The P/E index: Mbit/s for each percent of the server's CPUs. `None` where no
    /// use of CPU was seen, for of that nothing follows.
    #[must_use]
    pub fn index(&self) -> Option<f64> {
        self.for_each(self.throughput_mbps)
    }

    /// Operations per second for each percent, which Iometer calls CPU
    /// Effectiveness. `None` likewise.
    #[must_use]
    pub fn ops_per_percent(&self) -> Option<f64> {
        self.for_each(self.ops_per_s?)
    }

    fn for_each(&self, value: f64) -> Option<f64> {
        let percent = self.cpu_percent.filter(|percent| *percent > 0.0)?;
        Some(value / percent).filter(|value| value.is_finite())
    }
}

/// The highest P/E index first, equal ones in their order; those without one last.
#[must_use]
pub fn ranked(rows: &[Efficiency]) -> Vec<&Efficiency> {
    let mut ranked: Vec<_> = rows.iter().collect();
    ranked.sort_by(|left, right| match (left.index(), right.index()) {
        (Some(left), Some(right)) => right.total_cmp(&left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    ranked
}

/// The ranking as a table: [`ranked`], with the figures it comes from.
#[must_use]
pub fn efficiency(title: &str, rows: &[Efficiency]) -> Table {
    let ranked = ranked(rows);
    let cells = |(at, row): (usize, &&Efficiency)| {
        let rank = row.index().map(|_| Cell::count(at as u64 + 1));
        vec![
            Cell::or_dash(rank),
            row.name.as_str().into(),
            Cell::of(Some(row.throughput_mbps), units::throughput),
            Cell::of(row.ops_per_s, units::rate),
            Cell::of(row.cpu_percent, units::percent),
            Cell::of(row.index(), units::index),
            Cell::of(row.ops_per_percent(), units::rate),
            Cell::of(row.us_per_op, units::cpu_us),
        ]
    };
    let mut notes = vec![
        "P/E: Mbit/s for each percent of the server's CPUs; higher is better".to_owned(),
        "CPU: of the server, in percent of all its CPUs".to_owned(),
    ];
    if ranked.iter().any(|row| row.index().is_none()) {
        notes.push("no rank: no use of the server's CPUs was measured".to_owned());
    }
    Table {
        title: title.to_owned(),
        columns: vec![
            Column::number("rank"),
            Column::text("name"),
            Column::number("Mbit/s"),
            Column::number("ops/s"),
            Column::number("CPU"),
            Column::number("P/E"),
            Column::number("ops/s per %"),
            Column::number("us/op"),
        ],
        rows: ranked.iter().enumerate().map(cells).collect(),
        notes,
    }
}
