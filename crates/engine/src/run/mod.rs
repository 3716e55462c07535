//! Runs a [`Plan`]: prepares the share, runs every load point, merges the
//! measurements of the workers, and cleans up.
//!
//! Invariant: a finished load point is never lost. It is in the record, and shown
//! to the observer, before anything else that can fail is tried.

mod alarm;
mod backlog;
mod board;
mod booking;
mod capacity;
mod closing;
pub(crate) mod driver;
mod events;
mod figures;
mod group;
mod guest;
mod health;
mod links;
mod member;
mod native;
pub(crate) mod null;
mod observe;
pub(crate) mod operation;
mod pace;
mod point;
mod replay;
mod schedule;
mod setup;
mod site;
#[cfg(feature = "smb-rs")]
mod smb_rs;
mod standing;
mod supply;
mod timeline;
mod turns;
mod worker;

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::cpu::CpuSource;
use smbench_model::operations::fileio::Sequences;
use smbench_model::operations::replay::Replays;
use smbench_model::operations::{Drawn, Mix, Streams};
use smbench_model::plan::{Plan, Problem};
pub use smbench_model::progress::{Live, MeasuredInterval, Point, Progress, Stage};
use smbench_model::record::{Origin, Outcome, RunRecord, ServerFacts};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::cancel::Cancel;
use crate::server_cpu::{self, Meter, MetricsError};
use crate::session::{SessionError, Whereabouts};
use crate::{clock, process, session};
pub use capacity::CapacityError;
use driver::Connector;
pub use events::{Event, Events, events};
use guest::Guests;
pub use observe::{Observer, Unobserved};
use schedule::Schedule;
use supply::{Operations, Supplies};
use worker::{Assignment, Means, Report, work};

/// Sockets of a run in addition to those of its clients.
const EXTRA_SOCKETS: u64 = 32;

/// The reason why a run measured nothing at all.
#[derive(Debug, Error)]
pub enum RunError {
    /// A field of the plan was changed to a value that [`Plan::resolve`] would have
    /// refused.
    #[error("failed to run the plan: {0}")]
    Plan(Problem),
    /// The server, the account or the share did not allow the run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// This process may not open enough sockets.
    #[error(
        "{clients} clients need {needed} open files, but this process may have {limit}; this machine \
         is the limit: raise the hard limit (`ulimit -Hn`) or run fewer clients"
    )]
    Descriptors {
        /// Clients of the largest load point.
        clients: u32,
        /// Open files that this load point needs.
        needed: u64,
        /// Hard limit of this process.
        limit: u64,
    },
    /// This machine lacks resources for the largest load point.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// The server's CPU time was to be had from an exporter, which does not tell it.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A replay has operations of its own.
    #[error(
        "failed to run a replay: its operations are those of its loadfile, and need an SMB server: \
         use run::execute"
    )]
    Replay,
    /// The plan is a `fileio` test, which has its own operations.
    #[error(
        "failed to run a fileio test: its operations are sysbench's, on an SMB server: use \
         run::execute"
    )]
    Fileio,
    /// An error, followed by a failure of the clean-up.
    #[error("{error}; {leftover}")]
    Leftover {
        /// The first error.
        error: Box<RunError>,
        /// The files that remain on the share, and the reason.
        leftover: String,
    },
    /// A worker panicked because of a bug in smbench.
    #[error("failed to go on: a worker panicked, which is a bug in smbench; please report it")]
    Panicked,
    /// A driver or a stream of the embedding program panicked.
    #[error(
        "failed to go on: the program's own {part} panicked, which is no bug in smbench: {said}"
    )]
    GuestPanicked {
        /// "driver" or "stream of operations".
        part: &'static str,
        /// Message of the panic.
        said: String,
    },
    /// The operating system refused a thread or an event loop.
    #[error(
        "failed to start the workers: {0}; this machine is the limit: allow more threads and \
         processes (`ulimit -u`, pids.max of the control group) or give fewer --threads"
    )]
    System(#[from] io::Error),
}

impl RunError {
    pub(crate) fn with_leftover(self, leftover: Option<String>) -> Self {
        match leftover {
            Some(leftover) => Self::Leftover {
                error: Box::new(self),
                leftover,
            },
            None => self,
        }
    }
}

/// The function that a worker's thread runs.
type Work = Box<
    dyn FnOnce(
            Assignment,
            &mpsc::UnboundedSender<Report>,
            watch::Receiver<Option<Schedule>>,
        ) -> io::Result<Option<worker::Outcome>>
        + Send,
>;

/// The data that every load point of a run needs.
struct Context<'a> {
    plan: Arc<Plan>,
    mix: Arc<Mix>,
    /// Address of the server, for messages.
    at: String,
    whereabouts: Whereabouts,
    server_cpu: Meter,
    /// Start of the run, on both clocks.
    started: Nanos,
    started_wall: SystemTime,
    /// Salt of the data that is written.
    salt: Salt,
    /// Number at which the numbering of load points starts in the data that is
    /// written.
    runs_before: u32,
    cancel: &'a Cancel,
    /// Makes the functions of the given number of workers for one load point.
    hire: Box<dyn Fn(usize) -> Vec<Work>>,
}

fn hiring<C: Connector, T: Supplies>(means: Means<C, T>) -> Box<dyn Fn(usize) -> Vec<Work>> {
    Box::new(move |workers| {
        let means = Means {
            connector: means.connector.clone(),
            supplies: means.supplies.of_load_point(),
        };
        let one = |_| -> Work {
            let means = means.clone();
            Box::new(move |assignment, reports, start| work(assignment, means, reports, start))
        };
        (0..workers).map(one).collect()
    })
}

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
    let mix = Mix::new(&plan.workload);
    let (seed, origin) = (plan.seed, Origin::Plan);
    match (plan.workload.replay(), plan.workload.fileio()) {
        (Some(replay), _) => {
            let operations = Operations {
                mix,
                origin,
                supplies: Replays::new(replay.clone(), seed),
            };
            execute_on_share(plan, operations, observer, cancel)
        }
        (None, Some(test)) => {
            let operations = Operations {
                supplies: Sequences::new(test, seed, &mix),
                mix,
                origin,
            };
            execute_on_share(plan, operations, observer, cancel)
        }
        (None, None) => {
            let supplies = Drawn {
                mix: Arc::clone(&mix),
                seed,
            };
            let operations = Operations {
                mix,
                origin,
                supplies,
            };
            execute_on_share(plan, operations, observer, cancel)
        }
    }
}

/// Runs `plan` like [`execute`], with your own operations instead of those drawn
/// from its workload and seed.
///
/// The workload still sets the limits: which files there are, with which rights
/// they are opened, how large a request may be, and which actions there are
/// ([`Mix::operation`]). A client whose stream exceeds these limits drops out.
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
    refuse_replay(plan)?;
    execute_on_share(plan, Operations::of(streams, plan), observer, cancel)
}

/// Runs the load points of `plan` on the target of `connector`, with the operations
/// of `streams`. [`Drawn`] gives the operations of the plan.
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
        Carrier::Guest {
            descriptors_per_group,
        },
    )?;
    refuse_replay(plan)?;
    let operations = Operations::of(streams, plan);
    let context = Context {
        plan: Arc::new(plan.clone()),
        at: server.url.clone(),
        whereabouts: Whereabouts::Elsewhere,
        server_cpu: Meter::new(&plan.server_cpu, None),
        started: clock::now(),
        started_wall: clock::wall(),
        salt: Salt(session::random_u64()),
        runs_before: 0,
        cancel,
        hire: hiring(Means {
            connector: Guests {
                connector,
                limit: plan.limits.setup,
            },
            supplies: operations.supplies,
        }),
        mix: operations.mix,
    };
    let mut record = RunRecord {
        driver: Origin::Own,
        operations: operations.origin,
        salt: context.salt,
        ..RunRecord::new(plan, server, context.started_wall)
    };
    let measured = blocking(measure(&context, &mut record, observer))?;
    concluded(record, measured)
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
    operations: Operations<impl Supplies>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    plan.check().map_err(RunError::Plan)?;
    reserve(plan, Carrier::Own)?;
    blocking(site::run(plan, operations, observer, cancel))?
}

/// The kind of clients that run a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// SMB clients that are part of smbench.
    Own,
    /// A connector of the embedding program.
    Guest {
        /// See [`Connector::descriptors_per_group`].
        descriptors_per_group: u32,
    },
}

/// Returns the minimum number of open files, mostly sockets, in the largest load
/// point.
fn descriptors(plan: &Plan, carrier: Carrier) -> u64 {
    match carrier {
        Carrier::Own => plan.connections.count(plan.max_clients()) + EXTRA_SOCKETS,
        Carrier::Guest {
            descriptors_per_group,
        } => {
            let groups = plan.connections.groups(plan.max_clients()).len() as u64;
            groups * u64::from(descriptors_per_group)
        }
    }
}

/// Refuses replays and `fileio` tests, because streams and drivers of an embedding
/// program cannot carry them out.
fn refuse_replay(plan: &Plan) -> Result<(), RunError> {
    match (plan.workload.replay(), plan.workload.fileio()) {
        (Some(_), _) => Err(RunError::Replay),
        (_, Some(_)) => Err(RunError::Fileio),
        (None, None) => Ok(()),
    }
}

/// Checks that this process can have the resources that a plan needs.
fn reserve(plan: &Plan, carrier: Carrier) -> Result<(), RunError> {
    let threads = plan.threads.into();
    let reserved = process::reserve_descriptors(descriptors(plan, carrier), threads);
    reserved.map_err(|(needed, limit)| RunError::Descriptors {
        clients: plan.max_clients(),
        needed,
        limit,
    })?;
    Ok(capacity::check_process(plan, carrier)?)
}

/// Runs the coordinator on a runtime of its own.
fn blocking<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(work);
    // A name look-up that timed out may still be stuck in the resolver.
    runtime.shutdown_background();
    Ok(done)
}

/// Returns the record of a run with its outcome, or the error if nothing was
/// measured.
fn concluded(mut record: RunRecord, measured: Result<(), RunError>) -> Result<RunRecord, RunError> {
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

/// Measures every load point of every pass.
async fn measure(
    context: &Context<'_>,
    record: &mut RunRecord,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let plan = &context.plan;
    let of = plan.repeat * plan.load_points.len() as u32;
    let mut number = 0;
    for repeat in 1..=plan.repeat {
        for &clients in &plan.load_points {
            number += 1;
            let point = Point {
                number,
                of,
                clients,
            };
            let measured = point::measure(context, point, repeat, observer).await?;
            let lost = measured.dropouts.len() as u32 == clients;
            let reason = measured.dropouts.first().map(|first| first.reason.clone());
            record.load_points.push(measured);
            observer.load_point_ended(record);
            if context.cancel.is_cancelled() {
                return Err(SessionError::Interrupted.into());
            }
            if let (true, Some(reason)) = (lost, reason) {
                return Err(SessionError::Lost {
                    at: context.at.clone(),
                    clients,
                    reason,
                }
                .into());
            }
        }
    }
    Ok(())
}
