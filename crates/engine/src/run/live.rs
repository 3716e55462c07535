//! The small, coarse statistics behind live progress. Results never come from
//! here.

use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;

use crate::clock::Nanos;
use crate::record::HIGHEST_LATENCY_NS;
use crate::run::observe::Live;

/// One digit fewer than the real histograms: small enough to clear often.
const DIGITS: u8 = 2;

/// Operations since the last look.
pub(super) struct Interval {
    bytes: u64,
    latency: Histogram<u32>,
}

impl Default for Interval {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, DIGITS)
            .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"));
        Self { bytes: 0, latency }
    }
}

impl Interval {
    pub(super) fn record(&mut self, bytes: u32, service: Nanos) {
        self.bytes += u64::from(bytes);
        self.latency.saturating_record(service.0.max(1));
    }

    fn take_from(&mut self, other: &mut Self) {
        self.bytes += std::mem::take(&mut other.bytes);
        // Equal bounds: adding cannot fail.
        let added = self.latency.add(&other.latency);
        debug_assert!(added.is_ok());
        other.latency.reset();
    }
}

/// Where workers leave their intervals, a few times per second.
#[derive(Default)]
pub(super) struct Board(Mutex<Interval>);

impl Board {
    /// A worker's turn: adds its interval and empties it.
    pub(super) fn hand_in(&self, interval: &mut Interval) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take_from(interval);
    }

    /// The coordinator's turn: what came in over the last `elapsed`.
    pub(super) fn collect(&self, elapsed: Nanos) -> Live {
        let mut interval = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let live = Live {
            throughput_mbps: interval.bytes as f64 * 8.0 / 1e6 / seconds,
            ops_per_s: interval.latency.len() as f64 / seconds,
            p99: Nanos(interval.latency.value_at_quantile(0.99)).into(),
        };
        interval.bytes = 0;
        interval.latency.reset();
        live
    }
}
