//! One worker: an OS thread with its own runtime and its part of the clients.
//! While the load is running, workers share only the exchange and, in a `fileio` test,
//! the sequence of operations.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::event::EventAction;
use smbench_model::load::Ramp;
use smbench_model::record::Dropout;
use tokio::sync::mpsc;

use crate::machine::poller::Poller;
use crate::machine::poller::polled::PolledTimer;
use crate::machine::tasks::Tasks;
use crate::machine::{clock, process, runtime};
use crate::worker::alarm::Alarm;
use crate::worker::any_group::{AnyGroup, EndedGroup, GroupLoad, GroupStart, OpenGroups};
use crate::worker::assignment::{Assignment, WorkerMessage, WorkerResult};
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for};
use crate::worker::closing::close;
use crate::worker::event_instants::EventInstants;
use crate::worker::figures::Figures;
use crate::worker::gauge;
use crate::worker::load_control::LoadControl;
use crate::worker::member::StageEnds;
use crate::worker::notes::NotePad;
use crate::worker::recorder_exchange::IntervalRecorder;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::setup;
use crate::worker::shared::Shared;
use crate::worker::under_load::UnderLoad;

/// How often a worker without any answers checks whether an interval has ended.
const TURN_INTERVAL: Duration = Duration::from_millis(250);
/// Time limit for the log-off of all sessions of a worker together.
const TEAR_DOWN_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for that log-off if the load point was called off.
const CALLED_OFF_LIMIT: Duration = Duration::from_secs(5);

/// Reports that the worker is gone when it is dropped, even after a panic.
pub(crate) struct GoneOnDrop<'a>(pub(crate) &'a mpsc::UnboundedSender<WorkerMessage>);

impl Drop for GoneOnDrop<'_> {
    fn drop(&mut self) {
        // The coordinator may have ended already; the error is ignored.
        let _ = self.0.send(WorkerMessage::Gone);
    }
}

/// Carries out an assignment: sets up the sessions, waits for the schedule, runs
/// the load, and closes everything. Returns `None` if the load point was called
/// off.
pub(crate) fn work(
    assignment: Assignment,
    parts: &Rc<dyn OpenGroups>,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    mut start: Schedules,
) -> std::io::Result<Option<WorkerResult>> {
    let _gone = GoneOnDrop(reports);
    if let Some(cpu) = assignment.cpu {
        process::pin_to(cpu)?;
    }
    runtime::local()?.block_on(async {
        let worker = Rc::new(assignment);
        let mut outcome = WorkerResult::default();
        let recording =
            IntervalRecorder::new(Arc::clone(&worker.exchange), worker.number, clock::now());
        let mut shared = Shared::new(recording)?;
        shared.pad = worker.notes.as_ref().map(|desk| {
            let pad = NotePad::new(desk, worker.generation_run, worker.number);
            Rc::new(RefCell::new(pad))
        });
        let shared = Rc::new(RefCell::new(shared));
        let setup = setup::set_up(&worker, parts, &shared, reports, &start, &mut outcome);
        // On the heap, so that its memory is freed before the load.
        let waiting = match Box::pin(setup).await {
            Ok(waiting) => waiting,
            Err(error) => {
                // The coordinator may have ended already; the error is ignored.
                let _ = reports.send(WorkerMessage::SetupFailed(error));
                return Ok(None);
            }
        };
        let schedule = await_schedule(&mut start).await;
        let groups = waiting.until_begin(&shared, &mut outcome).await;
        let groups = match schedule {
            Some(schedule) => {
                let groups =
                    put_load_on(&worker, &shared, schedule, &start, groups, &mut outcome).await?;
                let after_load = worker.under_load.take().map(UnderLoad::end);
                let _ = reports.send(WorkerMessage::LoadEnded(outcome.ended));
                let groups = close(&worker, &shared, &start, groups, &mut outcome).await?;
                shared.borrow_mut().recording.leave(clock::now());
                // The log-off from a server that is gone takes long, and may be cut short.
                shared.borrow().turn_page();
                if let Some(after_load) = after_load {
                    after_load.until_read().await;
                }
                groups
            }
            None => {
                // Another worker has failed, so the log-off has a short limit.
                setup::tear_down(groups, &worker.cancel, CALLED_OFF_LIMIT).await;
                return Ok(None);
            }
        };
        setup::tear_down(groups, &worker.cancel, TEAR_DOWN_LIMIT).await;
        Ok(Some(outcome))
    })
}

/// Waits for the schedule; returns `None` if the load point is called off.
async fn await_schedule(start: &mut Schedules) -> Option<Schedule> {
    start
        .wait_for(Option::is_some)
        .await
        .ok()
        .and_then(|schedule| *schedule)
}

/// Runs the clients through the schedule; returns the groups that are still
/// connected.
pub(crate) async fn put_load_on(
    worker: &Assignment,
    shared: &Rc<RefCell<Shared>>,
    schedule: Schedule,
    schedules: &Schedules,
    groups: Vec<Box<dyn AnyGroup>>,
    outcome: &mut WorkerResult,
) -> std::io::Result<Vec<Box<dyn AnyGroup>>> {
    let plan = &*worker.plan;
    let poller = Rc::clone(&shared.borrow().sockets.poller);
    let alarm = if has_due_instants(worker) {
        Some(Rc::new(Alarm::new(&poller, groups.len())?))
    } else {
        None
    };
    let control = LoadControl::new(worker, schedule, schedules, alarm);
    let control = Rc::new(control);
    let mut running = helpers(&poller, &control)?;
    push_cuts(&mut running, worker, shared, schedule)?;
    for group in &groups {
        // Counted before the load, even if the load begins with the window.
        group.count_setup(&mut shared.borrow_mut().recording.recorder);
    }
    tokio::time::sleep_until(clock::timer(schedule.begin)).await;
    let begin = clock::now();
    outcome.late = (!groups.is_empty()).then(|| begin.since(schedule.begin));
    let first = schedule.interval_at(begin);
    shared.borrow_mut().recording.turn(begin, first);
    let figures = Rc::new(RefCell::new(Figures::default()));
    let out = groups.iter().flat_map(|group| group.numbers()).collect();
    push_groups(&mut running, worker, shared, &control, &figures, groups);
    let Watched {
        remaining,
        dropouts,
        ended,
    } = watch(running, out, shared, &control).await?;
    outcome.ended = ended;
    outcome.dropouts.extend(dropouts);
    outcome.figures.merge(&figures.borrow());
    outcome
        .workers
        .push(control.gauge.borrow_mut().record(worker.cpu, ended));
    if !plan.only().workload.closes() {
        // Handed in as early as possible, because the coordinator waits for it.
        shared.borrow_mut().recording.leave(clock::now());
    }
    Ok(remaining)
}

/// Returns whether the clock makes actions due, at least the first of a client.
fn has_due_instants(worker: &Assignment) -> bool {
    let plan = &*worker.plan;
    let replay = plan.only().workload.replay();
    let pauses =
        replay.is_some_and(|replay| replay.recording.has_pauses()) || worker.mix.has_delays();
    let is_shared = replay.is_some_and(|replay| replay.recording.is_shared());
    let only = plan.only();
    let joins_later = only.ramp != Ramp::Full || !only.start.is_zero();
    let leaves = plan.sessions.churn.rate.is_some();
    let follows = plan.work.lines().is_some();
    leaves || follows || is_shared || only.load.is_paced() || pauses || joins_later
}

/// Returns the tasks of a load without its groups: those that ring the alarm, measure this
/// thread, and follow the coordinator.
fn helpers(
    poller: &Rc<Poller>,
    control: &Rc<LoadControl>,
) -> std::io::Result<Tasks<'static, EndedGroup>> {
    let mut tasks = Tasks::new(poller)?;
    if let Some(alarm) = control.alarm.clone() {
        let control = Rc::clone(control);
        tasks.push_helper(async move { alarm.run(&control.cancel).await });
    }
    let (timer, measured) = (PolledTimer::new(poller)?, Rc::clone(control));
    tasks.push_helper(async move { gauge::watch(&timer, &measured.gauge).await });
    let control = Rc::clone(control);
    tasks.push_helper(async move {
        control.follow().await;
        Ok(())
    });
    Ok(tasks)
}

/// Adds the helper that cuts connections where an event asks for it, if one does.
fn push_cuts(
    tasks: &mut Tasks<'_, EndedGroup>,
    worker: &Assignment,
    shared: &RefCell<Shared>,
    schedule: Schedule,
) -> std::io::Result<()> {
    let events = worker.plan.work.events.iter();
    let drops = events.filter_map(|event| match event.action {
        EventAction::Drop(percent) => Some((schedule.open + event.at.into(), percent)),
        EventAction::Exec(_) | EventAction::Stop(_) | EventAction::Signal(_) => None,
    });
    let drops: Vec<_> = drops.collect();
    if drops.is_empty() {
        return Ok(());
    }
    let (sockets, before) = (shared.borrow().sockets.clone(), worker.groups_before);
    let timer = PolledTimer::new(&sockets.poller)?;
    tasks.push_helper(async move {
        for (at, percent) in drops {
            while clock::now() < at {
                timer.set(at.since(clock::now()))?;
                poll_fn(|_| timer.poll_expired()).await?;
            }
            sockets.cuts.cut(before, percent);
        }
        Ok(())
    });
    Ok(())
}

/// Adds a task for the load of each group.
fn push_groups(
    running: &mut Tasks<'_, EndedGroup>,
    worker: &Assignment,
    shared: &Rc<RefCell<Shared>>,
    control: &Rc<LoadControl>,
    figures: &Rc<RefCell<Figures>>,
    groups: Vec<Box<dyn AnyGroup>>,
) {
    let schedule = control.schedule();
    let under_load = Rc::new(Cell::new(groups.len()));
    let stages = worker.plan.work.stages.as_ref();
    let start = GroupStart {
        worker,
        control,
        events: EventInstants::of(&worker.plan.work.events, schedule.open),
        stage_ends: stages.map(|stages| StageEnds::of(stages, schedule.open)),
    };
    let cost = worker.plan.largest_charge();
    for (number, mut group) in groups.into_iter().enumerate() {
        group.start(number, &start);
        running.push(group.run(GroupLoad {
            shared: Rc::clone(shared),
            control: Rc::clone(control),
            figures: Rc::clone(figures),
            under_load: Some(Rc::clone(&under_load)),
            cost,
            caching: worker.plan.sessions.caching,
        }));
    }
}

/// The end of the load of all groups.
struct Watched {
    remaining: Vec<Box<dyn AnyGroup>>,
    dropouts: Vec<Dropout>,
    /// Instant at which the last operation ended.
    ended: Nanos,
}

/// Waits for all groups, and ends intervals if no group does. Groups that do not
/// react to a cancel are dropped. `out` has the numbers of all clients.
async fn watch(
    mut running: Tasks<'_, EndedGroup>,
    mut out: BTreeSet<u32>,
    shared: &RefCell<Shared>,
    control: &LoadControl,
) -> std::io::Result<Watched> {
    let mut watched = Watched {
        remaining: Vec::with_capacity(running.len()),
        dropouts: Vec::new(),
        ended: Nanos(0),
    };
    let mut ticks = tokio::time::interval(TURN_INTERVAL);
    let give_up = cancelled_for(&control.cancel, CANCEL_GRACE);
    tokio::pin!(give_up);
    loop {
        tokio::select! {
            ended = running.next() => match ended? {
                None => break,
                Some(EndedGroup { clients, group, how, at }) => {
                    watched.ended = watched.ended.max(at);
                    for client in clients {
                        out.remove(&client);
                        if let Err(reason) = &how {
                            let reason = reason.to_string();
                            let after = at.since(control.schedule().begin);
                            let after_s = Some(after.as_secs_f64());
                            watched.dropouts.push(Dropout { client, reason, after_s });
                        }
                    }
                    watched.remaining.extend(group);
                }
            },
            _ = ticks.tick() => {
                let shared = &mut *shared.borrow_mut();
                control.turn(&mut shared.recording, clock::now());
                shared.turn_page();
            }
            () = &mut give_up => {
                watched.ended = clock::now();
                watched.dropouts.extend(out.iter().map(|&client| Dropout {
                    client,
                    reason: "interrupted while waiting for an answer".to_owned(),
                    after_s: None,
                }));
                break;
            }
        }
    }
    Ok(watched)
}
