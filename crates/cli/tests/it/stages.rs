//! Loads that follow lines, and soaks.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};

use crate::support::{Lab, Place, json, wait_until};

fn server() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).unwrap()
}

/// Returns the arguments of a run that reads from the server at `url`.
fn reads<'a>(url: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", url, "-p=read-4k", "--threads=2", "--out=results"];
    [&run[..], options].concat()
}

fn run(server: &EmbeddedServer, options: &[&str]) -> Value {
    let place = Place::new();
    let url = server.url();
    let options = [&["--json=-"], options].concat();
    let said = place.smbench_as(server.password(), &reads(&url, &options));
    let doc = json(&said.stdout);
    let shown = place.results();
    let text = place.smbench(&["show", shown[0].to_str().unwrap()]);
    assert!(
        text.stdout.contains(" in stages") || text.stdout.contains("a soak of "),
        "{text:?}"
    );
    // Stages are no curve with a plateau.
    assert!(!text.stdout.contains("within 5 %"), "{text:?}");
    doc
}

fn column(doc: &Value, of: impl Fn(&Value) -> f64) -> Vec<f64> {
    doc["load_points"]
        .as_array()
        .unwrap()
        .iter()
        .map(of)
        .collect()
}

#[test]
fn each_stage_of_clients_is_a_load_point() {
    let doc = run(&server(), &["-c=2", "--stages=2s:8,1s:8,0s:4,1s:0"]);
    assert_eq!(doc["plan"]["stages"], "2s:8,1s:8,0s:4,1s:0");
    assert_eq!(doc["plan"]["load_points"][0], 8);
    let stage = |key: &'static str| column(&doc, |point| point["stage"][key].as_f64().unwrap());
    assert_eq!(stage("number"), [1.0, 2.0, 3.0]);
    assert_eq!(stage("from"), [2.0, 8.0, 4.0]);
    assert_eq!(stage("to"), [8.0, 8.0, 0.0]);
    assert_eq!(stage("begin_s"), [0.0, 2.0, 3.0]);
    assert_eq!(
        column(&doc, |point| point["clients"].as_f64().unwrap()),
        [8.0, 8.0, 0.0]
    );
    assert_eq!(
        column(&doc, |point| point["window_s"].as_f64().unwrap()),
        [2.0, 1.0, 1.0]
    );
    assert_eq!(
        column(&doc, |point| point["errors"].as_f64().unwrap()),
        [0.0; 3]
    );
    let points = doc["load_points"].as_array().unwrap();
    for point in points {
        let read = &point["ops"]["read"]["count"];
        let seconds = point["series"]["all"]["count"].as_array().unwrap();
        let of_seconds: u64 = seconds.iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(read.as_u64().unwrap(), of_seconds, "{point:#}");
    }
    assert_eq!(doc["curve"], Value::Null);
}

/// Arrivals of a line are exact: the area below it, per stage.
#[test]
fn a_rate_follows_its_line() {
    let doc = run(&server(), &["-c=4", "--stages=2s:200/s,1s:200/s,2s:0/s"]);
    let due = column(&doc, |point| {
        point["offered"]["operations"].as_f64().unwrap()
    });
    // The clients take turns, so that each may be one operation to either side.
    for (due, expected) in due.iter().zip([200.0, 200.0, 200.0]) {
        assert!((due - expected).abs() <= 4.0, "{doc:#}");
    }
    let whole: f64 = due.iter().sum();
    assert!((whole - 600.0).abs() <= 4.0, "{whole}");
}

#[test]
fn a_soak_has_rows_and_trends() {
    let doc = run(&server(), &["-c=2", "--soak=10s"]);
    let soak = &doc["soak"];
    assert_eq!(doc["load_points"].as_array().unwrap().len(), 10);
    assert_eq!(soak["length_s"], 10.0, "{soak:#}");
    let memory = column(&doc, |point| point["memory"]["own_bytes"].as_f64().unwrap());
    assert!(memory.iter().all(|bytes| *bytes > 1e6), "{memory:?}");
    let trends = soak["trends"].as_array().unwrap();
    let names: Vec<_> = trends
        .iter()
        .map(|trend| trend["name"].as_str().unwrap())
        .collect();
    for name in [
        "latency_mean_ns",
        "ops_per_s",
        "errors_per_s",
        "own_memory_bytes",
    ] {
        assert!(names.contains(&name), "{soak:#}");
    }
}

#[test]
fn an_interrupt_keeps_the_stages_that_were_measured() {
    let server = server();
    let (place, url) = (Place::new(), server.url());
    let run = reads(&url, &["--stages=1s:2,50m:2"]);
    let running = place.start_as(server.password(), &run);
    // The first stage is long over when the load has lasted for three seconds.
    wait_until(|| server.memory().counts().reads > 0);
    std::thread::sleep(Duration::from_secs(3));
    running.signal(Signal::SIGINT);
    let said = running.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let doc = place.document();
    let valid: Vec<_> = doc["load_points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| &point["valid"])
        .collect();
    assert_eq!(valid, [&Value::Bool(true), &Value::Bool(false)], "{doc:#}");
}

#[test]
fn stages_that_do_not_fit_are_named() {
    let place = Place::new();
    for (options, expected) in [
        (
            &["--stages=2m:0"][..],
            "the stages go nowhere: all their levels are 0",
        ),
        (
            &["--stages=2m:5", "-d=5s"],
            "--duration: stages and soaks say how long the load takes",
        ),
        (
            &["--stages=2m:5", "--loops=2"],
            "--loops: stages and soaks say how long the load takes",
        ),
        (
            &["--stages=2m:5", "--rate=9"],
            "--rate: the stages have numbers of clients",
        ),
        (
            &["--stages=2m:5000/s", "--rate=50k/client", "-c=64"],
            "--rate: the load begins with 3200000/s of all clients together",
        ),
        (
            &["--stages=2m:5", "-c=1,2"],
            "--clients: a load with stages has one number of clients",
        ),
        (
            &["--stages=2m:5", "--soak=1h"],
            "--soak: a soak has no other stages",
        ),
        (
            &["--stages=2m:5", "--event=at 1s: exec true"],
            "--stages: events have no place in stages",
        ),
        (
            &["--stages=2m:5", "--ramp-up=3s"],
            "--ramp-up: stages say how the load rises: drop ramp_up, or set it to 0s",
        ),
        (
            &["--stages=2m:5", "--ramp=linear", "--ramp-up=3s"],
            "--ramp-up: stages say how the load rises: drop ramp_up",
        ),
        (
            &["--soak=9m", "--repeat=2"],
            "--soak: a soak has one pass: drop repeat",
        ),
        (
            &["--soak=100ms"],
            "--soak: a stage takes 100ms: give whole seconds",
        ),
    ] {
        let plan = ["plan", "-p=read-4k"];
        let said = place.smbench(&[&plan[..], options].concat());
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(
            said.stderr.contains(expected),
            "{options:?}: {}",
            said.stderr
        );
    }
}

const COMPANY: &str = r#"
[[population]]
name = "office"
profile = "read-4k"
share = 100
[[population]]
name = "backup"
profile = "read-4k"
clients = 2
start = "1s"
"#;

/// A record of a stage says what the line did, so that no population begins it later.
#[test]
fn populations_begin_with_the_stages_that_they_follow() {
    let place = Place::new();
    place.write("late.toml", COMPANY);
    place.write("together.toml", &COMPANY.replace("start = ", "# start = "));
    let moved = COMPANY.replace("share = 100", "share = 100\nstart = \"1s\"");
    place.write("moved.toml", &moved);
    for (profile, option, refused) in [
        ("late.toml", "--stages=9s:8", None),
        (
            "moved.toml",
            "--stages=9s:8",
            Some("a population with a share or stages follows the stages from their start"),
        ),
        ("together.toml", "--soak=10s", None),
        (
            "late.toml",
            "--soak=10s",
            Some("the load of a soak is even"),
        ),
    ] {
        let said = place.smbench(&["plan", "-p", profile, option]);
        match refused {
            None => said.succeeded(),
            Some(why) => said.failed_with(2, &[why]),
        }
    }
}

/// Two of ten clients have no share. The others are 60 and 20 percent of all at the start.
const MOVED: &str = r#"
[[population]]
name = "office"
profile = "read-4k"
share = 60
[[population]]
name = "backup"
profile = "read-4k"
clients = 2
rate = "20/client"
[[population]]
name = "editors"
profile = "frames.toml"
share = 20
"#;

const FRAMES: &str = "stream = { frame = \"4KiB\", fps = 40 }\n";

/// Returns a value of each population in each stage.
fn of_populations(doc: &Value, of: impl Fn(&Value) -> f64) -> Vec<Vec<f64>> {
    let of_point = |point: &Value| {
        point["populations"]
            .as_array()
            .unwrap()
            .iter()
            .map(&of)
            .collect()
    };
    doc["load_points"]
        .as_array()
        .unwrap()
        .iter()
        .map(of_point)
        .collect()
}

#[test]
fn populations_divide_the_clients_of_each_level() {
    let (server, place) = (server(), Place::new());
    place.write("moved.toml", MOVED);
    place.write("frames.toml", FRAMES);
    let options = [
        "-c=10",
        "--stages=1s:22,0s:2,1s:2,1s:22,0s:12,1s:12",
        "--fail-if=editors late < 0.1%",
        "--json=-",
    ];
    let run = ["run", &server.url(), "-p=moved.toml", "--threads=2"];
    let doc = json(
        &place
            .smbench_as(server.password(), &[&run[..], &options].concat())
            .stdout,
    );
    let clients = of_populations(&doc, |part| part["clients"].as_f64().unwrap());
    assert_eq!(clients[0], [15.0, 2.0, 5.0]);
    assert_eq!(clients[1], [0.0, 2.0, 0.0]);
    assert_eq!(clients[2], [15.0, 2.0, 5.0]);
    let all = column(&doc, |point| point["clients"].as_f64().unwrap());
    assert_eq!(all, [22.0, 2.0, 22.0, 12.0]);
    for (of_each, all) in clients.iter().zip(all) {
        assert_eq!(of_each.iter().sum::<f64>(), all);
    }
    let of_editors = |point: &Value| point["populations"][2]["streams"].clone();
    for point in doc["load_points"].as_array().unwrap() {
        assert_eq!(of_editors(point), point["streams"], "{point:#}");
        assert_eq!(point["populations"][0]["streams"], Value::Null);
    }
    assert_eq!(doc["conditions"][0]["outcome"], "failed", "{doc:#}");
    assert_eq!(doc["conditions"][0]["unit"], "%");
    let frames = column(&doc, |point| {
        point["streams"]["frames"].as_f64().unwrap_or(0.0)
    });
    let operations = of_populations(&doc, |part| {
        part["ops"]["read"]["count"].as_f64().unwrap_or(0.0)
    });
    let due = of_populations(&doc, |part| {
        part["offered"]["operations"].as_f64().unwrap_or(0.0)
    });
    for (stage, counts) in due.iter().enumerate() {
        // Two clients of 20 operations per second, in stages of a second.
        assert!((counts[1] - 40.0).abs() <= 4.0, "{stage}: {counts:?}");
    }
    // Editors fall silent with the level: nothing is due, and what was under way has ended.
    assert!(
        operations[1][0] <= 15.0 && operations[1][2] <= 5.0,
        "{operations:?}"
    );
    assert_eq!(frames[1], 0.0);
    // The fourth stage has 2 or 3 streams of 40 frames per second.
    assert!((76.0..=124.0).contains(&frames[3]), "{frames:?}");
    let invalid = column(&doc, |point| f64::from(u8::from(point["valid"] == false)));
    assert_eq!(invalid, [0.0; 4], "{doc:#}");
}

/// A population alone has the clients that it has beside the others.
#[test]
fn populations_alone_have_their_clients_in_each_stage() {
    let (server, place) = (server(), Place::new());
    place.write("moved.toml", MOVED);
    place.write("frames.toml", FRAMES);
    let url = server.url();
    let run = ["run", &url, "-p=moved.toml", "--threads=2", "--out=results"];
    let options = ["-c=10", "--stages=1s:22,0s:2,1s:2", "--alone"];
    let said = place.smbench_as(server.password(), &[&run[..], &options].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let clients = |doc: &Value| column(doc, |point| point["clients"].as_f64().unwrap());
    let documents = place.results().into_iter().map(|path| {
        let doc = json(&std::fs::read_to_string(path).unwrap());
        let populations = doc["plan"]["populations"].as_array().unwrap();
        let shares = populations
            .iter()
            .map(|one| one["share"].clone())
            .collect::<Vec<_>>();
        (clients(&doc), shares)
    });
    let mut documents: Vec<_> = documents.collect();
    documents.sort_by(|one, other| one.0.partial_cmp(&other.0).unwrap());
    let (share, none) = (|percent: f64| Value::from(percent), Value::Null);
    assert_eq!(
        documents,
        [
            (vec![2.0, 2.0], vec![none.clone()]),
            (vec![5.0, 0.0], vec![share(20.0)]),
            (vec![15.0, 0.0], vec![share(60.0)]),
            (vec![22.0, 2.0], vec![share(60.0), none, share(20.0)]),
        ]
    );
}

/// A stage without clients is a pause.
#[test]
fn a_stage_of_no_clients_is_valid() {
    let doc = run(&server(), &["--stages=1s:4,0s:0,2s:0,1s:4"]);
    let operations = column(&doc, |point| {
        point["ops"]["read"]["count"].as_f64().unwrap_or(0.0)
    });
    assert!(
        operations[1] <= 4.0 && operations[2] > 4.0,
        "{operations:?}"
    );
    assert!(
        doc["load_points"]
            .as_array()
            .unwrap()
            .iter()
            .all(|point| point["valid"] == true)
    );
}

/// Rows of a soak have the frames that were due in them, and a condition judges each row.
#[test]
fn rows_of_a_soak_have_their_frames() {
    let (server, place) = (server(), Place::new());
    place.write("frames.toml", FRAMES);
    let url = server.url();
    let run = [
        "run",
        &url,
        "-p=frames.toml",
        "--threads=1",
        "-c=3",
        "--soak=10s",
    ];
    let options = [
        "--fail-if=late > 1000000",
        "--fail-if=p99 > 1ns",
        "--json=-",
    ];
    let said = place.smbench_as(server.password(), &[&run[..], &options].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    let doc = json(&said.stdout);
    for frames in column(&doc, |point| point["streams"]["frames"].as_f64().unwrap()) {
        assert!((frames - 120.0).abs() <= 3.0, "{doc:#}");
    }
    assert_eq!(doc["conditions"][0]["outcome"], "passed");
    assert_eq!(doc["conditions"][1]["outcome"], "failed");
}

/// Percent of all clients fit one level only, beside a number of clients.
#[test]
fn shares_of_all_clients_at_the_start_divide_the_highest_level() {
    let place = Place::new();
    let company = COMPANY.replace("share = 100", "share = 88");
    place.write(
        "company.toml",
        &company.replace("clients = 2", "clients = 12"),
    );
    let plan = ["plan", "-p=company.toml", "--stages=1m:500"];
    let said = place.smbench(&[&plan[..], &["-c=100"]].concat());
    said.succeeded();
    assert!(
        said.stdout.contains("office, 488 clients (88 %)"),
        "{said:?}"
    );
    place
        .smbench(&plan)
        .failed_with(2, &["the shares of the populations sum to 88"]);
}

const LINES: &str = r#"
[[population]]
name = "office"
profile = "read-4k"
stages = "1s:4,2s:4"
[[population]]
name = "backup"
profile = "read-4k"
stages = "2s:0,0s:2,1s:2"
"#;

#[test]
fn populations_follow_lines_of_their_own() {
    let (server, place) = (server(), Place::new());
    place.write("lines.toml", LINES);
    let url = server.url();
    let run = ["run", &url, "-p=lines.toml", "--threads=2", "--json=-"];
    let said = place.smbench_as(server.password(), &run);
    let doc = json(&said.stdout);
    assert_eq!(doc["plan"]["stages"], "1s:4,1s:4,0s:6,1s:6");
    assert_eq!(doc["plan"]["populations"][1]["stages"], "2s:0,0s:2,1s:2");
    let clients = |at: usize| {
        column(&doc, |point| {
            point["populations"][at]["clients"].as_f64().unwrap()
        })
    };
    assert_eq!(clients(0), [4.0; 3]);
    assert_eq!(clients(1), [0.0, 0.0, 2.0]);
    let all = column(&doc, |point| point["clients"].as_f64().unwrap());
    assert_eq!(all, [4.0, 4.0, 6.0]);
    let reads = |at: usize| {
        let of = |point: &Value| point["populations"][at]["ops"]["read"]["count"].as_f64();
        column(&doc, |point| of(point).unwrap_or(0.0))
    };
    let (office, backup) = (reads(0), reads(1));
    assert!(office.iter().all(|count| *count > 0.0), "{office:?}");
    assert_eq!(backup[..2], [0.0; 2]);
    assert!(backup[2] > 0.0, "{backup:?}");
    let find = ["find", "rate", &url, "-p=lines.toml", "--population=office"];
    let said = place.smbench_as(server.password(), &find);
    said.failed_with(
        2,
        &["population office has stages: a search chooses its load points"],
    );
}

#[test]
fn a_soak_has_the_clients_that_its_populations_say() {
    let place = Place::new();
    place.write("fixed.toml", &COMPANY.replace("share = 100", "clients = 3"));
    let said = place.smbench(&["plan", "-p=fixed.toml", "--ramp-up=1s", "--soak=10s"]);
    said.succeeded();
    assert!(said.stdout.contains("\nclients      5\n"), "{said:?}");
}

/// A row is in the document as soon as it has ended, so that a soak that is killed keeps it.
#[test]
fn a_soak_that_is_killed_keeps_its_finished_rows() {
    let server = server();
    let (place, url) = (Place::new(), server.url());
    // Rows of three seconds.
    let run = reads(&url, &["-c=2", "--soak=30s"]);
    let running = place.start_as(server.password(), &run);
    place.wait_for_load_points(2);
    running.signal(Signal::SIGKILL);
    running.wait();
    let doc = place.document();
    assert_eq!(doc["outcome"], "interrupted");
    for (at, point) in doc["load_points"].as_array().unwrap().iter().enumerate() {
        assert_eq!(point["stage"]["number"], at + 1);
        assert_eq!(point["window_s"], point["stage"]["length_s"], "{point:#}");
        assert_eq!(point["valid"], true, "{point:#}");
        let seconds = point["series"]["all"]["count"].as_array().unwrap();
        let of_seconds: u64 = seconds.iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(point["ops"]["read"]["count"], of_seconds, "{point:#}");
        assert!(of_seconds > 0, "{point:#}");
        // This is known when the load has ended.
        assert_eq!(point["generator_limited"], Value::Null, "{point:#}");
    }
    let said = place.smbench(&["show", place.results()[0].to_str().unwrap()]);
    said.succeeded();
    assert!(said.stdout.contains("rows are too few"), "{said:?}");
}

/// Runs a soak of clients that come and go, against a server in a process of its own.
fn soak_with_churn(server: &[&str]) -> Value {
    let place = Place::new();
    let lab = Lab::start(&place, server);
    let soak = ["-c=4", "--soak=10s", "--churn=20/s", "--json=-"];
    let condition = ["--fail-if=server-memory > +1000%/h"];
    let run = reads(&lab.url, &[&soak[..], &condition].concat());
    json(&place.smbench_as(&lab.password, &run).stdout)
}

#[test]
fn a_server_that_leaks_memory_with_each_session_drifts() {
    let trend = |doc: &Value, name: &str| -> Value {
        let trends = doc["soak"]["trends"].as_array().unwrap();
        trends
            .iter()
            .find(|trend| trend["name"] == name)
            .unwrap()
            .clone()
    };
    let leaks = soak_with_churn(&["embedded", "--leak-per-open=1MiB"]);
    assert_eq!(
        trend(&leaks, "server_memory_bytes")["drifts"],
        true,
        "{leaks:#}"
    );
    assert_eq!(leaks["conditions"][0]["outcome"], "failed", "{leaks:#}");
    assert_eq!(leaks["conditions"][0]["unit"], "%/h");
    let tight = soak_with_churn(&["embedded"]);
    let per_hour = |doc: &Value| {
        trend(doc, "server_memory_bytes")["per_hour"]
            .as_f64()
            .unwrap()
    };
    assert!(per_hour(&tight) < per_hour(&leaks) / 10.0, "{tight:#}");
    assert!(
        trend(&tight, "server_handles")["last"].as_f64().unwrap() >= 4.0,
        "{tight:#}"
    );
}

/// Not after the load, which may take hours.
#[test]
fn a_condition_on_memory_that_cannot_be_read_is_refused_before_the_load() {
    let (server, place) = (server(), Place::new());
    let url = server.url();
    let soak = ["-c=2", "--soak=8h", "--server-metrics=off"];
    let condition = ["--fail-if=server-memory > +10%/h"];
    let run = reads(&url, &[&soak[..], &condition].concat());
    let said = place.smbench_as(server.password(), &run);
    assert_eq!(said.code(), Some(2), "{said:?}");
    let refused = "smbench: 'server-memory > +10%/h' cannot be judged: --server-metrics is off\n";
    assert_eq!(said.stderr, refused);
    assert!(place.results().is_empty(), "{said:?}");
}

#[test]
fn growth_is_that_of_a_soak() {
    let place = Place::new();
    for (condition, option, expected) in [
        (
            "server-memory > +10%/h",
            "-d=5s",
            "a growth per hour is that of a soak; give --soak",
        ),
        (
            "server-memory > 10MiB",
            "--soak=10s",
            "the limit of memory and handles is a growth, such as +10%/h",
        ),
        (
            "p95 > +10%/h",
            "--soak=10s",
            "the growth of `p95` is not known, only that of mean, p99, ops/s, errors",
        ),
        (
            "read p99 > +10%/h",
            "--soak=10s",
            "a growth is that of all clients over the whole soak",
        ),
    ] {
        let run = ["run", "smb://nobody@127.0.0.1/bench", "-p=read-4k", option];
        let said = place.smbench(&[&run[..], &["--fail-if", condition]].concat());
        said.failed_with(2, &[expected]);
    }
}
