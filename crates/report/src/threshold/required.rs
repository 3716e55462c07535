//! Conditions that must hold, such as the limits of a search. Not here: those that must
//! not, as in `--fail-if`.

use super::{At, LimitSide, Threshold, ThresholdValue};
use crate::doc::{ConditionDoc, ConditionOutcome, RunDoc};
use crate::metric::Metric;

impl Threshold {
    /// Judges a condition that must hold: it passes if the value is beyond its limit.
    #[must_use]
    pub fn required(&self, doc: &RunDoc) -> ConditionDoc {
        let judged = self.judge_value(doc).unwrap_or_else(|reason| {
            self.open(
                ConditionOutcome::Unknown,
                &format!("cannot be judged: {reason}"),
            )
        });
        let outcome = match judged.outcome {
            ConditionOutcome::Failed => ConditionOutcome::Passed,
            ConditionOutcome::Passed => ConditionOutcome::Failed,
            other => other,
        };
        ConditionDoc {
            failed: outcome == ConditionOutcome::Failed,
            outcome,
            ..judged
        }
    }

    /// Returns the condition that less than this many percent of the operations fail.
    #[must_use]
    pub fn failed_below(percent: f64) -> Self {
        Self {
            text: format!("errors < {percent}%"),
            op: None,
            value: ThresholdValue::ErrorShare,
            place: At::Usual,
            side: LimitSide::Below,
            limit: percent,
        }
    }

    /// Returns whether the condition that must hold allows some operations to fail.
    #[must_use]
    pub fn allows_errors(&self) -> bool {
        self.op.is_none() && self.is_of_errors() && self.side == LimitSide::Below
    }

    /// Returns the metric and the limit in nanoseconds, if the condition is one on a response
    /// time of all operations.
    #[must_use]
    pub fn time_limit(&self) -> Option<(Metric, f64)> {
        match (self.value, &self.op) {
            (ThresholdValue::Metric(metric), None) if metric.is_time() => {
                Some((metric, self.limit))
            }
            _ => None,
        }
    }
}
