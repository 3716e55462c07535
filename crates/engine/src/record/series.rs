//! A load point over time: what each interval of its window saw.
//!
//! Percentiles of an interval are those of its histogram, merged over workers;
//! the histogram itself is given up once it has been summarised.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{OpKind, OpRecord, Recorder};

/// Intervals that are kept of a load point. Windows that have more seconds than
/// this are cut into longer intervals, of whole seconds.
pub const INTERVALS_MAX: u32 = 3600;

/// Operations of one kind, or of all, that completed in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalSummary {
    /// Completed without error.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Completed with an error status, or with wrong data.
    pub errors: u64,
    /// Median latency in nanoseconds, from due to done; 0 when `count` is.
    pub p50: u64,
    /// 99th percentile of the latency in nanoseconds; 0 when `count` is.
    pub p99: u64,
    /// Longest latency in nanoseconds; 0 when `count` is.
    pub max: u64,
}

impl From<&OpRecord> for IntervalSummary {
    fn from(op: &OpRecord) -> Self {
        Self {
            count: op.count(),
            bytes: op.bytes,
            errors: op.errors,
            p50: op.latency().value_at_quantile(0.5),
            p99: op.latency().value_at_quantile(0.99),
            max: op.latency().max(),
        }
    }
}

/// The intervals of a window, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Length of every interval but the last, which ends with the window.
    pub interval: Duration,
    /// The operations of the workload together.
    pub all: Vec<IntervalSummary>,
    /// By kind, those that occurred; each as long as `all`.
    pub ops: BTreeMap<OpKind, Vec<IntervalSummary>>,
}

impl Series {
    /// How long the intervals of a window are.
    #[must_use]
    pub fn interval_of(window: Duration) -> Duration {
        let seconds = window.as_nanos().div_ceil(1_000_000_000);
        let interval = seconds.div_ceil(INTERVALS_MAX.into()).max(1);
        Duration::from_secs(u64::try_from(interval).unwrap_or(u64::MAX))
    }

    /// Sets what the interval with this index saw.
    pub fn set(&mut self, index: usize, recorder: &Recorder) {
        self.reach(index + 1);
        self.all[index] = IntervalSummary::from(&recorder.all());
        let length = self.all.len();
        for (kind, op) in recorder.ops() {
            let of_kind = self.ops.entry(kind).or_default();
            of_kind.resize(length, IntervalSummary::default());
            of_kind[index] = IntervalSummary::from(op);
        }
    }

    /// Makes it at least this many intervals long; those that are added saw
    /// nothing.
    pub fn reach(&mut self, length: usize) {
        let length = length.max(self.all.len());
        self.all.resize(length, IntervalSummary::default());
        for of_kind in self.ops.values_mut() {
            of_kind.resize(length, IntervalSummary::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Nanos;

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
