//! Conditions under which a comparison fails.

use insta::assert_snapshot;
use serde_json::Value;
use smbench_report::RunDoc;
use smbench_report::compare::{Condition, Depth, Pair, Verdict, render};
use smbench_report::doc::{ClientDoc, Named};
use smbench_report::metric::Metric;

use super::{compared, judged, pair, passes};
use crate::samples::{document, dropped, on_a_busy_server, point, run};

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

/// The detectable change of a table and that of a condition are one number.
#[test]
fn the_detectable_change_has_one_direction() {
    let noisy = compared(passes(&[1600, 1300, 1800]), passes(&[1500, 1204, 1700]));
    let text = render(&noisy, Depth::Overview);
    let row = text.lines().find(|line| line.starts_with("throughput"));
    assert!(row.unwrap().ends_with(" -39.5 %"), "{text}");
    let line = judged("throughput < -5%", &noisy.pairs[0]);
    assert!(line.contains("changes beyond -39.5 %"), "{line}");
}

/// A condition on a rate or on a response time names the sides whose generator was the
/// limit.
#[test]
fn a_condition_names_the_client_limited_sides() {
    let mut limited = passes(&[1600, 1620, 1580]);
    for point in &mut limited.load_points {
        point.generator_limited = Some(point.clients == 8);
    }
    let pair = pair(passes(&[1600, 1620, 1580]), limited);
    for (condition, ending) in [
        ("throughput < -5%", "; throughput of B is client-limited"),
        ("ops/s at 8 < -5%", "; ops/s of B is client-limited"),
        ("p99 at 8 > +5%", "; p99 of B is client-limited"),
    ] {
        let line = judged(condition, &pair);
        assert!(line.ends_with(ending), "{line}");
    }
    for certain in ["throughput at 4 < -5%", "us/op at 8 > +5%"] {
        let line = judged(certain, &pair);
        assert!(!line.contains("client-limited"), "{line}");
    }
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
    let without = "fail_if 'throughput < -5%': B has no valid result at 16 clients, though it was \
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
        "fail_if 'us/op > 5%': B has no us/op at 8 clients"
    );
    let at_peak = found
        .peak
        .as_ref()
        .unwrap()
        .find(None, Metric::Cpu)
        .unwrap();
    assert_eq!(
        (at_peak.pooled.other, at_peak.verdict),
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
            point.server_cpu.as_mut().unwrap().scope = Some(Named::from((*scope).to_owned()));
        }
        doc
    };
    let found = pair(of(&["processes"]), of(&["machine"]));
    let changed = found.load_points[0].find(None, Metric::ServerCpu).unwrap();
    assert!(changed.pooled.baseline.is_some() && changed.pooled.baseline == changed.pooled.other);
    assert_eq!(
        (changed.pooled.change_percent, changed.verdict),
        (None, Verdict::CannotTell)
    );
    assert_eq!(
        judged("server-us/op > 10%", &found),
        "fail_if 'server-us/op > 10%': server-us/op at 8 clients is of the processes that serve in \
         one, of a machine in the other"
    );
    let text = render(
        &compared(of(&["processes"]), of(&["machine"])),
        Depth::Overview,
    );
    let words = "differs  server_cpu.scope: processes in A, machine in B\n";
    assert!(text.contains(words), "{text}");
    // There is no mean over passes of both kinds either.
    let mixed = pair(of(&["machine", "machine"]), of(&["processes", "machine"]));
    let line = judged("server-us/op > 10%", &mixed);
    assert!(
        line.ends_with(": B has no server-us/op at 8 clients"),
        "{line}"
    );
}
