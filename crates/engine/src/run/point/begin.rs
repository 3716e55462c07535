//! When the load of a load point begins: at once, at a given time, or as the first host says.

use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::load::SetupFailures;

use crate::hosts::Upstream;
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::run::context::Context;
use crate::run::error::RunError;
use crate::smb::session::SessionError;
use crate::worker::schedule::{Schedule, Schedules};

/// Time from when the last session is ready to the first operation: enough for
/// every worker to learn the schedule.
const START_DELAY: Nanos = Nanos(20_000_000);
/// The same with several hosts, which relate their clocks in this time. Also where the load begins
/// at a given time: a busy machine wakes threads late, and a part that begins late is lost.
const START_DELAY_OF_HOSTS: Nanos = Nanos(400_000_000);
/// Longest wait for the first host's schedule after a cancel.
const AFTER_CANCEL_MAX: Duration = Duration::from_secs(10);

/// Returns the time from when the last session is ready to the first operation: enough for
/// every host to relate its clock and to learn the schedule.
fn start_delay(context: &Context<'_>) -> Nanos {
    match context.role.others() {
        [] => START_DELAY,
        _ => START_DELAY_OF_HOSTS,
    }
}

/// Waits for the schedule of the first host.
pub(super) async fn ordered_schedule(
    upstream: &Upstream,
    cancel: &Cancel,
    setup: SetupFailures,
) -> Result<Schedule, RunError> {
    upstream.all_tried();
    let mut schedules = upstream.schedules();
    let called_off = async {
        cancel.cancelled().await;
        if setup != SetupFailures::EndRun {
            // Sessions that stand are a result, for which the first host ends the set-up.
            tokio::time::sleep(AFTER_CANCEL_MAX).await;
        }
    };
    let schedule = tokio::select! {
        schedule = schedules.wait_for(Option::is_some) => schedule.ok().and_then(|some| *some),
        () = called_off => None,
    };
    schedule.ok_or_else(|| SessionError::Interrupted.into())
}

/// Waits for the next schedule of the first host, if there is one.
pub(super) async fn next_schedule(schedules: &mut Option<Schedules>) -> Option<Schedule> {
    let schedules = schedules.as_mut()?;
    schedules.changed().await.ok()?;
    *schedules.borrow_and_update()
}

/// Waits until the load of a part is about to begin. Returns the instant.
pub(super) async fn begin_of_load(context: &Context<'_>) -> Result<Nanos, RunError> {
    let Some(at) = context.plan.generator.begin_at else {
        return Ok(clock::now() + start_delay(context));
    };
    let late = |late: Duration| RunError::Late { at, late };
    let wait = at.duration_since(clock::wall());
    let wait = wait.map_err(|error| late(error.duration()))?;
    let begin = clock::now() + wait.into();
    tokio::select! {
        () = tokio::time::sleep_until(clock::timer(begin - START_DELAY_OF_HOSTS)) => {}
        () = context.cancel.cancelled() => return Err(SessionError::Interrupted.into()),
    }
    let now = clock::now();
    if now > begin {
        Err(late(now.since(begin).into()))
    } else {
        Ok(begin)
    }
}

/// Returns the clients of the load point before this one; `number` counts from 1
/// over all passes. The first load point of each pass has 0, so that passes are
/// alike.
pub(super) fn clients_before(points: &[u32], number: u32) -> u32 {
    match (number - 1) as usize % points.len() {
        0 => 0,
        at => points[at - 1],
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
