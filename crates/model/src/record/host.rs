//! The part of a load point that one host of a run carried.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::record::{ClientUsage, GeneratorRecord};

/// A host in the window of a load point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// Its name, which is unique in the run.
    pub name: String,
    /// Number of its clients.
    pub clients: u32,
    /// Its operations of the workload that completed without error in the window.
    pub operations: u64,
    /// Application bytes that its clients read and wrote in the window.
    pub bytes: u64,
    /// Its failed operations, ramps included.
    pub errors: u64,
    /// Its use of CPU and memory.
    pub client: ClientUsage,
    /// The state of its generator.
    pub generator: GeneratorRecord,
    /// Time within the window, summed over its clients, in which a request was due but no
    /// credit was available.
    pub credit_starved: Duration,
    /// Time within the window, summed over its clients, in which a request was due but the
    /// socket had not yet accepted earlier ones.
    pub held_back: Duration,
    /// Time from when its load was to begin until it sent the first operation; `None` if it
    /// sent none.
    pub late: Option<Nanos>,
    /// How its clock was related to that of the first host; `None` for the first.
    pub clock: Option<HostClock>,
}

/// Who a host is, for the document of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// Its name, which is unique in the run.
    pub name: String,
    /// The kind of machine, as the JSON of a result document.
    pub machine: String,
}

/// How the clock of a host was related to that of the first host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// Reading of its clock minus that of the first host, in nanoseconds. The origins differ.
    pub offset: i64,
    /// The most by which that can be wrong: half of the shortest round trip.
    pub bound: Nanos,
    /// By how much the offset had changed when the load had ended, in nanoseconds.
    pub drift: i64,
}
