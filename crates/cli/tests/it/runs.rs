//! Runs from beginning to end.

use std::fs;

use serde_json::Value;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, Fault};

use crate::support::{Place, Running, SHORT, answers, embedded, json, run_args, text, wait_until};

/// Checks the keys that other tools read, each with a sensible value.
fn assert_contract(doc: &Value, clients: &[u64]) {
    assert_eq!(doc["schema_version"], 1);
    assert_eq!(doc["plan"]["profile"], "file-server");
    assert_eq!(doc["plan"]["seed"], 7);
    assert_eq!(doc["plan"]["outstanding"], 2);
    assert_eq!(doc["plan"]["digest"].as_str().unwrap().len(), 64);
    for key in ["url", "dialect", "signing", "encryption"] {
        assert!(doc["server"][key].is_string(), "{key}: {doc}");
    }
    let points = doc["load_points"].as_array().unwrap();
    let found: Vec<_> = points
        .iter()
        .map(|p| p["clients"].as_u64().unwrap())
        .collect();
    assert_eq!(found, clients);
    for point in points {
        assert_eq!(point["valid"], true, "{point}");
        assert_eq!(point["errors"], 0);
        assert_eq!(point["window_s"], 0.3);
        for key in [
            "throughput_mbps",
            "ops_per_s",
            "bytes_read",
            "bytes_written",
        ] {
            assert!(point[key].as_f64().unwrap() > 0.0, "{key}: {point}");
        }
        for summary in [
            &point["latency_ns"],
            &point["ops"]["read"]["service_ns"],
            &point["ops"]["write"]["response_ns"],
        ] {
            for key in ["mean", "min", "max", "p50", "p90", "p95", "p99", "p999"] {
                assert!(summary[key].as_f64().unwrap() > 0.0, "{key}: {summary}");
            }
        }
        assert!(point["client"]["max_rss_bytes"].as_u64().unwrap() > 0);
    }
    assert!(doc["peak"]["throughput_mbps"].as_f64().unwrap() > 0.0);
}

#[test]
fn without_a_target_it_runs_on_a_server_of_its_own() {
    let place = Place::new();
    let mut args = vec!["run", "--clients=1,2", "--outstanding=2", "--verify"];
    args.extend(SHORT);
    args.extend(["--json", "copy.json", "--csv", "points.csv"]);
    args.extend(["--hlog", "latencies.hlog"]);
    let said = place.smbench(&args);
    said.succeeded();
    let [result] = &place.results()[..] else {
        panic!("{:?}", place.results());
    };
    let name = result.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("Z-file-server.json"), "{name}");
    let end =
        format!("\nSaved to results/{name}\nMore:    smbench show --details results/{name}\n");
    assert!(said.stdout.ends_with(&end), "{said:?}");
    assert!(said.stdout.lines().count() <= 30, "{said:?}");
    let doc = place.document();
    assert_contract(&doc, &[1, 2]);
    assert_eq!(doc["outcome"], "complete");
    assert_eq!(doc["server"]["where"], "embedded");
    assert_eq!(doc["server"]["flush"], "ignores");
    let command = doc["command"].as_array().unwrap();
    assert!(
        command[0].as_str().unwrap().ends_with("smbench"),
        "{command:?}"
    );
    let words: Vec<_> = command[1..]
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    assert!(words.starts_with(&args), "{words:?}");
    let notes = doc["server"]["notes"].to_string();
    assert!(notes.contains("share this machine"), "{notes}");
    assert!(notes.contains("not for quoting"), "{notes}");
    assert_eq!(doc["leftover"], Value::Null);
    assert!(!answers(doc["server"]["url"].as_str().unwrap()));
    let copy = fs::read_to_string(place.path("copy.json")).unwrap();
    assert_eq!(json(&copy), doc);
    let csv = fs::read_to_string(place.path("points.csv")).unwrap();
    // A header, and rows for all, read and write of each load point.
    assert_eq!(csv.lines().count(), 7, "{csv}");

    let hlog = fs::read_to_string(place.path("latencies.hlog")).unwrap();
    for line in ["#1 client, pass 1", "#2 clients, pass 1"] {
        assert!(hlog.lines().any(|found| found == line), "{hlog}");
    }
    // Each window is shorter than an interval.
    for start in ["0.000,", "Tag=read-1,0.000,", "Tag=read-2,", "Tag=write-"] {
        let found = hlog.lines().filter(|line| line.starts_with(start));
        assert!(found.count() >= 1, "{start} in {hlog}");
    }
    for point in doc["load_points"].as_array().unwrap() {
        let count = |of: &Value| {
            let counts = of["count"].as_array().unwrap().iter();
            counts.map(|count| count.as_u64().unwrap()).sum::<u64>()
        };
        let series = &point["series"];
        for op in ["read", "write"] {
            assert_eq!(count(&series["ops"][op]), point["ops"][op]["count"]);
        }
        assert_eq!(point["steady"]["is_steady"], Value::Null);
        assert!(point["fairness"]["jain_index"].as_f64().unwrap() <= 1.0);
    }

    let shown = place.smbench(&["show", text(result)]);
    shown.succeeded();
    assert!(said.stdout.starts_with(&shown.stdout), "{said:?}");
    let details = place.smbench(&["show", "--details", text(result)]);
    details.succeeded();
    assert!(details.stdout.contains("\nCPU of the generator: "));
    let shown = place.smbench(&["show", text(result), "--csv", "-"]);
    shown.succeeded();
    assert_eq!(shown.stdout, csv);
}

#[test]
fn standard_output_can_be_the_document() {
    let server = embedded();
    let place = Place::new();
    let args = ["--clients=1", "--profile=read-4k", "--json=-"];
    let said = place.run(&server.url(), server.password(), &args);
    said.succeeded();
    assert_eq!(json(&said.stdout), place.document());
    assert_eq!(place.document()["server"]["where"], "remote");
    assert_eq!(place.document()["server"]["flush"], "unknown");
    let notes = place.document()["server"]["notes"].to_string();
    assert!(notes.contains("share this machine"), "{notes}");
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn what_is_known_of_flushes_and_writes_is_in_the_document() {
    let server = embedded();
    let place = Place::new();
    let args = [
        "--clients=1",
        "--profile=file-server",
        "--server-write=waits",
    ];
    let said = place.run(&server.url(), server.password(), &args);
    said.succeeded();
    let write = &place.document()["server"]["write"];
    assert_eq!(
        (&write["policy"], &write["source"]),
        (&"waits".into(), &"given".into())
    );
    assert!(said.stdout.contains("\nWrites   wait: "), "{said:?}");
    for policy in ["honours", "ignores"] {
        let place = Place::new();
        let option = format!("--server-flush={policy}");
        let args = ["--clients=1", "--profile=read-4k", &option];
        let said = place.run(&server.url(), server.password(), &args);
        said.succeeded();
        assert_eq!(place.document()["server"]["flush"], policy);
        assert!(said.stdout.contains("\nFlushes  "), "{said:?}");
    }
    let place = Place::new();
    place
        .smbench(&["run", "--server-flush=honours"])
        .failed_with(2, &["--target"]);
}

#[test]
fn standard_output_can_be_the_rows() {
    let server = embedded();
    let place = Place::new();
    let args = ["--clients=1", "--profile=read-4k", "--csv=-"];
    let said = place.run(&server.url(), server.password(), &args);
    said.succeeded();
    let columns: Vec<_> = said
        .stdout
        .lines()
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(columns, ["clients", "1", "1"]);
}

#[test]
fn operations_that_fail_make_the_run_invalid() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        // So often that even a busy machine meets one in each window.
        fault: Fault::FailReadEvery(3.try_into().unwrap()),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let place = Place::new();
    let said = place.run(&server.url(), server.password(), &["--clients=1,2"]);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let expected = "smbench: 2 of 2 load points not valid, first the one of 1 client: ";
    assert!(said.stderr.starts_with(expected), "{said:?}");
    assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
    assert!(said.stdout.contains("Saved to results/"), "{said:?}");
    let expected = "\nPeak     none: no load point is valid\n";
    assert!(said.stdout.contains(expected), "{said:?}");
    assert_eq!(place.document()["load_points"][1]["valid"], false);
}

#[test]
fn a_flipped_byte_is_caught() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        fault: Fault::FlipByteEvery(5.try_into().unwrap()),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let place = Place::new();
    let args = ["--clients=1", "--verify"];
    let said = place.run(&server.url(), server.password(), &args);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let failures = &place.document()["load_points"][0]["failures"];
    assert_eq!(failures[0]["status"], "wrong-data", "{failures}");
}

/// As on a full disk, or beyond the limit of a batch system.
#[test]
fn files_that_cannot_grow_cost_no_measurement() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let args = run_args(&url, &["--clients=1,2"]);
    let mut command = place.limited("ulimit -f 8", &args);
    command.env("SMBENCH_PASSWORD", server.password());
    let said = Running::spawn(command).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stdout.contains("\nPeak "), "{said:?}");
    assert!(!said.stdout.contains("Saved to"), "{said:?}");
    let lines: Vec<_> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{said:?}");
    assert!(lines[0].contains("the run continues"), "{said:?}");
    for line in lines {
        assert!(
            line.starts_with("smbench: failed to write results/"),
            "{line}"
        );
    }
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn a_directory_that_remains_on_the_share_is_no_success() {
    let server = embedded();
    let place = Place::new();
    let url = server.url();
    let args = run_args(&url, &["--clients=1", "--duration=1s"]);
    let running = place.start_as(server.password(), &args);
    wait_until(|| server.memory().counts().reads > 0);
    let paths = server.memory().paths();
    let directory = paths[0].trim_end_matches('/').to_owned();
    let foreign = format!("{directory}/thesis.doc");
    server.memory().put(&foreign, b"x").unwrap();
    let said = running.wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stdout.contains("Saved to results/"), "{said:?}");
    let expected = format!("smbench: directory '{directory}' remains: ");
    assert!(said.stderr.starts_with(&expected), "{said:?}");
    assert_eq!(place.document()["outcome"], "complete");
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/results/v1-curve.json"
    );
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(&["show", fixture]);
    let output = command.stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}

#[test]
fn a_profile_of_ones_own_is_shown_as_it_is() {
    let place = Place::new();
    let text = "# mine\nread_percent = 50\n[[sizes]]\nsize = 512\nweight = 100\n";
    place.write("mine.toml", text);
    let said = place.smbench(&["profiles", "show", "./mine.toml"]);
    said.succeeded();
    assert_eq!(said.stdout, text);
    place.write("mine.toml", &text.replace("100", "90"));
    let said = place.smbench(&["profiles", "show", "mine.toml"]);
    said.failed_with(2, &["mine.toml", "sum to 90, not to 100"]);
}

#[test]
fn the_server_is_probed() {
    let server = embedded();
    let place = Place::new();
    let said = place.smbench_as(server.password(), &["probe", &server.url()]);
    said.succeeded();
    for part in [
        "dialect         3.1.1\n",
        "2.1: accepted\n",
        "3.1.1: accepted\n",
        "signing         off, the server does not require it\n",
        "largest read    8 MiB\n",
        "free space      1 TiB\n",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is missing: {said:?}");
    }
    let args = ["probe", &server.url(), "--dialect=2.1", "--sign=required"];
    let said = place.smbench_as(server.password(), &args);
    said.succeeded();
    assert!(said.stdout.contains("dialect         2.1\n"), "{said:?}");
    assert!(
        said.stdout.contains("signing         hmac-sha256"),
        "{said:?}"
    );
}

#[test]
fn a_run_fails_if_a_value_meets_a_condition() {
    let (place, server) = (Place::new(), embedded());
    for (condition, code, shown) in [
        (
            "errors > 0",
            0,
            "\npassed   errors > 0: 0 errors at all load points\n",
        ),
        ("read p99 at 1 > 1ns", 1, "\nfailed   read p99 at 1 > 1ns: "),
        (
            "throughput < 1000Gbit/s",
            1,
            "\nfailed   throughput < 1000Gbit/s: ",
        ),
    ] {
        let option = format!("--fail-if={condition}");
        let args = ["--clients=1", "--profile=read-4k", &option];
        let said = place.run(&server.url(), server.password(), &args);
        assert_eq!(said.code(), Some(code), "{said:?}");
        assert!(said.stdout.contains(shown), "{said:?}");
        let args = ["--clients=1", "--profile=read-4k", &option, "--json=-"];
        let said = place.run(&server.url(), server.password(), &args);
        assert_eq!(said.code(), Some(code), "{said:?}");
        assert_eq!(said.stderr.contains("failed "), code == 1, "{said:?}");
        let judged = &json(&said.stdout)["conditions"][0];
        assert_eq!(judged["condition"], condition);
        assert_eq!(judged["outcome"], ["passed", "failed"][code as usize]);
        assert!(judged["value"].is_number(), "{judged}");
    }
    let args = [
        "--clients=1",
        "--profile=read-4k",
        "--fail-if=rename p99 > 1ms",
    ];
    let said = place.run(&server.url(), server.password(), &args);
    assert_eq!(said.code(), Some(2), "{said:?}");
    let expected = "'rename p99 > 1ms' cannot be judged: profile read-4k has no rename, only read";
    assert!(said.stderr.contains(expected), "{said:?}");
}

#[test]
fn a_condition_can_end_the_run() {
    let (place, server) = (Place::new(), embedded());
    let conditions = ["--fail-if=throughput < 1", "--fail-if=read p99 at 1 > 1ns"];
    let options = [
        "--profile=read-4k",
        "--clients=1,2",
        "--duration=10m",
        "--abort-on-fail=1s",
        "--junit=junit.xml",
    ];
    let args = [&options[..], &conditions].concat();
    let said = place.run(&server.url(), server.password(), &args);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let reason = "smbench: run aborted: --fail-if 'read p99 at 1 > 1ns' failed: ";
    assert!(said.stderr.contains(reason), "{said:?}");
    assert!(
        said.stdout.contains("\nfailed   read p99 at 1 > 1ns: "),
        "{said:?}"
    );
    let doc = place.document();
    assert_eq!(doc["outcome"], "aborted");
    let judged = doc["conditions"].as_array().unwrap();
    let outcomes: Vec<_> = judged.iter().map(|of| &of["outcome"]).collect();
    assert_eq!(outcomes, ["failed", "skipped"], "{judged:?}");
    assert_eq!(doc["load_points"].as_array().unwrap().len(), 1);
    let junit = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(junit.contains(r#"tests="3" failures="2""#), "{junit}");
    place
        .smbench(&["run", "--abort-on-fail=1s"])
        .failed_with(2, &["--fail-if"]);
}

/// The load of a requested rate is either offered or missing. The exit code tells a
/// script which.
#[test]
fn a_rate_that_is_not_reached_fails_unless_that_is_allowed() {
    let (place, server) = (Place::new(), embedded());
    let options = ["--clients=2", "--profile=read-4k", "--rate=1000000"];
    let said = place.run(&server.url(), server.password(), &options);
    assert_eq!(said.code(), Some(4), "{said:?}");
    let message = "smbench: rate not reached at 2 clients: ";
    assert!(said.stderr.starts_with(message), "{said:?}");
    let below_table = "\nRate     not reached at 2 clients: ";
    assert!(said.stdout.contains(below_table), "{said:?}");
    assert!(!said.stdout.contains("0.00 us"), "{said:?}");
    let point = &place.document()["load_points"][0];
    assert_eq!(point["valid"], true);
    assert_eq!(point["offered"]["rate_missed"], true);
    assert!(point["offered"]["answered"].as_u64() > Some(0));

    let allowed = [&options[..], &["--allow-missed-rate"]].concat();
    let said = place.run(&server.url(), server.password(), &allowed);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stdout.contains(below_table), "{said:?}");

    let reached = [
        "--clients=2",
        "--profile=read-4k",
        "--rate=50",
        "--duration=1s",
    ];
    let said = place.run(&server.url(), server.password(), &reached);
    assert_eq!(said.code(), Some(0), "{said:?}");
    // On a busy machine a few operations are late.
    let words = ["reached at 2 clients\n", "nearly reached at 2 clients: "];
    let has = |words: &&str| said.stdout.contains(&format!("\nRate     {words}"));
    assert!(words.iter().any(has), "{said:?}");
}

#[test]
fn load_points_are_reported_where_no_progress_can_be_shown() {
    let (server, place) = (embedded(), Place::new());
    let more = ["--clients=1,2", "--repeat=2"];
    let said = place.run(&server.url(), server.password(), &more);
    said.succeeded();
    let starts: Vec<_> = said
        .points
        .iter()
        .map(|line| line.split(": ").nth(1).unwrap())
        .collect();
    let expected = [
        "pass 1/2, 1 client",
        "pass 1/2, 2 clients",
        "pass 2/2, 1 client",
        "pass 2/2, 2 clients",
    ];
    assert_eq!(starts, expected);
    let (last, before) = said.points.split_last().unwrap();
    assert!(
        before.iter().all(|line| line.ends_with(" left")),
        "{said:?}"
    );
    assert!(last.ends_with(" Mbit/s"), "{last}");
    let quiet = place.run(&server.url(), server.password(), &["--quiet"]);
    assert!(quiet.points.is_empty(), "{quiet:?}");
}

#[test]
fn options_change_the_reads_and_writes_of_a_profile() {
    let (server, place) = (embedded(), Place::new());
    let more = [
        "--read=70",
        "--size=4KiB:60,64KiB:40",
        "--access=sequential",
        "--json=-",
    ];
    let doc = json(&place.run(&server.url(), server.password(), &more).stdout);
    let plan = &doc["plan"];
    assert_eq!(plan["profile"], "file-server-custom");
    assert_eq!(plan["workload"]["access"], "sequential");
    assert_eq!(plan["workload"]["read_percent"], 70.0);
    let sizes = plan["workload"]["sizes"].as_array().unwrap();
    let weights: Vec<_> = sizes
        .iter()
        .map(|of| (of["bytes"].as_u64(), of["weight_percent"].as_f64()))
        .collect();
    assert_eq!(
        weights,
        [(Some(4096), Some(60.0)), (Some(65536), Some(40.0))]
    );

    place
        .smbench(&["plan", "--profile=metadata", "--read=70"])
        .failed_with(2, &["profile metadata has operations of its own"]);
    place
        .smbench(&["plan", "--size=4KiB:60,64KiB:30"])
        .failed_with(2, &["the shares sum to 90, not to 100"]);
}

#[test]
fn outcomes_are_written_for_ci_systems() {
    let (place, server) = (Place::new(), embedded());
    let args = [
        "--clients=1",
        "--profile=read-4k",
        "--fail-if=errors > 0",
        "--fail-if=p99 > 1ns",
        "--junit=junit.xml",
        "--markdown=-",
    ];
    let said = place.run(&server.url(), server.password(), &args);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let junit = fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(junit.contains(r#"tests="3" failures="1""#), "{junit}");
    for name in ["the result is valid", "errors &gt; 0", "p99 &gt; 1ns"] {
        assert!(junit.contains(&format!("name=\"{name}\"")), "{junit}");
    }
    let text = &said.stdout;
    assert!(text.starts_with("### smbench: read-4k on smb://"), "{text}");
    for part in [
        "\n| clients | ",
        "\n- Peak: ",
        "\n- failed   p99 &gt; 1ns: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let file = fs::read_dir(place.path("results")).unwrap().next().unwrap();
    let file = file.unwrap().path();
    let said = place.smbench(&["show", file.to_str().unwrap(), "--markdown=-"]);
    said.succeeded();
    assert!(text.starts_with(said.stdout.trim_end()), "{said:?}");
    place
        .smbench(&["show", file.to_str().unwrap(), "--markdown=-", "--csv=-"])
        .failed_with(
            2,
            &["--csv - and --markdown - cannot both have standard output"],
        );
}
