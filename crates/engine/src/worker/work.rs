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
use smbench_model::record::{Dropout, Recorder};
use smbench_model::sessions::Caching;
use tokio::sync::mpsc;

use crate::drivers::driver::{Connector, Driver};
use crate::drivers::dropped::Dropped;
use crate::machine::poller::Poller;
use crate::machine::poller::polled::PolledTimer;
use crate::machine::tasks::{Tasks, on_tokio};
use crate::machine::{clock, process, runtime};
use crate::worker::alarm::Alarm;
use crate::worker::assignment::{Assignment, WorkerMessage, WorkerParts, WorkerResult};
use crate::worker::booking::book_acknowledged;
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for};
use crate::worker::closing::close;
use crate::worker::event_instants::EventInstants;
use crate::worker::figures::Figures;
use crate::worker::gauge;
use crate::worker::group::Group;
use crate::worker::load_control::LoadControl;
use crate::worker::member::StageEnds;
use crate::worker::notes::NotePad;
use crate::worker::recorder_exchange::IntervalRecorder;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::setup;
use crate::worker::shared::Shared;
use crate::worker::supply::{Supplies, Supply};
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
pub(crate) fn work<C: Connector, T: Supplies>(
    assignment: Assignment,
    parts: WorkerParts<C, T>,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    mut start: Schedules,
) -> std::io::Result<Option<WorkerResult>> {
    let _gone = GoneOnDrop(reports);
    if let Some(cpu) = assignment.cpu {
        process::pin_to(cpu)?;
    }
    runtime::local()?.block_on(async {
        let (worker, parts) = (Rc::new(assignment), Rc::new(parts));
        let mut outcome = WorkerResult::default();
        let recording =
            IntervalRecorder::new(Arc::clone(&worker.exchange), worker.number, clock::now());
        let mut shared = Shared::new(recording)?;
        shared.pad = worker.notes.as_ref().map(|desk| {
            let pad = NotePad::new(desk, worker.generation_run, worker.number);
            Rc::new(RefCell::new(pad))
        });
        let shared = Rc::new(RefCell::new(shared));
        let setup = setup::set_up(&worker, &parts, &shared, reports, &start, &mut outcome);
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
pub(crate) async fn put_load_on<D: Driver, S: Supply>(
    worker: &Assignment,
    shared: &Rc<RefCell<Shared>>,
    schedule: Schedule,
    schedules: &Schedules,
    groups: Vec<Group<D, S>>,
    outcome: &mut WorkerResult,
) -> std::io::Result<Vec<Group<D, S>>> {
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
        count_setup(&mut shared.borrow_mut().recording.recorder, group);
    }
    tokio::time::sleep_until(clock::timer(schedule.begin)).await;
    let begin = clock::now();
    outcome.late = (!groups.is_empty()).then(|| begin.since(schedule.begin));
    let first = schedule.interval_at(begin);
    shared.borrow_mut().recording.turn(begin, first);
    let figures = Rc::new(RefCell::new(Figures::default()));
    let out = groups.iter().flat_map(Group::numbers).collect();
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
fn helpers<'a, G: 'a>(
    poller: &Rc<Poller>,
    control: &Rc<LoadControl>,
) -> std::io::Result<Tasks<'a, EndedGroup<G>>> {
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
fn push_cuts<'a, G: 'a>(
    tasks: &mut Tasks<'a, EndedGroup<G>>,
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
fn push_groups<'a, D: Driver, S: Supply + 'a>(
    running: &mut Tasks<'a, EndedGroup<Group<D, S>>>,
    worker: &Assignment,
    shared: &Rc<RefCell<Shared>>,
    control: &Rc<LoadControl>,
    figures: &Rc<RefCell<Figures>>,
    groups: Vec<Group<D, S>>,
) {
    let schedule = control.schedule();
    let caches = worker.plan.sessions.caching != Caching::None;
    let cost = worker.plan.largest_charge();
    let under_load = Rc::new(Cell::new(groups.len()));
    let events = EventInstants::of(&worker.plan.work.events, schedule.open);
    let stages = worker.plan.work.stages.as_ref();
    let stage_ends = stages.map(|stages| StageEnds::of(stages, schedule.open));
    for (number, mut group) in groups.into_iter().enumerate() {
        group.number = number;
        group.window_end = schedule.close;
        group.clients.begin = schedule.begin;
        group.clients.events = events.clone();
        // A host has a part of the clients, and a population too.
        let all = schedule.clients.max(worker.clients);
        group.driver.load_begins(schedule.begin, all);
        for member in &mut group.clients.members {
            member.observe(&schedule);
            if let Some(ends) = &stage_ends {
                member.divide(ends);
            }
            if control.alarm.is_some() {
                // The schedule counts the clients of all populations.
                let clients = schedule.clients.min(worker.clients);
                let starts = schedule.begin + worker.start(member.number, clients);
                let (clients, rate) = (worker.clients, worker.rate);
                member.begin(&worker.plan, &worker.mix, clients, rate, starts);
            }
        }
        let (shared, control) = (Rc::clone(shared), Rc::clone(control));
        let (figures, under_load) = (Rc::clone(figures), Rc::clone(&under_load));
        running.push(async move {
            let how = group.run(&shared, &control, &figures).await;
            let how = how.map_err(|reason| reason.with_cost(cost));
            let at = clock::now();
            under_load.set(under_load.get() - 1);
            if under_load.get() == 0 {
                control.end(&mut shared.borrow_mut().recording, at);
            }
            let clients: Vec<_> = group.numbers().collect();
            // Other clients may still wait for an oplock or a lease of this group.
            let group = match (&how, caches) {
                (Ok(()), false) => Some(group),
                (Ok(()), true) => {
                    // On the heap, because few run at a time while every task
                    // reserves the memory.
                    on_tokio(Box::pin(group.driver.close())).await;
                    None
                }
                (Err(_), _) => None,
            };
            EndedGroup {
                clients,
                group,
                how,
                at,
            }
        });
    }
}

/// The end of a group's load.
struct EndedGroup<G> {
    clients: Vec<u32>,
    /// The group, if it is still connected.
    group: Option<G>,
    how: Result<(), Dropped>,
    at: Nanos,
}

/// The end of the load of all groups.
struct Watched<G> {
    remaining: Vec<G>,
    dropouts: Vec<Dropout>,
    /// Instant at which the last operation ended.
    ended: Nanos,
}

/// Waits for all groups, and ends intervals if no group does. Groups that do not
/// react to a cancel are dropped. `out` has the numbers of all clients.
async fn watch<G>(
    mut running: Tasks<'_, EndedGroup<G>>,
    mut out: BTreeSet<u32>,
    shared: &RefCell<Shared>,
    control: &LoadControl,
) -> std::io::Result<Watched<G>> {
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

/// Counts the oplocks and leases granted, and the breaks, before the load.
fn count_setup<D, S>(recorder: &mut Recorder, group: &Group<D, S>) {
    for &(took, outcome) in &group.acknowledged {
        book_acknowledged(recorder, took, outcome);
    }
    let caching = recorder.caching_mut();
    for &granted in &group.granted {
        caching.count(granted);
    }
    caching.breaks += group.breaks;
}
