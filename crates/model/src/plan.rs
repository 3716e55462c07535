//! The plan of a run: the validated form of a [`crate::spec`], which workers carry
//! out.
//!
//! Every value of a [`Plan`] from [`Plan::resolve`] is valid. The fields are public
//! and may be changed, so their bounds are checked again before the plan runs.

mod check;
mod digest;
mod problem;
mod resolve;

use std::time::Duration;

use smbench_protocol::credit::charge_for;

pub use crate::access as pattern;
pub use crate::access::{Access, AccessLine, SizeWeight, Split};
pub use crate::action::{self, Action, WeightedAction};
pub use crate::bounds::{
    FILES_MAX, OPERATIONS_MAX, OUTSTANDING_MAX, PERIOD_MAX, REPEAT_MAX, REQUEST_BYTES_MAX,
    SETUP_RATE_MAX, SIZES_MAX, THREADS_MAX,
};
pub use crate::contents::Verify;
use crate::cpu::CpuSource;
pub use crate::files::{FileSet, Scope, ScratchName, WorkFile};
pub use crate::generator::{DriverKind, Pinning, UnknownDriver};
use crate::kind::OpKind;
pub use crate::limits::Limits;
pub use crate::load::{
    LoadModel, RATE_MAX, RATE_MIN, Ramp, Rate, RateError, RateScope, Spacing, THINK_TIME_MAX,
    ThinkTime,
};
pub use crate::sessions::{
    CONNECTIONS_PER_SESSION_MAX, Caching, Connections, ConnectionsProblem, Mode,
    SESSIONS_PER_CONNECTION_MAX, SessionOptions, UnknownCaching,
};
use crate::target::Target;
pub use crate::workload::{Replay, Requests, Timing, Workload, is_reader};
pub use problem::{Place, PlanError, Problem};

/// Credits of the costliest frame of a replay: CREATE, one other request, CLOSE.
const REPLAY_CHARGE: u16 = 3;

/// A complete, validated run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the profile the workload came from.
    pub profile: String,
    /// The work of each client.
    pub workload: Workload,
    /// The server, share, folder and account.
    pub target: Target,
    /// Clients at each load point, in the order they run, each 1 to
    /// [`CLIENTS_MAX`](crate::lists::clients::CLIENTS_MAX); at least one.
    pub load_points: Vec<u32>,
    /// How often the whole series of load points is run, 1 to [`REPEAT_MAX`].
    pub repeat: u32,
    /// Maximum number of actions that each client has in flight, 1 to
    /// [`OUTSTANDING_MAX`]. In a closed loop without think times the client always
    /// has this many. 1 in a replay and in a `fileio` test.
    pub outstanding: u32,
    /// The load model: when actions begin.
    pub load: LoadModel,
    /// How the load rises to its full height.
    pub ramp: Ramp,
    /// Unmeasured time under load before the measured window, 0 to [`PERIOD_MAX`].
    /// With [`Ramp::Linear`] it is more than 0, and clients join in it. Otherwise
    /// the load is full.
    pub ramp_up: Duration,
    /// Length of the measured window, more than 0 and at most [`PERIOD_MAX`].
    pub duration: Duration,
    /// Unmeasured time at full load after the measured window, 0 to [`PERIOD_MAX`].
    pub ramp_down: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// Worker threads, 1 to [`THREADS_MAX`]. Each runs its share of the clients. A
    /// load point uses no more threads than its clients need.
    pub threads: u32,
    /// Whether each worker thread stays on one CPU.
    pub pinning: Pinning,
    /// Maximum number of sessions to set up per second, over all threads, 1 to
    /// [`SETUP_RATE_MAX`]. With `None` the server alone limits it.
    pub setup_rate: Option<u32>,
    /// Source of the server's CPU time.
    pub server_cpu: CpuSource,
    /// The driver that sends the operations.
    pub driver: DriverKind,
    /// Options of each session.
    pub session: SessionOptions,
    /// The TCP connections that sessions use.
    pub connections: Connections,
    /// The caching that opens of files ask for.
    pub caching: Caching,
    /// Whether data read back is compared with what was written.
    pub verify: Verify,
    /// Limits on every wait.
    pub limits: Limits,
}

impl Plan {
    /// Returns the clients of the largest load point.
    #[must_use]
    pub fn max_clients(&self) -> u32 {
        self.load_points.iter().copied().max().unwrap_or(0)
    }

    /// Returns the bytes of the largest request.
    #[must_use]
    pub fn largest_request(&self) -> u32 {
        let sizes = self.workload.request_sizes();
        let replay = self.workload.replay();
        let recorded = replay.map(|replay| replay.trace.summary().largest);
        sizes.chain(recorded).max().unwrap_or(0)
    }

    /// Returns the credits that the costliest operation takes at once. All requests
    /// of its frame count together.
    #[must_use]
    pub fn largest_charge(&self) -> u16 {
        let moved = charge_for(self.largest_request());
        if self.workload.replay().is_some() {
            return moved.max(REPLAY_CHARGE);
        }
        let charge = |action: &Action| match action {
            Action::Read { .. } | Action::Write { .. } | Action::WriteFlush => moved,
            Action::CreateReadClose => moved.saturating_add(2),
            Action::CreateQueryClose { .. } | Action::CreateSetClose { .. } => 3,
            _ => 1,
        };
        let actions = self.workload.actions();
        actions.iter().map(charge).max().unwrap_or(1)
    }

    /// Whether any WRITE or FLUSH can occur. Files are then opened for writing
    /// (FLUSH needs write access: MS-SMB2 3.3.5.11).
    #[must_use]
    pub fn writes(&self) -> bool {
        let kinds = self.workload.kinds();
        kinds.contains(&OpKind::Write) || kinds.contains(&OpKind::Flush)
    }

    /// Returns the bytes of all files together at the largest load point.
    #[must_use]
    pub fn bytes_on_share(&self) -> u64 {
        if let Some(replay) = self.workload.replay() {
            let clients = u64::from(self.max_clients());
            return replay.trace.bytes_per_client().saturating_mul(clients);
        }
        match self.workload.uses_files() {
            true => self.workload.files.bytes(self.max_clients()),
            false => 0,
        }
    }

    /// Returns every file of the run, at the largest load point.
    pub fn files(&self) -> impl Iterator<Item = WorkFile> + use<> {
        let clients = match self.workload.uses_files() {
            true => self.max_clients(),
            false => 0,
        };
        self.workload.files.iter(clients)
    }

    /// Returns the name of a client's file in the target's folder. `client` and
    /// `file` are numbers from 0. Shared files have the same name for every client.
    #[must_use]
    pub fn file_name(&self, client: u32, file: u32) -> String {
        self.workload.files.file_name(client, file)
    }
}
