//! Servers, adapters or settings ranked by their performance for each percent of
//! CPU. This is the P/E index of the adapter tests that ComputerPress published:
//! Mbit/s through the server, divided by the percentage of its CPUs in use. If no
//! data was moved, operations per second take the place of Mbit/s.

use std::cmp::Reverse;

use itertools::Itertools as _;

use crate::curve::{Curve, CurveRow, is_about_data};
use crate::doc::{RunDoc, ServerCpuDoc};
use crate::doubt::Doubt;
use crate::metric::Metric;
use crate::names::said_once;
use crate::server_cpu::CpuOf;
use crate::study::Study;
use crate::table::{Cell, Column, Table};
use crate::units;

/// Performance of a server, and its cost in CPU time.
#[derive(Clone, Debug, PartialEq)]
pub struct Efficiency {
    /// Name of the row.
    pub name: String,
    /// Throughput in Mbit/s (10^6), reads and writes together.
    pub throughput_mbps: f64,
    /// Operations per second; `None` if not known.
    pub ops_per_s: Option<f64>,
    /// CPU utilisation of the server in percent of all its CPUs. `None` if it was
    /// not measured, or is of both kinds.
    pub cpu_percent: Option<f64>,
    /// Microseconds of the server's CPU per operation. `None` if they were not
    /// measured, or are of both kinds.
    pub us_per_op: Option<f64>,
    /// Scope of the CPU utilisation; `None` if not known, as in published results.
    pub cpu_of: Option<CpuOf>,
    /// The doubt about throughput, and so about all that is made of it.
    pub doubt: Doubt,
}

impl Efficiency {
    /// Builds a row from a row of a curve. The CPU utilisation is the mean over passes,
    /// if each pass has it and it is of the same kind.
    #[must_use]
    pub fn of_row(name: &str, row: &CurveRow<'_>) -> Self {
        let cpu_of = CpuOf::over(row.passes.iter().copied());
        let percent = row.server_cpu(|cpu| cpu.percent);
        Self {
            name: name.to_owned(),
            throughput_mbps: row.throughput_mbps,
            ops_per_s: Some(row.ops_per_s),
            cpu_percent: percent.filter(|_| cpu_of != Some(CpuOf::Both)),
            us_per_op: Metric::ServerCpu.us_per_op(&row.passes),
            cpu_of,
            doubt: Doubt::of_throughput(row),
        }
    }

    /// Builds a row from a run at its peak; `None` if no load point may be quoted.
    #[must_use]
    pub fn of_run(name: &str, run: &RunDoc) -> Option<Self> {
        let curve = Curve::of(&run.load_points);
        curve.peak_row().map(|row| Self::of_row(name, row))
    }

    /// Returns the P/E index: Mbit/s for each percent of the server's CPUs. `None`
    /// without measured CPU use, because then no index can be computed.
    #[must_use]
    pub fn index(&self) -> Option<f64> {
        self.for_each(self.throughput_mbps)
    }

    /// Returns operations per second for each percent, which Iometer calls CPU
    /// Effectiveness. `None` without measured CPU use.
    #[must_use]
    pub fn ops_per_percent(&self) -> Option<f64> {
        self.for_each(self.ops_per_s?)
    }

    fn for_each(&self, value: f64) -> Option<f64> {
        let percent = self.cpu_percent.filter(|percent| *percent > 0.0)?;
        Some(value / percent).filter(|value| value.is_finite())
    }
}

/// Figure that rows are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedBy {
    /// [`Efficiency::index`].
    Index,
    /// [`Efficiency::ops_per_percent`], if no row moved much data.
    Operations,
}

impl RankedBy {
    /// Returns the figure that these rows are ranked by.
    #[must_use]
    pub fn of(rows: &[Efficiency]) -> Self {
        let moves_data = |row: &Efficiency| is_about_data(row.throughput_mbps, row.ops_per_s);
        if rows.is_empty() || rows.iter().any(moves_data) {
            Self::Index
        } else {
            Self::Operations
        }
    }

    /// Returns `P/E` or `ops/s per %`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "P/E",
            Self::Operations => "ops/s per %",
        }
    }

    /// Returns the figure of a row; `None` without measured CPU use.
    #[must_use]
    pub fn figure(self, row: &Efficiency) -> Option<f64> {
        match self {
            Self::Index => row.index(),
            Self::Operations => row.ops_per_percent(),
        }
    }

    /// Returns whether a column has values for such rows: columns of Mbit/s need
    /// data.
    pub(crate) fn has(self, column: &str) -> bool {
        self == Self::Index || !["Mbit/s", "P/E", "Mbit/s per %"].contains(&column)
    }

    fn print(self, figure: f64) -> String {
        match self {
            Self::Index => units::index(figure),
            Self::Operations => units::rate(figure),
        }
    }
}

/// A row with its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked<'a> {
    /// Rank, from 1, among rows with the same kind of CPU utilisation. Equals the
    /// number of rows with a higher figure, plus one. `None` without a figure.
    pub rank: Option<u64>,
    /// The row.
    pub of: &'a Efficiency,
}

/// Ranks rows by their [`RankedBy`], the highest figure first. Rows whose figure is of
/// processes come before those of whole machines. Rows without a figure come last.
/// Rows whose printed figures are equal have equal ranks; the exact figures decide
/// their order.
#[must_use]
pub fn ranked(rows: &[Efficiency]) -> Vec<Ranked<'_>> {
    let merit = RankedBy::of(rows);
    let figure = |row: &Efficiency| merit.figure(row);
    let mut sorted: Vec<_> = rows.iter().collect();
    sorted.sort_by(|left, right| match (figure(left), figure(right)) {
        (Some(one), Some(other)) => {
            let by_kind = left.cpu_of.cmp(&right.cpu_of);
            by_kind.then(other.total_cmp(&one))
        }
        (one, other) => Reverse(one.is_some()).cmp(&Reverse(other.is_some())),
    });
    let mut ranked: Vec<Ranked<'_>> = Vec::new();
    let mut begin = 0;
    for (at, of) in sorted.into_iter().enumerate() {
        let shown = |of: &Efficiency| figure(of).map(|figure| merit.print(figure));
        let rank = match ranked.last() {
            Some(last) if last.of.cpu_of == of.cpu_of => {
                if shown(last.of) == shown(of) {
                    last.rank
                } else {
                    Some((at - begin) as u64 + 1)
                }
            }
            _ => {
                begin = at;
                Some(1)
            }
        };
        let rank = rank.filter(|_| figure(of).is_some());
        ranked.push(Ranked { rank, of });
    }
    ranked
}

/// Returns whether the rows have figures of several kinds, which cannot be
/// compared.
#[must_use]
pub(crate) fn is_mixed<'a>(rows: impl IntoIterator<Item = &'a Efficiency>) -> bool {
    let measured = rows.into_iter().filter(|row| row.index().is_some());
    !measured.map(|row| row.cpu_of).all_equal()
}

/// Note for rows that are [`is_mixed`].
pub(super) const MIXED: &str = "CPU of some is of the processes that serve, of others of the whole \
     machine, which is more: the two do not compare, and are ranked apart";

/// Note for rows with [`CpuOf::Both`].
pub(super) const OF_BOTH: &str = "of two kinds over its passes, so no rank";

/// A column of the ranking: its name, and a function that returns a row's cell.
type RankingColumn = (&'static str, fn(&Efficiency) -> Cell);

/// Columns of the ranking.
const FIGURES: [RankingColumn; 6] = [
    ("Mbit/s", |row| {
        let mbps = Cell::of(Some(row.throughput_mbps), units::throughput);
        row.doubt.at(mbps)
    }),
    ("ops/s", |row| {
        row.doubt.at(Cell::of(row.ops_per_s, units::rate))
    }),
    ("CPU", |row| Cell::of(row.cpu_percent, units::utilisation)),
    ("P/E", |row| {
        row.doubt.at(Cell::of(row.index(), units::index))
    }),
    ("ops/s per %", |row| {
        let per_percent = Cell::of(row.ops_per_percent(), units::rate);
        row.doubt.at(per_percent)
    }),
    ("us/op", |row| Cell::of(row.us_per_op, units::cpu_us)),
];

/// Returns the ranking as a table: the order of [`ranked`], with the figures behind
/// it.
#[must_use]
pub fn efficiency(title: &str, rows: &[Efficiency]) -> Table {
    let merit = RankedBy::of(rows);
    let is_mixed = is_mixed(rows);
    let figures = || FIGURES.into_iter().filter(|(name, _)| merit.has(name));
    let cells = |Ranked { rank, of: row }: Ranked<'_>| {
        let mut cells = vec![
            Cell::or_dash(rank.map(Cell::count)),
            row.name.as_str().into(),
        ];
        cells.extend(figures().map(|(_, cell)| cell(row)));
        cells.extend(is_mixed.then(|| cpu_of(row)));
        cells
    };
    let mut columns = vec![Column::number("rank"), Column::text("name")];
    columns.extend(figures().map(|(name, _)| Column::number(name)));
    columns.extend(is_mixed.then(|| Column::text("CPU of")));
    Table {
        title: title.to_owned(),
        columns,
        rows: ranked(rows).into_iter().map(cells).collect(),
        notes: notes(rows, merit, is_mixed),
    }
}

fn notes(rows: &[Efficiency], merit: RankedBy, is_mixed: bool) -> Vec<String> {
    let of = match merit {
        RankedBy::Index => "Mbit/s",
        RankedBy::Operations => "operations per second",
    };
    let name = merit.name();
    let mut notes = vec![
        format!("{name}: {of} for each percent of the server's CPUs; higher is better"),
        "CPU: of the server, in percent of all its CPUs".to_owned(),
    ];
    if is_mixed {
        notes.push(MIXED.to_owned());
    }
    let unranked = rows.iter().filter(|row| merit.figure(row).is_none());
    let (of_both, unmeasured): (Vec<&Efficiency>, Vec<&Efficiency>) =
        unranked.partition(|row| row.cpu_of == Some(CpuOf::Both));
    let of_both = of_both
        .iter()
        .map(|row| (row.name.as_str(), OF_BOTH.to_owned()));
    notes.extend(of_cpus(of_both, rows.len()));
    if !unmeasured.is_empty() {
        notes.push("no rank: no use of the server's CPUs was measured".to_owned());
    }
    notes.extend(Doubt::notes(rows.iter().map(|row| row.doubt)));
    notes
}

/// Returns the ranking of a study's servers at their peaks under one profile.
/// `None` if the CPU utilisation of fewer than two was measured. Also `None` for an
/// adapter study, which has all of its profiles in one table ([`super::adapter`]).
#[must_use]
pub fn efficiency_at_peaks(study: &Study, profile: usize) -> Option<Table> {
    if !study.doc.transfers.is_empty() {
        return None;
    }
    let (mut rows, mut whose) = (Vec::new(), Vec::new());
    for result in study.of_profile(profile) {
        let name = study.doc.server_name(result.server);
        let points = result.run.load_points.iter();
        let docs = points.filter_map(|point| point.server_cpu.as_ref());
        whose.extend(whose_cpu(docs).map(|whose| (name, whose)));
        rows.extend(Efficiency::of_run(name, &result.run));
    }
    let merit = RankedBy::of(&rows);
    let measured = rows.iter().filter(|row| merit.figure(row).is_some());
    if measured.count() < 2 {
        return None;
    }
    let title = format!("ranked by {} at the peak", merit.name());
    let mut table = efficiency(&title, &rows);
    table.notes.extend(of_cpus(whose, rows.len()));
    Some(table)
}

/// Names the measured CPUs of a server and the number of cores; `None` if they were
/// not measured.
pub(super) fn whose_cpu<'a>(mut docs: impl Iterator<Item = &'a ServerCpuDoc>) -> Option<String> {
    let doc = docs.find(|doc| doc.percent.is_some())?;
    let cores = units::counted(doc.cores.unwrap_or(0).into(), "core");
    let whose = match CpuOf::of(doc) {
        Some(CpuOf::Machine) => format!("all that its machine did, as reported by {}", doc.source),
        _ => "the processes that serve".to_owned(),
    };
    Some(format!("{whose}; {cores}"))
}

/// Says each line about the CPUs of servers once, with their names.
pub(super) fn of_cpus<'a>(
    lines: impl IntoIterator<Item = (&'a str, String)>,
    servers: usize,
) -> impl Iterator<Item = String> {
    let lines = said_once(lines, servers).into_iter();
    lines.map(|line| format!("CPU of {line}"))
}

/// Returns the cell that says what the CPU utilisation includes.
pub(crate) fn cpu_of(row: &Efficiency) -> Cell {
    let whose = row.cpu_of.filter(|_| row.cpu_percent.is_some());
    Cell::or_dash(whose.map(|whose| whose.name().into()))
}
