//! The operations of clients after the load: a `fileio` test flushes its files, and clients that
//! may have lost acknowledged writes read what they have written.
//!
//! They run in the same loop on the same slots. The window is over by then, so none
//! of them is in the figures of the window.

use std::rc::Rc;

use smbench_model::Nanos;

use crate::machine::clock;
use crate::machine::tasks::Tasks;
use crate::worker::any_group::{EndedGroup, GroupLoad};
use crate::worker::load_control::LoadControl;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::work::LoadWorker;

/// Begins the operations after the load of the worker with this index on its thread. Returns their
/// instructions; `None` if there are none, or if the run was cancelled. The worker keeps the groups
/// that cannot begin.
pub(super) fn begin_closing(
    index: usize,
    worker: &mut LoadWorker,
    schedules: &Schedules,
    of_load: &LoadControl,
    running: &mut Tasks<'_, EndedGroup>,
) -> Option<Rc<LoadControl>> {
    let assignment = &*worker.assignment;
    if !assignment.plan.closes() || assignment.cancel.is_cancelled() {
        return None;
    }
    let planned = (*schedules.borrow())?;
    let schedule = Schedule {
        close: planned.close.min(clock::now()),
        stop: Nanos::MAX,
        ..planned
    };
    let control = Rc::new(LoadControl::new(
        assignment,
        schedule,
        schedules,
        None,
        &of_load.gauge,
    ));
    // Events cut nothing any more.
    worker.shared.borrow().sockets.cuts.end();
    // The figures of the window are already complete.
    let figures = Rc::default();
    let final_reads = Rc::clone(&worker.shared.borrow().final_reads);
    let mut away = Vec::new();
    for mut group in worker.groups.drain(..) {
        if !group.end_load(&final_reads) {
            away.push(group);
            continue;
        }
        running.push(group.run(GroupLoad {
            worker: index,
            shared: Rc::clone(&worker.shared),
            control: Rc::clone(&control),
            figures: Rc::clone(&figures),
            under_load: None,
            goes_on: false,
            cost: assignment.plan.largest_charge(),
            caching: assignment.plan.sessions.caching,
        }));
    }
    worker.groups = away;
    Some(control)
}
