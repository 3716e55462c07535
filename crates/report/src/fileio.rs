//! A test as `sysbench fileio` reports it. It adds latency by operation, including
//! flushes, and any percentiles.
//!
//! Figures and layout are those of sysbench 1.0, with these rules:
//!
//! - `total time` is the window and the time after it until the last flush, as in
//!   sysbench. `fsyncs/s` is over this time.
//! - Requests in flight when time runs out are not counted. So the other rates
//!   exclude the time spent waiting for those requests.
//! - An event is a request or a flush of a file. A flush at the end is not an
//!   event, but it counts for `fsyncs/s`.
//! - If each write has its own flush, the two are one event, but their latencies
//!   are never mixed. Latencies of requests and of flushes then have names that
//!   sysbench does not use. So a reader who looks for sysbench's latency of events
//!   finds none, rather than a shorter one.

mod interim;
mod latency;

use std::fmt::Write as _;

use smbench_model::kind::OpKind;

use crate::curve::Curve;
use crate::doc::{FileioDoc, LoadPointDoc, RunDoc};
use crate::statistics::per;
use crate::text::{brief, cpu_use, facts, footnotes, rate_lines, reached, remarks, wrapped};
use crate::units::{amount, bytes, counted, labelled, plain};
pub use interim::Interim;
use latency::{Latencies, by_operation, ms, ordinal, pooled, quantile};

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;

/// Optional parts of the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Percentiles to show, more than 0 and at most 100.
    pub percentiles: Vec<f64>,
    /// Whether to show the histogram of all latencies.
    pub histogram: bool,
}

/// Returns the report of a run; `None` if it was not a `fileio` test, or was not
/// measured. Ends with a newline.
#[must_use]
pub fn report(doc: &RunDoc, shown: &Shown) -> Option<String> {
    let test = doc.plan.workload.fileio.as_ref()?;
    let point = doc.load_points.last()?;
    let mut sections = vec![labelled(facts(doc)), options(doc, test, point)];
    let latencies = Latencies::of(test, point);
    if shown.histogram {
        sections.extend(latencies.histograms());
    }
    sections.push(figures(test, point));
    sections.extend(latencies.summaries(&shown.percentiles));
    sections.push(fairness(test, point));
    sections.push(by_operation(point, &shown.percentiles));
    sections.push(totals(test, point, &shown.percentiles));
    let curve = Curve::of(&doc.load_points);
    sections.extend(cpu_use(doc, &curve));
    let mut notes = footnotes(&curve) + &rate_lines(doc) + &brief(doc) + &remarks(doc);
    notes.extend(reached(doc).map(|line| wrapped(&line)));
    if !notes.is_empty() {
        sections.push(notes);
    }
    Some(sections.join("\n"))
}

/// Describes the test in sysbench's sentences.
fn options(doc: &RunDoc, test: &FileioDoc, point: &LoadPointDoc) -> String {
    let files = &doc.plan.workload;
    let mut text = String::new();
    let mut line = |words: String| {
        text += &words;
        text.push('\n');
    };
    line(format!("Number of threads: {} (sessions)", point.clients));
    line(format!(
        "{}, {} each",
        counted(files.files.into(), "file"),
        bytes(files.file_bytes)
    ));
    line(format!(
        "{} total file size",
        bytes(files.file_bytes.saturating_mul(files.files.into()))
    ));
    line(format!("Block size {}", bytes(test.block_bytes)));
    let is_random = test.test_mode.starts_with("rnd");
    if !is_random && test.merged_requests > 0 {
        let merged = test.block_bytes.saturating_mul(test.merged_requests.into());
        line(format!(
            "Merging requests up to {} for sequential IO.",
            bytes(merged)
        ));
    }
    if is_random {
        line(format!("Number of IO requests: {}", test.events));
        line(format!(
            "Read/Write ratio for combined random IO test: {:.2}",
            test.rw_ratio
        ));
    }
    if test.events > 0 && doc.plan.ramp_up_s > 0.0 {
        line(format!(
            "Events begun after the warm-up: at most {}, beside those under way when it ended.",
            test.events
        ));
    }
    if test.fsync_freq > 0 {
        line(format!(
            "Periodic FSYNC enabled, calling fsync() each {} requests.",
            test.fsync_freq
        ));
    }
    if test.fsync_end {
        line("Calling fsync() at the end of test, Enabled.".to_owned());
    }
    if test.fsync_all {
        line("Calling fsync() after each write operation.".to_owned());
    }
    let spread = if is_random {
        format!(
            ", offsets {}, seed {}",
            plain(&test.rand_type),
            doc.plan.seed
        )
    } else {
        String::new()
    };
    line(format!("Doing {} test{spread}", mode(&test.test_mode)));
    text
}

fn mode(name: &str) -> &str {
    match name {
        "seqwr" => "sequential write (creation)",
        "seqrewr" => "sequential rewrite",
        "seqrd" => "sequential read",
        "rndrd" => "random read",
        "rndwr" => "random write",
        "rndrw" => "random r/w",
        _ => "(unknown)",
    }
}

fn count(point: &LoadPointDoc, kind: OpKind) -> u64 {
    point.ops.get(kind.name()).map_or(0, |op| op.count)
}

/// Returns the seconds from when the window opened to the last flush.
fn total_s(point: &LoadPointDoc) -> f64 {
    counted_s(point) + point.drain_s.unwrap_or(0.0)
}

/// Returns the total time without the wait for requests that ended after the window
/// and are not counted.
fn counted_s(point: &LoadPointDoc) -> f64 {
    point.window_s + point.final_flush_s.unwrap_or(0.0)
}

/// Returns the number of events: requests, and flushes unless each write has its
/// own.
fn events(test: &FileioDoc, point: &LoadPointDoc) -> u64 {
    let flushes = if test.fsync_all {
        0
    } else {
        count(point, OpKind::Flush)
    };
    count(point, OpKind::Read) + count(point, OpKind::Write) + flushes
}

fn figures(test: &FileioDoc, point: &LoadPointDoc) -> String {
    let total_s = total_s(point);
    let rate = |amount: f64| per(amount, counted_s(point));
    let flushes = count(point, OpKind::Flush) + count(point, OpKind::FinalFlush);
    let mut text = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        text,
        "File operations:\n\
         \x20   reads/s:                      {:.2}\n\
         \x20   writes/s:                     {:.2}\n\
         \x20   fsyncs/s:                     {:.2}\n\
         \n\
         Throughput:\n\
         \x20   read, MiB/s:                  {:.2}\n\
         \x20   written, MiB/s:               {:.2}\n\
         \n\
         General statistics:\n\
         \x20   total time:                          {total_s:.4}s\n\
         \x20   total number of events:              {}\n",
        rate(count(point, OpKind::Read) as f64),
        rate(count(point, OpKind::Write) as f64),
        // Some sessions already flush while others wait for their last request.
        per(flushes as f64, total_s),
        rate(point.bytes_read as f64 / MIB),
        rate(point.bytes_written as f64 / MIB),
        events(test, point),
    );
    text
}

fn fairness(test: &FileioDoc, point: &LoadPointDoc) -> String {
    let of = point.fairness.as_ref();
    // If each write has its own flush, the two are one event.
    let share = |operations: f64| {
        let all: u64 = point.asked_for().map(|op| op.count).sum();
        per(operations * events(test, point) as f64, all as f64)
    };
    format!(
        "Threads fairness:\n\
         \x20   events (avg/stddev):           {:.4}/{:.2}\n\
         \x20   execution time (avg/stddev):   {:.4}/{:.2}\n",
        share(of.map_or(0.0, |of| of.mean)),
        share(of.map_or(0.0, |of| of.sd)),
        of.and_then(|of| of.busy_s_mean).unwrap_or(0.0),
        of.and_then(|of| of.busy_s_sd).unwrap_or(0.0),
    )
}

/// Returns the figures of sysbench up to 0.4, because published results have them;
/// later releases do not print them. Release 0.4 counted the flushes at the end of
/// runs that ended by events. It timed only reads and writes.
fn totals(test: &FileioDoc, point: &LoadPointDoc, percentiles: &[f64]) -> String {
    let [reads, writes, flushes] =
        [OpKind::Read, OpKind::Write, OpKind::Flush].map(|kind| count(point, kind));
    let at_end = match count(point, OpKind::FinalFlush) {
        0 => "",
        _ => ", without the flushes at the end",
    };
    let (read, written) = (point.bytes_read as f64, point.bytes_written as f64);
    let rate = |amount: f64| per(amount, counted_s(point));
    let mut text = format!(
        "Operations performed:  {reads} Read, {writes} Write, {flushes} Other = {} Total{at_end}\n\
         Read {}  Written {}  Total transferred {}  ({}/sec)\n\
         {:8.2} Requests/sec executed\n",
        reads + writes + flushes,
        amount(read),
        amount(written),
        amount(read + written),
        amount(rate(read + written)),
        rate((reads + writes) as f64),
    );
    // It timed a write together with its own flush. Of that, only the mean is known
    // here.
    if test.fsync_all {
        return text;
    }
    let requests = pooled(point, &[OpKind::Read, OpKind::Write]);
    let _ = write!(
        text,
        "Per request (ms): min {}, avg {}, max {}",
        ms(requests.min() as f64),
        ms(requests.mean()),
        ms(requests.max() as f64)
    );
    for &percentile in percentiles {
        let value = ms(quantile(&requests, percentile));
        let _ = write!(text, ", {} percentile {value}", ordinal(percentile));
    }
    text += "\n(of reads and writes; \"Latency\" above is of sysbench 1.0's events, so of \
             flushes too)\n";
    text
}
