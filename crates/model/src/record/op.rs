//! The operations of one kind that completed in a period, with histograms of their latencies.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The highest latency recorded, one hour in nanoseconds. Longer ones are recorded
/// as this.
pub const HIGHEST_LATENCY_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits every latency histogram keeps.
pub const LATENCY_DIGITS: u8 = 3;

/// Makes an empty latency histogram in nanoseconds, 1 ns to one hour.
#[must_use]
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, LATENCY_DIGITS)
        .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"))
}

/// Returns the non-empty buckets of a histogram: pairs of a latency in nanoseconds within the
/// bucket, and the bucket's count.
#[must_use]
pub fn buckets(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let buckets = histogram.iter_recorded();
    buckets
        .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
        .collect()
}

/// Operations of one kind, or of all, that completed in a period.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpRecord {
    /// Payload bytes of the operations that completed without error.
    pub bytes: u64,
    /// Operations that completed with an error status, or with wrong data under
    /// verification.
    pub errors: u64,
    /// Requests beyond one for each operation that completed without error, because
    /// operations were split.
    pub further_requests: u64,
    /// Names that the operations listed, without `.` and `..`.
    pub entries: u64,
    /// Time from sent to done in nanoseconds, of operations that completed without
    /// error.
    #[serde(with = "super::transfer")]
    pub service: Histogram<u64>,
    /// Time from due to done in nanoseconds, of the same operations. `None` if
    /// operations are due when they are sent.
    #[serde(with = "super::transfer::optional")]
    pub response: Option<Histogram<u64>>,
}

/// The times of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// From sent to done.
    pub service: Nanos,
    /// From due to done.
    pub response: Nanos,
}

impl From<Nanos> for Times {
    /// Makes the times of an operation that was due when it was sent.
    fn from(service: Nanos) -> Self {
        Self {
            service,
            response: service,
        }
    }
}

impl Default for OpRecord {
    fn default() -> Self {
        Self {
            bytes: 0,
            errors: 0,
            further_requests: 0,
            entries: 0,
            service: latency_histogram(),
            response: None,
        }
    }
}

impl OpRecord {
    /// Makes an empty record of operations that are due by the clock.
    pub(super) fn paced() -> Self {
        Self {
            response: Some(latency_histogram()),
            ..Self::default()
        }
    }

    /// Returns the number of operations that completed without error.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.service.len()
    }

    /// Returns the time that users wait, from due to done.
    #[must_use]
    pub fn latency(&self) -> &Histogram<u64> {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Adds another record.
    pub fn merge(&mut self, other: &Self) {
        if other.response.is_some() && self.response.is_none() {
            self.response = Some(self.service.clone());
        }
        if let Some(ours) = &mut self.response {
            // The bounds are equal, here and below, so adding cannot fail.
            let added = ours.add(other.latency());
            debug_assert!(added.is_ok());
        }
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.further_requests += other.further_requests;
        self.entries += other.entries;
        let added = self.service.add(&other.service);
        debug_assert!(added.is_ok());
    }

    pub(super) fn is_empty(&self) -> bool {
        // Notifications whose cause is not known are entries without a time.
        self.errors == 0 && self.entries == 0 && self.service.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.bytes = 0;
        self.errors = 0;
        self.further_requests = 0;
        self.entries = 0;
        // A reset touches a quarter of a megabyte, so it is done only when
        // necessary.
        if !self.service.is_empty() {
            self.service.reset();
            if let Some(response) = &mut self.response {
                response.reset();
            }
        }
    }
}
