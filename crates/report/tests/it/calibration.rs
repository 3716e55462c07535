//! The highest load that a machine can generate, and how close a run comes to it.

use smbench_report::doc::{
    CalibrationDoc, CeilingDoc, CeilingTarget, MachineDoc, SCHEMA_VERSION, SysbenchDoc, ToolDoc,
};
use smbench_report::render;

use crate::samples::{document, point, run};

fn ceiling(target: CeilingTarget, op: &str, bytes: u32, threads: u32, rate: f64) -> CeilingDoc {
    CeilingDoc {
        target,
        op: op.to_owned(),
        bytes,
        threads,
        clients: threads * 16,
        ops_per_s: Some(rate),
        throughput_mbps: Some(rate * f64::from(bytes) * 8e-6),
        cpu_us_per_op: Some(10.0),
        not_measured: None,
    }
}

fn calibration() -> CalibrationDoc {
    let broken = CeilingDoc {
        ops_per_s: None,
        throughput_mbps: None,
        cpu_us_per_op: None,
        not_measured: Some("it broke".to_owned()),
        ..ceiling(CeilingTarget::Embedded, "write", 4096, 2, 0.0)
    };
    CalibrationDoc {
        schema_version: SCHEMA_VERSION,
        tool: ToolDoc::this(),
        started: "2026-01-31T12:00:00Z".to_owned(),
        machine: MachineDoc::default(),
        duration_s: 3.0,
        ceilings: vec![
            ceiling(CeilingTarget::Null, "read", 4096, 2, 1e6),
            ceiling(CeilingTarget::Embedded, "read", 4096, 1, 3000.0),
            ceiling(CeilingTarget::Embedded, "read", 4096, 2, 5004.0),
            ceiling(CeilingTarget::Embedded, "read", 65_536, 2, 500.0),
            broken,
        ],
        sysbench: SysbenchDoc {
            not_measured: Some("sysbench not installed".to_owned()),
            ..SysbenchDoc::default()
        },
    }
}

/// Returns whether the text fits a terminal of 100 columns.
fn is_narrow(text: &str) -> bool {
    text.lines().all(|line| line.chars().count() <= 100)
}

#[test]
fn a_peak_is_held_against_what_is_most_like_it() {
    let mut doc = document(&run(vec![point(2, 1, 1000)]));
    doc.plan.generator.threads = 2;
    doc.machine = Some(MachineDoc::default());
    let reached = calibration().reached(&doc).unwrap();
    // 1000 reads, 250 writes and a flush per second.
    assert!((reached.percent - 25.0).abs() < 1e-9, "{reached:?}");
    assert_eq!(
        reached.text,
        "calibration: this machine did at most 5004 reads of 4 KiB per second with 2 threads, \
         against the embedded server on its own cores (1000000 on the null target); the peak, 1251 \
         of 4.00 KiB on average, reached 25 % of that"
    );
    doc.calibration = Some(calibration());
    let text = render(&doc);
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("calibration: "));
    let lines: Vec<_> = lines.map(str::trim).collect();
    assert_eq!(lines.join(" "), reached.text, "{text}");
    assert!(lines.len() > 1 && is_narrow(&text), "{text}");
    doc.machine = None;
    let elsewhere = calibration().reached(&doc).unwrap().text;
    assert!(elsewhere.contains("another machine"), "{elsewhere}");
    // A run with one thread is compared with the ceiling of one thread.
    doc.plan.generator.threads = 1;
    let reached = calibration().reached(&doc).unwrap();
    assert!(
        reached
            .text
            .contains("3000 reads of 4 KiB per second with 1 thread,")
    );
}

/// More than 100 % is not a share: the calibration is wrong, or of different work.
#[test]
fn a_run_beyond_its_calibration_says_to_repeat_it() {
    let mut doc = document(&run(vec![point(2, 1, 10_000)]));
    doc.plan.generator.threads = 2;
    doc.machine = Some(MachineDoc::default());
    let reached = calibration().reached(&doc).unwrap();
    assert!(reached.percent > 100.0 && !reached.is_usable());
    assert_eq!(
        reached.text,
        "calibration: not usable: it found at most 5004 reads of 4 KiB per second with 2 threads, but \
         the peak of this run is 12501 of 4 KiB on average; repeat `smbench calibrate`"
    );
    let full = calibration()
        .reached(&document(&run(vec![point(2, 1, 2400)])))
        .unwrap();
    assert!(full.is_usable(), "{full:?}");
}

/// A run of smaller operations may do more of them.
#[test]
fn smaller_operations_contradict_no_calibration() {
    let doc = document(&run(vec![point(2, 1, 10_000)]));
    let mut calibration = calibration();
    for ceiling in &mut calibration.ceilings {
        ceiling.bytes = 8192;
    }
    assert_eq!(calibration.reached(&doc), None);
    let slow = document(&run(vec![point(2, 1, 100)]));
    assert!(calibration.reached(&slow).unwrap().is_usable());
}

#[test]
fn nothing_is_held_against_nothing() {
    let mut calibration = calibration();
    let doc = document(&run(Vec::new()));
    assert_eq!(calibration.reached(&doc), None);
    let doc = document(&run(vec![point(2, 1, 1000)]));
    let mut large = doc.clone();
    large.load_points[0].bytes_read *= 256;
    assert!(calibration.reached(&doc).is_some());
    assert_eq!(calibration.reached(&large), None);
    calibration.ceilings.clear();
    assert_eq!(calibration.reached(&doc), None);
}

#[test]
fn the_table_says_what_it_is_and_what_is_missing() {
    let text = calibration().table().to_text();
    assert!(text.starts_with("maximum load of this machine, 3 s per test\n"));
    assert!(is_narrow(&text), "{text}");
    for part in [
        "embedded server  read 64 KiB ",
        "embedded server, write 4 KiB: it broke",
        "expect more with a remote server",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(calibration().sysbench_lines(), ["sysbench not installed"]);
}

#[test]
fn a_calibration_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calibration.json");
    calibration().save(&path).unwrap();
    assert_eq!(CalibrationDoc::load(&path).unwrap(), calibration());
    std::fs::write(&path, "{\"schema_version\": 1}").unwrap();
    CalibrationDoc::load(&path).unwrap_err();
}
