//! One thread of the load: it has a runtime of its own, and runs one or more workers. A worker
//! has a part of the clients of one population. While the load is running, threads share only the
//! exchange and, in a `fileio` test, the sequence of operations.
//!
//! The workers of a thread wait for events together ([`super::load`]). With a thread for each of
//! them, several populations would have more threads than there are CPUs.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::machine::cancel::Cancel;
use crate::machine::poller::Poller;
use crate::machine::{clock, process, runtime};
use crate::worker::any_group::{AnyGroup, OpenGroups};
use crate::worker::assignment::{Assignment, NumberedResult, WorkerMessage, WorkerResult};
use crate::worker::cancelled::resume;
use crate::worker::load::put_load_on;
use crate::worker::notes::NotePad;
use crate::worker::recorder_exchange::IntervalRecorder;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::setup;
use crate::worker::shared::Shared;
use crate::worker::under_load::AfterLoad;
use crate::worker::waiting::WaitingGroups;

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

/// Makes what sets up the groups of a worker, on the worker's thread.
pub(crate) type MakeOpenGroups = Box<dyn FnOnce() -> Rc<dyn OpenGroups> + Send>;

/// A worker that its thread is to make.
pub(crate) struct AssignedWorker {
    pub(crate) assignment: Assignment,
    /// Makes what sets up its groups.
    pub(crate) open_groups: MakeOpenGroups,
}

/// A worker on its thread.
pub(crate) struct LoadWorker {
    pub(super) assignment: Rc<Assignment>,
    pub(super) shared: Rc<RefCell<Shared>>,
    pub(super) reports: mpsc::UnboundedSender<WorkerMessage>,
    /// The groups that are connected, while none of them is under load.
    pub(crate) groups: Vec<Box<dyn AnyGroup>>,
    /// Set when its load has ended.
    pub(super) after_load: Option<AfterLoad>,
    pub(crate) outcome: WorkerResult,
}

impl LoadWorker {
    /// Makes a worker without sessions. Its load waits for events of `poller`.
    pub(crate) fn new(
        assignment: Assignment,
        poller: &Rc<Poller>,
        reports: &mpsc::UnboundedSender<WorkerMessage>,
    ) -> Self {
        let recording = IntervalRecorder::new(
            Arc::clone(&assignment.exchange),
            assignment.number,
            clock::now(),
        );
        let mut shared = Shared::new(recording, poller);
        shared.pad = assignment.notes.as_ref().map(|desk| {
            let pad = NotePad::new(desk, assignment.generation_run, assignment.number);
            Rc::new(RefCell::new(pad))
        });
        Self {
            assignment: Rc::new(assignment),
            shared: Rc::new(RefCell::new(shared)),
            reports: reports.clone(),
            groups: Vec::new(),
            after_load: None,
            outcome: WorkerResult::default(),
        }
    }

    /// Returns where the sockets of its load are.
    #[cfg(test)]
    pub(crate) fn sockets(&self) -> crate::drivers::driver::LoadSockets {
        self.shared.borrow().sockets.clone()
    }

    /// Sets up the sessions. Returns nothing after a failure, which it has reported.
    async fn set_up(
        mut self,
        parts: Rc<dyn OpenGroups>,
        start: Schedules,
    ) -> Option<(Self, WaitingGroups)> {
        let (worker, shared, outcome) = (&self.assignment, &self.shared, &mut self.outcome);
        let setup = setup::set_up(worker, &parts, shared, &self.reports, &start, outcome);
        match setup.await {
            Ok(waiting) => Some((self, waiting)),
            Err(error) => {
                // The coordinator may have ended already; the error is ignored.
                let _ = self.reports.send(WorkerMessage::SetupFailed(error));
                None
            }
        }
    }
}

/// Carries out the assignments of a thread: sets up the sessions, waits for the schedule, runs
/// the load, and closes everything. Returns nothing if the load point was called off.
pub(crate) fn work(
    assigned: Vec<AssignedWorker>,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    mut start: Schedules,
) -> std::io::Result<Vec<NumberedResult>> {
    let _gone: Vec<_> = assigned.iter().map(|_| GoneOnDrop(reports)).collect();
    let Some(first) = assigned.first() else {
        return Ok(Vec::new());
    };
    if let Some(cpu) = first.assignment.cpu {
        process::pin_to(cpu)?;
    }
    let cancel = first.assignment.cancel.clone();
    runtime::local()?.block_on(async {
        let waiting = set_up(assigned, reports, &start).await?;
        let schedule = await_schedule(&mut start).await;
        let mut workers = Vec::with_capacity(waiting.len());
        for (mut worker, waiting) in waiting {
            let begun = waiting.until_begin(&worker.shared, &mut worker.outcome);
            worker.groups = begun.await;
            workers.push(worker);
        }
        let Some(schedule) = schedule else {
            // Another worker has failed, so the log-off has a short limit.
            tear_down(&mut workers, &cancel, CALLED_OFF_LIMIT).await;
            return Ok(Vec::new());
        };
        put_load_on(&mut workers, schedule, &start).await?;
        let mut after_load = workers.iter_mut();
        // All of them wait for the same reading.
        if let Some(after_load) = after_load.find_map(|worker| worker.after_load.take()) {
            after_load.until_read().await;
        }
        tear_down(&mut workers, &cancel, TEAR_DOWN_LIMIT).await;
        let results = workers.into_iter().map(|worker| NumberedResult {
            number: worker.assignment.number,
            result: worker.outcome,
        });
        Ok(results.collect())
    })
}

/// Sets up the sessions of all workers of a thread together. Those that failed are left out.
async fn set_up(
    assigned: Vec<AssignedWorker>,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    start: &Schedules,
) -> std::io::Result<Vec<(LoadWorker, WaitingGroups)>> {
    let poller = Poller::new()?;
    // As tasks, whose memory is freed before the load.
    let mut running = JoinSet::new();
    for worker in assigned {
        let open_groups = worker.open_groups;
        let worker = LoadWorker::new(worker.assignment, &poller, reports);
        running.spawn_local(worker.set_up(open_groups(), start.clone()));
    }
    let mut all = Vec::with_capacity(running.len());
    while let Some(joined) = running.join_next().await {
        all.extend(joined.unwrap_or_else(resume));
    }
    all.sort_by_key(|(worker, _)| worker.assignment.number);
    Ok(all)
}

/// Waits for the schedule; returns `None` if the load point is called off.
async fn await_schedule(start: &mut Schedules) -> Option<Schedule> {
    start
        .wait_for(Option::is_some)
        .await
        .ok()
        .and_then(|schedule| *schedule)
}

/// Logs off the sessions of all workers, each of which has the whole limit.
async fn tear_down(workers: &mut [LoadWorker], cancel: &Cancel, limit: Duration) {
    let mut running = JoinSet::new();
    for worker in workers {
        let (groups, cancel) = (std::mem::take(&mut worker.groups), cancel.clone());
        running.spawn_local(async move { setup::tear_down(groups, &cancel, limit).await });
    }
    running.join_all().await;
}
