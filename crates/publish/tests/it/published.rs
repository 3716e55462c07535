//! The published studies: a report on their peaks has their percentages.

use smbench_model::cpu::CpuScope;
use smbench_publish::{Report, ReportBlock, report};
use smbench_report::block::Block;
use smbench_report::doc::{Named, ServerCpuDoc};
use smbench_report::study::{ComparisonDoc, ComparisonKind, Study};
use smbench_report::table::Table;

use crate::samples::{comparison, curve, study};

/// VeriTest 2004, HP DL380: peaks in Mbit/s.
const HONOURS: [(&str, f64); 2] = [
    ("Windows, no update", 853.966),
    ("Samba 3.0, strict sync on", 549.465),
];
const IGNORES: [(&str, f64); 2] = [
    ("Windows, update", 935.770),
    ("Samba 3.0, strict sync off", 586.389),
];
/// VeriTest 2003, DL760 with 1, 2, 4 and 8 CPUs.
const WINDOWS: [(&str, f64); 4] = [
    ("1 CPU", 453.0),
    ("2 CPU", 632.0),
    ("4 CPU", 901.0),
    ("8 CPU", 1088.0),
];

fn of_peaks(peaks: &[(&str, f64)]) -> Study {
    let servers: Vec<_> = peaks
        .iter()
        .map(|(name, peak)| (*name, curve(*peak)))
        .collect();
    study(&servers)
}

/// Returns all tables of the section on comparisons.
fn compared(report: &Report) -> Vec<&Table> {
    let section = report
        .sections
        .iter()
        .find(|section| section.title == "Comparisons");
    let section = section.unwrap();
    let parts = section.parts.iter().flat_map(|part| &part.blocks);
    let blocks = section.blocks.iter().chain(parts);
    blocks
        .filter_map(|block| match block {
            ReportBlock::Plain(Block::Table(table)) => Some(table),
            _ => None,
        })
        .collect()
}

/// Returns whether a table has a row that begins with `name` and contains `cell`.
fn has(tables: &[&Table], name: &str, cell: &str) -> bool {
    let rows = tables.iter().flat_map(|table| &table.rows);
    rows.into_iter()
        .any(|row| Table::cell(row, 0) == name && row.iter().any(|found| found.text == cell))
}

#[test]
fn gains_of_flush_policies() {
    let mut study = of_peaks(&[HONOURS[0], HONOURS[1], IGNORES[0], IGNORES[1]]);
    let gain = |title, servers: [&str; 2]| ComparisonDoc {
        baseline: Some(servers[1].to_owned()),
        ..comparison(title, ComparisonKind::Change, &servers)
    };
    study.doc.comparisons = vec![
        gain("both ignore", [IGNORES[0].0, IGNORES[1].0]),
        gain("both honour", [HONOURS[0].0, HONOURS[1].0]),
        gain("as shipped", [HONOURS[0].0, IGNORES[1].0]),
    ];
    let report = report(&study);
    let tables = compared(&report);
    assert!(has(&tables, IGNORES[0].0, "+60 %"), "{tables:#?}");
    assert!(has(&tables, HONOURS[0].0, "+55 %"), "{tables:#?}");
    assert!(has(&tables, HONOURS[0].0, "+46 %"), "{tables:#?}");
    // Each has a plot of its two servers, in the colours of the other plots.
    let plots = report
        .plots()
        .filter(|plot| plot.title.contains(": file-server: throughput"));
    let styles: Vec<Vec<_>> = plots
        .map(|plot| plot.lines.iter().map(|line| line.style).collect())
        .collect();
    assert_eq!(styles, [[2, 3], [0, 1], [0, 3]]);
}

#[test]
fn increases_with_processors() {
    let mut study = of_peaks(&WINDOWS);
    let names = WINDOWS.map(|(name, _)| name);
    study.doc.comparisons = vec![comparison("scaling", ComparisonKind::Scaling, &names)];
    let report = report(&study);
    let tables = compared(&report);
    for (name, percent) in [("2 CPU", "+40 %"), ("4 CPU", "+43 %"), ("8 CPU", "+21 %")] {
        assert!(has(&tables, name, percent), "{name}: {tables:#?}");
    }
}

/// If the CPU use of servers is known, the report ranks them by it.
#[test]
fn servers_are_ranked_by_what_they_do_for_each_percent_of_cpu() {
    let mut study = of_peaks(&[("busy", 900.0), ("idle", 800.0)]);
    let summary = |study: &Study| {
        let parts = report(study).sections.into_iter();
        let tables = parts.flat_map(|section| section.parts);
        let tables = tables.flat_map(|part| part.blocks);
        let tables = tables.filter_map(|block| match block {
            ReportBlock::Plain(Block::Table(table)) => Some(table),
            _ => None,
        });
        let mut ranked = tables.filter(|table| table.title.contains("P/E"));
        (ranked.next(), ranked.next())
    };
    assert_eq!(summary(&study), (None, None));
    for (result, percent) in study.results.iter_mut().zip([90.0, 40.0]) {
        for point in &mut result.run.load_points {
            point.server_cpu = Some(ServerCpuDoc {
                source: "http://files.example:9100/metrics".to_owned(),
                not_measured: None,
                scope: Some(Named::Known(CpuScope::Machine)),
                cores: Some(4),
                busy_s: Some(1.0),
                percent: Some(percent),
                us_per_op: Some(1.0),
                mbps_per_percent: Some(point.throughput_mbps / percent),
                ops_per_s_per_percent: Some(point.ops_per_s / percent),
            });
        }
    }
    let (ranked, None) = summary(&study) else {
        panic!("more than one");
    };
    let ranked = ranked.unwrap();
    assert_eq!(ranked.title, "ranked by P/E at the peak");
    let rows = ranked.rows.iter();
    let rows: Vec<_> = rows
        .map(|row| [0, 1, 5].map(|at| Table::cell(row, at)))
        .collect();
    assert_eq!(rows, [["1", "idle", "20.00"], ["2", "busy", "10.00"]]);
}
