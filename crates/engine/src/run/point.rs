//! One load point: starts the workers, keeps the time, merges their measurements.

mod begin;
mod cpu_reader;
mod events;
mod failed;
mod host_records;
mod hosts;
mod join;
mod judged;
mod populations;
mod set_up;
mod shown;
mod stages;
mod threads;
mod unanswered;
mod until_steady;
mod workers;

use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::event::EventRecord;
use smbench_model::hooks::HooksRecord;
use smbench_model::load::{PointLoad, SetupFailures};
use smbench_model::part::PartRecords;
use smbench_model::plan::Plan;
use smbench_model::progress::PointNumber;
use smbench_model::record::{
    Dropout, GeneratorRecord, HostRecord, LoadPointRecord, PopulationRecord, Series, SetupRecord,
    Tally,
};
use smbench_model::units::format_duration;
use smbench_model::work::Population;

use crate::hosts::INTERRUPTED;
use crate::machine::{clock, tcp};
use crate::run::Observer;
use crate::run::context::{Context, RunRole};
use crate::run::error::RunError;
use crate::run::health::CpuUsers;
use crate::worker::assignment::WorkerResult;
use crate::worker::fault::LoadFault;
use crate::worker::figures::PopulationEnd;
use crate::worker::schedule::Schedule;
use cpu_reader::Seen;
pub(super) use events::lab_server;
use failed::{excuse, objection_to};
use hosts::{others, take_others};
use join::EndedWorkers;
use judged::{judged, late_steps};
use populations::{exchange_for, population_loads, population_records};
use shown::tell;
use stages::{LoadEnd, StagePunctuality};
use unanswered::seconds;
use workers::{Observed, Workers};

/// Runs one load point. Also returns the part of this host alone, where it is kept.
pub(super) async fn measure(
    context: &Context<'_>,
    point: PointNumber,
    load: PointLoad,
    observer: &mut dyn Observer,
) -> Result<(LoadPointRecord, Option<LoadPointRecord>), RunError> {
    let plan = &context.plan;
    let populations = population_loads(context, load)?;
    let others = others(context, &populations).count();
    let exchange = Arc::new(exchange_for(context, &populations, others));
    let (mut workers, (gone, kept)) =
        Workers::start(context, point, load, &populations, &exchange).await?;
    let observed = workers.run(gone, kept, context, point, observer).await;
    let EndedWorkers {
        all: mut outcome,
        own: of_own,
        populations: mut ends,
    } = workers.join().await?;
    let (observed, cpu_reader, rows) = observed?;
    let seen = cpu_reader.seen().await.ok_or(RunError::Panicked)?;
    let point = PointNumber {
        clients: observed.clients,
        ..point
    };
    let (over, ops, series) = exchange.finish();
    for over in &over {
        tell(context, point, over, observer);
    }
    let part = context.role.upstream().map(|upstream| {
        let part = part_of_host(context, &outcome, &ends);
        (upstream, part)
    });
    let others = take_others(&mut outcome, context, &observed.schedule, of_own.late);
    let (observed, seen) = (&observed, &seen);
    let late = of_own.late;
    let own = exchange.finish_own().map(|(ops, series)| {
        let own = PointMeasurements {
            observed: &observed.of_own(of_own.ended),
            outcome: of_own,
            seen,
            ops,
            series,
            populations: Vec::new(),
        };
        own.into_own_part(context, load, point)
    });
    let of_populations = ends.iter_mut().map(|end| std::mem::take(&mut end.stages));
    let punctuality = StagePunctuality {
        all: outcome.figures.stages.clone(),
        populations: of_populations.collect(),
    };
    let load_end = LoadEnd {
        closed: observed.closed,
        last: outcome.ended,
    };
    let measured = PointMeasurements {
        observed,
        outcome,
        seen,
        ops,
        series,
        populations: population_records(context, &populations, &exchange, ends, observed),
    };
    let left = exchange.finish_stages();
    let faults = &measured.outcome.faults;
    let stages = rows.finish(left, load_end, &punctuality, faults).await;
    let mut record = measured.into_record(context, point);
    record.stages = stages;
    if let (RunRole::First(first), Some(own)) = (context.role, &own) {
        host_records::check_first(&mut record, own.window);
        let first = HostRecord::of(first.name(), own, late);
        host_records::add_hosts(&mut record, [first].into_iter().chain(others).collect());
    }
    let own = own.filter(|_| plan.generator.parts == PartRecords::Kept);
    if let Some((upstream, part)) = part {
        upstream.measured(part, &record);
    }
    Ok((record, own))
}

/// Returns what the first host gets of this one.
fn part_of_host(
    context: &Context<'_>,
    outcome: &WorkerResult,
    ends: &[PopulationEnd],
) -> WorkerResult {
    let mut part = outcome.clone();
    part.populations = ends.to_vec();
    let cancel = context.cancel;
    let interrupted = || LoadFault::since(INTERRUPTED, cancel.at());
    part.faults.extend(cancel.is_cancelled().then(interrupted));
    part
}

/// The measurements of a load point whose workers have ended.
struct PointMeasurements<'a> {
    observed: &'a Observed,
    outcome: WorkerResult,
    seen: &'a Seen,
    ops: Tally,
    series: Series,
    populations: Vec<PopulationRecord>,
}

impl PointMeasurements<'_> {
    /// Makes the record of the first host's own part of the clients.
    fn into_own_part(
        self,
        context: &Context<'_>,
        load: PointLoad,
        point: PointNumber,
    ) -> LoadPointRecord {
        let clients = match load.setup {
            SetupFailures::EndRun => context.own_clients(load),
            SetupFailures::CountUntil(_) => self.outcome.session_setup.len() as u32,
        };
        self.into_record(context, PointNumber { clients, ..point })
    }

    fn into_record(self, context: &Context<'_>, point: PointNumber) -> LoadPointRecord {
        let invalid = self.reason(context, point);
        let window = self.observed.window;
        let (client, machine_busy) = self.seen.usage(window);
        let [opening, closing] = self.seen.server.clone();
        let meter = &context.server_cpu;
        let server_cpu = meter.between(opening, closing, window, self.outcome.ended);
        let tcp = context.tcp.as_ref().map(|watch| {
            let [opening, closing] = self.seen.tcp.clone();
            watch.clone().and_then(|_| tcp::between(opening, closing))
        });
        let users = CpuUsers::of(
            context.whereabouts,
            machine_busy,
            window.as_secs_f64(),
            &client,
            &server_cpu,
        );
        let Self {
            observed,
            outcome,
            ops,
            mut series,
            populations,
            ..
        } = self;
        series.interval = observed.schedule.interval.into();
        series.reach(observed.schedule.intervals_until(observed.closed));
        let figures = outcome.figures;
        let clients_s = context.plan.work.clients_s(point.clients, window.into());
        let held_back_share = figures.held_back.as_secs_f64() / clients_s.max(1e-9);
        let steps = late_steps(&context.plan.work);
        let generator = GeneratorRecord {
            workers: outcome.workers,
            machine_busy,
            ..GeneratorRecord::default()
        };
        let stop = observed.schedule.stop.min(context.cancel.at());
        let after_load = |closed: Nanos| closed.since(outcome.ended.max(observed.closed)).into();
        let flushed = outcome.closed.filter(|_| context.plan.work.closes());
        LoadPointRecord {
            clients_at_start: point.clients,
            clients: point.clients,
            rate: point.rate,
            repeat: point.repeat,
            window_opened: clock::wall_at(observed.schedule.open),
            window: window.into(),
            invalid,
            generator: judged(generator, users, held_back_share, &ops, steps),
            ops,
            series,
            populations,
            hosts: Vec::new(),
            drain: outcome.ended.since(stop).into(),
            final_flush: flushed.map(after_load),
            fairness: figures.fairness,
            in_flight: figures.in_flight.into(),
            punctuality: figures.punctuality,
            clients_served: figures.served,
            dropouts: outcome.dropouts,
            client,
            server_cpu,
            tcp,
            counters: self.seen.counters.clone(),
            setup: SetupRecord {
                session: outcome.session_setup,
                connections: outcome.connections,
                elapsed: observed.setup.into(),
                attempts: observed.attempts.clone(),
            },
            credit_starved: figures.starved.into(),
            held_back: figures.held_back.into(),
            unsent: figures.unsent,
            hooks: HooksRecord::default(),
            stage: None,
            memory: None,
            stages: Vec::new(),
            events: self.observed.events.clone(),
        }
    }

    /// Returns the reason why the point is not valid, if there is one: first a command of an
    /// event that failed.
    fn reason(&self, context: &Context<'_>, point: PointNumber) -> Option<String> {
        let failed = self.observed.events.iter().find_map(EventRecord::failure);
        let failed = failed.filter(|_| !context.cancel.is_cancelled());
        failed.or_else(|| self.objection(context, point))
    }

    /// Returns what is wrong with the point, if anything is.
    fn objection(&self, context: &Context<'_>, point: PointNumber) -> Option<String> {
        let Self { outcome, ops, .. } = self;
        if let RunRole::First(first) = context.role
            && let Some(lost) = first.lost()
        {
            return Some(lost);
        }
        // A load with stages has them in its stages.
        let has_stages = context.plan.work.stages.is_some();
        if let Some(fault) = outcome.faults.first().filter(|_| !has_stages) {
            return Some(fault.why.clone());
        }
        let Schedule { open, close, .. } = self.observed.schedule;
        let cut_short = close - open > self.observed.window;
        // Operations after the load belong to the load point as well.
        let is_cut = cut_short || context.plan.closes();
        if is_cut && context.cancel.is_cancelled() {
            return Some(self.interrupted(&context.plan, context.cancel.at()));
        }
        let excuse = excuse(context);
        let mut populations = self.populations.iter();
        let in_one = populations.find_map(|population| {
            let why = lost_clients(&population.dropouts, population.clients);
            let why = why.or_else(|| objection_to(&population.ops, excuse))?;
            Some(format!("population {}: {why}", population.name))
        });
        if in_one.is_some() {
            return in_one;
        }
        if let Some(lost) = lost_clients(&outcome.dropouts, point.clients) {
            return Some(lost);
        }
        if let Some(wrong) = objection_to(ops, excuse) {
            return Some(wrong);
        }
        let limit = format_duration(context.plan.work.duration);
        let [population] = &context.plan.work.populations[..] else {
            // Of several, none ends with its work.
            return cut_short.then(|| "the window was cut short".to_owned());
        };
        match (population.workload.replay(), population.workload.fileio()) {
            // A replay with a number of loops ends when the clients have ended.
            (Some(replay), _) if replay.loops.is_some() => (!cut_short).then(|| {
                format!(
                    "the replay did not come to its end within {limit}: give it a longer duration"
                )
            }),
            _ if population.count.is_some() => (!cut_short).then(|| {
                format!("the clients did not come to their count within {limit}: give it a longer duration")
            }),
            // The test ends by the clock or by the count, whichever comes first.
            (_, Some(test)) if test.events.is_some() && (cut_short || test.time.is_some()) => None,
            (_, Some(test)) if test.events.is_some() => Some(format!(
                "the events did not come to their end within {limit}: give a time"
            )),
            _ => cut_short.then(|| "the window was cut short".to_owned()),
        }
    }

    /// Says when an interrupt ended the load point.
    fn interrupted(&self, plan: &Plan, at: Nanos) -> String {
        let Observed {
            schedule,
            closed,
            window,
            ..
        } = self.observed;
        let work = &plan.work;
        let may_end_sooner = work.until_steady.is_some() || work.populations.iter().any(has_amount);
        let most = if may_end_sooner { "at most " } else { "" };
        let planned = seconds(schedule.close - schedule.open);
        match *window {
            _ if plan.closes() && *closed < at => {
                format!("{INTERRUPTED} in the work after the window")
            }
            Nanos(0) => format!("{INTERRUPTED} before the window"),
            window => format!("{INTERRUPTED} after {} of {most}{planned}", seconds(window)),
        }
    }
}

/// Says how many clients dropped out, and why the first one did, if some did.
fn lost_clients(dropouts: &[Dropout], clients: u32) -> Option<String> {
    let first = dropouts.first()?;
    Some(format!(
        "{} of {clients} clients dropped out, client {} first: {}",
        dropouts.len(),
        first.client,
        first.reason
    ))
}

/// Returns whether the clients of a population end after an amount of work.
fn has_amount(population: &Population) -> bool {
    let fileio = population.workload.fileio();
    population.is_counted() || fileio.is_some_and(|test| test.events.is_some())
}
