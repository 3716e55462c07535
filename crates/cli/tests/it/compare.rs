//! `smbench compare`, and `show` of a study.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, Said, embedded, json, text};

/// Returns the frozen document, of one pass, with throughput and counts scaled to
/// this percentage.
fn one_pass(percent: f64) -> Value {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/v1-curve.json");
    let mut doc = json(&fs::read_to_string(frozen).unwrap());
    for point in doc["load_points"].as_array_mut().unwrap() {
        for key in ["throughput_mbps", "ops_per_s"] {
            let value = point[key].as_f64().unwrap();
            point[key] = (value * percent / 100.0).into();
        }
    }
    doc
}

/// Returns the same document with three passes that differ by this percentage.
fn passes(percent: f64, apart: f64) -> Value {
    let factors = [1.0 - apart / 100.0, 1.0, 1.0 + apart / 100.0];
    let mut doc = one_pass(percent);
    doc["plan"]["repeat"] = factors.len().into();
    let points = (1..).zip(factors).flat_map(|(repeat, factor)| {
        let mut pass = one_pass(percent * factor);
        let points = pass["load_points"].as_array_mut().unwrap();
        points
            .iter_mut()
            .for_each(|point| point["repeat"] = repeat.into());
        std::mem::take(points)
    });
    doc["load_points"] = points.collect();
    doc
}

/// Writes three passes that hardly differ.
fn scaled(place: &Place, name: &str, percent: u32) {
    place.write(name, &passes(percent.into(), 0.1).to_string());
}

fn compare(place: &Place, more: &[&str]) -> Said {
    let mut args = vec!["compare"];
    args.extend(more);
    place.smbench(&args)
}

/// Measures the same server three times, twice.
#[test]
fn a_server_is_held_against_itself() {
    let place = Place::new();
    let server = embedded();
    let (url, password) = (server.url(), server.password().to_owned());
    for name in ["one.json", "two.json"] {
        let more = [
            "--clients=1,2",
            "--repeat=3",
            "--duration=100ms",
            "--json",
            name,
        ];
        place.run(&url, &password, &more).succeeded();
    }
    let said = compare(&place, &["one.json", "two.json", "--json", "both.json"]);
    said.succeeded();
    for part in [
        "A        one.json: file-server on smb://",
        "B        two.json: file-server on smb://",
        "\nB against A by load point\n",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is missing: {said:?}");
    }
    assert!(!said.stdout.contains("warning"), "{said:?}");
    let both = place.json("both.json");
    let pair = &both["pairs"][0];
    assert_eq!(pair["workload"], Value::Array(Vec::new()));
    let points = pair["load_points"].as_array().unwrap();
    let clients: Vec<_> = points
        .iter()
        .map(|point| &point["baseline"]["clients"])
        .collect();
    assert_eq!(clients, [1, 2]);
    let measured = ["one.json", "two.json"].map(|name| place.json(name));
    for point in points {
        assert_eq!(
            (&point["baseline"]["passes"], &point["other"]["passes"]),
            (&3.into(), &3.into())
        );
        // A busy machine may limit the generator. Then verdicts are open, but those of CPU.
        let is_limited = measured
            .iter()
            .flat_map(|doc| doc["load_points"].as_array().unwrap())
            .filter(|row| row["clients"] == point["baseline"]["clients"])
            .any(|row| row["generator_limited"] == true);
        let metrics = point["metrics"].as_array().unwrap();
        let names = [
            "throughput",
            "ops/s",
            "mean",
            "p50",
            "p90",
            "p95",
            "p99",
            "p99.9",
            "max",
            "us/op",
        ];
        assert!(
            names
                .iter()
                .zip(metrics)
                .all(|(name, found)| found["metric"] == *name)
        );
        for metric in &metrics[..names.len()] {
            assert_eq!(metric["noise"], "passes");
            let may_be_open = is_limited && metric["metric"] != "us/op";
            assert!(
                may_be_open || metric["verdict"] != "cannot-tell",
                "{metric}"
            );
            let [low, change, high] = ["low_percent", "change_percent", "high_percent"]
                .map(|key| metric[key].as_f64().unwrap());
            assert!(low <= change && change <= high, "{metric}");
        }
        assert!(point["ops"]["read"].as_array().unwrap().len() == 9);
    }
    // The same server cannot be slower in everything.
    compare(
        &place,
        &["one.json", "two.json", "--fail-if", "throughput < -99%"],
    )
    .succeeded();
}

#[test]
fn exit_codes_tell_whether_a_condition_was_met() {
    let place = Place::new();
    scaled(&place, "before.json", 100);
    scaled(&place, "after.json", 90);
    let both = ["before.json", "after.json"];
    let with = |conditions: &[&str]| {
        let mut args = both.to_vec();
        for condition in conditions {
            args.extend(["--fail-if", condition]);
        }
        compare(&place, &args)
    };
    let passed = with(&["throughput < -15%", "p99 > +10%"]);
    passed.succeeded();
    assert!(
        passed
            .stdout
            .contains("\npassed: throughput < -15%: -10.0 % at "),
        "{passed:?}"
    );
    let failed = with(&["p99 > +10%", "throughput < -5%"]);
    assert_eq!(
        (failed.code(), failed.stderr.as_str()),
        (Some(1), ""),
        "{failed:?}"
    );
    assert!(
        failed.stdout.contains("\npassed: p99 > +10%: 0.0 % at "),
        "{failed:?}"
    );
    assert!(
        failed
            .stdout
            .contains("\nfailed: throughput < -5%: -10.0 % at "),
        "{failed:?}"
    );
    with(&["nfs ops/s < -5%"]).failed_with(2, &["--fail-if 'nfs ops/s < -5%'", "ops/s of nfs"]);
    with(&["p99 at 7 > 5%"]).failed_with(2, &["no valid load point of 7 clients in common"]);
    with(&["p98 > 5%"]).failed_with(2, &["`p98` is not a metric, such as throughput"]);

    let mut args = both.to_vec();
    args.extend(["--json", "-", "--fail-if", "throughput < -5%"]);
    let said = compare(&place, &args);
    assert_eq!(said.code(), Some(1));
    assert!(
        said.stderr
            .starts_with("smbench: failed: throughput < -5%: -10.0 %"),
        "{said:?}"
    );
    assert_eq!(json(&said.stdout)["conditions"][0]["failed"], true);
    let csv = compare(&place, &["before.json", "after.json", "--csv", "-"]);
    csv.succeeded();
    assert!(
        csv.stdout.starts_with("baseline,other,profile,place,"),
        "{csv:?}"
    );
}

#[test]
fn a_condition_that_the_data_could_not_show_is_no_pass_and_fails_where_asked() {
    let place = Place::new();
    place.write("noisy.json", &passes(100.0, 30.0).to_string());
    place.write("one.json", &one_pass(50.0).to_string());
    for (other, part) in [
        (
            "noisy.json",
            "\ninconclusive: throughput < -5%: these passes can only show changes beyond -59.8 %; \
             0.0 % at ",
        ),
        (
            "one.json",
            "\ninconclusive: throughput < -5%: one pass: noise unknown, repeat with --repeat 5; \
             -50.0 % at ",
        ),
    ] {
        let args = ["noisy.json", other, "--fail-if", "throughput < -5%"];
        let said = compare(&place, &args);
        said.succeeded();
        assert!(said.stdout.contains(part), "{said:?}");
        let said = compare(&place, &[&args[..], &["--json", "-"]].concat());
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(
            said.stderr.starts_with("smbench: inconclusive: "),
            "{said:?}"
        );
        let judged = &json(&said.stdout)["conditions"][0];
        assert_eq!(
            (&judged["failed"], &judged["conclusive"]),
            (&false.into(), &false.into())
        );
        let more = ["--fail-if-inconclusive", "--junit=junit.xml"];
        let said = compare(&place, &[&args[..], &more].concat());
        assert_eq!(said.code(), Some(1), "{said:?}");
        let junit = fs::read_to_string(place.path("junit.xml")).unwrap();
        assert!(junit.contains("tests=\"1\" failures=\"1\""), "{junit}");
        let said = compare(&place, &[&args[..], &more[1..]].concat());
        assert_eq!(said.code(), Some(0), "{said:?}");
        let junit = fs::read_to_string(place.path("junit.xml")).unwrap();
        assert!(junit.contains("failures=\"0\" skipped=\"1\""), "{junit}");
    }
    // Not the outcome of an earlier comparison.
    compare(&place, &["noisy.json", "none.json", "--junit=junit.xml"])
        .failed_with(2, &["none.json"]);
    let junit = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(
        junit.contains("<failure message=\"failed to read none.json: the file does not exist\">"),
        "{junit}"
    );
    compare(
        &place,
        &["noisy.json", "one.json", "--fail-if-inconclusive"],
    )
    .failed_with(2, &["--fail-if"]);
}

#[test]
fn results_of_different_work_are_compared_only_by_force() {
    let place = Place::new();
    scaled(&place, "a.json", 100);
    let mut other = passes(100.0, 0.1);
    other["plan"]["profile"] = "metadata".into();
    other["plan"]["outstanding"] = 7.into();
    place.write("b.json", &other.to_string());
    let difference = "A ran profile file-server, B ran metadata";
    compare(&place, &["a.json", "b.json"]).failed_with(2, &[difference, "--force"]);
    let forced = compare(&place, &["a.json", "b.json", "--force"]);
    forced.succeeded();
    assert!(
        forced.stdout.contains(&format!("warning  {difference}\n")),
        "{forced:?}"
    );
}

#[test]
fn what_cannot_be_compared_takes_one_line() {
    let place = Place::new();
    scaled(&place, "x.json", 100);
    fs::create_dir(place.path("empty")).unwrap();
    for (args, part) in [
        (&["x.json"][..], "x.json is a single result"),
        (
            &["x.json", "missing.json"],
            "missing.json: the file does not exist",
        ),
        (&["x.json", "empty"], "empty"),
        (
            &["x.json", "x.json", "--json", "-", "--csv", "-"],
            "cannot both have standard output",
        ),
        (&[], "<RESULT|STUDY>..."),
    ] {
        compare(&place, args).failed_with(2, &[part]);
    }
    let unwritable = compare(&place, &["x.json", "x.json", "--json", "missing/x.json"]);
    unwritable.failed_with(3, &["missing/x.json"]);
}

/// Writes a study of three servers, of which only some were measured. `measured`
/// has their folders, and their numbers in percent.
fn study(place: &Place, measured: &[(&str, u32)]) {
    let server = |name: &str| serde_json::json!({"name": name, "url": null});
    let servers = ["old", "new", "newest"].map(server);
    let doc = serde_json::json!({
        "schema_version": 1,
        "tool": {"name": "smbench", "version": "0.1.0"},
        "name": "nightly",
        "title": "Nightly",
        "started": "2026-01-31T12:00:00Z",
        "command": ["smbench", "suite", "nightly.toml"],
        "profiles": ["file-server"],
        "load_points": [1],
        "passes": 3,
        "servers": servers,
    });
    for (folder, _) in measured {
        let runs = format!("study/runs/{folder}/01-file-server");
        fs::create_dir_all(place.path(&runs)).unwrap();
    }
    place.write("study/study.json", &doc.to_string());
    for (folder, percent) in measured {
        for (pass, factor) in [(1, 0.999), (2, 1.0), (3, 1.001)] {
            let name = format!("study/runs/{folder}/01-file-server/pass-{pass}.json");
            let doc = one_pass(f64::from(*percent) * factor);
            place.write(&name, &doc.to_string());
        }
    }
}

/// A missing result is not a pass.
#[test]
fn a_condition_does_not_hold_for_want_of_a_server() {
    let place = Place::new();
    study(&place, &[("01-old", 100), ("02-new", 101)]);
    let compared = compare(&place, &["study"]);
    compared.succeeded();
    let missing = "study: no result of newest with file-server";
    assert!(compared.stdout.contains(missing), "{compared:?}");
    compare(&place, &["study", "--fail-if", "throughput < -5%"]).failed_with(2, &[missing]);
    study(&place, &[("03-newest", 90)]);
    let judged = compare(&place, &["study", "--fail-if", "throughput < -5%"]);
    assert_eq!(judged.code(), Some(1), "{judged:?}");
    for (verdict, change, server) in [
        ("passed", "+1.0 %", "B against A, new with file-server"),
        ("failed", "-10.0 %", "C against A, newest with file-server"),
    ] {
        let begin = format!("{verdict}: throughput < -5%: {change} at ");
        let mut lines = judged.stdout.lines();
        let line = lines.find(|line| line.starts_with(&begin));
        assert!(line.is_some_and(|line| line.contains(server)), "{judged:?}");
    }
}

#[test]
fn a_folder_of_results_is_shown_as_tables_and_compared() {
    let place = Place::new();
    fs::create_dir(place.path("study")).unwrap();
    scaled(&place, "study/a.json", 100);
    scaled(&place, "study/b.json", 80);
    let shown = place.smbench(&["show", "study"]);
    shown.succeeded();
    for part in [
        "study    study\n",
        "server   a: smb://",
        "\npeak, and response time there\n",
    ] {
        assert!(
            shown.stdout.contains(part),
            "{part:?} is missing: {shown:?}"
        );
    }
    place
        .smbench(&["show", "study", "--csv", "-"])
        .failed_with(2, &["is a folder of several"]);
    let compared = compare(&place, &["study"]);
    compared.succeeded();
    assert!(
        compared.stdout.contains("B        study: b: "),
        "{compared:?}"
    );
    assert!(compared.stdout.contains("-20.0 %"), "{compared:?}");
    let path = place.path("study/a.json");
    compare(&place, &[text(&path), "study"]).failed_with(2, &["study has several results"]);
}
