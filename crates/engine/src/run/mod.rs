//! Runs a [`Plan`]: prepares the share, puts on the load of every load point,
//! merges what the workers measured, cleans up.
//!
//! Invariant: a finished load point is never lost. It is in the record, and
//! shown to the observer, before anything else that can fail is tried.

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

use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::cancel::Cancel;
use crate::clock::{self, Nanos};
use crate::fileio::Sequences;
use crate::pattern::Salt;
use crate::plan::{Plan, Problem};
use crate::process;
use crate::record::{Origin, Outcome, RunRecord, ServerFacts};
use crate::server_cpu::{Meter, MetricsError};
use crate::session::{self, SessionError, Whereabouts};
use crate::stream::{Drawn, Mix, Streams};
use crate::trace::Replays;
use driver::Connector;
use guest::Guests;
use schedule::Schedule;
use supply::{Operations, Supplies};
use worker::{Assignment, Means, Report, work};

pub use capacity::CapacityError;
pub use events::{Event, Events, events};
pub use observe::{Live, MeasuredInterval, Observer, Point, Progress, Stage, Unobserved};

/// Sockets a run has open besides those of its clients.
const EXTRA_SOCKETS: u64 = 32;

/// Why a run measured nothing at all.
#[derive(Debug, Error)]
pub enum RunError {
    /// The plan was changed to one that [`Plan::resolve`] would have refused.
    #[error("failed to run the plan: {0}")]
    Plan(Problem),
    /// The server, the account or the share did not allow it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// This process may not open enough sockets.
    #[error(
        "{clients} clients need {needed} open files, but this process may have {limit}; this machine \
         is the limit: raise the hard limit (`ulimit -Hn`) or run fewer clients"
    )]
    Descriptors {
        /// The largest load point.
        clients: u32,
        /// Open files that it needs.
        needed: u64,
        /// The hard limit found.
        limit: u64,
    },
    /// This machine cannot carry the largest load point.
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
    /// So has a `fileio` test.
    #[error(
        "failed to run a fileio test: its operations are sysbench's, on an SMB server: use \
         run::execute"
    )]
    Fileio,
    /// Something else failed, and then the clean-up.
    #[error("{error}; {leftover}")]
    Leftover {
        /// What failed first.
        error: Box<RunError>,
        /// What remains on the share, and why.
        leftover: String,
    },
    /// A worker died of a mistake in smbench itself.
    #[error("failed to go on: a worker panicked, which is a bug in smbench; please report it")]
    Panicked,
    /// What the program that embeds the engine brought along panicked.
    #[error(
        "failed to go on: the program's own {part} panicked, which is no bug in smbench: {said}"
    )]
    GuestPanicked {
        /// "driver" or "stream of operations".
        part: &'static str,
        /// The panic's message.
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

/// What a worker's thread does.
type Work = Box<
    dyn FnOnce(
            Assignment,
            &mpsc::UnboundedSender<Report>,
            watch::Receiver<Option<Schedule>>,
        ) -> io::Result<Option<worker::Outcome>>
        + Send,
>;

/// What every load point of a run needs.
struct Context<'a> {
    plan: Arc<Plan>,
    mix: Arc<Mix>,
    /// The server, for messages.
    at: String,
    whereabouts: Whereabouts,
    server_cpu: Meter,
    /// When the run started, on both clocks.
    started: Nanos,
    started_wall: SystemTime,
    /// What writes are salted with.
    salt: Salt,
    /// Load points are counted on from here in what is written.
    runs_before: u32,
    cancel: &'a Cancel,
    /// Makes the work of so many workers for one load point.
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

/// Runs `plan` to its end, blocking the calling thread. What takes long in
/// `observer` is not measured, but delays the next load point.
///
/// # Errors
/// When nothing could be measured; [`RunError::Plan`], before anything is done, where
/// a field of `plan` was changed to what it cannot be. A run that fails after its
/// first finished load point is not an error: it returns what was measured, and how
/// it ended.
///
/// # Panics
/// On a thread that is running async code of tokio's: call it from
/// `tokio::task::spawn_blocking` there.
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

/// Runs `plan` as [`execute`] does, with operations of your own in place of those
/// that its workload and seed stand for.
///
/// The workload still says what can happen: which files there are, with which
/// rights they are opened, how large a request may be, which actions there are
/// ([`Mix::operation`]). A client whose stream goes beyond that drops out.
///
/// # Errors
/// As [`execute`]; besides, [`RunError::Replay`] and [`RunError::Fileio`] of a plan
/// whose operations nobody else can bring.
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

/// Runs the load points of `plan` on whatever `connector` connects to, with the
/// operations of `streams` ([`Drawn`] are those of the plan).
///
/// Of the plan nothing counts that is about an SMB server: neither its target
/// and session options nor its driver; and no files are made. `server` is what
/// the record says of the server instead.
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
    plan.server_cpu.check()?;
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

fn execute_on_share(
    plan: &Plan,
    operations: Operations<impl Supplies>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    plan.check().map_err(RunError::Plan)?;
    reserve(plan, Carrier::Own)?;
    plan.server_cpu.check()?;
    blocking(site::run(plan, operations, observer, cancel))?
}

/// Whose clients carry a plan out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// SMB clients that are part of smbench.
    Own,
    /// A connector from outside, of which only this is known.
    Guest {
        /// See [`Connector::descriptors_per_group`].
        descriptors_per_group: u32,
    },
}

/// Files, most of them sockets, that the largest load point surely has open.
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

/// Streams and drivers of others know nothing of what a replay is about, or a
/// `fileio` test.
fn refuse_replay(plan: &Plan) -> Result<(), RunError> {
    match (plan.workload.replay(), plan.workload.fileio()) {
        (Some(_), _) => Err(RunError::Replay),
        (_, Some(_)) => Err(RunError::Fileio),
        (None, None) => Ok(()),
    }
}

/// Sees to it that this process can have what a plan needs of the machine.
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

/// The record of a run that ended like this.
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

/// Every load point of every pass.
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
