//! A load point over time: the operations of each interval of its window.
//!
//! Percentiles of an interval are those of its histogram, merged over workers. The
//! histogram itself is dropped after it has been summarised, unless the run carries only a part
//! of the clients.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::{OpRecord, Recorder, buckets};
use crate::bounds::INTERVALS_MAX;
use crate::kind::OpKind;

/// Operations of one kind, or of all, that completed in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalSummary {
    /// Operations that completed without error.
    pub count: u64,
    /// Payload bytes of these operations.
    pub bytes: u64,
    /// Operations that completed with an error status or with wrong data.
    pub errors: u64,
    /// Median latency in nanoseconds, from due to done; 0 if `count` is 0.
    pub p50: u64,
    /// 99th percentile of the latency in nanoseconds; 0 if `count` is 0.
    pub p99: u64,
    /// Longest latency in nanoseconds; 0 if `count` is 0.
    pub max: u64,
}

impl From<&OpRecord> for IntervalSummary {
    fn from(op: &OpRecord) -> Self {
        Self::of(op.latency(), op.bytes, op.errors)
    }
}

impl IntervalSummary {
    /// Summarises operations by the latencies, in nanoseconds, of those that completed without
    /// error.
    #[must_use]
    pub fn of(latencies: &Histogram<u64>, bytes: u64, errors: u64) -> Self {
        Self {
            count: latencies.len(),
            bytes,
            errors,
            p50: latencies.value_at_quantile(0.5),
            p99: latencies.value_at_quantile(0.99),
            max: latencies.max(),
        }
    }
}

/// The intervals of a window, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Length of every interval except the last, which ends with the window.
    pub interval: Duration,
    /// All operations of the workload together.
    pub all: Vec<IntervalSummary>,
    /// The operations by kind, for kinds that occurred. Each list is as long as
    /// `all`.
    pub ops: BTreeMap<OpKind, Vec<IntervalSummary>>,
    /// Whether `latencies` are kept.
    pub detail: SeriesDetail,
    /// The latencies of each interval by kind, as [`buckets`]. Each list is as long as `all`.
    /// Empty unless they are kept.
    pub latencies: BTreeMap<OpKind, Vec<Vec<(u64, u64)>>>,
}

/// What a series keeps of each interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeriesDetail {
    /// Its summary.
    #[default]
    Summaries,
    /// Also its latencies, so that the series of several parts can be merged.
    Latencies,
}

/// Returns the part of these intervals of each kind.
fn part_of<T: Clone>(
    kinds: &BTreeMap<OpKind, Vec<T>>,
    range: &Range<usize>,
) -> BTreeMap<OpKind, Vec<T>> {
    let part = |all: &Vec<T>| all.get(range.clone()).unwrap_or_default().to_vec();
    kinds.iter().map(|(kind, all)| (*kind, part(all))).collect()
}

impl Series {
    /// Returns the length of the intervals of a window.
    #[must_use]
    pub fn interval_of(window: Duration) -> Duration {
        let seconds = window.as_nanos().div_ceil(1_000_000_000);
        let interval = seconds.div_ceil(INTERVALS_MAX.into()).max(1);
        Duration::from_secs(u64::try_from(interval).unwrap_or(u64::MAX))
    }

    /// Returns the part of these intervals.
    #[must_use]
    pub fn part(&self, intervals: Range<usize>) -> Self {
        let until = intervals.end.min(self.all.len());
        let range = intervals.start.min(until)..until;
        Self {
            interval: self.interval,
            all: self.all[range.clone()].to_vec(),
            ops: part_of(&self.ops, &range),
            detail: self.detail,
            latencies: part_of(&self.latencies, &range),
        }
    }

    /// Sets the operations of the interval with this index.
    pub fn set(&mut self, index: usize, recorder: &Recorder) {
        self.reach(index + 1);
        self.all[index] = IntervalSummary::from(&recorder.all());
        let length = self.all.len();
        for (kind, op) in recorder.ops() {
            let of_kind = self.ops.entry(kind).or_default();
            of_kind.resize(length, IntervalSummary::default());
            of_kind[index] = IntervalSummary::from(op);
            if self.detail == SeriesDetail::Latencies {
                let of_kind = self.latencies.entry(kind).or_default();
                of_kind.resize(length, Vec::new());
                of_kind[index] = buckets(op.latency());
            }
        }
    }

    /// Returns the bytes that each of the first `whole` intervals has moved; operations
    /// where no data was moved.
    #[must_use]
    pub fn amounts(&self, whole: usize) -> Vec<u64> {
        let carrying = self
            .ops
            .iter()
            .filter(|(kind, _)| kind.direction().is_some());
        let carrying: Vec<_> = carrying.map(|(_, intervals)| intervals).collect();
        let mut done: Vec<u64> = (0..self.all.len())
            .map(|at| carrying.iter().map(|intervals| intervals[at].bytes).sum())
            .collect();
        if done.iter().all(|&bytes| bytes == 0) {
            done = self.all.iter().map(|interval| interval.count).collect();
        }
        done.truncate(whole);
        done
    }

    /// Extends the series to at least this many intervals. New intervals are empty.
    pub fn reach(&mut self, length: usize) {
        let length = length.max(self.all.len());
        self.all.resize(length, IntervalSummary::default());
        for of_kind in self.ops.values_mut() {
            of_kind.resize(length, IntervalSummary::default());
        }
        for of_kind in self.latencies.values_mut() {
            of_kind.resize(length, Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;

    #[test]
    fn long_windows_have_longer_intervals() {
        for (window, interval) in [
            (0, 1),
            (3, 1),
            (3600, 1),
            (3601, 2),
            (7200, 2),
            (86_400, 24),
        ] {
            assert_eq!(
                Series::interval_of(Duration::from_secs(window)),
                Duration::from_secs(interval),
                "{window}"
            );
        }
        let odd = Duration::from_millis(3_600_500);
        assert_eq!(Series::interval_of(odd).as_secs(), 2);
    }

    #[test]
    fn series_have_no_gaps_and_equal_lengths() {
        let mut recorder = Recorder::default();
        recorder.success(OpKind::Read, 10, Nanos(1000));
        let mut series = Series::default();
        series.set(1, &recorder);
        recorder.success(OpKind::OplockBreak, 0, Nanos(9000));
        recorder.success(OpKind::Write, 5, Nanos(2000));
        series.set(3, &recorder);
        series.reach(6);
        series.reach(2);
        let counts = |of: &[IntervalSummary]| of.iter().map(|s| s.count).collect::<Vec<_>>();
        assert_eq!(counts(&series.all), [0, 1, 0, 2, 0, 0]);
        assert_eq!(counts(&series.ops[&OpKind::Read]), [0, 1, 0, 1, 0, 0]);
        assert_eq!(counts(&series.ops[&OpKind::Write]), [0, 0, 0, 1, 0, 0]);
        let last = series.all[3];
        assert_eq!((last.bytes, last.errors), (15, 0));
        assert_eq!((last.p50, last.max / 10), (1000, 200));
    }
}
