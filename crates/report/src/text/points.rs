//! The table of load points and the peak line under it.

use crate::curve::{Curve, Row};
use crate::latency::{LatencyDoc, pool};
use crate::statistics::Estimate;
use crate::table::{Cell, Column, Table};
use crate::units;

/// Whether the table has a column for the deviation between passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deviation {
    Shown,
    Absent,
}

/// A row per number of clients, averaged over passes. One that has a pass which
/// is not valid is marked `!`, one whose generator was the limit `~`.
#[must_use]
pub fn load_points(curve: &Curve<'_>) -> Table {
    let repeated = |row: &Row<'_>| row.throughput_deviation_mbps.is_some();
    let deviation = if curve.rows.iter().any(repeated) {
        Deviation::Shown
    } else {
        Deviation::Absent
    };
    let mut columns = vec!["clients", "Mbit/s"];
    let mut notes =
        vec!["us/op: CPU time of the generator, not of the server, per operation".to_owned()];
    if deviation == Deviation::Shown {
        columns.push("±");
        let latencies = "latencies are over the operations of all passes";
        notes.push(format!("±: standard deviation over passes; {latencies}"));
    }
    columns.extend([
        "ops/s", "mean", "p50", "p95", "p99", "p99.9", "max", "errors", "us/op",
    ]);
    Table {
        title: String::new(),
        columns: columns.into_iter().map(Column::number).collect(),
        rows: curve.rows.iter().map(|row| cells(row, deviation)).collect(),
        notes,
    }
}

fn cells(row: &Row<'_>, deviation: Deviation) -> Vec<Cell> {
    let mark = match row.is_generator_limited() {
        _ if !row.invalid.is_empty() => "! ",
        true => "~ ",
        false => "",
    };
    let mut cells = vec![
        Cell::number(row.clients.into(), format!("{mark}{}", row.clients)),
        Cell::of(Some(row.throughput_mbps), units::throughput),
    ];
    if deviation == Deviation::Shown {
        cells.push(Cell::of(row.throughput_deviation_mbps, units::throughput));
    }
    cells.push(Cell::of(Some(row.ops_per_s), units::rate));
    let latency = |of: fn(&LatencyDoc) -> f64| Cell::latency(row.latency_ns.as_ref().map(of));
    cells.extend([
        latency(|doc| doc.mean),
        latency(|doc| doc.p50 as f64),
        latency(|doc| doc.p95 as f64),
        latency(|doc| doc.p99 as f64),
        latency(|doc| doc.p999 as f64),
        latency(|doc| doc.max as f64),
        Cell::count(row.errors),
        Cell::of(row.cpu_us_per_op, units::cpu_us),
    ]);
    cells
}

/// Means over passes with their confidence intervals; `None` where no load point
/// has several valid passes.
#[must_use]
pub fn repeats(curve: &Curve<'_>) -> Option<Table> {
    let with = |estimate: Estimate, print: fn(f64) -> String| {
        let text = match estimate.ci95 {
            Some(ci95) => format!("{} ± {}", print(estimate.mean), print(ci95)),
            None => print(estimate.mean),
        };
        Cell::number(estimate.mean, text)
    };
    let latency =
        |of: Option<Estimate>| Cell::or_dash(of.map(|estimate| with(estimate, units::latency)));
    let repeats = curve.rows.iter().filter_map(|row| row.repeats);
    let rows: Vec<_> = repeats
        .map(|repeats| {
            vec![
                Cell::count(repeats.clients.into()),
                Cell::count(repeats.passes.into()),
                with(repeats.throughput_mbps, units::throughput),
                with(repeats.ops_per_s, units::rate),
                latency(repeats.latency_mean_ns),
                latency(repeats.latency_p99_ns),
            ]
        })
        .collect();
    let columns = ["clients", "passes", "Mbit/s", "ops/s", "mean", "p99"];
    (!rows.is_empty()).then(|| Table {
        title: "means over passes and their 95 % confidence intervals".to_owned(),
        columns: columns.map(Column::number).into(),
        rows,
        notes: Vec::new(),
    })
}

/// How the sessions of the load point with the most clients came to be, over its
/// passes: at what rate they were ready for the load, which takes opening files as
/// well, and how long the log-on of each took, which is before that.
/// `None` where there were none, or that was not kept. Ends with a newline.
#[must_use]
pub fn setup_lines(curve: &Curve<'_>) -> Option<String> {
    let setups = || curve.rows.last().into_iter().flat_map(|row| &row.passes);
    let setups = || setups().map(|pass| &pass.setup);
    let kept: Option<Vec<_>> = setups().map(|setup| setup.hdr.as_ref()).collect();
    let each = LatencyDoc::of(&pool(kept?))?;
    let sessions: u64 = setups().map(|setup| setup.sessions).sum();
    let elapsed_s: f64 = setups().map(|setup| setup.elapsed_s).sum();
    let rate = match elapsed_s > 0.0 {
        true => format!(
            "set-up of {}, with all that their load needs: {}/s\n",
            units::counted(sessions, "session"),
            units::rate(sessions as f64 / elapsed_s)
        ),
        false => String::new(),
    };
    Some(format!(
        "{rate}connecting and logging on took a session {} (p50), {} (p99), {} at most\n",
        units::latency(each.p50 as f64),
        units::latency(each.p99 as f64),
        units::latency(each.max as f64),
    ))
}

/// The peak, and how far the plateau around it reaches, in one line.
#[must_use]
pub fn peak_line(curve: &Curve<'_>) -> String {
    let Some(peak) = curve.peak() else {
        return "no peak: no load point is valid\n".to_owned();
    };
    let (from, to) = (
        peak.within_95_percent_from_clients,
        peak.within_95_percent_clients,
    );
    let plateau = if from != to {
        format!("; within 95 % from {from} to {to} clients")
    } else if curve.rows.len() > 1 {
        "; no other load point within 95 %".to_owned()
    } else {
        String::new()
    };
    let height = match peak.ops_per_s {
        Some(ops_per_s) if peak.throughput_mbps == 0.0 => {
            format!("{} ops/s", units::rate(ops_per_s))
        }
        _ => format!("{} Mbit/s", units::throughput(peak.throughput_mbps)),
    };
    format!(
        "peak {height} at {}, mean response {}{plateau}\n",
        units::counted(peak.clients.into(), "client"),
        units::latency(peak.latency_mean_ns)
    )
}
