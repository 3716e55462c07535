//! Runs a [`Plan`]: prepares the share, runs every load point, merges the
//! measurements of the workers, and cleans up.
//!
//! * [`execute`] runs a plan as it is, [`execute_streams`] with operations of your own,
//!   and [`execute_on`] also on a [target of your own](crate::driver).
//! * An [`Observer`] receives [`Progress`], intervals and finished load points.
//!   [`events`] makes one that fills a channel.
//! * A run that measured nothing returns a [`RunError`], most often with a
//!   [`SessionError`].
//!
//! Invariant: a finished load point is never lost. It is in the record, and shown
//! to the observer, before anything else that can fail is tried.

mod capacity;
mod carrier;
mod context;
mod coordinator;
mod course;
pub(crate) mod error;
mod events;
mod health;
mod observe;
mod point;
mod reserve;
mod serve;
mod site;

use std::sync::Arc;

use smbench_model::contents::block::Salt;
use smbench_model::cpu::CpuSource;
use smbench_model::operations::Streams;
use smbench_model::plan::Plan;
pub use smbench_model::progress::{Live, MeasuredInterval, PointNumber, Progress, Stage};
use smbench_model::record::{Origin, RunRecord, ServerFacts};
use smbench_model::work::WorkProblem;

use crate::drivers::driver::Connector;
use crate::drivers::untrusted::UntrustedConnector;
use crate::hosts::FirstHost;
use crate::machine::cancel::Cancel;
use crate::machine::route::Locality;
use crate::machine::runtime::blocking;
use crate::machine::server_cpu::Meter;
pub use crate::machine::server_cpu::MetricsError;
use crate::machine::{clock, server_cpu};
use crate::run::carrier::Carrier;
use crate::run::context::{Context, PopulationContext, RunRole, worker_maker};
use crate::run::coordinator::{concluded, measure};
pub use crate::run::error::RunError;
use crate::run::reserve::reserve;
use crate::smb::session;
pub use crate::smb::session::{LogonIdentity, SessionError, StepFailure};
pub use crate::smb::tickets::TicketError;
use crate::worker::assignment::WorkerParts;
use crate::worker::supply::Operations;
pub use capacity::CapacityError;
pub use course::{Course, PlannedCourse};
pub use events::{Events, RunEvent, events};
pub use observe::{Observer, Unobserved};
pub use serve::serve;
use site::ShareOperations;

/// Runs `plan` to its end, blocking the calling thread. Slow code in `observer` is
/// not measured, but delays the next load point.
///
/// # Errors
/// If nothing could be measured. [`RunError::Plan`] is returned before anything is
/// done, if a field of `plan` has an invalid value. A run that fails after its
/// first finished load point is not an error: the record has all results so far,
/// and the reason why it ended.
///
/// # Panics
/// On a thread that runs async code of tokio; there, call it in
/// `tokio::task::spawn_blocking`.
pub fn execute(
    plan: &Plan,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    // A plan without a load point is refused before its course begins.
    execute_course(plan, &mut PlannedCourse::of(plan), observer, cancel)
}

/// Runs `plan` like [`execute`], with the load points that `course` chooses. The load
/// points of the plan tell how many clients there can be. A client's files are written
/// before the first load point that it is part of.
///
/// # Errors
/// As [`execute`].
///
/// # Panics
/// As [`execute`].
pub fn execute_course(
    plan: &Plan,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    execute_as(RunRole::Alone, plan, course, observer, cancel)
}

/// Runs `plan` like [`execute_course`], as the first of several hosts, with its part of the
/// clients.
///
/// # Errors
/// As [`execute`]. Also [`RunError::Hosts`] if another host cannot carry out the plan.
///
/// # Panics
/// As [`execute`].
pub fn execute_on_hosts(
    hosts: &FirstHost,
    plan: &Plan,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    execute_as(RunRole::First(hosts), plan, course, observer, cancel)
}

fn execute_as(
    role: RunRole<'_>,
    plan: &Plan,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    let mut plan = plan.clone();
    if let RunRole::First(first) = role {
        plan.generator.part = first.part();
    }
    let operations = ShareOperations::of_plan(&plan);
    execute_on_share(&plan, operations, role, course, observer, cancel)
}

/// Runs `plan` like [`execute`], with your own operations instead of those drawn
/// from its workload and seed.
///
/// The workload still sets the limits: which files there are, with which rights
/// they are opened, how large a request may be, and which actions there are
/// ([`Mix::operation`](smbench_model::operations::Mix::operation)). A client whose stream exceeds these limits drops out.
///
/// # Errors
/// As [`execute`]. Also [`RunError::Replay`] and [`RunError::Fileio`] for a plan
/// that has its own operations.
///
/// # Panics
/// As [`execute`].
pub fn execute_streams(
    plan: &Plan,
    streams: impl Streams,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    refuse_own_work(plan)?;
    let operations = vec![ShareOperations::from(Operations::of(streams, plan))];
    let course = &mut PlannedCourse::of(plan);
    execute_on_share(plan, operations, RunRole::Alone, course, observer, cancel)
}

/// Runs the load points of `plan` on the target of `connector`, with the operations
/// of `streams`. [`Drawn`](smbench_model::operations::Drawn) gives the operations of the plan.
///
/// All parts of the plan about an SMB server are ignored: its target, its session
/// options and its driver. No files are created. `server` describes the server in
/// the record.
///
/// # Errors
/// As [`execute_streams`].
///
/// # Panics
/// As [`execute`].
pub fn execute_on(
    plan: &Plan,
    server: ServerFacts,
    connector: impl Connector,
    streams: impl Streams,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    plan.check().map_err(RunError::Plan)?;
    let descriptors_per_group = connector.descriptors_per_group();
    reserve(
        plan,
        Carrier::Embedding {
            descriptors_per_group,
        },
    )?;
    refuse_own_work(plan)?;
    let operations = Operations::of(streams, plan);
    let plan = Arc::new(plan.clone());
    let plan = &plan;
    let salt = Salt(session::random_u64());
    let context = Context {
        plan: Arc::clone(plan),
        populations: vec![PopulationContext {
            plan: Arc::clone(plan),
            mix: operations.mix,
            salt,
            make_workers: worker_maker(WorkerParts {
                connector: UntrustedConnector {
                    connector,
                    limit: plan.limits.setup,
                },
                supplies: operations.supplies,
            }),
        }],
        at: server.url.clone(),
        whereabouts: Locality::Elsewhere,
        server_cpu: Meter::new(&plan.generator.server_cpu, None),
        started: clock::now(),
        started_wall: clock::wall(),
        runs_before: 0,
        cancel,
        role: RunRole::Alone,
    };
    let mut record = RunRecord {
        driver: Origin::Own,
        operations: operations.origin,
        salt,
        ..RunRecord::new(plan, server, context.started_wall)
    };
    let mut course = PlannedCourse::of(plan);
    let load = measure(&context, &mut record, &mut course, None, observer);
    let measured = blocking(RunError::System, load);
    concluded(record, measured)
}

/// Returns the largest number of clients, up to that of the plan, that this machine can
/// carry, and why it can carry no more. Raises this process's limit on open files, as
/// [`execute`] does.
///
/// # Errors
/// If the server's name has no address, or no ticket can be had for it.
pub fn most_clients(plan: &Plan) -> Result<(u32, Option<RunError>), RunError> {
    refuse_several(plan, "a search needs a plan with one")?;
    blocking(RunError::System, async {
        let endpoint = crate::drivers::site::endpoint(plan).await?;
        Ok(reserve::most_clients(plan, &endpoint))
    })
}

/// Asks the exporter of a server's CPU time once, if there is one. Call it before
/// [`execute`], which itself measures without CPU time if the exporter does not answer.
/// Blocks the calling thread for 2 seconds at most.
///
/// # Errors
/// [`RunError::Metrics`] if the exporter does not tell the CPU time.
pub fn check_server_cpu(source: &CpuSource) -> Result<(), RunError> {
    Ok(server_cpu::check(source)?)
}

fn execute_on_share(
    plan: &Plan,
    operations: Vec<ShareOperations>,
    role: RunRole<'_>,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    plan.check().map_err(RunError::Plan)?;
    reserve(plan, Carrier::Own(session::LogoffScope::default()))?;
    let cancel = match role {
        // A lost host cancels its run, and not what the user asked for after it.
        RunRole::First(_) => cancel.child(),
        RunRole::Alone | RunRole::Other(_) => cancel.clone(),
    };
    let run = site::run((plan, operations, role), course, observer, &cancel);
    blocking(RunError::System, run)
}

/// Refuses a plan of several populations.
fn refuse_several(plan: &Plan, why: &'static str) -> Result<(), RunError> {
    match plan.work.populations.len() {
        1 => Ok(()),
        _ => Err(RunError::Plan(WorkProblem::Populations(why).into())),
    }
}

/// Refuses several populations, replays and `fileio` tests, because streams and drivers of an
/// embedding program cannot carry them out.
fn refuse_own_work(plan: &Plan) -> Result<(), RunError> {
    refuse_several(
        plan,
        "operations of an embedding program need a plan with one",
    )?;
    match (plan.only().workload.replay(), plan.only().workload.fileio()) {
        (Some(_), _) => Err(RunError::Replay),
        (_, Some(_)) => Err(RunError::Fileio),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
