//! Texts for people.

mod cautions;
mod changes;
mod counters;
mod cpu;
mod csv;
mod in_flight;
mod jobs;
mod replay;
mod summary;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use smbench_formats::loadfile::{self, Unknown};
use smbench_model::Nanos;
use smbench_model::action::{Action, WeightedAction};
use smbench_model::kind::OpKind;
use smbench_model::record::{
    OperationFailure, Origin, Outcome, Phase, RecycleBin, ReplayDifference, RunRecord, ServerFacts,
};
use smbench_model::tree::{Tree, TreeShape, TreeUsed};
use smbench_model::workload::{Replay, Requests, Timing};
use smbench_protocol::NtStatus;
use smbench_report::doc::{LoopDoc, RunDoc};
use smbench_report::text::{height, recycled};
use smbench_report::{FlushDoc, render};

use crate::samples::{
    book, curve, document, dropped, metadata_plan, metadata_point, point, run, unwrapped,
};

/// Returns the report without its header, which one test shows completely.
pub(crate) fn body(text: &str) -> &str {
    text.split_once("\n\n").unwrap().1
}

#[test]
fn a_plain_run() {
    assert_snapshot!(render(&document(&curve())), @"
    run      2026-01-02T03:04:05Z, smbench 0.1.0, complete
    profile  file-server: 4 KiB to 64 KiB, sequential, 80 % reads, flush every 100 writes
    server   smb://bench@files.example/data, SMB 3.1.1, ntlm, signed (aes-128-cmac), not encrypted
    load     closed loop, 4 outstanding per client, 2 pinned threads, seed 42
    data     1 file of 1 MiB per client, 16 MiB on the share (cached by any server)
    window   10 s per load point, ramps of 2 s and 0.5 s excluded, 1 pass
    flushes  policy unknown (see server_flush)
    writes   policy unknown (see server_write)
    note     server and generator share this machine

    clients  Mbit/s  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
          1    16.4    501  1.26 ms  1.00 ms  2.00 ms  2.00 ms  30.0 ms  30.0 ms       0   99.8
          4    63.9   1951  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.6
          8    65.5   2001  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.0
         16    32.8   1001  1.23 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   50.0
    us/op: CPU time of smbench per operation, without the server's

    CPU of the server: not measured: the server is on another machine; give --server-metrics

    CPU of the generator: that of smbench itself
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          1        0.05       -   99.8             -            -
          4        0.05       -   25.6             -            -
          8        0.05       -   25.0             -            -
         16        0.05       -   50.0             -            -

    peak 65.5 Mbit/s (8.2 MB/s), 2001 ops/s at 8 clients; mean 1.21 ms, p99 2.00 ms; within 5 % from 4
      to 8 clients
    curve: overall response time 1.24 ms, from 501 to 2001 ops/s (3 uneven load points); rightmost valid
      load 16 clients, mean 1.23 ms

    operations at 8 clients
    op     count    share  Mbit/s     mean      p50      p95      p99      max  errors
    read   16000  79.96 %    52.4  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       0
    write   4000  19.99 %    13.1  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0
    flush     10   0.05 %       -  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms       0

    session setup: 16 sessions, 640 per second (with opening files)
    connect and log on: p50 5.00 ms, p99 5.00 ms, max 5.00 ms
    ");
}

/// The text of a suite about each finished load point.
#[test]
fn load_points_without_data_are_reported_in_operations() {
    let words = |record| {
        let doc = document(&record);
        height(&doc, doc.load_points.last().unwrap())
    };
    assert_eq!(words(run(vec![metadata_point(4, 150)])), "300 ops/s");
    assert_eq!(words(run(vec![point(4, 1, 1000)])), "41.0 Mbit/s");
    // A load point that moved no data, in a run that moves data.
    let stalled = run(vec![point(4, 1, 1000), metadata_point(8, 1)]);
    assert_eq!(words(stalled), "0.0 Mbit/s");
}

#[test]
fn a_mix_that_moves_no_data_peaks_in_operations() {
    let mut record = run(vec![
        metadata_point(1, 50),
        metadata_point(4, 150),
        metadata_point(8, 100),
    ]);
    record.plan = metadata_plan(&[1, 4, 8]);
    let text = render(&document(&record));
    let profile = text.lines().nth(1).unwrap();
    assert_eq!(
        profile,
        "profile  metadata: actions 50 % query_info, 50 % echo"
    );
    assert_snapshot!(body(&text), @"
    clients  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
          1    100  1.50 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0    500
          4    300  1.50 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0    167
          8    200  1.50 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0    250
    us/op: CPU time of smbench per operation, without the server's

    CPU of the server: not measured: the server is on another machine; give --server-metrics

    CPU of the generator: that of smbench itself
    clients  cores busy  of all  us/op  ops/s per %
          1        0.05       -    500            -
          4        0.05       -    167            -
          8        0.05       -    250            -

    peak 300 ops/s at 4 clients; mean 1.50 ms, p99 2.00 ms
    curve: no overall response time: operations per second are highest at 4 clients: fewer than 3 load
      points lead there; rightmost valid load 8 clients, mean 1.50 ms

    operations at 4 clients
    op          count  share  Mbit/s     mean      p50      p95      p99      max  errors
    query_file   1500   50 %       -  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0
    echo         1500   50 %       -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       0
    share: of requests; an action may be several requests

    session setup: 8 sessions, 320 per second (with opening files)
    connect and log on: p50 5.00 ms, p99 5.00 ms, max 5.00 ms
    ");
}

#[test]
fn several_passes_with_one_left_out() {
    let record = run(vec![
        point(8, 1, 1500),
        point(16, 1, 1600),
        point(8, 2, 1600),
        dropped(point(16, 2, 100), 5),
        point(8, 3, 1400),
        point(16, 3, 1560),
    ]);
    assert_snapshot!(body(&render(&document(&record))), @"
    clients  Mbit/s             ±  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
          8    61.4          10.2   1876  1.22 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   26.7
       ! 16    64.7  63.9 to 65.5   1976  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.3
    us/op: CPU time of smbench per operation, without the server's
    ±: 95 % confidence interval of the mean; latencies are over all passes
    `to`: lowest and highest pass, of two passes or if the interval reaches below 0
    ! 16 clients, pass 2: left out of the averages: 5 of 16 clients dropped out
      client 0: connection reset by the server
      client 1: connection reset by the server
      client 2: connection reset by the server
      and 2 others

    over passes: 95 % confidence intervals, or the lowest to the highest
    clients  passes        Mbit/s         ops/s                mean                p99
          8       3   61.4 ± 10.2    1876 ± 311   1.22 ms ± 2.54 us  2.00 ms ± 0.00 us
         16       2  63.9 to 65.5  1951 to 2001  1.21 ms to 1.21 ms  2.00 ms ± 0.00 us

    CPU of the server: not measured: the server is on another machine; give --server-metrics

    CPU of the generator: that of smbench itself
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          8        0.05       -   26.7             -            -
         16        0.05       -   25.3             -            -

    peak 64.7 (63.9 to 65.5) Mbit/s (8.1 MB/s), 1976 ops/s at 16 clients; mean 1.21 ms, p99 2.00 ms

    operations at 16 clients
    op     count    share  Mbit/s     mean      p50      p95      p99      max  errors
    read   31600  79.96 %    51.8  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       0
    write   7900  19.99 %    12.9  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0
    flush     20   0.05 %       -  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms       0

    session setup: 32 sessions, 640 per second (with opening files)
    connect and log on: p50 5.00 ms, p99 5.00 ms, max 5.00 ms
    ");
}

#[test]
fn a_recycle_bin_and_space_that_stays_taken_are_reported() {
    let mut record = run(vec![point(4, 1, 100)]);
    let bin = |path: &str, files_removed| RecycleBin {
        path: path.to_owned(),
        files_removed,
        bytes_removed: 4096 * files_removed,
        ..RecycleBin::default()
    };
    let unused = RecycleBin {
        files_unproven: 1,
        ..bin("@Recycle", 0)
    };
    record.recycle_bins = vec![bin(".recycle", 2), bin(r".recycle\ann", 1), unused];
    record.space_kept = Some("the space did not come back".to_owned());
    let doc = document(&record);
    let words = recycled(&doc).unwrap();
    assert!(
        words.contains(r"recycle bin (.recycle, .recycle\ann); each deletion"),
        "{words}"
    );
    assert!(
        words.ends_with("removed 3 files (12 KiB) from the bin"),
        "{words}"
    );
    let text = render(&doc);
    assert!(
        text.contains("left on the server: the space did not come back\n"),
        "{text}"
    );
    assert!(text.contains("deletions: the server moved"), "{text}");
    record.recycle_bins.clear();
    assert_eq!(recycled(&document(&record)), None);
}

#[test]
fn the_origin_of_a_tree_is_shown() {
    let mut record = run(vec![point(4, 1, 100)]);
    let line = |record: &RunRecord| {
        let text = render(&document(record));
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("tree "));
        line.map(str::to_owned)
    };
    assert_eq!(line(&record), None);
    for (tree, words) in [
        (TreeUsed::Prepared, "tree     prepared before the run"),
        (TreeUsed::Own { unused: None }, "tree     made by the run"),
    ] {
        record.server.tree = Some(tree);
        assert_eq!(line(&record).as_deref(), Some(words));
    }
}

#[test]
fn a_tree_that_clients_copy_is_described_by_its_files_and_bytes() {
    let mut record = run(vec![point(4, 1, 100)]);
    let shape = TreeShape {
        directories: 5,
        files: 100,
        ..TreeShape::default()
    };
    let workload = &mut record.plan.only_mut().workload;
    workload.files = Arc::new(Tree::new(shape).unwrap()).into();
    workload.sizes.clear();
    workload.requests = Requests::Mix(vec![WeightedAction {
        action: Action::CopyIn,
        weight: 100.0,
    }]);
    let data = |doc: &RunDoc| {
        let text = render(doc);
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("data "));
        line.unwrap_or_default().to_owned()
    };
    let mut doc = document(&record);
    assert_eq!(
        data(&doc),
        "data     100 files in a tree of 5 directories, 400 KiB, which each client copies to the share"
    );
    // An older document lacks the bytes.
    doc.plan.workload.tree.as_mut().unwrap().bytes = None;
    assert!(
        data(&doc).contains("5 directories, which"),
        "{}",
        data(&doc)
    );
    // Without a tree, the number of actions tells the files.
    doc.plan.workload.tree = None;
    (doc.plan.workload.file_bytes, doc.plan.count) = (4096, Some(100));
    assert_eq!(
        data(&doc),
        "data     100 files of 4 KiB, 400 KiB, which each client copies to the share"
    );
    doc.plan.count = None;
    assert_eq!(
        data(&doc),
        "data     files that clients copy to the share, each of 4 KiB"
    );
    // A walk of the folder of the URL makes nothing.
    let walk = &mut doc.plan.workload.operations[0];
    walk.op = "walk".to_owned();
    walk.parameters.insert("root".to_owned(), "target".into());
    assert_eq!(
        data(&doc),
        "data     reads what is in the folder of the URL, makes no files"
    );
    // A tree that is not copied is on the share, and its bytes are those of the share.
    record.plan.only_mut().workload.requests = Requests::Mix(vec![WeightedAction {
        action: Action::CopyOut,
        weight: 100.0,
    }]);
    let doc = document(&record);
    assert_eq!(doc.plan.workload.tree.as_ref().unwrap().bytes, None);
    assert!(
        data(&doc).contains("5 directories, 400 KiB on the share"),
        "{}",
        data(&doc)
    );
}

#[test]
fn failures_and_leftovers_are_spelled_out() {
    let mut failing = point(4, 1, 100);
    let full = OperationFailure::Status(NtStatus::DISK_FULL);
    book(&mut failing.ops, Phase::Window, |ops| {
        for _ in 0..3 {
            ops.failure(OpKind::Write, full);
        }
    });
    book(&mut failing.ops, Phase::Outside, |ops| {
        ops.failure(OpKind::Read, OperationFailure::WrongData);
    });
    failing.invalid = Some("4 of 1264 operations failed".to_owned());
    failing.credit_starved = Duration::from_millis(2500);
    let mut also = failing.clone();
    also.credit_starved = Duration::from_millis(200);
    also.clients = 2;
    also.held_back = Duration::from_millis(2400);
    let mut record = run(vec![also, failing]);
    record.leftover = Some("2 files in smbench-42".to_owned());
    record.outcome = Outcome::Aborted("server closed the connection".to_owned());
    let text = render(&document(&record));
    assert!(text.contains("aborted: server closed the connection"));
    assert_snapshot!(body(&text), @"
    clients  Mbit/s  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
        ! 2     4.1    126  1.43 ms  1.00 ms  2.00 ms  2.00 ms  30.0 ms  30.0 ms       4    397
        ! 4     4.1    126  1.43 ms  1.00 ms  2.00 ms  2.00 ms  30.0 ms  30.0 ms       4    397
    us/op: CPU time of smbench per operation, without the server's
    ! 2 clients, pass 1: not valid: 4 of 1264 operations failed
    ! 4 clients, pass 1: not valid: 4 of 1264 operations failed

    CPU of the server: not measured: the server is on another machine; give --server-metrics

    CPU of the generator: that of smbench itself
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          2        0.05       -    397             -            -
          4        0.05       -    397             -            -

    no peak: no load point is valid

    operations at 4 clients
    op      count      share   Mbit/s       mean        p50        p95        p99        max  errors
    read   ! 1000  ! 79.37 %    ! 3.3  ! 1.00 ms  ! 1.00 ms  ! 1.00 ms  ! 1.00 ms  ! 1.00 ms       1
    write   ! 250  ! 19.84 %  ! 0.819  ! 2.00 ms  ! 2.00 ms  ! 2.00 ms  ! 2.00 ms  ! 2.00 ms       3
    flush    ! 10   ! 0.79 %        -  ! 30.0 ms  ! 30.0 ms  ! 30.0 ms  ! 30.0 ms  ! 30.0 ms       0
    !: not valid

    session setup: 4 sessions, 160 per second (with opening files)
    connect and log on: p50 5.00 ms, p99 5.00 ms, max 5.00 ms

    failed: read, wrong-data: 2 times, at load points 2, 4
    failed: write, STATUS_DISK_FULL (0xC000007F): 6 times, at load points 2, 4
    left on the share: 2 files in smbench-42
    ");
}

#[test]
fn what_a_replay_saw_otherwise_is_reported_and_is_no_failure() {
    let text = "Mkdir \"\\a\" NT_STATUS_OK\nSMB2 9\nUnlink \"\\b\" 0x6 NT_STATUS_OK\n";
    let trace = loadfile::parse("my.txt", text.as_bytes(), Unknown::Skip).unwrap();
    let mut replayed = point(4, 1, 100);
    let difference = ReplayDifference {
        kind: OpKind::Mkdir,
        recorded: Some(NtStatus::SUCCESS),
        seen: OperationFailure::Status(NtStatus::OBJECT_NAME_COLLISION),
    };
    book(&mut replayed.ops, Phase::Window, |ops| {
        ops.difference(difference);
        ops.difference(difference);
    });
    book(&mut replayed.ops, Phase::Outside, |ops| {
        ops.difference(ReplayDifference {
            kind: OpKind::Read,
            seen: OperationFailure::Short,
            ..difference
        });
    });
    let mut record = run(vec![replayed]);
    record.plan.only_mut().workload.sizes.clear();
    record.plan.only_mut().workload.requests = Requests::Replay(Replay {
        recording: Arc::new(trace.into()),
        timing: Timing::Fast,
        speed: 1.0,
        loops: Some(1),
    });
    let doc = document(&record);
    let point = &doc.load_points[0];
    assert!(point.valid);
    assert_eq!((point.errors, point.failures.len()), (0, 0));
    assert!(!point.ops.contains_key("mkdir"));
    let words: Vec<_> = point.differences.iter().collect();
    assert_eq!(words.len(), 2);
    assert_eq!((words[1].op.as_str(), words[1].count), ("mkdir", 2));
    let replay = doc.plan.workload.replay.as_ref().unwrap();
    assert_eq!((replay.lines, replay.operations["Unlink"]), (3, 1));
    assert_eq!(replay.skipped["SMB2"], 1);
    let text = unwrapped(&render(&doc));
    for line in [
        "profile  file-server: replay of my.txt, 2 operations, 1 loop of each client, 1 line left out\n",
        "window   until all clients have ended, 10 s at most\n",
        "differs from the recording: mkdir, expected STATUS_SUCCESS, got STATUS_OBJECT_NAME_COLLISION: 2 times, at load points 4\n",
        "differs from the recording: read, expected STATUS_SUCCESS, got short: 1 time, at load points 4\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

/// At a rate the load point with the most arrivals is no peak.
#[test]
fn only_a_closed_loop_has_a_peak() {
    for (pacing, has_peak) in [
        (LoopDoc::Closed, true),
        (LoopDoc::Rate, false),
        (LoopDoc::Recorded, false),
    ] {
        let doc = RunDoc {
            pacing,
            ..document(&curve())
        };
        assert_eq!(render(&doc).contains("\npeak "), has_peak, "{pacing:?}");
    }
}

#[test]
fn a_run_without_load_points_says_so() {
    let mut record = run(Vec::new());
    record.outcome = Outcome::Interrupted;
    let text = render(&document(&record));
    assert!(text.contains("interrupted"));
    assert_eq!(body(&text), "no load point was measured\n");
}

#[test]
fn the_header_is_true_to_what_ran() {
    let mut record = run(vec![point(1, 1, 4), dropped(point(1, 2, 4), 1)]);
    record.plan.generator.threads = 8;
    let text = render(&document(&record));
    assert!(text.contains("complete, 1 of 2 load points not valid\n"));
    assert!(text.contains("outstanding per client, 1 pinned thread, seed"));
}

#[test]
fn what_others_brought_is_not_passed_off_as_the_plans() {
    let mut record = run(vec![point(1, 1, 4)]);
    record.operations = Origin::Own;
    let text = unwrapped(&render(&document(&record)));
    assert!(
        text.contains("seed 42, operations not the profile's\n"),
        "{text}"
    );
    record.driver = Origin::Own;
    record.server = ServerFacts::other("channel://store");
    let doc = document(&record);
    assert_eq!(doc.server.dialect, "none");
    let text = unwrapped(&render(&doc));
    for line in [
        "server   channel://store, not SMB\n",
        "seed 42, driver own, operations not the profile's\n",
        "data     that of a target that smbench does not know\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn the_report_fits_100_columns() {
    let slow = |repeat| {
        let mut slow = point(10_000, repeat, 20_000);
        book(&mut slow.ops, Phase::Window, |ops| {
            ops.success(OpKind::Read, 4096, Nanos(123_456_789));
        });
        dropped(slow, 1)
    };
    let record = run(vec![slow(1), slow(2)]);
    let text = render(&document(&record));
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}\n{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
}

#[test]
fn what_a_flush_means_is_reported_where_it_is_known_or_matters() {
    let words = |flush: Option<FlushDoc>, record: &RunRecord| {
        let mut doc = document(record);
        doc.server.flush = flush;
        let text = render(&doc);
        let line = text.lines().find_map(|line| line.strip_prefix("flushes  "));
        line.unwrap_or_default().to_owned()
    };
    let flushing = curve();
    let other = run(vec![metadata_point(1, 50)]);
    let honoured = "honoured: on stable storage before they are answered";
    let ignored = "ignored by the server";
    let unknown = "policy unknown (see server_flush)";
    for (flush, of_flushing, of_other) in [
        (Some(FlushDoc::Honours), honoured, honoured),
        (Some(FlushDoc::Ignores), ignored, ignored),
        (Some(FlushDoc::Unknown), unknown, ""),
        (None, "", ""),
    ] {
        assert_eq!(words(flush, &flushing), of_flushing);
        assert_eq!(words(flush, &other), of_other);
    }
}
