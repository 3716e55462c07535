//! The work of a run: what its clients do, how many they are, and for how long.

use std::time::Duration;

use crate::contents::Verify;
use crate::load::{LoadModel, Ramp};
use crate::workload::Workload;

/// The work of a run. Runs of equal work can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Name of the profile the workload came from.
    pub profile: String,
    /// The work of each client.
    pub workload: Workload,
    /// Clients at each load point, in the order they run, each 1 to
    /// [`CLIENTS_MAX`](crate::lists::clients::CLIENTS_MAX); at least one.
    pub load_points: Vec<u32>,
    /// How often the whole series of load points is run, 1 to
    /// [`REPEAT_MAX`](crate::bounds::REPEAT_MAX).
    pub repeat: u32,
    /// Maximum number of actions that each client has in flight, 1 to
    /// [`OUTSTANDING_MAX`](crate::bounds::OUTSTANDING_MAX). In a closed loop without
    /// think times the client always has this many. 1 in a replay and in a `fileio`
    /// test.
    pub outstanding: u32,
    /// The load model: when actions begin.
    pub load: LoadModel,
    /// How the load rises to its full height.
    pub ramp: Ramp,
    /// Unmeasured time under load before the measured window, 0 to
    /// [`PERIOD_MAX`](crate::bounds::PERIOD_MAX). With [`Ramp::Linear`] it is more
    /// than 0, and clients join in it. Otherwise the load is full.
    pub ramp_up: Duration,
    /// Length of the measured window, more than 0 and at most
    /// [`PERIOD_MAX`](crate::bounds::PERIOD_MAX).
    pub duration: Duration,
    /// Unmeasured time at full load after the measured window, 0 to
    /// [`PERIOD_MAX`](crate::bounds::PERIOD_MAX).
    pub ramp_down: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether data read back is compared with what was written.
    pub verify: Verify,
}
