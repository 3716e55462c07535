//! Comparisons of runs.

use std::path::Path;
use std::sync::LazyLock;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;
use smbench_model::plan::Mode;
use smbench_report::RunDoc;
use smbench_report::change::Noise;
use smbench_report::compare::{
    Comparison, Condition, Depth, Held, Input, Pair, Verdict, compare, render, write_csv,
};
use smbench_report::doc::{ClientDoc, DifferenceDoc, MachineDoc, OutcomeDoc};
use smbench_report::metric::Metric;

use crate::samples::{
    curve, document, dropped, metadata_plan, metadata_point, on_a_busy_server, point, run,
};

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

/// Scripts can read how conclusive a condition's outcome is.
#[test]
fn a_judgement_has_the_smallest_change_that_its_data_shows() {
    let noisy = pair(passes(&[1600, 1300, 1800]), passes(&[1500, 1204, 1700]));
    let one = pair(passes(&[1600]), passes(&[1500]));
    let json = |condition: &str, pair: &Pair| {
        let condition: Condition = condition.parse().unwrap();
        let judgement = condition.judge(pair).unwrap();
        let json = serde_json::to_value(judgement).unwrap();
        ["failed", "within_noise", "conclusive", "detectable_percent"].map(|key| json[key].clone())
    };
    let [failed, within_noise, conclusive, detectable] = json("throughput < -5%", &noisy);
    assert_eq!(
        [failed, within_noise, conclusive],
        [false, true, false].map(Value::from)
    );
    let detectable = detectable.as_f64().unwrap();
    assert!((detectable - -39.5).abs() < 0.05, "{detectable}");
    let [.., conclusive, rise] = json("throughput > +70%", &noisy);
    assert_eq!(conclusive, true);
    assert!((rise.as_f64().unwrap() - 65.3).abs() < 0.05, "{rise}");
    let [failed, within_noise, conclusive, detectable] = json("throughput < -5%", &one);
    assert_eq!(
        [failed, within_noise, conclusive, detectable],
        [false.into(), true.into(), false.into(), Value::Null]
    );
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
                          A            B   change    95 % interval  verdict              shows from
    throughput  65.5 Mbit/s  73.6 Mbit/s  +12.2 %  +9.3 to +15.2 %  better                   +3.6 %
    ops/s              2001         2246  +12.2 %  +9.3 to +15.2 %  better                   +3.6 %
    mean            1.21 ms      1.21 ms   -0.1 %    -0.3 to 0.0 %  no difference shown      +0.1 %
    p50             1.00 ms      1.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p90             2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p99             2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    p99.9           2.00 ms      2.00 ms    0.0 %   -0.1 to +0.1 %  no difference shown      +0.1 %
    us/op              25.0         22.3  -10.9 %  -13.2 to -8.5 %  better                   +3.6 %

    operations: B against A at 8 clients, 3 passes each
    op     throughput    ops/s     mean      p50      p90      p99    p99.9
    flush           -  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)
    read      +12.2 %  +12.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)
    write     +12.2 %  +12.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)  (0.0 %)

    B against A by load point
    clients  throughput    ops/s      mean      p50      p90      p99      p99.9    us/op
          4     +12.3 %  +12.3 %    -0.2 %  (0.0 %)  (0.0 %)  (0.0 %)  (-82.4 %)  -10.9 %
          8     +12.2 %  +12.2 %  (-0.1 %)  (0.0 %)  (0.0 %)  (0.0 %)    (0.0 %)  -10.9 %

    values are means over passes, intervals Welch's over passes; (in brackets): no difference shown
    shows from: the smallest change that such passes show in 4 of 5 cases
    56 comparisons at the load points: without any difference some 3 would show one
    ");
}

/// Throughput stands where answers were handled late, but percentiles may not.
#[test]
fn percentiles_that_may_be_wrong_are_named_by_side() {
    let late = |doc: RunDoc, clients: u32, key: &str| {
        let mut doc = doc;
        for point in &mut doc.load_points {
            if point.clients == clients {
                point.latency_noise_ns.insert(key.to_owned(), 300_000);
            }
        }
        doc
    };
    let three = || passes(&[1600, 1620, 1580]);
    let mut stalled = late(three(), 8, "p999");
    stalled.load_points[0].stalled = Some(true);
    stalled.load_points[0].stalled_ns = Some(1_500_000_000);
    let both = late(late(three(), 4, "p999"), 8, "p99");
    let compared = compared(stalled, both);
    let text = render(&compared, Depth::Overview);
    for line in [
        "p99.9 of A at 8 clients may be too high: answers were handled late\n",
        "p99 and higher of B at 4, 8 clients may be too high: answers were handled late\n",
        "latencies of A at 4 clients miss a stall at the end of the window\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(!text.contains('~'), "{text}");
    let json = serde_json::to_value(&compared).unwrap();
    let other = &json["pairs"][0]["peak"]["other"];
    assert_eq!(other["noisy_from"], "p99");
    assert_eq!(other["stalled"], false);

    let pair = &compared.pairs[0];
    let of_p999 = judged("p99.9 at 8 > +5%", pair);
    let ending = "; p99.9 of A may be too high; p99.9 of B may be too high";
    assert!(of_p999.ends_with(ending), "{of_p999}");
    let of_p99 = judged("p99 at 8 > +5%", pair);
    assert!(of_p99.ends_with("; p99 of B may be too high"), "{of_p99}");
    assert!(!of_p99.contains("p99 of A may"), "{of_p99}");
    let of_stall = judged("p90 at 4 > +5%", pair);
    assert!(
        of_stall.ends_with("; p90 of A misses a stall"),
        "{of_stall}"
    );
    for certain in ["p90 at 8 > +5%", "throughput at 8 < -5%"] {
        let judged = judged(certain, pair);
        assert!(!judged.contains("may be"), "{judged}");
    }
}

#[test]
fn one_pass_cannot_tell() {
    let text = render(&compared(passes(&[1600]), passes(&[1200])), Depth::Overview);
    assert_snapshot!(text, @"
    A        before.json: file-server on smb://bench@files.example/data, 2026-01-02T03:04:05Z
    B        after.json: file-server on smb://bench@files.example/data, 2026-01-02T03:04:05Z

    B against A at the peak, 8 clients, 1 pass each
                          A            B   change       95 % interval  verdict      shows from
    throughput  65.5 Mbit/s  49.2 Mbit/s  -25.0 %  -25.0 to -25.0 % *  cannot tell           -
    ops/s              2001         1501  -25.0 %  -25.0 to -25.0 % *  cannot tell           -
    mean            1.21 ms      1.22 ms   +0.4 %                   -  cannot tell           -
    p50             1.00 ms      1.00 ms    0.0 %                   -  cannot tell           -
    p90             2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    p99             2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    p99.9           2.00 ms      2.00 ms    0.0 %                   -  cannot tell           -
    us/op              25.0         33.3  +33.3 %                   -  cannot tell           -

    operations: B against A at 8 clients, 1 pass each
    op     throughput     ops/s    mean     p50     p90     p99   p99.9
    flush           -    0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?
    read     -25.0 %?  -25.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?
    write    -25.0 %?  -25.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?  0.0 %?

    B against A by load point
    clients  throughput     ops/s     mean     p50     p90     p99     p99.9     us/op
          4    -25.0 %?  -25.0 %?  +0.8 %?  0.0 %?  0.0 %?  0.0 %?  +1400 %?  +33.3 %?
          8    -25.0 %?  -25.0 %?  +0.4 %?  0.0 %?  0.0 %?  0.0 %?    0.0 %?  +33.3 %?

    ?: cannot tell: one pass does not say how far runs lie apart; repeat both, with --repeat 5
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
    assert_eq!(of_reads.count(), 2 * 7, "seven metrics at each load point");
}

#[test]
fn what_differs_is_told_apart_as_subject_and_as_warning() {
    let mut other = run(vec![point(4, 1, 800), point(8, 1, 1600)]);
    other.plan.work.outstanding = 1;
    other.plan.sessions.options.signing = Mode::Off;
    other.server.signing = None;
    let found = pair(passes(&[1600]), document(&other));
    let keys = |differences: &[smbench_report::compare::Difference]| {
        let keys = differences.iter().map(|difference| difference.key.clone());
        keys.collect::<Vec<_>>()
    };
    assert_eq!(keys(&found.settings), ["plan.signing", "server.signing"]);
    assert_eq!(keys(&found.workload), ["plan.outstanding"]);
    let text = render(
        &compared(passes(&[1600]), document(&other)),
        Depth::Overview,
    );
    for line in [
        "differs  plan.signing: auto in A, off in B\n",
        "differs  server.signing: aes-128-cmac in A, off in B\n",
        "warning  not the same work: plan.outstanding: 4 in A, 1 in B\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

/// Returns a document of one pass whose profile does other work.
fn of_metadata() -> RunDoc {
    let mut record = run(vec![metadata_point(8, 100)]);
    record.plan = metadata_plan(&[8]);
    document(&record)
}

#[test]
fn runs_of_different_work_are_refused_unless_it_is_forced() {
    let refusal = |other: RunDoc| compared(passes(&[1600]), other).of_same_work();
    assert_eq!(
        refusal(of_metadata()).unwrap_err().to_string(),
        "before.json and after.json did different work (A ran profile file-server, B ran metadata): \
         add --force to compare them anyway"
    );
    let with = |change: fn(&mut RunDoc)| {
        let mut doc = passes(&[1600]);
        change(&mut doc);
        refusal(doc).map_err(|error| error.to_string())
    };
    let outstanding = with(|doc| doc.plan.outstanding = 1).unwrap_err();
    assert!(
        outstanding.contains("(plan.outstanding: 4 in A, 1 in B)"),
        "{outstanding}"
    );
    // The same operations, but measured for longer, with another seed, or under
    // another name.
    for change in [
        |doc: &mut RunDoc| doc.plan.seed += 1,
        |doc: &mut RunDoc| doc.plan.duration_s *= 2.0,
        |doc: &mut RunDoc| doc.plan.profile = "renamed".to_owned(),
        |doc: &mut RunDoc| doc.server.url = "smb://bench@elsewhere/data".to_owned(),
    ] {
        assert_eq!(with(change).unwrap().pairs.len(), 1);
    }
    // If other pairs remain, those are compared.
    let input = |name: &str, run| Input::of_run(Path::new(name), run);
    let three = [
        input("a.json", passes(&[1600])),
        input("b.json", of_metadata()),
        input("c.json", passes(&[1500])),
    ];
    let left = compare(&three).unwrap().of_same_work().unwrap();
    let [pair] = &left.pairs[..] else {
        panic!("one did the same work: {left:?}");
    };
    assert_eq!(pair.other.name, "c.json");
    let [told] = &left.unmatched[..] else {
        panic!("one did not: {left:?}");
    };
    assert!(told.starts_with("a.json and b.json did different work"));
}

#[test]
fn profiles_that_differ_take_one_line() {
    let text = render(&compared(passes(&[1600]), of_metadata()), Depth::Overview);
    let warnings = text.lines().filter(|line| line.starts_with("warning"));
    let expected = ["warning  A ran profile file-server, B ran metadata"];
    assert_eq!(warnings.collect::<Vec<_>>(), expected);
}

#[test]
fn of_lists_and_long_values_the_part_that_differs_is_shown() {
    let differs = |one: &[&str], other: &[&str]| {
        let with = |notes: &[&str]| {
            let mut doc = passes(&[1600]);
            doc.server.notes = notes.iter().map(|note| (*note).to_owned()).collect();
            doc
        };
        let text = render(&compared(with(one), with(other)), Depth::Overview);
        let line = text.lines().find(|line| line.contains("server.notes"));
        line.map(|line| line.trim_start_matches("differs").trim().to_owned())
    };
    let common = "server and load generator share this machine";
    let scratch = |setting: &str| {
        format!("a scratch Samba 4.17.12 that keeps its files in memory, with {setting}")
    };
    let (default, tuned) = (scratch("strict sync = yes"), scratch("strict sync = no"));
    let line = differs(&[common, &default], &[common, &tuned]);
    assert_eq!(
        line.unwrap(),
        "server.notes: ...with strict sync = yes in A, ...with strict sync = no in B"
    );
    let line = differs(&[common], &[common, "two ports"]);
    assert_eq!(line.unwrap(), "server.notes: two ports only in B");
    let line = differs(&[common, "two ports"], &["10 Gbit/s", common]);
    assert_eq!(
        line.unwrap(),
        "server.notes: two ports in A, 10 Gbit/s in B"
    );
}

/// A server that refused an operation did not do that work, no matter how fast it
/// was.
#[test]
fn what_only_one_server_did_as_recorded_is_other_work() {
    let with = |op: &str, count: u64| {
        let mut doc = passes(&[1600]);
        doc.load_points[1].differences = vec![DifferenceDoc {
            op: op.to_owned(),
            recorded: "STATUS_SUCCESS".to_owned(),
            seen: "STATUS_NOT_SUPPORTED".to_owned(),
            count,
        }];
        doc
    };
    let found = compared(passes(&[1600]), with("flush", 5000));
    let text = render(&found, Depth::Overview);
    let told = "warning  not the same work: not as recorded: flush: 0 % of all at 8 clients in A, \
                19.99 % of all at 8 clients in B\n";
    assert!(text.contains(told), "{text}");
    let json: Value = serde_json::to_value(&found).unwrap();
    let workload = &json["pairs"][0]["workload"];
    assert_eq!(workload[0]["key"], "not as recorded: flush");
    // Shares that are equally small, or almost zero.
    for (one, other) in [
        (with("flush", 5000), with("flush", 5010)),
        (passes(&[1600]), with("mkdir", 3)),
    ] {
        assert_eq!(pair(one, other).workload, Vec::new());
    }
    let found = pair(with("flush", 5000), with("read", 5000));
    let keys = found.workload.iter().map(|found| &found.key[..]);
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["not as recorded: flush", "not as recorded: read"]
    );
}

#[test]
fn older_documents_do_not_differ_by_what_they_could_not_tell() {
    let mut older = passes(&[1600]);
    older.plan.driver = None;
    older.plan.pin_threads = None;
    older.plan.ciphers = None;
    let found = pair(older.clone(), passes(&[1600]));
    assert_eq!((found.settings, found.workload), (Vec::new(), Vec::new()));
    older.plan.digest = "0".repeat(64);
    let found = pair(older, passes(&[1600]));
    assert_eq!(found.workload[0].key, "plan.digest");
}

#[test]
fn points_that_cannot_be_compared_are_named() {
    let baseline = run(vec![
        point(4, 1, 800),
        point(8, 1, 1600),
        point(16, 1, 1500),
        dropped(point(4, 2, 10), 3),
        point(8, 2, 1600),
    ]);
    let mut other = passes(&[1500, 1510]);
    other.load_points[1].generator_limited = Some(true);
    other.outcome = OutcomeDoc::Interrupted;
    let comparison = compared(document(&baseline), other);
    let text = render(&comparison, Depth::Overview);
    for line in [
        "left out only in A: 16 clients\n",
        "left out not valid in A: 4 clients, pass 2: 3 of 4 clients dropped out\n",
        "2026-01-02T03:04:05Z, interrupted\n",
        "    ~ 8 ",
        "~: B was client-limited at 8 clients: its throughput is not to be trusted\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let [four, eight] = &comparison.pairs[0].load_points[..] else {
        panic!("two load points in common");
    };
    assert_eq!((four.baseline.passes, four.other.passes), (1, 2));
    let verdict = |held: &Held| held.find(None, Metric::Throughput).unwrap().verdict;
    assert_eq!(verdict(four), Verdict::CannotTell);
    assert_eq!(verdict(eight), Verdict::Worse);
}

/// A peak at fewer clients hides that the run failed with more clients.
#[test]
fn a_run_that_lost_what_the_baseline_bore_passes_no_condition() {
    let whole = || {
        run(vec![
            point(4, 1, 800),
            point(8, 1, 1600),
            point(16, 1, 1590),
        ])
    };
    let mut lost = whole();
    lost.load_points[2] = dropped(point(16, 1, 10), 16);
    let mut stopped = whole();
    stopped.load_points.pop();
    let without = "--fail-if 'throughput < -5%': B has no valid result at 16 clients, though it was \
                   to have one and A has; a condition with `at CLIENTS` is about one load point";
    for record in [lost, stopped] {
        let found = pair(document(&whole()), document(&record));
        assert_eq!(found.lost, [16]);
        assert_eq!(judged("throughput < -5%", &found), without);
        for condition in ["p99 > +10%", "ops/s at peak < -5%"] {
            let line = judged(condition, &found);
            assert!(
                line.contains(": B has no valid result at 16 clients"),
                "{line}"
            );
        }
        let at_eight = judged("p99 at 8 > +10%", &found);
        assert!(at_eight.starts_with("inconclusive: "), "{at_eight}");
        // Load points that the baseline lost, or that the other's plan did not
        // have, are no reason to fail.
        let turned = pair(document(&record), document(&whole()));
        assert_eq!(turned.lost, [0; 0]);
        assert!(judged("throughput < -5%", &turned).starts_with("inconclusive: "));
    }
    let fewer = document(&run(vec![point(4, 1, 800), point(8, 1, 1600)]));
    assert_eq!(pair(document(&whole()), fewer).lost, [0; 0]);
}

#[test]
fn peaks_at_other_clients_are_not_taken_for_the_same_load() {
    let shifted = run(vec![point(4, 1, 1700), point(8, 1, 1600)]);
    let found = pair(passes(&[1600]), document(&shifted));
    let peak = found.peak.as_ref().unwrap();
    assert_eq!((peak.baseline.clients, peak.other.clients), (8, 4));
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
fn without_a_common_load_point_there_is_nothing_to_compare() {
    let inputs = [passes(&[1600]), document(&run(vec![point(2, 1, 50)]))];
    let inputs = inputs.map(|run| Input::of_run(Path::new("x.json"), run));
    assert_eq!(
        compare(&inputs).unwrap_err().to_string(),
        "no load point in common: x.json has 4, 8 clients, x.json has 2 clients"
    );
    assert_eq!(
        compare(&inputs[..1]).unwrap_err().to_string(),
        "nothing to compare x.json with: give another result, or a study of several servers"
    );
}

#[test]
fn a_run_without_a_valid_load_point_is_not_compared() {
    let lost = document(&run(vec![dropped(point(8, 1, 10), 8)]));
    let input = |name: &str, run: &RunDoc| Input::of_run(Path::new(name), run.clone());
    let (whole, lost) = (input("a.json", &passes(&[1600])), input("b.json", &lost));
    let nothing = |inputs: &[Input]| compare(inputs).unwrap_err().to_string();
    let told = "nothing to compare: no load point in b.json is valid and saw an operation";
    assert_eq!(nothing(&[whole.clone(), lost.clone()]), told);
    assert_eq!(
        nothing(&[lost.clone(), lost.clone()]),
        "nothing to compare: no load point in b.json and b.json is valid and saw an operation"
    );
    // With other results in the comparison, this one is named and the others are
    // compared.
    let elsewhere = input("c.json", &document(&run(vec![point(2, 1, 50)])));
    let found = compare(&[whole.clone(), lost, elsewhere, whole]).unwrap();
    assert_eq!(found.pairs.len(), 1);
    assert_eq!(
        found.unmatched,
        [
            told,
            "no load point in common: a.json has 4, 8 clients, c.json has 2 clients"
        ]
    );
    assert!(render(&found, Depth::Overview).contains(told));
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
        ["ops/s", "mean", "p50", "p90", "p99", "p99.9", "us/op"]
    );
    assert_eq!(
        judged("throughput < -5%", &found),
        "--fail-if 'throughput < -5%': neither A nor B has throughput at 1 client"
    );
    assert_eq!(
        judged("read p99 > 5%", &found),
        "--fail-if 'read p99 > 5%': neither A nor B has p99 of read at 1 client"
    );
    assert_eq!(
        judged("echo ops/s < -5%", &found),
        "inconclusive: echo ops/s < -5%: one pass: noise unknown, repeat with --repeat 5; -50.0 % at \
         1 client, B against A"
    );
}

#[test]
fn a_condition_fails_beyond_its_limit_and_the_noise() {
    let steady = pair(passes(&[1600, 1604, 1596]), passes(&[1500, 1504, 1496]));
    let noisy = pair(passes(&[1600, 1300, 1800]), passes(&[1500, 1204, 1700]));
    for (condition, pair, verdict) in [
        ("throughput < -5%", &steady, "failed"),
        ("throughput < -7%", &steady, "passed"),
        ("throughput < -5%", &noisy, "inconclusive"),
        ("throughput < -60%", &noisy, "passed"),
        ("throughput > 0%", &steady, "passed"),
        ("read ops/s at 4 < -5%", &steady, "failed"),
        ("us/op > +5%", &steady, "failed"),
    ] {
        let line = judged(condition, pair);
        assert!(
            line.starts_with(&format!("{verdict}: {condition}: ")),
            "{line}"
        );
    }
    assert_snapshot!(judged("throughput < -5%", &steady), @"failed: throughput < -5%: -6.3 % at 8 clients, B against A (95 % interval -6.8 to -5.7 %)");
    assert_snapshot!(judged("throughput < -5%", &noisy), @"inconclusive: throughput < -5%: these passes can only show changes beyond -39.5 %; -6.3 % at 8 clients, B against A (95 % interval -35.6 to +36.4 %)");
}

#[test]
fn a_value_that_only_one_has_is_an_error_for_a_condition() {
    let mut silent = passes(&[1600]);
    for point in &mut silent.load_points {
        point.client = ClientDoc {
            cpu_us_per_op: None,
            ..point.client
        };
    }
    let found = pair(passes(&[1600]), silent);
    assert_eq!(
        judged("us/op > 5%", &found),
        "--fail-if 'us/op > 5%': B has no us/op at 8 clients"
    );
    let at_peak = found
        .peak
        .as_ref()
        .unwrap()
        .find(None, Metric::Cpu)
        .unwrap();
    assert_eq!(
        (at_peak.other, at_peak.verdict),
        (None, Verdict::CannotTell)
    );
}

#[test]
fn cpu_time_of_the_server_is_compared_where_both_measured_it() {
    let busy = || document(&run(vec![on_a_busy_server(point(8, 1, 1600))]));
    let mut idler = busy();
    let used = idler.load_points[0].server_cpu.as_mut().unwrap();
    *used.us_per_op.as_mut().unwrap() *= 0.5;
    let found = pair(busy(), idler);
    let line = judged("server-us/op > 10%", &found);
    assert!(line.contains("; -50.0 % at 8 clients"), "{line}");
    let line = judged("server-us/op > 10%", &pair(busy(), passes(&[1600])));
    assert!(
        line.ends_with("B has no server-us/op at 8 clients"),
        "{line}"
    );
}

/// CPU time of the serving processes is less than that of their whole machine.
#[test]
fn cpu_time_of_two_kinds_is_not_compared() {
    let of = |scopes: &[&str]| {
        let points = (1..)
            .zip(scopes)
            .map(|(pass, _)| on_a_busy_server(point(8, pass, 1600)));
        let mut doc = document(&run(points.collect()));
        for (point, scope) in doc.load_points.iter_mut().zip(scopes) {
            point.server_cpu.as_mut().unwrap().scope = Some((*scope).to_owned());
        }
        doc
    };
    let found = pair(of(&["processes"]), of(&["machine"]));
    let changed = found.load_points[0].find(None, Metric::ServerCpu).unwrap();
    assert!(changed.baseline.is_some() && changed.baseline == changed.other);
    assert_eq!(
        (changed.change_percent, changed.verdict),
        (None, Verdict::CannotTell)
    );
    assert_eq!(
        judged("server-us/op > 10%", &found),
        "--fail-if 'server-us/op > 10%': server-us/op at 8 clients is of the processes that serve in \
         one, of a machine in the other"
    );
    let text = render(
        &compared(of(&["processes"]), of(&["machine"])),
        Depth::Overview,
    );
    let told = "differs  server_cpu.scope: processes in A, machine in B\n";
    assert!(text.contains(told), "{text}");
    // There is no mean over passes of both kinds either.
    let mixed = pair(of(&["machine", "machine"]), of(&["processes", "machine"]));
    let line = judged("server-us/op > 10%", &mixed);
    assert!(
        line.ends_with(": B has no server-us/op at 8 clients"),
        "{line}"
    );
}

#[test]
fn another_generator_is_told_where_both_say_what_it_is() {
    let on = |cpu: Option<&str>, memory: u64| RunDoc {
        machine: Some(MachineDoc {
            cpu: cpu.map(str::to_owned),
            cpus: Some(2),
            memory_bytes: Some(memory),
            ..MachineDoc::default()
        }),
        ..passes(&[1600])
    };
    let keys = |one: RunDoc, other: RunDoc| {
        let settings = pair(one, other).settings.into_iter();
        settings.map(|found| found.key).collect::<Vec<_>>()
    };
    let (fast, slow) = (|| on(Some("fast"), 8 << 30), || on(Some("slow"), 4 << 30));
    assert_eq!(keys(fast(), slow()), ["machine.cpu"]);
    assert_eq!(keys(fast(), on(None, 8 << 30)), [""; 0]);
    assert_eq!(keys(fast(), passes(&[1600])), [""; 0]);
    // Other work is still a difference.
    let mut other = slow();
    other.plan.digest = "0".repeat(64);
    assert_eq!(pair(fast(), other).workload[0].key, "plan.digest");
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
    assert!(throughput.low_percent < throughput.change_percent);
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
    // 8 metrics in total, 7 of read and of write, 6 of flush; the peak and two load
    // points.
    assert_eq!(rows.len(), 1 + 3 * (8 + 7 + 7 + 6));
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
            prop_assert_eq!(change.change_percent, Some(0.0));
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
            let (gain, loss) = (there.change_percent.unwrap(), back.change_percent.unwrap());
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
