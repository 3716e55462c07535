//! Suites: several servers under the same load, saved as a study.

mod endings;
mod exporters;
mod failover;
mod mistakes;
mod searches;
mod tuning;

use std::fs;
use std::path::Path;

use serde_json::Value;
use smbench_lab::{EmbeddedServer, Tool, require};

use crate::support::{Place, Running, Said, embedded, json, text};

/// Windows short enough for a test suite.
const SHORT: [&str; 6] = [
    "--calibration=off",
    "--duration=300ms",
    "--ramp-up=50ms",
    "--ramp-down=20ms",
    "--threads=2",
    "--out=study",
];

const TWO_SAMBAS: &str = r#"
title = "Two of a kind"
clients = "1,2"
passes = 2
[[servers]]
name = "syncs"
samba = []
[[servers]]
name = "does not"
samba = ["strict sync = no"]
notes = ["somebody's choice"]
[[comparisons]]
title = "what it gains"
baseline = "syncs"
servers = ["does not", "syncs"]
"#;

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn has_samba() -> bool {
    match require(&[Tool::SMBD, Tool::PDBEDIT]) {
        Ok(()) => true,
        Err(skip) => {
            eprintln!("{skip}");
            false
        }
    }
}

/// Starts `smbench suite` with temporary files in a folder of the test.
fn start(place: &Place, password: &str, args: &[&str]) -> Running {
    let temporary = place.path("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = place.command(&["suite"]);
    command.args(args).env("TMPDIR", temporary);
    if !password.is_empty() {
        command.env("SMBENCH_PASSWORD", password);
    }
    Running::spawn(command)
}

fn suite(place: &Place, password: &str, args: &[&str]) -> Said {
    start(place, password, args).wait()
}

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut all = args.to_vec();
    all.extend(SHORT);
    all
}

/// Returns the command-line option for an embedded server.
fn named(name: &str, server: &EmbeddedServer) -> String {
    format!("--server={name}={}", server.url())
}

fn read(path: &Path) -> Value {
    json(&fs::read_to_string(path).unwrap())
}

/// Returns the document of a pass, if it exists.
fn pass(place: &Place, server: &str, profile: &str, pass: u32) -> Option<Value> {
    let path = place.path(&format!(
        "study/runs/{server}/01-{profile}/pass-{pass}.json"
    ));
    path.exists().then(|| read(&path))
}

fn clients(pass: &Value) -> Vec<u64> {
    let points = pass["load_points"].as_array().unwrap();
    let clients = points
        .iter()
        .map(|point| point["clients"].as_u64().unwrap());
    clients.collect()
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn two_configurations_of_samba_become_a_study() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    let file = place.write("two.toml", TWO_SAMBAS);
    let said = suite(&place, "", &with(&[text(&file), "--quiet"]));
    said.succeeded();
    assert!(
        said.stdout.starts_with("study    Two of a kind\n"),
        "{said:?}"
    );
    assert!(said.stdout.contains("\nstudy     study\n"), "{said:?}");
    let doc = read(&place.path("study/study.json"));
    assert_eq!(doc["name"], "two");
    assert_eq!(doc["load_points"], serde_json::json!([1, 2]));
    assert_eq!(doc["servers"][1]["settings"][0], "strict sync = no");
    assert_eq!(doc["comparisons"][0]["baseline"], "syncs");
    assert!(said.stdout.contains("  vs syncs  "), "{said:?}");
    let mut started = Vec::new();
    for (server, flush) in [("01-syncs", "honours"), ("02-does-not", "ignores")] {
        for number in [1, 2] {
            let run = pass(&place, server, "file-server", number).unwrap();
            assert_eq!(clients(&run), [1, 2]);
            assert_eq!(run["outcome"], "complete");
            assert_eq!(run["server"]["flush"], flush);
            let notes = run["server"]["notes"].to_string();
            assert!(notes.contains("a scratch Samba "), "{notes}");
            let software = run["server"]["software"].as_str().unwrap();
            assert!(software.starts_with("Samba 4."), "{software}");
            assert!(run["server"]["storage"]["in_memory"].is_boolean(), "{run}");
            assert_eq!(run["command"], doc["command"]);
            assert_eq!(run["command"][1], "suite");
            started.push((number, run["started"].as_str().unwrap().to_owned()));
        }
    }
    // The first passes on both servers, then the second ones.
    let times: Vec<_> = [0, 2, 1, 3].map(|at: usize| &started[at].1).to_vec();
    assert!(times.is_sorted(), "{started:?}");
    assert_eq!(entries(&place.path("tmp")), 0);

    // All is measured, so nothing runs again.
    let again = suite(&place, "", &with(&[text(&file), "--quiet"]));
    again.succeeded();
    assert_eq!(again.stdout, said.stdout);

    // The remaining load points are not measured with another Samba, or on another
    // disk.
    let path = |number: u32| {
        place.path(&format!(
            "study/runs/01-syncs/01-file-server/pass-{number}.json"
        ))
    };
    let mut second = read(&path(2));
    second["load_points"].as_array_mut().unwrap().pop();
    fs::write(path(2), second.to_string()).unwrap();
    let first = read(&path(1));
    for (key, value, difference) in [
        (
            "/server/software",
            "Samba 3.0",
            "server `syncs` as Samba 3.0, not as Samba 4.",
        ),
        (
            "/server/storage/filesystem",
            "vfat",
            "server `syncs` on vfat of ",
        ),
    ] {
        let mut other = first.clone();
        *other.pointer_mut(key).unwrap() = value.into();
        fs::write(path(1), other.to_string()).unwrap();
        let refused = suite(&place, "", &with(&[text(&file), "--quiet"]));
        let holds = "folder study holds a study with ";
        refused.failed_with(2, &[holds, difference, "use another --out"]);
        assert_eq!(read(&path(2)), second, "nothing was measured");
        assert_eq!(entries(&place.path("tmp")), 0);
        assert_eq!(read(&place.path("study/.running")), serde_json::json!([]));
    }
}

#[test]
fn the_study_of_flushes_has_both_configurations() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    let args = ["veritest-2004", "--quick", "--points=1,2", "--passes=1"];
    // Long enough to contain some flushes, also on a busy machine.
    let mut args = with(&args);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=3s");
    let said = suite(&place, "", &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    // Without a terminal each load point has a line.
    assert_eq!(said.stderr.lines().count(), 4, "{said:?}");
    let doc = read(&place.path("study/study.json"));
    let [profile] = &doc["profiles"].as_array().unwrap()[..] else {
        panic!("one profile: {doc}");
    };
    let titles: Vec<_> = doc["comparisons"].as_array().unwrap().iter().collect();
    assert_eq!(titles.len(), 1, "nobody named a server: {doc}");
    for (server, flush) in [
        ("01-samba--strict-sync---no", "ignores"),
        ("02-samba--strict-sync---yes", "honours"),
    ] {
        let run = pass(&place, server, profile.as_str().unwrap(), 1).unwrap();
        assert_eq!(clients(&run), [1, 2]);
        assert_eq!(run["server"]["flush"], flush);
        let flushes = &run["load_points"][1]["whole"]["flush"]["count"];
        assert!(flushes.as_u64().unwrap() > 0, "{run}");
    }
    let both = ["Samba, strict sync = no", "Samba, strict sync = yes"];
    let page = fs::read_to_string(place.path("study/report/report.md")).unwrap();
    let tables = tables(&page);
    // Peaks, dips, response times, percentiles, operations, load points, the
    // change.
    assert!(tables.len() >= 10, "{page}");
    for table in &tables {
        for name in both {
            let has_figures = tables.iter().any(|found| {
                // A table of one server has a counterpart for the other server.
                // That one has other process numbers, and may have its peak
                // elsewhere.
                let mut titles = both.iter().map(|other| table.title.replace(other, name));
                let same = |title: String| {
                    let parts = [title.as_str(), &found.title].map(|title| {
                        let (title, _) = title.split_once(" (process").unwrap_or((title, ""));
                        title.split_once(" at ").map_or(title, |(what, _)| what)
                    });
                    parts[0] == parts[1]
                };
                found.figures_of(name) && titles.any(same)
            });
            assert!(has_figures, "{name} in {table:?}: {page}");
        }
    }
    for name in both {
        assert!(said.stdout.contains(name), "{said:?}");
    }
}

/// A Markdown table of a report.
#[derive(Debug)]
struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns whether the table has a figure of a server: in its column, in its
    /// row, or anywhere in a table of that server alone.
    fn figures_of(&self, server: &str) -> bool {
        let is_figure = |cell: &String| {
            cell.trim_start_matches(['~', '^', '*', ' '])
                .starts_with(|c: char| c.is_ascii_digit())
        };
        let column = self.header.iter().position(|name| name == server);
        self.rows.iter().any(|row| match column {
            Some(column) => row.get(column).is_some_and(is_figure),
            None => match row.iter().position(|cell| cell == server) {
                Some(name) => row[name + 1..].iter().any(is_figure),
                None => self.title.starts_with(server) && row.iter().any(is_figure),
            },
        })
    }
}

/// Returns all tables of a report, with the bold title above each.
fn tables(markdown: &str) -> Vec<Table> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.replace("\\~", "~").replace("\\*", "*");
        let inner = line.trim_matches('|').split(" | ");
        inner.map(|cell| cell.trim().to_owned()).collect()
    };
    let mut tables: Vec<Table> = Vec::new();
    let (mut title, mut is_within) = ("", false);
    for line in markdown.lines() {
        let is_row = line.starts_with('|');
        match is_row {
            true if !is_within => tables.push(Table {
                title: title.to_owned(),
                header: cells(line),
                rows: Vec::new(),
            }),
            true if line.starts_with("| --") => {}
            true => tables.last_mut().unwrap().rows.push(cells(line)),
            false if line.starts_with("**") => title = line.trim_matches('*'),
            false => {}
        }
        is_within = is_row;
    }
    tables
}

#[test]
fn lines_of_loadfiles_that_mean_nothing_are_left_out_where_a_suite_says_so() {
    let server = embedded();
    let place = Place::new();
    place.write(
        "made.txt",
        "Mkdir \"\\a\" NT_STATUS_OK\nFrobnicate \"\\a\" NT_STATUS_OK\nRmdir \"\\a\" NT_STATUS_OK\n",
    );
    let profiles = "clients = \"1\"\nprofiles = [\"loadfile:./made.txt\"]\n";
    let file = place.write("suite.toml", profiles);
    let named = named("memory", &server);
    let args = with(&[text(&file), &named, "--quiet"]);
    let refused = suite(&place, server.password(), &args);
    refused.failed_with(2, &["line 2: ", "Frobnicate"]);
    let mut skipping = args.clone();
    skipping.push("--skip-unknown");
    suite(&place, server.password(), &skipping).succeeded();
    let left_out = |run: Value| run["plan"]["workload"]["replay"]["skipped"].to_string();
    let run = pass(&place, "01-memory", "loadfile-made", 1).unwrap();
    assert_eq!(left_out(run), "{\"Frobnicate\":1}");
    // With the option in the file instead, it is the same study.
    place.write("suite.toml", &format!("{profiles}skip_unknown = true\n"));
    suite(&place, server.password(), &args).succeeded();
}
