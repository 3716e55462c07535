//! Comparison with sysbench: the same requests, and the same figures in the same
//! places.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use smbench_model::fileio::{
    FileOrigin, Fileio, Flushing, RequestSpread, Sequence, SequenceStep, TestMode,
};
use smbench_model::units::Size;

use super::{FILES, SYSBENCH, counted, fileio, samba};
use crate::support::{Place, json};

/// One request as sysbench reports it: 1 reads, 2 writes, 3 flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    operation: u64,
    file: u64,
    offset: u64,
    length: u64,
}

/// Requests and output of sysbench.
struct Sysbench {
    requests: Vec<Request>,
    said: String,
}

impl Sysbench {
    fn run(folder: &Path, options: &[&str]) -> Self {
        let said = sysbench(
            folder,
            &[options, &["--verbosity=5", "--debug=on", "run"]].concat(),
        );
        let number = |text: &str| text.trim_end_matches(',').parse().unwrap();
        let mut requests: Vec<Request> = Vec::new();
        for line in said.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            // Repeated lines appear once, with a count.
            if let ["(last", "message", "repeated", times, "times)"] = words[..] {
                if let Some(&last) = requests.last() {
                    requests.extend((0..number(times)).map(|_| last));
                }
                continue;
            }
            if !line.contains("Executing request") {
                continue;
            }
            let after =
                |name| number(words[words.iter().position(|word| *word == name).unwrap() + 1]);
            requests.push(Request {
                operation: after("operation:"),
                file: after("file_id:"),
                offset: after("pos:"),
                length: after("size:"),
            });
        }
        Self { requests, said }
    }

    fn count(&self, operation: u64) -> u64 {
        let requests = self.requests.iter();
        requests
            .filter(|request| request.operation == operation)
            .count() as u64
    }

    fn bytes(&self, operation: u64) -> u64 {
        let requests = self.requests.iter();
        requests
            .filter(|request| request.operation == operation)
            .map(|request| request.length)
            .sum()
    }

    /// Returns the number of flushes, including those at the end. sysbench prints
    /// only rates, all over the same time.
    fn flushes(&self) -> u64 {
        let rate = |name| -> f64 {
            let line = self.said.lines().find(|line| line.contains(name)).unwrap();
            line.split_whitespace().last().unwrap().parse().unwrap()
        };
        let writes = rate("writes/s:");
        if writes > 0.0 {
            (rate("fsyncs/s:") * self.count(2) as f64 / writes).round() as u64
        } else {
            0
        }
    }
}

fn sysbench(folder: &Path, args: &[&str]) -> String {
    let ran = Command::new(SYSBENCH.find().unwrap())
        .arg("fileio")
        .args(FILES)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn the_same_options_make_the_same_requests_as_with_sysbench() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let server = (&*samba.url(), samba.password());
    let folder = place.path("local");
    fs::create_dir(&folder).unwrap();
    sysbench(&folder, &["prepare"]);
    fileio(&place, server, "prepare", &[]).succeeded();
    for (mode, events, more) in [
        (TestMode::RndRw, 250, &["--file-fsync-freq=20"][..]),
        (
            TestMode::RndRw,
            90,
            &["--file-rw-ratio=30", "--file-fsync-freq=7"],
        ),
        (TestMode::RndRw, 200, &["--threads=2"]),
        (TestMode::RndWr, 40, &["--file-fsync-all"]),
        (
            TestMode::SeqReWr,
            150,
            &["--file-merged-requests=3", "--file-fsync-freq=30"],
        ),
        (TestMode::SeqRd, 100, &[]),
        (TestMode::RndRd, 100, &[]),
        (TestMode::SeqWr, 150, &["--file-fsync-end=off"]),
    ] {
        let mode = format!("--file-test-mode={}", mode.name());
        let events = format!("--events={events}");
        let options: Vec<_> = [&*mode, &*events, "--time=30"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        // sysbench requires a value for this option.
        let theirs: Vec<_> = options
            .iter()
            .map(|option| option.replace("--file-fsync-all", "--file-fsync-all=on"))
            .collect();
        let theirs: Vec<_> = theirs.iter().map(String::as_str).collect();
        let theirs = Sysbench::run(&folder, &theirs);
        let ours = fileio(
            &place,
            server,
            "run",
            &[&options[..], &["--json=-", "--rand-seed=1"]].concat(),
        );
        ours.succeeded();
        let doc = json(&ours.stdout);
        for (operation, kind) in [(1, "read"), (2, "write")] {
            let (count, bytes) = (theirs.count(operation), theirs.bytes(operation));
            // Two threads may differ by one request, in sysbench as in smbench.
            // Offsets of random requests in a short file differ by chance.
            let apart = if options.contains(&"--threads=2") {
                2
            } else {
                0
            };
            let found = counted(&doc, kind, "count");
            assert!(
                found.abs_diff(count) <= apart,
                "{options:?}: {kind} {found}, not {count}"
            );
            if mode.contains("seq") {
                assert_eq!(counted(&doc, kind, "bytes"), bytes, "{options:?}: {kind}");
            }
        }
        let flushes = counted(&doc, "flush", "count") + counted(&doc, "final_flush", "count");
        assert_eq!(flushes, theirs.flushes(), "{options:?}");
        assert_eq!(counted(&doc, "read", "errors"), 0);
        if !options.contains(&"--threads=2") {
            assert_eq!(
                sequence_of(&doc, theirs.requests.len()),
                determined(&theirs, &mode),
                "{options:?}"
            );
        }
    }
    let said = fileio(&place, server, "cleanup", &[]);
    said.succeeded();
    assert_eq!(said.stdout, "removed smbench-fileio\n");
    assert_eq!(fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

/// Returns the requests of sysbench; of random requests only the part that does not
/// depend on chance.
fn determined(sysbench: &Sysbench, mode: &str) -> Vec<Request> {
    let requests = sysbench.requests.iter().copied();
    requests
        .map(|request| placed(request, mode.contains("rnd")))
        .collect()
}

fn placed(request: Request, is_random: bool) -> Request {
    if is_random && request.operation != 3 {
        Request {
            operation: request.operation,
            file: 0,
            offset: 0,
            length: 0,
        }
    } else {
        request
    }
}

/// Returns the first requests of the sequence that a document describes.
fn sequence_of(doc: &Value, count: usize) -> Vec<Request> {
    let workload = &doc["plan"]["workload"];
    let test = &workload["fileio"];
    let number = |value: &Value| value.as_u64().unwrap();
    let files = number(&workload["files"]) as u32;
    let mut modes = TestMode::ALL.into_iter();
    let mode = modes.find(|mode| test["test_mode"] == mode.name()).unwrap();
    let every = number(&test["fsync_freq"]) as u32;
    let sequence = Sequence::new(
        &Fileio {
            mode,
            files,
            total: Size(number(&workload["file_bytes"]) * u64::from(files)),
            block: Size(number(&test["block_bytes"])),
            merged: number(&test["merged_requests"]) as u32,
            flushing: Flushing::Sets {
                every: (every > 0).then_some(every),
                at_end: true,
            },
            rw_ratio: test["rw_ratio"].as_f64().unwrap(),
            spread: RequestSpread::Uniform,
            events: None,
            time: None,
            home: FileOrigin::Prepared,
        },
        1,
    );
    let request = |operation, place: smbench_model::fileio::FileRange| Request {
        operation,
        file: place.file.into(),
        offset: place.offset,
        length: place.length.into(),
    };
    let steps = (0..count as u64).map(|position| match sequence.step(position) {
        SequenceStep::Read(place) => request(1, place),
        SequenceStep::Write(place) => request(2, place),
        SequenceStep::Flush(file) => Request {
            operation: 3,
            file: file.into(),
            offset: 0,
            length: 0,
        },
    });
    let is_random = mode.name().starts_with("rnd");
    steps.map(|request| placed(request, is_random)).collect()
}

/// Returns a report without its numbers, from its first heading to sysbench's last
/// paragraph.
fn layout(report: &str) -> Vec<String> {
    let lines = report
        .lines()
        .skip_while(|line| *line != "File operations:");
    let end = |line: &&str| !line.starts_with("Latency by operation") && !line.starts_with("DEBUG");
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    lines
        .take_while(end)
        .map(|line| {
            // Latency figures of any length end in the same column.
            let label = line.trim_end_matches(|c: char| c.is_ascii_digit() || "./s".contains(c));
            match line.split_whitespace().next_back() {
                Some(last) if is_number(last) => {
                    if line.starts_with("        ") {
                        format!("{} at {}", label.trim_end(), line.len())
                    } else {
                        label.to_owned()
                    }
                }
                _ => line.to_owned(),
            }
        })
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn figures_stand_where_sysbench_has_them() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    let server = (&*samba.url(), samba.password());
    let folder = place.path("local");
    fs::create_dir(&folder).unwrap();
    sysbench(&folder, &["prepare"]);
    fileio(&place, server, "prepare", &["--quiet"]).succeeded();
    let options = ["--file-test-mode=rndrw", "--events=150"];
    let theirs = sysbench(&folder, &[&options[..], &["run"]].concat());
    let more = ["--percentile=95", "--out=results", "--histogram"];
    let ours = fileio(&place, server, "run", &[&options[..], &more].concat());
    ours.succeeded();
    assert_eq!(
        layout(&ours.stdout),
        layout(&theirs),
        "{}\n{theirs}",
        ours.stdout
    );
    for part in [
        "3 files, 341 KiB each\n",
        "Read/Write ratio for combined random IO test: 1.50\n",
        "Periodic FSYNC enabled, calling fsync() each 100 requests.\n",
        "Calling fsync() at the end of test, Enabled.\n",
        "    total number of events:              150\n",
        "    events (avg/stddev):           150.0000/0.00\n",
        "       value  ------------- distribution ------------- count\n",
        "    fsync at the end ",
        " Total, without the flushes at the end\n",
    ] {
        assert!(
            ours.stdout.contains(part),
            "{part:?} is missing: {}",
            ours.stdout
        );
    }
    // A clean-up keeps prepared files, and says so.
    let said = place.smbench_as(server.1, &["cleanup", server.0]);
    said.succeeded();
    assert!(
        said.stdout.contains(
            "prepared for fileio (remove it with smbench fileio cleanup): smbench-fileio"
        )
    );
    assert!(samba.data_dir().join("smbench-fileio").exists());

    // By the clock, after a warm-up, with interim figures and an fsync of each
    // write. The latency of the fsyncs is separate.
    let said = fileio(
        &place,
        server,
        "run",
        &[
            "--file-test-mode=rndrw",
            "--time=1",
            "--warmup-time=200ms",
            "--threads=3",
            "--report-interval=1",
            "--percentile=50,99.9",
            "--file-fsync-all",
            "--out=results",
        ],
    );
    said.succeeded();
    let interim = said
        .stdout
        .lines()
        .find(|line| line.starts_with("[ 1s ] reads: "))
        .unwrap();
    for part in [" request (ms,50%/99.9%): ", " fsync (ms,50%/99.9%): "] {
        assert!(interim.contains(part), "{interim}");
    }
    for block in ["\nRequest latency (ms):\n", "\nfsync latency (ms):\n"] {
        assert!(said.stdout.contains(block), "{said:?}");
    }
}
