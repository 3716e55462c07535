//! A document as rows for spreadsheets: one per load point, pass and
//! operation, `all` being every operation together.
//!
//! Everything is of the window but `errors`, which are of the whole load point.
//! Full precision, units in the column names, an empty field for what was not
//! measured. Columns are only ever added, at the end.

use std::io::Write;

use crate::doc::{LoadPointDoc, RunDoc};
use crate::latency::LatencyDoc;

const HEADER: [&str; 20] = [
    "clients",
    "repeat",
    "valid",
    "window_s",
    "op",
    "count",
    "bytes",
    "errors",
    "throughput_mbps",
    "ops_per_s",
    "response_mean_ns",
    "response_min_ns",
    "response_max_ns",
    "response_p50_ns",
    "response_p90_ns",
    "response_p95_ns",
    "response_p99_ns",
    "response_p999_ns",
    "client_cpu_us_per_op",
    "client_max_rss_bytes",
];

/// The columns that differ between the rows of one load point.
struct Cells<'a> {
    op: &'a str,
    count: u64,
    bytes: u64,
    errors: u64,
    latency_ns: Option<LatencyDoc>,
}

/// Writes a header line and the rows.
///
/// # Errors
///
/// When `output` cannot be written.
pub fn write_csv(doc: &RunDoc, output: impl Write) -> Result<(), ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(output);
    writer.write_record(HEADER)?;
    for point in &doc.load_points {
        writer.write_record(record(point, &all(point)))?;
        for (name, op) in &point.ops {
            let cells = Cells {
                op: name,
                count: op.count,
                bytes: op.bytes,
                errors: op.errors,
                latency_ns: op.response_ns,
            };
            writer.write_record(record(point, &cells))?;
        }
    }
    writer.flush()?;
    Ok(())
}

fn all(point: &LoadPointDoc) -> Cells<'static> {
    Cells {
        op: "all",
        count: crate::curve::total(point.asked_for().map(|op| op.count)),
        bytes: point.bytes_read.saturating_add(point.bytes_written),
        errors: point.errors,
        latency_ns: point.latency_ns,
    }
}

fn record(point: &LoadPointDoc, cells: &Cells<'_>) -> [String; HEADER.len()] {
    let per_second =
        |amount: f64| or_empty((point.window_s > 0.0).then(|| amount / point.window_s));
    let latency = |of: fn(&LatencyDoc) -> u64| or_empty(cells.latency_ns.as_ref().map(of));
    // CPU and memory are the process's, not those of one kind of operation.
    let whole_point = cells.op == "all";
    [
        point.clients.to_string(),
        point.repeat.to_string(),
        point.valid.to_string(),
        point.window_s.to_string(),
        cells.op.to_owned(),
        cells.count.to_string(),
        cells.bytes.to_string(),
        cells.errors.to_string(),
        per_second(cells.bytes as f64 * 8.0 / 1e6),
        per_second(cells.count as f64),
        or_empty(cells.latency_ns.map(|latency| latency.mean)),
        latency(|doc| doc.min),
        latency(|doc| doc.max),
        latency(|doc| doc.p50),
        latency(|doc| doc.p90),
        latency(|doc| doc.p95),
        latency(|doc| doc.p99),
        latency(|doc| doc.p999),
        or_empty(point.client.cpu_us_per_op.filter(|_| whole_point)),
        or_empty(whole_point.then_some(point.client.max_rss_bytes)),
    ]
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
