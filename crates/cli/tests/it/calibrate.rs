//! The highest load of this machine: measured, saved, and compared with runs.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Place, embedded, json};

/// Runs the shortest possible calibration.
fn calibrate(place: &Place, more: &[&str]) -> crate::support::Said {
    let mut args = vec!["calibrate", "--quiet"];
    args.extend(more);
    place.smbench(&args)
}

#[test]
fn a_calibration_that_cannot_be_kept_is_not_measured_first() {
    let place = Place::new();
    fs::create_dir_all(place.path("results/calibration.json")).unwrap();
    let said = calibrate(&place, &["--duration=10m", "--out=results"]);
    said.failed_with(3, &["failed to write results/calibration.json: "]);
}

#[test]
fn every_ceiling_is_measured_and_later_runs_refer_to_it() {
    let place = Place::new();
    let said = calibrate(&place, &["--duration=50ms", "--out=results", "--json=-"]);
    said.succeeded();
    let doc = json(&said.stdout);
    let kept = fs::read_to_string(place.path("results/calibration.json")).unwrap();
    assert_eq!(doc, json(&kept));
    assert_ceilings(&doc);
    // Either both figures, or the reason why there are none.
    let sysbench = &doc["sysbench"];
    let is_there = sysbench["tests"]
        .as_array()
        .is_some_and(|tests| tests.len() == 3);
    assert_eq!(is_there, sysbench["not_measured"].is_null(), "{sysbench}");
    later_runs_refer_to_it(&place);
}

/// Checks that every ceiling is there and makes sense.
fn assert_ceilings(doc: &Value) {
    let cpus = doc["machine"]["cpus"].as_u64().unwrap();
    let ceilings = doc["ceilings"].as_array().unwrap();
    let threads: &[u64] = if cpus > 1 { &[1, cpus] } else { &[1] };
    assert_eq!(ceilings.len(), 14 * threads.len());
    let mut measured = 0;
    for target in ["null", "loopback", "embedded"] {
        for (op, bytes) in [
            ("read", 4096),
            ("read", 65_536),
            ("read", 1 << 20),
            ("write", 4096),
            ("write", 65_536),
            ("write", 1 << 20),
        ] {
            for &threads in threads {
                // These ceilings are measured only for comparisons with runs.
                if bytes == 1 << 20 && (target, threads) != ("embedded", cpus) {
                    continue;
                }
                let is_this = |found: &&Value| {
                    found["target"] == target
                        && found["op"] == op
                        && found["bytes"] == bytes
                        && found["threads"] == threads
                };
                let found = ceilings.iter().find(is_this).unwrap();
                // On a busy machine one operation may take longer than the window.
                if found["not_measured"] != Value::Null {
                    let text = "no operation completed in the window: ";
                    let reason = found["not_measured"].as_str();
                    assert!(
                        reason.is_some_and(|reason| reason.starts_with(text)),
                        "{found}"
                    );
                    continue;
                }
                measured += 1;
                let number = |key: &str| found[key].as_f64().unwrap();
                // A busy machine may leave this process no CPU time that its kernel counts.
                assert!(number("ops_per_s") > 0.0 && number("cpu_us_per_op") >= 0.0);
                let bits = number("ops_per_s") * f64::from(bytes) * 8e-6;
                assert!(
                    (number("throughput_mbps") / bits - 1.0).abs() < 1e-6,
                    "{found}"
                );
            }
        }
    }
    assert!(measured > ceilings.len() / 2, "{measured} were measured");
}

/// Most runs for one that is valid.
const RUNS_MAX: u32 = 5;

/// Checks which runs are compared with the calibration in the folder of results.
fn later_runs_refer_to_it(place: &Place) {
    let run = |more: &[&str]| {
        let mut args = vec!["run", "--clients=2", "--duration=100ms", "--quiet"];
        args.extend(more);
        // A busy machine may complete no operation in so short a window.
        let mut runs = (0..RUNS_MAX).map(|_| place.smbench(&args));
        let said = runs.find(|said| said.code() == Some(0)).unwrap();
        said.succeeded();
        said.stdout
    };
    // A ceiling from such a short window may be too low for the run.
    let is_shown = |said: &str| {
        let lines = [
            "\nLimit    this machine did at most ",
            "\nLimit    not usable",
        ];
        lines.iter().any(|line| said.contains(line))
    };
    // Nor is a run compared that was not measured long enough.
    let mut runs = (0..RUNS_MAX).map(|_| run(&["--out=results"]));
    assert!(runs.any(|said| is_shown(&said)));
    assert!(!is_shown(&run(&["--out=results", "--calibration=off"])));
    let profile = "read_percent = 0\n[files]\nsize = \"1MiB\"\n\
                   [[sizes]]\nsize = \"64KiB\"\nweight = 100\n";
    place.write("writes.toml", profile);
    let written = run(&["--out=results", "--profile=writes.toml"]);
    assert!(
        written.contains(" writes of 64 KiB per second"),
        "{written}"
    );
    let args = ["--out=other", "--calibration=results/calibration.json"];
    let mut elsewhere = (0..RUNS_MAX).map(|_| run(&args));
    assert!(elsewhere.any(|said| is_shown(&said)));
    // A calibration is not treated as a result.
    let said = place.smbench(&["report", "results"]);
    said.succeeded();
    let page = fs::read_to_string(place.path("results/report/report.md")).unwrap();
    assert!(page.contains("Calibration of the generator"), "{page}");
    assert!(page.contains("bare loopback"), "{page}");

    // An unreadable calibration that the user did not name stops no run, but is
    // reported.
    place.write("results/calibration.json", "{");
    let text = "not compared with a calibration: failed to read results/calibration.json: not an smbench result";
    let said = run(&["--out=results", "--details"]);
    let in_one_line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains(text) && !is_shown(&said), "{said}");
}

#[test]
fn a_suite_measures_a_calibration_when_it_begins_and_keeps_it() {
    let server = embedded();
    let place = Place::new();
    place.write("one.toml", "clients = \"1\"\n");
    let named = format!("--server=memory={}", server.url());
    let suite = || {
        let args = [
            "suite",
            "one.toml",
            &named,
            "--quick",
            "--duration=300ms",
            "--out=study",
        ];
        let said = place.smbench_as(server.password(), &args);
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(said.stdout.contains("\ncalibration: "), "{said:?}");
        fs::read_to_string(place.path("study/calibration.json")).unwrap()
    };
    let first = suite();
    assert_ceilings(&json(&first));
    assert_eq!(suite(), first);
}

/// The responder accepts any number of clients, whatever soft limit on open files
/// it was started with.
#[test]
fn the_responder_answers_more_clients_than_its_soft_limit_on_open_files() {
    let script = "ulimit -S -n 32 && exec \"$0\" lab loopback";
    let mut responder = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_smbench")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(responder.stdout.take().unwrap())
        .read_line(&mut address)
        .unwrap();
    let address: SocketAddr = address.trim().parse().unwrap();
    let clients = (0..64).map(|_| {
        let mut client = TcpStream::connect(address).unwrap();
        client
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // The length of this request and of its answer.
        client.write_all(&[8, 0, 0, 0, 4, 0, 0, 0]).unwrap();
        client
    });
    for mut client in clients.collect::<Vec<_>>() {
        client.read_exact(&mut [0; 4]).unwrap();
    }
    drop(responder.stdin.take());
    assert!(responder.wait().unwrap().success());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    for (option, says) in [
        ("--duration=0s", "the measured time needs a length"),
        ("--duration=1h", "the longest is 10m"),
    ] {
        calibrate(&place, &[option]).failed_with(2, &["--duration", says]);
    }
    let file = place.write("file", "");
    let out = format!("--out={}/x", file.display());
    calibrate(&place, &[&out]).failed_with(3, &["failed to write results to"]);
    place.write("no.json", "{}");
    let said = place.smbench(&["run", "--calibration=no.json", "--out=results"]);
    said.failed_with(2, &["no.json", "not an smbench result"]);
}
