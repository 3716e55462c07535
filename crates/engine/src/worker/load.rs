//! The load of a thread: its workers' groups, which wait for events together.
//!
//! Each worker has instructions, recordings and an end of its own. Groups of one worker are of one
//! population.

mod helpers;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::record::Dropout;

use crate::machine::clock;
use crate::machine::poller::polled::PolledTimer;
use crate::machine::tasks::Tasks;
use crate::worker::alarm::Alarm;
use crate::worker::any_group::{EndedGroup, GroupLoad, GroupStart, GroupsUnderLoad};
use crate::worker::assignment::WorkerMessage;
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for};
use crate::worker::closing::begin_closing;
use crate::worker::event_instants::EventInstants;
use crate::worker::figures::Figures;
use crate::worker::gauge::{self, Gauge};
use crate::worker::load_control::LoadControl;
use crate::worker::member::StageEnds;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::under_load::UnderLoad;
use crate::worker::work::LoadWorker;
use helpers::{has_due_instants, push_cuts, push_helpers};

/// How often a thread without any answers checks whether an interval has ended.
const TURN_INTERVAL: Duration = Duration::from_millis(250);

/// The load of a worker.
struct WorkerLoad {
    control: Rc<LoadControl>,
    figures: Rc<RefCell<Figures>>,
    phase: WorkerPhase,
    /// Number of groups whose phase has not ended.
    left: usize,
    under_load: Rc<GroupsUnderLoad>,
    /// Instant at which the last operation ended.
    ended: Nanos,
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerPhase {
    UnderLoad,
    /// Its clients do what comes after their load.
    Closing,
    Over,
}

/// Runs the clients of all workers through the schedule, and through their operations after the
/// load. The workers then have the groups that are still connected.
pub(crate) async fn put_load_on(
    workers: &mut [LoadWorker],
    schedule: Schedule,
    schedules: &Schedules,
) -> std::io::Result<()> {
    let Some(first) = workers.first() else {
        return Ok(());
    };
    let (cpu, cancel) = (first.assignment.cpu, first.assignment.cancel.clone());
    let poller = Rc::clone(&first.shared.borrow().sockets.poller);
    let mut loads = Vec::with_capacity(workers.len());
    let mut running = Tasks::new(&poller)?;
    let gauge = Rc::new(RefCell::new(Gauge::new(schedule)));
    for worker in &*workers {
        let load = WorkerLoad::new(worker, schedule, schedules, &gauge)?;
        push_helpers(&mut running, &load.control);
        push_cuts(&mut running, worker, schedule)?;
        for group in &worker.groups {
            // Counted before the load, even if the load begins with the window.
            group.count_setup(&mut worker.shared.borrow_mut().recording.recorder);
        }
        loads.push(load);
    }
    let (timer, measured) = (PolledTimer::new(&poller)?, Rc::clone(&gauge));
    running.push_helper(async move { gauge::watch(&timer, &measured).await });
    tokio::time::sleep_until(clock::timer(schedule.begin)).await;
    for (index, (load, worker)) in loads.iter().zip(&mut *workers).enumerate() {
        load.begin(index, worker, &mut running);
    }
    // No operation is sent before all workers have begun.
    let late = workers.iter().filter_map(|worker| worker.outcome.late);
    let late = late.max();
    for worker in &mut *workers {
        worker.outcome.late = worker.outcome.late.and(late);
    }
    let mut load = ThreadLoad {
        under_load: workers.len(),
        workers,
        loads,
        running,
        schedules,
        gauge,
        cpu,
    };
    load.end_empty();
    load.watch(cancelled_for(&cancel, CANCEL_GRACE)).await
}

impl WorkerLoad {
    fn new(
        worker: &LoadWorker,
        schedule: Schedule,
        schedules: &Schedules,
        gauge: &Rc<RefCell<Gauge>>,
    ) -> std::io::Result<Self> {
        let groups = &worker.groups;
        let alarm = if has_due_instants(&worker.assignment) {
            let poller = &worker.shared.borrow().sockets.poller;
            Some(Rc::new(Alarm::new(poller, groups.len())?))
        } else {
            None
        };
        let control = LoadControl::new(&worker.assignment, schedule, schedules, alarm, gauge);
        Ok(Self {
            control: Rc::new(control),
            figures: Rc::default(),
            phase: WorkerPhase::UnderLoad,
            left: groups.len(),
            under_load: Rc::new(GroupsUnderLoad::new(groups)),
            ended: Nanos(0),
        })
    }

    /// Begins the load of the worker with this index on its thread: adds a task for each group.
    fn begin(&self, index: usize, worker: &mut LoadWorker, running: &mut Tasks<'_, EndedGroup>) {
        let assignment = &*worker.assignment;
        let (control, begin) = (&self.control, clock::now());
        let schedule = control.schedule();
        let late = begin.since(schedule.begin);
        worker.outcome.late = (!worker.groups.is_empty()).then_some(late);
        let first = schedule.interval_at(begin);
        worker.shared.borrow_mut().recording.turn(begin, first);
        let stages = assignment.plan.work.stages.as_ref();
        let start = GroupStart {
            worker: assignment,
            control,
            events: EventInstants::of(&assignment.plan.work.events, schedule.open),
            stage_ends: stages.map(|stages| StageEnds::of(stages, schedule.open)),
        };
        let cost = assignment.plan.largest_charge();
        for (number, mut group) in worker.groups.drain(..).enumerate() {
            group.start(number, &start);
            running.push(group.run(GroupLoad {
                worker: index,
                shared: Rc::clone(&worker.shared),
                control: Rc::clone(control),
                figures: Rc::clone(&self.figures),
                under_load: Some(Rc::clone(&self.under_load)),
                goes_on: assignment.plan.reads_finally(),
                cost,
                caching: assignment.plan.sessions.caching,
            }));
        }
    }

    /// Takes down the end of a group's phase.
    fn take(&mut self, ended: EndedGroup, worker: &mut LoadWorker) {
        self.left -= 1;
        worker.groups.extend(ended.group);
        match self.phase {
            WorkerPhase::UnderLoad => {
                self.ended = self.ended.max(ended.at);
                let after = ended.at.since(self.control.schedule().begin);
                if let Err(reason) = &ended.how {
                    let reason = reason.to_string();
                    let dropouts = ended.clients.into_iter().map(|client| Dropout {
                        client,
                        reason: reason.clone(),
                        after_s: Some(after.as_secs_f64()),
                    });
                    worker.outcome.dropouts.extend(dropouts);
                }
            }
            WorkerPhase::Closing | WorkerPhase::Over => {
                if let Err(reason) = &ended.how {
                    worker.outcome.drop_out(ended.clients.into_iter(), reason);
                }
            }
        }
    }

    /// Ends the load of a worker, at the latest when it is interrupted.
    fn end(&mut self, worker: &mut LoadWorker) {
        let outcome = &mut worker.outcome;
        outcome.ended = self.ended;
        outcome.figures.merge(&self.figures.borrow());
        if !worker.assignment.plan.closes() {
            // Handed in as early as possible, because the coordinator waits for it.
            worker.shared.borrow_mut().recording.leave(clock::now());
        }
        worker.after_load = worker.assignment.under_load.take().map(UnderLoad::end);
        let _ = worker.reports.send(WorkerMessage::LoadEnded(self.ended));
    }

    /// Hands in everything that is left.
    fn leave(&mut self, worker: &LoadWorker) {
        self.phase = WorkerPhase::Over;
        let mut shared = worker.shared.borrow_mut();
        shared.record_final_reads();
        shared.recording.leave(clock::now());
        // The log-off from a server that is gone takes long, and may be cut short.
        shared.turn_page();
    }
}

/// The workers of a thread under load.
struct ThreadLoad<'a> {
    workers: &'a mut [LoadWorker],
    loads: Vec<WorkerLoad>,
    running: Tasks<'static, EndedGroup>,
    schedules: &'a Schedules,
    /// Number of workers under load. With the last one the measurement of the thread ends.
    under_load: usize,
    gauge: Rc<RefCell<Gauge>>,
    cpu: Option<usize>,
}

impl ThreadLoad<'_> {
    /// Ends the load of workers that have no group.
    fn end_empty(&mut self) {
        for index in 0..self.loads.len() {
            if self.loads[index].left == 0 {
                self.end_phase(index);
            }
        }
    }

    /// Waits for all groups, and ends intervals if no group does. Groups that do not
    /// react to a cancel are dropped when `give_up` ends.
    async fn watch(&mut self, give_up: impl Future<Output = ()>) -> std::io::Result<()> {
        let mut ticks = tokio::time::interval(TURN_INTERVAL);
        tokio::pin!(give_up);
        loop {
            tokio::select! {
                ended = self.running.next() => match ended? {
                    None => return Ok(()),
                    Some(ended) => {
                        let index = ended.worker;
                        self.loads[index].take(ended, &mut self.workers[index]);
                        if self.loads[index].left == 0 {
                            self.end_phase(index);
                        }
                    }
                },
                _ = ticks.tick() => self.turn(),
                () = &mut give_up => {
                    self.interrupt();
                    return Ok(());
                }
            }
        }
    }

    /// Ends intervals that have passed.
    fn turn(&self) {
        let workers = self.loads.iter().zip(&*self.workers);
        for (load, worker) in workers.filter(|(load, _)| load.phase != WorkerPhase::Over) {
            let shared = &mut *worker.shared.borrow_mut();
            shared.record_final_reads();
            load.control.turn(&mut shared.recording, clock::now());
            shared.turn_page();
        }
    }

    /// Ends the phase of a worker whose groups have all ended it.
    fn end_phase(&mut self, index: usize) {
        if self.loads[index].phase == WorkerPhase::UnderLoad {
            self.loads[index].end(&mut self.workers[index]);
            self.measure_thread();
            self.begin_closing(index);
        }
        let (load, worker) = (&mut self.loads[index], &mut self.workers[index]);
        if load.left == 0 {
            if load.phase == WorkerPhase::Closing {
                worker.outcome.closed = Some(clock::now());
            }
            load.leave(worker);
        }
    }

    /// Begins the operations after the load of a worker, if it has any.
    fn begin_closing(&mut self, index: usize) {
        let (load, worker) = (&mut self.loads[index], &mut self.workers[index]);
        let groups = worker.groups.len();
        let closing = begin_closing(
            index,
            worker,
            self.schedules,
            &load.control,
            &mut self.running,
        );
        if let Some(control) = closing {
            // Groups without a connection stay out of it.
            let left = groups - worker.groups.len();
            (load.phase, load.control, load.left) = (WorkerPhase::Closing, control, left);
        }
    }

    /// Takes down the load of the thread when a worker has ended its own, if it is the last one.
    fn measure_thread(&mut self) {
        self.under_load -= 1;
        if self.under_load == 0 {
            let ended = self.loads.iter().map(|load| load.ended).max();
            let ended = ended.unwrap_or(Nanos(0));
            let measured = self.gauge.borrow_mut().record(self.cpu, ended);
            self.workers[0].outcome.workers.push(measured);
        }
    }

    /// Ends everything now.
    fn interrupt(&mut self) {
        let now = clock::now();
        for (load, worker) in self.loads.iter_mut().zip(&mut *self.workers) {
            if load.phase == WorkerPhase::UnderLoad {
                load.ended = now;
                // Those that have ended their load may still answer breaks for these.
                let clients = load.under_load.take_clients().into_iter();
                let dropouts = &mut worker.outcome.dropouts;
                dropouts.extend(clients.map(|client| Dropout {
                    client,
                    reason: "interrupted while waiting for an answer".to_owned(),
                    after_s: None,
                }));
            }
        }
        // Each group then hands in what it has measured.
        self.running.drop_all();
        for index in 0..self.loads.len() {
            let (load, worker) = (&mut self.loads[index], &mut self.workers[index]);
            match load.phase {
                WorkerPhase::UnderLoad => load.end(worker),
                WorkerPhase::Closing => worker.outcome.closed = Some(now),
                WorkerPhase::Over => continue,
            }
            if load.phase == WorkerPhase::UnderLoad {
                self.measure_thread();
            }
            self.loads[index].leave(&self.workers[index]);
        }
    }
}
