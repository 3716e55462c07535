//! The result file in Iometer's format, read back by its column names.

use std::collections::HashMap;
use std::time::Duration;

use smbench_model::access::AccessLine;
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, Phase, ReplayDifference};
use smbench_model::workload::Requests;
use smbench_protocol::NtStatus;
use smbench_report::doc::RunDoc;
use smbench_report::write_iometer_csv;

use crate::samples::{book, document, on_a_busy_server, point, run, unwrapped};

/// A test of a result file: its access specification, and a row of values by column
/// name for each target type.
struct Test {
    specification: Vec<String>,
    rows: HashMap<String, HashMap<String, String>>,
}

impl Test {
    fn value(&self, row: &str, column: &str) -> f64 {
        let text = self.text(row, column);
        text.parse()
            .unwrap_or_else(|_| panic!("{row} {column}: {text}"))
    }

    fn text(&self, row: &str, column: &str) -> &str {
        &self.rows[row][column]
    }
}

/// Reads the file as a spreadsheet's importer does: by the keys that begin with
/// `'`.
fn tests(file: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut lines = file.lines();
    let mut specification = Vec::new();
    while let Some(line) = lines.next() {
        match line {
            "'Access specifications" => {
                let entries = lines.by_ref();
                specification = entries
                    .take_while(|line| *line != "'End access specifications")
                    .map(str::to_owned)
                    .collect();
            }
            "'Results" => {
                let header = lines.next().unwrap().strip_prefix('\'').unwrap();
                let columns: Vec<_> = header.split(',').collect();
                let rows = lines
                    .by_ref()
                    .take_while(|line| *line != "'Time Stamp")
                    .map(|row| {
                        let cells: Vec<_> = row.split(',').map(str::to_owned).collect();
                        assert_eq!(cells.len(), columns.len(), "{row}");
                        let names = columns.iter().map(|&name| name.to_owned());
                        (cells[0].clone(), names.zip(cells).collect())
                    });
                tests.push(Test {
                    rows: rows.collect(),
                    specification: std::mem::take(&mut specification),
                });
            }
            _ => {}
        }
    }
    tests
}

fn written(docs: &[RunDoc]) -> String {
    let mut file = Vec::new();
    write_iometer_csv(docs, &mut file).unwrap();
    String::from_utf8(file).unwrap()
}

fn assert_near(seen: f64, expected: f64) {
    let tolerance = expected.abs() * 1e-6 + 1e-6;
    assert!(
        (seen - expected).abs() <= tolerance,
        "{seen}, not {expected}"
    );
}

#[test]
fn every_figure_is_the_documents_in_iometers_units() {
    let doc = document(&run(vec![
        on_a_busy_server(point(1, 1, 400)),
        point(4, 1, 1600),
    ]));
    let file = written(std::slice::from_ref(&doc));
    let tests = tests(&file);
    assert_eq!(tests.len(), 2);
    for (test, point) in tests.iter().zip(&doc.load_points) {
        let (read, write) = (&point.ops["read"], &point.ops["write"]);
        let per_second = |amount: u64| amount as f64 / point.window_s;
        for row in ["ALL", "MANAGER"] {
            let near = |column: &str, expected: f64| assert_near(test.value(row, column), expected);
            near("# Workers", point.clients.into());
            near("# Disks", point.clients.into());
            near("IOps", point.ops_per_s);
            near("Read IOps", per_second(read.count));
            near("Write IOps", per_second(write.count));
            near("Transactions per Second", point.ops_per_s);
            let bytes = point.bytes_read + point.bytes_written;
            near("MiBps (Binary)", per_second(bytes) / 1_048_576.0);
            near(
                "Read MiBps (Binary)",
                per_second(point.bytes_read) / 1_048_576.0,
            );
            near("MBps (Decimal)", point.throughput_mbps / 8.0);
            near(
                "Write MBps (Decimal)",
                per_second(point.bytes_written) / 1e6,
            );
            let all = point.latency_ns.unwrap();
            near("Average Response Time", all.mean / 1e6);
            near("Maximum Response Time", all.max as f64 / 1e6);
            near("Average Transaction Time", all.mean / 1e6);
            let of_reads = read.response_ns.unwrap();
            near("Average Read Response Time", of_reads.mean / 1e6);
            near("Maximum Read Response Time", of_reads.max as f64 / 1e6);
            let of_writes = write.response_ns.unwrap();
            near("Average Write Response Time", of_writes.mean / 1e6);
            near("Maximum Write Response Time", of_writes.max as f64 / 1e6);
            near("Errors", point.errors as f64);
            near("Read Errors", read.errors as f64);
            near("Write Errors", write.errors as f64);
            near("Bytes Read", point.bytes_read as f64);
            near("Bytes Written", point.bytes_written as f64);
            near("Read I/Os", read.count as f64);
            near("Write I/Os", write.count as f64);
            near("Connections", 0.0);
            near("Connections per Second", 0.0);
            near("Starting Sector", 0.0);
            near("Maximum Size", 2048.0);
            near("Queue Depth", doc.plan.outstanding.into());
            assert_eq!(test.text(row, "Access Specification Name"), "file-server");
            let bins: f64 = test.rows[row]
                .iter()
                .filter(|(column, _)| column.ends_with('S') || column.ends_with('s'))
                .filter(|(column, _)| column.contains(" to ") || column.contains(">="))
                .map(|(_, count)| count.parse::<f64>().unwrap())
                .sum();
            assert_near(bins, (read.count + write.count) as f64);
        }
        assert_eq!(test.text("ALL", "# Managers"), "1");
        assert_eq!(test.text("ALL", "Target Name"), "All");
    }
}

#[test]
fn raw_times_are_in_the_managers_row_alone() {
    let doc = document(&run(vec![
        on_a_busy_server(point(1, 1, 400)),
        point(4, 1, 1600),
    ]));
    let file = written(std::slice::from_ref(&doc));
    for (test, point) in tests(&file).iter().zip(&doc.load_points) {
        let (read, write) = (&point.ops["read"], &point.ops["write"]);
        let near = |column: &str, expected: f64| {
            assert_near(test.value("MANAGER", column), expected);
            assert_eq!(test.text("ALL", column), "");
        };
        near("Total Raw Run Time", point.window_s * 1e9);
        near(
            "Maximum Raw Read Response Time",
            read.response_ns.unwrap().max as f64,
        );
        near(
            "Total Raw Read Response Time",
            read.response_ns.unwrap().mean * read.count as f64,
        );
        // Includes flushes, because the mean does.
        let flushes = &point.ops["flush"];
        near(
            "Total Raw Transaction Time",
            [read, write, flushes]
                .map(|op| op.response_ns.unwrap().mean * op.count as f64)
                .iter()
                .sum(),
        );
        near("Processor Speed", 1e9);
    }
}

#[test]
fn cpu_is_the_servers_or_nobodys() {
    let doc = document(&run(vec![
        on_a_busy_server(point(1, 1, 400)),
        point(4, 1, 1600),
    ]));
    let file = written(std::slice::from_ref(&doc));
    let tests = tests(&file);
    let cpu = doc.load_points[0].server_cpu.as_ref().unwrap();
    for row in ["ALL", "MANAGER"] {
        assert_near(
            tests[0].value(row, "% CPU Utilization"),
            cpu.percent.unwrap(),
        );
        assert_near(
            tests[0].value(row, "CPU Effectiveness"),
            cpu.ops_per_s_per_percent.unwrap(),
        );
        for column in ["% CPU Utilization", "CPU Effectiveness"] {
            assert_eq!(tests[1].text(row, column), "", "nobody measured it");
        }
    }
    assert!(file.contains(
        "'CPU columns: of the server  all 4 cores of it  as reported by \
         http://files.example:9100/metrics\n"
    ));
    assert!(file.contains("'CPU columns: not measured: the server is on another machine"));
}

/// Spreadsheets depend on the header, so it must be exactly that of Iometer 1.1.0.
#[test]
fn the_columns_are_iometers_in_their_order() {
    let doc = document(&run(vec![point(1, 1, 400)]));
    let file = written(&[doc]);
    let header = file.lines().find(|line| line.starts_with("'Target Type"));
    let columns: Vec<_> = header.unwrap().split(',').collect();
    assert_eq!(columns.len(), 80);
    for (at, name) in [
        (0, "'Target Type"),
        (2, "Access Specification Name"),
        (6, "IOps"),
        (9, "MiBps (Binary)"),
        (12, "MBps (Decimal)"),
        (17, "Average Response Time"),
        (22, "Maximum Response Time"),
        (27, "Errors"),
        (30, "Bytes Read"),
        (36, "Total Raw Read Response Time"),
        (44, "Total Raw Run Time"),
        (47, "Queue Depth"),
        (48, "% CPU Utilization"),
        (55, "CPU Effectiveness"),
        (58, "Segments Retransmitted/Second"),
        (59, "0 to 50 uS"),
        (79, " >= 10 s"),
    ] {
        assert_eq!(columns[at], name);
    }
    let keys: Vec<_> = file
        .lines()
        .filter(|line| line.starts_with('\'') && !line.starts_with("'CPU"))
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(
        keys,
        [
            "'Test Type",
            "'Version",
            "'Time Stamp",
            "'Access specifications",
            "'Access specification name",
            "'size",
            "'End access specifications",
            "'Results",
            "'Target Type",
            "'Time Stamp",
        ]
    );
    let stamp = file
        .lines()
        .skip_while(|line| *line != "'Time Stamp")
        .nth(1);
    assert_eq!(stamp.unwrap().len(), "2026-01-31 12:00:00:000".len());
}

#[test]
fn patterns_are_access_specifications_and_replies_halve_transactions() {
    let mut record = run(vec![point(2, 1, 400)]);
    record.plan.work.profile = "name, with a comma".to_owned();
    record.plan.only_mut().workload.sizes.clear();
    record.plan.only_mut().workload.requests = Requests::Pattern(vec![AccessLine {
        size: 4096,
        weight: 100.0,
        read_percent: 67.0,
        random_percent: 25.0,
        delay: Duration::from_millis(20),
        burst: 8,
        align: 512,
        reply: 1024,
    }]);
    let doc = document(&record);
    let file = written(&[doc.clone(), document(&run(vec![point(1, 1, 100)]))]);
    let tests = tests(&file);
    assert_eq!(tests.len(), 2, "a test for each document");
    assert_eq!(
        tests[0].specification,
        [
            "'Access specification name,default assignment",
            "name  with a comma,0",
            "'size,% of size,% reads,% random,delay,burst,align,reply",
            "4096,100,67,25,20,8,512,1024,",
        ]
    );
    assert_eq!(
        tests[1].specification[3..],
        ["4096,90,80,0,0,1,4096,0,", "65536,10,80,0,0,1,65536,0,"]
    );
    let per_second = doc.load_points[0].ops_per_s;
    assert_near(
        tests[0].value("ALL", "Transactions per Second"),
        per_second / 2.0,
    );
    assert_near(tests[0].value("ALL", "Average Transaction Time"), 0.0);
    assert_near(tests[0].value("ALL", "IOps"), per_second);
    // Text and document contain the pattern, too.
    let text = unwrapped(&smbench_report::render(&doc));
    assert!(
        text.contains(
            "name, with a comma: 4 KiB, 25 % random, 67 % reads, 20.0 ms before each burst, bursts of \
             8, replies of 1 KiB"
        ),
        "{text}"
    );
    let back: RunDoc = serde_json::from_str(&doc.to_json()).unwrap();
    assert_eq!(back.plan.workload.pattern, doc.plan.workload.pattern);
    assert_eq!(back.plan.workload.pattern[0].delay_s, 0.02);
    // Iometer reads whole milliseconds.
    let mut slow = doc;
    slow.plan.workload.pattern[0].delay_s = 1.005;
    let file = written(&[slow]);
    assert!(
        file.contains("\n4096,100,67,25,1005,8,512,1024,\n"),
        "{file}"
    );
}

#[test]
fn what_must_not_be_quoted_says_so() {
    let mut doc = document(&run(vec![point(1, 1, 400)]));
    doc.load_points[0].valid = false;
    doc.load_points[0].invalid_reason = Some("1 of 1 client, lost".to_owned());
    assert!(written(&[doc]).contains("'Not to be quoted: 1 of 1 client  lost\n"));
    assert_eq!(written(&[]), "");
}

/// They are no errors, and Iometer has no column for them.
#[test]
fn a_comment_says_how_many_operations_of_a_replay_differ() {
    let mut differs = point(1, 1, 100);
    book(&mut differs.ops, Phase::Window, |ops| {
        for _ in 0..3 {
            ops.difference(ReplayDifference {
                kind: OpKind::Unlink,
                recorded: Some(NtStatus::SUCCESS),
                seen: OperationFailure::Status(NtStatus::OBJECT_NAME_NOT_FOUND),
            });
        }
    });
    let file = written(&[document(&run(vec![point(1, 1, 100), differs]))]);
    let words: Vec<_> = file
        .lines()
        .filter(|line| line.starts_with("'Replay"))
        .collect();
    assert_eq!(
        words,
        ["'Replay: 3 of 1264 operations (0.24 %) did not go as recorded; no column counts them"]
    );
    for test in tests(&file) {
        assert_eq!(test.value("ALL", "Errors"), 0.0);
    }
}
