//! A test as `sysbench fileio` reports it, with what its users miss: latency by
//! operation, of flushes too, and any percentiles.
//!
//! Figures and layout are those of sysbench 1.0. Where that counts from the start
//! to the last flush, so does this: `total time` is the window and what came after
//! it, and rates are by that time. An event is a request or a flush of a file; what
//! is flushed at the end is none, but counts as `fsyncs/s`. Where each write has a
//! flush of its own the two are one event, but latencies of the two are never mixed:
//! those of requests and those of flushes have names that sysbench does not know, so
//! that who looks for its latencies of events finds none, and not shorter ones.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use smbench_engine::fileio::Flushing;
use smbench_engine::record::{Direction, OpKind, OpRecord, Recorder};

use crate::curve::Curve;
use crate::doc::{FileioDoc, LoadPointDoc, OpDoc, RunDoc};
use crate::latency::pool;
use crate::text::{facts, footnotes, reached, remarks, wrapped};
use crate::units::{amount, bytes, counted, plain};

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;
/// Columns that sysbench's figures of latency end in.
const WIDTH: usize = 53;
/// The bins of sysbench's histograms: 1024 of equal ratio, from 0.001 to 100,000 ms.
const BINS: f64 = 1024.0;
const BINS_FROM_MS: f64 = 0.001;
const BINS_TO_MS: f64 = 100_000.0;
/// Stars of the fullest bin.
const STARS: f64 = 40.0;

/// What is shown beyond the usual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Percentiles, more than 0 to 100.
    pub percentiles: Vec<f64>,
    /// The histogram of all latencies.
    pub histogram: bool,
}

/// The report of a run; `None` where it was no such test, or was not measured. Ends
/// with a newline.
#[must_use]
pub fn report(doc: &RunDoc, shown: &Shown) -> Option<String> {
    let test = doc.plan.workload.fileio.as_ref()?;
    let point = doc.load_points.last()?;
    let header = facts(doc).into_iter();
    let mut sections: Vec<String> = vec![
        header
            .map(|(label, text)| format!("{label:<9}{text}\n"))
            .collect(),
        options(doc, test, point),
    ];
    let latencies = Latencies::of(test, point);
    if shown.histogram {
        sections.extend(latencies.histograms());
    }
    sections.push(figures(test, point));
    sections.extend(latencies.summaries(&shown.percentiles));
    sections.push(fairness(test, point));
    sections.push(by_operation(point, &shown.percentiles));
    sections.push(totals(test, point, &shown.percentiles));
    let mut notes = footnotes(&Curve::of(&doc.load_points)) + &remarks(doc);
    notes.extend(reached(doc).map(|line| wrapped(&line)));
    if !notes.is_empty() {
        sections.push(notes);
    }
    Some(sections.join("\n"))
}

/// What was asked for, in sysbench's sentences.
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
    let spread = match is_random {
        true => format!(
            ", offsets {}, seed {}",
            plain(&test.rand_type),
            doc.plan.seed
        ),
        false => String::new(),
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

/// Seconds from the window's opening to the last flush.
fn total_s(point: &LoadPointDoc) -> f64 {
    point.window_s + point.final_flush_s.unwrap_or(0.0)
}

/// Requests and, but where each write has its own, flushes.
fn events(test: &FileioDoc, point: &LoadPointDoc) -> u64 {
    let flushes = match test.fsync_all {
        true => 0,
        false => count(point, OpKind::Flush),
    };
    count(point, OpKind::Read) + count(point, OpKind::Write) + flushes
}

/// By the time that everything took.
fn per_second(point: &LoadPointDoc, amount: f64) -> f64 {
    match total_s(point) {
        total_s if total_s > 0.0 => amount / total_s,
        _ => 0.0,
    }
}

fn figures(test: &FileioDoc, point: &LoadPointDoc) -> String {
    let total_s = total_s(point);
    let rate = |amount: f64| per_second(point, amount);
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
        rate(flushes as f64),
        rate(point.bytes_read as f64 / MIB),
        rate(point.bytes_written as f64 / MIB),
        events(test, point),
    );
    text
}

/// A label and a figure that ends where sysbench's do.
fn figure(label: &str, figure: &str) -> String {
    let width = WIDTH.saturating_sub(label.len());
    format!("{label}{figure:>width$}\n")
}

fn ms(nanoseconds: f64) -> String {
    format!("{:.2}", nanoseconds / NS_PER_MS)
}

/// `95th`, `99.9th`; sysbench knows no other ending.
fn ordinal(percentile: f64) -> String {
    format!("{percentile}th")
}

fn quantile(latencies: &Histogram<u64>, percentile: f64) -> f64 {
    latencies.value_at_quantile(percentile / 100.0) as f64
}

/// Latencies of operations of these kinds as one.
fn pooled(point: &LoadPointDoc, kinds: &[OpKind]) -> Histogram<u64> {
    let found = kinds.iter().filter_map(|kind| point.ops.get(kind.name()));
    pool(found.map(OpDoc::response))
}

/// Latencies, as far as they may be pooled.
enum Latencies {
    /// Of events, as sysbench has them.
    Events(Histogram<u64>),
    /// Where each write has its own flush: of the two parts of events.
    Parts {
        requests: Histogram<u64>,
        flushes: Histogram<u64>,
    },
}

impl Latencies {
    fn of(test: &FileioDoc, point: &LoadPointDoc) -> Self {
        match test.fsync_all {
            true => Self::Parts {
                requests: pooled(point, &[OpKind::Read, OpKind::Write]),
                flushes: pooled(point, &[OpKind::Flush]),
            },
            false => {
                let kinds = [OpKind::Read, OpKind::Write, OpKind::Flush];
                Self::Events(pooled(point, &kinds))
            }
        }
    }

    fn histograms(&self) -> Vec<String> {
        match self {
            Self::Events(events) => vec![histogram("Latency", events)],
            Self::Parts { requests, flushes } => vec![
                histogram("Request latency", requests),
                histogram("fsync latency", flushes),
            ],
        }
    }

    fn summaries(&self, percentiles: &[f64]) -> Vec<String> {
        match self {
            Self::Events(events) => vec![summary("Latency", events, percentiles)],
            Self::Parts { requests, flushes } => {
                let all_ns = sum(requests) + sum(flushes);
                let whole = ms(all_ns / requests.len().max(1) as f64);
                let requests = summary("Request latency", requests, percentiles);
                vec![
                    format!(
                        "Requests without the fsync of each write; with it an event took {whole} \
                         ms on average\n{requests}"
                    ),
                    summary("fsync latency", flushes, percentiles),
                ]
            }
        }
    }
}

fn summary(title: &str, all: &Histogram<u64>, percentiles: &[f64]) -> String {
    let mut text = format!("{title} (ms):\n");
    text += &figure("         min:", &ms(all.min() as f64));
    text += &figure("         avg:", &ms(all.mean()));
    text += &figure("         max:", &ms(all.max() as f64));
    for &percentile in percentiles {
        let label = format!("        {:>5} percentile:", ordinal(percentile));
        text += &figure(&label, &ms(quantile(all, percentile)));
    }
    if percentiles.is_empty() {
        text += "         percentile stats:               disabled\n";
    }
    text += &figure("         sum:", &ms(sum(all)));
    text
}

fn sum(latencies: &Histogram<u64>) -> f64 {
    latencies.mean() * latencies.len() as f64
}

fn fairness(test: &FileioDoc, point: &LoadPointDoc) -> String {
    let of = point.fairness.as_ref();
    // Where each write has its flush the two are one event.
    let share = |operations: f64| {
        let all: u64 = point.asked_for().map(|op| op.count).sum();
        match all {
            0 => 0.0,
            all => operations * events(test, point) as f64 / all as f64,
        }
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

/// What sysbench does not tell apart.
fn by_operation(point: &LoadPointDoc, percentiles: &[f64]) -> String {
    let mut text = format!(
        "{:<24}{:>10}{:>10}{:>10}",
        "Latency by operation (ms)", "count", "min", "avg"
    );
    for &percentile in percentiles {
        let _ = write!(text, "{:>10}", ordinal(percentile));
    }
    let _ = writeln!(text, "{:>10}", "max");
    for (kind, name) in [
        (OpKind::Read, "read"),
        (OpKind::Write, "write"),
        (OpKind::Flush, "fsync"),
        (OpKind::FinalFlush, "fsync at the end"),
    ] {
        let Some(op) = point.ops.get(kind.name()).filter(|op| op.count > 0) else {
            continue;
        };
        let latencies = pool([op.response()]);
        let _ = write!(
            text,
            "    {name:<21}{:>10}{:>10}{:>10}",
            op.count,
            ms(latencies.min() as f64),
            ms(latencies.mean())
        );
        for &percentile in percentiles {
            let _ = write!(text, "{:>10}", ms(quantile(&latencies, percentile)));
        }
        let _ = writeln!(text, "{:>10}", ms(latencies.max() as f64));
    }
    text
}

/// What sysbench has told in releases up to 0.4, of which there are published
/// figures, and leaves to be worked out since. That counted the flushes at the end
/// of runs that ended by events, and timed reads and writes alone.
fn totals(test: &FileioDoc, point: &LoadPointDoc, percentiles: &[f64]) -> String {
    let [reads, writes, flushes] =
        [OpKind::Read, OpKind::Write, OpKind::Flush].map(|kind| count(point, kind));
    let at_end = match count(point, OpKind::FinalFlush) {
        0 => "",
        _ => ", without the flushes at the end",
    };
    let (read, written) = (point.bytes_read as f64, point.bytes_written as f64);
    let mut text = format!(
        "Operations performed:  {reads} Read, {writes} Write, {flushes} Other = {} Total{at_end}\n\
         Read {}  Written {}  Total transferred {}  ({}/sec)\n\
         {:8.2} Requests/sec executed\n",
        reads + writes + flushes,
        amount(read),
        amount(written),
        amount(read + written),
        amount(per_second(point, read + written)),
        per_second(point, (reads + writes) as f64),
    );
    // It timed a write with its own flush, of which only the mean is known here.
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

/// Latencies in sysbench's bins.
fn histogram(title: &str, all: &Histogram<u64>) -> String {
    let ratio = (BINS_TO_MS / BINS_FROM_MS).ln() / (BINS - 1.0);
    let mut bins: Vec<(f64, u64)> = Vec::new();
    for bucket in all.iter_recorded() {
        let value = bucket.value_iterated_to() as f64 / NS_PER_MS;
        let bin = ((value / BINS_FROM_MS).ln() / ratio + 0.5).floor();
        let bin = bin.clamp(0.0, BINS - 1.0);
        match bins.last_mut().filter(|(last, _)| *last == bin) {
            Some((_, count)) => *count += bucket.count_at_value(),
            None => bins.push((bin, bucket.count_at_value())),
        }
    }
    let most = bins.iter().map(|(_, count)| *count).max().unwrap_or(1);
    let mut text = format!(
        "{title} histogram (values are in milliseconds)\n\
         \x20      value  ------------- distribution ------------- count\n"
    );
    for (bin, count) in bins {
        let stars = (count as f64 * STARS / most as f64 + 0.5).floor() as usize;
        let value = BINS_FROM_MS * (bin * ratio).exp();
        let _ = writeln!(text, "{value:12.3} |{:<40} {count}", "*".repeat(stars));
    }
    text
}

/// What completed in some stretch of the window.
#[derive(Clone, Debug)]
pub struct Interim {
    flushing: Flushing,
    length_s: f64,
    /// Bytes read and written.
    bytes: (u64, u64),
    /// Latencies of events; of requests alone where each write has its own flush.
    events: OpRecord,
    flushes: OpRecord,
}

impl Interim {
    /// Nothing yet of a test that flushes so.
    #[must_use]
    pub fn new(flushing: Flushing) -> Self {
        Self {
            flushing,
            length_s: 0.0,
            bytes: (0, 0),
            events: OpRecord::default(),
            flushes: OpRecord::default(),
        }
    }

    /// Adds what was recorded in so many further seconds.
    pub fn add(&mut self, recorder: &Recorder, length_s: f64) {
        self.length_s += length_s;
        for (kind, op) in recorder.ops().filter(|(kind, _)| kind.is_asked_for()) {
            match kind.direction() {
                Some(Direction::Read) => self.bytes.0 += op.bytes,
                Some(Direction::Write) => self.bytes.1 += op.bytes,
                None => {}
            }
            if kind == OpKind::Flush {
                self.flushes.merge(op);
            }
            if kind != OpKind::Flush || self.flushing != Flushing::EachWrite {
                self.events.merge(op);
            }
        }
    }

    /// Seconds that were added.
    #[must_use]
    pub const fn length_s(&self) -> f64 {
        self.length_s
    }

    /// The line that sysbench prints of it, so many seconds after the window's
    /// opening. Ends with a newline.
    #[must_use]
    pub fn line(&self, end_s: f64, percentiles: &[f64]) -> String {
        let rate = |amount: f64| match self.length_s > 0.0 {
            true => amount / self.length_s,
            false => 0.0,
        };
        let names: Vec<_> = percentiles.iter().map(|p| format!("{p}%")).collect();
        let latency = |title: &str, of: &OpRecord| {
            let values = percentiles.iter().map(|&percentile| {
                let value = quantile(of.latency(), percentile) / NS_PER_MS;
                format!("{value:.3}")
            });
            let values: Vec<_> = values.collect();
            format!(" {title} (ms,{}): {}", names.join("/"), values.join("/"))
        };
        let latencies = match self.flushing {
            _ if percentiles.is_empty() => String::new(),
            // Not sysbench's name: that is of a write with its flush.
            Flushing::EachWrite => {
                latency("request", &self.events) + &latency("fsync", &self.flushes)
            }
            Flushing::Sets { .. } => latency("latency", &self.events),
        };
        format!(
            "[ {end_s:.0}s ] reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s{latencies}\n",
            rate(self.bytes.0 as f64 / MIB),
            rate(self.bytes.1 as f64 / MIB),
            rate(self.flushes.count() as f64),
        )
    }
}
