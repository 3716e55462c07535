//! One value and one verdict for one fact, whichever command shows it.

use serde_json::Value;
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{LoadPointRecord, Phase, Tally};
use smbench_report::RunDoc;
use smbench_report::compare::{Depth, Verdict, render};
use smbench_report::metric::Metric;
use smbench_report::render as render_run;

use super::{compared, judged, pair};
use crate::samples::{book, document, on_a_busy_server, point, run};

/// Returns a pass at 8 clients: a number of reads, all of this many microseconds.
fn pass(repeat: u32, reads: u64, us: u64) -> LoadPointRecord {
    let mut ops = Tally::default();
    book(&mut ops, Phase::Window, |window| {
        for _ in 0..reads {
            window.success(OpKind::Read, 4096, Nanos(us * 1000));
        }
    });
    LoadPointRecord {
        ops,
        ..point(8, repeat, 0)
    }
}

/// Returns passes with these reads, and their times in microseconds.
fn passes(of: &[(u64, u64)]) -> RunDoc {
    let passes = (1..).zip(of);
    let points = passes.map(|(repeat, (reads, us))| pass(repeat, *reads, *us));
    document(&run(points.collect()))
}

fn limited(mut doc: RunDoc) -> RunDoc {
    for point in &mut doc.load_points {
        point.generator_limited = Some(true);
    }
    doc
}

/// The generator's own delay is in the response times of a client-limited load point.
#[test]
fn what_leaves_throughput_open_leaves_response_times_open() {
    let fast = || passes(&[(1000, 800), (1010, 792), (990, 808)]);
    let slow = || passes(&[(500, 1600), (505, 1584), (495, 1616)]);
    let verdicts = |baseline, other| {
        let found = pair(baseline, other);
        [
            Metric::Throughput,
            Metric::Operations,
            Metric::Mean,
            Metric::P50,
            Metric::P99,
            Metric::Max,
            Metric::Cpu,
        ]
        .map(|metric| {
            let peak = found.peak.as_ref().unwrap();
            peak.find(None, metric).unwrap().verdict
        })
    };
    let [open, worse] = [Verdict::CannotTell, Verdict::Worse];
    assert_eq!(verdicts(fast(), slow()), [worse; 7]);
    let words = [open, open, open, open, open, open, worse];
    assert_eq!(verdicts(fast(), limited(slow())), words);
    // The limited server is at least as fast as it seems: the other one is slower.
    assert_eq!(verdicts(limited(fast()), slow()), [worse; 7]);
    let found = pair(fast(), limited(slow()));
    let condition = judged("p99 > +10%", &found);
    assert!(
        condition.ends_with("p99 of B is client-limited"),
        "{condition}"
    );
}

/// A slower side that is not limited may have the shorter percentile.
#[test]
fn a_longer_percentile_of_a_limited_side_is_open() {
    let steady = || passes(&[(1000, 800), (1010, 800), (990, 800)]);
    let faster = limited(passes(&[(2000, 900), (2010, 900), (1990, 900)]));
    let found = pair(steady(), faster);
    let peak = found.peak.as_ref().unwrap();
    let verdict = |metric| peak.find(None, metric).unwrap().verdict;
    assert_eq!(verdict(Metric::Throughput), Verdict::Better);
    assert_eq!(verdict(Metric::P99), Verdict::CannotTell);
}

/// The passes have 100, 100 and 10,000 operations.
#[test]
fn response_times_are_those_of_the_summary() {
    let doc = passes(&[(100, 900), (100, 900), (10_000, 100)]);
    let found = compared(
        doc.clone(),
        passes(&[(100, 900), (100, 900), (10_000, 101)]),
    );
    let peak = doc.peak.unwrap();
    let changes = found.pairs[0].peak.as_ref().unwrap();
    let [mean, p99] = [Metric::Mean, Metric::P99].map(|metric| changes.find(None, metric).unwrap());
    assert_eq!(mean.pooled.baseline, Some(peak.latency_mean_ns));
    assert_eq!(p99.pooled.baseline, Some(peak.latency_p99_ns as f64));
    let repeats = &doc.repeats[0];
    let pooled = [
        repeats.latency_mean_pooled_ns,
        repeats.latency_p99_pooled_ns,
    ];
    let pooled = pooled.map(|pooled| pooled.map(|pooled| pooled.value));
    assert_eq!(pooled, [mean.pooled.baseline, p99.pooled.baseline]);
    // Documents keep the mean of the passes.
    let json: Value = serde_json::to_value(&found).unwrap();
    let mean = &json["pairs"][0]["peak"]["metrics"][2];
    assert_eq!(mean["metric"], "mean");
    let of_passes = mean["baseline"].as_f64().unwrap();
    assert!((of_passes / 633_333.3 - 1.0).abs() < 1e-3, "{of_passes}");
    let text = render(&found, Depth::Overview);
    assert!(text.contains("\nmean             116 us"), "{text}");
    let text = render_run(&doc);
    assert!(text.contains("  100 us to 900 us  "), "{text}");
}

/// Over all operations, one pass of five decides the percentile.
#[test]
fn one_odd_pass_is_no_verdict() {
    let alike = || passes(&[(100, 100); 5]);
    let odd = passes(&[(100, 100), (100, 100), (100, 100), (100, 100), (100, 1000)]);
    let found = pair(alike(), odd);
    for metric in [Metric::P95, Metric::P99, Metric::Max, Metric::Mean] {
        let peak = found.peak.as_ref().unwrap();
        let change = peak.find(None, metric).unwrap();
        assert_eq!(change.verdict, Verdict::NoDifferenceShown, "{metric}");
    }
}

/// Windows of 5 and of 20 s, one of a slow server.
#[test]
fn cores_over_operations_per_second_are_us_per_operation() {
    let mut passes = [(1, 500, 5.0), (2, 8000, 20.0)].map(|(repeat, reads, window_s)| {
        let mut pass = on_a_busy_server(pass(repeat, reads, 100));
        pass.window = std::time::Duration::from_secs_f64(window_s);
        pass
    });
    passes[1].client.cpu_user *= 3;
    let doc = document(&run(passes.into()));
    let text = render_run(&doc);
    let rate = 250.0;
    let tables = [
        ("CPU of the server", (10.0 / 5.0 + 10.0 / 20.0) / 2.0),
        ("CPU of the generator", (0.5 / 5.0 + 0.7 / 20.0) / 2.0),
    ];
    for (title, cores) in tables {
        let table = text.split_once(title).unwrap().1;
        let row: Vec<_> = table.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(row[1], format!("{cores:.2}"), "{table}");
        let us = cores * 1e6 / rate;
        assert!(row.contains(&&*format!("{us:.0}")), "{us}: {table}");
    }
    let found = pair(doc.clone(), doc);
    let held = &found.load_points[0];
    for (metric, us) in [(Metric::ServerCpu, 5000.0), (Metric::Cpu, 270.0)] {
        let change = held.find(None, metric).unwrap();
        let value = change.pooled.baseline.unwrap();
        assert!((value - us).abs() < 1e-6, "{metric}: {value}");
    }
}

/// Changes a document.
type Edit = fn(&mut RunDoc);

#[test]
fn another_window_or_name_is_the_same_work() {
    let changes: [(Edit, &str); 5] = [
        (
            |doc| doc.plan.duration_s = 3.0,
            "plan.duration_s: 10.0 in A, 3.0 in B",
        ),
        (
            |doc| doc.plan.until_steady_s = Some(60.0),
            "plan.until_steady_s: none in A, 60.0 in B",
        ),
        (
            |doc| doc.plan.ramp_up_s = 9.0,
            "plan.ramp_up_s: 2.0 in A, 9.0 in B",
        ),
        (|doc| doc.plan.seed = 7, "plan.seed: 42 in A, 7 in B"),
        (
            |doc| doc.plan.profile = "renamed".to_owned(),
            "plan.profile: file-server in A, renamed in B",
        ),
    ];
    for (change, words) in changes {
        let mut other = passes(&[(100, 100)]);
        change(&mut other);
        other.plan.digest = "0".repeat(64);
        let found = compared(passes(&[(100, 100)]), other)
            .of_same_work()
            .unwrap();
        let text = render(&found, Depth::Overview);
        assert!(text.contains(&format!("differs  {words}\n")), "{text}");
        assert!(!text.contains("warning"), "{text}");
    }
}
