//! Import and export of Iometer's files. Imported profiles run, several profiles
//! run one after the other, and results have Iometer's format.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Lab, Place, SHORT, json};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/iometer");

fn fixture(name: &str) -> String {
    format!("{FIXTURES}/{name}")
}

fn documents(place: &Place) -> Vec<Value> {
    let results = place.results();
    let read = |path: &std::path::PathBuf| json(&fs::read_to_string(path).unwrap());
    let mut documents: Vec<_> = results.iter().map(read).collect();
    documents.sort_by_key(|doc| doc["plan"]["profile"].as_str().unwrap().to_owned());
    documents
}

/// Returns the values of a column in the rows of this target type.
fn column(file: &Path, row: &str, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(file).unwrap();
    let header = text.lines().find(|line| line.starts_with("'Target Type"));
    let mut columns = header.unwrap().split(',');
    let at = columns.position(|column| column == name).unwrap();
    let rows = text.lines().filter(|line| line.starts_with(row));
    rows.map(|line| line.split(',').nth(at).unwrap().parse().unwrap())
        .collect()
}

#[test]
fn an_icf_file_with_several_specifications_is_imported() {
    let place = Place::new();
    let icf = fixture("several-1.1.0.icf");
    let said = place.smbench(&["import", "iometer", &icf, "--out", "made"]);
    said.succeeded();
    assert_eq!(
        said.stdout,
        format!(
            "3 access specifications of {icf}\n\
             wrote made/4-kib-67-read-100-random.toml\n\
             wrote made/file-server.toml\n\
             wrote made/bursts-with-replies.toml\n\
             wrote made/suite.toml\n\
             Run it: smbench suite made/suite.toml --server NAME=URL\n"
        )
    );
    let suite = fs::read_to_string(place.path("made/suite.toml")).unwrap();
    assert!(
        suite.contains("profiles = [\"./file-server.toml\", \"./bursts-with-replies.toml\"]"),
        "{suite}"
    );
}

#[test]
fn an_import_replaces_no_file() {
    let place = Place::new();
    let icf = fixture("several-1.1.0.icf");
    let import = |out: &str| place.smbench(&["import", "iometer", &icf, "--out", out]);
    import("made").succeeded();
    // If one file exists, no other is written either.
    for kept in ["made/bursts-with-replies.toml", "made/suite.toml"] {
        let kept = place.path(kept);
        let folder = kept.parent().unwrap();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path != kept {
                fs::remove_file(path).unwrap();
            }
        }
        fs::write(&kept, "mine").unwrap();
        let said = import("made");
        let name = kept.file_name().unwrap().to_str().unwrap();
        let message = format!("made/{name} exists already: use another --out");
        said.failed_with(2, &[&message]);
        let left: Vec<_> = fs::read_dir(folder).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "mine");
        fs::remove_file(kept).unwrap();
        import("made").succeeded();
    }
    // If the folder cannot be created, the message names it, and the file in its
    // place stays.
    let said = import("made/suite.toml/x");
    said.failed_with(3, &["failed to write made/suite.toml/x"]);
    assert!(place.path("made/suite.toml").is_file());
}

#[test]
fn imported_profiles_run_and_their_results_have_iometers_columns() {
    let place = Place::new();
    let icf = fixture("several-1.1.0.icf");
    let said = place.smbench(&["import", "iometer", &icf, "--out", "made"]);
    said.succeeded();
    let mut args = vec!["run", "--clients=1,2", "--file-size=1MiB"];
    args.extend(SHORT);
    args.extend(["--profile", "made/file-server.toml"]);
    args.extend(["--profile", "made/bursts-with-replies.toml"]);
    args.extend(["--csv-iometer", "results.csv"]);
    let said = place.smbench(&args);
    said.succeeded();
    assert_eq!(
        said.stdout.matches("\nSaved to ").count(),
        2,
        "{}",
        said.stdout
    );
    let docs = documents(&place);
    let [bursts, files] = &docs[..] else {
        panic!("{docs:?}");
    };
    assert_eq!(bursts["plan"]["profile"], "Bursts with replies");
    assert_eq!(bursts["plan"]["workload"]["pattern"][0]["delay_s"], 0.02);
    assert_eq!(
        files["plan"]["workload"]["pattern"][3]["weight_percent"],
        60.0
    );
    // One file for both profiles; each load point is a test, in the order they ran.
    let csv = place.path("results.csv");
    let points = [files, bursts].map(|doc| doc["load_points"].as_array().unwrap());
    let points: Vec<_> = points.into_iter().flatten().collect();
    for (name, key) in [
        ("IOps", "ops_per_s"),
        ("Bytes Read", "bytes_read"),
        ("Bytes Written", "bytes_written"),
        ("# Workers", "clients"),
    ] {
        let written = column(&csv, "ALL,", name);
        let expected: Vec<_> = points
            .iter()
            .map(|point| point[key].as_f64().unwrap())
            .collect();
        assert_eq!(written.len(), 4);
        for (written, expected) in written.iter().zip(expected) {
            assert!(
                (written - expected).abs() < 1e-3,
                "{name}: {written} {expected}"
            );
        }
    }
    // Exports an existing document in the same way.
    let [one, _] = &place.results()[..] else {
        panic!("two results");
    };
    let one = one.to_str().unwrap();
    place
        .smbench(&["show", one, "--csv-iometer", "again.csv"])
        .succeeded();
    assert_eq!(
        column(&place.path("again.csv"), "MANAGER,", "IOps").len(),
        2
    );
}

#[test]
fn an_imported_suite_is_one_that_plans() {
    let place = Place::new();
    let icf = fixture("latin1-crlf-2006.07.27.icf");
    let said = place.smbench(&["import", "iometer", &icf]);
    said.succeeded();
    let folder = "latin1-crlf-2006.07.27";
    assert!(said.stdout.contains(&format!(
        "wrote {folder}/datei-für-büro-8-outstanding.toml\n"
    )));
    for note in [
        ":49: test connection rate is not supported: sessions stay",
        ":51: starting sector 63: files are used from their begin",
        ":62: worker type NETWORK,TCP is not supported: the worker is left out",
    ] {
        assert!(
            said.stdout.contains(&format!("not taken, {icf}{note}\n")),
            "{}",
            said.stdout
        );
    }
    let profile = format!("{folder}/datei-für-büro-8-outstanding.toml");
    let said = place.smbench(&["plan", "--profile", &profile]);
    said.succeeded();
    for message in [
        "profile      Datei für Büro, 8 outstanding: ",
        "45 s per load point, ramps of 5 s and ",
        "closed loop, 8 outstanding per client, ",
        "100 %      8 KiB, 50 % reads, 25 % random, aligned to 512 B",
    ] {
        assert!(said.stdout.contains(message), "{message}: {}", said.stdout);
    }
    // All four form one suite, so only a wrong server is left as an error.
    let suite = format!("{folder}/suite.toml");
    let server = "nas=smb://ann@127.0.0.1:1/x";
    let args = [
        "suite",
        &suite,
        "--server",
        server,
        "--calibration=off",
        "--out=study",
    ];
    let said = place.smbench_as("x", &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains("8 outstanding on nas"), "{said:?}");
}

#[test]
fn mistakes_are_reported_before_anything_is_written() {
    let place = Place::new();
    let bad = "Version 1.1.0\n'ACCESS SPECIFICATIONS ===\n\
               'Access specification name,default assignment\n\tA,NONE\n\
               'size,% of size,% reads,% random,delay,burst,align,reply\n\
               2147483648,100,0,0,0,1,0,0\n'END access specifications\n";
    place.write("bad.icf", bad);
    let said = place.smbench(&["import", "iometer", "bad.icf"]);
    said.failed_with(
        2,
        &["bad.icf:6: size is 2147483648: requests of more than 1 GiB are not supported"],
    );
    assert!(!place.path("bad").exists());
    let said = place.smbench(&["import", "iometer", "no.icf"]);
    said.failed_with(2, &["no.icf: the file does not exist"]);
    let icf = fixture("several-1.1.0.icf");
    let said = place.smbench(&["import", "iometer", &icf, "--out", "one.toml"]);
    said.failed_with(
        2,
        &["makes 3 profiles, and --out one.toml is one file: give a folder"],
    );
    // One specification can be written to one file.
    let good = bad.replace("2147483648", "16777216");
    place.write("good.icf", &good);
    place
        .smbench(&["import", "iometer", "good.icf", "--out", "one.toml"])
        .succeeded();
    place.smbench(&["profiles", "show", "one.toml"]).succeeded();

    let two = [
        "run",
        "--profile=read-4k",
        "--profile=web-server",
        "--json=x.json",
    ];
    let said = place.smbench(&two);
    said.failed_with(2, &["--json is for one result, and there are 2 profiles"]);
    assert!(!place.path("x.json").exists());
    let said = place.smbench(&["plan", "--profile=read-4k", "--profile=web-server"]);
    said.succeeded();
    assert_eq!(said.stdout.matches("digest ").count(), 2, "{}", said.stdout);
}

#[test]
fn a_profile_that_cannot_run_is_named_and_costs_the_others_nothing() {
    let place = Place::new();
    let small = Lab::start(&place, &["embedded", "--capacity=8MiB"]);
    let read = "read_percent = 100\n[[sizes]]\nsize = \"4KiB\"\nweight = 100\n";
    for (name, size) in [("one", "64KiB"), ("big", "64MiB"), ("two", "64KiB")] {
        let text = format!("{read}[files]\nsize = \"{size}\"\n");
        place.write(&format!("{name}.toml"), &text);
    }
    let profiles = ["one", "big", "two"].map(|name| format!("--profile={name}.toml"));
    let mut args: Vec<_> = profiles.iter().map(String::as_str).collect();
    args.extend(["--clients=1", "--csv-iometer=results.csv"]);
    let said = place.run(&small.url, &small.password, &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let [line] = said.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{said:?}");
    };
    assert!(line.starts_with("smbench: profile big: "), "{line}");
    assert!(line.contains("8 MiB free"), "{line}");
    let measured = documents(&place);
    let names: Vec<_> = measured.iter().map(|doc| &doc["plan"]["profile"]).collect();
    assert_eq!(names, ["one", "two"]);
    let csv = fs::read_to_string(place.path("results.csv")).unwrap();
    assert!(csv.contains("one and two by "), "{csv}");
}
