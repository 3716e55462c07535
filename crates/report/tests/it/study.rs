//! Studies as folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use smbench_report::compare::{Depth, Input, compare, render, to_markdown};
use smbench_report::doc::{BUILT_IN_NOTE, OutcomeDoc};
use smbench_report::published::headlines;
use smbench_report::study::{ComparisonDoc, ComparisonKind, Study, StudyDoc};
use smbench_report::{RunDoc, ServerLocation};

use crate::samples::{comparison, curve, document, point, run, study_doc};

fn study() -> StudyDoc {
    let servers = ["../Samba/ignores", "Samba, honours"];
    StudyDoc {
        profiles: vec!["file-server".to_owned(), "web-server".to_owned()],
        load_points: vec![1, 4],
        passes: 2,
        comparisons: vec![ComparisonDoc {
            baseline: Some("Samba, honours".to_owned()),
            ..comparison("as shipped", ComparisonKind::Change, &servers)
        }],
        ..study_doc(&["Samba, honours", "../Samba/ignores"])
    }
}

fn save(doc: &RunDoc, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    doc.save(path).unwrap();
}

#[test]
fn passes_of_a_suite_become_one_document_and_missing_ones_are_not_made_up() {
    let folder = tempfile::tempdir().unwrap();
    let study = study();
    study.save(folder.path()).unwrap();
    let at = |server, profile, pass| folder.path().join(study.run_path(server, profile, pass));
    let pass = |loads: [u64; 2]| document(&run(vec![point(1, 1, loads[0]), point(4, 1, loads[1])]));
    save(&pass([100, 400]), &at(1, 0, 1));
    let mut cut = pass([200, 600]);
    cut.outcome = OutcomeDoc::Interrupted;
    save(&cut, &at(1, 0, 2));
    save(&pass([10, 40]), &at(0, 1, 2));

    let found = Study::load(folder.path()).unwrap();
    assert_eq!(found.doc, study);
    let places: Vec<_> = found
        .results
        .iter()
        .map(|r| (r.server, r.profile))
        .collect();
    assert_eq!(places, [(0, 1), (1, 0)]);
    let both = &found.of_profile(0).next().unwrap().run;
    let repeats: Vec<_> = both
        .load_points
        .iter()
        .map(|p| (p.clients, p.repeat))
        .collect();
    assert_eq!(repeats, [(1, 1), (4, 1), (1, 2), (4, 2)]);
    assert_eq!(
        (both.outcome, both.plan.repeat),
        (OutcomeDoc::Interrupted, 2)
    );
    let alone = [pass([100, 400]), pass([200, 600])].map(|doc| doc.load_points[1].throughput_mbps);
    let peak = both.peak.unwrap();
    assert_eq!(peak.throughput_mbps, (alone[0] + alone[1]) / 2.0);
    assert_eq!((peak.clients, peak.passes, both.repeats.len()), (4, 2, 2));
    let late = &found.of_profile(1).next().unwrap().run;
    assert_eq!(
        late.load_points[0].repeat, 2,
        "the pass the file is named after"
    );
}

/// Comparisons must be readable in both directions: old documents by this release,
/// new ones by old releases.
#[test]
fn comparisons_are_read_by_every_release() {
    let kept = serde_json::to_value(&study().comparisons[0]).unwrap();
    let written = serde_json::json!({
        "title": "as shipped",
        "kind": "tuning",
        "baseline": "Samba, honours",
        "servers": ["../Samba/ignores", "Samba, honours"],
    });
    assert_eq!(kept, written);
    for (kind, known) in [
        ("gain", ComparisonKind::Gain),
        ("tuning", ComparisonKind::Change),
        ("scaling", ComparisonKind::Scaling),
    ] {
        let old = serde_json::json!({"title": "t", "kind": kind, "servers": ["a", "b"]});
        let read: ComparisonDoc = serde_json::from_value(old.clone()).unwrap();
        assert_eq!((read.kind, read.baseline()), (known, Some("a")));
        assert_eq!(serde_json::to_value(&read).unwrap(), old);
    }
}

#[test]
fn names_of_servers_stay_within_the_folder_and_apart() {
    let study = study();
    let path = |server| study.run_path(server, 0, 1).display().to_string();
    assert_eq!(path(0), "runs/01-samba--honours/01-file-server/pass-1.json");
    assert_eq!(
        path(1),
        "runs/02-..-samba-ignores/01-file-server/pass-1.json"
    );
}

#[test]
fn a_folder_of_results_is_a_study_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let missing = |folder: &Path| Study::load(folder).unwrap_err().to_string();
    let none = missing(folder.path());
    assert!(
        none.ends_with("study.json: the file does not exist"),
        "{none}"
    );
    fs::write(folder.path().join("notes.txt"), "no result").unwrap();
    save(&document(&curve()), &folder.path().join("b.json"));
    save(
        &document(&run(vec![point(2, 1, 50)])),
        &folder.path().join("a.json"),
    );
    let found = Study::load(&folder.path().join(".")).unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!((&*found.doc.name, &*found.doc.title), (name, name));
    let names: Vec<_> = found
        .doc
        .servers
        .iter()
        .map(|server| &server.name[..])
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(found.doc.profiles, ["file-server"]);
    assert_eq!(found.doc.load_points, [1, 2, 4, 8, 16]);
    assert_eq!(found.results[1].run, document(&curve()));
    // Files that are not results are left out, and named.
    assert_eq!(found.unread, Vec::<String>::new());
    let other = folder.path().join("aa.json");
    fs::write(&other, "{").unwrap();
    fs::write(folder.path().join("z.json"), "{\"schema_version\": 1}").unwrap();
    let beside = Study::load(folder.path()).unwrap();
    assert_eq!(beside.doc, found.doc);
    assert_eq!(beside.results, found.results);
    let expected = format!(
        "failed to read {}: not an smbench result: it is not JSON (",
        other.display()
    );
    assert!(beside.unread[0].starts_with(&expected), "{beside:?}");
    assert!(beside.unread[1].contains("z.json: not a valid result: "));
    assert_eq!(beside.unread.len(), 2);
    // A comparison does not skip such a file.
    let refused = Input::load(folder.path()).unwrap_err().to_string();
    assert!(
        refused.contains("aa.json: not an smbench result"),
        "{refused}"
    );
    // Without any other file, the message has the reason.
    fs::remove_file(folder.path().join("a.json")).unwrap();
    fs::remove_file(folder.path().join("b.json")).unwrap();
    assert!(missing(folder.path()).contains("aa.json: not an smbench result"));
}

/// Documents of one label are passes of one server, if their work is the same.
#[test]
fn labels_name_results_and_join_their_passes() {
    let folder = tempfile::tempdir().unwrap();
    let labelled = |name: &str, label: &str, record| {
        let label = Some(label.to_owned());
        let doc = RunDoc {
            label,
            ..document(&record)
        };
        let path = folder.path().join(name);
        save(&doc, &path);
        path
    };
    let mut other_work = run(vec![point(2, 1, 50)]);
    other_work.plan.work.seed += 1;
    let paths = [
        labelled("1.json", "before", run(vec![point(2, 1, 50)])),
        labelled("2.json", "before", run(vec![point(2, 1, 70)])),
        labelled("3.json", "after", run(vec![point(2, 1, 80)])),
        labelled("4.json", "before", other_work),
    ];
    for found in [Study::load(folder.path()), Study::of_files(&paths)] {
        let found = found.unwrap();
        let names: Vec<_> = found
            .doc
            .servers
            .iter()
            .map(|server| &*server.name)
            .collect();
        let other = format!("before ({})", paths[3].display());
        assert_eq!(names, ["before", "after", &other]);
        assert_eq!((found.doc.passes, found.results.len()), (2, 3));
        let repeats = found.results[0].run.load_points.iter();
        let repeats: Vec<_> = repeats.map(|point| point.repeat).collect();
        assert_eq!(repeats, [1, 2]);
    }
}

/// What is not a further pass of a result has a row of its own, even with its label.
#[test]
fn another_server_and_a_copy_are_no_passes() {
    let folder = tempfile::tempdir().unwrap();
    let label = Some("mine".to_owned());
    let doc = |reads| RunDoc {
        label: label.clone(),
        ..document(&run(vec![point(2, 1, reads)]))
    };
    let mut elsewhere = doc(60);
    elsewhere.server.url = "smb://bench@other.example/data".to_owned();
    let mut signed = doc(70);
    signed.server.signing = "off".to_owned();
    let mut by_smb_rs = doc(80);
    by_smb_rs.plan.generator.threads += 1;
    let all = [doc(50), elsewhere, signed, by_smb_rs, doc(50)];
    let paths: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(at, doc)| {
            let path = folder.path().join(format!("{at}.json"));
            save(doc, &path);
            path
        })
        .collect();
    let found = Study::of_files(&paths).unwrap();
    assert_eq!((found.doc.passes, found.results.len()), (1, 5));
    let names: BTreeSet<_> = found
        .doc
        .servers
        .iter()
        .map(|server| &server.name)
        .collect();
    assert_eq!(names.len(), 5, "{names:?}");
    // So it is in comparisons, which also keep a copy apart.
    let input = |at: usize| Input::load(&paths[at]).unwrap();
    assert_eq!(Input::by_label(vec![input(0), input(1)]).len(), 2);
    assert_eq!(Input::by_label(vec![input(0), input(4)]).len(), 2);
}

#[test]
fn a_result_without_a_label_is_named_after_its_file_or_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let names = |results: &[(&str, &str, &str)]| {
        let paths = results.iter().map(|(file, url, started)| {
            let mut doc = document(&curve());
            doc.server.url = (*url).to_owned();
            doc.started = (*started).to_owned();
            if url.is_empty() {
                doc.server.place = ServerLocation::Embedded;
            }
            let path = folder.path().join(file);
            save(&doc, &path);
            path
        });
        let found = Study::of_files(&paths.collect::<Vec<_>>()).unwrap();
        let servers = found.doc.servers.into_iter();
        servers.map(|server| server.name).collect::<Vec<_>>()
    };
    let nas = "smb://ann@nas.example:1445/bench/a";
    let (one, two) = (
        "20260102T030405Z-office.json",
        "20260102T030409Z-office.json",
    );
    let (early, late) = ("2026-01-02T03:04:05Z", "2026-01-02T03:04:09Z");
    // Host, share and time, and no more than tells them apart.
    assert_eq!(names(&[(one, nas, early)]), ["nas.example/bench (03:04)"]);
    let of_second = [
        "nas.example/bench (03:04:05)",
        "nas.example/bench (03:04:09)",
    ];
    assert_eq!(names(&[(one, nas, early), (two, nas, late)]), of_second);
    let next_day = "2026-01-03T03:04:05Z";
    let of_days = [
        "nas.example/bench (2026-01-02 03:04)",
        "nas.example/bench (2026-01-03 03:04)",
    ];
    assert_eq!(names(&[(one, nas, early), (two, nas, next_day)]), of_days);
    // Two shares that differ only in what is left out otherwise.
    let other = "smb://ann@nas.example:1445/bench/b";
    let of_paths = [
        "nas.example:1445/bench/a (03:04)",
        "nas.example:1445/bench/b (03:04)",
    ];
    assert_eq!(names(&[(one, nas, early), (two, other, late)]), of_paths);
    assert_eq!(names(&[(one, "", early)]), ["built-in server (03:04)"]);
    assert_eq!(names(&[(one, "smb://[::1]/data", "?")]), ["[::1]/data ()"]);
    // The user's own names.
    let files = ["before.json", "20260102-office.json"];
    assert_eq!(
        names(&files.map(|file| (file, nas, early))),
        ["before", "20260102-office"]
    );
}

#[test]
fn a_calibration_that_cannot_be_read_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let result = document(&curve());
    save(&result, &folder.path().join("a.json"));
    let readable = Study::load(folder.path()).unwrap();
    assert_eq!(readable.unread, Vec::<String>::new());
    let file = folder.path().join("calibration.json");
    for (text, says) in [
        ("{", "not an smbench result: it is not JSON ("),
        ("{}", "not an smbench result"),
        ("{\"schema_version\": 1}", "not a valid result: "),
        ("{\"schema_version\": 99}", "written by a newer smbench"),
    ] {
        fs::write(&file, text).unwrap();
        let found = Study::load(folder.path()).unwrap();
        assert_eq!(found.calibration, None);
        let [line] = &found.unread[..] else {
            panic!("one line: {:?}", found.unread);
        };
        let expected = format!("failed to read {}: {says}", file.display());
        assert!(line.starts_with(&expected), "{line}");
        assert_eq!(found.results, readable.results);
        assert_eq!(found.doc, readable.doc, "it is no server of its own");
    }
}

/// Returns a result of the built-in server that is faster than any other.
fn demo() -> RunDoc {
    let mut demo = document(&run(vec![point(1, 1, 100_000), point(4, 1, 400_000)]));
    demo.server.place = ServerLocation::Embedded;
    demo
}

#[test]
fn the_built_in_server_stays_out_of_the_report_of_a_folder_with_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    save(&demo(), &at("demo.json"));
    let alone = Study::load(folder.path()).unwrap();
    assert_eq!((alone.results.len(), alone.set_aside), (1, None));

    let mut in_lab = demo();
    in_lab.server.place = ServerLocation::Remote;
    in_lab.server.notes = vec![BUILT_IN_NOTE.to_owned()];
    save(&in_lab, &at("lab.json"));
    save(&document(&curve()), &at("nas.json"));
    save(&document(&curve()), &at("old.json"));
    let found = Study::load(folder.path()).unwrap();
    let names: Vec<_> = found
        .doc
        .servers
        .iter()
        .map(|server| &*server.name)
        .collect();
    assert_eq!(names, ["nas", "old"]);
    let line = "left out 2 results of smbench's built-in server: demo.json, lab.json; to have \
                them, name the files instead of the folder";
    assert_eq!(found.set_aside.as_deref(), Some(line));

    let compared = compare(&[Input::load(folder.path()).unwrap()]).unwrap();
    assert_eq!(compared.pairs.len(), 1);
    assert!(compared.unmatched.is_empty(), "no condition fails for it");
    assert!(
        compared.left_out[0].ends_with(line),
        "{:?}",
        compared.left_out
    );
    for text in [
        render(&compared, Depth::Overview),
        to_markdown(&compared, Depth::Overview, &[]),
    ] {
        assert!(
            text.contains("2 results of smbench's built-in server"),
            "{text}"
        );
    }
}

#[test]
fn the_built_in_server_is_neither_baseline_nor_best_of_named_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = ["demo.json", "nas.json", "old.json"].map(at);
    save(&demo(), &paths[0]);
    save(&document(&curve()), &paths[1]);
    save(&document(&curve()), &paths[2]);
    let words = "demo is of smbench's built-in server, with files in memory";
    for count in [2, 3] {
        let found = Study::of_files(&paths[..count]).unwrap();
        let last = found.doc.servers.last().unwrap();
        assert_eq!(last.name, "demo");
        let answers = headlines(&found, 0).join("\n");
        assert!(answers.contains(words), "{answers}");
        assert!(!answers.contains("demo has the highest"), "{answers}");
    }
    let inputs = paths.each_ref().map(|path| Input::load(path).unwrap());
    let text = render(&compare(&inputs[..2]).unwrap(), Depth::Overview);
    assert!(text.contains("A is of smbench's built-in server"), "{text}");
}
