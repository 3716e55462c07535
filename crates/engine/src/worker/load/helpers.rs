//! What runs beside the groups of a worker under load: its alarm clock, and what follows the
//! coordinator and the events of the plan.

use std::future::poll_fn;
use std::rc::Rc;

use smbench_model::event::EventAction;
use smbench_model::load::Ramp;

use crate::machine::clock;
use crate::machine::poller::polled::PolledTimer;
use crate::machine::tasks::Tasks;
use crate::worker::any_group::EndedGroup;
use crate::worker::assignment::Assignment;
use crate::worker::load_control::LoadControl;
use crate::worker::schedule::Schedule;
use crate::worker::work::LoadWorker;

/// Returns whether the clock makes actions due, at least the first of a client.
pub(super) fn has_due_instants(worker: &Assignment) -> bool {
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

/// Adds the helpers of a worker: those that ring its alarm, and follow the coordinator.
pub(super) fn push_helpers(tasks: &mut Tasks<'_, EndedGroup>, control: &Rc<LoadControl>) {
    if let Some(alarm) = control.alarm.clone() {
        let control = Rc::clone(control);
        tasks.push_helper(async move { alarm.run(&control.cancel).await });
    }
    let control = Rc::clone(control);
    tasks.push_helper(async move {
        control.follow().await;
        Ok(())
    });
}

/// Adds the helper that cuts connections where an event asks for it, if one does.
pub(super) fn push_cuts(
    tasks: &mut Tasks<'_, EndedGroup>,
    worker: &LoadWorker,
    schedule: Schedule,
) -> std::io::Result<()> {
    let events = worker.assignment.plan.work.events.iter();
    let drops = events.filter_map(|event| match event.action {
        EventAction::Drop(percent) => Some((schedule.open + event.at.into(), percent)),
        EventAction::Exec(_) | EventAction::Stop(_) | EventAction::Signal(_) => None,
    });
    let drops: Vec<_> = drops.collect();
    if drops.is_empty() {
        return Ok(());
    }
    let sockets = worker.shared.borrow().sockets.clone();
    let before = worker.assignment.groups_before;
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
