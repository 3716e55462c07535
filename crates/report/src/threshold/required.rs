//! Conditions that must hold, such as the limits of a search. Not here: those that must
//! not, as in `--fail-if`.

use super::{At, LimitSide, Threshold, ThresholdValue};
use crate::doc::{ConditionDoc, ConditionOutcome, LoadPointDoc, RunDoc, is_asked_for};
use crate::metric::Metric;
use crate::units::latency;

/// The limit of a response time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLimit {
    /// The kind of operation; `None` for all operations.
    pub op: Option<String>,
    /// The mean, a percentile or the maximum.
    pub metric: Metric,
    /// The limit.
    pub nanoseconds: f64,
}

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
            population: None,
            op: None,
            value: ThresholdValue::ErrorShare,
            place: At::Usual,
            side: LimitSide::Below,
            limit: percent,
        }
    }

    /// Returns whether one failure more would break a condition on the share of failures, if
    /// some failed.
    pub(crate) fn breaks_with_one_more(&self, point: &LoadPointDoc) -> bool {
        let is_share = self.allows_errors() && self.value == ThresholdValue::ErrorShare;
        let (failed, _) = failed_of_all(point);
        is_share && failed > 0 && (failed + 1) as f64 >= self.failures_allowed(point)
    }

    /// Returns the number of failures at the limit of their share.
    pub(crate) fn failures_allowed(&self, point: &LoadPointDoc) -> f64 {
        let (_, all) = failed_of_all(point);
        self.limit / 100.0 * all as f64
    }

    /// Returns whether both conditions say the same, however they are written.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        let same_text = Self {
            text: self.text.clone(),
            ..other.clone()
        };
        *self == same_text
    }

    /// Tells how much the load generator may have added to a response time, if the condition
    /// would have held without it.
    pub(crate) fn noise(&self, point: &LoadPointDoc) -> Option<String> {
        let TimeLimit {
            op: None,
            metric,
            nanoseconds: limit,
        } = self.time_limit(None)?
        else {
            return None;
        };
        let found = metric.latency(point.latency_ns.as_ref()?)?;
        let key = metric.name().replace('.', "");
        let noise = *point.latency_noise_ns.get(&key)? as f64;
        let is_explained = found >= limit && found - noise < limit;
        is_explained.then(|| {
            let (name, added) = (metric.name(), latency(noise));
            format!("smbench or its machine may have added {added} to the {name}")
        })
    }

    /// Returns whether the condition asks for slow answers, errors or a low throughput, so
    /// that more load does not break it.
    #[must_use]
    pub fn holds_under_more_load(&self) -> bool {
        let is_late = matches!(self.value, ThresholdValue::Late | ThresholdValue::LateShare);
        let is_better_low = self.is_of_errors() || is_late || self.value.is_time();
        let is_better_high = matches!(
            self.value,
            ThresholdValue::Metric(Metric::Throughput | Metric::Operations)
        );
        match self.side {
            LimitSide::Above => is_better_low,
            LimitSide::Below => is_better_high,
        }
    }

    /// Returns whether the condition that must hold allows some operations to fail.
    #[must_use]
    pub fn allows_errors(&self) -> bool {
        let is_of_all = self.population.is_none() && self.op.is_none();
        is_of_all && self.is_of_errors() && self.side == LimitSide::Below
    }

    /// Returns the limit, if the condition is one on a response time of the population of this
    /// name. If none is named, the response time is that of all clients.
    #[must_use]
    pub fn time_limit(&self, population: Option<&str>) -> Option<TimeLimit> {
        match self.value {
            _ if self.population.as_deref() != population => None,
            ThresholdValue::Metric(metric) if metric.is_time() => Some(TimeLimit {
                op: self.op.clone(),
                metric,
                nanoseconds: self.limit,
            }),
            _ => None,
        }
    }
}

/// Returns how many operations of a load point failed, and how many there were.
fn failed_of_all(point: &LoadPointDoc) -> (u64, u64) {
    let ops = point.whole.iter().filter(|(name, _)| is_asked_for(name));
    ops.fold((0, 0), |(failed, all), (_, op)| {
        (failed + op.errors, all + op.count + op.errors)
    })
}
