//! Probes of searches: how they are judged, and how their answers are shown and compared.

use smbench_model::record::OpTotals;
use smbench_model::search::{Confirmations, Grain, SearchSpec};
use smbench_report::compare::{self, Depth, Input, compare};
use smbench_report::doc::{
    DifferenceDoc, FailureDoc, FindDoc, FindEnd, FindKind, LoadPointDoc, ProbeOutcome, RunDoc,
};
use smbench_report::find::answer;
use smbench_report::published;
use smbench_report::study::Study;
use smbench_report::{Find, render};

use crate::document::populations::company_passes;
use crate::samples::{document, point, run};

fn spec() -> SearchSpec {
    SearchSpec {
        start: 1000.0,
        min: 1.0,
        max: 100_000.0,
        grain: Grain::Fine,
        precision: 0.02,
        confirmations: Confirmations { held: 1, of: 1 },
        probes_max: 40,
    }
}

fn search(kind: FindKind, limit: &str) -> Find {
    let limits = [limit].into_iter().filter(|limit| !limit.is_empty());
    let limits = limits.map(|limit| limit.parse().unwrap());
    Find::new(kind, spec(), limits.collect())
}

/// Returns a document with these load points, each changed.
fn probed(reads: &[u64], change: impl Fn(&mut LoadPointDoc)) -> RunDoc {
    let points = reads.iter().map(|reads| point(64, 1, *reads)).collect();
    let mut doc = document(&run(points));
    doc.plan.outstanding = 1;
    doc.load_points.iter_mut().for_each(change);
    doc
}

/// Returns the outcome of the last probe and its reason.
fn last(find: &Find) -> (ProbeOutcome, &str) {
    let probe = find.probes().last().unwrap();
    (probe.verdict, &probe.reason)
}

fn judged(kind: FindKind, limit: &str, doc: &RunDoc) -> (ProbeOutcome, String) {
    let mut find = search(kind, limit);
    find.judge(1000.0, doc);
    let (outcome, reason) = last(&find);
    (outcome, reason.to_owned())
}

/// The load generator delays answers, but refuses nothing.
#[test]
fn a_limit_that_broke_on_a_busy_generator_is_not_the_server_s() {
    let busy = |point: &mut LoadPointDoc| {
        point.generator_limited = Some(true);
        // At a rate that was reached, this alone does not make a point client-limited.
        point.offered = None;
    };
    let doc = probed(&[400], busy);
    let (outcome, _) = judged(FindKind::Clients, "p99 < 1ms", &doc);
    assert_eq!(outcome, ProbeOutcome::ClientLimited);
    let doc = probed(&[400], |_| ());
    let (outcome, reason) = judged(FindKind::Clients, "p99 < 1ms", &doc);
    assert_eq!(outcome, ProbeOutcome::Broke, "{reason}");
    // The reason names the operation of the limit.
    let (_, reason) = judged(FindKind::Clients, "read p99 < 1ns", &doc);
    assert!(reason.starts_with("read p99 "), "{reason}");
}

/// Sets the CPU time of the server on this machine, which was busy all the time.
fn on_a_busy_machine(point: &mut LoadPointDoc, server_s: f64) {
    let generator = point.generator.as_mut().unwrap();
    generator.machine_busy_share = Some(1.0);
    point.generator_limited = Some(false);
    (point.client.cpu_user_s, point.client.cpu_system_s) = (0.0, 0.0);
    point.server_cpu = serde_json::from_value(serde_json::json!({
        "source": "smbd", "not_measured": null, "scope": "processes", "cores": 2,
        "busy_s": server_s, "percent": null, "us_per_op": null, "mbps_per_percent": null,
        "ops_per_s_per_percent": null,
    }))
    .unwrap();
}

/// The server waits for a CPU, and smbench for the server.
#[test]
fn a_window_without_an_operation_on_a_busy_machine_is_not_the_server_s() {
    let none = |point: &mut LoadPointDoc| {
        let reason = "no operation completed in the window";
        (point.valid, point.invalid_reason) = (false, Some(reason.to_owned()));
        point.latency_ns = None;
    };
    let doc = probed(&[400], |point| {
        none(point);
        on_a_busy_machine(point, point.window_s * 0.14);
    });
    let (outcome, reason) = judged(FindKind::Logons, "errors < 1%", &doc);
    assert_eq!(outcome, ProbeOutcome::ClientLimited);
    let words = "no operation completed in the window; use a longer hold; this machine was busy: \
                programs other than smbench and the server had 93 % of its CPUs";
    assert_eq!(reason, words);
    let doc = probed(&[400], |point| {
        none(point);
        on_a_busy_machine(point, point.window_s * 1.9);
    });
    let (outcome, reason) = judged(FindKind::Logons, "errors < 1%", &doc);
    assert_eq!(outcome, ProbeOutcome::Broke, "{reason}");
    let doc = probed(&[400], |point| on_a_busy_machine(point, 0.0));
    let (outcome, _) = judged(FindKind::Clients, "p99 < 1ms", &doc);
    assert_eq!(outcome, ProbeOutcome::ClientLimited);
    // A busy machine makes no operation fail.
    let failed = probed(&[400], |point| {
        on_a_busy_machine(point, 0.0);
        point.errors = 3;
        (point.valid, point.invalid_reason) = (false, Some("3 operations failed".to_owned()));
    });
    let (outcome, _) = judged(FindKind::Clients, "p99 < 1ms", &failed);
    assert_eq!(outcome, ProbeOutcome::Broke);
}

/// Makes log-ons of these seconds at 1 a second for 12 s, after a ramp of 1 s.
fn with_slow_log_ons(seconds: u64, answered: u64) -> RunDoc {
    let ns = |doc: &mut LoadPointDoc, name: &str, ns: u64| {
        let mut op = doc.ops.values().next().unwrap().clone();
        let took = op.service_ns.as_mut().unwrap();
        (took.min, took.mean) = (ns, ns as f64);
        doc.ops.insert(name.to_owned(), op);
    };
    let mut doc = probed(&[400], |point| {
        point.window_s = 12.0;
        let offered = serde_json::json!({
            "operations": 12, "ops_per_s": 1.0, "answered": answered, "rate_missed": false,
            "late": 0, "dropped": 0, "delay_ns_max": 0,
        });
        point.offered = serde_json::from_value(offered).unwrap();
        ns(point, "session", seconds * 1_000_000_000);
        ns(point, "session_tree_connect", seconds * 990_000_000);
    });
    doc.plan.ramp_up_s = 1.0;
    doc
}

/// No server answers a log-on in less time than it takes.
#[test]
fn log_ons_that_were_due_too_late_are_not_missed() {
    let slow = with_slow_log_ons(5, 8);
    let (outcome, reason) = judged(FindKind::Logons, "errors < 100%", &slow);
    assert_eq!(outcome, ProbeOutcome::Held, "{reason}");
    let words = "log-ons took 5.00 s, nearly all in session_tree_connect; use a longer hold";
    assert!(reason.starts_with(words), "{reason}");
    // A server that answers fewer than that is too slow, as are quick log-ons that are missing.
    for (seconds, answered) in [(5, 5), (0, 8)] {
        let slow = with_slow_log_ons(seconds, answered);
        let (outcome, reason) = judged(FindKind::Logons, "errors < 100%", &slow);
        assert_eq!(outcome, ProbeOutcome::Broke, "{reason}");
        assert!(reason.contains(" of the rate reached"), "{reason}");
    }
}

/// Equal probes have equal reasons.
#[test]
fn a_window_without_an_operation_is_the_first_reason() {
    let nothing = "no operation completed in the window: 4 log-ons were in flight";
    let doc = probed(&[400], |point| {
        (point.valid, point.invalid_reason) = (false, Some(nothing.to_owned()));
        point.latency_ns = None;
        point.generator_limited = Some(true);
        point.offered = None;
    });
    let (outcome, reason) = judged(FindKind::Logons, "errors < 1%", &doc);
    assert_eq!(outcome, ProbeOutcome::ClientLimited);
    assert!(reason.starts_with(nothing), "{reason}");
}

/// The reason of a population begins with its name. What failed in another one is not a wait.
#[test]
fn a_population_without_an_operation_is_the_first_reason() {
    let nothing = "population office: no operation completed in the window: 4 reads in flight";
    let mut company = company_passes(&[1]);
    company.plan.outstanding = 1;
    let point = company.load_points.last_mut().unwrap();
    (point.valid, point.invalid_reason) = (false, Some(nothing.to_owned()));
    (point.errors, point.generator_limited) = (0, Some(true));
    let (outcome, reason) = judged(FindKind::Clients, "errors < 1%", &company);
    assert_eq!(outcome, ProbeOutcome::ClientLimited);
    let expected = format!("{nothing}; use a longer duration");
    assert!(reason.starts_with(&expected), "{reason}");
    company.load_points.last_mut().unwrap().errors = 3;
    let (_, reason) = judged(FindKind::Clients, "errors < 1%", &company);
    assert!(!reason.contains("use a longer duration"), "{reason}");
}

/// Another work than the recorded one says nothing about the machine.
#[test]
fn a_replay_that_went_otherwise_breaks_a_probe_on_a_busy_machine_too() {
    let doc = probed(&[400], |point| {
        point.generator_limited = Some(true);
        point.offered = None;
        point.differences = vec![DifferenceDoc {
            op: "create".to_owned(),
            recorded: "STATUS_SUCCESS".to_owned(),
            seen: "STATUS_OBJECT_PATH_NOT_FOUND".to_owned(),
            count: 4000,
        }];
        (point.valid, point.invalid_reason) = (false, Some("did not go as recorded".to_owned()));
    });
    let (outcome, reason) = judged(FindKind::Clients, "p99 < 1h", &doc);
    assert_eq!(
        (outcome, reason.as_str()),
        (ProbeOutcome::Broke, "did not go as recorded")
    );
}

/// Log-ons that were not answered in time are slow, those that were refused are not.
#[test]
fn log_ons_without_an_answer_on_a_busy_machine_are_not_the_server_s() {
    for (status, outcome) in [
        ("STATUS_IO_TIMEOUT", ProbeOutcome::ClientLimited),
        ("STATUS_LOGON_FAILURE", ProbeOutcome::Broke),
    ] {
        let mut doc = with_log_ons(100, 575);
        let point = &mut doc.load_points[0];
        on_a_busy_machine(point, 0.0);
        point.failures = vec![FailureDoc {
            op: "session".to_owned(),
            status: status.to_owned(),
            code: None,
            count: 100,
        }];
        let found = judged(FindKind::Logons, "errors < 1%", &doc);
        assert_eq!(found.0, outcome, "{}", found.1);
    }
}

/// Judges the first load point as often as the flags say, held or broken.
fn searched(probes: &[(f64, bool)]) -> RunDoc {
    let mut find = search(FindKind::Clients, "errors < 1%");
    let mut doc = probed(&[400], |_| ());
    let held = doc.load_points[0].clone();
    let mut points = Vec::new();
    for (load, holds) in probes {
        let broke = Some("the server closed the connection".to_owned());
        points.push(LoadPointDoc {
            valid: *holds,
            invalid_reason: broke.filter(|_| !holds),
            ..held.clone()
        });
        doc.load_points.clone_from(&points);
        find.judge(*load, &doc);
    }
    doc.find = Some(find.to_doc());
    doc
}

#[test]
fn probes_of_one_load_that_contradict_each_other_are_named() {
    let words = |probes: &[(f64, bool)]| {
        let doc = searched(probes);
        let find = doc.find.as_ref().unwrap();
        (find.contradiction.clone(), answer(find).1)
    };
    let first = [(40.0, true), (50.0, true), (60.0, false)];
    assert_eq!(words(&first).0, None);
    let later = [(50.0, false), (50.0, false), (45.0, true)];
    let (found, text) = words(&[&first[..], &later].concat());
    let found = found.unwrap();
    assert_eq!((found.held_in, found.broke_in), (vec![2], vec![4, 5]));
    assert_eq!((found.at_least, found.below), (Some(45.0), Some(60.0)));
    let sentence = "probes contradict each other: 50 clients held in probe 2 and broke in probes \
                    4, 5: the answer lies between 45 clients and 60 clients";
    assert!(text.contains(sentence), "{text}");
    // A lower load may break as well.
    let (_, text) = words(&[(50.0, true), (40.0, false)]);
    let sentence = "50 clients held in probe 1, but 40 clients broke in probe 2";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn a_search_on_a_busy_machine_says_what_may_help() {
    let mut find = search(FindKind::Clients, "p99 < 1ms");
    let mut doc = probed(&[400, 400, 400], |point| on_a_busy_machine(point, 0.0));
    let all = doc.load_points.clone();
    for at in 1..=3 {
        doc.load_points = all[..at].to_vec();
        assert_eq!(find.next_load(), Some(1000.0));
        find.judge(1000.0, &doc);
    }
    assert_eq!(find.next_load(), None);
    let (_, text) = answer(&find.to_doc());
    assert!(
        text.contains("was the limit in the last 3 probes"),
        "{text}"
    );
    let help = "close other programs, which had 100 % of this machine's CPUs";
    assert!(text.ends_with(help), "{text}");
    // Without other programs, only the threads of smbench are short of CPU time.
    doc.load_points.iter_mut().for_each(|point| {
        on_a_busy_machine(point, point.window_s);
        let generator = point.generator.as_mut().unwrap();
        generator.machine_busy_share = Some(0.5);
        generator.workers.truncate(1);
        generator.workers[0].cpu_share = 0.97;
        (point.generator_limited, point.offered) = (Some(true), None);
    });
    doc.machine.get_or_insert_default().cpus = Some(8);
    find.judge(1000.0, &doc);
    let remedy = find.to_doc().remedy.unwrap();
    assert!(
        remedy.starts_with("give more threads: 1 of 8 CPUs"),
        "{remedy}"
    );
}

fn with_log_ons(failed: u64, all: u64) -> RunDoc {
    probed(&[400], |point| {
        let ops = OpTotals {
            count: all - failed,
            errors: failed,
            ..point.whole["read"]
        };
        point.whole = [("session".to_owned(), ops)].into();
        point.errors = failed;
        point.valid = failed == 0;
    })
}

/// A server that refuses every hundredth log-on refuses 5 or 6 of 575.
#[test]
fn a_probe_at_the_edge_of_a_share_of_failures_breaks_or_cannot_tell() {
    let limit = "errors < 1%";
    for (failed, all, outcome) in [
        (0, 50, ProbeOutcome::Held),
        (2, 275, ProbeOutcome::Unknown),
        (3, 275, ProbeOutcome::Broke),
        (4, 575, ProbeOutcome::Held),
        (5, 575, ProbeOutcome::Broke),
        (9, 1100, ProbeOutcome::Held),
        (11, 1100, ProbeOutcome::Broke),
    ] {
        let found = judged(FindKind::Logons, limit, &with_log_ons(failed, all));
        assert_eq!(found.0, outcome, "{failed} of {all}: {}", found.1);
    }
}

/// Sets the mean number of requests in flight.
fn in_flight(doc: &mut RunDoc, means: &[f64]) {
    for (point, mean) in doc.load_points.iter_mut().zip(means) {
        point.concurrency.as_mut().unwrap().in_flight_mean = *mean;
    }
}

fn doubt(means: &[f64]) -> Option<String> {
    let mut find = search(FindKind::Rate, "");
    // 1001 and 4001 operations per second.
    let mut doc = probed(&[800, 3200], |_| ());
    in_flight(&mut doc, means);
    let all = doc.load_points.clone();
    for (at, load) in [(1, 1000.0), (2, 4000.0)] {
        doc.load_points = all[..at].to_vec();
        find.judge(load, &doc);
    }
    assert_eq!(find.to_doc().held_at, Some(4000.0));
    let mut bound = Find::new(
        FindKind::Rate,
        SearchSpec {
            max: 4000.0,
            ..spec()
        },
        vec![],
    );
    doc.load_points = all;
    bound.judge(4000.0, &doc);
    bound.to_doc().doubt
}

#[test]
fn clients_that_all_wait_for_a_fast_server_bound_a_rate() {
    let words = doubt(&[15.0, 60.0]);
    assert_eq!(
        words.as_deref(),
        Some("60 of at most 64 requests were in flight: give more clients")
    );
    // Requests take longer than at the lower rate, so the server has a queue.
    assert_eq!(doubt(&[5.0, 60.0]), None);
    assert_eq!(doubt(&[8.0, 32.0]), None);
}

/// A search that found 1000 operations per second.
fn found(limit: &[&str], doubt: Option<&str>) -> RunDoc {
    let mut find = search(FindKind::Rate, "p99 < 10ms");
    let mut doc = probed(&[800, 3200, 2400, 2000], |_| ());
    let all = doc.load_points.clone();
    for at in 1..=all.len() {
        doc.load_points = all[..at].to_vec();
        find.judge(1000.0 * at as f64, &doc);
    }
    let ended = FindDoc {
        limit: limit.iter().map(ToString::to_string).collect(),
        result: Some(1000.0),
        end: FindEnd::Found,
        doubt: doubt.map(ToOwned::to_owned),
        ..find.to_doc()
    };
    doc.find = Some(ended);
    doc
}

fn change(one: RunDoc, two: RunDoc) -> (Option<f64>, Option<String>, String) {
    let input = |name: &str, run| Input::of_run(std::path::Path::new(name), run);
    let all = compare(&[input("before.json", one), input("after.json", two)]).unwrap();
    let found = all.pairs[0].found.clone().unwrap();
    (
        found.change_percent,
        found.no_change_because,
        compare::render(&all, Depth::Overview),
    )
}

#[test]
fn limits_are_compared_by_what_they_say() {
    let one = found(&["p99 < 10ms", "errors < 1%"], None);
    let same = found(&["errors<1%", "p99 < 0.01s"], None);
    assert_eq!(change(one.clone(), same).0, Some(0.0));
    let other = found(&["p99 < 20ms", "errors < 1%"], None);
    let (percent, because, _) = change(one, other);
    assert_eq!(percent, None);
    assert_eq!(
        because.as_deref(),
        Some("the limits differ: p99 < 10ms, errors < 1% and p99 < 20ms, errors < 1%")
    );
}

#[test]
fn a_doubt_about_an_answer_stands_beside_its_change() {
    let one = found(&["p99 < 10ms"], None);
    let doubtful = found(
        &["p99 < 10ms"],
        Some("64 of at most 64 requests were in flight"),
    );
    let (_, _, text) = change(one, doubtful);
    let words = "B: the server may take more: 64 of at most 64 requests were in flight";
    assert!(text.contains(words), "{text}");
}

#[test]
fn probes_are_plotted_as_characters_with_the_limit() {
    let text = render(&found(&["p99 < 10ms"], None));
    let (_, plot) = text
        .split_once("p99 response time by achieved rate")
        .unwrap();
    let rows: Vec<_> = plot.lines().skip(1).take(12).collect();
    assert!(rows[0].trim_start().starts_with("limit |---"), "{text}");
    let marks = rows.iter().map(|row| row.matches('o').count());
    assert_eq!(marks.sum::<usize>(), 4, "{text}");
}

/// The times are those of the population whose rate was searched for.
#[test]
fn a_limit_is_plotted_beside_the_times_that_it_is_of() {
    let has_limit = |limit: &str| {
        let mut doc = found(&[limit], None);
        doc.find.as_mut().unwrap().population = Some("office".to_owned());
        render(&doc).contains("limit |---")
    };
    assert!(has_limit("office p99 < 10ms"));
    assert!(!has_limit("p99 < 10ms"));
    assert!(!has_limit("backup p99 < 10ms"));
}

/// A pass that did not find the limit is the reason, even if another pass found it.
#[test]
fn both_sides_without_an_answer_are_named() {
    let never = |mut doc: RunDoc| {
        doc.find.as_mut().unwrap().end = FindEnd::NeverBroke;
        doc
    };
    let limited = |mut doc: RunDoc| {
        let find = doc.find.as_mut().unwrap();
        (find.result, find.end) = (None, FindEnd::ClientLimited);
        doc
    };
    let one = || found(&["p99 < 10ms"], None);
    let (_, because, _) = change(never(one()), limited(one()));
    let because = because.unwrap();
    let words = "A did not break the limit, B did not find the limit: ";
    assert!(because.starts_with(words), "{because}");
    let finds = [one(), limited(one())].map(|doc| doc.find.unwrap());
    let mut joined = one();
    joined.find = FindDoc::pooled((1..).zip(finds).collect());
    let (_, because, _) = change(one(), joined);
    let because = because.unwrap();
    assert!(
        because.starts_with("B did not find the limit: "),
        "{because}"
    );
    assert!(!because.contains("broke"), "{because}");
}

#[test]
fn an_equal_answer_of_several_servers_is_given_once() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["one", "two"].map(|name| folder.path().join(format!("{name}.json")));
    for path in &paths {
        found(&["p99 < 10ms"], None).save(path).unwrap();
    }
    let study = Study::of_files(&paths).unwrap();
    let answers = published::found(&study, 0);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains(": all servers: "), "{answers:?}");
}

/// Files of one folder: a result is named after its profile and its question, in any order.
#[test]
fn searches_with_different_questions_are_different_results() {
    let named = |profile: &str, limit: &str| {
        let mut doc = found(&[limit], None);
        doc.plan.profile = profile.to_owned();
        doc
    };
    let docs = [
        named("plain", "p99 < 10ms"),
        named("plain", "p99 < 20ms"),
        named("signed", "p99 < 10ms"),
        named("plain", "p99<0.01s"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (at, doc) in docs.iter().enumerate() {
        doc.save(&folder.path().join(format!("{at}.json"))).unwrap();
    }
    let study = Study::load(folder.path()).unwrap();
    let names = [
        "plain: rate with 64 clients, p99 < 10ms",
        "plain: rate with 64 clients, p99 < 20ms",
        "signed: rate with 64 clients, p99 < 10ms",
    ];
    assert_eq!(study.doc.profiles, names);
    let profiles: Vec<_> = study.results.iter().map(|of| of.profile).collect();
    assert_eq!(profiles, [0, 1, 2, 0]);
    // One of the files belongs to the results of the same question in the folder.
    let all = Input::load(folder.path()).unwrap();
    let one = Input::of_run(std::path::Path::new("one.json"), docs[2].clone());
    let pairs = compare(&[one, all]).unwrap().pairs;
    assert_eq!(pairs.len(), 1);
}

#[test]
fn a_condition_that_more_load_fulfils_is_recognised() {
    for (condition, holds) in [
        ("p99 > 20ms", true),
        ("errors > 1%", true),
        ("throughput < 100", true),
        ("ops/s < 1k", true),
        ("p99 < 20ms", false),
        ("errors < 1%", false),
        ("throughput > 100", false),
    ] {
        let threshold: smbench_report::Threshold = condition.parse().unwrap();
        assert_eq!(threshold.holds_under_more_load(), holds, "{condition}");
    }
}

/// One of two populations has a rate, so that what was due says nothing of the other.
#[test]
fn a_search_for_clients_counts_the_operations_of_all_populations() {
    let doc = company_passes(&[400]);
    let point = &doc.load_points[0];
    let due = point.offered.unwrap();
    assert!(due.rate_missed.is_some());
    let achieved = |mut find: Find| {
        find.judge(8.0, &doc);
        find.probes()[0].ops_per_s
    };
    let of_all = achieved(search(FindKind::Clients, ""));
    assert!((of_all - point.ops_per_s).abs() < 1e-9, "{of_all}");
    // Of its 900 operations, 500 were answered.
    let rate = due.ops_per_s * 500.0 / 900.0;
    assert!((rate - point.ops_per_s).abs() > 1.0, "{rate}");
    let of_one = achieved(search(FindKind::Rate, "").of_population("backup"));
    assert!((of_one - rate).abs() < 1e-9, "{of_one}");
}
