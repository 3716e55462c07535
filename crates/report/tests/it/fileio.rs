//! The report of a `fileio` test: what sysbench does not tell apart.

use std::time::Duration;

use smbench_engine::clock::Nanos;
use smbench_engine::fileio::{Fileio, Flushing, Home, Spread, TestMode};
use smbench_engine::plan::Requests;
use smbench_engine::record::{Fairness, OpKind, Phase, Recorder, RunRecord, Tally};
use smbench_engine::units::Size;
use smbench_report::fileio::{Interim, Shown, report};

use crate::samples::{book, document, point, run};

const BLOCK: u64 = 16_384;

/// What is seen of every run here.
fn shown() -> Shown {
    Shown {
        percentiles: vec![95.0],
        histogram: false,
    }
}

/// A run of `rndrw` by one session in a window that long, in which happened what
/// `book_all` records, and whose events are those.
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
    let mut run = run(vec![measured]);
    run.plan.workload.files.count = 128;
    run.plan.workload.files.size = 40 << 20;
    run.plan.workload.requests = Requests::Fileio(Fileio {
        mode: TestMode::RndRw,
        files: 128,
        total: Size(5 << 30),
        block: Size(BLOCK),
        merged: 0,
        flushing,
        rw_ratio: 1.5,
        spread: Spread::Uniform,
        events: None,
        time: Some(Duration::from_secs(300)),
        home: Home::Prepared,
    });
    run
}

fn ns(ms: f64) -> Nanos {
    Nanos((ms * 1e6) as u64)
}

/// The figure that the first line of this label ends in.
fn figure(text: &str, label: &str) -> f64 {
    let line = text.lines().find(|line| line.trim().starts_with(label));
    let last = line.and_then(|line| line.split_whitespace().next_back());
    last.unwrap().parse().unwrap()
}

/// Four writes of 2 ms, each with an fsync that takes ten times as long.
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
    let (requests, fsyncs) = (block("Latency (ms):"), block("fsync latency (ms):"));
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
    assert!(
        requests.ends_with(
            "of requests without the fsync of each write; with it an event took 22.00 ms on average"
        ),
        "{text}"
    );
    assert_eq!(figure(&text, "total number of events:"), 4.0);
    for title in ["Latency histogram", "fsync latency histogram"] {
        let bins = block(&format!("{title} (values are in milliseconds)"));
        let bins: Vec<_> = bins.lines().skip(1).collect();
        assert!(bins.len() == 1 && bins[0].ends_with("* 4"), "{bins:?}");
    }
}

#[test]
fn interim_figures_tell_fsyncs_apart_where_each_write_has_its_own() {
    let mut recorder = Recorder::default();
    flushed(&mut recorder);
    let line = |flushing| {
        let mut interim = Interim::new(flushing);
        interim.add(&recorder, 1.0);
        interim.line(1.0, &[50.0])
    };
    assert_eq!(
        line(Flushing::EachWrite),
        "[ 1s ] reads: 0.00 MiB/s writes: 0.06 MiB/s fsyncs: 4.00/s latency (ms,50%): 2.001 \
         fsync (ms,50%): 20.005\n"
    );
    let sets = Flushing::Sets {
        every: None,
        at_end: true,
    };
    assert!(line(sets).ends_with("latency (ms,50%): 2.001\n"));
    assert!(
        Interim::new(Flushing::EachWrite)
            .line(1.0, &[])
            .ends_with("fsyncs: 0.00/s\n")
    );
}
