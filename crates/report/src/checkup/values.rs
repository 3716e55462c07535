//! The values and the findings of a check-up, as its document has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value of a check-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckupCell {
    /// Name of the value, such as `sequential_read_8_in_flight`.
    pub name: String,
    /// The value; `null` if it could not be measured.
    pub value: Option<f64>,
    /// Its unit: `MB/s` (10^6 bytes), `ops/s` or `ms`.
    pub unit: String,
    /// Why it could not be measured, or may not be quoted. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_reason: Option<String>,
}

/// Something remarkable about a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckupFinding {
    /// Name of the kind: `latency_bound`, `signing_cost`, `encryption_cost`, `slow_flush`,
    /// `log_on_waits`, `link_full`, `missing_names`, `server_cpu_full` or `client_limited`.
    pub name: String,
    /// What was found, its evidence, and what to try next.
    pub text: String,
    /// The figure of the finding: a delay, a cost, a rate.
    pub value: f64,
    /// Its unit: `ms`, `%` or `MB/s`.
    pub unit: String,
}
