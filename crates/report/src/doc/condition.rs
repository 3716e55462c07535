//! The outcome of a condition of `--fail-if`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::plain;

/// A condition on the values of a run, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionDoc {
    /// The condition as the user wrote it.
    pub condition: String,
    /// Whether the run meets the condition.
    pub outcome: ConditionOutcome,
    /// The value in the unit of the limit; `null` if the run does not have it.
    pub value: Option<f64>,
    /// The limit: Mbit/s, operations per second, nanoseconds, microseconds of CPU time
    /// per operation, or failed operations.
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
    /// Another condition ended the run before this one could be judged.
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
