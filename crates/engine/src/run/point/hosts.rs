//! The other hosts of a load point: their proxies among the workers, and their parts of the
//! result.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::bounds::PERIOD_MAX;
use smbench_model::part::ClientPart;
use smbench_model::progress::PointNumber;
use smbench_model::record::HostRecord;
use smbench_model::units::format_duration;

use super::populations::PopulationLoad;
use super::workers::{Reports, Workers};
use crate::hosts::proxy::{self, ProxyAssignment};
use crate::hosts::{HostChannel, PointOrder, is_too_far};
use crate::run::context::Context;
use crate::run::error::RunError;
use crate::worker::assignment::WorkerResult;
use crate::worker::fault::LoadFault;
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::schedule::{Schedule, Schedules};

/// Returns the other hosts that have clients at this load point, with the clients of each
/// population.
pub(super) fn others<'a>(
    context: &Context<'a>,
    populations: &[PopulationLoad],
) -> impl Iterator<Item = (&'a HostChannel, Vec<Vec<u32>>)> {
    let others = context.role.others();
    let of = others.len() as u32 + 1;
    let parts = others.iter().zip(1..of).map(move |(other, host)| {
        let part = ClientPart::Host { host, of };
        let populations = populations.iter();
        let clients = populations.map(|of_one| part.clients(of_one.load.clients).collect());
        (other, clients.collect::<Vec<Vec<u32>>>())
    });
    parts.filter(|(_, clients)| clients.iter().any(|of_one| !of_one.is_empty()))
}

impl Workers {
    /// Adds a proxy for each other host that has clients. Their numbers follow those of the own
    /// workers.
    pub(super) async fn with_proxies(
        self,
        context: &Context<'_>,
        point: PointNumber,
        populations: &[PopulationLoad],
        report: Reports,
        started: Schedules,
        exchange: &Arc<RecorderExchange>,
    ) -> Result<Self, RunError> {
        let mut all = self;
        let load = all.load;
        // A number for each population.
        let workers: usize = all.own.iter().sum();
        let numbers = (workers..).step_by(populations.len());
        for (number, (host, clients)) in numbers.zip(others(context, populations)) {
            let assignment = ProxyAssignment {
                plan: Arc::clone(&context.plan),
                host: host.clone(),
                order: PointOrder {
                    number: point.number,
                    load,
                },
                clients,
                exchange: Arc::clone(exchange),
                number,
                enough: Arc::clone(&all.enough),
                cancel: context.cancel.clone(),
                ends_within: ends_within(context),
            };
            let (report, started) = (report.clone(), started.clone());
            let spawned = std::thread::Builder::new()
                .name(format!("smbench-host-{number}"))
                .spawn(move || proxy::carry(assignment, &report, started));
            all = all.with(spawned).await?;
            all.count += 1;
        }
        Ok(all)
    }
}

/// Returns the longest time from the end of a load to the result of a host: for answers, what
/// comes after the load, and log-offs.
fn ends_within(context: &Context<'_>) -> Duration {
    let plan = &context.plan;
    let after_load = if plan.closes() {
        PERIOD_MAX
    } else {
        Duration::ZERO
    };
    2 * plan.limits.operation + Duration::from_secs(120) + after_load
}

/// Takes the parts of other hosts out of a result. Adds a fault to it if the first host began
/// its load late.
pub(super) fn take_others(
    outcome: &mut WorkerResult,
    context: &Context<'_>,
    schedule: &Schedule,
    late: Option<Nanos>,
) -> Vec<HostRecord> {
    let others = std::mem::take(&mut outcome.hosts);
    if !others.is_empty() {
        let windows = schedule.windows(context.plan.work.stages.as_ref());
        let missed = late.unwrap_or_default();
        let missed = missed.since(schedule.open - schedule.begin);
        let first = windows.first();
        outcome
            .faults
            .extend(first.and_then(|window| late_first(window, missed)));
    }
    others
}

/// Describes a first host whose window is not whole, because it began its load late.
fn late_first(window: &Range<Nanos>, missed: Nanos) -> Option<LoadFault> {
    is_too_far(missed, window).then(|| {
        let missed = format_duration(Duration::from_micros(missed.0 / 1000));
        let why = format!("the first host began its window {missed} late");
        LoadFault::within(why, window.start, window.end)
    })
}
