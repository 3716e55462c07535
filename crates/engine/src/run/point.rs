//! One load point: starts the workers, keeps the time, merges their measurements.

mod crew;
mod failed;
mod witness;

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::generator::Pinning;
use smbench_model::progress::{Point, Progress};
use smbench_model::record::{GeneratorRecord, LoadPointRecord, Recorder, SetupRecord, Tally};
use smbench_model::units::format_duration;
use tokio::sync::{mpsc, watch};

use crate::drivers::guest::GuestPanic;
use crate::machine::{clock, process};
use crate::run::context::Context;
use crate::run::error::RunError;
use crate::run::health::{CpuUsers, LateSteps};
use crate::run::{Observer, health};
use crate::worker::assignment::{Assignment, Outcome, Report};
use crate::worker::board::Board;
use crate::worker::schedule::Schedule;
use crate::worker::setup_rate::SetupRate;
pub(crate) use crate::worker::under_load::UnderLoad;
use crew::{Crew, Observed, tell};
use failed::failed;
use witness::{Witness, under_load};

/// Interval between two progress reports to the observer.
pub(super) const PROGRESS_INTERVAL: Nanos = Nanos(500_000_000);
/// Time from when the last session is ready to the first operation: enough for
/// every worker to learn the schedule.
const START_DELAY: Nanos = Nanos(20_000_000);

type Worker = JoinHandle<std::io::Result<Option<Outcome>>>;

/// Runs one load point.
pub(super) async fn measure(
    context: &Context<'_>,
    point: Point,
    repeat: u32,
    observer: &mut dyn Observer,
) -> Result<LoadPointRecord, RunError> {
    let plan = &context.plan;
    let empty = Recorder::expecting(plan.work.workload.kinds(), &plan.work.load);
    let board = Arc::new(Board::new(workers_for(context, point), empty));
    let (report, reports) = mpsc::unbounded_channel();
    let (start, started) = watch::channel(None);
    let (under_load, load) = under_load();
    let begin = clock::now();
    let hired = Hired {
        board: &board,
        under_load,
        report,
        started,
    };
    let (workers, refused) = spawn_workers(context, point, hired);
    if let Some(error) = refused {
        drop(start);
        join(workers).await?;
        return Err(error.into());
    }
    let mut crew = Crew {
        workers: workers.len(),
        reports,
        board: Arc::clone(&board),
    };
    observer.progress(&Progress::SettingUp {
        point,
        ready: 0,
        elapsed: Duration::ZERO,
    });
    let observed = async {
        let stood = crew.set_up(point, begin, context.cancel, observer).await?;
        let schedule = Schedule::new(clock::now() + START_DELAY, &context.plan);
        let (cancel, meter) = (context.cancel.clone(), context.server_cpu.clone());
        let witness = Witness::start(schedule, cancel, meter, load)?;
        start.send_replace(Some(schedule));
        let observed = crew
            .watch(context, schedule, (point, repeat), observer)
            .await;
        Ok::<_, RunError>((stood, observed, witness))
    }
    .await;
    // Without a schedule the workers end now; with one, they have ended.
    drop(start);
    let outcome = join(workers).await?;
    let (stood, observed, witness) = observed?;
    let seen = witness.seen().await.ok_or(RunError::Panicked)?;
    let (client, machine_busy) = seen.usage(observed.window);
    let [opening, closing] = seen.server;
    let server_cpu = context
        .server_cpu
        .between(opening, closing, observed.window);
    let (over, ops, mut series) = board.finish();
    for over in &over {
        tell(context, (point, repeat), over, observer);
    }
    series.interval = observed.schedule.interval.into();
    series.reach(observed.schedule.intervals_until(observed.closed));
    let invalid = objection(context, point, &observed, &outcome, &ops);
    let generator = GeneratorRecord {
        workers: outcome.workers.clone(),
        machine_busy,
        ..GeneratorRecord::default()
    };
    let window_s = observed.window.as_secs_f64();
    let users = CpuUsers::of(
        context.whereabouts,
        (machine_busy, window_s),
        &client,
        &server_cpu,
    );
    let clients_s = window_s * f64::from(point.clients);
    let held_back_share = outcome.figures.held_back.as_secs_f64() / clients_s.max(1e-9);
    let steps = match plan.work.load.is_paced() {
        true => LateSteps::RequestAndAnswer,
        false => LateSteps::Answer,
    };
    let generator = judged(generator, users, held_back_share, (&ops, steps));
    let figures = outcome.figures;
    Ok(LoadPointRecord {
        clients: point.clients,
        repeat,
        window: observed.window.into(),
        invalid,
        generator,
        ops,
        series,
        drain: outcome
            .ended
            .since(observed.schedule.stop.min(context.cancel.at()))
            .into(),
        final_flush: outcome
            .closed
            .map(|closed| closed.since(outcome.ended.max(observed.closed)).into()),
        fairness: figures.fairness,
        in_flight: figures.in_flight.into(),
        punctuality: figures.punctuality,
        clients_served: figures.served,
        dropouts: outcome.dropouts,
        client,
        server_cpu,
        setup: SetupRecord {
            session: outcome.session_setup,
            connections: outcome.connections,
            elapsed: stood.since(begin).into(),
        },
        credit_starved: figures.starved.into(),
        held_back: figures.held_back.into(),
        unsent: figures.unsent,
    })
}

/// Returns the clients of the load point before this one; `number` counts from 1
/// over all passes. The first load point of each pass has 0, so that passes are
/// alike.
fn clients_before(points: &[u32], number: u32) -> u32 {
    match (number - 1) as usize % points.len() {
        0 => 0,
        at => points[at - 1],
    }
}

/// Returns the number of workers: at most one per group of clients.
fn workers_for(context: &Context<'_>, point: Point) -> usize {
    let groups = context
        .plan
        .sessions
        .connections
        .groups(point.clients)
        .len();
    (context.plan.generator.threads as usize).min(groups)
}

/// State that the workers share with the coordinator.
struct Hired<'a> {
    board: &'a Arc<Board>,
    under_load: UnderLoad,
    report: mpsc::UnboundedSender<Report>,
    started: watch::Receiver<Option<Schedule>>,
}

/// Starts the workers of a load point. Returns those that started, and why the next
/// one did not.
fn spawn_workers(
    context: &Context<'_>,
    point: Point,
    hired: Hired<'_>,
) -> (Vec<Worker>, Option<std::io::Error>) {
    // Only the workers keep these senders. So the receivers notice when no worker
    // is left.
    let Hired {
        board,
        under_load,
        report,
        started,
    } = hired;
    let wanted = workers_for(context, point);
    let cpus = match context.plan.generator.pinning {
        Pinning::Free => Vec::new(),
        Pinning::Pinned => process::cpus(),
    };
    let begin = clock::now();
    let mut workers = Vec::with_capacity(wanted);
    for (worker, work) in (context.hire)(wanted).into_iter().enumerate() {
        let assignment = Assignment {
            plan: Arc::clone(&context.plan),
            mix: Arc::clone(&context.mix),
            generation_run: context.runs_before.wrapping_add(point.number),
            salt: context.salt,
            clients: point.clients,
            clients_before: clients_before(&context.plan.work.load_points, point.number),
            groups: context
                .plan
                .sessions
                .connections
                .groups(point.clients)
                .skip(worker)
                .step_by(wanted)
                .collect(),
            pace: SetupRate::new(
                begin,
                context.plan.generator.setup_rate,
                context.plan.sessions.connections.sessions_per_connection,
                (worker, wanted),
            ),
            cpu: cpus.get(worker % cpus.len().max(1)).copied(),
            board: Arc::clone(board),
            number: worker,
            under_load: Cell::new(Some(under_load.clone())),
            cancel: context.cancel.clone(),
        };
        let (report, started) = (report.clone(), started.clone());
        let spawned = std::thread::Builder::new()
            .name(format!("smbench-{worker}"))
            .spawn(move || work(assignment, &report, started));
        match spawned {
            Ok(handle) => workers.push(handle),
            Err(error) => return (workers, Some(error)),
        }
    }
    (workers, None)
}

/// Joins all workers without blocking the coordinator's own connections. If some
/// failed, the error is that of the first.
async fn join(workers: Vec<Worker>) -> Result<Outcome, RunError> {
    let mut merged = Outcome::default();
    let mut failed = None;
    for worker in workers {
        let joined = tokio::task::spawn_blocking(move || worker.join()).await;
        match joined {
            Ok(Ok(Ok(outcome))) => merged.merge(outcome.unwrap_or_default()),
            Ok(Ok(Err(error))) => failed = failed.or(Some(RunError::System(error))),
            Ok(Err(panic)) => failed = failed.or(Some(panicked(panic))),
            Err(_) => failed = failed.or(Some(RunError::Panicked)),
        }
    }
    merged.dropouts.sort_by_key(|dropout| dropout.client);
    match failed {
        Some(error) => Err(error),
        None => Ok(merged),
    }
}

/// Returns the error for a worker's panic: a bug of smbench, or of an embedding
/// program.
fn panicked(panic: Box<dyn Any + Send>) -> RunError {
    match panic.downcast::<GuestPanic>() {
        Ok(guest) => RunError::GuestPanicked {
            part: guest.part.name(),
            said: guest.said,
        },
        Err(_) => RunError::Panicked,
    }
}

/// Adds the verdicts to the generator's record.
fn judged(
    mut generator: GeneratorRecord,
    users: CpuUsers,
    held_back_share: f64,
    (ops, steps): (&Tally, LateSteps),
) -> GeneratorRecord {
    let verdict = health::judge(&generator, users);
    generator.limited = verdict.limited;
    generator.shared_cpus = verdict.shared_cpus;
    generator.latency_noise =
        health::latency_noise(&generator.lateness(), ops.window_all().latency(), steps);
    if generator.limited.is_none() && generator.shared_cpus.is_none() {
        generator.back_pressure = health::back_pressure(held_back_share);
    }
    generator
}

/// Returns the reason why the point is not valid, if there is one.
fn objection(
    context: &Context<'_>,
    point: Point,
    observed: &Observed,
    outcome: &Outcome,
    ops: &Tally,
) -> Option<String> {
    let cut_short = Nanos::from(context.plan.work.duration) > observed.window;
    // Operations after the load (final flushes) belong to the load point as well.
    let is_cut = cut_short || context.plan.work.workload.closes();
    if is_cut && context.cancel.is_cancelled() {
        return Some("interrupted".to_owned());
    }
    if let Some(first) = outcome.dropouts.first() {
        return Some(format!(
            "{} of {} clients dropped out, client {} first: {}",
            outcome.dropouts.len(),
            point.clients,
            first.client,
            first.reason
        ));
    }
    if let Some(failed) = failed(ops) {
        let first = ops.first_wrong_data().map_or_else(String::new, |first| {
            format!("; wrong data first at {first}")
        });
        return Some(format!("{failed}{first}"));
    }
    if ops.window_all().count() == 0 {
        return Some("no operation completed in the window".to_owned());
    }
    let limit = format_duration(context.plan.work.duration);
    let workload = &context.plan.work.workload;
    match (workload.replay(), workload.fileio()) {
        // A replay with a number of loops ends when the clients have ended.
        (Some(replay), _) if replay.loops.is_some() => (!cut_short).then(|| {
            format!("the replay did not come to its end within {limit}: give it a longer duration")
        }),
        // The test ends by the clock or by the count, whichever comes first.
        (_, Some(test)) if test.events.is_some() && (cut_short || test.time.is_some()) => None,
        (_, Some(test)) if test.events.is_some() => Some(format!(
            "the events did not come to their end within {limit}: give a time"
        )),
        _ => cut_short.then(|| "the window was cut short".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_begins_with_nobody_under_load() {
        let before = |points: &[u32]| -> Vec<u32> {
            (1..=points.len() as u32 * 2)
                .map(|number| clients_before(points, number))
                .collect()
        };
        assert_eq!(before(&[1, 4, 8]), [0, 1, 4, 0, 1, 4]);
        assert_eq!(before(&[64]), [0, 0]);
    }
}
