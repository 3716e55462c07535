//! Comparisons of studies, and of the servers of one study.

use std::path::Path;

use serde_json::Value;
use smbench_report::compare::{
    ComparedRun, Comparison, Condition, Depth, Input, Verdict, compare, render,
};
use smbench_report::study::{ComparisonDoc, ComparisonKind};

use crate::compare::{judged, passes};
use crate::published::study;

#[test]
fn studies_are_compared_server_by_server() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let studies = folders.each_ref().map(|folder| study(folder.path()));
    let load = |at: usize| Input::load(folders[at].path()).unwrap();
    let names = |comparison: &Comparison| {
        let name = |name: &str| name.rsplit(": ").next().unwrap().to_owned();
        let pairs = comparison.pairs.iter();
        let names = pairs.map(|pair| {
            let label =
                |subject: &ComparedRun| format!("{} {}", subject.label, name(&subject.name));
            (label(&pair.baseline), label(&pair.other))
        });
        names.collect::<Vec<_>>()
    };
    let of = |one: &str, two: &str| (one.to_owned(), two.to_owned());
    let both = compare(&[load(0), load(1)]).unwrap();
    assert_eq!(
        names(&both),
        [of("A ignores", "B ignores"), of("A honours", "B honours")]
    );
    let missing = |at: usize| {
        let folder = folders[at].path().display();
        format!("{folder}: no result of to come with file-server")
    };
    assert_eq!(both.unmatched, [missing(0), missing(1)]);
    let lines: Vec<_> = both
        .pairs
        .iter()
        .map(|pair| judged("throughput < -5%", pair))
        .collect();
    for (line, server) in lines.iter().zip(["ignores", "honours"]) {
        assert!(
            line.contains(&format!(", B against A, {server} with file-server (95 %")),
            "{line}"
        );
    }
    let unknown = judged("nfs p99 > 1%", &both.pairs[1]);
    assert_eq!(
        unknown,
        "fail_if 'nfs p99 > 1%': honours with file-server: neither A nor B has p99 of nfs at 12 \
         clients"
    );
    let condition: Condition = "throughput < -5%".parse().unwrap();
    let judgement = condition.judge(&both.pairs[1]).unwrap();
    let json: Value = serde_json::to_value(&judgement).unwrap();
    assert_eq!(
        (&json["server"], &json["profile"]),
        (&"honours".into(), &"file-server".into())
    );
    let within = compare(&[load(0)]).unwrap();
    // The baseline that the study names is A, no matter where it is in the list.
    assert_eq!(names(&within), [of("A honours", "B ignores")]);
    assert_eq!(within.unmatched, [missing(0)]);
    let throughput = within.pairs[0].peak.as_ref().unwrap().metrics[0];
    assert_eq!(throughput.verdict, Verdict::Better);

    let alone = Input::of_run(Path::new("new.json"), studies[0].results[0].run.clone());
    let several = compare(&[load(0), alone.clone()]).unwrap_err().to_string();
    assert!(
        several.ends_with(
            "has several results (ignores with file-server, honours with file-server, to come with \
             file-server: not measured), new.json has one: give two studies, or the results one by \
             one"
        ),
        "{several}"
    );
    let mut renamed = studies[1].doc.clone();
    renamed.servers[0].name = "other".to_owned();
    let old = folders[1].path().join("runs/01-ignores");
    std::fs::rename(old, folders[1].path().join("runs/01-other")).unwrap();
    renamed.save(folders[1].path()).unwrap();
    let found = compare(&[load(0), load(1)]).unwrap();
    assert_eq!(names(&found), [of("A honours", "B honours")]);
    let [.., one, two] = &found.unmatched[..] else {
        panic!("one in each: {:?}", found.unmatched);
    };
    assert!(one.ends_with(": ignores with file-server"), "{one}");
    assert!(two.ends_with(": other with file-server"), "{two}");
    assert!(render(&found, Depth::Overview).ends_with(&format!("{two}\n")));
}

/// Each comparison of a study has its own baseline, and no pair is swapped.
#[test]
fn a_study_is_compared_as_its_comparisons_ask() {
    let folder = tempfile::tempdir().unwrap();
    let mut doc = study(folder.path()).doc;
    let last = folder.path().join(doc.run_path(2, 0, 1));
    std::fs::create_dir_all(last.parent().unwrap()).unwrap();
    passes(&[1600]).save(&last).unwrap();
    let mut pairs = |comparisons: &[(ComparisonKind, Option<&str>, &[&str])]| {
        let comparisons = comparisons.iter();
        doc.comparisons = comparisons
            .map(|(kind, baseline, servers)| ComparisonDoc {
                title: String::new(),
                kind: *kind,
                baseline: baseline.map(str::to_owned),
                servers: servers.iter().map(|&name| name.to_owned()).collect(),
            })
            .collect();
        doc.save(folder.path()).unwrap();
        let found = compare(&[Input::load(folder.path()).unwrap()]).unwrap();
        assert_eq!(found.unmatched, [""; 0]);
        let side = |of: &ComparedRun| format!("{} {}", of.label, of.server.as_deref().unwrap());
        let pairs = found.pairs.iter();
        pairs
            .map(|pair| format!("{} over {}", side(&pair.other), side(&pair.baseline)))
            .collect::<Vec<_>>()
    };
    let first = ["B honours over A ignores", "C to come over A ignores"];
    assert_eq!(pairs(&[]), first);
    let all = ["ignores", "honours", "to come"];
    assert_eq!(pairs(&[(ComparisonKind::Gain, None, &all)]), first);
    assert_eq!(
        pairs(&[(ComparisonKind::Scaling, None, &all)]),
        ["B honours over A ignores", "C to come over B honours"]
    );
    // A server that is in no comparison has the baseline of the first comparison.
    assert_eq!(
        pairs(&[(ComparisonKind::Change, Some("to come"), &all[..1])]),
        ["B ignores over A to come", "C honours over A to come"]
    );
    assert_eq!(
        pairs(&[
            (ComparisonKind::Change, Some("to come"), &all[1..]),
            (ComparisonKind::Change, Some("ignores"), &all),
        ]),
        [
            "B ignores over A to come",
            "C honours over B ignores",
            "C honours over A to come",
            "A to come over B ignores",
        ]
    );
}

/// A server is compared with the same server, even if few servers were measured.
#[test]
fn results_that_a_study_lacks_are_named_and_no_other_takes_their_place() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let studies = folders.each_ref().map(|folder| {
        let mut study = study(folder.path());
        // Without comparisons, the first server is the baseline.
        study.doc.comparisons.clear();
        study.doc.save(folder.path()).unwrap();
        study
    });
    let load = |at: usize| Input::load(folders[at].path()).unwrap();
    let lose = |at: usize, server: usize| {
        let path = folders[at]
            .path()
            .join(studies[at].doc.run_path(server, 0, 1));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    };
    let missing = |at: usize, server: &str| {
        let folder = folders[at].path().display();
        format!("{folder}: no result of {server} with file-server")
    };
    // The first study is complete; the second has no first server.
    lose(1, 0);
    let found = compare(&[load(0), load(1)]).unwrap();
    let [pair] = &found.pairs[..] else {
        panic!("one server in common: {found:?}");
    };
    let servers = [&pair.baseline, &pair.other].map(|subject| subject.server.as_deref());
    assert_eq!(servers, [Some("honours"); 2]);
    let expected = [
        missing(0, "to come"),
        missing(1, "ignores"),
        missing(1, "to come"),
    ];
    assert_eq!(found.unmatched, expected);
    // The second server does not become the baseline instead.
    let alone = compare(&[load(1)]).unwrap_err().to_string();
    let expected = [missing(1, "ignores"), missing(1, "to come")].join("; ");
    assert_eq!(alone, format!("nothing to compare: {expected}"));
    // Each study has one server, but not the same one.
    lose(0, 1);
    let apart = compare(&[load(0), load(1)]).unwrap_err().to_string();
    let expected = [
        missing(0, "honours"),
        missing(0, "to come"),
        missing(1, "ignores"),
    ];
    assert_eq!(
        apart,
        format!("nothing to compare: {}; and 1 more", expected.join("; "))
    );
    // A profile that the first server lacks has no counterpart.
    let mut more = studies[0].doc.clone();
    more.servers.pop();
    more.profiles.push("web-server".to_owned());
    more.save(folders[0].path()).unwrap();
    for profile in [0, 1] {
        let path = folders[0].path().join(more.run_path(1, profile, 1));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        passes(&[1600]).save(&path).unwrap();
    }
    let found = compare(&[load(0)]).unwrap();
    assert_eq!(found.pairs.len(), 1);
    let folder = folders[0].path().display();
    assert_eq!(
        found.unmatched,
        [
            format!("{folder}: no result of ignores with web-server"),
            format!("{folder}: honours with web-server has no result to compare with"),
        ]
    );
}
