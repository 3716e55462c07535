//! The sequence of load points, and the outcome of a run.

use smbench_model::load::PointLoad;
use smbench_model::progress::PointNumber;
use smbench_model::record::{Outcome, RunRecord};

use crate::run::context::Context;
use crate::run::course::Course;
use crate::run::error::RunError;
use crate::run::{Observer, point};
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

/// Measures every load point of the course. Before it, calls `prepare` with the number
/// of its clients.
pub(super) async fn measure(
    context: &Context<'_>,
    record: &mut RunRecord,
    course: &mut dyn Course,
    mut prepare: impl AsyncFnMut(u32, &mut dyn Observer) -> Result<(), SessionError>,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let mut number = 0;
    while let Some(load) = course.next(record) {
        number += 1;
        let PointLoad { clients, rate, .. } = load;
        let point = PointNumber {
            number,
            of: course.at_most(),
            clients,
            rate,
        };
        prepare(clients.max(course.clients_for_certain()), observer).await?;
        let measured = point::measure(context, point, load, observer).await?;
        let lost = measured.dropouts.len() as u32 == measured.clients;
        let reason = measured.dropouts.first().map(|first| first.reason.clone());
        let set_up = measured.clients;
        record.load_points.push(measured);
        observer.load_point_ended(record);
        if context.cancel.is_cancelled() {
            return Err(SessionError::Interrupted.into());
        }
        if let (true, Some(reason)) = (lost, reason) {
            return Err(SessionError::Lost {
                at: context.at.clone(),
                clients: set_up,
                reason,
            }
            .into());
        }
    }
    Ok(())
}
