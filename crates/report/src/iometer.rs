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

mod row;

use std::io::{self, Write};

use smbench_model::access::Access;

use crate::doc::{LoadPointDoc, RunDoc};
use crate::replayed::Replayed;
use row::{RowKind, cell, row};

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
    let replayed = Replayed::of([point]);
    if replayed.count() > 0 {
        let how_many = cell(&replayed.how_many());
        writeln!(output, "'Replay: {how_many}; no column counts them")?;
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
            "of the server, all {} cores of it, as reported by {}",
            cpu.cores.unwrap_or_default(),
            cpu.source
        ),
    }
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
