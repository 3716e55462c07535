//! The values of load points, and the one by which a condition is judged.

use smbench_model::setting::Advice;

use super::{Threshold, ThresholdValue};
use crate::compare::{At, LimitSide};
use crate::curve::{Curve, CurveRow};
use crate::doc::{ConditionDoc, ConditionOutcome, RunDoc};
use crate::metric::Metric;

impl Threshold {
    /// Judges the load points of a run. The error says why they cannot be judged.
    pub(super) fn judge_value(&self, doc: &RunDoc) -> Result<ConditionDoc, String> {
        if let ThresholdValue::Growth(growing) = self.value {
            let trend = growing.trend(doc)?;
            let judged = self.judged(trend.growth(), "over the soak");
            let value = judged.value.filter(|value| value.is_finite());
            let judged = if judged.failed && !trend.is_sure() {
                // The slope of a few uneven rows is large per hour.
                let found = format!("{}, which may be chance", judged.found);
                self.open(ConditionOutcome::Passed, &found)
            } else {
                judged
            };
            return Ok(ConditionDoc { value, ..judged });
        }
        let curve = Curve::of(&doc.load_points);
        let (mut values, mut missing) = (Vec::new(), None);
        for row in self.rows(doc.pacing, &curve)? {
            // In a stage, a population may have no turn.
            let may_lack = row.load().stage.is_some() && !self.value.is_always_there();
            match self.value_of(row) {
                Some(value) => {
                    let place = format!("at {}{}", row.load(), self.value.doubt(row));
                    values.push((value, place));
                }
                None if may_lack => {}
                None => {
                    missing.get_or_insert_with(|| self.why_missing(row));
                }
            }
        }
        if let Some(missing) = missing {
            // What followed from an event at one load point is the same whatever the others had.
            let is_of_events = matches!(self.value, ThresholdValue::Event(_));
            let worst = self.worst(values).filter(|_| is_of_events);
            let worst = worst.map(|(found, place)| self.judged(found, &place));
            return worst.filter(|worst| worst.failed).ok_or(missing);
        }
        let (found, place) = match (self.value, self.place) {
            (ThresholdValue::Errors, At::Usual) => {
                let sum = values.iter().map(|(value, _)| value).sum();
                (sum, "at all load points".to_owned())
            }
            _ => self.worst(values).ok_or("no valid load point has it")?,
        };
        let judged = self.judged(found, &place);
        let is_valid = curve.rows.iter().all(CurveRow::is_valid);
        match self.value {
            // Operations that were lost with their client are no failed ones.
            ThresholdValue::Errors if judged.outcome == ConditionOutcome::Passed && !is_valid => {
                Err("a load point is not valid".to_owned())
            }
            _ => Ok(judged),
        }
    }

    fn value_of(&self, row: &CurveRow<'_>) -> Option<f64> {
        let op = self.op.as_deref();
        let value = match &self.population {
            None => self.value.of(row, op),
            Some(name) => self.value.of_population(row, name, op),
        };
        value.or_else(|| match (self.value, self.side) {
            // What is not known in full may be beyond the limit already.
            (ThresholdValue::Event(of), LimitSide::Above) => {
                of.at_least(row).filter(|least| *least > self.limit)
            }
            _ => None,
        })
    }

    fn why_missing(&self, row: &CurveRow<'_>) -> String {
        let why = match self.value {
            ThresholdValue::Event(of) => of.why_unknown(row),
            _ => None,
        };
        let why = why.unwrap_or_else(|| "it was not measured".to_owned());
        let remedy = Advice(match self.value {
            ThresholdValue::Metric(Metric::ServerCpu) => "; give @server_metrics",
            _ => "",
        });
        format!("{why} at {}{remedy}", row.load())
    }

    /// Returns the value that is closest to failing, or furthest beyond the limit.
    fn worst(&self, values: Vec<(f64, String)>) -> Option<(f64, String)> {
        let values = values.into_iter();
        match self.side {
            LimitSide::Below => values.min_by(|one, other| one.0.total_cmp(&other.0)),
            LimitSide::Above => values.max_by(|one, other| one.0.total_cmp(&other.0)),
        }
    }
}
