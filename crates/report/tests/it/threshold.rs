//! Conditions on the values of one run.

use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, Phase};
use smbench_protocol::NtStatus;
use smbench_report::Threshold;
use smbench_report::doc::{LoopDoc, OutcomeDoc, RunDoc};

use crate::samples::{book, curve, document, dropped, point, run};

/// Returns the outcome of a condition as it is printed.
fn words(doc: &RunDoc, condition: &str) -> String {
    let threshold: Threshold = condition.parse().unwrap();
    threshold.judge(doc).to_string()
}

/// The sample's peak is at 8 clients: 65.5 Mbit/s, 2001 operations/s, p99 of 2 ms.
#[test]
fn values_are_those_of_the_tables() {
    let doc = document(&curve());
    for (condition, expected) in [
        (
            "throughput < 65",
            "passed   throughput < 65: 65.5 Mbit/s at 8 clients",
        ),
        (
            "throughput < 0.1Gbit/s",
            "failed   throughput < 0.1Gbit/s: 65.5 Mbit/s at 8 clients",
        ),
        (
            "throughput < 8 MB/s",
            "passed   throughput < 8 MB/s: 65.5 Mbit/s at 8 clients",
        ),
        ("ops/s < 2.5k", "failed   ops/s < 2.5k: 2001 at 8 clients"),
        ("p95 > 2.1ms", "passed   p95 > 2.1ms: 2.00 ms at 8 clients"),
        (
            "p99 > 1999us",
            "failed   p99 > 1999us: 2.00 ms at 8 clients",
        ),
        (
            "max at 1 > 1s",
            "passed   max at 1 > 1s: 30.0 ms at 1 client",
        ),
        (
            "write mean at peak > 1.5 ms",
            "failed   write mean at peak > 1.5 ms: 2.00 ms at 8 clients",
        ),
        (
            "read throughput < 50",
            "passed   read throughput < 50: 52.4 Mbit/s at 8 clients",
        ),
        (
            "flush ops/s < 1",
            "passed   flush ops/s < 1: 1.00 at 8 clients",
        ),
        (
            "errors > 0",
            "passed   errors > 0: 0 errors at all load points",
        ),
        (
            "us/op at 4 > 30",
            "passed   us/op at 4 > 30: 25.6 at 4 clients",
        ),
    ] {
        assert_eq!(words(&doc, condition), expected);
    }
}

#[test]
fn errors_are_those_of_the_whole_run_unless_a_place_is_given() {
    let mut failing = point(4, 1, 100);
    book(&mut failing.ops, Phase::Window, |ops| {
        ops.failure(OpKind::Write, OperationFailure::Status(NtStatus::DISK_FULL));
    });
    let doc = document(&run(vec![point(1, 1, 100), failing]));
    assert_eq!(
        words(&doc, "errors > 0"),
        "failed   errors > 0: 1 error at all load points"
    );
    assert_eq!(
        words(&doc, "errors at 1 > 0"),
        "passed   errors at 1 > 0: 0 errors at 1 client"
    );
    assert_eq!(
        words(&doc, "write errors at 4 > 0"),
        "failed   write errors at 4 > 0: 1 error at 4 clients"
    );
}

/// Without a peak the worst load point counts.
#[test]
fn a_run_at_a_rate_is_judged_at_every_load_point() {
    let doc = RunDoc {
        pacing: LoopDoc::Rate,
        ..document(&curve())
    };
    assert_eq!(
        words(&doc, "throughput < 20"),
        "failed   throughput < 20: 16.4 Mbit/s at 1 client"
    );
}

#[test]
fn what_was_not_measured_cannot_be_judged() {
    let doc = document(&curve());
    for (condition, reason) in [
        ("rename p99 > 5ms", "it was not measured at 8 clients"),
        (
            "server-us/op > 5",
            "it was not measured at 8 clients; give server_metrics",
        ),
        ("p99 at 3 > 5ms", "no load point has 3 clients"),
    ] {
        let expected = format!("unknown  {condition}: cannot be judged: {reason}");
        assert_eq!(words(&doc, condition), expected);
    }
    let invalid = document(&run(vec![dropped(point(4, 1, 100), 4)]));
    let expected = "unknown  p99 > 5ms: cannot be judged: no load point is valid";
    assert_eq!(words(&invalid, "p99 > 5ms"), expected);
}

/// The peak of an unfinished run is not the peak of the plan.
#[test]
fn an_unfinished_run_decides_only_what_more_load_points_cannot_change() {
    let mut doc = document(&curve());
    doc.outcome = OutcomeDoc::Interrupted;
    let skipped = "skipped  p99 > 1us: the run was not completed";
    assert_eq!(words(&doc, "p99 > 1us"), skipped);
    assert!(words(&doc, "errors > 0").starts_with("skipped  "));
    assert!(words(&doc, "p99 at 8 > 1us").starts_with("failed   "));
}

/// Limits have the durations, counts and rates of all other options.
#[test]
fn limits_have_the_grammar_of_options() {
    let limit = |text: &str| {
        text.parse::<Threshold>()
            .unwrap()
            .required(&document(&curve()))
            .limit
    };
    for (condition, expected) in [
        ("p95 > 1h", 3.6e12),
        ("p95 > 1.5m", 9e10),
        ("p95 > 1s 500ms", 1.5e9),
        ("mean > 80 us", 8e4),
        ("ops/s > 5K", 5000.0),
        ("errors > 1k", 1000.0),
        ("throughput < 1 GB/s", 8000.0),
        ("throughput < 1.5Gbit/s", 1500.0),
        ("throughput < 800 mbit/s", 800.0),
        ("us/op at 1k > 5us", 5.0),
    ] {
        assert_eq!(limit(condition), expected, "{condition}");
    }
}

#[test]
fn mistakes_are_refused_with_an_example() {
    for (condition, reason) in [
        ("p95", "there is no < or >"),
        (
            "p98 > 5ms",
            "`p98` is not a metric, such as throughput, ops/s, mean, p99, us/op",
        ),
        ("p95 > 5", "the limit needs a unit: us, ms, s, m or h"),
        (
            "p95 > 5%",
            "limits of a run have no %; `compare` judges changes",
        ),
        (
            "p95 > -5ms",
            "`-5ms` is not a duration: write it with its unit, such as 500ms, 30s, 10m or 1h",
        ),
        ("p95 > 5MS", "`5MS` is not a duration: write 5ms"),
        ("p95 >= 5ms", "a condition has < or >, without ="),
        (
            "throughput < 5ms",
            "the limit has an unknown unit; those of throughput are kbit/s, Mbit/s, Gbit/s, \
             MB/s, GB/s, MiB/s, GiB/s",
        ),
        (
            "errors > many",
            "the limit `many` is not a number of 0 or more",
        ),
        (
            "us/op > 5ms",
            "the limit has an unknown unit: CPU time of an operation is in us",
        ),
        (
            "read us/op > 5",
            "CPU time is that of all operations together",
        ),
    ] {
        let refused = condition.parse::<Threshold>().unwrap_err().to_string();
        let expected = format!("{reason} (for example 'p95 > 5ms' or 'errors > 0')");
        assert_eq!(refused, expected);
    }
}
