//! Metrics that can be compared, by their names in tables, and their values over
//! passes.
//!
//! Rates are means over passes. Response times are those of the operations of all
//! passes together. CPU time per operation is the mean of the busy cores over the mean
//! of the operations per second, so that the three figures of a table agree.

mod sample;

use std::fmt;

pub use sample::PassSample;

use serde::{Serialize, Serializer};
use smbench_model::kind::OpKind;
use smbench_model::record::LATENCY_DIGITS;

use crate::change::Measured;
use crate::doc::{ColumnsDoc, LoadPointDoc, OpDoc, SeriesDoc, is_of_window};
use crate::latency::LatencyDoc;
use crate::percentile::Percentile;
use crate::server_cpu::CpuOf;
use crate::statistics::Estimate;
use crate::units;

/// A metric of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Application bytes read and written, in Mbit/s (10^6 bits).
    Throughput,
    /// Operations per second.
    Operations,
    /// Mean response time in nanoseconds.
    Mean,
    /// Median of the response time in nanoseconds.
    P50,
    /// 90th percentile of the response time in nanoseconds.
    P90,
    /// 95th percentile of the response time in nanoseconds.
    P95,
    /// 99th percentile of the response time in nanoseconds.
    P99,
    /// 99.9th percentile of the response time in nanoseconds.
    P999,
    /// Longest response time in nanoseconds.
    Max,
    /// Microseconds of the generator's CPU per operation; only for all operations
    /// together.
    Cpu,
    /// Microseconds of the server's CPU per operation; only for all operations
    /// together. They are either of the serving processes or of the whole machine.
    /// The two cannot be compared.
    ServerCpu,
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A higher value is better.
    Higher,
    /// A lower value is better.
    Lower,
}

impl Metric {
    /// All metrics, in the order of a table.
    pub const ALL: [Self; 11] = [
        Self::Throughput,
        Self::Operations,
        Self::Mean,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::Max,
        Self::Cpu,
        Self::ServerCpu,
    ];

    /// Returns the name in tables and conditions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Operations => "ops/s",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Max => "max",
            Self::Cpu => "us/op",
            Self::ServerCpu => "server-us/op",
        }
    }

    /// Returns the metric with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        // Documents have the key `p999`.
        let name = if name == "p999" { "p99.9" } else { name };
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns the percentile that the metric is; `None` for other metrics.
    #[must_use]
    pub const fn percentile(self) -> Option<Percentile> {
        match self {
            Self::P50 => Some(Percentile::P50),
            Self::P90 => Some(Percentile::P90),
            Self::P95 => Some(Percentile::P95),
            Self::P99 => Some(Percentile::P99),
            Self::P999 => Some(Percentile::P999),
            _ => None,
        }
    }

    /// Returns the unit of the values.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Throughput => "Mbit/s",
            Self::Operations => "1/s",
            Self::Cpu | Self::ServerCpu => "us",
            _ => "ns",
        }
    }

    /// Returns whether the values are response times.
    #[must_use]
    pub const fn is_time(self) -> bool {
        !matches!(
            self,
            Self::Throughput | Self::Operations | Self::Cpu | Self::ServerCpu
        )
    }

    /// Returns whether the values are CPU time.
    #[must_use]
    pub const fn is_of_cpu(self) -> bool {
        matches!(self, Self::Cpu | Self::ServerCpu)
    }

    /// Returns the direction in which the metric improves.
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::Throughput | Self::Operations => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// Formats a value, with its unit if the name does not contain it.
    #[must_use]
    pub fn print(self, value: f64) -> String {
        match self {
            Self::Throughput => format!("{} Mbit/s", units::throughput(value)),
            Self::Operations => units::rate(value),
            Self::Cpu | Self::ServerCpu => units::cpu_us(value),
            _ => units::latency(value),
        }
    }

    /// Returns the value of the metric over passes at one number of clients, for all
    /// operations or for one kind. `None` unless each pass has the value, and it is
    /// the same quantity in all.
    #[must_use]
    pub fn measured(self, passes: &[&LoadPointDoc], op: Option<&str>) -> Option<Measured> {
        self.measured_in(&PassSample::new(passes, op))
    }

    /// Returns the same for passes whose response times may already be pooled.
    #[must_use]
    pub fn measured_in(self, sample: &PassSample<'_>) -> Option<Measured> {
        let (passes, op) = (sample.passes, sample.op);
        let values = self.of_passes(passes, op)?;
        let measured = match (passes, &values[..]) {
            ([pass], &[value]) => Measured::in_window(value, &self.intervals(pass, op)),
            _ => match self {
                Self::Throughput | Self::Operations => Measured::over_passes(&values)?,
                Self::Cpu | Self::ServerCpu => {
                    let without = (0..passes.len()).map(|at| {
                        let rest = [&passes[..at], &passes[at + 1..]].concat();
                        self.us_per_op(&rest)
                    });
                    let without: Vec<_> = without.collect::<Option<_>>()?;
                    Measured::over_all(self.us_per_op(passes)?, &values, &without)
                }
                Self::Max => Measured::longest(&values)?,
                _ => {
                    let times = sample.times()?;
                    let without = times.without.iter().map(|times| self.latency(times));
                    let without: Vec<_> = without.collect::<Option<_>>()?;
                    Measured::over_all(self.latency(&times.all)?, &values, &without)
                }
            },
        };
        Some(measured.with_resolution(self.resolution()))
    }

    /// Returns the mean of the passes' values; `None` as in [`Self::measured`].
    #[must_use]
    pub(crate) fn mean_of_passes(self, sample: &PassSample<'_>) -> Option<Measured> {
        let values = self.of_passes(sample.passes, sample.op)?;
        match values.len() {
            1 => self.measured_in(sample),
            _ => Some(Measured::over_passes(&values)?.with_resolution(self.resolution())),
        }
    }

    /// Returns the value of each pass.
    fn of_passes(self, passes: &[&LoadPointDoc], op: Option<&str>) -> Option<Vec<f64>> {
        if self.server_cpu_of(passes) == Some(CpuOf::Both) {
            return None;
        }
        let values = passes.iter().map(|pass| self.value(pass, op));
        values.collect()
    }

    /// Returns the number of cores that the generator kept busy, or with
    /// [`Self::ServerCpu`] the server: the mean over passes. `None` unless each pass
    /// has it, and it is the same quantity in all.
    #[must_use]
    pub fn cores_busy(self, passes: &[&LoadPointDoc]) -> Option<f64> {
        if self.server_cpu_of(passes) == Some(CpuOf::Both) {
            return None;
        }
        let cores = |pass: &&LoadPointDoc| {
            let busy_s = match self {
                Self::Cpu => pass.client.cpu_s(),
                Self::ServerCpu => pass.server_cpu.as_ref()?.busy_s?,
                _ => return None,
            };
            (pass.window_s > 0.0).then(|| busy_s / pass.window_s)
        };
        let cores: Vec<_> = passes.iter().map(cores).collect::<Option<_>>()?;
        Estimate::of(&cores).map(|cores| cores.mean)
    }

    /// Returns the microseconds of these cores per operation; `None` also without
    /// operations.
    #[must_use]
    pub fn us_per_op(self, passes: &[&LoadPointDoc]) -> Option<f64> {
        let rates: Vec<_> = passes.iter().map(|pass| pass.ops_per_s).collect();
        let rate = Estimate::of(&rates)?.mean;
        let cores = self.cores_busy(passes)?;
        (rate > 0.0).then(|| cores * 1e6 / rate)
    }

    /// Returns whether values from these passes are the same quantity.
    pub(crate) fn is_alike(self, one: &[&LoadPointDoc], other: &[&LoadPointDoc]) -> bool {
        let [one, other] = [one, other].map(|passes| self.server_cpu_of(passes));
        one.zip(other).is_none_or(|(one, other)| one == other)
    }

    /// Returns what the server's CPU time includes; `None` for other metrics.
    fn server_cpu_of(self, passes: &[&LoadPointDoc]) -> Option<CpuOf> {
        (self == Self::ServerCpu).then(|| CpuOf::over(passes.iter().copied()))?
    }

    /// Returns the error of a value because of the histogram's buckets, as a share
    /// of the value.
    fn resolution(self) -> f64 {
        match self {
            Self::Throughput | Self::Operations | Self::Cpu | Self::ServerCpu => 0.0,
            _ => 10_f64.powi(-i32::from(LATENCY_DIGITS)),
        }
    }

    fn value(self, point: &LoadPointDoc, op: Option<&str>) -> Option<f64> {
        let value = match op {
            None => self.value_of_all(point),
            Some(op) => {
                let window_s = is_of_window(op).then_some(point.window_s);
                self.value_of_op(point.ops.get(op)?, window_s)
            }
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }

    fn value_of_all(self, point: &LoadPointDoc) -> Option<f64> {
        match self {
            Self::Throughput => Some(point.throughput_mbps),
            Self::Operations => Some(point.ops_per_s),
            Self::Cpu => point.client.cpu_us_per_op,
            Self::ServerCpu => point.server_cpu.as_ref()?.us_per_op,
            _ => self.latency(point.latency_ns.as_ref()?),
        }
    }

    /// Returns the value for one kind of operation. Without a window there is no
    /// rate.
    fn value_of_op(self, op: &OpDoc, window_s: Option<f64>) -> Option<f64> {
        match self {
            Self::Throughput => Some(op.bytes as f64 * 8.0 / 1e6 / window_s?),
            Self::Operations => Some(op.count as f64 / window_s?),
            Self::Cpu | Self::ServerCpu => None,
            _ => self.latency(op.response_ns.as_ref()?),
        }
    }

    pub(crate) fn latency(self, latency: &LatencyDoc) -> Option<f64> {
        match self {
            Self::Mean => Some(latency.mean),
            Self::P50 => Some(latency.p50 as f64),
            Self::P90 => Some(latency.p90 as f64),
            Self::P95 => Some(latency.p95 as f64),
            Self::P99 => Some(latency.p99 as f64),
            Self::P999 => Some(latency.p999 as f64),
            Self::Max => Some(latency.max as f64),
            Self::Throughput | Self::Operations | Self::Cpu | Self::ServerCpu => None,
        }
    }

    /// Returns the amounts in each whole interval of the window. Empty if the
    /// series does not have them, as for means and percentiles of the window.
    fn intervals(self, point: &LoadPointDoc, op: Option<&str>) -> Vec<f64> {
        let amounts = |columns: &ColumnsDoc| match self {
            Self::Throughput => columns.bytes.clone(),
            Self::Operations => columns.count.clone(),
            _ => Vec::new(),
        };
        let Some(series) = &point.series else {
            return Vec::new();
        };
        let amounts = match (op, self) {
            // Bytes that the server copies on its own are in `all`, but are not
            // throughput.
            (None, Self::Throughput) => bytes_moved(series),
            (None, _) => amounts(&series.all),
            (Some(op), _) => series.ops.get(op).map(amounts).unwrap_or_default(),
        };
        // The last interval ends with the window, complete or not. The conversion
        // saturates.
        let whole = (point.window_s / series.interval_s + 1e-9) as usize;
        let whole = amounts.into_iter().take(whole);
        whole.map(|amount| amount as f64).collect()
    }
}

/// Returns the bytes read and written in each interval.
fn bytes_moved(series: &SeriesDoc) -> Vec<u64> {
    let carries = |name: &str| OpKind::named(name).and_then(OpKind::direction).is_some();
    let carrying = series.ops.iter().filter(|(name, _)| carries(name));
    let mut moved = vec![0; series.all.bytes.len()];
    for (_, columns) in carrying {
        for (sum, bytes) in moved.iter_mut().zip(&columns.bytes) {
            *sum += bytes;
        }
    }
    moved
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
