//! The percentiles of documents, and what they may be wrong about though throughput is
//! right.

use serde::Serialize;

use crate::doc::LoadPointDoc;

/// A percentile of response times that documents keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Percentile {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
}

impl Percentile {
    /// All, ascending.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    /// The lowest that may be too high in any of these passes, because answers were handled
    /// late; `None` where none is.
    #[must_use]
    pub fn lowest_noisy(passes: &[&LoadPointDoc]) -> Option<Self> {
        let is_noisy = |percentile: &Self| {
            let mut passes = passes.iter();
            passes.any(|pass| pass.latency_noise_ns.contains_key(percentile.key()))
        };
        Self::ALL.into_iter().find(is_noisy)
    }

    /// The key of documents.
    const fn key(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p999",
        }
    }

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P999 => "p99.9",
            percentile => percentile.key(),
        }
    }

    /// The percentage of operations.
    #[must_use]
    pub const fn percent(self) -> f64 {
        match self {
            Self::P50 => 50.0,
            Self::P90 => 90.0,
            Self::P95 => 95.0,
            Self::P99 => 99.0,
            Self::P999 => 99.9,
        }
    }

    /// Its name, with the percentiles above it: `p99 and higher`.
    #[must_use]
    pub fn and_higher(self) -> String {
        match self {
            Self::P999 => self.name().to_owned(),
            percentile => format!("{} and higher", percentile.name()),
        }
    }
}
