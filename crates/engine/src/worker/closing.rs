//! The operations of clients after the load: a `fileio` test flushes its files.
//!
//! They run in the same loop on the same slots. The window is over by then, so none
//! of them is in the figures of the window.

use std::cell::RefCell;
use std::rc::Rc;

use smbench_model::Nanos;
use smbench_model::sessions::Caching;

use crate::machine::clock;
use crate::machine::tasks::Tasks;
use crate::worker::any_group::{AnyGroup, GroupLoad};
use crate::worker::assignment::{Assignment, WorkerResult};
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for};
use crate::worker::load_control::LoadControl;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::shared::Shared;

/// Runs the operations after the load, unless the run was cancelled. Returns the
/// groups that are still connected.
pub(super) async fn close(
    worker: &Assignment,
    shared: &Rc<RefCell<Shared>>,
    schedules: &Schedules,
    mut groups: Vec<Box<dyn AnyGroup>>,
    outcome: &mut WorkerResult,
) -> std::io::Result<Vec<Box<dyn AnyGroup>>> {
    if !worker.plan.only().workload.closes() || worker.cancel.is_cancelled() {
        return Ok(groups);
    }
    for group in &mut groups {
        group.end_load();
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
    // The figures of the window are already complete.
    let figures = Rc::default();
    let cost = worker.plan.largest_charge();
    for group in groups {
        running.push(group.run(GroupLoad {
            shared: Rc::clone(shared),
            control: Rc::clone(&control),
            figures: Rc::clone(&figures),
            under_load: None,
            cost,
            caching: Caching::None,
        }));
    }
    let mut remaining = Vec::with_capacity(running.len());
    let give_up = cancelled_for(&worker.cancel, CANCEL_GRACE);
    tokio::pin!(give_up);
    loop {
        tokio::select! {
            ended = running.next() => match ended? {
                None => break,
                Some(ended) => match ended.how {
                    Ok(()) => remaining.extend(ended.group),
                    Err(reason) => outcome.drop_out(ended.clients.into_iter(), &reason),
                },
            },
            () = &mut give_up => break,
        }
    }
    outcome.closed = Some(clock::now());
    Ok(remaining)
}
