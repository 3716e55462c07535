//! Texts for people.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use smbench_formats::loadfile::{self, Unknown};
use smbench_model::Nanos;
use smbench_model::cpu::ServerCpuRecord;
use smbench_model::plan::{Replay, Requests, Timing};
use smbench_model::record::{
    Difference, Failure, LatencyNoise, LoadPointRecord, OpKind, Origin, Outcome, Phase, RunRecord,
    ServerFacts,
};
use smbench_protocol::NtStatus;
use smbench_report::doc::{LoadPointDoc, LoopDoc, MachineDoc, RunDoc};
use smbench_report::metric::Metric;
use smbench_report::text::height;
use smbench_report::{FlushDoc, render, text, write_csv};

use crate::samples::{
    book, curve, document, dropped, metadata_plan, metadata_point, on_a_busy_server, point, run,
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
    server   smb://bench@files.example/data, SMB 3.1.1, auth ntlm, signing aes-128-cmac, encryption off
    load     closed loop, 4 outstanding per client, 2 threads, seed 42
    data     1 file of 1 MiB per client, 16 MiB on the share (fits the cache of any server)
    window   10 s per load point, ramps of 2 s and 0.5 s excluded, 1 pass
    flushes  nobody has said whether the server honours them
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

    peak 65.5 Mbit/s at 8 clients, mean response 1.21 ms; within 95 % from 4 to 8 clients

    operations at 8 clients
    op     count    share  Mbit/s     mean      p50      p95      p99      max  errors
    read   16000  79.96 %    52.4  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       0
    write   4000  19.99 %    13.1  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0
    flush     10   0.05 %       -  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms       0

    set-up of 16 sessions, with all that their load needs: 640/s
    connecting and logging on took a session 5.00 ms (p50), 5.00 ms (p99), 5.00 ms at most
    ");
}

/// The text of a suite about each finished load point.
#[test]
fn load_points_without_data_are_told_in_operations() {
    let told = |record| {
        let doc = document(&record);
        height(&doc, doc.load_points.last().unwrap())
    };
    assert_eq!(told(run(vec![metadata_point(4, 150)])), "300 ops/s");
    assert_eq!(told(run(vec![point(4, 1, 1000)])), "41.0 Mbit/s");
    // A load point that moved no data, in a run that moves data.
    let stalled = run(vec![point(4, 1, 1000), metadata_point(8, 1)]);
    assert_eq!(told(stalled), "0.0 Mbit/s");
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
    assert_eq!(profile, "profile  metadata: 50 % query_info, 50 % echo");
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

    peak 300 ops/s at 4 clients, mean response 1.50 ms; no other load point within 95 %

    operations at 4 clients
    op          count  share  Mbit/s     mean      p50      p95      p99      max  errors
    query_file   1500   50 %       -  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0
    echo         1500   50 %       -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       0

    set-up of 8 sessions, with all that their load needs: 320/s
    connecting and logging on took a session 5.00 ms (p50), 5.00 ms (p99), 5.00 ms at most
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
    clients  Mbit/s    ±  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
          8    61.4  4.1   1876  1.22 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   26.7
       ! 16    64.7  1.2   1976  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.3
    us/op: CPU time of smbench per operation, without the server's
    ±: standard deviation over passes; latencies are over all passes
    ! 16 clients, pass 2: left out of the averages: 5 of 16 clients dropped out
      client 0: connection reset by the server
      client 1: connection reset by the server
      client 2: connection reset by the server
      and 2 others

    means over passes and their 95 % confidence intervals
    clients  passes       Mbit/s       ops/s               mean                p99
          8       3  61.4 ± 10.2  1876 ± 311  1.22 ms ± 2.55 us  2.00 ms ± 0.00 us
         16       2  64.7 ± 10.4  1976 ± 318  1.21 ms ± 2.34 us  2.00 ms ± 0.00 us

    CPU of the server: not measured: the server is on another machine; give --server-metrics

    CPU of the generator: that of smbench itself
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          8        0.05       -   26.7             -            -
         16        0.05       -   25.3             -            -

    peak 64.7 Mbit/s at 16 clients, mean response 1.21 ms; no other load point within 95 %

    operations at 16 clients
    op     count    share  Mbit/s     mean      p50      p95      p99      max  errors
    read   31600  79.96 %    51.8  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       0
    write   7900  19.99 %    12.9  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       0
    flush     20   0.05 %       -  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms       0

    set-up of 32 sessions, with all that their load needs: 640/s
    connecting and logging on took a session 5.00 ms (p50), 5.00 ms (p99), 5.00 ms at most
    ");
}

#[test]
fn failures_and_leftovers_are_spelled_out() {
    let mut failing = point(4, 1, 100);
    let full = Failure::Status(NtStatus::DISK_FULL);
    book(&mut failing.ops, Phase::Window, |ops| {
        for _ in 0..3 {
            ops.failure(OpKind::Write, full);
        }
    });
    book(&mut failing.ops, Phase::Outside, |ops| {
        ops.failure(OpKind::Read, Failure::WrongData);
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

    operations at ! 4 clients
    op     count    share  Mbit/s     mean      p50      p95      p99      max  errors
    read    1000  79.37 %     3.3  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms       1
    write    250  19.84 %   0.819  2.00 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms       3
    flush     10   0.79 %       -  30.0 ms  30.0 ms  30.0 ms  30.0 ms  30.0 ms       0
    !: not valid

    set-up of 4 sessions, with all that their load needs: 160/s
    connecting and logging on took a session 5.00 ms (p50), 5.00 ms (p99), 5.00 ms at most

    failed: read, wrong-data: 2 times, at load points 2, 4
    failed: write, STATUS_DISK_FULL (0xC000007F): 6 times, at load points 2, 4
    left on the share: 2 files in smbench-42
    ");
}

#[test]
fn what_a_replay_saw_otherwise_is_told_and_is_no_failure() {
    let text = "Mkdir \"\\a\" NT_STATUS_OK\nSMB2 9\nUnlink \"\\b\" 0x6 NT_STATUS_OK\n";
    let trace = loadfile::parse("my.txt", text.as_bytes(), Unknown::Skip).unwrap();
    let mut replayed = point(4, 1, 100);
    let difference = Difference {
        kind: OpKind::Mkdir,
        recorded: Some(NtStatus::SUCCESS),
        seen: Failure::Status(NtStatus::OBJECT_NAME_COLLISION),
    };
    book(&mut replayed.ops, Phase::Window, |ops| {
        ops.difference(difference);
        ops.difference(difference);
    });
    book(&mut replayed.ops, Phase::Outside, |ops| {
        ops.difference(Difference {
            kind: OpKind::Read,
            seen: Failure::Short,
            ..difference
        });
    });
    let mut record = run(vec![replayed]);
    record.plan.work.workload.sizes.clear();
    record.plan.work.workload.requests = Requests::Replay(Replay {
        trace: Arc::new(trace),
        timing: Timing::Fast,
        loops: Some(1),
    });
    let doc = document(&record);
    let point = &doc.load_points[0];
    assert!(point.valid);
    assert_eq!((point.errors, point.failures.len()), (0, 0));
    assert!(!point.ops.contains_key("mkdir"));
    let told: Vec<_> = point.differences.iter().collect();
    assert_eq!(told.len(), 2);
    assert_eq!((told[1].op.as_str(), told[1].count), ("mkdir", 2));
    let replay = doc.plan.workload.replay.as_ref().unwrap();
    assert_eq!((replay.lines, replay.operations["Unlink"]), (3, 1));
    assert_eq!(replay.skipped["SMB2"], 1);
    let text = render(&doc);
    for line in [
        "profile  file-server: replay of my.txt, 2 operations, 1 loop of each client, 1 line left out\n",
        "window   until all clients have ended, 10 s at most\n",
        "not as recorded: mkdir, STATUS_SUCCESS -> STATUS_OBJECT_NAME_COLLISION: 2 times, at load points 4\n",
        "not as recorded: read, STATUS_SUCCESS -> short: 1 time, at load points 4\n",
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
    assert!(text.contains("outstanding per client, 1 thread, seed"));
}

#[test]
fn what_others_brought_is_not_passed_off_as_the_plans() {
    let mut record = run(vec![point(1, 1, 4)]);
    record.operations = Origin::Own;
    let text = render(&document(&record));
    assert!(
        text.contains("seed 42, operations not the profile's\n"),
        "{text}"
    );
    record.driver = Origin::Own;
    record.server = ServerFacts::other("channel://store");
    let doc = document(&record);
    assert_eq!(doc.server.dialect, "none");
    let text = render(&doc);
    for line in [
        "server   channel://store, not SMB\n",
        "seed 42, driver own, operations not the profile's\n",
        "data     that of a target that smbench does not know\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn csv_counts_errors_of_the_ramps() {
    let mut failing = point(1, 1, 4);
    book(&mut failing.ops, Phase::Outside, |ops| {
        ops.failure(OpKind::Flush, Failure::Short);
    });
    let mut written = Vec::new();
    write_csv(&document(&run(vec![failing])), &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let errors: Vec<_> = written
        .lines()
        .map(|line| line.split(',').nth(7).unwrap())
        .collect();
    assert_eq!(errors, ["errors", "1", "1", "0", "0"]);
}

/// Final flushes come after the window, so a rate over the window's length would be
/// wrong.
#[test]
fn flushes_at_the_end_have_latencies_but_no_rate() {
    let mut flushing = point(1, 1, 4);
    book(&mut flushing.ops, Phase::Outside, |ops| {
        ops.success(OpKind::FinalFlush, 0, Nanos(1_000_000));
    });
    let doc = document(&run(vec![flushing]));
    let mut written = Vec::new();
    write_csv(&doc, &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let mut rows = written.lines().map(|line| line.split(',').collect());
    let row: Vec<_> = rows.find(|row: &Vec<_>| row[4] == "final_flush").unwrap();
    assert_eq!((row[5], row[8], row[9]), ("1", "", ""), "{row:?}");
    assert!(!row[10].is_empty(), "{row:?}");
    let measured = |metric: Metric, op| metric.measured(&[&doc.load_points[0]], Some(op));
    assert!(measured(Metric::Operations, "flush").is_some());
    assert!(measured(Metric::Operations, "final_flush").is_none());
    assert!(measured(Metric::Mean, "final_flush").is_some());
}

#[test]
fn a_busy_generator_is_named_where_nobody_has_judged_it() {
    let mut idle = point(4, 1, 100);
    idle.client.cpu_user = Duration::from_secs(9);
    idle.client.cpu_system = Duration::from_secs(7);
    let mut busy = point(8, 1, 100);
    busy.client.cpu_user = Duration::from_secs(9);
    busy.client.cpu_system = Duration::from_secs(10);
    let mut doc = document(&run(vec![idle, busy]));
    for point in &mut doc.load_points {
        point.generator = None;
    }
    let text = render(&doc);
    let caution = "client-limited at 8 clients: smbench used 95 % of the time of its 2 threads\n";
    assert!(text.contains(caution), "{text}");
    assert_eq!(text.matches("client-limited").count(), 1, "{text}");
}

/// The tables name the CPUs, the number of cores, and the work done per CPU time.
#[test]
fn cpu_of_server_and_generator_have_the_same_columns() {
    let mut doc = document(&run(vec![on_a_busy_server(point(1, 1, 400))]));
    doc.machine = Some(MachineDoc {
        cpus: Some(2),
        ..MachineDoc::default()
    });
    let text = render(&doc);
    let of = text.split_once("\nCPU of the server: ").unwrap().1;
    let of = of.split_once("\n\npeak ").unwrap().0;
    assert_snapshot!(of, @"
    all that its machine did, as told by http://files.example:9100/metrics; 4 cores
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          1        1.00  25.0 %   1996          0.66         20.0

    CPU of the generator: that of smbench itself; 2 cores
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          1        0.05   2.5 %   99.8          6.55          200
    ");
}

#[test]
fn a_client_limited_load_point_is_marked_and_explained_once() {
    let reason = "thread 0 ran 97 % of the time; add threads or machines";
    let limited = |clients, repeat| {
        let mut limited = point(clients, repeat, 1600);
        limited.generator.limited = Some(reason.to_owned());
        limited
    };
    let mut invalid = dropped(point(32, 1, 100), 1);
    invalid.generator.limited = Some(reason.to_owned());
    let text = render(&document(&run(vec![
        point(8, 1, 1500),
        limited(16, 1),
        limited(24, 1),
        invalid,
    ])));
    let table: Vec<_> = body(&text).lines().take(9).collect();
    assert_snapshot!(table.join("\n"), @"
    clients  Mbit/s  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
          8    61.4   1876  1.22 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   26.7
       ~ 16    65.5   2001  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.0
       ~ 24    65.5   2001  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.0
       ! 32     4.1    126  1.43 ms  1.00 ms  2.00 ms  2.00 ms  30.0 ms  30.0 ms       0    397
    us/op: CPU time of smbench per operation, without the server's
    ~: client-limited, the throughput is not to be trusted
    ! 32 clients, pass 1: not valid: 1 of 32 clients dropped out
      client 0: connection reset by the server
    ");
    assert_eq!(text.matches("client-limited at").count(), 1, "{text}");
    assert!(text.contains("\nclient-limited at 16, 24 clients: at 24, thread 0 ran 97 %"));
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

/// Late answers affect only percentiles, and a local server takes CPU time.
/// Throughput stays valid in both cases, so no row is marked.
#[test]
fn what_leaves_throughput_alone_is_said_once_and_marks_no_row() {
    let shared = "thread 0 lacked a CPU 67 % of the time; the server had it";
    let blurred = |clients, repeat, late_us: u64| {
        let mut point = point(clients, repeat, 1600);
        point.generator.shared_cpus = Some(shared.to_owned());
        point.generator.latency_noise = vec![
            LatencyNoise {
                quantile: 0.95,
                late: Nanos(late_us * 1000),
            },
            LatencyNoise {
                quantile: 0.999,
                late: Nanos(late_us * 3000),
            },
        ];
        point
    };
    let doc = document(&run(vec![
        point(1, 1, 500),
        blurred(4, 1, 200),
        blurred(8, 1, 400),
        blurred(16, 1, 300),
        point(1, 2, 500),
        blurred(4, 2, 200),
        point(8, 2, 400),
        blurred(16, 2, 300),
    ]));
    assert_eq!(
        text::cautions(&doc),
        [
            "latency noise at 4 to 16 clients: at 8, p95 may be 400 us too high, p99.9 1.20 ms",
            "shared CPUs at 4 to 16 clients: at 16, thread 0 lacked a CPU 67 % of the time; the \
             server had it",
        ]
    );
    assert!(!render(&doc).contains('~'));
    let json: serde_json::Value = serde_json::from_str(&doc.to_json()).unwrap();
    let second = &json["load_points"][1];
    assert_eq!(second["generator_limited"], false);
    assert_eq!(second["generator"]["shared_cpus"], shared);
    assert_eq!(
        second["latency_noise_ns"],
        serde_json::json!({"p95": 200_000, "p999": 600_000})
    );
    assert!(json["load_points"][0].get("latency_noise_ns").is_none());
}

#[test]
fn cautions_take_three_lines_whatever_the_number_of_load_points() {
    let doubtful = |clients| {
        let mut doubtful = point(clients, 1, 1600);
        let waited = "thread 10 lacked a CPU 100 % of the time; cause unknown";
        doubtful.generator.shared_cpus = Some(waited.to_owned());
        let noise = |quantile| LatencyNoise {
            quantile,
            late: Nanos(400_000_000),
        };
        doubtful.generator.latency_noise = vec![noise(0.99), noise(0.999)];
        doubtful.held_back = Duration::from_secs(u64::from(clients));
        doubtful.credit_starved = Duration::from_secs(u64::from(clients));
        doubtful
    };
    let text = render(&document(&run((1..=16)
        .chain([20])
        .map(doubtful)
        .collect())));
    let cautions = text.split_once("\npeak ").unwrap().1;
    let cautions = cautions.split_once("\n\n").unwrap().0;
    let cautions: Vec<_> = cautions.lines().skip(1).collect();
    assert_snapshot!(cautions.join("\n"), @"
    latency noise at all load points: at 20, p99 may be 400 ms too high, p99.9 400 ms
    shared CPUs at all load points: at 20, thread 10 lacked a CPU 100 % of the time; cause unknown
    also held back, starved of credits: the result has the load points
    ");
}

#[test]
fn a_stall_at_the_end_of_the_window_marks_its_row() {
    let mut stalled = point(8, 1, 1600);
    stalled.punctuality.unanswered = 8;
    stalled.punctuality.unanswered_max = Nanos(1_500_000_000);
    stalled.punctuality.in_flight_max = Nanos(1_500_000_000);
    let mut healthy = point(4, 1, 1600);
    healthy.punctuality.unanswered = 4;
    // Longer than p99.9, as requests in flight often are, but not than the longest.
    healthy.punctuality.unanswered_max = Nanos(40_000_000);
    healthy.punctuality.in_flight_max = Nanos(40_000_000);
    let doc = document(&run(vec![healthy, stalled]));
    let flags: Vec<_> = doc.load_points.iter().map(|point| point.stalled).collect();
    assert_eq!(flags, [Some(false), Some(true)]);
    let text = render(&doc);
    let table: Vec<_> = body(&text).lines().take(5).collect();
    assert_snapshot!(table.join("\n"), @"
    clients  Mbit/s  ops/s     mean      p50      p95      p99    p99.9      max  errors  us/op
          4    65.5   2001  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.0
        * 8    65.5   2001  1.21 ms  1.00 ms  2.00 ms  2.00 ms  2.00 ms  30.0 ms       0   25.0
    us/op: CPU time of smbench per operation, without the server's
    *: stalled at the end of the window, the latencies miss it
    ");
    assert!(text.contains(
        "\nstalled at 8 clients: a request in flight when the window closed took 1.50 s\n"
    ));
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
fn csv_has_a_row_per_point_and_operation() {
    let mut written = Vec::new();
    let mut doc = document(&run(vec![on_a_busy_server(point(8, 1, 1600))]));
    doc.machine = Some(MachineDoc {
        cpus: Some(2),
        ..MachineDoc::default()
    });
    write_csv(&doc, &mut written).unwrap();
    assert_snapshot!(String::from_utf8(written).unwrap(), @"
    clients,repeat,valid,window_s,op,count,bytes,errors,throughput_mbps,ops_per_s,response_mean_ns,response_min_ns,response_max_ns,response_p50_ns,response_p90_ns,response_p95_ns,response_p99_ns,response_p999_ns,client_cpu_us_per_op,client_max_rss_bytes,client_cpu_cores,client_cpu_percent,client_mbps_per_percent,client_ops_per_s_per_percent,server_cpu_scope,server_cpu_cores,server_cpu_percent,server_cpu_us_per_op,server_mbps_per_percent,server_ops_per_s_per_percent
    8,1,true,10,all,20010,81920000,0,65.536,2001,1214626.7346326837,999936,30015487,1000447,2000895,2000895,2000895,2000895,24.987506246876563,50331648,2,2.5,26.2144,800.4,machine,4,25,499.7501249375312,2.62144,80.04
    8,1,true,10,flush,10,0,0,0,1,30007296,29999104,30015487,30015487,30015487,30015487,30015487,30015487,,,,,,,,,,,,
    8,1,true,10,read,16000,65536000,0,52.4288,1600,1000192,999936,1000447,1000447,1000447,1000447,1000447,1000447,,,,,,,,,,,,
    8,1,true,10,write,4000,16384000,0,13.1072,400,2000384,1999872,2000895,2000895,2000895,2000895,2000895,2000895,,,,,,,,,,,,
    ");
}

#[test]
fn cpu_of_the_server_is_told_with_what_it_bought() {
    let measured = on_a_busy_server(point(4, 1, 400));
    let lost = LoadPointRecord {
        server_cpu: ServerCpuRecord {
            used: Err("it did not answer: timeout".to_owned()),
            ..measured.server_cpu.clone()
        },
        ..on_a_busy_server(point(8, 1, 400))
    };
    let text = render(&document(&run(vec![measured, lost])));
    let section = text
        .split("\n\n")
        .find(|section| section.starts_with("CPU of the server"));
    assert_snapshot!(section.unwrap(), @"
    CPU of the server: all that its machine did, as told by http://files.example:9100/metrics; 4 cores
    clients  cores busy  of all  us/op  Mbit/s per %  ops/s per %
          4        1.00  25.0 %   1996          0.66         20.0
          8           -       -      -             -            -
    -: not measured: it did not answer: timeout
    ");
}

#[test]
fn what_a_flush_means_is_told_where_it_is_known_or_matters() {
    let told = |flush: Option<FlushDoc>, record: &RunRecord| {
        let mut doc = document(record);
        doc.server.flush = flush;
        let text = render(&doc);
        let line = text.lines().find_map(|line| line.strip_prefix("flushes  "));
        line.unwrap_or_default().to_owned()
    };
    let flushing = curve();
    let other = run(vec![metadata_point(1, 50)]);
    let honoured = "honoured: on stable storage before they are answered";
    let ignored = "ignored: answered without writing";
    let unknown = "nobody has said whether the server honours them";
    for (flush, of_flushing, of_other) in [
        (Some(FlushDoc::Honours), honoured, honoured),
        (Some(FlushDoc::Ignores), ignored, ignored),
        (Some(FlushDoc::Unknown), unknown, ""),
        (None, "", ""),
    ] {
        assert_eq!(told(flush, &flushing), of_flushing);
        assert_eq!(told(flush, &other), of_other);
    }
}

/// Releases before stalls were judged had one verdict for three findings.
#[test]
fn the_verdict_of_an_older_release_is_read_for_what_it_meant() {
    let with = |clients, reason: &str| {
        let mut point = point(clients, 1, 1600);
        point.generator.limited = Some(reason.to_owned());
        point
    };
    let mut doc = document(&run(vec![
        with(
            4,
            "one event in a hundred was seen 599 us late or more, beside a median",
        ),
        with(
            8,
            "thread 0 used a CPU 27 % of the time, waited for one 67 %: the server here shares them",
        ),
        with(
            16,
            "thread 0 used a CPU 97 % of the time: give it more threads, CPUs or machines",
        ),
    ]));
    for point in &mut doc.load_points {
        point.stalled = None;
    }
    let limited: Vec<_> = doc
        .load_points
        .iter()
        .map(LoadPointDoc::is_client_limited)
        .collect();
    assert_eq!(limited, [false, false, true]);
    let names: Vec<_> = text::cautions(&doc)
        .iter()
        .map(|line| line.split_once(':').unwrap().0.to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "client-limited at 16 clients",
            "latency noise at 4 clients",
            "shared CPUs at 8 clients"
        ]
    );
}

/// What is wrong with a load point that is not valid is said beside it.
#[test]
fn cautions_are_about_valid_load_points() {
    let mut limited = dropped(point(16, 1, 1600), 1);
    limited.generator.limited = Some("thread 0 ran 97 % of the time".to_owned());
    limited.held_back = Duration::from_secs(100);
    let doc = document(&run(vec![point(4, 1, 1600), limited]));
    assert_eq!(text::cautions(&doc), Vec::<String>::new());
}
