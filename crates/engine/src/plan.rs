//! What will run, validated: the contract between a written [`crate::spec`]
//! and the workers. Nothing in a [`Plan`] that [`Plan::resolve`] made can be
//! invalid any more. Its fields may be changed all the same; their bounds are looked
//! at once more before it runs.

pub mod action;
mod caching;
mod check;
mod connections;
mod digest;
mod driver;
mod files;
mod load;
pub mod pattern;
mod resolve;
mod workload;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use smbench_protocol::credit::charge_for;
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};

use crate::record::OpKind;
use crate::server_cpu::CpuSource;
use crate::target::Target;

pub use action::{Action, WeightedAction};
pub use caching::{Caching, UnknownCaching};
pub use connections::{
    CONNECTIONS_PER_SESSION_MAX, Connections, ConnectionsProblem, SESSIONS_PER_CONNECTION_MAX,
};
pub use driver::{DriverKind, UnknownDriver};
pub use files::{ScratchName, WorkFile};
pub use load::{
    LoadModel, RATE_MAX, RATE_MIN, Ramp, Rate, RateError, RateScope, Spacing, THINK_TIME_MAX,
    ThinkTime,
};
pub use pattern::AccessLine;
pub use resolve::{
    FILES_MAX, OPERATIONS_MAX, OUTSTANDING_MAX, PERIOD_MAX, Place, PlanError, Problem, REPEAT_MAX,
    REQUEST_BYTES_MAX, SETUP_RATE_MAX, SIZES_MAX, THREADS_MAX,
};
pub use workload::{
    Access, FileSet, Replay, Requests, Scope, SizeWeight, Split, Timing, Workload, is_reader,
};

/// Credits of the costliest frame of a replay: CREATE, something, CLOSE.
const REPLAY_CHARGE: u16 = 3;

/// A complete, immutable run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the profile the workload came from.
    pub profile: String,
    /// What each client does.
    pub workload: Workload,
    /// Where, and as whom.
    pub target: Target,
    /// Clients at each load point, in the order they run, each 1 to
    /// [`CLIENTS_MAX`](crate::clients::CLIENTS_MAX); at least one.
    pub load_points: Vec<u32>,
    /// How often the whole series of load points is run, 1 to [`REPEAT_MAX`].
    pub repeat: u32,
    /// Actions each client has under way at most, 1 to [`OUTSTANDING_MAX`]; in a
    /// closed loop without think times, always. 1 in a replay and in a `fileio` test.
    pub outstanding: u32,
    /// What makes actions begin.
    pub load: LoadModel,
    /// How the load comes to its full height.
    pub ramp: Ramp,
    /// Time under load before the measured window, not measured: at full load, or,
    /// with [`Ramp::Linear`], while clients join. 0 to [`PERIOD_MAX`]; not 0 with
    /// [`Ramp::Linear`].
    pub ramp_up: Duration,
    /// Length of the measured window, more than 0 and at most [`PERIOD_MAX`].
    pub duration: Duration,
    /// Time at full load after the measured window, not measured, 0 to [`PERIOD_MAX`].
    pub ramp_down: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// Worker threads, 1 to [`THREADS_MAX`]; each runs its share of the clients, and
    /// there are no more than these need.
    pub threads: u32,
    /// Whether each of them stays on a CPU of its own.
    pub pinning: Pinning,
    /// Sessions set up per second at most, over all threads, 1 to
    /// [`SETUP_RATE_MAX`]; `None` for as fast as the server lets them in.
    pub setup_rate: Option<u32>,
    /// Where CPU time of the server is looked up.
    pub server_cpu: CpuSource,
    /// The client that carries the operations out.
    pub driver: DriverKind,
    /// What is asked of each session.
    pub session: SessionOptions,
    /// The TCP connections that sessions use.
    pub connections: Connections,
    /// What opens of files ask to be allowed to cache.
    pub caching: Caching,
    /// Whether data read back is compared with what was written.
    pub verify: Verify,
    /// Bounds on every wait.
    pub limits: Limits,
}

impl Plan {
    /// The most clients any load point has.
    #[must_use]
    pub fn max_clients(&self) -> u32 {
        self.load_points.iter().copied().max().unwrap_or(0)
    }

    /// Bytes of the largest request.
    #[must_use]
    pub fn largest_request(&self) -> u32 {
        let sizes = self.workload.request_sizes();
        let replay = self.workload.replay();
        let recorded = replay.map(|replay| replay.trace.summary().largest);
        sizes.chain(recorded).max().unwrap_or(0)
    }

    /// Credits that the costliest operation takes at once, all requests of its
    /// frame together.
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

    /// Whether any WRITE or FLUSH can occur, so that files are opened for
    /// writing (FLUSH needs write access: MS-SMB2 3.3.5.11).
    #[must_use]
    pub fn writes(&self) -> bool {
        let kinds = self.workload.kinds();
        kinds.contains(&OpKind::Write) || kinds.contains(&OpKind::Flush)
    }

    /// Bytes of all files together at the largest load point.
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

    /// Every file of the run, at the largest load point.
    pub fn files(&self) -> impl Iterator<Item = WorkFile> + use<> {
        let clients = match self.workload.uses_files() {
            true => self.max_clients(),
            false => 0,
        };
        self.workload.files.iter(clients)
    }

    /// Name of a client's file in the target's folder. `client` and `file` are
    /// numbers from 0; shared files have the same name for every client.
    #[must_use]
    pub fn file_name(&self, client: u32, file: u32) -> String {
        self.workload.files.file_name(client, file)
    }
}

/// What is asked of a session during set-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// Dialects to offer.
    pub dialects: DialectRange,
    /// Message signing.
    pub signing: Mode,
    /// The one algorithm to sign with; `None` leaves it to both sides.
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption.
    pub encryption: Mode,
    /// Ciphers to offer.
    pub ciphers: CipherList,
}

/// A protocol feature as the user asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// As the server requires.
    #[default]
    Auto,
    /// On, or the run does not start.
    Required,
    /// Off, or the run does not start.
    Off,
}

/// Where worker threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// Wherever the system puts them.
    #[default]
    Free,
    /// The i-th on the i-th CPU that this process may use, round and round.
    Pinned,
}

/// Whether contents are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Payloads are discarded unseen.
    #[default]
    Off,
    /// Every byte read is compared with what was written.
    ReadBack,
}

/// The longest each wait may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until TCP is connected.
    pub connect: Duration,
    /// Until one set-up request (negotiate, session, tree, open) is answered.
    pub setup: Duration,
    /// Until one measured operation is answered; then the client counts as lost.
    pub operation: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            setup: Duration::from_secs(30),
            operation: Duration::from_secs(60),
        }
    }
}
