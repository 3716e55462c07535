//! The part of a document that says whether anything drifted in a soak.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::cpu::CpuScope;
use smbench_model::record::StageMemory;

use super::named::Named;

/// The trends of a soak: one load over a long time, with a load point per row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SoakDoc {
    /// Number of rows whose latencies count: the valid load points, and those where nothing is
    /// wrong but failed operations.
    pub rows: u32,
    /// Seconds from the start of the first row to the end of the last one.
    pub length_s: f64,
    /// Whether nothing drifted. `null` with too few rows to tell.
    pub steady: Option<bool>,
    /// What was looked at.
    pub trends: Vec<TrendDoc>,
}

/// The trend of one value over the rows of a soak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TrendDoc {
    /// The value: `latency_mean_ns`, `latency_p99_ns`, `ops_per_s`, `errors_per_s`,
    /// `server_memory_bytes`, `server_handles` or `own_memory_bytes`.
    pub name: String,
    /// The median of the first rows, a fifth of all.
    pub first: f64,
    /// The median of the last rows, a fifth of all.
    pub last: f64,
    /// The slope per hour (Theil-Sen: the median of the slopes between all pairs of rows).
    pub per_hour: f64,
    /// The slope per hour in percent of `first`; `null` if that is 0.
    pub percent_per_hour: Option<f64>,
    /// The probability of such an order of values without a trend (Mann-Kendall test, two sides).
    pub p: f64,
    /// Whether it drifted: `p` is below 0.001, and the change over the soak is more than a value
    /// that does not matter.
    pub drifts: bool,
    /// Seconds from the start of the soak from which the values are beyond those of the first
    /// rows; `null` unless it drifted.
    pub since_s: Option<f64>,
    /// Of `server_memory_bytes`: whether it is the memory of the server's processes, or all that
    /// is in use on its machine. Absent for other values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Named<CpuScope>>,
}

/// Memory and handles at the end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageMemoryDoc {
    /// Bytes of smbench, also swapped out, without those of files; `null` if the system does not tell.
    /// The sum of several machines.
    pub own_bytes: Option<u64>,
    /// The same of the server's processes, or all that is in use on its machine, as
    /// `server_cpu.scope` says; `null` if it is not known.
    pub server_bytes: Option<u64>,
    /// Files, sockets and other handles that the server's processes have open. Absent if they are
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_handles: Option<u64>,
}

impl From<StageMemory> for StageMemoryDoc {
    fn from(memory: StageMemory) -> Self {
        Self {
            own_bytes: memory.own,
            server_bytes: memory.server,
            server_handles: memory.server_handles,
        }
    }
}
