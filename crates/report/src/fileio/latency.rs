//! Latencies as sysbench prints them for events, and a table by operation that
//! sysbench lacks.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use smbench_model::kind::OpKind;

use super::NS_PER_MS;
use crate::doc::{FileioDoc, LoadPointDoc, OpDoc};
use crate::latency::pool;

/// Column in which sysbench's latency figures end.
const WIDTH: usize = 53;
/// The bins of sysbench's histograms: 1024 of equal ratio, from 0.001 to 100,000 ms.
const BINS: f64 = 1024.0;
const BINS_FROM_MS: f64 = 0.001;
const BINS_TO_MS: f64 = 100_000.0;
/// Number of stars of the fullest bin.
const STARS: f64 = 40.0;

/// Formats a label and a figure that ends in the same column as sysbench's.
fn figure(label: &str, figure: &str) -> String {
    let width = WIDTH.saturating_sub(label.len());
    format!("{label}{figure:>width$}\n")
}

pub(super) fn ms(nanoseconds: f64) -> String {
    format!("{:.2}", nanoseconds / NS_PER_MS)
}

/// Formats an ordinal: `95th`, `99.9th`; sysbench has no other ending.
pub(super) fn ordinal(percentile: f64) -> String {
    format!("{percentile}th")
}

pub(super) fn quantile(latencies: &Histogram<u64>, percentile: f64) -> f64 {
    crate::latency::quantile(latencies, percentile, 100.0) as f64
}

/// Pools the latencies of operations of these kinds.
pub(super) fn pooled(point: &LoadPointDoc, kinds: &[OpKind]) -> Histogram<u64> {
    let found = kinds.iter().filter_map(|kind| point.ops.get(kind.name()));
    pool(found.map(OpDoc::response))
}

/// Latencies, pooled as far as possible.
pub(super) enum Latencies {
    /// Latencies of events, as in sysbench.
    Events(Histogram<u64>),
    /// Latencies of the two parts of events, if each write has its own flush.
    Parts {
        requests: Histogram<u64>,
        flushes: Histogram<u64>,
    },
}

impl Latencies {
    pub(super) fn of(test: &FileioDoc, point: &LoadPointDoc) -> Self {
        if test.fsync_all {
            Self::Parts {
                requests: pooled(point, &[OpKind::Read, OpKind::Write]),
                flushes: pooled(point, &[OpKind::Flush]),
            }
        } else {
            let kinds = [OpKind::Read, OpKind::Write, OpKind::Flush];
            Self::Events(pooled(point, &kinds))
        }
    }

    pub(super) fn histograms(&self) -> Vec<String> {
        match self {
            Self::Events(events) => vec![histogram("Latency", events)],
            Self::Parts { requests, flushes } => vec![
                histogram("Request latency", requests),
                histogram("fsync latency", flushes),
            ],
        }
    }

    pub(super) fn summaries(&self, percentiles: &[f64]) -> Vec<String> {
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

/// Returns latencies by operation, which sysbench does not separate.
pub(super) fn by_operation(point: &LoadPointDoc, percentiles: &[f64]) -> String {
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

/// Returns a histogram with sysbench's bins.
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
