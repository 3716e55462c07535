//! The outcome of a condition of `--fail-if`. Not here: how it is judged
//! ([`crate::threshold`]).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::plain;

/// A condition on the values of a run, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ConditionDoc {
    /// The condition as the user wrote it.
    pub condition: String,
    /// Whether the value is beyond the limit, as in the conditions of `compare`.
    pub failed: bool,
    /// `passed`, `failed`, `skipped` (the run ended before) or `unknown` (the run does
    /// not have the value).
    pub outcome: ConditionOutcome,
    /// The metric by the name that conditions have.
    pub metric: String,
    /// The population. Absent for all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<String>,
    /// The operation; `null` for all operations.
    pub operation: Option<String>,
    /// The unit of the value and the limit: `Mbit/s`, `ops/s`, `ns`, `us` (CPU time per
    /// operation) or `errors`.
    pub unit: String,
    /// The value; `null` if the run does not have it.
    pub value: Option<f64>,
    /// The limit.
    pub limit: f64,
    /// The value and its place, with what makes it doubtful; or why there is none.
    pub found: String,
}

/// The outcome of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConditionOutcome {
    /// The value is within the limit.
    Passed,
    /// The value is beyond the limit.
    Failed,
    /// The run ended before the condition could be judged.
    Skipped,
    /// The run does not have the value.
    Unknown,
}

impl fmt::Display for ConditionDoc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            ConditionOutcome::Passed => "passed",
            ConditionOutcome::Failed => "failed",
            ConditionOutcome::Skipped => "skipped",
            ConditionOutcome::Unknown => "unknown",
        };
        let (condition, found) = (plain(&self.condition), plain(&self.found));
        write!(f, "{outcome:<9}{condition}: {found}")
    }
}
