//! The text that a run ends with.

use insta::assert_snapshot;
use smbench_model::action::{Action, WeightedAction};
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, Outcome, Phase, RunRecord, SplitSizes};
use smbench_model::workload::Requests;
use smbench_protocol::NtStatus;
use smbench_report::doc::RunDoc;
use smbench_report::text::{Passage, Tone, summary, verdict};

use crate::samples::{
    book, curve, document, dropped, metadata_plan, metadata_point, on_a_busy_server, point, run,
};

fn text(passages: &[Passage]) -> String {
    passages
        .iter()
        .map(|passage| passage.text.as_str())
        .collect()
}

fn words(record: &RunRecord) -> String {
    let doc = document(record);
    let text = text(&summary(&doc));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.lines().count() <= 30, "{text}");
    text
}

/// Returns the lines of a tone.
fn of_tone(doc: &RunDoc, tone: Tone) -> Vec<String> {
    let passages = summary(doc).into_iter();
    let these = passages.filter(|passage| passage.tone == tone);
    these.map(|passage| passage.text).collect()
}

#[test]
fn a_plain_run_has_its_answer_in_half_a_screen() {
    assert_snapshot!(words(&curve()), @"
    Profile  file-server: 4 KiB to 64 KiB, sequential, 80 % reads, flush every 100
             writes
    Server   smb://bench@files.example/data
    Session  SMB 3.1.1, ntlm, signed (aes-128-cmac), not encrypted
    Load     closed loop, 4 outstanding per client; 10 s per load point, 1 pass
    Data     1 file of 1 MiB per client, 16 MiB on the share (cached by any server)
    Flushes  policy unknown (see server_flush)
    Writes   policy unknown (see server_write)
    Note     server and generator share this machine

    clients  Mbit/s  ops/s     mean      p50      p95      p99  errors
          1    16.4    501  1.26 ms  1.00 ms  2.00 ms  2.00 ms       0
          4    63.9   1951  1.21 ms  1.00 ms  2.00 ms  2.00 ms       0
          8    65.5   2001  1.21 ms  1.00 ms  2.00 ms  2.00 ms       0
         16    32.8   1001  1.23 ms  1.00 ms  2.00 ms  2.00 ms       0

    Peak     65.5 Mbit/s (8.2 MB/s), 2001 ops/s at 8 clients; mean 1.21 ms, p99
             2.00 ms; within 5 % from 4 to 8 clients
    Curve    overall response time 1.24 ms, from 501 to 2001 ops/s (3 uneven load
             points); rightmost valid load 16 clients, mean 1.23 ms
    CPU      at 8 clients: server not measured (see server_metrics)
    ");
}

#[test]
fn several_passes_have_intervals_and_name_what_is_left_out() {
    let record = run(vec![
        on_a_busy_server(point(8, 1, 1500)),
        on_a_busy_server(point(16, 1, 1600)),
        on_a_busy_server(point(8, 2, 1600)),
        dropped(point(16, 2, 100), 5),
        on_a_busy_server(point(8, 3, 1400)),
        on_a_busy_server(point(16, 3, 1560)),
    ]);
    assert_snapshot!(words(&record), @"
    Profile  file-server: 4 KiB to 64 KiB, sequential, 80 % reads, flush every 100
             writes
    Server   smb://bench@files.example/data
    Session  SMB 3.1.1, ntlm, signed (aes-128-cmac), not encrypted
    Load     closed loop, 4 outstanding per client; 10 s per load point, 3 passes
    Data     1 file of 1 MiB per client, 16 MiB on the share (cached by any server)
    Flushes  policy unknown (see server_flush)
    Writes   policy unknown (see server_write)
    Note     server and generator share this machine

    clients  Mbit/s             ±  ops/s     mean      p50      p95      p99  errors
          8    61.4          10.2   1876  1.22 ms  1.00 ms  2.00 ms  2.00 ms       0
       ! 16    64.7  63.9 to 65.5   1976  1.21 ms  1.00 ms  2.00 ms  2.00 ms       0
    ±: 95 % confidence interval of the mean; latencies are over all passes
    `to`: lowest and highest pass, of two passes or if the interval reaches below 0
    ! 16 clients, pass 2: left out of the averages: 5 of 16 clients dropped out
      client 0: connection reset by the server
      client 1: connection reset by the server
      client 2: connection reset by the server
      and 2 others

    Peak     64.7 (63.9 to 65.5) Mbit/s (8.1 MB/s), 1976 ops/s at 16 clients; mean
             1.21 ms, p99 2.00 ms
    CPU      at 16 clients: server 25.0 %
    ");
}

#[test]
fn what_must_not_be_quoted_is_no_peak() {
    let mut failing = point(4, 1, 100);
    book(&mut failing.ops, Phase::Window, |ops| {
        for _ in 0..3 {
            ops.failure(OpKind::Write, OperationFailure::Status(NtStatus::DISK_FULL));
        }
    });
    failing.invalid = Some("3 of 1263 operations failed".to_owned());
    let mut record = run(vec![failing]);
    record.leftover = Some("2 files in smbench-42".to_owned());
    record.outcome = Outcome::Aborted("server closed the connection".to_owned());
    assert_snapshot!(words(&record), @"
    Profile  file-server: 4 KiB to 64 KiB, sequential, 80 % reads, flush every 100
             writes
    Server   smb://bench@files.example/data
    Session  SMB 3.1.1, ntlm, signed (aes-128-cmac), not encrypted
    Load     closed loop, 4 outstanding per client; 10 s per load point, 1 pass
    Data     1 file of 1 MiB per client, 4 MiB on the share (cached by any server)
    Flushes  policy unknown (see server_flush)
    Writes   policy unknown (see server_write)
    Note     server and generator share this machine

    clients  Mbit/s  ops/s     mean      p50      p95      p99  errors
        ! 4     4.1    126  1.43 ms  1.00 ms  2.00 ms  2.00 ms       3
    ! 4 clients, pass 1: not valid: 3 of 1263 operations failed

    Run      aborted: server closed the connection
    Peak     none: no load point is valid
    CPU      at 4 clients: server not measured (see server_metrics)
    failed: write, STATUS_DISK_FULL (0xC000007F): 3 times, at load points 4
    left on the share: 2 files in smbench-42
    ");
    let doc = document(&record);
    let problems = of_tone(&doc, Tone::Problem);
    assert_eq!(problems.len(), 6, "{problems:?}");
}

#[test]
fn a_mix_without_data_peaks_in_operations() {
    let mut record = run(vec![metadata_point(1, 50), metadata_point(4, 150)]);
    record.plan = metadata_plan(&[1, 4]);
    let words = words(&record);
    let peak = "Peak     300 ops/s at 4 clients; mean 1.50 ms, p99 2.00 ms\n";
    assert!(words.contains(peak), "{words}");
    assert!(!words.contains("Mbit/s"), "{words}");
}

#[test]
fn the_row_of_the_peak_stands_out() {
    let doc = document(&curve());
    let peak = of_tone(&doc, Tone::Peak);
    assert_eq!(peak.len(), 2, "{peak:?}");
    assert!(peak[0].trim_start().starts_with("8 "), "{peak:?}");
    assert!(peak[1].starts_with("Peak "), "{peak:?}");
}

#[test]
fn the_verdict_is_the_end_of_the_summary() {
    let doc = document(&curve());
    let verdict = text(&verdict(&doc));
    assert!(verdict.starts_with("Peak "), "{verdict}");
    assert!(text(&summary(&doc)).ends_with(&format!("\n\n{verdict}")));
}

/// A reader must see what was measured, and that it is not valid.
#[test]
fn an_interrupted_load_point_is_reported_with_its_figures_in_every_form() {
    let mut record = curve();
    let last = record.load_points.last_mut().unwrap();
    last.invalid = Some("interrupted after 7.3 s of 20 s".to_owned());
    record.outcome = Outcome::Interrupted;
    let doc = document(&record);
    let line = "Run      interrupted after 7.3 s of 20 s at 16 clients: 32.8 Mbit/s, 1001 ops/s,\n         \
                mean 1.23 ms, p99 2.00 ms so far, not valid\n";
    for passages in [summary(&doc), verdict(&doc)] {
        let text = text(&passages);
        assert!(text.contains(line), "{text}");
        assert!(text.contains("\nPeak "), "{text}");
    }
    assert!(text(&summary(&doc)).contains("\n   ! 16 "));
    // An interrupt between two load points ended none.
    record.load_points.last_mut().unwrap().invalid = None;
    assert!(text(&verdict(&document(&record))).contains("Run      interrupted\n"));
    // A load point that failed before the interrupt was not ended by it.
    let failed = Some("1 of 2 operations failed".to_owned());
    record.load_points.last_mut().unwrap().invalid = failed;
    assert!(text(&verdict(&document(&record))).contains("Run      interrupted\n"));
}

#[test]
fn split_operations_are_reported_with_their_requests() {
    let words = |read, write| {
        let mut record = curve();
        record.server.split = Some(SplitSizes { read, write });
        let text = words(&record);
        let line = text.lines().find(|line| line.starts_with("Split"));
        line.unwrap_or_default().to_owned()
    };
    let kib = |count: u32| Some(count << 10);
    assert_eq!(words(kib(4), kib(4)), "Split    64 KiB in 16 requests");
    assert_eq!(
        words(kib(16), kib(7)),
        "Split    reads of 64 KiB in 4 requests; writes of 64 KiB in 10 requests"
    );
    assert_eq!(
        words(None, kib(2)),
        "Split    writes of 4 KiB in 2 requests, 64 KiB in 32 requests"
    );
}

/// So are the frames of a stream that have files of their own.
#[test]
fn split_files_are_reported_with_their_requests() {
    let split = |action: Action| {
        let mut record = curve();
        let size = Some(8 << 20);
        record.server.split = Some(match action {
            Action::CopyOut => SplitSizes {
                read: size,
                write: None,
            },
            _ => SplitSizes {
                read: None,
                write: size,
            },
        });
        let workload = &mut record.plan.only_mut().workload;
        workload.sizes.clear();
        workload.files.size = 25 << 20;
        let weight = 100.0;
        workload.requests = Requests::Mix(vec![WeightedAction { action, weight }]);
        let text = text(&summary(&document(&record)));
        let line = text.lines().find(|line| line.starts_with("Split"));
        line.unwrap_or_default().to_owned()
    };
    let reads = "Split    reads of 25 MiB in 4 requests";
    assert_eq!(split(Action::CopyOut), reads);
    for action in [Action::CopyIn, Action::SaveOffice] {
        assert_eq!(split(action), reads.replace("reads", "writes"));
    }
    assert_eq!(split(Action::Echo), "");
}
