//! The parts of a document that describe a load point over time and over clients.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use smbench_model::record::{Fairness, IntervalSummary, Series};

use crate::latency::Hdr;

/// The window cut into intervals. Each column has one value per interval, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesDoc {
    /// Length of an interval in seconds. It is 1, or the number of whole seconds
    /// that limits the series to 3600 intervals. Interval n, from 0, starts n
    /// lengths after the window opened. The last ends with the window and may be
    /// shorter.
    pub interval_s: f64,
    /// All operations of the workload.
    pub all: ColumnsDoc,
    /// Columns by kind of operation.
    pub ops: BTreeMap<String, ColumnsDoc>,
    /// What was in the buffers of streams. Absent unless all clients are streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffered: Option<BufferedDoc>,
    /// Histograms of response times by kind of operation, one per interval, in the format of an
    /// operation's histogram. `smbench merge` needs them. Absent unless the run carried a part of
    /// the clients.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hdr: BTreeMap<String, Vec<Hdr>>,
}

/// The depth of the buffers of streams, with one value per interval: how long before its instant
/// a frame was done. It is of the frames that were done in the interval without an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct BufferedDoc {
    /// The emptiest buffer; 0 if a frame was late, and `null` without frames.
    #[serde(serialize_with = "in_one_line")]
    pub least_ns: Vec<Option<u64>>,
    /// The median over frames; 0 if half of them were late, and `null` without frames.
    #[serde(serialize_with = "in_one_line")]
    pub median_ns: Vec<Option<u64>>,
}

/// Columns of a group of operations, with one value per interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnsDoc {
    /// Number of operations completed without error.
    #[serde(serialize_with = "in_one_line")]
    pub count: Vec<u64>,
    /// Payload bytes of those operations.
    #[serde(serialize_with = "in_one_line")]
    pub bytes: Vec<u64>,
    /// Number of operations answered with an error status or with wrong data.
    #[serde(serialize_with = "in_one_line")]
    pub errors: Vec<u64>,
    /// Median of the response time; `null` if `count` is 0.
    #[serde(serialize_with = "in_one_line")]
    pub p50_ns: Vec<Option<u64>>,
    /// 99th percentile of the response time; `null` if `count` is 0.
    #[serde(serialize_with = "in_one_line")]
    pub p99_ns: Vec<Option<u64>>,
    /// Longest response time; `null` if `count` is 0.
    #[serde(serialize_with = "in_one_line")]
    pub max_ns: Vec<Option<u64>>,
}

/// Writes an array on one line, in a document that is otherwise indented.
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
            buffered: None,
            hdr: series
                .latencies
                .iter()
                .map(|(kind, intervals)| {
                    let intervals = intervals.iter().map(|latencies| Hdr::from(&latencies[..]));
                    (kind.name().to_owned(), intervals.collect())
                })
                .collect(),
        }
    }
}

impl SeriesDoc {
    /// Adds the depth of the buffers of clients that are streams with this much in a full one. A
    /// frame that took longer was in the buffer for a shorter time.
    #[must_use]
    pub(crate) fn with_buffers(mut self, full_ns: Option<f64>) -> Self {
        let left = |full_ns: f64, took: &[Option<u64>]| {
            // The conversion saturates.
            let left = |took: u64| (full_ns.round() as u64).saturating_sub(took);
            took.iter().map(|took| took.map(left)).collect()
        };
        self.buffered = full_ns.map(|full_ns| BufferedDoc {
            least_ns: left(full_ns, &self.all.max_ns),
            median_ns: left(full_ns, &self.all.p50_ns),
        });
        self
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

/// Fairness between clients: statistics of the operations that each completed
/// without error in the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FairnessDoc {
    /// Operations of the client with the fewest.
    pub min: u64,
    /// Operations of the client with the most.
    pub max: u64,
    /// Arithmetic mean over clients.
    pub mean: f64,
    /// Standard deviation over all clients.
    pub sd: f64,
    /// Fairness index of Jain, Chiu and Hawe (DEC TR-301, 1984): 1 if all clients
    /// are served equally, 1/n if only one of n is served.
    pub jain_index: f64,
    /// Summed duration of a client's operations in seconds: arithmetic mean over
    /// clients. Absent, like the next key, in documents of releases that did not
    /// sum it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_s_mean: Option<f64>,
    /// Standard deviation of that sum over all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_s_sd: Option<f64>,
}

impl FairnessDoc {
    /// Converts the record; `None` if no client completed an operation.
    pub(crate) fn of(fairness: &Fairness) -> Option<Self> {
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

/// Operations in flight: counted, and computed by Little's law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ConcurrencyDoc {
    /// Mean number of operations in flight over the window, counted as they were
    /// sent and answered: the achieved concurrency.
    pub in_flight_mean: f64,
    /// The mean number according to Little's law (L = lambda W): operations per
    /// second times their mean service time.
    pub by_littles_law: f64,
    /// The computed number divided by the counted one; `null` if nothing was in
    /// flight. If it is far from 1, operations failed or ended differently than
    /// recorded. Or the window is short compared with the latencies, or a clock is
    /// wrong.
    pub littles_ratio: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_emptier_by_the_time_that_frames_took() {
        let interval = |count, p50, max| IntervalSummary {
            count,
            p50,
            max,
            ..IntervalSummary::default()
        };
        let series = Series {
            all: vec![interval(9, 10, 30), interval(0, 0, 0), interval(9, 40, 400)],
            ..Series::default()
        };
        let buffered = SeriesDoc::from(&series).with_buffers(Some(100.4)).buffered;
        let buffered = buffered.unwrap();
        assert_eq!(buffered.least_ns, [Some(70), None, Some(0)]);
        assert_eq!(buffered.median_ns, [Some(90), None, Some(60)]);
        assert_eq!(SeriesDoc::from(&series).with_buffers(None).buffered, None);
    }
}
