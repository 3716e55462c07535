//! Conditions on a load point that is still measured.

use std::time::Duration;

use smbench_model::load::LoadModel;
use smbench_model::plan::Plan;
use smbench_model::progress::MeasuredInterval;
use smbench_model::record::{OpRecord, Recorder};
use smbench_model::stages::StagesPurpose;

use super::{Threshold, ThresholdValue};
use crate::compare::{At, LimitSide};
use crate::doc::ConditionDoc;
use crate::latency::LatencyDoc;
use crate::metric::Metric;
use crate::units::{counted, seconds};

/// The measurements of a load point so far.
#[derive(Clone, Debug, Default)]
pub struct UnfinishedPoint {
    clients: u32,
    /// Number of the load point in the run.
    number: u32,
    ops: Recorder,
    /// Length of the window so far.
    length: Duration,
    /// Failed operations of earlier load points.
    earlier_errors: u64,
    /// Whether conditions without a place mean every load point.
    stands_for_run: bool,
    /// Whether the load follows lines, so that what is measured so far is of many levels.
    follows_lines: bool,
}

impl UnfinishedPoint {
    /// Begins with nothing measured of this plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut populations = plan.work.populations.iter();
        let is_paced = populations.all(|one| !matches!(one.load, LoadModel::Closed { .. }));
        let stages = plan.work.stages.as_ref();
        Self {
            follows_lines: stages.is_some_and(|stages| stages.purpose == StagesPurpose::Lines),
            stands_for_run: is_paced || plan.work.load_points().len() == 1,
            ..Self::default()
        }
    }

    /// Adds an interval. The first one of another load point begins anew.
    pub fn add(&mut self, interval: &MeasuredInterval<'_>) {
        if self.number != interval.point.number {
            self.earlier_errors += self.ops.all().errors;
            self.ops.clear();
            self.length = Duration::ZERO;
            (self.clients, self.number) = (interval.point.clients, interval.point.number);
        }
        self.ops.merge(interval.ops);
        self.length += interval.length;
    }

    /// Returns the length of the window so far.
    #[must_use]
    pub const fn length(&self) -> Duration {
        self.length
    }

    fn ops_of(&self, op: Option<&str>) -> Option<OpRecord> {
        match op {
            None => Some(self.ops.all()),
            Some(name) => {
                let mut ops = self.ops.ops();
                Some(ops.find(|(kind, _)| kind.name() == name)?.1.clone())
            }
        }
    }
}

impl Threshold {
    /// Returns whether an unfinished load point can decide the condition.
    #[must_use]
    pub fn can_abort(&self, point: &UnfinishedPoint) -> bool {
        if self.population.is_some() {
            // Intervals do not tell the populations apart.
            return false;
        }
        // A mean over levels beyond an upper limit is beyond it at one of them.
        let is_of_a_level = self.is_placed() || self.side == LimitSide::Below;
        if point.follows_lines && is_of_a_level {
            return false;
        }
        match (self.value, self.place) {
            // Frames are counted at the end of the load point.
            (
                ThresholdValue::Metric(Metric::Cpu | Metric::ServerCpu)
                | ThresholdValue::Event(_)
                | ThresholdValue::Late
                | ThresholdValue::LateShare
                | ThresholdValue::Growth(_),
                _,
            )
            | (_, At::Peak) => false,
            (ThresholdValue::Errors | ThresholdValue::ErrorShare, _) | (_, At::Clients(_)) => true,
            (ThresholdValue::Metric(_), At::Usual) => point.stands_for_run,
        }
    }

    /// Judges a load point that is still measured. Returns `None` for a condition that
    /// it cannot decide: one on the peak, on another load point or on CPU time.
    #[must_use]
    pub fn judge_unfinished(&self, point: &UnfinishedPoint) -> Option<ConditionDoc> {
        let is_elsewhere = matches!(self.place, At::Clients(clients) if clients != point.clients);
        if is_elsewhere || !self.can_abort(point) {
            return None;
        }
        let ops = point.ops_of(self.op.as_deref())?;
        let length_s = point.length.as_secs_f64();
        let found = match self.value {
            ThresholdValue::Late | ThresholdValue::LateShare => return None,
            ThresholdValue::Errors => {
                let is_of_run = self.place == At::Usual && self.op.is_none();
                let earlier = if is_of_run { point.earlier_errors } else { 0 };
                (ops.errors + earlier) as f64
            }
            ThresholdValue::ErrorShare => {
                let answered = ops.count().saturating_add(ops.errors);
                ops.errors as f64 * 100.0 / answered.max(1) as f64
            }
            ThresholdValue::Metric(Metric::Throughput) => {
                let bytes = match self.op {
                    None => point.ops.bytes_carried(),
                    Some(_) => ops.bytes,
                };
                bytes as f64 * 8.0 / 1e6 / length_s
            }
            ThresholdValue::Event(_) | ThresholdValue::Growth(_) => return None,
            ThresholdValue::Metric(Metric::Operations) => ops.count() as f64 / length_s,
            ThresholdValue::Metric(metric) => metric.latency(&LatencyDoc::of(ops.latency())?)?,
        };
        let place = counted(point.clients.into(), "client");
        let place = format!("after {} at {place}", seconds(length_s));
        Some(self.judged(found, &place))
    }
}
