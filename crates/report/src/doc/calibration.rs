//! A calibration: the highest load that a machine can generate.
//!
//! Not here: what it says about a run ([`crate::calibration`]).

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{LoadError, SaveError, parse, read, save, to_json};
use super::machine::MachineDoc;
use super::tool::ToolDoc;

/// The highest load that one machine can generate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationDoc {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION) of the program that wrote the document.
    pub schema_version: u32,
    /// The program that was measured and wrote the document.
    pub tool: ToolDoc,
    /// Wall-clock time of the start, RFC 3339 in UTC, to the second.
    pub started: String,
    /// The machine that was measured.
    pub machine: MachineDoc,
    /// Seconds that each measurement took.
    pub duration_s: f64,
    /// One element per target, operation and number of threads (one, and all).
    pub ceilings: Vec<CeilingDoc>,
    /// Figures of sysbench for the machine.
    pub sysbench: SysbenchDoc,
}

/// Target of the load during a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CeilingTarget {
    /// No target: every operation completes at once. Only the engine runs.
    Null,
    /// A process that sends and receives the same number of bytes on bare sockets.
    Loopback,
    /// The embedded server: the whole SMB protocol.
    Embedded,
}

impl CeilingTarget {
    /// All targets, the cheapest first.
    pub const ALL: [Self; 3] = [Self::Null, Self::Loopback, Self::Embedded];

    /// Returns `null target`, `bare loopback` or `embedded server`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null target",
            Self::Loopback => "bare loopback",
            Self::Embedded => "embedded server",
        }
    }
}

/// Result of the generator against one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CeilingDoc {
    /// Target of the load.
    pub target: CeilingTarget,
    /// `read` or `write`.
    pub op: String,
    /// Bytes per request.
    pub bytes: u32,
    /// Threads of the generator; each uses at most one core.
    pub threads: u32,
    /// Number of clients, with one request outstanding each.
    pub clients: u32,
    /// Operations per second. `null`, like the next two keys, if they were not
    /// measured.
    pub ops_per_s: Option<f64>,
    /// Application data in Mbit/s (10^6).
    pub throughput_mbps: Option<f64>,
    /// Microseconds of the generator's CPU per operation.
    pub cpu_us_per_op: Option<f64>,
    /// Why there is no result; `null` if there is one.
    pub not_measured: Option<String>,
}

/// Figures of sysbench, if it is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SysbenchDoc {
    /// Release of sysbench: `1.0.20`; `null` if it is not installed.
    pub version: Option<String>,
    /// Results of `sysbench cpu run` and `sysbench threads run`.
    pub tests: Vec<SysbenchTestDoc>,
    /// Why figures are missing; `null` if none is.
    pub not_measured: Option<String>,
}

/// A test of sysbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SysbenchTestDoc {
    /// `cpu` or `threads`.
    pub test: String,
    /// Options of the test.
    pub options: Vec<String>,
    /// Events per second.
    pub events_per_s: f64,
    /// Milliseconds per event: minimum.
    pub latency_min_ms: f64,
    /// Milliseconds per event: mean.
    pub latency_avg_ms: f64,
    /// Milliseconds per event: maximum.
    pub latency_max_ms: f64,
    /// Milliseconds per event: 95th percentile.
    pub latency_p95_ms: f64,
}

impl CalibrationDoc {
    /// Returns the document as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Writes the document and replaces an older one atomically.
    ///
    /// # Errors
    ///
    /// When the file, or the temporary file next to it, cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), SaveError> {
        save(self, path)
    }

    /// Reads a document that this build or an older one wrote.
    ///
    /// # Errors
    ///
    /// The errors of [`RunDoc::load`](super::RunDoc::load).
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        parse(&read(path)?, path)
    }
}
