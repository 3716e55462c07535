//! The quantities that are compared, by the names they have in tables.

use std::fmt;

use serde::{Serialize, Serializer};
use smbench_engine::record::{LATENCY_DIGITS, OpKind};

use crate::change::Measured;
use crate::doc::{ColumnsDoc, LoadPointDoc, OpDoc, SeriesDoc, is_of_window};
use crate::latency::LatencyDoc;
use crate::percentile::Percentile;
use crate::published::CpuOf;
use crate::units;

/// One number of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Application bytes read and written, in Mbit/s (10^6 bits).
    Throughput,
    /// Operations per second.
    Operations,
    /// Mean response time in nanoseconds.
    Mean,
    /// Median of the response time in nanoseconds; the next likewise.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Microseconds of the generator's CPU per operation; not of one kind of
    /// operation.
    Cpu,
    /// Microseconds of the server's CPU per operation; likewise. Of the processes that
    /// serve or of all that its machine did: the two do not compare.
    ServerCpu,
}

/// Which way a quantity had better go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Metric {
    /// All, in the order of a table.
    pub const ALL: [Self; 9] = [
        Self::Throughput,
        Self::Operations,
        Self::Mean,
        Self::P50,
        Self::P90,
        Self::P99,
        Self::P999,
        Self::Cpu,
        Self::ServerCpu,
    ];

    /// What it is called in tables and conditions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Operations => "ops/s",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Cpu => "us/op",
            Self::ServerCpu => "server-us/op",
        }
    }

    /// The metric of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The percentile that it is; `None` for all else.
    #[must_use]
    pub const fn percentile(self) -> Option<Percentile> {
        match self {
            Self::P50 => Some(Percentile::P50),
            Self::P90 => Some(Percentile::P90),
            Self::P99 => Some(Percentile::P99),
            Self::P999 => Some(Percentile::P999),
            _ => None,
        }
    }

    /// The unit of its values.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Throughput => "Mbit/s",
            Self::Operations => "1/s",
            Self::Mean | Self::P50 | Self::P90 | Self::P99 | Self::P999 => "ns",
            Self::Cpu | Self::ServerCpu => "us",
        }
    }

    /// Which way it had better go.
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::Throughput | Self::Operations => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// A value for people, with its unit where the name does not tell.
    #[must_use]
    pub fn print(self, value: f64) -> String {
        match self {
            Self::Throughput => format!("{} Mbit/s", units::throughput(value)),
            Self::Operations => units::rate(value),
            Self::Cpu | Self::ServerCpu => units::cpu_us(value),
            Self::Mean | Self::P50 | Self::P90 | Self::P99 | Self::P999 => units::latency(value),
        }
    }

    /// What passes at one number of clients say of it, of all operations or of
    /// one kind: the mean over passes. `None` unless each of them has it, of the same
    /// quantity.
    #[must_use]
    pub fn measured(self, passes: &[&LoadPointDoc], op: Option<&str>) -> Option<Measured> {
        if self.server_cpu_of(passes) == Some(CpuOf::Both) {
            return None;
        }
        let values = passes.iter().map(|pass| self.value(pass, op));
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        let measured = match (passes, &values[..]) {
            ([pass], &[value]) => Measured::in_window(value, &self.intervals(pass, op)),
            _ => Measured::over_passes(&values)?,
        };
        Some(measured.with_resolution(self.resolution()))
    }

    /// Whether values from these passes are of the same quantity.
    pub(crate) fn is_alike(self, one: &[&LoadPointDoc], other: &[&LoadPointDoc]) -> bool {
        let [one, other] = [one, other].map(|passes| self.server_cpu_of(passes));
        one.zip(other).is_none_or(|(one, other)| one == other)
    }

    /// Whose CPU it is; `None` of all else.
    fn server_cpu_of(self, passes: &[&LoadPointDoc]) -> Option<CpuOf> {
        (self == Self::ServerCpu).then(|| CpuOf::over(passes.iter().copied()))?
    }

    /// What a value may be off by, as a part of it, for the buckets of the
    /// histogram that it comes from.
    fn resolution(self) -> f64 {
        match self {
            Self::Throughput | Self::Operations | Self::Cpu | Self::ServerCpu => 0.0,
            Self::Mean | Self::P50 | Self::P90 | Self::P99 | Self::P999 => {
                10_f64.powi(-i32::from(LATENCY_DIGITS))
            }
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

    /// Without a window there is no rate.
    fn value_of_op(self, op: &OpDoc, window_s: Option<f64>) -> Option<f64> {
        match self {
            Self::Throughput => Some(op.bytes as f64 * 8.0 / 1e6 / window_s?),
            Self::Operations => Some(op.count as f64 / window_s?),
            Self::Cpu | Self::ServerCpu => None,
            _ => self.latency(op.response_ns.as_ref()?),
        }
    }

    fn latency(self, latency: &LatencyDoc) -> Option<f64> {
        match self {
            Self::Mean => Some(latency.mean),
            Self::P50 => Some(latency.p50 as f64),
            Self::P90 => Some(latency.p90 as f64),
            Self::P99 => Some(latency.p99 as f64),
            Self::P999 => Some(latency.p999 as f64),
            Self::Throughput | Self::Operations | Self::Cpu | Self::ServerCpu => None,
        }
    }

    /// What each whole interval of the window saw of it; empty where the series
    /// does not tell, as it does not of means and of percentiles of the window.
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
            // What the server copies by itself is no throughput, but is in all.
            (None, Self::Throughput) => bytes_moved(series),
            (None, _) => amounts(&series.all),
            (Some(op), _) => series.ops.get(op).map(amounts).unwrap_or_default(),
        };
        // The last interval ends with the window, whole or not. The conversion
        // saturates.
        let whole = (point.window_s / series.interval_s + 1e-9) as usize;
        let whole = amounts.into_iter().take(whole);
        whole.map(|amount| amount as f64).collect()
    }
}

/// Bytes read and written in each interval.
fn bytes_moved(series: &SeriesDoc) -> Vec<u64> {
    let carrying = series
        .ops
        .iter()
        .filter(|(name, _)| OpKind::named(name).and_then(OpKind::direction).is_some());
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
