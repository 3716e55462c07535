//! The instructions, the messages and the measurements of one worker.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::load::{Rate, SetupFailures};
use smbench_model::operations::Mix;
use smbench_model::plan::Plan;
use smbench_model::record::{Dropout, HostRecord, WorkerRecord, latency_histogram};

use crate::drivers::dropped::Dropped;
use crate::machine::cancel::Cancel;
use crate::smb::session::SessionError;
use crate::worker::fault::LoadFault;
use crate::worker::figures::{Figures, PopulationEnd};
use crate::worker::notes::NoteDesk;
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::setup_rate::SetupRate;
use crate::worker::under_load::UnderLoad;

/// Instructions for one worker.
pub(crate) struct Assignment {
    pub(crate) plan: Arc<Plan>,
    pub(crate) mix: Arc<Mix>,
    /// Number of load points since the files were prepared, including this one. It
    /// distinguishes the writes of this load point from earlier ones.
    pub(crate) generation_run: u32,
    /// Salt of all writes of the run.
    pub(crate) salt: Salt,
    /// Number of clients of this load point, and of the previous one.
    pub(crate) clients: u32,
    pub(crate) clients_before: u32,
    /// The rate of this load point, where it is not the plan's.
    pub(crate) rate: Option<Rate>,
    /// Number of groups in the populations before this one.
    pub(crate) groups_before: u32,
    /// Numbers of this worker's clients; each group shares a driver.
    pub(crate) groups: Vec<Box<[u32]>>,
    /// What happens when a group cannot be set up.
    pub(crate) setup: SetupFailures,
    /// Set when no more groups are to be set up.
    pub(crate) enough: Arc<AtomicBool>,
    /// When the worker may begin each group.
    pub(crate) pace: SetupRate,
    /// CPU to which the worker's thread is pinned, if it is.
    pub(crate) cpu: Option<usize>,
    pub(crate) exchange: Arc<RecorderExchange>,
    /// Where the worker hands in notes on answers, if such are made.
    pub(crate) notes: Option<NoteDesk>,
    /// Number of this worker, from 0.
    pub(crate) number: usize,
    /// Token that the worker drops when its load has ended or when it fails.
    pub(crate) under_load: Cell<Option<UnderLoad>>,
    pub(crate) cancel: Cancel,
}

/// The connector and the operations of a worker.
#[derive(Clone)]
pub(crate) struct WorkerParts<C, T> {
    pub(crate) connector: C,
    pub(crate) supplies: T,
}

impl Assignment {
    /// Returns how long after the start of the load point a client begins. Of `all`
    /// clients, each is set up. Where some are not, their numbers may go beyond.
    pub(crate) fn start(&self, client: u32, all: u32) -> Nanos {
        let (only, ramp_up) = (self.plan.only(), self.plan.work.ramp_up);
        let client = client.min(all.saturating_sub(1));
        let joins = only.ramp.start(client, all, self.clients_before, ramp_up);
        (only.start + joins).into()
    }
}

/// A message from a worker to the coordinator. The last one is always
/// [`WorkerMessage::Gone`], however the worker ends.
pub(crate) enum WorkerMessage {
    /// The sessions of this many more clients are set up, since that instant.
    Ready { clients: u32, at: Nanos },
    /// A session could not be set up; the worker has stopped.
    SetupFailed(SessionError),
    /// The sessions of `clients` clients could not be set up; the worker continues.
    Refused { clients: u32, error: SessionError },
    /// The worker sets up no more sessions. Sent only where failures are counted.
    AllTried,
    /// All operations have ended, at this instant.
    LoadEnded(Nanos),
    /// The worker's thread is ending.
    Gone,
}

/// The result of one of the workers of a load point.
pub(crate) struct NumberedResult {
    /// Number of the worker, from 0.
    pub(crate) number: usize,
    pub(crate) result: WorkerResult,
}

/// The measurements of one worker, or of the workers of another host, without the operations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerResult {
    pub(crate) dropouts: Vec<Dropout>,
    #[serde(with = "smbench_model::record::transfer")]
    pub(crate) session_setup: Histogram<u64>,
    /// Number of TCP connections of the sessions.
    pub(crate) connections: u64,
    pub(crate) figures: Figures,
    /// The parts of the populations, if it is of another host and there are several.
    pub(crate) populations: Vec<PopulationEnd>,
    /// Load and lateness of each thread. The first worker of a thread has its record.
    pub(crate) workers: Vec<WorkerRecord>,
    /// Instant at which the last operation under load ended.
    pub(crate) ended: Nanos,
    /// Instant at which the operations after the load ended, if there were any.
    pub(crate) closed: Option<Nanos>,
    /// Time from when the load was to begin until it began.
    pub(crate) late: Option<Nanos>,
    /// The other hosts whose measurements are part of it.
    pub(crate) hosts: Vec<HostRecord>,
    /// What makes the load point, or some of its stages, invalid.
    pub(crate) faults: Vec<LoadFault>,
}

impl Default for WorkerResult {
    fn default() -> Self {
        Self {
            dropouts: Vec::new(),
            session_setup: latency_histogram(),
            connections: 0,
            figures: Figures::default(),
            populations: Vec::new(),
            workers: Vec::new(),
            ended: Nanos(0),
            closed: None,
            late: None,
            hosts: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl WorkerResult {
    /// Records that clients dropped out for this reason, before or after the load.
    pub(crate) fn drop_out(&mut self, clients: impl Iterator<Item = u32>, reason: &Dropped) {
        let reason = reason.to_string();
        self.dropouts.extend(clients.map(|client| Dropout {
            client,
            reason: reason.clone(),
            after_s: None,
        }));
    }

    /// Adds the measurements of another worker.
    pub(crate) fn merge(&mut self, other: Self) {
        self.dropouts.extend(other.dropouts);
        // The histograms have equal bounds, so adding cannot fail.
        let added = self.session_setup.add(&other.session_setup);
        debug_assert!(added.is_ok());
        self.connections += other.connections;
        self.figures.merge(&other.figures);
        self.workers.extend(other.workers);
        self.ended = self.ended.max(other.ended);
        self.closed = self.closed.max(other.closed);
        self.late = match (self.late, other.late) {
            (Some(one), Some(two)) => Some(one.max(two)),
            (one, two) => one.or(two),
        };
        self.hosts.extend(other.hosts);
        self.faults.extend(other.faults);
    }
}
