//! The parts of a document that tell how a load point went over time and over
//! clients.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use smbench_model::record::{Fairness, IntervalSummary, Series};

/// The window cut into intervals, one value of each column for each, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesDoc {
    /// Length of an interval in seconds: 1, or as many whole seconds as keep the
    /// series at 3600 intervals. The n-th, from 0, starts n of these after the
    /// window opened; the last ends with the window and may be shorter.
    pub interval_s: f64,
    /// All operations of the workload.
    pub all: ColumnsDoc,
    /// By kind.
    pub ops: BTreeMap<String, ColumnsDoc>,
}

/// What each interval saw of some operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnsDoc {
    /// Completed without error.
    #[serde(serialize_with = "in_one_line")]
    pub count: Vec<u64>,
    /// Payload bytes they moved.
    #[serde(serialize_with = "in_one_line")]
    pub bytes: Vec<u64>,
    /// Answered with an error status or with wrong data.
    #[serde(serialize_with = "in_one_line")]
    pub errors: Vec<u64>,
    /// Median of the response time; `null` where `count` is 0.
    #[serde(serialize_with = "in_one_line")]
    pub p50_ns: Vec<Option<u64>>,
    /// 99th percentile of the response time; `null` where `count` is 0.
    #[serde(serialize_with = "in_one_line")]
    pub p99_ns: Vec<Option<u64>>,
    /// Longest response time; `null` where `count` is 0.
    #[serde(serialize_with = "in_one_line")]
    pub max_ns: Vec<Option<u64>>,
}

/// An array without a line for each value, in a document that is indented.
fn in_one_line<T: Serialize, S: Serializer>(values: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::to_string(values)
        .and_then(RawValue::from_string)
        .map_err(serde::ser::Error::custom)?
        .serialize(serializer)
}

impl From<&Series> for SeriesDoc {
    fn from(series: &Series) -> Self {
        let ops = series.ops.iter();
        Self {
            interval_s: series.interval.as_secs_f64(),
            all: columns(&series.all),
            ops: ops
                .map(|(kind, intervals)| (kind.name().to_owned(), columns(intervals)))
                .collect(),
        }
    }
}

fn columns(intervals: &[IntervalSummary]) -> ColumnsDoc {
    let counts = |of: fn(&IntervalSummary) -> u64| intervals.iter().map(of).collect();
    let latencies = |of: fn(&IntervalSummary) -> u64| {
        let latency = |interval: IntervalSummary| (interval.count > 0).then(|| of(&interval));
        intervals.iter().copied().map(latency).collect()
    };
    ColumnsDoc {
        count: counts(|interval| interval.count),
        bytes: counts(|interval| interval.bytes),
        errors: counts(|interval| interval.errors),
        p50_ns: latencies(|interval| interval.p50),
        p99_ns: latencies(|interval| interval.p99),
        max_ns: latencies(|interval| interval.max),
    }
}

/// How evenly clients were served: operations completed without error in the
/// window, over clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FairnessDoc {
    /// Of the client that was served least.
    pub min: u64,
    /// Of the client that was served most.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of all clients.
    pub sd: f64,
    /// Fairness index of Jain, Chiu and Hawe (DEC TR-301, 1984): 1 when all are
    /// served alike, 1/n when one of n is served alone.
    pub jain_index: f64,
    /// Seconds that the operations of a client took together: arithmetic mean.
    /// Like the next, not in documents of releases that did not add them up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_s_mean: Option<f64>,
    /// Their standard deviation, of all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_s_sd: Option<f64>,
}

impl FairnessDoc {
    /// `None` where no client completed an operation.
    pub(super) fn of(fairness: &Fairness) -> Option<Self> {
        Some(Self {
            min: fairness.min(),
            max: fairness.max(),
            mean: fairness.mean(),
            sd: fairness.deviation(),
            jain_index: fairness.jain_index()?,
            busy_s_mean: Some(fairness.busy_mean_s()),
            busy_s_sd: Some(fairness.busy_deviation_s()),
        })
    }
}

/// Operations in flight, counted and computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyDoc {
    /// Mean number of operations in flight over the window, counted as they were
    /// sent and answered: the achieved concurrency.
    pub in_flight_mean: f64,
    /// What Little's law (L = lambda W) says it must be: operations per second
    /// times their mean service time.
    pub by_littles_law: f64,
    /// The second by the first; `null` when nothing was in flight. Far from 1 it
    /// says that operations failed or ended otherwise than recorded, that the
    /// window is short against the latencies, or that one of the clocks is wrong.
    pub littles_ratio: Option<f64>,
}
