//! The data and the worker functions that every load point of a run needs.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::operations::Mix;
use smbench_model::plan::Plan;
use tokio::sync::{mpsc, watch};

use crate::drivers::driver::Connector;
use crate::hosts::{FirstHost, HostChannel, Upstream};
use crate::machine::cancel::Cancel;
use crate::machine::route::Locality;
use crate::machine::server_cpu::Meter;
use crate::worker::assignment::{Assignment, WorkerMessage, WorkerParts, WorkerResult};
use crate::worker::schedule::Schedule;
use crate::worker::supply::Supplies;
use crate::worker::work::work;

/// The function that a worker's thread runs.
pub(crate) type WorkerFn = Box<
    dyn FnOnce(
            Assignment,
            &mpsc::UnboundedSender<WorkerMessage>,
            watch::Receiver<Option<Schedule>>,
        ) -> io::Result<Option<WorkerResult>>
        + Send,
>;

/// The data that every load point of a run needs.
pub(crate) struct Context<'a> {
    pub(crate) plan: Arc<Plan>,
    pub(crate) mix: Arc<Mix>,
    /// Address of the server, for messages.
    pub(crate) at: String,
    pub(crate) whereabouts: Locality,
    pub(crate) server_cpu: Meter,
    /// Start of the run, on both clocks.
    pub(crate) started: Nanos,
    pub(crate) started_wall: SystemTime,
    /// Salt of the data that is written.
    pub(crate) salt: Salt,
    /// Number at which the numbering of load points starts in the data that is
    /// written.
    pub(crate) runs_before: u32,
    pub(crate) cancel: &'a Cancel,
    /// Makes the functions of the given number of workers for one load point.
    pub(crate) make_workers: MakeWorkers,
    pub(crate) role: RunRole<'a>,
}

/// What this process does in its run.
#[derive(Clone, Copy)]
pub(crate) enum RunRole<'a> {
    /// It carries all clients.
    Alone,
    /// It is the first of several hosts.
    First(&'a FirstHost),
    /// It follows the first host.
    Other(&'a Upstream),
}

impl<'a> RunRole<'a> {
    /// Returns the other hosts, if this is the first one.
    pub(crate) fn others(self) -> &'a [HostChannel] {
        match self {
            Self::First(first) => first.others(),
            Self::Alone | Self::Other(_) => &[],
        }
    }

    /// Returns the way to the first host, if this is another one.
    pub(crate) const fn upstream(self) -> Option<&'a Upstream> {
        match self {
            Self::Other(upstream) => Some(upstream),
            Self::Alone | Self::First(_) => None,
        }
    }
}

/// Makes the functions of the given number of workers for one load point.
pub(crate) type MakeWorkers = Box<dyn Fn(usize) -> Vec<WorkerFn>>;

pub(crate) fn worker_maker<C: Connector, T: Supplies>(parts: WorkerParts<C, T>) -> MakeWorkers {
    Box::new(move |workers| {
        let parts = WorkerParts {
            connector: parts.connector.clone(),
            supplies: parts.supplies.of_load_point(),
        };
        let one = |_| -> WorkerFn {
            let parts = parts.clone();
            Box::new(move |assignment, reports, start| work(assignment, parts, reports, start))
        };
        (0..workers).map(one).collect()
    })
}
