//! Profiles that move blocks of one size: plots against the size, and their
//! numbers. They have no sections of their own.

use std::collections::BTreeSet;

use itertools::Itertools as _;
use smbench_report::published::Efficiency;
use smbench_report::server_cpu::CpuOf;
use smbench_report::study::{Study, TransferDoc, TransferMode};
use smbench_report::units;

use super::profile::{ProfileContent, clients, limits};
use super::{results, summary};
use crate::plot::{Axis, Doubt, Line, Plot, PlotPoint, PointValidity, Quantity};
use crate::report::Section;

/// A metric of each size.
struct SizeMetric {
    /// Last part of the plot's name.
    name: &'static str,
    title: &'static str,
    axis: &'static str,
    quantity: Quantity,
    print: fn(f64) -> String,
    of: fn(&Efficiency) -> Option<f64>,
}

const MEASURES: [SizeMetric; 2] = [
    SizeMetric {
        name: "throughput",
        title: "throughput",
        axis: "throughput",
        quantity: Quantity::Throughput,
        print: |mbps| units::throughput(mbps) + " Mbit/s",
        of: |row| Some(row.throughput_mbps),
    },
    SizeMetric {
        name: "index",
        title: "P/E",
        axis: "Mbit/s per percent of CPU",
        quantity: Quantity::Index,
        print: units::index,
        of: Efficiency::index,
    },
];

/// Result of one server with requests of one size, at its peak.
struct SizeResult<'a> {
    server: usize,
    bytes: u32,
    clients: u32,
    row: Efficiency,
    /// Why the generator was the limit; `None` if it was not.
    limits: Option<String>,
    name: &'a str,
}

/// Returns the section; `None` for a study without transfers.
pub(super) fn section(study: &Study, profiles: &[&ProfileContent<'_>]) -> Option<Section> {
    let mut section = Section::new("Results: transfers");
    for mode in TransferMode::ALL {
        let found = of_mode(study, profiles, mode);
        // A single size makes no line; the tables have it.
        if !found.iter().map(|found| found.bytes).all_equal() {
            for measure in &MEASURES {
                section.plot(plot(study, mode, measure, &found));
            }
        }
    }
    for profile in profiles {
        let generators = study.doc.transfer(profile.name).map(generators);
        section.part(results::numbers(profile, generators.unwrap_or(1)));
        // With a single load point, one table has all peaks.
        if study.doc.load_points.len() > 1 {
            let mut part = summary::beyond_the_peaks(study, profile);
            part.title = format!("{}: {}", profile.name, part.title);
            section.part(part);
        }
    }
    (!section.parts.is_empty()).then_some(section)
}

fn generators(transfer: &TransferDoc) -> u32 {
    transfer.generators_per_client.max(1)
}

/// Returns all results of one direction, by size.
fn of_mode<'a>(
    study: &Study,
    profiles: &[&ProfileContent<'a>],
    mode: TransferMode,
) -> Vec<SizeResult<'a>> {
    let mut found = Vec::new();
    for profile in profiles {
        let transfer = study.doc.transfer(profile.name);
        let Some(transfer) = transfer.filter(|transfer| transfer.mode == mode) else {
            continue;
        };
        found.extend(profile.servers.iter().filter_map(|server| {
            let row = server.curve.peak_row()?;
            Some(SizeResult {
                server: server.number,
                bytes: transfer.bytes,
                // The results count each generator as a client.
                clients: row.clients / generators(transfer),
                row: Efficiency::of_row(server.name, row),
                limits: limits(row),
                name: server.name,
            })
        }));
    }
    found.sort_by_key(|found| found.bytes);
    found
}

/// Plots one metric against the size of requests, with a line for each server.
fn plot(study: &Study, mode: TransferMode, measure: &SizeMetric, all: &[SizeResult<'_>]) -> Plot {
    let rows = all.iter().map(|found| &found.row);
    let is_mixed = measure.quantity == Quantity::Index && whose_cpu(rows).len() > 1;
    let lines = (0..study.doc.servers.len()).filter_map(|server| {
        let found = || all.iter().filter(move |found| found.server == server);
        let points: Vec<_> = found().filter_map(|found| point(found, measure)).collect();
        let first = found().next()?;
        let whose = whose_cpu(found().map(|found| &found.row)).into_iter();
        let whose = whose.map(CpuOf::name).join(" and ");
        Some(Line {
            name: if is_mixed && !whose.is_empty() {
                format!("{} (CPU of {whose})", first.name)
            } else {
                first.name.to_owned()
            },
            style: server,
            points,
        })
    });
    let lines: Vec<_> = lines.collect();
    let mut notes = Vec::new();
    if is_mixed {
        notes.push(
            "CPU of processes is less than that of a whole machine: P/E of the two do not compare"
                .to_owned(),
        );
    }
    Plot {
        // 00, because profiles are counted from 1.
        name: format!("00-{}-{}", mode.name(), measure.name),
        title: format!("{}: {} by size of request", mode.name(), measure.title),
        x: Axis::new("size of request", Quantity::Bytes),
        y: Axis::new(measure.axis, measure.quantity),
        lines,
        notes,
        marks: Vec::new(),
    }
}

/// Returns the kinds of CPU time behind the indices of these rows.
fn whose_cpu<'a>(rows: impl Iterator<Item = &'a Efficiency>) -> BTreeSet<CpuOf> {
    rows.filter(|row| row.index().is_some())
        .filter_map(|row| row.cpu_of)
        .collect()
}

fn point(found: &SizeResult<'_>, measure: &SizeMetric) -> Option<PlotPoint> {
    let value = (measure.of)(&found.row)?;
    let mut label = format!(
        "{}, {}: {}",
        units::bytes(found.bytes.into()),
        clients(found.clients),
        (measure.print)(value)
    );
    let doubt = match &found.limits {
        Some(reasons) => {
            label += &format!("; client-limited: {reasons}");
            Doubt::ClientLimited
        }
        None => Doubt::None,
    };
    Some(PlotPoint {
        x: found.bytes.into(),
        y: value,
        spread: None,
        validity: PointValidity::Valid,
        doubt,
        label,
    })
}
