//! The populations of a load point: their clients, workers and measurements.

use smbench_model::load::PointLoad;
use smbench_model::part::PartRecords;
use smbench_model::record::{PopulationRecord, Recorder, SeriesDetail};

use super::stages::stage_ends;
use super::workers::Observed;
use crate::run::context::{Context, PopulationContext, RunRole};
use crate::run::error::RunError;
use crate::worker::figures::PopulationEnd;
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::work::MakeOpenGroups;

/// The part of a population in a load point.
pub(super) struct PopulationLoad {
    pub(super) load: PointLoad,
    /// Number of workers on this host.
    pub(super) workers: usize,
}

/// Returns the part of each population in a load point.
pub(super) fn population_loads(
    context: &Context<'_>,
    load: PointLoad,
) -> Result<Vec<PopulationLoad>, RunError> {
    let loads = context.loads(load)?.into_iter();
    let populations = loads.zip(&context.populations);
    let populations = populations.map(|(load, population)| PopulationLoad {
        load,
        workers: workers_for(population, load),
    });
    Ok(populations.collect())
}

/// Returns the number of workers of a population with this load: one on each thread, and at most
/// one for each group of clients.
fn workers_for(population: &PopulationContext, load: PointLoad) -> usize {
    let plan = &population.plan;
    let here = plan.generator.part.clients(load.clients);
    let groups = plan.sessions.connections.groups(here).len();
    (plan.generator.threads as usize).min(groups)
}

/// Makes the exchange for the recorders of all workers of this host, and of `others` proxies
/// of other hosts.
pub(super) fn exchange_for(
    context: &Context<'_>,
    populations: &[PopulationLoad],
    others: usize,
) -> RecorderExchange {
    let detail = match context.plan.generator.parts {
        PartRecords::Kept => SeriesDetail::Latencies,
        PartRecords::Merged => SeriesDetail::Summaries,
    };
    let pairs = context.populations.iter().zip(populations);
    let mut workers = pairs.map(|(population, of_point)| {
        let only = population.plan.only();
        let empty = Recorder::expecting(only.workload.kinds(), &only.load);
        (of_point.workers, empty)
    });
    let exchange = match (workers.next(), workers.len()) {
        (Some((own, empty)), 0) => {
            let apart = (others > 0).then_some(own);
            RecorderExchange::new(own + others, empty, apart, detail)
        }
        (first, _) => {
            let all = first.into_iter().chain(workers);
            RecorderExchange::of_populations(all.collect(), others)
        }
    };
    let exchange = match &context.plan.work.stages {
        Some(stages) => exchange.divided(&stage_ends(stages)),
        None => exchange,
    };
    match context.role {
        RunRole::Other(_) => exchange.keeping_all(),
        RunRole::Alone | RunRole::First(_) => exchange,
    }
}

/// Returns the measurements of each population, if there are several.
pub(super) fn population_records(
    context: &Context<'_>,
    populations: &[PopulationLoad],
    exchange: &RecorderExchange,
    ends: Vec<PopulationEnd>,
    observed: &Observed,
) -> Vec<PopulationRecord> {
    let names = context.plan.work.populations.iter();
    let measured = exchange.finish_populations().into_iter().zip(ends);
    let populations = names.zip(populations).zip(measured);
    populations
        .map(|((population, of_point), ((ops, mut series), end))| {
            series.interval = observed.schedule.interval.into();
            series.reach(observed.schedule.intervals_until(observed.closed));
            PopulationRecord {
                name: population.name.clone().unwrap_or_default(),
                clients: of_point.load.clients,
                ops,
                series,
                clients_served: end.served,
                punctuality: end.punctuality,
                dropouts: end.dropouts,
            }
        })
        .collect()
}

/// One of the workers of a population.
pub(super) struct OwnWorker<'a> {
    pub(super) population: &'a PopulationContext,
    pub(super) load: PointLoad,
    /// Number of groups of clients in the populations before this one.
    pub(super) groups_before: u32,
    /// Its number among the workers of the population, and their number.
    pub(super) at: usize,
    pub(super) among: usize,
}

/// Returns the workers of each population, and what sets up their groups.
pub(super) fn workers_of<'a>(
    context: &'a Context<'_>,
    populations: &'a [PopulationLoad],
) -> impl Iterator<Item = (OwnWorker<'a>, MakeOpenGroups)> {
    let mut groups = 0;
    let populations = context.populations.iter().zip(populations);
    populations.flat_map(move |(population, of_point)| {
        let groups_before = groups;
        let connections = &population.plan.sessions.connections;
        groups += of_point
            .load
            .clients
            .div_ceil(connections.sessions_per_connection);
        let parts = (population.make_workers)(of_point.workers).into_iter();
        parts.enumerate().map(move |(at, parts)| {
            let worker = OwnWorker {
                population,
                load: of_point.load,
                groups_before,
                at,
                among: of_point.workers,
            };
            (worker, parts)
        })
    })
}
