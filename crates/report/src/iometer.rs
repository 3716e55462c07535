//! A document as Iometer's result file, so that spreadsheets made for Iometer still
//! work. The header blocks, the columns, their order and their units are Iometer's.
//!
//! Follows `ManagerList::SaveResults`, `Manager::SaveResults` and
//! `AccessSpecList::SaveResults` of Iometer 1.1.0.
//!
//! - Each load point of each pass is a test with a row `ALL` and one row `MANAGER`,
//!   which is smbench. There are no rows of workers, targets and processors.
//! - Workers are clients.
//! - Rates are per second; MiBps is binary, MBps decimal.
//! - Response times are in milliseconds, raw times in nanoseconds (as "Processor
//!   Speed" says).
//! - The rate of connections stays empty, because connections are kept open.
//! - The CPU columns are the server's. A value that was not measured is empty.

use std::io::{self, Write};

use smbench_model::plan::Access;
use smbench_model::record::{Direction, OpKind};

use crate::curve::total;
use crate::doc::{LoadPointDoc, OpDoc, RunDoc, WorkloadDoc};
use crate::latency::{Hdr, LatencyDoc, pool};

const COLUMNS: &str = "Target Type,Target Name,Access Specification Name,# Managers,\
    # Workers,# Disks,IOps,Read IOps,Write IOps,MiBps (Binary),Read MiBps (Binary),\
    Write MiBps (Binary),MBps (Decimal),Read MBps (Decimal),Write MBps (Decimal),\
    Transactions per Second,Connections per Second,Average Response Time,\
    Average Read Response Time,Average Write Response Time,Average Transaction Time,\
    Average Connection Time,Maximum Response Time,Maximum Read Response Time,\
    Maximum Write Response Time,Maximum Transaction Time,Maximum Connection Time,Errors,\
    Read Errors,Write Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os,Connections,\
    Transactions per Connection,Total Raw Read Response Time,Total Raw Write Response Time,\
    Total Raw Transaction Time,Total Raw Connection Time,Maximum Raw Read Response Time,\
    Maximum Raw Write Response Time,Maximum Raw Transaction Time,Maximum Raw Connection Time,\
    Total Raw Run Time,Starting Sector,Maximum Size,Queue Depth,% CPU Utilization,% User Time,\
    % Privileged Time,% DPC Time,% Interrupt Time,Processor Speed,Interrupts per Second,\
    CPU Effectiveness,Packets/Second,Packet Errors,Segments Retransmitted/Second,\
    0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,2 to 5 mS,\
    5 to 10 mS,10 to 15 mS,15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,\
    200 to 500 mS,0.5 to 1 S,1 to 2 s,2 to 4.7 s,4.7 to 5 s,5 to 10 s, >= 10 s";

/// Upper ends of the bins of response times, in nanoseconds; the last bin has no
/// end.
const BINS_END_NS: [u64; 20] = [
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    15_000_000,
    20_000_000,
    30_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    4_700_000_000,
    5_000_000_000,
    10_000_000_000,
];
const SECTOR_BYTES: u64 = 512;
/// Unit of raw times: nanoseconds.
const TICKS_PER_S: u64 = 1_000_000_000;
/// Iometer's value where transactions have no connection of their own.
const NO_TRANSACTIONS_PER_CONNECTION: &str = "-1";

/// Writes documents as the tests of one result file.
///
/// # Errors
///
/// When `output` cannot be written.
pub fn write_iometer_csv<'a>(
    docs: impl IntoIterator<Item = &'a RunDoc> + Clone,
    mut output: impl Write,
) -> io::Result<()> {
    let Some(first) = docs.clone().into_iter().next() else {
        return Ok(());
    };
    let profiles = docs.clone().into_iter().map(|doc| cell(&doc.plan.profile));
    let (name, version) = (cell(&first.tool.name), cell(&first.tool.version));
    let profiles: Vec<_> = profiles.collect();
    writeln!(output, "'Test Type,Test Description")?;
    writeln!(output, "0,{} by {name}", profiles.join(" and "))?;
    writeln!(output, "'Version\n{name} {version}")?;
    writeln!(output, "'Time Stamp\n{}", time_stamp(&first.started))?;
    for doc in docs {
        for point in &doc.load_points {
            test(doc, point, &mut output)?;
        }
    }
    output.flush()
}

fn test(doc: &RunDoc, point: &LoadPointDoc, output: &mut impl Write) -> io::Result<()> {
    access_specification(doc, output)?;
    // Iometer treats lines that begin with an apostrophe as comments.
    writeln!(output, "'CPU columns: {}", cell(&cpu(point)))?;
    if !point.valid {
        let reason = point.invalid_reason.as_deref().unwrap_or_default();
        writeln!(output, "'Not to be quoted: {}", cell(reason))?;
    }
    writeln!(output, "'Results\n'{COLUMNS}")?;
    for kind in [RowKind::All, RowKind::Manager] {
        writeln!(output, "{}", row(doc, point, kind).join(","))?;
    }
    writeln!(output, "'Time Stamp\n{}", time_stamp(&doc.started))
}

/// Names the source of the server's CPU figures.
fn cpu(point: &LoadPointDoc) -> String {
    let Some(cpu) = &point.server_cpu else {
        return "not measured".to_owned();
    };
    match &cpu.not_measured {
        Some(reason) => format!("not measured: {reason}"),
        None => format!(
            "of the server, all {} cores of it, as told by {}",
            cpu.cores.unwrap_or_default(),
            cpu.source
        ),
    }
}

/// Turns any text into one field, without commas and control characters.
fn cell(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == ',', " ")
}

/// Formats an instant as Iometer does; ours are in UTC.
fn time_stamp(rfc3339: &str) -> String {
    cell(&rfc3339.replace('T', " ").replace('Z', ":000"))
}

fn access_specification(doc: &RunDoc, output: &mut impl Write) -> io::Result<()> {
    let workload = &doc.plan.workload;
    writeln!(output, "'Access specifications")?;
    writeln!(output, "'Access specification name,default assignment")?;
    writeln!(output, "{},0", cell(&doc.plan.profile))?;
    writeln!(
        output,
        "'size,% of size,% reads,% random,delay,burst,align,reply"
    )?;
    for line in &workload.pattern {
        writeln!(
            output,
            "{},{},{},{},{},{},{},{},",
            line.bytes,
            line.weight_percent,
            line.read_percent,
            line.random_percent,
            (line.delay_s * 1e3).round(),
            line.burst,
            line.align_bytes,
            line.reply_bytes
        )?;
    }
    let random = match workload.access {
        Access::Random => 100,
        Access::Sequential => 0,
    };
    if let Some(reads) = workload.read_percent {
        for size in &workload.sizes {
            let (bytes, weight) = (size.bytes, size.weight_percent);
            writeln!(output, "{bytes},{weight},{reads},{random},0,1,{bytes},0,")?;
        }
    }
    writeln!(output, "'End access specifications")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowKind {
    All,
    Manager,
}

/// The operations of a load point that move data one way.
struct Side<'a> {
    ops: Vec<&'a OpDoc>,
    bytes: u64,
}

impl<'a> Side<'a> {
    fn of(point: &'a LoadPointDoc, direction: Direction, bytes: u64) -> Self {
        let is_of = |name: &str| OpKind::named(name).and_then(OpKind::direction) == Some(direction);
        let ops = point.ops.iter().filter(|(name, _)| is_of(name));
        Self {
            ops: ops.map(|(_, op)| op).collect(),
            bytes,
        }
    }

    fn count(&self) -> u64 {
        total(self.ops.iter().map(|op| op.count))
    }

    fn errors(&self) -> u64 {
        total(self.ops.iter().map(|op| op.errors))
    }

    fn latency(&self) -> Option<LatencyDoc> {
        LatencyDoc::of(&pool(self.ops.iter().map(|op| op.response())))
    }
}

/// Formats a number with Iometer's precision.
fn number(value: f64) -> String {
    format!("{value:.6}")
}

fn milliseconds(nanoseconds: Option<f64>) -> String {
    number(nanoseconds.unwrap_or(0.0) / 1e6)
}

fn or_empty(value: Option<f64>) -> String {
    value.map(number).unwrap_or_default()
}

/// Returns the share of requests among requests and replies. Iometer counts a
/// request with its reply as one transaction.
fn transactions(workload: &WorkloadDoc) -> f64 {
    let bursts = workload.pattern.iter().map(|line| {
        let requests = line.weight_percent * f64::from(line.burst);
        match line.reply_bytes {
            0 => (requests, requests),
            _ => (requests, 2.0 * requests),
        }
    });
    let (requests, all) = bursts.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    if all > 0.0 { requests / all } else { 1.0 }
}

fn row(doc: &RunDoc, point: &LoadPointDoc, kind: RowKind) -> Vec<String> {
    let manager = kind == RowKind::Manager;
    let reads = Side::of(point, Direction::Read, point.bytes_read);
    let writes = Side::of(point, Direction::Write, point.bytes_written);
    let per_second = |amount: u64| match point.window_s > 0.0 {
        true => amount as f64 / point.window_s,
        false => 0.0,
    };
    let bytes = reads.bytes.saturating_add(writes.bytes);
    let workload = &doc.plan.workload;
    let share = transactions(workload);
    let (all, read, write) = (point.latency_ns, reads.latency(), writes.latency());
    // If transactions have a reply, only their two parts were timed, not the whole.
    let transaction = all.filter(|_| share == 1.0);
    let mean = |of: Option<LatencyDoc>| milliseconds(of.map(|of| of.mean));
    let max = |of: Option<LatencyDoc>| milliseconds(of.map(|of| of.max as f64));
    let clients = point.clients.to_string();
    let mut row = vec![
        if manager { "MANAGER" } else { "ALL" }.to_owned(),
        if manager {
            cell(&doc.tool.name)
        } else {
            "All".to_owned()
        },
        cell(&doc.plan.profile),
        if manager {
            String::new()
        } else {
            "1".to_owned()
        },
        clients.clone(),
        clients,
        number(point.ops_per_s),
        number(per_second(reads.count())),
        number(per_second(writes.count())),
    ];
    for unit in [f64::from(1 << 20), 1e6] {
        let rate = |bytes: u64| number(per_second(bytes) / unit);
        row.extend([rate(bytes), rate(reads.bytes), rate(writes.bytes)]);
    }
    row.extend([number(point.ops_per_s * share), number(0.0)]);
    row.extend([
        mean(all),
        mean(read),
        mean(write),
        mean(transaction),
        number(0.0),
    ]);
    row.extend([
        max(all),
        max(read),
        max(write),
        max(transaction),
        number(0.0),
    ]);
    row.extend(
        [
            point.errors,
            reads.errors(),
            writes.errors(),
            reads.bytes,
            writes.bytes,
            reads.count(),
            writes.count(),
            0,
        ]
        .map(|count| count.to_string()),
    );
    row.push(NO_TRANSACTIONS_PER_CONNECTION.to_owned());
    let raw_total = |of: Option<LatencyDoc>, count: u64| {
        of.map_or(0, |of| (of.mean * count as f64).round() as u64)
    };
    let raw_max = |of: Option<LatencyDoc>| of.map_or(0, |of| of.max);
    let raw = [
        raw_total(read, reads.count()),
        raw_total(write, writes.count()),
        // The mean is over all operations, including flushes.
        raw_total(transaction, total(point.asked_for().map(|op| op.count))),
        0,
        raw_max(read),
        raw_max(write),
        raw_max(transaction),
        0,
        (point.window_s * TICKS_PER_S as f64).round() as u64,
    ];
    row.extend(raw.map(|value| match kind {
        RowKind::Manager => value.to_string(),
        RowKind::All => String::new(),
    }));
    let sectors = u64::from(workload.files).saturating_mul(workload.file_bytes) / SECTOR_BYTES;
    row.extend([
        "0".to_owned(),
        sectors.to_string(),
        doc.plan.outstanding.to_string(),
    ]);
    let cpu = point.server_cpu.as_ref();
    row.push(or_empty(cpu.and_then(|cpu| cpu.percent)));
    // User, privileged, DPC and interrupt time.
    row.extend([const { String::new() }; 4]);
    row.push(if manager {
        TICKS_PER_S.to_string()
    } else {
        String::new()
    });
    row.push(String::new());
    row.push(or_empty(cpu.and_then(|cpu| cpu.ops_per_s_per_percent)));
    // Packets, packet errors, retransmitted segments.
    row.extend([const { String::new() }; 3]);
    let hdrs = reads.ops.iter().chain(&writes.ops).map(|op| op.response());
    row.extend(bins(hdrs).map(|count| count.to_string()));
    row
}

fn bins<'a>(hdrs: impl Iterator<Item = &'a Hdr>) -> [u64; BINS_END_NS.len() + 1] {
    let mut bins = [0; BINS_END_NS.len() + 1];
    for bucket in pool(hdrs).iter_recorded() {
        let latency = bucket.value_iterated_to();
        let bin = BINS_END_NS.partition_point(|&end| end <= latency);
        bins[bin] += bucket.count_at_value();
    }
    bins
}
