//! The operations of clients after the load: a `fileio` test flushes its files.
//!
//! They run in the same loop on the same slots. The window is over by then, so none
//! of them is in the figures of the window.

use std::cell::RefCell;
use std::rc::Rc;

use smbench_model::Nanos;

use crate::drivers::driver::Driver;
use crate::machine::clock;
use crate::machine::tasks::Tasks;
use crate::worker::assignment::{Assignment, WorkerResult};
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for};
use crate::worker::group::Group;
use crate::worker::load_control::LoadControl;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::shared::Shared;
use crate::worker::supply::Supply;

/// Runs the operations after the load, unless the run was cancelled. Returns the
/// groups that are still connected.
pub(super) async fn close<D: Driver, S: Supply>(
    worker: &Assignment,
    shared: &Rc<RefCell<Shared>>,
    schedules: &Schedules,
    mut groups: Vec<Group<D, S>>,
    outcome: &mut WorkerResult,
) -> std::io::Result<Vec<Group<D, S>>> {
    if !worker.plan.only().workload.closes() || worker.cancel.is_cancelled() {
        return Ok(groups);
    }
    for group in &mut groups {
        group.close();
    }
    let begin = clock::now();
    let Some(of_load) = *schedules.borrow() else {
        return Ok(groups);
    };
    let schedule = Schedule {
        close: of_load.close.min(begin),
        stop: Nanos::MAX,
        ..of_load
    };
    let control = Rc::new(LoadControl::new(worker, schedule, schedules, None));
    let mut running = Tasks::new(&shared.borrow().sockets.poller)?;
    for mut group in groups {
        let (shared, control) = (Rc::clone(shared), Rc::clone(&control));
        running.push(async move {
            // The figures of the window are already complete.
            let figures = RefCell::default();
            let ended = group.run(&shared, &control, &figures).await;
            (group, ended)
        });
    }
    let mut remaining = Vec::with_capacity(running.len());
    let give_up = cancelled_for(&worker.cancel, CANCEL_GRACE);
    tokio::pin!(give_up);
    loop {
        tokio::select! {
            ended = running.next() => match ended? {
                None => break,
                Some((group, Ok(()))) => remaining.push(group),
                Some((group, Err(reason))) => outcome.drop_out(group.numbers(), &reason),
            },
            () = &mut give_up => break,
        }
    }
    outcome.closed = Some(clock::now());
    Ok(remaining)
}
