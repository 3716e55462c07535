//! Comparisons of runs.

mod conditions;
mod differences;
mod durability;
mod populations;
mod verdicts;

use std::path::Path;
use std::sync::LazyLock;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;
use smbench_report::RunDoc;
use smbench_report::change::Noise;
use smbench_report::compare::{
    Comparison, Condition, Depth, Input, Pair, Verdict, compare, render, write_csv,
};
use smbench_report::metric::Metric;

use crate::samples::{curve, document, metadata_plan, metadata_point, point, run};

/// One pass with one load point.
static BASE: LazyLock<RunDoc> = LazyLock::new(|| document(&run(vec![point(8, 1, 40)])));

/// Returns passes at 4 and 8 clients, the latter being the peak, with these reads
/// per second.
pub(crate) fn passes(reads: &[u64]) -> RunDoc {
    let points = (1..)
        .zip(reads)
        .flat_map(|(pass, reads)| [point(4, pass, reads / 2), point(8, pass, *reads)]);
    document(&run(points.collect()))
}

fn compared(baseline: RunDoc, other: RunDoc) -> Comparison {
    let input = |name: &str, run| Input::of_run(Path::new(name), run);
    compare(&[input("before.json", baseline), input("after.json", other)]).unwrap()
}

fn pair(baseline: RunDoc, other: RunDoc) -> Pair {
    let mut pairs = compared(baseline, other).pairs;
    assert_eq!(pairs.len(), 1);
    pairs.remove(0)
}

pub(crate) fn judged(condition: &str, pair: &Pair) -> String {
    let condition: Condition = condition.parse().unwrap();
    match condition.judge(pair) {
        Ok(judgement) => judgement.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn passes_make_verdicts() {
    let text = render(
        &compared(passes(&[1600, 1620, 1580]), passes(&[1800, 1812, 1776])),
        Depth::Overview,
    );
    assert_snapshot!(text, @"
    A        before.json: file-server on smb://bench@files.example/data, 2026-01-02T03:04:05Z
    B        after.json: file-server on smb://bench@files.example/data, 2026-01-02T03:04:05Z

    B against A at the peak, 8 clients, 3 passes each
                          A            B   change    95 % interval  verdict              detectable
    throughput  65.5 Mbit/s  73.6 Mbit/s  +12.2 %  +9.3 to +15.2 %  better                   -3.4 %
    ops/s              2001         2246  +12.2 %  +9.3 to +15.2 %  better                   -3.4 %
    mean            1.21 ms      1.21 ms   -0.1 %    -0.3 to 0.0 %  no difference shown      +0.1 %
    p50             1.00 ms      1.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p90             2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p95             2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p99             2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p99.9           2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    max             30.0 ms      30.0 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    us/op              25.0         22.3  -10.9 %  -13.2 to -8.5 %  better                   +3.6 %

    operations: B against A at 8 clients, 3 passes each
    op     throughput    ops/s     mean      p50      p90      p95      p99    p99.9
    flush           -  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)
    read      +12.2 %  +12.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)
    write     +12.2 %  +12.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)

    B against A by load point
    clients  throughput    ops/s      mean      p50      p90      p95      p99    p99.9    us/op
          4     +12.3 %  +12.3 %    -0.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  -10.9 %
          8     +12.2 %  +12.2 %  (-0.1 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  -10.9 %

    response times are over the operations of all passes; throughput and ops/s are means over passes
    intervals are of the noise between passes; (in brackets): no difference shown
    detectable: the smallest change for the worse that such passes show (80 % power)
    with 72 comparisons at the load points, about 4 false positives are expected
    ");
}

#[test]
fn one_pass_cannot_tell() {
    let text = render(&compared(passes(&[1600]), passes(&[1200])), Depth::Overview);
    assert_snapshot!(text, @"
    A        before.json: file-server on smb://bench@files.example/data, 2026-01-02T03:04:05Z
    B        after.json: file-server on smb://bench@files.example/data, 2026-01-02T03:04:05Z

    B against A at the peak, 8 clients, 1 pass each
                          A            B   change       95 % interval  verdict      detectable
    throughput  65.5 Mbit/s  49.2 Mbit/s  -25.0 %  -25.0 to -25.0 % *  cannot tell           -
    ops/s              2001         1501  -25.0 %  -25.0 to -25.0 % *  cannot tell           -
    mean            1.21 ms      1.22 ms   +0.4 %                   -  cannot tell           -
    p50             1.00 ms      1.00 ms    0.0 %                   -  cannot tell           -
    p90             2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    p95             2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    p99             2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    p99.9           2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    max             30.0 ms      30.0 ms    0.0 %                   -  cannot tell           -
    us/op              25.0         33.3  +33.3 %                   -  cannot tell           -

    operations: B against A at 8 clients, 1 pass each
    op     throughput     ops/s    mean     p50     p90     p95     p99   p99.9
    flush           -    0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?
    read     -25.0 %?  -25.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?
    write    -25.0 %?  -25.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?

    B against A by load point
    clients  throughput     ops/s     mean     p50     p90     p95     p99     p99.9     us/op
          4    -25.0 %?  -25.0 %?  +0.8 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  +1400 %?  +33.3 %?
          8    -25.0 %?  -25.0 %?  +0.4 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?    0.0 %?  +33.3 %?

    ?: cannot tell: one pass does not say how far runs lie apart; repeat both, with repeat 5
    *: within the windows of these runs only, by batch means: noise from run to run comes on top
    ");
}

#[test]
fn details_have_every_number() {
    let text = render(
        &compared(passes(&[1600, 1620]), passes(&[1600, 1624])),
        Depth::Details,
    );
    let lines: Vec<_> = text.lines().collect();
    let of_reads = lines.iter().filter(|line| line.starts_with("read"));
    assert_eq!(of_reads.count(), 2 * 9, "nine metrics at each load point");
}

#[test]
fn peaks_at_other_clients_are_not_taken_for_the_same_load() {
    let shifted = run(vec![point(4, 1, 1700), point(8, 1, 1600)]);
    let found = pair(passes(&[1600]), document(&shifted));
    let peak = found.peak.as_ref().unwrap();
    assert_eq!(
        (peak.baseline.load.clients, peak.other.load.clients),
        (8, 4)
    );
    let text = render(
        &compared(passes(&[1600]), document(&shifted)),
        Depth::Overview,
    );
    assert!(
        text.contains("\nB against A at the peak, A at 8 clients, B at 4 clients, 1 pass each\n"),
        "{text}"
    );
    assert!(
        text.contains("\nB against A at 8 clients, 1 pass each\n"),
        "{text}"
    );
    let throughput = judged("throughput < -5%", &found);
    assert!(
        throughput.contains("at the peaks of 8 and 4 clients, B against A"),
        "{throughput}"
    );
    let mean = judged("mean > 0%", &found);
    assert!(mean.contains("; 0.0 % at 8 clients, B against A"), "{mean}");
}

#[test]
fn a_mix_that_moves_no_data_is_compared_in_operations() {
    let metadata = |echos| {
        let mut record = run(vec![metadata_point(1, echos)]);
        record.plan = metadata_plan(&[1]);
        document(&record)
    };
    let found = pair(metadata(100), metadata(50));
    let names: Vec<_> = found.load_points[0]
        .metrics
        .iter()
        .map(|found| found.metric.name())
        .collect();
    assert_eq!(
        names,
        [
            "ops/s", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "us/op"
        ]
    );
    assert_eq!(
        judged("throughput < -5%", &found),
        "fail_if 'throughput < -5%': neither A nor B has throughput at 1 client"
    );
    assert_eq!(
        judged("read p99 > 5%", &found),
        "fail_if 'read p99 > 5%': neither A nor B has p99 of read at 1 client"
    );
    assert_eq!(
        judged("echo ops/s < -5%", &found),
        "inconclusive: echo ops/s < -5%: one pass: noise unknown, repeat with repeat 5; -50.0 % at \
         1 client, B against A"
    );
}

#[test]
fn a_window_of_ten_seconds_has_an_interval_but_no_verdict() {
    let mut shaky = passes(&[1600]);
    for point in &mut shaky.load_points {
        let series = point.series.as_mut().unwrap();
        for columns in series.ops.values_mut() {
            columns.bytes[3] /= 2;
        }
    }
    let found = pair(shaky, passes(&[1200]));
    let throughput = found
        .peak
        .as_ref()
        .unwrap()
        .find(None, Metric::Throughput)
        .unwrap();
    assert_eq!(
        (throughput.noise, throughput.verdict),
        (Some(Noise::Window), Verdict::CannotTell)
    );
    assert!(throughput.pooled.low_percent < throughput.pooled.change_percent);
    let p99 = found
        .peak
        .as_ref()
        .unwrap()
        .find(None, Metric::P99)
        .unwrap();
    assert_eq!(
        p99.noise, None,
        "a series of percentiles is not one of the window's"
    );
}

#[test]
fn json_and_csv_have_every_number() {
    let comparison = compared(passes(&[1600, 1620]), passes(&[1700, 1724]));
    let json: Value = serde_json::to_value(&comparison).unwrap();
    let throughput = &json["pairs"][0]["load_points"][1]["metrics"][0];
    assert_eq!(throughput["metric"], "throughput");
    assert_eq!(throughput["noise"], "passes");
    assert_eq!(
        json["pairs"][0]["peak"]["ops"]["flush"][0]["verdict"],
        "no-difference-shown"
    );
    let mut csv = Vec::new();
    write_csv(&comparison, &mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    let rows: Vec<_> = text.lines().collect();
    // 10 metrics in total, 9 of read and of write, 8 of flush; the peak and two load
    // points.
    assert_eq!(rows.len(), 1 + 3 * (10 + 9 + 9 + 8));
    let change = throughput["change_percent"].to_string();
    let row = rows
        .iter()
        .find(|row| row.contains("load point,8,8,all,throughput,Mbit/s,"));
    assert!(row.unwrap().contains(&format!(",{change},")), "{row:?}");
}

#[test]
fn foreign_names_cannot_steer_a_terminal() {
    let mut evil = passes(&[1600]);
    evil.plan.profile = "x\u{1b}[2J".to_owned();
    evil.server.url = "smb://\nhost".to_owned();
    evil.load_points[0].valid = false;
    evil.load_points[0].invalid_reason = Some("\u{7}".to_owned());
    let comparison = compared(evil, passes(&[1600]));
    for depth in [Depth::Overview, Depth::Details] {
        let text = render(&comparison, depth);
        let controls = text.chars().filter(|c| c.is_control() && *c != '\n');
        assert_eq!(controls.count(), 0, "{text:?}");
    }
}

/// Returns a document with a pass for each of these percentages, which scale its
/// numbers.
fn scaled(base: &RunDoc, percents: &[u16]) -> RunDoc {
    let mut doc = base.clone();
    let passes = (1..).zip(percents).map(|(repeat, percent)| {
        let scale = |value: &mut f64| *value *= f64::from(*percent) / 100.0;
        let mut point = base.load_points[0].clone();
        point.repeat = repeat;
        scale(&mut point.throughput_mbps);
        scale(&mut point.ops_per_s);
        scale(&mut point.latency_ns.as_mut().unwrap().mean);
        point.client.cpu_us_per_op.as_mut().map(scale);
        for op in point.ops.values_mut() {
            scale(&mut op.response_ns.as_mut().unwrap().mean);
        }
        point
    });
    doc.load_points = passes.collect();
    doc
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_does_not_differ_from_itself(percents in prop::collection::vec(1..500_u16, 1..6)) {
        let doc = scaled(&BASE, &percents);
        let found = pair(doc.clone(), doc);
        prop_assert!(found.settings.is_empty() && found.workload.is_empty());
        let held = found.peak.iter().chain(&found.load_points);
        for change in held.flat_map(|held| held.metrics.iter().chain(held.ops.values().flatten())) {
            prop_assert_eq!(change.pooled.change_percent, Some(0.0));
            let expected = match percents.len() {
                1 => Verdict::CannotTell,
                _ => Verdict::NoDifferenceShown,
            };
            prop_assert_eq!(change.verdict, expected);
        }
    }

    #[test]
    fn turned_around_signs_and_verdicts_turn(
        one in prop::collection::vec(1..500_u16, 2..6),
        two in prop::collection::vec(1..500_u16, 2..6),
    ) {
        let [one, two] = [one, two].map(|percents| scaled(&BASE, &percents));
        let (there, back) = (pair(one.clone(), two.clone()), pair(two, one));
        let changes = |pair: &Pair| {
            let held = &pair.load_points[0];
            let ops = held.ops.values().flatten();
            held.metrics.iter().chain(ops).copied().collect::<Vec<_>>()
        };
        for (there, back) in changes(&there).iter().zip(changes(&back)) {
            let (gain, loss) = (there.pooled.change_percent.unwrap(), back.pooled.change_percent.unwrap());
            prop_assert_eq!(gain > 0.0, loss < 0.0);
            let turned = match there.verdict {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                other => other,
            };
            prop_assert_eq!(turned, back.verdict);
        }
    }
}

#[test]
fn the_frozen_document_compares_with_a_new_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/v1-curve.json");
    let inputs = [
        Input::load(&path).unwrap(),
        Input::of_run(Path::new("new.json"), document(&curve())),
    ];
    assert!(!compare(&inputs).unwrap().pairs[0].load_points.is_empty());
}
