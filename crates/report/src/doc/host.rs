//! The machines that generated the load of a run, where there were several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::ServerCountersDoc;
use super::generator::ClientDoc;
use super::generator::GeneratorDoc;
use super::machine::MachineDoc;

/// A machine that carried a part of the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct HostDoc {
    /// Its name, which is unique in the run.
    pub name: String,
    /// The clients of a part that was run by hand, such as `0..500/1000`. Absent in a run over
    /// MPI, where host n of N carries the clients n, n + N and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_range: Option<String>,
    /// The kind of machine. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineDoc>,
}

/// The part of a load point that one machine carried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct HostPointDoc {
    /// Name of the machine, as in `hosts`.
    pub name: String,
    /// Number of its clients.
    pub clients: u32,
    /// Its operations completed without error in the window, per second.
    pub ops_per_s: f64,
    /// Application bytes that its clients read and wrote in the window, in Mbit/s (10^6 bits).
    pub throughput_mbps: f64,
    /// Its operations as a share of those of all machines, 0 to 1; `null` without operations.
    pub share: Option<f64>,
    /// Number of its failed operations, ramps included.
    pub errors: u64,
    /// Its use of CPU and memory; `null` if it was lost.
    pub client: Option<ClientDoc>,
    /// The condition of its generator; `null` if it is not known.
    pub generator: Option<GeneratorDoc>,
    /// The server's counters as this part read them, which contain what other parts sent at the
    /// same time. Absent unless parts that read them were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_counters: Option<ServerCountersDoc>,
    /// Nanoseconds from when the first machine's window opened until this one's did: by the
    /// drift of the clocks over MPI, by the wall clocks in a merged result. Negative if it opened
    /// before.
    pub window_skew_ns: i64,
    /// How its clock was related to that of the first machine. Absent for the first, and for
    /// parts that were run by hand, whose wall clocks are taken to be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClockDoc>,
}

/// How the monotonic clocks of two machines were related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct HostClockDoc {
    /// The most by which the relation can be wrong, in nanoseconds: half of the shortest round
    /// trip.
    pub bound_ns: u64,
    /// By how much the relation had changed when the window had closed, in nanoseconds.
    pub drift_ns: i64,
    /// Nanoseconds from when its load was to begin until all its threads had begun; `null`
    /// without threads.
    pub first_operation_ns: Option<u64>,
}
