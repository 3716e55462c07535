//! Operations of a replay that did not go as recorded, in each output.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use smbench_formats::loadfile::{self, Unknown};
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, Phase, ReplayDifference, RunRecord};
use smbench_model::workload::{Replay, Requests, Timing};
use smbench_protocol::NtStatus;
use smbench_report::curve::Curve;
use smbench_report::doc::{RecordedTimesDoc, ReplayedDoc, RunDoc};
use smbench_report::table::Table;
use smbench_report::text::{Tone, cautions, load_points, operations, summary};
use smbench_report::write_csv;

use crate::samples::{book, document, point, run};

const GONE: OperationFailure = OperationFailure::Status(NtStatus::OBJECT_PATH_NOT_FOUND);
const CLOSED: OperationFailure = OperationFailure::Status(NtStatus::FILE_CLOSED);

/// Returns a replay of 1261 operations, and of those that differ in the window.
fn replay(differ: &[(OpKind, OperationFailure, u32)]) -> RunRecord {
    let mut replayed = point(4, 1, 100);
    book(&mut replayed.ops, Phase::Window, |ops| {
        for &(kind, seen, count) in differ {
            for _ in 0..count {
                ops.difference(ReplayDifference {
                    kind,
                    recorded: Some(NtStatus::SUCCESS),
                    seen,
                });
            }
        }
    });
    let text = b"Unlink \"\\b\" 0x6 NT_STATUS_OK\n";
    let trace = loadfile::parse("my.txt", &text[..], Unknown::Refuse).unwrap();
    let mut record = run(vec![replayed]);
    record.plan.only_mut().workload.sizes.clear();
    record.plan.only_mut().workload.requests = Requests::Replay(Replay {
        recording: Arc::new(trace.into()),
        timing: Timing::Fast,
        speed: 1.0,
        loops: None,
    });
    record
}

/// Returns a replay of a file whose directory is gone.
fn broken() -> RunDoc {
    let mut record = replay(&[
        (OpKind::Create, GONE, 900),
        (OpKind::Write, CLOSED, 900),
        (OpKind::Close, CLOSED, 900),
        (OpKind::Unlink, GONE, 39),
    ]);
    record.load_points[0].invalid = Some("2739 of 4000 operations did not".to_owned());
    document(&record)
}

fn differing(doc: &RunDoc) -> Option<(u64, u64)> {
    let replayed: Option<ReplayedDoc> = doc.load_points[0].replayed;
    replayed.map(|of| (of.operations, of.differing))
}

#[test]
fn the_tables_count_what_differs_and_say_that_no_other_column_does() {
    let doc = broken();
    assert_eq!(differing(&doc), Some((4000, 2739)));
    let curve = Curve::of(&doc.load_points);
    assert_snapshot!(load_points(&curve).to_text(), @"
    clients  Mbit/s  ops/s     mean      p50      p95      p99    p99.9      max  errors          differ  us/op
        ! 4     4.1    126  1.43 ms  1.00 ms  2.00 ms  2.00 ms  30.0 ms  30.0 ms       0  2739 (68.47 %)    397
    us/op: CPU time of smbench per operation, without the server's
    differ: operations that did not go as recorded, ramps included; no other column counts them
    ");
    let table = operations(&doc.plan.workload, &curve).unwrap();
    let rows = table.rows.iter().map(|row| {
        let cell = |at: usize| row[at].text.as_str();
        [cell(0), cell(1), cell(9), cell(10)].join(" | ")
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "read | ! 1000 | 0 | 0",
            "write | ! 250 | 0 | 900 (78.26 %)",
            "flush | ! 10 | 0 | 0",
            "create | ! 0 | 0 | 900 (100 %)",
            "close | ! 0 | 0 | 900 (100 %)",
            "unlink | ! 0 | 0 | 39 (100 %)",
        ]
    );
    let note = "differ: operations that did not go as recorded, ramps included; no other column counts them";
    assert_eq!(table.notes, ["!: not valid", note]);
}

#[test]
fn the_summary_has_a_line_for_what_differs() {
    let doc = broken();
    let passages = summary(&doc).into_iter();
    let words: Vec<_> = passages
        .filter(|passage| passage.text.contains("iffer") || passage.text.starts_with("Replay"))
        .collect();
    let [columns, note, line] = &words[..] else {
        panic!("{words:#?}");
    };
    assert!(columns.text.ends_with("errors   differ\n"), "{columns:?}");
    assert!(
        note.text
            .starts_with("differ: operations that did not go as recorded")
    );
    assert_eq!(line.tone, Tone::Problem);
    assert_eq!(
        line.text,
        "Replay   2739 of 4000 operations (68.47 %) did not go as recorded: 900 create\n         got \
         STATUS_OBJECT_PATH_NOT_FOUND, 900 close got STATUS_FILE_CLOSED, 900\n         write got \
         STATUS_FILE_CLOSED and 1 more\n"
    );
}

#[test]
fn a_replay_without_differences_shows_zero_and_other_runs_show_nothing() {
    let as_recorded = document(&replay(&[]));
    assert_eq!(differing(&as_recorded), Some((1261, 0)));
    let texts = |doc: &RunDoc| {
        let curve = Curve::of(&doc.load_points);
        let tables = [
            load_points(&curve),
            operations(&doc.plan.workload, &curve).unwrap(),
        ];
        tables.map(|table| table.to_text().contains("differ"))
    };
    assert_eq!(texts(&as_recorded), [true, true]);
    let text: String = summary(&as_recorded)
        .into_iter()
        .map(|passage| passage.text)
        .collect();
    assert!(!text.contains("Replay "), "{text}");
    let other = document(&run(vec![point(4, 1, 100)]));
    assert_eq!(differing(&other), None);
    assert_eq!(texts(&other), [false, false]);
}

/// Where requests have times, they wait for these in the response time, which no capture has.
#[test]
fn times_beside_those_of_a_capture_are_service_times() {
    let mut doc = document(&replay(&[]));
    let ops = &mut doc.load_points[0].ops;
    let slower = ops["write"].hdr.clone();
    ops.get_mut("read").unwrap().response_hdr = Some(slower);
    let table = |doc: &RunDoc| {
        let curve = Curve::of(&doc.load_points);
        operations(&doc.plan.workload, &curve).unwrap()
    };
    let note = "times: service times, from sent until answered".to_owned();
    let of_responses = table(&doc);
    let of_replay = doc.plan.workload.replay.as_mut().unwrap();
    let times = RecordedTimesDoc {
        count: 1,
        mean_ns: 900_000,
        p50_ns: 900_000,
        p99_ns: 900_000,
    };
    of_replay.recorded.insert("read".to_owned(), times);
    let of_services = table(&doc);
    assert!(!of_responses.notes.contains(&note));
    assert!(of_services.notes.contains(&note));
    // Mean, p50, p95, p99 and maximum of reads and writes.
    for at in 4..9 {
        let time = |table: &Table, row: usize| table.rows[row][at].exact.unwrap();
        assert_eq!(time(&of_responses, 0), time(&of_responses, 1));
        assert!(time(&of_services, 0) < time(&of_services, 1));
    }
    assert_eq!(of_services.rows[0][10].text, "900 us");
}

/// Such a document has no `replayed`, and its load points were valid whatever differed.
#[test]
fn the_differences_of_an_older_release_are_counted() {
    let mut doc = broken();
    doc.load_points[0].replayed = None;
    let text = load_points(&Curve::of(&doc.load_points)).to_text();
    assert!(text.contains("2739 (68.47 %)"), "{text}");
}

#[test]
fn csv_has_a_row_for_an_operation_that_only_differed() {
    let columns = |doc: &RunDoc| {
        let mut written = Vec::new();
        write_csv(doc, &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        let rows = written.lines().map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            [4, 5, 7, 31, 32].map(|at| cells[at].to_owned()).join(",")
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(
        columns(&broken()),
        [
            "op,count,errors,differing,differing_share",
            "all,1260,0,2739,0.68475",
            "close,0,0,900,1",
            "create,0,0,900,1",
            "flush,10,0,0,0",
            "read,1000,0,0,0",
            "unlink,0,0,39,1",
            "write,250,0,900,0.782608695652174",
        ]
    );
    let other = columns(&document(&run(vec![point(4, 1, 100)])));
    assert_eq!(other[1], "all,1260,0,,");
}

/// Their time in flight is counted, and they have no latency.
#[test]
fn the_caution_on_littles_law_names_operations_without_a_latency() {
    let mut record = replay(&[(OpKind::Flush, GONE, 12)]);
    record.load_points[0].in_flight += Duration::from_secs(1);
    let words = cautions(&document(&record));
    let expected = "in flight at 4 clients: 0.28 requests counted, 0.18 by Little's law, which lacks \
                    operations without a latency: 12 of 1273 operations (0.94 %) did not go as \
                    recorded";
    assert_eq!(words, [expected]);
    // Too few to matter.
    let mut record = replay(&[(OpKind::Flush, GONE, 1)]);
    record.load_points[0].in_flight += Duration::from_secs(1);
    let words = cautions(&document(&record));
    let expected = "in flight at 4 clients: 0.28 requests counted, 0.18 by Little's law; look at the \
                    errors, or measure longer";
    assert_eq!(words, [expected]);
}
