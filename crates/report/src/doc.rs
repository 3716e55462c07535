//! The result document: versioned JSON that other programs read.
//!
//! Invariants: a key is added but never renamed or given another unit while
//! [`SCHEMA_VERSION`] stays; every number is finite; what was not measured is
//! `null`, never zero; no secret is ever in it. The types are the format, so
//! they mirror the engine's instead of borrowing them.
//! Not here: what is derived from several load points (see [`crate::curve`]).

mod convert;
mod file;
mod fileio;
mod generator;
mod machine;
mod pattern;
mod plan;
mod point;
mod pool;
mod server;
mod server_cpu;
mod statistics;

use serde::{Deserialize, Serialize};

pub use convert::Disclosure;
pub use file::{LoadError, SaveError};
pub(crate) use file::{parse, read, save, to_json};
pub use fileio::FileioDoc;
pub use generator::{GeneratorDoc, LatenessDoc, WorkerDoc};
pub use machine::MachineDoc;
pub use pattern::PatternDoc;
pub use plan::{
    AccessDoc, LimitsDoc, ModeDoc, OperationDoc, PlanDoc, ReplayDoc, ScopeDoc, SizeDoc, VerifyDoc,
    WorkloadDoc,
};
pub use point::{
    CachingDoc, ClientDoc, DifferenceDoc, DropoutDoc, FailureDoc, LoadPointDoc, OfferedDoc, OpDoc,
    SetupDoc, TotalsDoc, VerificationDoc,
};
pub(crate) use point::{is_asked_for, is_of_window};
pub use server::{FlushDoc, GroundDoc, Place, ServerDoc, StorageDoc};
pub use server_cpu::ServerCpuDoc;
pub(crate) use server_cpu::per;
pub use statistics::{ColumnsDoc, ConcurrencyDoc, FairnessDoc, SeriesDoc};

use crate::calibration::CalibrationDoc;
use crate::statistics::Estimate;

/// The version of the format this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that is known about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDoc {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What wrote the document.
    pub tool: ToolDoc,
    /// Wall-clock time of the start, RFC 3339 in UTC, to the second.
    pub started: String,
    /// How the run ended.
    pub outcome: OutcomeDoc,
    /// Why the run was aborted; `null` unless it was.
    pub outcome_reason: Option<String>,
    /// The command line: the program, and one argument per element; passwords and
    /// queries in URLs are left out. Not in documents of releases that did not say,
    /// and of other programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// What was asked for: enough to run it again.
    pub plan: PlanDoc,
    /// What makes an operation start.
    #[serde(rename = "loop")]
    pub pacing: LoopDoc,
    /// The server, as negotiated and as disclosed.
    pub server: ServerDoc,
    /// The machine that generated the load. Not in documents of releases that
    /// did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineDoc>,
    /// What that machine can generate at most. Absent where nobody has measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationDoc>,
    /// One element per load point and pass, in the order they ran.
    pub load_points: Vec<LoadPointDoc>,
    /// Means over passes, where there are several valid ones. Not in documents
    /// of runs with one pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RepeatsDoc>,
    /// The highest valid load point; `null` when there is none.
    pub peak: Option<PeakDoc>,
    /// What could not be removed from the share; `null` when nothing was left.
    pub leftover: Option<String>,
}

impl RunDoc {
    /// Whether any load point got as far as its window.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.load_points.iter().any(|point| point.window_s > 0.0)
    }
}

/// The program that wrote a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDoc {
    /// `smbench`.
    pub name: String,
    /// Its release.
    pub version: String,
}

impl ToolDoc {
    /// This program.
    #[must_use]
    pub fn this() -> Self {
        Self {
            name: "smbench".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeDoc {
    /// Every planned load point was run.
    Complete,
    /// Interrupted by the user.
    Interrupted,
    /// Given up because of the server or the network.
    Aborted,
}

/// What makes an operation start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoopDoc {
    /// The answer to an earlier one. No operation is ever due before it is
    /// sent, so response times equal service times, unless clients have a
    /// think time: response times count from its end.
    Closed,
    /// The clock. Response times count from the instant at which an operation
    /// was due, whenever it was sent; service times from then.
    Rate,
    /// The clock, at the instants of what is replayed, but one operation after
    /// the other. Response times count as at a rate.
    Recorded,
}

/// The valid passes at one number of clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatsDoc {
    /// Clients of each.
    pub clients: u32,
    /// How many passes, 2 or more.
    pub passes: u32,
    /// Throughput in Mbit/s (10^6 bits).
    pub throughput_mbps: Estimate,
    /// Operations per second.
    pub ops_per_s: Estimate,
    /// Means of the passes' mean response times in nanoseconds; `null` where a
    /// pass had no operation.
    pub latency_mean_ns: Option<Estimate>,
    /// The same of their 99th percentiles. It is not the percentile over the
    /// operations of all passes, for which histograms are to be pooled.
    pub latency_p99_ns: Option<Estimate>,
}

/// The highest point of the curve averaged over the valid passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakDoc {
    /// Mean over the valid passes, in Mbit/s. Where it is 0 no load point moved
    /// any data, and the peak is that of operations per second.
    pub throughput_mbps: f64,
    /// Operations per second, mean over the valid passes. Not in documents of
    /// releases that only read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// At this many clients.
    pub clients: u32,
    /// Mean response time there, over all operations of those passes.
    pub latency_mean_ns: f64,
    /// 99th percentile of the response time there.
    pub latency_p99_ns: u64,
    /// Valid passes averaged there.
    pub passes: u32,
    /// The last load point, counting up from the peak, before what it is the
    /// peak of falls below 95 % of it.
    pub within_95_percent_clients: u32,
    /// The same counting down: from here on it stays within 95 %.
    pub within_95_percent_from_clients: u32,
}
