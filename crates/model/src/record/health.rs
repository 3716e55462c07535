//! The state of the generator during the measurement.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::HIGHEST_LATENCY_NS;
use crate::Nanos;

/// Significant decimal digits of a lateness. Few are enough to judge it.
const LATENESS_DIGITS: u8 = 2;

/// Makes an empty histogram of lateness in nanoseconds, 1 ns to one hour.
#[must_use]
pub fn lateness_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, LATENESS_DIGITS)
        .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"))
}

/// The state of the generator in the window of a load point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// One record for each thread, in their order.
    pub workers: Vec<WorkerRecord>,
    /// Share (0 to 1) of the time of all CPUs of this machine that all processes
    /// used. It does not include the work to read the server's CPU time. `None` if
    /// the system does not report it.
    pub machine_busy: Option<f64>,
}

impl GeneratorRecord {
    /// Returns the lateness of all workers.
    #[must_use]
    pub fn lateness(&self) -> Histogram<u64> {
        let mut all = lateness_histogram();
        for worker in &self.workers {
            // The bounds are equal, so adding cannot fail.
            let added = all.add(&worker.lateness);
            debug_assert!(added.is_ok());
        }
        all
    }
}

/// A percentile of latency that may be too high.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyNoise {
    /// The quantile, 0 to 1: 0.99 is p99.
    pub quantile: f64,
    /// Lateness of the generator at this quantile: the most by which the percentile may be
    /// too high.
    pub late: Nanos,
}

/// One worker thread in the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// The CPU that the thread was pinned to, if any.
    pub cpu: Option<usize>,
    /// Share of the window in which the thread used a CPU, user and system, 0 to 1.
    /// If its load ended before the window, the share is of the time until then.
    pub cpu_share: f64,
    /// Share in which the thread could run, but others used the CPUs. `None` if the
    /// system does not report it.
    pub waiting_share: Option<f64>,
    /// How late the thread saw events, in nanoseconds, one value per tick. The
    /// events are those of a timer, which arrive in the same way as answers.
    #[serde(with = "super::transfer")]
    pub lateness: Histogram<u64>,
}
