//! Latency summaries, and the histograms behind them.
//!
//! A document contains every histogram completely ([`Hdr`]). So percentiles over
//! several passes are those of all their operations: histograms are merged,
//! percentiles never averaged. A decoded [`Hdr`] always has the engine's bounds and
//! a bounded count. A file with other bounds is an error when it is read.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{
    Deserializer as HdrReader, Serializer as _, V2DeflateSerializer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smbench_model::record::{HIGHEST_LATENCY_NS, LATENCY_DIGITS, buckets, latency_histogram};

/// Latencies of a number of operations, in nanoseconds, each exact to three
/// significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LatencyDoc {
    /// Arithmetic mean over all operations.
    pub mean: f64,
    /// Latency of the fastest operation.
    pub min: u64,
    /// Latency of the slowest operation.
    pub max: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
}

impl LatencyDoc {
    /// Summarises a histogram of nanoseconds; `None` if it is empty, because no
    /// operations have no latency, rather than a latency of zero.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        Self::of_buckets(&buckets(histogram), histogram)
    }

    /// Summarises ascending buckets of the histogram, or of a part of it.
    fn of_buckets(buckets: &[(u64, u64)], histogram: &Histogram<u64>) -> Option<Self> {
        let [(first, _), ..] = buckets else {
            return None;
        };
        let count: u64 = buckets.iter().map(|(_, count)| count).sum();
        let mut ranks = buckets.iter().scan(0, |rank, (latency, count)| {
            *rank += count;
            Some((*rank, *latency))
        });
        let (mut rank, mut latency) = (0, 0);
        let mut at = |percent| {
            let wanted = rank_of(percent, 100.0, count as f64);
            while (rank as f64) < wanted {
                let Some(next) = ranks.next() else { break };
                (rank, latency) = next;
            }
            histogram.highest_equivalent(latency)
        };
        let share = |(latency, of_it): &(u64, u64)| {
            histogram.median_equivalent(*latency) as f64 * *of_it as f64 / count as f64
        };
        Some(Self {
            mean: buckets.iter().map(share).sum(),
            min: histogram.lowest_equivalent(*first),
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            max: at(100.0),
        })
    }

    /// Summarises all parts together, and all without each of them. `None` if any of
    /// these has no operations.
    pub(crate) fn with_and_without(parts: &[Histogram<u64>]) -> Option<(Self, Vec<Self>)> {
        let mut all = latency_histogram();
        for part in parts {
            all.add(part).ok()?;
        }
        let without = parts.iter().map(|part| Self::without(&all, part));
        let without = without.collect::<Option<_>>()?;
        Some((Self::of(&all)?, without))
    }

    /// Summarises a histogram without a part of it; `None` if nothing else is in it.
    pub(crate) fn without(all: &Histogram<u64>, part: &Histogram<u64>) -> Option<Self> {
        let rest = buckets(all).into_iter().filter_map(|(latency, count)| {
            let rest = count.saturating_sub(part.count_at(latency));
            (rest > 0).then_some((latency, rest))
        });
        Self::of_buckets(&rest.collect::<Vec<_>>(), all)
    }
}

/// Returns the place of the quantile `part / all` among so many operations, from 1.
fn rank_of(part: f64, all: f64, count: f64) -> f64 {
    // 99.9 / 100 is slightly more than 0.999. This must not count as a further
    // operation.
    (part / all * count * (1.0 - 4.0 * f64::EPSILON)).ceil()
}

/// Returns the longest latency among the shortest `part` of `all` operations: the
/// quantile `part / all`. 0 without operations.
#[must_use]
pub fn quantile(latencies: &Histogram<u64>, part: f64, all: f64) -> u64 {
    let count = latencies.len() as f64;
    let rank = rank_of(part, all, count);
    if rank > 0.0 {
        // In the middle of the rank, so that another rounding does not change it.
        latencies.value_at_quantile((rank - 0.5) / count)
    } else {
        latencies.value_at_quantile(0.0)
    }
}

/// A latency histogram in a document. In JSON it is the base64 of `HdrHistogram`'s
/// V2 encoding with DEFLATE, which the HdrHistogram libraries of other languages
/// read directly. In memory it has only the non-empty buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct Hdr {
    /// Pairs of a latency in nanoseconds within the bucket, and the bucket's count.
    buckets: Vec<(u64, u64)>,
}

impl From<&Histogram<u64>> for Hdr {
    fn from(histogram: &Histogram<u64>) -> Self {
        Self {
            buckets: buckets(histogram),
        }
    }
}

impl From<&[(u64, u64)]> for Hdr {
    fn from(buckets: &[(u64, u64)]) -> Self {
        Self {
            buckets: buckets.to_vec(),
        }
    }
}

/// Merges several histograms.
#[must_use]
pub fn pool<'a>(parts: impl IntoIterator<Item = &'a Hdr>) -> Histogram<u64> {
    let mut pooled = latency_histogram();
    for (latency, count) in parts.into_iter().flat_map(|part| &part.buckets) {
        pooled.saturating_record_n(*latency, *count);
    }
    pooled
}

impl Hdr {
    /// Returns the number of recorded operations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    fn encode(&self) -> String {
        let mut encoded = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&pool([self]), &mut encoded)
            .unwrap_or_else(|error| unreachable!("bounded counts fit the encoding: {error}"));
        BASE64.encode(encoded)
    }

    fn decode(text: &str) -> Result<Self, HdrError> {
        let plain = inflate(&BASE64.decode(text).map_err(|_| HdrError::Base64)?)?;
        check_plain(&plain)?;
        let histogram: Histogram<u64> = HdrReader::new()
            .deserialize(&mut plain.as_slice())
            .map_err(|_| HdrError::Encoding)?;
        if histogram.len() > HIGHEST_COUNT {
            return Err(HdrError::Encoding);
        }
        Ok(Self::from(&histogram))
    }
}

impl Serialize for Hdr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Hdr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::decode(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Reason why a string is not a latency histogram of smbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum HdrError {
    #[error("the histogram is not base64")]
    Base64,
    #[error("the histogram is not in HdrHistogram's V2 encoding with DEFLATE")]
    Encoding,
    #[error("the histogram does not span 1 ns to 1 h with 3 digits")]
    Bounds,
}

/// Highest number of operations in one histogram. It is far below `u64::MAX`. So
/// pooling all load points that fit into a file cannot overflow.
const HIGHEST_COUNT: u64 = 1 << 44;
/// Length that no histogram with smbench's bounds exceeds: 9 bytes for each of
/// 34,000 counts.
const PLAIN_LENGTH_MAX: u64 = 512 << 10;
/// Length of the header: cookie, payload length, normalizing offset, digits,
/// lowest, highest, ratio.
const PLAIN_HEADER: usize = 40;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// Decompresses DEFLATE. The reader of `hdrhistogram` is not used for this, because
/// it allocates the length stated in the data, up to 4 GiB.
fn inflate(encoded: &[u8]) -> Result<Vec<u8>, HdrError> {
    let (cookie, rest) = encoded.split_first_chunk().ok_or(HdrError::Encoding)?;
    let (length, deflated) = rest.split_first_chunk().ok_or(HdrError::Encoding)?;
    let stated = u64::from(u32::from_be_bytes(*length));
    if u32::from_be_bytes(*cookie) != COMPRESSED_COOKIE || stated != deflated.len() as u64 {
        return Err(HdrError::Encoding);
    }
    let mut plain = Vec::new();
    ZlibDecoder::new(deflated)
        .take(PLAIN_LENGTH_MAX)
        .read_to_end(&mut plain)
        .map_err(|_| HdrError::Encoding)?;
    Ok(plain)
}

/// Checks that `hdrhistogram`'s reader can process the bytes without overflow and
/// without allocating beyond smbench's bounds.
fn check_plain(plain: &[u8]) -> Result<(), HdrError> {
    let header: &[u8; PLAIN_HEADER] = plain.first_chunk().ok_or(HdrError::Encoding)?;
    let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| header[at + i]));
    let stated = word(0) & u64::from(u32::MAX);
    if stated != (plain.len() - PLAIN_HEADER) as u64 {
        return Err(HdrError::Encoding);
    }
    let digits = word(8) & u64::from(u32::MAX);
    if digits != u64::from(LATENCY_DIGITS) || word(16) != 1 || word(24) != HIGHEST_LATENCY_NS {
        return Err(HdrError::Bounds);
    }
    // Reject a run of i64::MIN empty buckets, because the reader would negate it.
    if plain[PLAIN_HEADER..].windows(9).any(|run| run == [0xFF; 9]) {
        return Err(HdrError::Encoding);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
