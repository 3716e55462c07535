//! How the generator itself fared while it measured.

use hdrhistogram::Histogram;

use super::HIGHEST_LATENCY_NS;
use crate::clock::Nanos;

/// Significant decimal digits of a lateness; few are needed to judge one.
const LATENESS_DIGITS: u8 = 2;

/// An empty histogram of lateness in nanoseconds, 1 ns to one hour.
#[must_use]
pub fn lateness_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, LATENESS_DIGITS)
        .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"))
}

/// The generator in the window of a load point.
#[derive(Clone, Debug, Default)]
pub struct GeneratorRecord {
    /// Why the generator limited the load, so that throughput is not to be trusted, as
    /// a lower-case clause; `None` where it did not.
    pub limited: Option<String>,
    /// How a server on this machine kept the generator from its CPUs, as a lower-case
    /// clause: throughput is that of both together. `None` where it did not.
    pub shared_cpus: Option<String>,
    /// By how much percentiles of latency may be too high, because answers were
    /// handled late. Throughput is not affected. Empty where it does not matter.
    pub latency_noise: Vec<LatencyNoise>,
    /// That sockets took no more for a noteworthy part of the window and what it
    /// means, as a lower-case clause: no fault of the generator's. `None` where
    /// they did not, and where `limited` or `shared_cpus` leaves open whose fault it was.
    pub back_pressure: Option<String>,
    /// One for each thread, in their order.
    pub workers: Vec<WorkerRecord>,
    /// Share of the time of all CPUs of this machine that anyone used, 0 to 1, but
    /// for what went into looking at the server's; `None` where the system does
    /// not tell.
    pub machine_busy: Option<f64>,
}

impl GeneratorRecord {
    /// The lateness of all workers.
    #[must_use]
    pub fn lateness(&self) -> Histogram<u64> {
        let mut all = lateness_histogram();
        for worker in &self.workers {
            // Equal bounds: adding cannot fail.
            let added = all.add(&worker.lateness);
            debug_assert!(added.is_ok());
        }
        all
    }
}

/// A percentile of latency that may be too high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyNoise {
    /// The quantile, 0 to 1: 0.99 is p99.
    pub quantile: f64,
    /// Lateness of the generator at this quantile: the most by which the percentile may be
    /// too high.
    pub late: Nanos,
}

/// One worker thread in the window.
#[derive(Clone, Debug)]
pub struct WorkerRecord {
    /// The CPU it was kept on, where it was.
    pub cpu: Option<usize>,
    /// Share of the window in which it used a CPU, user and system, 0 to 1. Where its
    /// load ended before the window did: of the time until then.
    pub cpu_share: f64,
    /// Share in which it could have, but others had the CPUs; `None` where the
    /// system does not tell.
    pub waiting_share: Option<f64>,
    /// How late it saw events, in nanoseconds: those of a timer that comes the
    /// way answers come. One value for each tick.
    pub lateness: Histogram<u64>,
}
