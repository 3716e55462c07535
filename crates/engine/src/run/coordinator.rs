//! The sequence of load points, and the outcome of a run.

use smbench_model::load::PointLoad;
use smbench_model::progress::PointNumber;
use smbench_model::record::{LoadPointRecord, Outcome, RunRecord};

use crate::run::Observer;
use crate::run::context::{Context, RunRole};
use crate::run::course::Course;
use crate::run::error::RunError;
use crate::run::hooks::measured_between;
use crate::run::site::RunShare;
use crate::smb::session::SessionError;

/// Returns the record of a run with its outcome, or the error if nothing was
/// measured.
pub(crate) fn concluded(
    mut record: RunRecord,
    measured: Result<(), RunError>,
) -> Result<RunRecord, RunError> {
    match measured {
        Ok(()) => record.outcome = Outcome::Complete,
        Err(RunError::Session(SessionError::Interrupted)) => {}
        Err(error) if record.load_points.is_empty() => {
            return Err(error.with_leftover(record.leftover));
        }
        Err(error) => record.outcome = Outcome::Aborted(error.to_string()),
    }
    Ok(record)
}

/// Measures every load point of the course. `share` is where the run has files, if it
/// has any.
pub(super) async fn measure(
    context: &Context<'_>,
    record: &mut RunRecord,
    course: &mut dyn Course,
    mut share: Option<&mut RunShare<'_>>,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if context.plan.work.stages.is_some() {
        show_unread(context, observer).await?;
    }
    observer.run_begins(record);
    let mut number = 0;
    while let Some(load) = course.next(record) {
        number += 1;
        let PointLoad {
            clients,
            rate,
            repeat,
            ..
        } = load;
        let point = PointNumber {
            number,
            of: course.at_most(),
            repeat,
            clients: match context.role {
                RunRole::First(_) => clients,
                RunRole::Alone | RunRole::Other(_) => context.plan.generator.part.count(clients),
            },
            rate,
        };
        let ready = clients.max(course.clients_for_certain());
        if let Some(share) = &mut share {
            share.prepare(ready, observer).await?;
        }
        // On the heap: without optimisation, a load point takes much of a thread's stack.
        let measured = Box::pin(measured_between(context, point, load, observer));
        let measured = match &mut share {
            Some(share) => share.held_during(measured, &context.back_news).await,
            None => measured.await,
        };
        let lost_host = match context.role {
            RunRole::First(first) => first.lost(),
            RunRole::Alone | RunRole::Other(_) => None,
        };
        let (measured, own) = match (measured, &lost_host) {
            (Err(_), Some(lost)) => return Err(RunError::HostLost(lost.clone())),
            (measured, _) => measured?,
        };
        if let Some(failure) = measured.hooks.failure().filter(|_| course.is_search()) {
            // A probe that is void would count as one that broke.
            return Err(RunError::Hook(failure));
        }
        record.own_part.extend(own);
        let lost = lost(context, &measured);
        let is_doubtful = course.is_search() && (lost.is_some() || measured.invalid.is_some());
        record.load_points.extend(measured.into_stages());
        if let Some(share) = &mut share
            && is_doubtful
            && !context.cancel.is_cancelled()
        {
            // The load may have been too much for the server, or the server is gone.
            share.check_server().await?;
        }
        if let Some(lost) = &lost_host {
            // What is saved now may be the last document.
            record.outcome = Outcome::Aborted(lost.clone());
        }
        observer.load_point_ended(record);
        if let Some(lost) = lost_host {
            return Err(RunError::HostLost(lost));
        }
        if context.cancel.is_cancelled() {
            return Err(SessionError::Interrupted.into());
        }
        if let (Some(error), false) = (lost, course.is_search()) {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Shows the observer what of the server cannot be read.
async fn show_unread(context: &Context<'_>, observer: &mut dyn Observer) -> Result<(), RunError> {
    let meter = context.server_cpu.clone();
    let unread = tokio::task::spawn_blocking(move || meter.unread()).await;
    let unread = unread.unwrap_or_default();
    observer.server_unread(&unread).map_err(RunError::Refused)
}

/// Returns the error if all clients of a load point were lost.
fn lost(context: &Context<'_>, measured: &LoadPointRecord) -> Option<SessionError> {
    let first = measured.dropouts.first()?;
    let is_all = measured.dropouts.len() as u32 == measured.clients;
    is_all.then(|| SessionError::Lost {
        at: context.at.clone(),
        clients: measured.clients,
        reason: first.reason.clone(),
    })
}
