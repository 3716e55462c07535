//! Conditions on the values of one run: `p95 > 5ms`, `errors > 0`.
//!
//! The values are those of the tables: rates are means over passes, response times are
//! pooled over them. Not here: conditions on changes ([`crate::compare`]).

mod event;
mod parse;
mod population;
mod required;
mod rows;
mod unfinished;
mod values;

use std::fmt;

use smbench_model::cpu::UnreadServer;
use smbench_model::plan::Plan;
use smbench_model::setting::Advice;
use smbench_model::stages::StagesPurpose;

use self::event::EventValue;
pub use self::required::TimeLimit;
pub use self::unfinished::UnfinishedPoint;
use crate::compare::{At, LimitSide};
use crate::curve::{CurveRow, total};
use crate::doc::{ConditionDoc, ConditionOutcome, OpDoc, OutcomeDoc, RunDoc, is_asked_for};
use crate::latency::{LatencyDoc, pool};
use crate::metric::Metric;
use crate::soak::GrowthFigure;
use crate::units::{counted, percent};

/// A value that makes a run fail.
///
/// Without a place, a rate or a time is taken at the peak, or at every load point of a
/// run without a peak, such as one at a rate. Errors are those of the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The condition as the user wrote it.
    text: String,
    /// The population; `None` for all clients.
    population: Option<String>,
    op: Option<String>,
    value: ThresholdValue,
    place: At,
    side: LimitSide,
    /// The limit in the unit of the value.
    limit: f64,
}

/// A value of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThresholdValue {
    Metric(Metric),
    /// Number of failed operations.
    Errors,
    /// Failed operations as a share of all, in percent.
    ErrorShare,
    /// What lost connections cost.
    Event(EventValue),
    /// Number of frames of streams that were late.
    Late,
    /// Late frames as a share of all, in percent.
    LateShare,
    /// Growth of a value of a soak, in percent per hour.
    Growth(GrowthFigure),
}

/// Error of a text that is not a valid threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} (for example 'p95 > 5ms' or 'errors > 0')")]
pub struct ThresholdError(String);

/// Error of a condition on a value that the plan does not measure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{condition}' cannot be judged: {reason}")]
pub struct NotMeasured {
    condition: String,
    reason: String,
}

impl ThresholdValue {
    fn named(name: &str) -> Option<Self> {
        match name {
            "errors" => Some(Self::Errors),
            "late" => Some(Self::Late),
            name => Metric::by_name(name).map(Self::Metric),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.name(),
            Self::Errors | Self::ErrorShare => "errors",
            Self::Event(value) => value.name(),
            Self::Late | Self::LateShare => "late",
            Self::Growth(of) => of.name,
        }
    }

    /// Returns the unit of values and limits.
    const fn unit(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Late => "frames",
            Self::ErrorShare | Self::LateShare => "%",
            Self::Growth(_) => "%/h",
            Self::Metric(Metric::Throughput) => "Mbit/s",
            Self::Metric(Metric::Operations) => "ops/s",
            Self::Metric(Metric::Cpu | Metric::ServerCpu) => "us",
            Self::Metric(_) => "ns",
            Self::Event(value) => value.unit(),
        }
    }

    /// Returns whether a load point without operations has the value too.
    const fn is_always_there(self) -> bool {
        match self {
            Self::Event(of) => of.is_always_there(),
            Self::Metric(metric) => metric.is_of_cpu(),
            _ => false,
        }
    }

    const fn is_of_streams(self) -> bool {
        matches!(self, Self::Late | Self::LateShare)
    }

    const fn is_time(self) -> bool {
        match self {
            Self::Metric(metric) => metric.is_time(),
            Self::Errors | Self::ErrorShare | Self::Late | Self::LateShare | Self::Growth(_) => {
                false
            }
            Self::Event(value) => value.is_time(),
        }
    }

    /// Returns why the value in a row must not be trusted, as the tail of a phrase.
    fn doubt(self, row: &CurveRow<'_>) -> &'static str {
        let is_noisy = || {
            row.passes
                .iter()
                .any(|pass| !pass.latency_noise_ns.is_empty())
        };
        match self {
            Self::Metric(metric) if !metric.is_of_cpu() && row.is_generator_limited() => {
                "; client-limited"
            }
            Self::Metric(metric) if metric.is_time() && row.is_stalled() => "; misses a stall",
            Self::Metric(metric) if metric.is_time() && is_noisy() => "; latency noise",
            Self::Late | Self::LateShare if row.is_generator_limited() => "; client-limited",
            Self::Event(of) if of.why_unknown(row).is_some() => "; not all clients came back",
            _ => "",
        }
    }

    fn print(self, value: f64) -> String {
        match self {
            Self::Metric(metric) => metric.print(value),
            Self::Errors => counted(value as u64, "error"),
            Self::Late => counted(value as u64, "frame"),
            Self::ErrorShare | Self::LateShare => percent(value),
            Self::Growth(_) if value.is_infinite() => "growth from 0".to_owned(),
            Self::Growth(_) => format!("{value:+.1} % per hour"),
            Self::Event(of) => of.print(value),
        }
    }

    /// Returns the value of a row, for all operations or for one kind.
    fn of(self, row: &CurveRow<'_>, op: Option<&str>) -> Option<f64> {
        let ops = || {
            let passes = row.passes.iter();
            passes.filter_map(move |pass| pass.ops.get(op.unwrap_or_default()))
        };
        let is_any = op.is_none() || ops().next().is_some();
        let latency = |of: &dyn Fn(&LatencyDoc) -> Option<f64>| match op {
            None => of(row.latency_ns.as_ref()?),
            Some(_) => of(&LatencyDoc::of(&pool(ops().map(OpDoc::response)))?),
        };
        match (self, op) {
            (Self::Errors, None) => Some(row.errors as f64),
            (Self::Errors, Some(_)) => is_any.then(|| total(ops().map(|op| op.errors)) as f64),
            (Self::ErrorShare, _) => error_share(row, op),
            (Self::Event(value), _) => value.of(row),
            (Self::Late, _) => row.streams().map(|streams| streams.late as f64),
            (Self::LateShare, _) => row.late_percent(),
            // It is that of all rows together.
            (Self::Growth(_), _) => None,
            (Self::Metric(Metric::Throughput), None) => Some(row.throughput_mbps),
            (Self::Metric(Metric::Throughput), Some(op)) => row
                .op_per_s(op, |op| op.bytes)
                .map(|bytes| bytes * 8.0 / 1e6),
            (Self::Metric(Metric::Operations), None) => Some(row.ops_per_s),
            (Self::Metric(Metric::Operations), Some(op)) => row.op_per_s(op, |op| op.count),
            (Self::Metric(Metric::Cpu), _) => row.cpu_us_per_op,
            (Self::Metric(metric @ Metric::ServerCpu), _) => metric.us_per_op(&row.passes),
            (Self::Metric(metric), _) => latency(&|doc| metric.latency(doc)),
        }
    }
}

/// Returns whether a load point of the plan has this number of clients. Stages have those at
/// their end.
fn has_clients(plan: &Plan, clients: u32) -> bool {
    let work = &plan.work;
    match &work.stages {
        None => work.load_points().contains(&clients),
        Some(stages) => {
            let mut ends = stages.places().map(|place| work.all_clients_after(&place));
            ends.any(|end| end == clients)
        }
    }
}

/// Returns the failed operations of a row as a share of all, in percent.
fn error_share(row: &CurveRow<'_>, op: Option<&str>) -> Option<f64> {
    let passes = row.passes.iter().chain(&row.invalid);
    let ops = passes.flat_map(|pass| &pass.whole);
    let ops: Vec<_> = ops
        .filter(|(name, _)| op.map_or_else(|| is_asked_for(name), |op| op == *name))
        .map(|(_, op)| op)
        .collect();
    let errors = total(ops.iter().map(|op| op.errors));
    let answered = total(ops.iter().map(|op| op.count)).saturating_add(errors);
    (answered > 0).then(|| errors as f64 * 100.0 / answered as f64)
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Threshold {
    /// Checks that a plan measures the value.
    ///
    /// # Errors
    ///
    /// [`NotMeasured`] if it has no such operation, or no such load point.
    pub fn check(&self, plan: &Plan) -> Result<(), NotMeasured> {
        match (&self.population, &self.op) {
            (Some(population), _) => self.check_population(plan, population)?,
            (None, Some(op)) => self.check_operation(plan, op)?,
            (None, None) => {}
        }
        if let ThresholdValue::Event(value) = self.value
            && let Some(reason) = value.missing(plan)
        {
            return Err(self.not_measured(reason));
        }
        let is_late = self.value.is_of_streams();
        let mut populations = plan.work.populations.iter();
        if is_late && populations.all(|one| one.load.stream().is_none()) {
            let reason = format!("profile {} has no stream", plan.work.profile);
            return Err(self.not_measured(reason));
        }
        let stages = plan.work.stages.as_ref();
        let is_soak = stages.is_some_and(|stages| stages.purpose == StagesPurpose::Soak);
        if matches!(self.value, ThresholdValue::Growth(_)) && !is_soak {
            let reason = Advice("a growth per hour is that of a soak; give @soak").to_string();
            return Err(self.not_measured(reason));
        }
        match self.place {
            At::Clients(clients) if !has_clients(plan, clients) => {
                let clients = counted(clients.into(), "client");
                Err(self.not_measured(format!("no load point has {clients}")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the value can be read of the server under load.
    ///
    /// # Errors
    ///
    /// [`NotMeasured`] with the reason why not.
    pub fn check_server(&self, unread: &UnreadServer) -> Result<(), NotMeasured> {
        let reason = match self.value {
            ThresholdValue::Growth(of) => of.unread(unread),
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(self.not_measured(reason.to_owned())))
    }

    fn not_measured(&self, reason: String) -> NotMeasured {
        NotMeasured {
            condition: self.text.clone(),
            reason,
        }
    }

    /// Returns the outcome in a run that ended too early.
    #[must_use]
    pub fn skipped(&self) -> ConditionDoc {
        self.open(ConditionOutcome::Skipped, "the run was not completed")
    }

    /// Judges a run, or what there is of an unfinished one. The outcome is unknown if the
    /// run does not have the value. It may lack the operation or the load point.
    #[must_use]
    pub fn judge(&self, doc: &RunDoc) -> ConditionDoc {
        let unknown = |reason: String| {
            let reason = format!("cannot be judged: {reason}");
            self.open(ConditionOutcome::Unknown, &reason)
        };
        let judged = self.judge_value(doc).unwrap_or_else(unknown);
        let grows = match self.value {
            ThresholdValue::Errors => true,
            ThresholdValue::Event(value) => value.grows(),
            _ => false,
        };
        // A stage that stays at its level may come after one that leads there.
        let may_stay = self.side == LimitSide::Below && doc.plan.stages.is_some();
        let is_final = judged.failed && (grows || self.is_placed() && !may_stay);
        // Another load point might have been the peak, or the worst one.
        if doc.outcome == OutcomeDoc::Complete || is_final {
            judged
        } else {
            self.skipped()
        }
    }

    pub(crate) const fn is_of_errors(&self) -> bool {
        matches!(
            self.value,
            ThresholdValue::Errors | ThresholdValue::ErrorShare
        )
    }

    const fn is_placed(&self) -> bool {
        matches!(self.place, At::Clients(_))
    }

    fn judged(&self, found: f64, place: &str) -> ConditionDoc {
        let is_beyond = match self.side {
            LimitSide::Below => found < self.limit,
            LimitSide::Above => found > self.limit,
        };
        let outcome = if is_beyond {
            ConditionOutcome::Failed
        } else {
            ConditionOutcome::Passed
        };
        ConditionDoc {
            value: Some(found),
            ..self.open(outcome, &format!("{} {place}", self.value.print(found)))
        }
    }

    fn open(&self, outcome: ConditionOutcome, found: &str) -> ConditionDoc {
        ConditionDoc {
            condition: self.text.clone(),
            failed: outcome == ConditionOutcome::Failed,
            outcome,
            metric: self.value.name().to_owned(),
            population: self.population.clone(),
            operation: self.op.clone(),
            unit: self.value.unit().to_owned(),
            value: None,
            limit: self.limit,
            found: found.to_owned(),
        }
    }
}
