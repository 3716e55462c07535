//! Plots of transfers.

use smbench_model::cpu::CpuScope;
use smbench_publish::plot::{Doubt, Quantity};
use smbench_publish::report;
use smbench_report::doc::{Named, ServerCpuDoc};
use smbench_report::study::{Study, TransferMode};

use super::{numbers, plot};
use crate::samples::{point, result, run, study, transfer};

/// Returns transfers of two sizes in one direction, and of one size in another. One
/// server has measured CPU figures, the other has none.
fn transfers() -> Study {
    let of = |throughput_mbps: f64, cpu: Option<(CpuScope, f64)>| {
        let mut measured = point(20, 1, throughput_mbps, 400_000);
        let looked = ServerCpuDoc {
            source: "somewhere".to_owned(),
            not_measured: None,
            scope: None,
            cores: Some(4),
            busy_s: None,
            percent: None,
            us_per_op: None,
            mbps_per_percent: None,
            ops_per_s_per_percent: None,
        };
        measured.server_cpu = cpu.map(|(scope, percent)| ServerCpuDoc {
            scope: Some(Named::Known(scope)),
            percent: Some(percent),
            ..looked
        });
        run(vec![measured])
    };
    let mut study = study(&[
        ("known", of(100.0, Some((CpuScope::Machine, 10.0)))),
        ("unknown", of(300.0, None)),
    ]);
    let transfers = [
        (TransferMode::Transmit, 65_536),
        (TransferMode::Transmit, 4096),
        (TransferMode::Receive, 4096),
    ];
    study.doc.transfers = transfers.map(|(mode, bytes)| transfer(mode, bytes)).into();
    let names = study.doc.transfers.iter().map(|made| made.profile.clone());
    study.doc.profiles = names.collect();
    let mut small = of(20.0, Some((CpuScope::Machine, 40.0)));
    small.load_points[0].generator_limited = Some(true);
    study.results.extend([
        result(0, 1, small),
        result(1, 1, of(30.0, None)),
        result(0, 2, of(10.0, Some((CpuScope::Machine, 10.0)))),
    ]);
    study
}

#[test]
fn transfers_are_plotted_by_the_size_of_requests() {
    let mut study = transfers();
    let throughput = plot(&study, "00-transmit-throughput");
    assert_eq!(throughput.x.quantity, Quantity::Bytes);
    let lines: Vec<_> = throughput.lines.iter().map(numbers).collect();
    assert_eq!(
        lines,
        [
            [(4096.0, 20.0, true), (65_536.0, 100.0, true)],
            [(4096.0, 30.0, true), (65_536.0, 300.0, true)]
        ]
    );
    let smallest = &throughput.lines[0].points[0];
    assert_eq!(smallest.doubt, Doubt::ClientLimited);
    assert!(
        smallest
            .label
            .starts_with("4 KiB, 20 clients: 20.0 Mbit/s; client-limited"),
        "{}",
        smallest.label
    );
    let index = plot(&study, "00-transmit-index");
    assert_eq!(
        numbers(&index.lines[0]),
        [(4096.0, 0.5, true), (65_536.0, 10.0, true)]
    );
    assert!(index.lines[1].points.is_empty(), "nobody knows its CPU");
    assert_eq!(index.lines[0].name, "known");
    let drawn = index.to_svg().unwrap();
    assert!(
        drawn.contains("64 KiB") && !drawn.contains("unknown"),
        "{drawn}"
    );
    // A client with two sessions counts as one.
    for transfer in &mut study.doc.transfers {
        transfer.generators_per_client = 2;
    }
    let twofold = plot(&study, "00-transmit-throughput");
    let label = &twofold.lines[0].points[0].label;
    assert!(label.starts_with("4 KiB, 10 clients: "), "{label}");
    let text = format!("{:?}", report(&study));
    assert!(text.contains("2 clients in them are one."), "{text}");
    // With one size there is nothing to draw.
    let is_of = |mode: &str| {
        let start = format!("00-{mode}-");
        report(&study)
            .plots()
            .any(|plot| plot.name.starts_with(&start))
    };
    assert_eq!((is_of("transmit"), is_of("receive")), (true, false));

    // Figures that cannot be compared have separate lines.
    for result in study.results.iter_mut().filter(|result| result.server == 1) {
        let cpu = transfers().results[0].run.load_points[0].server_cpu.clone();
        let cpu = cpu.map(|cpu| ServerCpuDoc {
            scope: Some(Named::Known(CpuScope::Processes)),
            ..cpu
        });
        result.run.load_points[0].server_cpu = cpu;
    }
    let mixed = plot(&study, "00-transmit-index");
    let names: Vec<_> = mixed.lines.iter().map(|line| &*line.name).collect();
    assert_eq!(
        names,
        ["known (CPU of machine)", "unknown (CPU of processes)"]
    );
    assert!(
        mixed.notes[0].ends_with("do not compare"),
        "{:?}",
        mixed.notes
    );
    // A line of both kinds says so, no matter which kind its smallest size has.
    let largest = &mut study.results[0].run.load_points[0];
    let cpu = largest.server_cpu.as_mut().unwrap();
    cpu.scope = Some(Named::Known(CpuScope::Processes));
    let both = plot(&study, "00-transmit-index");
    assert_eq!(both.lines[0].name, "known (CPU of processes and machine)");
}
