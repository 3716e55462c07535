//! The part of a load point that one host of a run carried.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::kind::Direction;
use crate::record::{ClientUsage, GeneratorRecord, LoadPointRecord, StageRecord, Tally};

/// A host in the window of a load point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// Its name, which is unique in the run.
    pub name: String,
    /// Number of its clients.
    pub clients: u32,
    /// How many of them were under load on average.
    pub mean_clients: f64,
    /// Its operations of the workload that completed without error in the window.
    pub operations: u64,
    /// Application bytes that its clients read and wrote in the window.
    pub bytes: u64,
    /// Its failed operations, ramps included.
    pub errors: u64,
    /// Its use of CPU and memory; `None` if the host was lost.
    pub client: Option<ClientUsage>,
    /// The state of its generator; `None` if the host was lost.
    pub generator: Option<GeneratorRecord>,
    /// Time within the window, summed over its clients, in which a request was due but no
    /// credit was available.
    pub credit_starved: Duration,
    /// Time within the window, summed over its clients, in which a request was due but the
    /// socket had not yet accepted earlier ones.
    pub held_back: Duration,
    /// Time from when its load was to begin until all its workers had begun; `None` without
    /// workers.
    pub late: Option<Nanos>,
    /// How its clock was related to that of the first host; `None` for the first.
    pub clock: Option<HostClock>,
}

impl HostRecord {
    /// Returns the part of a host with this name, which it has measured itself.
    #[must_use]
    pub fn of(name: &str, own: &LoadPointRecord, late: Option<Nanos>) -> Self {
        Self {
            client: Some(own.client),
            generator: Some(own.generator.clone()),
            credit_starved: own.credit_starved,
            held_back: own.held_back,
            late,
            ..Self::counted(name, own.clients, &own.ops)
        }
    }

    /// Returns the part of a host in a stage: the operations `own` of its `clients`. `used` has
    /// what its process used there.
    #[must_use]
    pub fn of_stage(name: &str, clients: u32, own: &Tally, used: &StageRecord) -> Self {
        Self {
            client: Some(used.client),
            generator: Some(GeneratorRecord {
                machine_busy: used.machine_busy,
                ..GeneratorRecord::default()
            }),
            ..Self::counted(name, clients, own)
        }
    }

    fn counted(name: &str, clients: u32, ops: &Tally) -> Self {
        Self {
            name: name.to_owned(),
            clients,
            mean_clients: clients.into(),
            operations: ops.window_all().count(),
            bytes: ops.window_bytes(Direction::Read) + ops.window_bytes(Direction::Write),
            errors: ops.errors(),
            ..Self::default()
        }
    }

    /// Returns its part of a `stage` with what is measured once for the whole load.
    pub(super) fn in_stage(&self, stage: Self) -> Self {
        let machine_busy = stage.generator.and_then(|generator| generator.machine_busy);
        let generator = self.generator.clone();
        Self {
            generator: generator.map(|generator| GeneratorRecord {
                machine_busy,
                ..generator
            }),
            late: self.late,
            clock: self.clock,
            ..stage
        }
    }
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
    /// Time from when the first host's window opened until this one's did, in nanoseconds, as
    /// estimated from the drift.
    pub skew: i64,
}
