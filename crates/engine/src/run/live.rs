//! The small, coarse statistics behind live progress. Results never come from
//! here.

use std::sync::{Mutex, MutexGuard, PoisonError};

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
pub(super) struct Board {
    workers: u32,
    collected: Mutex<Collected>,
}

#[derive(Default)]
struct Collected {
    interval: Interval,
    /// Time covered, summed over workers.
    covered: Nanos,
}

impl Board {
    pub(super) fn new(workers: u32) -> Self {
        Self {
            workers,
            collected: Mutex::default(),
        }
    }

    /// A worker's turn: adds its interval, which covers the last `elapsed`, and
    /// empties it.
    pub(super) fn hand_in(&self, interval: &mut Interval, elapsed: Nanos) {
        let mut collected = self.lock();
        collected.interval.take_from(interval);
        collected.covered = collected.covered + elapsed;
    }

    /// The coordinator's turn: what came in since it last asked, per second of
    /// the time it covers.
    pub(super) fn collect(&self) -> Live {
        let mut collected = self.lock();
        let seconds = collected.covered.as_secs_f64() / f64::from(self.workers);
        collected.covered = Nanos(0);
        let interval = &mut collected.interval;
        let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let live = Live {
            throughput_mbps: per_second(interval.bytes as f64 * 8.0 / 1e6),
            ops_per_s: per_second(interval.latency.len() as f64),
            p99: Nanos(interval.latency.value_at_quantile(0.99)).into(),
        };
        interval.bytes = 0;
        interval.latency.reset();
        live
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_time_that_was_handed_in() {
        let board = Board::new(2);
        let mut interval = Interval::default();
        for _ in 0..2 {
            for _ in 0..1000 {
                interval.record(1250, Nanos(2_000_000));
            }
            board.hand_in(&mut interval, Nanos(250_000_000));
        }
        let live = board.collect();
        assert!((live.ops_per_s - 8000.0).abs() < 1e-6);
        assert!((live.throughput_mbps - 80.0).abs() < 1e-6);
        assert!(live.p99.as_millis().abs_diff(2) <= 1);
        assert_eq!(board.collect(), Live::default());
    }
}
