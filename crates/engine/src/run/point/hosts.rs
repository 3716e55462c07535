//! The other hosts of a load point: their proxies among the workers, and their parts in the
//! record.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::bounds::PERIOD_MAX;
use smbench_model::part::ClientPart;
use smbench_model::progress::PointNumber;
use smbench_model::record::{
    ClientUsage, GeneratorRecord, HostRecord, LatencyNoise, LoadPointRecord, StageRecord, Tally,
};
use smbench_model::units::format_duration;

use super::populations::PopulationLoad;
use super::workers::{Reports, Workers};
use crate::hosts::proxy::{self, ProxyAssignment};
use crate::hosts::{APART_MAX, HostChannel, PointOrder, is_too_far};
use crate::run::context::{Context, RunRole};
use crate::run::error::RunError;
use crate::worker::assignment::WorkerResult;
use crate::worker::fault::LoadFault;
use crate::worker::recorder_exchange::{HostStage, RecorderExchange};
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

/// Returns the longest time from the end of a load to the result of a host: for answers, final
/// flushes and log-offs.
fn ends_within(context: &Context<'_>) -> Duration {
    let plan = &context.plan;
    let flushes = if plan.work.closes() {
        PERIOD_MAX
    } else {
        Duration::ZERO
    };
    2 * plan.limits.operation + Duration::from_secs(120) + flushes
}

/// Adds the hosts to the record of a load point, which already has their operations. The first
/// host is the first one.
pub(super) fn add_hosts(record: &mut LoadPointRecord, hosts: Vec<HostRecord>) {
    record.client = usage(&hosts);
    record.generator = generator(&hosts);
    record.hosts = hosts;
}

/// Adds the hosts to the record of a stage, which already has their operations, and what the first
/// one used. `own` are the operations of that one.
pub(super) fn add_hosts_of_stage(
    record: &mut StageRecord,
    context: &Context<'_>,
    own: Option<&Tally>,
    others: Vec<HostStage>,
) {
    let (RunRole::First(first), Some(own)) = (context.role, own) else {
        return;
    };
    let clients: u32 = clients_here_at(context, record.place.to).into_iter().sum();
    let first = HostRecord::of_stage(first.name(), clients, own, record);
    let memory = others.iter().map(|other| other.own_memory);
    record.memory.own = memory.fold(record.memory.own, |all, one| Some(all? + one?));
    let others = others.into_iter().map(|other| other.host);
    record.hosts = std::iter::once(first).chain(others).collect();
    record.client = usage(&record.hosts);
    record.machine_busy = busiest(&record.hosts);
}

/// Returns how many clients of each population that this host carries are under load at a level.
pub(super) fn clients_here_at(context: &Context<'_>, level: f64) -> Vec<u32> {
    let populations = 0..context.plan.work.populations.len();
    populations
        .map(|index| context.plan.clients_here_at(index, level))
        .collect()
}

/// Takes back what the server's CPU was if the first host, which reads it, had no load at the
/// end of the window.
pub(super) fn check_first(record: &mut LoadPointRecord, own_window: Duration) {
    if own_window < record.window.mul_f64(1.0 - APART_MAX) {
        let reason = "the first host had no load at the end of the window";
        record.server_cpu.used = Err(reason.to_owned());
    }
}

/// Returns the highest share of CPUs that were busy.
fn busiest(hosts: &[HostRecord]) -> Option<f64> {
    let generators = hosts.iter().filter_map(|host| host.generator.as_ref());
    let busy = generators.filter_map(|generator| generator.machine_busy);
    busy.reduce(f64::max)
}

fn usage(hosts: &[HostRecord]) -> ClientUsage {
    let mut all = ClientUsage::default();
    for client in hosts.iter().filter_map(|host| host.client) {
        all.cpu_user += client.cpu_user;
        all.cpu_system += client.cpu_system;
        all.max_rss_bytes += client.max_rss_bytes;
    }
    all
}

/// Returns the state of all generators. If one was the limit, all together were.
fn generator(hosts: &[HostRecord]) -> GeneratorRecord {
    let first = |of: fn(&GeneratorRecord) -> &Option<String>| {
        let mut reasons = hosts.iter().filter_map(|host| {
            let reason = of(host.generator.as_ref()?).as_ref()?;
            Some(format!("{}: {reason}", host.name))
        });
        reasons.next()
    };
    let mut noise = BTreeMap::new();
    let generators = || hosts.iter().filter_map(|host| host.generator.as_ref());
    for of in generators().flat_map(|generator| &generator.latency_noise) {
        let late = noise.entry(of.quantile.to_bits()).or_insert(of.late);
        *late = of.late.max(*late);
    }
    let noise = noise.into_iter().map(|(quantile, late)| LatencyNoise {
        quantile: f64::from_bits(quantile),
        late,
    });
    let workers = generators().flat_map(|generator| &generator.workers);
    let limited = first(|generator| &generator.limited);
    // A limit leaves open what else there was, as in one process.
    let unless = |known: &Option<String>, of| known.is_none().then(|| first(of)).flatten();
    let shared_cpus = unless(&limited, |generator| &generator.shared_cpus);
    let known = limited.clone().or_else(|| shared_cpus.clone());
    GeneratorRecord {
        back_pressure: unless(&known, |generator| &generator.back_pressure),
        limited,
        shared_cpus,
        latency_noise: noise.collect(),
        workers: workers.cloned().collect(),
        machine_busy: busiest(hosts),
    }
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
