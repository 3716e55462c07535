//! The table of load points and the peak line under it.

use super::grid::{RowName, grid, or_dash};
use crate::curve::{Curve, Row};
use crate::latency::LatencyDoc;
use crate::statistics::Estimate;
use crate::units;

/// Whether the table has a column for the deviation between passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deviation {
    Shown,
    Absent,
}

pub(super) fn table(curve: &Curve<'_>) -> String {
    let repeated = |row: &Row<'_>| row.throughput_deviation_mbps.is_some();
    let deviation = if curve.rows.iter().any(repeated) {
        Deviation::Shown
    } else {
        Deviation::Absent
    };
    let mut header = vec!["clients", "Mbit/s"];
    if deviation == Deviation::Shown {
        header.push("±");
    }
    header.extend([
        "ops/s", "mean", "p50", "p95", "p99", "p99.9", "max", "errors", "us/op",
    ]);
    let rows = curve.rows.iter().map(|row| cells(row, deviation)).collect();
    let mut text = grid(RowName::Number, header, rows);
    text += "us/op: CPU time of the generator, not of the server, per operation\n";
    if deviation == Deviation::Shown {
        text +=
            "±: standard deviation over passes; latencies are over the operations of all passes\n";
    }
    text
}

fn cells(row: &Row<'_>, deviation: Deviation) -> Vec<String> {
    let mark = match row.is_generator_limited() {
        _ if !row.invalid.is_empty() => "! ",
        true => "~ ",
        false => "",
    };
    let mut cells = vec![
        format!("{mark}{}", row.clients),
        units::throughput(row.throughput_mbps),
    ];
    if deviation == Deviation::Shown {
        cells.push(or_dash(
            row.throughput_deviation_mbps.map(units::throughput),
        ));
    }
    cells.push(units::rate(row.ops_per_s));
    let latency = |of: fn(&LatencyDoc) -> f64| {
        or_dash(row.latency_ns.as_ref().map(|doc| units::latency(of(doc))))
    };
    cells.extend([
        latency(|doc| doc.mean),
        latency(|doc| doc.p50 as f64),
        latency(|doc| doc.p95 as f64),
        latency(|doc| doc.p99 as f64),
        latency(|doc| doc.p999 as f64),
        latency(|doc| doc.max as f64),
        row.errors.to_string(),
        or_dash(row.cpu_us_per_op.map(units::cpu_us)),
    ]);
    cells
}

/// Means over passes with their confidence intervals; `None` where no load point
/// has several valid passes.
pub(super) fn repeats(curve: &Curve<'_>) -> Option<String> {
    let with = |estimate: Estimate, print: fn(f64) -> String| match estimate.ci95 {
        Some(ci95) => format!("{} ± {}", print(estimate.mean), print(ci95)),
        None => print(estimate.mean),
    };
    let rows: Vec<_> = curve
        .rows
        .iter()
        .filter_map(|row| row.repeats)
        .map(|repeats| {
            let latency =
                |of: Option<Estimate>| or_dash(of.map(|estimate| with(estimate, units::latency)));
            vec![
                repeats.clients.to_string(),
                repeats.passes.to_string(),
                with(repeats.throughput_mbps, units::throughput),
                with(repeats.ops_per_s, units::rate),
                latency(repeats.latency_mean_ns),
                latency(repeats.latency_p99_ns),
            ]
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let header = vec!["clients", "passes", "Mbit/s", "ops/s", "mean", "p99"];
    Some(
        "means over passes and their 95 % confidence intervals\n".to_owned()
            + &grid(RowName::Number, header, rows),
    )
}

pub(super) fn peak_line(curve: &Curve<'_>) -> String {
    let Some(peak) = curve.peak() else {
        return "no peak: no valid load point saw an operation\n".to_owned();
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
