//! Runs a [`Plan`]: prepares the share, runs every load point, merges the
//! measurements of the workers, and cleans up.
//!
//! * [`execute`] runs a plan as it is, or a [`PlannedRun`] with operations of your own, or on a
//!   [target of your own](crate::driver). [`execute_on_hosts`] shares it with other hosts.
//! * An [`Observer`] receives [`Progress`], intervals and finished load points.
//!   [`events`] makes one that fills a channel.
//! * A run that measured nothing returns a [`RunError`], most often with a
//!   [`SessionError`].
//!
//! Invariant: a finished load point is never lost. It is in the record, and shown
//! to the observer, before anything else that can fail is tried.

mod back_news;
mod capacity;
mod carrier;
mod context;
mod coordinator;
mod course;
mod door;
mod environment;
pub(crate) mod error;
mod events;
mod health;
mod hooks;
mod noting;
mod observe;
mod point;
mod reserve;
mod serve;
mod site;

use std::sync::Arc;

use smbench_model::contents::block::Salt;
use smbench_model::cpu::CpuSource;
use smbench_model::plan::Plan;
pub use smbench_model::progress::{
    Live, MeasuredInterval, Pause, PointNumber, PopulationInterval, Progress, Stage,
};
use smbench_model::record::{Origin, RunRecord};
pub use smbench_protocol::frame::{FrameError, Undecipherable};
pub use smbench_protocol::handshake::Demand;
pub use smbench_protocol::header::Command;
pub use smbench_protocol::kerberos::{KerberosError, MalformedFile, Principal, ServiceTicket};
pub use smbench_protocol::{AuthError, DecodeError, HandshakeError, NtStatus, ProtocolError};

use crate::hosts::FirstHost;
use crate::machine::cancel::Cancel;
use crate::machine::route::Locality;
use crate::machine::runtime::blocking;
use crate::machine::server_cpu::Meter;
pub use crate::machine::server_cpu::MetricsError;
use crate::machine::{clock, server_cpu};
use crate::run::back_news::BackNews;
use crate::run::carrier::Carrier;
use crate::run::context::{Context, PopulationContext, RunRole};
use crate::run::coordinator::{concluded, measure};
use crate::run::door::{OwnTarget, RunWork};
pub use crate::run::error::RunError;
use crate::run::reserve::reserve;
use crate::smb::session;
pub use crate::smb::session::{LogonIdentity, SessionError, StepFailure};
pub use crate::smb::tickets::TicketError;
pub use capacity::CapacityError;
pub use course::{Course, PlannedCourse};
pub use door::PlannedRun;
pub use events::{EachEvent, Events, RunEvent, each_event, events};
pub use noting::StateFile;
pub use observe::{Observer, Unobserved};
pub use serve::serve;
use site::{ShareJob, ShareOperations};

/// Why streams of an embedding program are refused for several populations.
const STREAMS_NEED_ONE: &str = "operations of an embedding program need a plan with one";

/// Runs a plan to its end, blocking the calling thread. `run` is a [`Plan`], or a [`PlannedRun`] that
/// has load points, operations or a target of your own. Slow code in `observer` is not
/// measured, but delays the next load point.
///
/// # Errors
/// If nothing could be measured. [`RunError::Plan`] is returned before anything is
/// done, if a field of the plan has an invalid value. A run that fails after its
/// first finished load point is not an error: the record has all results so far,
/// and the reason why it ended. Also [`RunError::Replay`] and [`RunError::Fileio`] for a plan
/// that has its own operations, if others are given.
///
/// # Panics
/// On a thread that runs async code of tokio; there, call it in
/// `tokio::task::spawn_blocking`.
pub fn execute<'a>(
    run: impl Into<PlannedRun<'a>>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    let PlannedRun {
        plan,
        course,
        work,
        state,
    } = run.into();
    plan.check().map_err(RunError::Plan)?;
    if state.is_some() {
        plan.check_noted().map_err(RunError::Plan)?;
    }
    let mut planned = PlannedCourse::of(plan);
    let course = course.unwrap_or(&mut planned);
    match work {
        RunWork::Plan => {
            let job = ShareJob {
                plan,
                operations: match &state {
                    Some(_) => ShareOperations::noted(plan),
                    None => ShareOperations::of_plan(plan),
                },
                role: RunRole::Alone,
                state,
            };
            execute_on_share(job, course, observer, cancel)
        }
        RunWork::Operations(make) => {
            refuse_several(plan, STREAMS_NEED_ONE)?;
            refuse_own_work(plan)?;
            let job = ShareJob {
                plan,
                operations: vec![make(plan)],
                role: RunRole::Alone,
                state: None,
            };
            execute_on_share(job, course, observer, cancel)
        }
        RunWork::Target(target) => {
            if !target.is_drawn {
                refuse_several(plan, STREAMS_NEED_ONE)?;
            }
            refuse_own_work(plan)?;
            execute_on_target(plan, target, course, observer, cancel)
        }
    }
}

/// Runs `plan` like [`execute`], as the first of several hosts, with its part of the
/// clients and the load points that `course` chooses.
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
    let mut plan = plan.clone();
    plan.generator.part = hosts.part();
    plan.check().map_err(RunError::Plan)?;
    let job = ShareJob {
        plan: &plan,
        operations: ShareOperations::of_plan(&plan),
        role: RunRole::First(hosts),
        state: None,
    };
    // A lost host cancels its run, and not what the user asked for after it.
    let cancel = cancel.child();
    execute_on_share(job, course, observer, &cancel)
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
    job: ShareJob<'_, '_>,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    reserve(job.plan, Carrier::Own(session::LogoffScope::default()))?;
    let run = site::run(job, course, observer, cancel);
    blocking(RunError::System, run)
}

fn execute_on_target(
    plan: &Plan,
    target: OwnTarget,
    course: &mut dyn Course,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    reserve(
        plan,
        Carrier::Embedding {
            descriptors_per_group: target.descriptors_per_group,
        },
    )?;
    // Each population knows its clients, as those of a share do.
    let alone: Vec<_> = plan.alone().map(Arc::new).collect();
    let plan = match &alone[..] {
        [only] => Arc::clone(only),
        _ => Arc::new(plan.clone()),
    };
    let salt = Salt(session::random_u64());
    let mut origin = Origin::Own;
    let populations = alone.into_iter().map(|plan| {
        let operations = (target.operations)(&plan);
        // That of each population is the same.
        origin = operations.origin;
        PopulationContext {
            plan,
            mix: operations.mix,
            salt,
            notes: None,
            make_workers: operations.make_workers,
        }
    });
    let context = Context {
        populations: populations.collect(),
        plan: Arc::clone(&plan),
        at: target.server.url.clone(),
        whereabouts: Locality::Elsewhere,
        server_cpu: Meter::new(&plan.generator.server_cpu, &[]),
        lab_server: None,
        tcp: None,
        counters: None,
        back_news: BackNews::default(),
        started: clock::now(),
        started_wall: clock::wall(),
        runs_before: 0,
        cancel,
        role: RunRole::Alone,
    };
    let mut record = RunRecord {
        driver: Origin::Own,
        operations: origin,
        salt,
        ..RunRecord::new(&plan, target.server, context.started_wall)
    };
    let load = measure(&context, &mut record, course, None, observer);
    let measured = blocking(RunError::System, load);
    concluded(record, measured)
}

/// Refuses a plan of several populations.
fn refuse_several(plan: &Plan, why: &'static str) -> Result<(), RunError> {
    let only = plan.work.sole(why);
    only.map_err(|problem| RunError::Plan(problem.into()))?;
    Ok(())
}

/// Refuses replays and `fileio` tests, because streams and drivers of an embedding program cannot
/// carry them out.
fn refuse_own_work(plan: &Plan) -> Result<(), RunError> {
    let mut works = plan.work.populations.iter().map(|one| &one.workload);
    works.try_for_each(|work| match (work.replay(), work.fileio()) {
        (Some(_), _) => Err(RunError::Replay),
        (_, Some(_)) => Err(RunError::Fileio),
        (None, None) => Ok(()),
    })
}

#[cfg(test)]
mod tests;
