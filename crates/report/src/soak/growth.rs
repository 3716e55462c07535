//! Growth per hour of the values of a soak, for conditions.

use smbench_model::cpu::UnreadServer;

use super::SERVER_MEMORY;
use crate::doc::{RunDoc, TrendDoc};

/// A value whose growth per hour a condition may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrowthFigure {
    /// Its name in conditions.
    pub(crate) name: &'static str,
    /// The name of its trend.
    trend: &'static str,
}

impl GrowthFigure {
    const ALL: [Self; 7] = [
        Self::of("mean", "latency_mean_ns"),
        Self::of("p99", "latency_p99_ns"),
        Self::of("ops/s", "ops_per_s"),
        Self::of("errors", "errors_per_s"),
        Self::of("server-memory", SERVER_MEMORY),
        Self::of("server-handles", "server_handles"),
        Self::of("own-memory", "own_memory_bytes"),
    ];

    const fn of(name: &'static str, trend: &'static str) -> Self {
        Self { name, trend }
    }

    /// Returns the value with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|growing| growing.name == name)
    }

    /// Returns the names of all.
    pub(crate) fn names() -> String {
        Self::ALL.map(|growing| growing.name).join(", ")
    }

    /// Returns why the value cannot be read of the server, if it is one of the server.
    pub(crate) fn unread(self, unread: &UnreadServer) -> Option<&str> {
        match self.trend {
            SERVER_MEMORY => unread.memory.as_deref(),
            "server_handles" => unread.handles.as_deref(),
            _ => None,
        }
    }

    /// Returns the trend of its value, or why there is none.
    pub(crate) fn trend(self, doc: &RunDoc) -> Result<&TrendDoc, String> {
        let soak = doc.soak.as_ref().ok_or("the run is no soak")?;
        if soak.trends.is_empty() {
            return Err(soak.sentences().concat());
        }
        let mut trends = soak.trends.iter();
        let trend = trends.find(|trend| trend.name == self.trend);
        trend.ok_or_else(|| format!("no row has its {}", self.name))
    }
}
