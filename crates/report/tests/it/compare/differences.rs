//! Differences of runs apart from their numbers, and runs that are not compared.

use std::path::Path;

use serde_json::Value;
use smbench_model::sessions::Mode;
use smbench_report::RunDoc;
use smbench_report::compare::{Depth, Input, PointComparison, Verdict, compare, render};
use smbench_report::doc::{DifferenceDoc, MachineDoc, OutcomeDoc};
use smbench_report::metric::Metric;

use super::{compared, pair, passes};
use crate::samples::{document, dropped, metadata_plan, metadata_point, point, run};

#[test]
fn a_result_against_itself_is_named() {
    let words = "warning  A and B are the same result: no change can show\n";
    let same = passes(&[1600, 1620, 1580]);
    let text = render(&compared(same.clone(), same.clone()), Depth::Overview);
    assert_eq!(text.matches(words).count(), 1, "{text}");
    let other = passes(&[1600, 1620, 1581]);
    let text = render(&compared(same, other), Depth::Overview);
    assert!(!text.contains("the same result"), "{text}");
}

#[test]
fn what_differs_is_kept_apart_as_subject_and_as_warning() {
    let mut other = run(vec![point(4, 1, 800), point(8, 1, 1600)]);
    other.plan.only_mut().outstanding = 1;
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
         add force to compare them anyway"
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
    let [words] = &left.unmatched[..] else {
        panic!("one did not: {left:?}");
    };
    assert!(words.starts_with("a.json and b.json did different work"));
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
    let words = "warning  not the same work: not as recorded: flush: 0 % of all at 8 clients in A, \
                19.99 % of all at 8 clients in B\n";
    assert!(text.contains(words), "{text}");
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
fn older_documents_do_not_differ_by_what_they_could_not_show() {
    let mut older = passes(&[1600]);
    older.plan.generator.driver = None;
    older.plan.generator.pin_threads = None;
    older.plan.sessions.ciphers = None;
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
        "~: B was client-limited at 8 clients: throughput and response times are not to be trusted\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let [four, eight] = &comparison.pairs[0].load_points[..] else {
        panic!("two load points in common");
    };
    assert_eq!((four.baseline.passes, four.other.passes), (1, 2));
    let verdict = |held: &PointComparison| held.find(None, Metric::Throughput).unwrap().verdict;
    assert_eq!(verdict(four), Verdict::CannotTell);
    // The slower side was client-limited.
    assert_eq!(verdict(eight), Verdict::CannotTell);
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
        "x.json is a single result: compare needs two results, or a study of several servers"
    );
}

#[test]
fn a_run_without_a_valid_load_point_is_not_compared() {
    let lost = document(&run(vec![dropped(point(8, 1, 10), 8)]));
    let input = |name: &str, run: &RunDoc| Input::of_run(Path::new(name), run.clone());
    let (whole, lost) = (input("a.json", &passes(&[1600])), input("b.json", &lost));
    let nothing = |inputs: &[Input]| compare(inputs).unwrap_err().to_string();
    let words = "nothing to compare: no valid load point with operations in b.json";
    assert_eq!(nothing(&[whole.clone(), lost.clone()]), words);
    assert_eq!(
        nothing(&[lost.clone(), lost.clone()]),
        "nothing to compare: no valid load point with operations in b.json and b.json"
    );
    // With other results in the comparison, this one is named and the others are
    // compared.
    let elsewhere = input("c.json", &document(&run(vec![point(2, 1, 50)])));
    let found = compare(&[whole.clone(), lost, elsewhere, whole]).unwrap();
    assert_eq!(found.pairs.len(), 1);
    assert_eq!(
        found.unmatched,
        [
            words,
            "no load point in common: a.json has 4, 8 clients, c.json has 2 clients"
        ]
    );
    assert!(render(&found, Depth::Overview).contains(words));
}

#[test]
fn another_generator_is_reported_where_both_say_what_it_is() {
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
