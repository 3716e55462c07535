//! Conditions on one population: `office p99 > 20ms`, `office read p99 > 20ms`.

use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::workload::Workload;

use super::{NotMeasured, Threshold, ThresholdValue};
use crate::curve::CurveRow;
use crate::metric::Metric;
use crate::population::PopulationRow;
use crate::units::plain;

impl ThresholdValue {
    /// Returns the value of a population in a row, for all its operations or for one kind.
    pub(super) fn of_population(
        self,
        row: &CurveRow<'_>,
        name: &str,
        op: Option<&str>,
    ) -> Option<f64> {
        let population = PopulationRow::named(row, name)?;
        match self {
            Self::Errors => population.errors(op).map(|errors| errors as f64),
            Self::ErrorShare => population.error_share(op),
            Self::Metric(Metric::Throughput) => population.throughput_mbps(op),
            Self::Metric(Metric::Operations) => population.ops_per_s(op),
            Self::Late => population.streams().map(|streams| streams.late as f64),
            Self::LateShare => population.streams()?.late_share.map(|share| share * 100.0),
            // Events are those of all clients.
            Self::Event(_) | Self::Growth(_) | Self::Metric(Metric::Cpu | Metric::ServerCpu) => {
                None
            }
            Self::Metric(metric) => metric.latency(&population.latency(op)?),
        }
    }
}

impl Threshold {
    /// Checks that a plan has the population and its operation.
    pub(super) fn check_population(&self, plan: &Plan, name: &str) -> Result<(), NotMeasured> {
        let names = || {
            let populations = plan.work.populations.iter();
            populations.filter_map(|one| one.name.as_deref())
        };
        if names().next().is_none() && self.op.is_none() {
            // The word is no population, and no operation either.
            return self.check_operation(plan, name);
        }
        let mut alone = plan.alone();
        let only = alone.find(|plan| plan.only().name.as_deref() == Some(name));
        match (only, &self.op) {
            (None, _) => {
                let all: Vec<_> = names().collect();
                let (profile, name) = (&plan.work.profile, plain(name));
                let only = if all.is_empty() {
                    String::new()
                } else {
                    format!(", only {}", all.join(", "))
                };
                let reason = format!("profile {profile} has no population {name}{only}");
                Err(self.not_measured(reason))
            }
            (Some(only), Some(op)) => self.check_operation(&only, op),
            (Some(only), None) if self.value.is_of_streams() => {
                let (profile, stream) = (&only.only().profile, only.only().load.stream());
                let none = || self.not_measured(format!("profile {profile} has no stream"));
                stream.map(drop).ok_or_else(none)
            }
            (Some(_), None) => Ok(()),
        }
    }

    /// Checks that a population of a plan has an operation.
    pub(super) fn check_operation(&self, plan: &Plan, op: &str) -> Result<(), NotMeasured> {
        let populations = || plan.work.populations.iter().map(|one| &one.workload);
        let is_there = |kind: OpKind| {
            let of = |workload: &Workload| {
                let is_flush = kind == OpKind::Flush && workload.flush_every_writes().is_some();
                workload.kinds().contains(&kind) || is_flush
            };
            !kind.is_asked_for() && !kind.is_step() || populations().any(of)
        };
        if OpKind::named(op).is_some_and(is_there) {
            return Ok(());
        }
        let mut all: Vec<OpKind> = Vec::new();
        for kind in populations().flat_map(Workload::kinds) {
            if !all.contains(&kind) {
                all.push(kind);
            }
        }
        let all: Vec<_> = all.iter().map(|kind| kind.name()).collect();
        let profile = match &plan.work.populations[..] {
            [only] if only.name.is_some() => &only.profile,
            _ => &plan.work.profile,
        };
        let (op, all) = (plain(op), all.join(", "));
        Err(self.not_measured(format!("profile {profile} has no {op}, only {all}")))
    }
}
