//! One run on three machines: the same operations as on one, merged exactly, and an end with a
//! reason whatever happens to a machine.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod faults;
mod network;

use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use smbench_lab::{Tool, require};

use network::{Network, document};

/// A client's work, with an answer that is no success.
const LOADFILE: &str = "\
NTCreateX \"\\clients\\client1\\a\" 0x40 2 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
WriteX 1 4096 8192 8192 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Flush 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION \"\\clients\\client1\\none\" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
Unlink \"\\clients\\client1\\a\" 0x16 NT_STATUS_OK
";

fn point(doc: &Value) -> &Value {
    &doc["load_points"][0]
}

/// Returns whether everything was measured. On a busy machine the windows of hosts may open
/// too far apart for a valid load point.
fn has_measured(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 4))
}

#[test]
fn three_machines_do_what_one_does_and_their_parts_merge_to_the_same_histograms() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    fs::write(network.path("my.txt"), LOADFILE).unwrap();
    let url = network.server.url();
    let run = format!("run {url} --profile my.txt --loops 1 -c 60 --out results -q");
    let capture = Capture::begin(&network);
    let together = network.run(&format!("--parts parts {run} --json together.json"));
    assert!(has_measured(&together), "{together:?}");
    let on_the_wire = capture.map(Capture::end);
    let alone = network.run_alone(&format!("{run} --json alone.json"));
    assert!(has_measured(&alone), "{alone:?}");
    let parts = [0, 1, 2].map(|n| network.part(n));
    let merged = network.run_alone(&format!("merge {} --out merged.json", parts.join(" ")));
    assert!(has_measured(&merged), "{merged:?}");
    let [together, alone, merged] = ["together", "alone", "merged"]
        .map(|name| document(&network.path(&format!("{name}.json"))));
    assert_eq!(together["plan"]["digest"], alone["plan"]["digest"]);
    for key in [
        "whole",
        "failures",
        "differences",
        "bytes_read",
        "bytes_written",
        "clients",
    ] {
        assert_eq!(point(&together)[key], point(&alone)[key], "{key}");
    }
    assert_eq!(point(&together)["whole"]["write"]["count"], 120);
    // Bit for bit: histograms are compared as they are written.
    for key in ["ops", "whole", "series", "latency_ns", "fairness", "setup"] {
        let (one, other) = (&point(&together)[key], &point(&merged)[key]);
        match key {
            "setup" => {}
            // A document has only rounded figures of these times, whose squares are summed.
            "fairness" => {
                for figure in ["busy_s_mean", "busy_s_sd"] {
                    let [one, other] = [one, other].map(|of| of[figure].as_f64().unwrap());
                    assert!(
                        (one - other).abs() <= 1e-9 * one,
                        "{figure}: {one}, {other}"
                    );
                }
                for figure in ["min", "max", "mean", "sd", "jain_index"] {
                    assert_eq!(one[figure], other[figure], "{figure}");
                }
            }
            _ => assert_eq!(one, other, "{key}"),
        }
        assert_eq!(one["hdr"], other["hdr"], "{key}");
    }
    if let Some(counts) = on_the_wire {
        // One WRITE keeps the recorded names in the marker of the run.
        assert_eq!(counts, [("8", 60), ("9", 121), ("7", 60)]);
    }
}

#[test]
fn windows_of_machines_with_other_clocks_open_together() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    let url = network.server.url();
    let ran = network.run(&format!(
        "--parts parts run {url} --profile read-4k -c 6 -d 2s --out results -q --json whole.json"
    ));
    assert!(ran.status.success(), "{ran:?}");
    let whole = document(&network.path("whole.json"));
    let opened = |n: usize| {
        let part = document(&network.path(&network.part(n)));
        let opened = point(&part)["window_opened"].as_str().unwrap().to_owned();
        // All have the same wall clock: seconds and microseconds of the minute.
        opened[17..26].parse::<f64>().unwrap()
    };
    let names = [0, 1, 2].map(|n| point(&whole)["hosts"][n]["name"].clone());
    assert_eq!(names, ["node0", "node1", "node2"]);
    for n in 1..3 {
        let host = &point(&whole)["hosts"][n];
        let clock = &host["clock"];
        let bound = clock["bound_ns"].as_f64().unwrap() / 1e9;
        let drift = clock["drift_ns"].as_f64().unwrap().abs() / 1e9;
        let apart = (opened(n) - opened(0))
            .abs()
            .min(60.0 - (opened(n) - opened(0)).abs());
        // Reading two clocks one after the other is not exact, either.
        assert!(
            apart <= bound + drift + 0.001,
            "node{n}: {apart} s, {clock}"
        );
        assert!(host["ops_per_s"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(whole["hosts"].as_array().unwrap().len(), 3);
}

/// Stages are whole on machines with other clocks, and their parts add up.
#[test]
fn stages_of_three_machines_add_up() {
    let Some(network) = Network::or_skip() else {
        return;
    };
    let url = network.server.url();
    let run = format!("run {url} --profile read-4k --stages 1s:6,1s:6,1s:2 --out results -q");
    let ran = network.run(&format!("{run} --json staged.json"));
    assert!(has_measured(&ran), "{ran:?}");
    let doc = document(&network.path("staged.json"));
    let stages = doc["load_points"].as_array().unwrap();
    let clients: Vec<_> = stages.iter().map(|stage| &stage["clients"]).collect();
    assert_eq!(clients, [6, 6, 2]);
    for stage in stages {
        let hosts = stage["hosts"].as_array().unwrap();
        assert_eq!(hosts.len(), 3, "{stage:#}");
        for key in ["clients", "ops_per_s"] {
            let parts = hosts.iter().map(|host| host[key].as_f64().unwrap());
            let (parts, all) = (parts.sum::<f64>(), stage[key].as_f64().unwrap());
            assert!((parts - all).abs() <= 1e-9 * all, "{key}: {parts}, {all}");
        }
    }
    let refused = network.run(&format!("--parts parts {run}"));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("the load has stages: leave out parts"),
        "{said}"
    );
}

/// A capture of the bridge.
struct Capture {
    child: std::process::Child,
    file: std::path::PathBuf,
}

impl Capture {
    fn begin(network: &Network) -> Option<Self> {
        if let Err(skip) = require(&[Tool::new("tshark", "tshark")]) {
            eprintln!("{skip}");
            return None;
        }
        let file = network.path("wire.pcapng");
        let child = Command::new("dumpcap")
            .args(["-q", "-i", &network.bridge(), "-w"])
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !file.exists() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        Some(Self { child, file })
    }

    /// Returns the numbers of READ, WRITE and FLUSH requests.
    fn end(mut self) -> [(&'static str, usize); 3] {
        // Packets reach the file some time after they are seen.
        thread::sleep(Duration::from_millis(1500));
        let id = self.child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        self.child.wait().unwrap();
        ["8", "9", "7"].map(|command| {
            let filter = format!("smb2.cmd=={command} && smb2.flags.response==0");
            let tshark = Command::new("tshark")
                .args(["-r", self.file.to_str().unwrap(), "-Y", &filter])
                .args([
                    "-d",
                    "tcp.port==1-65535,nbss",
                    "-T",
                    "fields",
                    "-e",
                    "smb2.cmd",
                ])
                .output()
                .unwrap();
            let text = String::from_utf8(tshark.stdout).unwrap();
            let commands = text.split([',', '\n']);
            (
                command,
                commands.filter(|one| one.trim() == command).count(),
            )
        })
    }
}
