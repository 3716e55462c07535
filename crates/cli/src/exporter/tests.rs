use std::time::SystemTime;

use smbench_engine::run::PointNumber;
use smbench_model::Nanos;
use smbench_model::progress::PopulationInterval;
use smbench_model::record::{OperationFailure, ReplayDifference};
use smbench_protocol::NtStatus;

use super::*;

fn interval(index: u32, ops: &Recorder) -> MeasuredInterval<'_> {
    MeasuredInterval {
        point: PointNumber {
            number: 1,
            of: 1,
            repeat: 1,
            clients: 1,
            rate: None,
        },
        index,
        start: SystemTime::UNIX_EPOCH,
        length: Duration::from_secs(1),
        ops,
        populations: &[],
    }
}

fn text_of(exporter: Exporter) -> String {
    let mut registry = Registry::with_prefix("smbench");
    registry.register_collector(Box::new(exporter));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

#[test]
fn only_the_last_bucket_has_no_bound() {
    let exporter = Exporter::default();
    let mut counts = OpCounts::default();
    counts.buckets[1] = 4;
    counts.buckets[BOUNDS_US.len()] = 2;
    let labels = OpLabels {
        population: None,
        op: "read",
    };
    exporter.0.lock().unwrap().ops.insert(labels, counts);
    let text = text_of(exporter);
    for text in [classic(&text), text] {
        let buckets = text.lines().filter(|line| line.contains("_bucket{"));
        let bounds = buckets.map(|line| {
            let (_, bound) = line.split_once("le=\"").unwrap();
            let (bound, count) = bound.split_once("\",op=\"read\"} ").unwrap();
            (bound.parse::<f64>().unwrap(), count.parse::<u64>().unwrap())
        });
        let bounds: Vec<_> = bounds.collect();
        let [first, second, .., last_bounded, last] = bounds[..] else {
            panic!("{text}");
        };
        assert_eq!((first, second), ((50e-6, 0), (100e-6, 4)));
        assert_eq!((last_bounded, last), ((30.0, 4), (f64::INFINITY, 6)));
    }
}

#[test]
fn several_populations_have_a_label_and_no_sum_beside_it() {
    let (mut office, mut backup) = (Recorder::default(), Recorder::default());
    office.success(OpKind::Read, 4096, Nanos(1000));
    for _ in 0..2 {
        backup.success(OpKind::Read, 4096, Nanos(1000));
    }
    let mut all = office.clone();
    all.merge(&backup);
    let exporter = Exporter::default();
    exporter.add(&MeasuredInterval {
        populations: &[("office", &office), ("backup", &backup)]
            .map(|(name, ops)| PopulationInterval { name, ops }),
        ..interval(0, &all)
    });
    let text = text_of(exporter);
    let counts = text
        .lines()
        .filter(|line| line.starts_with("smbench_operations_total"));
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [
            "smbench_operations_total{op=\"read\",population=\"backup\"} 2",
            "smbench_operations_total{op=\"read\",population=\"office\"} 1",
        ]
    );
}

#[test]
fn operations_that_differ_from_a_recording_have_a_counter() {
    let mut ops = Recorder::default();
    ops.success(OpKind::Read, 4096, Nanos(1000));
    for _ in 0..2 {
        ops.difference(ReplayDifference {
            kind: OpKind::Unlink,
            recorded: Some(NtStatus::SUCCESS),
            seen: OperationFailure::Status(NtStatus::OBJECT_NAME_NOT_FOUND),
        });
    }
    let exporter = Exporter::default();
    for index in 0..2 {
        exporter.add(&interval(index, &ops));
    }
    let text = text_of(exporter);
    for line in [
        "smbench_differences_total{op=\"read\"} 0",
        "smbench_differences_total{op=\"unlink\"} 4",
        "smbench_operations_total{op=\"read\"} 2",
        "smbench_operations_total{op=\"unlink\"} 0",
        "smbench_errors_total{op=\"unlink\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn the_classic_format_names_counters_by_their_values() {
    let open = "# HELP a_bytes All.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\n\
                a_bytes_total 1\n# HELP b Two words.\n# TYPE b gauge\nb 2\n# EOF\n";
    let expected = "# HELP a_bytes_total All.\n# TYPE a_bytes_total counter\na_bytes_total 1\n\
                    # HELP b Two words.\n# TYPE b gauge\nb 2\n";
    assert_eq!(classic(open), expected);
}
