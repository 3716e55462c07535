//! The windows of all parts over time, interval by interval.
//!
//! Intervals are counted from when the window of a part opened. So those of two parts differ in
//! time as far as their windows do.

use std::collections::BTreeMap;
use std::time::Duration;

use smbench_model::kind::OpKind;
use smbench_model::record::{IntervalSummary, Series};

use super::part_point::PartPoint;
use crate::curve::total;
use crate::doc::{ColumnsDoc, SeriesDoc};
use crate::latency::{Hdr, pool};

/// The intervals of one kind in one part.
type OfKind<'a> = (&'a ColumnsDoc, &'a [Hdr]);

/// Joins the series of parts. A part whose window was shorter has no operations after its end.
/// `interval` is that of all parts.
pub(super) fn merged(parts: &[PartPoint<'_>], interval: Duration) -> Series {
    let mut kinds = BTreeMap::<OpKind, Vec<OfKind<'_>>>::new();
    for part in parts {
        for (name, columns) in &part.series.ops {
            let latencies = part.series.hdr.get(name).map_or(&[][..], Vec::as_slice);
            if let Some(kind) = OpKind::named(name) {
                kinds.entry(kind).or_default().push((columns, latencies));
            }
        }
    }
    let lengths = parts.iter().map(|part| part.series.all.count.len());
    let length = lengths.max().unwrap_or(0);
    let asked_for = kinds.iter().filter(|(kind, _)| kind.is_asked_for());
    let asked_for: Vec<_> = asked_for.flat_map(|(_, of)| of).copied().collect();
    let summaries = |of: &[OfKind<'_>]| (0..length).map(|at| summary(of, at)).collect();
    Series {
        interval,
        all: summaries(&asked_for),
        ops: kinds
            .iter()
            .map(|(kind, of)| (*kind, summaries(of)))
            .collect(),
        ..Series::default()
    }
}

fn summary(of: &[OfKind<'_>], at: usize) -> IntervalSummary {
    let sum = |column: fn(&ColumnsDoc) -> &Vec<u64>| {
        total(
            of.iter()
                .filter_map(|(columns, _)| column(columns).get(at).copied()),
        )
    };
    let latencies = of.iter().filter_map(|(_, latencies)| latencies.get(at));
    let (bytes, errors) = (
        sum(|columns| &columns.bytes),
        sum(|columns| &columns.errors),
    );
    match sum(|columns| &columns.count) {
        // Most intervals lack some kind, and a histogram has a quarter of a megabyte.
        0 => IntervalSummary {
            bytes,
            errors,
            ..IntervalSummary::default()
        },
        _ => IntervalSummary::of(&pool(latencies), bytes, errors),
    }
}

/// Finds a contradiction between the columns and the histograms of a part.
pub(super) fn contradiction(series: &SeriesDoc) -> Option<String> {
    let length = series.all.count.len();
    let is_whole = |columns: &ColumnsDoc| {
        [&columns.count, &columns.bytes, &columns.errors]
            .iter()
            .all(|column| column.len() == length)
    };
    if !is_whole(&series.all) || !series.ops.values().all(is_whole) {
        return Some("series has columns of different lengths".to_owned());
    }
    if let Some(name) = series
        .hdr
        .keys()
        .find(|name| !series.ops.contains_key(*name))
    {
        return Some(format!("series.hdr has {name}, and series.ops does not"));
    }
    series.ops.iter().find_map(|(name, columns)| {
        let Some(latencies) = series.hdr.get(name) else {
            return Some(format!("series.hdr has no {name}"));
        };
        if latencies.len() != length {
            return Some(format!(
                "series.hdr.{name} has {} intervals, not {length}",
                latencies.len()
            ));
        }
        let mut intervals = columns.count.iter().zip(latencies).enumerate();
        intervals.find_map(|(at, (&count, latencies))| {
            (count != latencies.count()).then(|| {
                format!(
                    "interval {at} of {name} has count {count} but a histogram of {}",
                    latencies.count()
                )
            })
        })
    })
}
