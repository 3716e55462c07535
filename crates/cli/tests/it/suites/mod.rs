//! Suites: several servers under the same load, kept as a study.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::Value;
use smbench_lab::{EmbeddedServer, Tool, require};

use crate::support::{Place, Running, Said, embedded, free_port, json, text, wait_until};

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
kind = "gain"
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

/// `smbench suite`, with temporary files in a folder of the test's.
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

/// A line of the command line for an embedded server.
fn named(name: &str, server: &EmbeddedServer) -> String {
    format!("--server={name}={}", server.url())
}

fn read(path: &Path) -> Value {
    json(&fs::read_to_string(path).unwrap())
}

/// The document of a pass, if there is one.
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
    assert_eq!(doc["comparisons"][0]["servers"][0], "does not");
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
    // The first passes on both, then the second ones.
    let times: Vec<_> = [0, 2, 1, 3].map(|at: usize| &started[at].1).to_vec();
    assert!(times.is_sorted(), "{started:?}");
    assert_eq!(entries(&place.path("tmp")), 0);

    // There is nothing left to do, and nothing is done.
    let again = suite(&place, "", &with(&[text(&file), "--quiet"]));
    again.succeeded();
    assert_eq!(again.stdout, said.stdout);
}

#[test]
fn a_killed_suite_goes_on_where_it_stopped_and_cleans_up() {
    if !has_samba() {
        return;
    }
    let server = embedded();
    let place = Place::new();
    let file = place.write(
        "suite.toml",
        "clients = \"1,2,3\"\npasses = 2\n[[servers]]\nname = \"samba\"\nsamba = []\n",
    );
    let named = named("memory", &server);
    // Long enough to be killed in.
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=2s");
    let measured = |server: &str, number: u32| {
        pass(&place, server, "file-server", number).map_or(Vec::new(), |run| clients(&run))
    };
    // Killed twice: on the server that is there, and on the one set up for it.
    let running = start(&place, server.password(), &args);
    wait_until(|| !measured("01-memory", 1).is_empty());
    running.signal(Signal::SIGKILL);
    running.wait();
    let first = pass(&place, "01-memory", "file-server", 1).unwrap();
    assert!(entries(&place.path("study")) > 0);
    let running = start(&place, server.password(), &args);
    wait_until(|| !measured("02-samba", 1).is_empty());
    running.signal(Signal::SIGKILL);
    running.wait();
    let second = pass(&place, "02-samba", "file-server", 1).unwrap();
    assert_eq!(entries(&place.path("tmp")), 1, "the killed Samba's folder");

    let said = suite(&place, server.password(), &args);
    said.succeeded();
    for (name, before) in [("01-memory", &first), ("02-samba", &second)] {
        let run = pass(&place, name, "file-server", 1).unwrap();
        assert_eq!(clients(&run), [1, 2, 3], "each once, in order");
        assert_eq!(run["outcome"], "complete");
        assert_eq!(run["plan"]["load_points"], serde_json::json!([1, 2, 3]));
        for (at, point) in before["load_points"].as_array().unwrap().iter().enumerate() {
            assert_eq!(&run["load_points"][at], point, "never measured again");
        }
        if before["load_points"].as_array().unwrap().len() < 3 {
            let notes = run["server"]["notes"].to_string();
            assert!(notes.contains("interrupted and went on"), "{notes}");
        }
        let other = pass(&place, name, "file-server", 2).unwrap();
        assert_eq!(clients(&other), [1, 2, 3]);
    }
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    assert_eq!(entries(&place.path("tmp")), 0);
    assert_eq!(read(&place.path("study/.running")), serde_json::json!([]));
}

#[test]
fn an_interrupt_ends_with_what_there_is() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1,2\"\npasses = 2\n");
    let named = named("memory", &server);
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=2s");
    let running = start(&place, server.password(), &args);
    wait_until(|| pass(&place, "01-memory", "file-server", 1).is_some());
    let beside = suite(&place, server.password(), &args);
    beside.failed_with(2, &["another smbench is measuring this study"]);
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(said.stdout.contains("\nstudy     study\n"), "{said:?}");
    assert!(said.stderr.starts_with("smbench: stopping: "), "{said:?}");
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    let again = suite(&place, server.password(), &args);
    again.succeeded();
    for number in [1, 2] {
        let run = pass(&place, "01-memory", "file-server", number).unwrap();
        assert_eq!(clients(&run), [1, 2]);
        let points = run["load_points"].as_array().unwrap();
        assert!(points.iter().all(|point| point["valid"] == true), "{run}");
    }
}

#[test]
fn a_server_that_is_not_there_costs_only_its_own_points() {
    let server = embedded();
    let place = Place::new();
    let gone = format!("--server=gone=smb://ann@127.0.0.1:{}/s", free_port());
    let file = place.write("suite.toml", "clients = \"1\"\npasses = 2\n");
    let named = named("memory", &server);
    let args = with(&[text(&file), &gone, &named, "--quiet"]);
    let said = suite(&place, server.password(), &args);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{said:?}");
    assert!(
        lines[0].starts_with("smbench: pass 1/2, file-server on gone: "),
        "{said:?}"
    );
    assert!(lines[0].ends_with("; the suite goes on"), "{said:?}");
    assert!(
        lines[2].starts_with("smbench: gone: 2 load points not measured: "),
        "{said:?}"
    );
    assert!(pass(&place, "01-gone", "file-server", 1).is_none());
    for number in [1, 2] {
        let run = pass(&place, "02-memory", "file-server", number).unwrap();
        assert_eq!(clients(&run), [1]);
    }
    assert!(
        said.stdout.contains("gone has no valid load point yet"),
        "{said:?}"
    );
}

#[test]
fn a_server_that_dies_costs_only_its_own_points() {
    let (dying, other) = (embedded(), embedded());
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1,2,3\"\n");
    let secret = place.write("password", other.password());
    // Each has a password of its own; the other's is in the suite.
    let spec = format!(
        "clients = \"1,2,3\"\n[[servers]]\nname = \"other\"\nurl = \"{}\"\npassword_file = \
         \"password\"\n",
        other.url()
    );
    fs::write(&file, spec).unwrap();
    assert!(secret.exists());
    let named = named("dying", &dying);
    let mut args = with(&[text(&file), &named, "--quiet"]);
    args.retain(|arg| !arg.starts_with("--duration"));
    args.push("--duration=2s");
    let running = start(&place, dying.password(), &args);
    wait_until(|| pass(&place, "01-dying", "file-server", 1).is_some());
    let before = dying.memory().counts().reads;
    wait_until(|| dying.memory().counts().reads > before);
    dying.stop();
    let said = running.wait();
    assert_eq!(said.code(), Some(4), "{said:?}");
    let last = said.stderr.lines().last().unwrap();
    assert!(last.starts_with("smbench: dying: "), "{said:?}");
    assert!(last.contains(" not measured: run given up: "), "{said:?}");
    let noted = read(&place.path("study/.running"));
    assert_eq!(noted[0]["share"]["server"], "dying", "for whoever goes on");
    let run = pass(&place, "01-dying", "file-server", 1).unwrap();
    assert_eq!(run["outcome"], "aborted");
    assert_eq!(run["load_points"][0]["valid"], true);
    let run = pass(&place, "02-other", "file-server", 1).unwrap();
    assert_eq!(clients(&run), [1, 2, 3]);
}

#[test]
fn a_folder_of_another_study_is_refused_with_what_differs() {
    let server = embedded();
    let place = Place::new();
    let file = place.write("suite.toml", "clients = \"1\"\n[run]\nseed = 3\n");
    let named = named("memory", &server);
    let said = suite(
        &place,
        server.password(),
        &with(&[text(&file), &named, "--quiet"]),
    );
    said.succeeded();
    let refused = |args: &[&str], difference: &str| {
        let said = suite(&place, server.password(), args);
        let parts = [
            "folder study holds a study with ",
            difference,
            "give another --out",
        ];
        said.failed_with(2, &parts);
    };
    let args = with(&[text(&file), &named, "--quiet"]);
    let otherwise = |more: &[&'static str]| [&args[..], more].concat();
    refused(&otherwise(&["--points=1,2"]), "load points 1, not 1, 2");
    refused(&otherwise(&["--passes=3"]), "passes 1, not 3");
    refused(
        &otherwise(&["--profile=read-4k"]),
        "profiles file-server, not read-4k",
    );
    refused(
        &otherwise(&["--sign=required"]),
        "plan.signing \"auto\", not \"required\"",
    );
    refused(
        &otherwise(&["--server-flush=memory=ignores"]),
        "another flush policy of server `memory`",
    );
    let renamed = named.replace("memory", "other");
    refused(&with(&[text(&file), &renamed]), "servers `memory`");
    place.write("suite.toml", "clients = \"1\"\n[run]\nseed = 4\n");
    refused(&args, "plan.seed 3, not 4");
    // What only a report shows may change.
    place.write(
        "suite.toml",
        "title = \"New\"\nclients = \"1\"\n[run]\nseed = 3\n",
    );
    let said = suite(&place, server.password(), &args);
    said.succeeded();
    assert_eq!(read(&place.path("study/study.json"))["title"], "New");
    place.write("something", "");
    let mut args = args.clone();
    args.retain(|arg| !arg.starts_with("--out"));
    args.push("--out=.");
    let said = suite(&place, server.password(), &args);
    said.failed_with(2, &["folder . holds something, but no study"]);
}

#[test]
fn hostile_suites_are_refused_in_one_line() {
    let place = Place::new();
    let url = "[[servers]]\nname = \"a\"\nurl = \"smb://ann@host/s\"\n";
    for (spec, parts) in [
        (
            "colour = 1",
            &["line 1, column 1: unknown field `colour`"][..],
        ),
        ("", &["has no servers"]),
        (
            "[[servers]]\nname = \"a\"",
            &["server `a`", "give url, or samba"],
        ),
        (
            "[[servers]]\nname = \"a\"\nurl = \"smb://h/s\"\nsamba = []",
            &["url and samba are both given"],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = []\nflush = \"ignores\"",
            &["flush goes with url"],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = [\"x\"]",
            &["samba line \"x\""],
        ),
        ("[[servers]]\nname = \" \"\nsamba = []", &["needs a name"]),
        (
            "[[servers]]\nname = \"a\"\nurl = \"smb://ann:hunter2@host/s\"",
            &["the URL holds a password"],
        ),
        (
            "[[servers]]\nname = \"a\"\nurl = \"http://h/s\"",
            &["scheme is http"],
        ),
        (
            "[[servers]]\nname = \"a\"\nsamba = []\n[[servers]]\nname = \"A\"\nsamba = []",
            &["two servers are called `A`"],
        ),
        (&format!("passes = 0\n{url}"), &["passes is 0"]),
        (
            &format!("profiles = [\"nope\"]\n{url}"),
            &["unknown profile `nope`"],
        ),
        (
            &format!("profiles = [\"read-4k\", \"read-4k\"]\n{url}"),
            &["two profiles are called `read-4k`"],
        ),
        (
            &format!("[run]\nclients = \"1\"\n{url}"),
            &["[run] has clients or repeat"],
        ),
        (
            &format!("[[profiles]]\nprofile = \"read-4k\"\nrun.repeat = 2\n{url}"),
            &["profile read-4k has clients or repeat"],
        ),
        (
            &format!("[run]\nduration = \"0\"\n{url}"),
            &["suite ", "duration is zero"],
        ),
        (
            &format!("{url}[[comparisons]]\ntitle = \"t\"\nkind = \"gain\"\nservers = [\"b\"]"),
            &["comparison `t`: there is no server `b`"],
        ),
        (
            &format!("{url}server_metrics = \"here\""),
            &["server `a`", "server_metrics: "],
        ),
        (
            &format!("{url}password_env = \"SMBENCH_TEST_UNSET\""),
            &["no password for user ann: set SMBENCH_TEST_UNSET"],
        ),
    ] {
        let file = place.write("suite.toml", spec);
        let said = suite(&place, "", &[text(&file), "--out=study"]);
        said.failed_with(2, parts);
        assert!(!said.stderr.contains("hunter2"), "{said:?}");
        assert!(!place.path("study").exists());
    }
    for (args, parts) in [
        (
            &["nope"][..],
            &["unknown suite `nope`: expected one of adapter, veritest-2003"][..],
        ),
        (&["/dev/zero"], &["/dev/zero cannot be read: "]),
        (
            &["missing.toml"],
            &["missing.toml cannot be read: No such file"],
        ),
        (
            &["veritest-2003", "--server=smb://ann:hunter2@h/s"],
            &["expected NAME=URL"],
        ),
        (
            &["veritest-2003", "--server=a=smb://ann:hunter2@h/s"],
            &["--server a: the URL holds a password"],
        ),
        (
            &[
                "veritest-2003",
                "--server=a=smb://ann@h/s",
                "--server-flush=b=honours",
            ],
            &["--server-flush b: no --server has that name"],
        ),
        (
            &["veritest-2003", "--duration=0"],
            &["--duration: duration is zero"],
        ),
        (&["veritest-2003", "--points=/0"], &["`/0` is no step"]),
    ] {
        let said = suite(&place, "", args);
        said.failed_with(2, parts);
        assert!(!said.stderr.contains("hunter2"), "{said:?}");
    }
}

#[test]
fn the_study_of_flushes_has_both_configurations() {
    if !has_samba() {
        return;
    }
    let place = Place::new();
    let args = ["veritest-2004", "--quick", "--points=1,2", "--passes=1"];
    // Long enough to see some of the flushes.
    let mut args = with(&args);
    args.retain(|arg| !arg.starts_with("--duration"));
    let said = suite(&place, "", &args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    // Where there is no terminal each load point is a line.
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
    // Peaks, dips, response times, percentiles, operations, load points, the gain.
    assert!(tables.len() >= 10, "{page}");
    for table in &tables {
        for name in both {
            let has_figures = tables.iter().any(|found| {
                // A server's own table stands beside the same one of the other, whose
                // processes have other numbers.
                let mut titles = both.iter().map(|other| table.title.replace(other, name));
                let same = |title: String| {
                    let parts = [&title, &found.title].map(|title| title.split(" (process").next());
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

/// A table of a report in Markdown.
#[derive(Debug)]
struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether it has a figure of a server: in its column, in its row, or anywhere
    /// where the table is its own.
    fn figures_of(&self, server: &str) -> bool {
        let is_figure = |cell: &String| {
            cell.trim_start_matches(['~', ' '])
                .starts_with(|c: char| c.is_ascii_digit())
        };
        let column = self.header.iter().position(|name| name == server);
        self.rows.iter().any(|row| match column {
            Some(column) => row.get(column).is_some_and(is_figure),
            None if row[0] == server => row[1..].iter().any(is_figure),
            None => self.title.starts_with(server) && row.iter().any(is_figure),
        })
    }
}

/// All tables of a report, with what stands in bold above each.
fn tables(markdown: &str) -> Vec<Table> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.replace("\\~", "~");
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
    // The same in the file, which is the same study.
    place.write("suite.toml", &format!("{profiles}skip_unknown = true\n"));
    suite(&place, server.password(), &args).succeeded();
    let no_loadfile = place.write("none.toml", "clients = \"1\"\n");
    let mut args = skipping;
    args[0] = text(&no_loadfile);
    let refused = suite(&place, server.password(), &args);
    refused.failed_with(2, &["--skip-unknown means nothing without a loadfile"]);
}
