//! The report of a `fileio` test: the published figures of sysbench, and figures
//! that sysbench lacks.

use std::iter;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::fileio::{FileOrigin, Fileio, Flushing, RequestSpread, TestMode};
use smbench_model::kind::OpKind;
use smbench_model::record::{Fairness, Phase, Recorder, RunRecord, Tally};
use smbench_model::units::Size;
use smbench_model::workload::Requests;
use smbench_report::fileio::{Interim, Shown, report};

use crate::samples::{book, document, on_a_busy_server, point, run};

const BLOCK: u64 = 16_384;

/// Returns the options that all tests here use.
fn shown() -> Shown {
    Shown {
        percentiles: vec![95.0],
        histogram: false,
    }
}

/// Returns a run of `rndrw` by one session in a window of this length, with the
/// operations that `book_all` records and this number of events.
fn tested(
    flushing: Flushing,
    window: Duration,
    events: u64,
    book_all: impl FnOnce(&mut Recorder),
) -> RunRecord {
    let mut ops = Tally::default();
    book(&mut ops, Phase::Window, book_all);
    let mut fairness = Fairness::default();
    fairness.add(events, window.into());
    let mut measured = point(1, 1, 1);
    measured.ops = ops;
    measured.fairness = fairness;
    measured.window = window;
    measured.drain = Duration::ZERO;
    let mut run = run(vec![measured]);
    run.plan.only_mut().workload.files.count = 128;
    run.plan.only_mut().workload.files.size = 40 << 20;
    run.plan.only_mut().workload.requests = Requests::Fileio(Fileio {
        mode: TestMode::RndRw,
        files: 128,
        total: Size(5 << 30),
        block: Size(BLOCK),
        merged: 0,
        flushing,
        rw_ratio: 1.5,
        spread: RequestSpread::Uniform,
        events: None,
        time: Some(Duration::from_secs(300)),
        home: FileOrigin::Prepared,
    });
    run
}

fn ns(ms: f64) -> Nanos {
    Nanos((ms * 1e6) as u64)
}

/// A published run: reads, writes and flushes, and the latencies of reads and
/// writes. Sysbench 0.4 times only those two.
struct Published {
    counts: [u64; 3],
    window: Duration,
    /// Mean, longest and 95th percentile, in milliseconds; the shortest is 0.00.
    latency_ms: [f64; 3],
    /// The printed lines, without latencies.
    lines: [&'static str; 12],
}

/// The two published runs of sysbench 0.4.12, on a physical and on a virtual
/// server: 5 GB in 128 files, 300 s. Rates by kind and the number of events follow
/// release 1.0, which prints no requests per second.
const PUBLISHED: [Published; 2] = [
    Published {
        counts: [13_736, 9157, 29_184],
        window: Duration::from_secs(300),
        latency_ms: [8.36, 226.02, 26.28],
        lines: [
            "128 files, 40 MiB each",
            "5 GiB total file size",
            "    reads/s:                      45.79",
            "    writes/s:                     30.52",
            "    fsyncs/s:                     97.28",
            "    read, MiB/s:                  0.72",
            "    written, MiB/s:               0.48",
            "    total time:                          300.0000s",
            "    total number of events:              52077",
            "Operations performed:  13736 Read, 9157 Write, 29184 Other = 52077 Total",
            "Read 214.62 MiB  Written 143.08 MiB  Total transferred 357.7 MiB  (1.1923 MiB/sec)",
            "   76.31 Requests/sec executed",
        ],
    },
    Published {
        counts: [87_491, 58_327, 186_624],
        window: Duration::from_millis(300_006),
        latency_ms: [1.80, 415.03, 8.66],
        lines: [
            "128 files, 40 MiB each",
            "5 GiB total file size",
            "    reads/s:                      291.63",
            "    writes/s:                     194.42",
            "    fsyncs/s:                     622.07",
            "    read, MiB/s:                  4.56",
            "    written, MiB/s:               3.04",
            "    total time:                          300.0060s",
            "    total number of events:              332442",
            "Operations performed:  87491 Read, 58327 Write, 186624 Other = 332442 Total",
            "Read 1.335 GiB  Written 911.36 MiB  Total transferred 2.225 GiB  (7.5945 MiB/sec)",
            "  486.05 Requests/sec executed",
        ],
    },
];

/// Returns reads and writes with these counts, which have these latencies together.
/// Some take almost no time, and most take the 95th percentile. Those beyond it
/// take 1.5 times as long, one of them the longest latency. Flushes take the rest
/// of the window, because the single session waits for them as well.
fn published(run: &Published) -> RunRecord {
    let [reads, writes, flushes] = run.counts;
    let [mean, longest, p95] = run.latency_ms;
    let requests = reads + writes;
    let (quickest, beyond) = (0.002, p95 * 1.5);
    let slow = requests - (requests * 95).div_ceil(100);
    let all = mean * requests as f64;
    let left = all - longest - (slow - 1) as f64 * beyond;
    let left = left - (requests - slow) as f64 * quickest;
    let at_p95 = (left / (p95 - quickest)) as u64;
    let flush = (run.window.as_secs_f64() * 1e3 - all) / flushes as f64;
    let latencies = [
        (longest, 1),
        (beyond, slow - 1),
        (p95, at_p95),
        (quickest, requests - slow - at_p95),
    ];
    let mut latencies = latencies
        .into_iter()
        .flat_map(|(ms, count)| iter::repeat_n(ns(ms), count as usize));
    tested(
        Flushing::Sets {
            every: Some(100),
            at_end: true,
        },
        run.window,
        requests + flushes,
        |recorder| {
            for (kind, count) in [(OpKind::Read, reads), (OpKind::Write, writes)] {
                for latency in latencies.by_ref().take(count as usize) {
                    recorder.success(kind, BLOCK as u32, latency);
                }
            }
            for _ in 0..flushes {
                recorder.success(OpKind::Flush, 0, ns(flush));
            }
        },
    )
}

/// Returns the figure at the end of the first line with this label.
fn figure(text: &str, label: &str) -> f64 {
    let line = text.lines().find(|line| line.trim().starts_with(label));
    let last = line.and_then(|line| line.split_whitespace().next_back());
    last.unwrap().parse().unwrap()
}

/// Returns the line of this operation: count, shortest, mean, 95th percentile,
/// longest.
fn by_operation(text: &str, name: &str) -> Vec<f64> {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("Latency by operation"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|line| line.first() == Some(&name)).unwrap();
    let numbers = line[1..].iter().map(|word| word.parse().unwrap());
    numbers.collect()
}

/// Compares two figures with a tolerance, because histograms keep three digits.
fn is_about(found: f64, published: f64) -> bool {
    (found - published).abs() <= published / 1000.0 + 0.005
}

#[test]
fn published_figures_come_out_where_sysbench_has_them() {
    for run in &PUBLISHED {
        let text = report(&document(&published(run)), &shown()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        for line in run.lines {
            assert!(lines.contains(&line), "{line:?} is missing: {text}");
        }
        let [reads, writes, flushes] = run.counts;
        let [mean, longest, p95] = run.latency_ms;
        let mut words = lines.iter();
        let words = words.find(|line| line.starts_with("Per request (ms): "));
        let words = words.unwrap().split([' ', ',']);
        let words: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let expected = [0.0, mean, longest, p95];
        assert_eq!(words.len(), expected.len(), "{text}");
        for (found, published) in words.into_iter().zip(expected) {
            assert!(is_about(found, published), "{found} {published}: {text}");
        }
        let [read, write, fsync] =
            ["read", "write", "fsync"].map(|operation| by_operation(&text, operation));
        assert_eq!(
            [read[0], write[0], fsync[0]],
            run.counts.map(|count| count as f64)
        );
        let pooled = (read[0] * read[2] + write[0] * write[2]) / (read[0] + write[0]);
        assert!(is_about(pooled, mean), "{pooled}: {text}");
        assert_eq!(read[1].min(write[1]), 0.0);
        assert!(is_about(read[4].max(write[4]), longest), "{text}");
        // The latencies of all events fill the whole time.
        let all = figure(&text, "sum:") / (run.window.as_secs_f64() * 1e3);
        assert!((all - 1.0).abs() < 1e-3, "{all}: {text}");
        let events = reads + writes + flushes;
        let fairness = format!("    events (avg/stddev):           {events}.0000/0.00");
        assert!(lines.contains(&&*fairness), "{text}");
    }
}

/// Records four writes of 2 ms, each with an fsync that takes ten times as long.
fn flushed(recorder: &mut Recorder) {
    for _ in 0..4 {
        recorder.success(OpKind::Write, BLOCK as u32, ns(2.0));
        recorder.success(OpKind::Flush, 0, ns(20.0));
    }
}

#[test]
fn a_write_and_its_own_fsync_are_one_event_of_two_latencies() {
    let run = tested(Flushing::EachWrite, Duration::from_secs(1), 8, flushed);
    let shown = Shown {
        histogram: true,
        ..shown()
    };
    let text = report(&document(&run), &shown).unwrap();
    let block = |title: &str| {
        let lines = text.lines().skip_while(|line| *line != title);
        let block: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        block[1..].join("\n")
    };
    let requests = block("Request latency (ms):");
    let fsyncs = block("fsync latency (ms):");
    for (block, ms) in [(&requests, 2.0), (&fsyncs, 20.0)] {
        for (label, expected) in [
            ("min:", ms),
            ("avg:", ms),
            ("max:", ms),
            ("95th percentile:", ms),
            ("sum:", 4.0 * ms),
        ] {
            let found = figure(block, label);
            assert!(
                (found / expected - 1.0).abs() < 2e-3,
                "{label} {found}: {text}"
            );
        }
    }
    // This line comes before the figures. No line has sysbench's name for the
    // latency of the whole event.
    assert!(
        text.contains(
            "with it an event took 22.00 ms on average\nRequest latency (ms):\n         min:"
        ),
        "{text}"
    );
    for name in ["\nLatency (ms)", "\nLatency histogram", "\nPer request"] {
        assert!(!text.contains(name), "{text}");
    }
    assert_eq!(figure(&text, "total number of events:"), 4.0);
    for title in ["Request latency histogram", "fsync latency histogram"] {
        let bins = block(&format!("{title} (values are in milliseconds)"));
        let bins: Vec<_> = bins.lines().skip(1).collect();
        assert!(bins.len() == 1 && bins[0].ends_with("* 4"), "{bins:?}");
    }
}

/// Requests that end after the time are not counted, but the test waits for them.
#[test]
fn total_time_lasts_until_the_last_flush() {
    let mut run = tested(Flushing::EachWrite, Duration::from_secs(10), 8, flushed);
    let point = &mut run.load_points[0];
    point.drain = Duration::from_millis(1500);
    point.final_flush = Some(Duration::from_millis(500));
    book(&mut point.ops, Phase::Outside, |ops| {
        for _ in 0..2 {
            ops.success(OpKind::FinalFlush, 0, ns(20.0));
        }
    });
    let text = report(&document(&run), &shown()).unwrap();
    for line in [
        "    total time:                          12.0000s",
        // Four fsyncs and two final ones over the whole time.
        "    fsyncs/s:                     0.50",
        // Four writes over the time without the wait.
        "    writes/s:                     0.38",
        "    0.38 Requests/sec executed",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?}: {text}");
    }
}

/// After a warm-up, more events end in the window than were asked for.
#[test]
fn what_a_limit_on_events_counts_is_reported_where_there_was_a_warm_up() {
    let mut run = tested(Flushing::EachWrite, Duration::from_secs(1), 8, flushed);
    if let Requests::Fileio(test) = &mut run.plan.only_mut().workload.requests {
        test.events = Some(100);
    }
    let words = |run: &RunRecord| {
        let text = report(&document(run), &shown()).unwrap();
        text.contains(
            "\nEvents begun after the warm-up: at most 100, beside those under way when it ended.\n",
        )
    };
    assert!(words(&run));
    run.plan.work.ramp_up = Duration::ZERO;
    assert!(!words(&run));
}

#[test]
fn cpu_of_server_and_generator_is_reported() {
    let mut run = tested(Flushing::EachWrite, Duration::from_secs(1), 8, flushed);
    let text = |run: &RunRecord| report(&document(run), &shown()).unwrap();
    assert!(text(&run).contains("\nCPU of the server: not measured: the server is on another"));
    run.load_points = run.load_points.into_iter().map(on_a_busy_server).collect();
    let text = text(&run);
    for (whose, figures) in [
        // 10 s and 0.5 s of CPU for 8 operations in a second.
        (
            "server: all that its machine did",
            ["10.00", "250.0 %", "1250000"],
        ),
        ("generator: that of smbench itself", ["0.50", "-", "62500"]),
    ] {
        let title = format!("CPU of the {whose}");
        let mut lines = text.lines().skip_while(|line| !line.starts_with(&title));
        let row: Vec<_> = lines.nth(2).unwrap().split("  ").map(str::trim).collect();
        let row: Vec<_> = row.into_iter().filter(|cell| !cell.is_empty()).collect();
        assert_eq!(row[..4], [&["1"][..], &figures].concat(), "{text}");
    }
}

#[test]
fn interim_figures_keep_fsyncs_apart_where_each_write_has_its_own() {
    let mut recorder = Recorder::default();
    flushed(&mut recorder);
    let line = |flushing| {
        let mut interim = Interim::new(flushing);
        interim.add(&recorder, 1.0);
        interim.line(1.0, &[50.0])
    };
    assert_eq!(
        line(Flushing::EachWrite),
        "[ 1s ] reads: 0.00 MiB/s writes: 0.06 MiB/s fsyncs: 4.00/s request (ms,50%): 2.001 \
         fsync (ms,50%): 20.005\n"
    );
    let sets = Flushing::Sets {
        every: None,
        at_end: true,
    };
    assert!(line(sets).ends_with("latency (ms,50%): 2.001\n"));
    // The columns are the same if nothing completed.
    let nothing = Interim::new(Flushing::EachWrite);
    let line = nothing.line(1.0, &[50.0]);
    assert!(
        line.ends_with("/s request (ms,50%): 0.000 fsync (ms,50%): 0.000\n"),
        "{line}"
    );
    assert!(nothing.line(1.0, &[]).ends_with("fsyncs: 0.00/s\n"));
}
