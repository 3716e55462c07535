//! What a machine can generate at most, so that a reader can tell a slow server from
//! a slow client: a document of its own, which later results keep a copy of.
//!
//! A ceiling is what the generator did against a target that costs next to nothing.
//! Invariant: nothing here claims that a server elsewhere could not be given
//! more, since whatever answers on this machine takes CPU time from the generator.
//! Not here: measuring.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::curve::Curve;
use crate::doc::{self, LoadError, MachineDoc, RunDoc, SaveError, ToolDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{self, bytes, counted, plain};

/// Sizes that are at most so many times apart are alike enough to be compared.
const SIZES_APART: f64 = 4.0;

/// What a calibration is called in a folder of results.
pub const CALIBRATION_FILE: &str = "calibration.json";

/// What one machine can generate at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationDoc {
    /// [`doc::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What wrote the document, and was measured.
    pub tool: ToolDoc,
    /// Wall-clock time of the start, RFC 3339 in UTC, to the second.
    pub started: String,
    /// The machine.
    pub machine: MachineDoc,
    /// Seconds that each ceiling was measured for.
    pub duration_s: f64,
    /// Each target with each operation measured of it, on one thread and on all.
    pub ceilings: Vec<CeilingDoc>,
    /// What sysbench says of the machine.
    pub sysbench: SysbenchDoc,
}

/// What answers during a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CeilingTarget {
    /// Nothing: every operation is done at once. The engine alone.
    Null,
    /// A process that reads and writes as many bytes on bare sockets.
    Loopback,
    /// The embedded server: all of SMB.
    Embedded,
}

impl CeilingTarget {
    /// All, the one that costs the least first.
    pub const ALL: [Self; 3] = [Self::Null, Self::Loopback, Self::Embedded];

    /// `null target`, `bare loopback` or `embedded server`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null target",
            Self::Loopback => "bare loopback",
            Self::Embedded => "embedded server",
        }
    }
}

/// What the generator did against one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CeilingDoc {
    /// What answered.
    pub target: CeilingTarget,
    /// `read` or `write`.
    pub op: String,
    /// Bytes per request.
    pub bytes: u32,
    /// Threads of the generator; each keeps one core busy at most.
    pub threads: u32,
    /// Clients, one request outstanding each.
    pub clients: u32,
    /// Operations per second; `null`, like the next, where it was not measured.
    pub ops_per_s: Option<f64>,
    /// Application data in Mbit/s (10^6).
    pub throughput_mbps: Option<f64>,
    /// Microseconds of the generator's CPU per operation.
    pub cpu_us_per_op: Option<f64>,
    /// Why it was not measured; `null` where it was.
    pub not_measured: Option<String>,
}

/// Figures of sysbench, where it is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SysbenchDoc {
    /// Its release: `1.0.20`; `null` where it is not installed.
    pub version: Option<String>,
    /// `sysbench cpu run` and `sysbench threads run`.
    pub tests: Vec<SysbenchTestDoc>,
    /// Why there are no figures, or not all; `null` where there are.
    pub not_measured: Option<String>,
}

/// A test of sysbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SysbenchTestDoc {
    /// `cpu` or `threads`.
    pub test: String,
    /// What it was run with.
    pub options: Vec<String>,
    /// Events per second.
    pub events_per_s: f64,
    /// Milliseconds per event: least.
    pub latency_min_ms: f64,
    /// Mean.
    pub latency_avg_ms: f64,
    /// Most.
    pub latency_max_ms: f64,
    /// 95th percentile.
    pub latency_p95_ms: f64,
}

/// How far a run comes to what the machine can generate.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Operations per second of its peak, in percent of those of the calibration.
    pub percent: f64,
    /// All that is to be said of it, in a line.
    pub text: String,
}

impl Reached {
    /// Whether the calibration can be a limit: no run did more than it found possible.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.percent <= 100.0
    }
}

impl CalibrationDoc {
    /// The document as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        doc::to_json(self)
    }

    /// Writes the document, replacing any older one at once.
    ///
    /// # Errors
    ///
    /// When the file, or its temporary neighbour, cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), SaveError> {
        doc::save(self, path)
    }

    /// Reads a document that this build or an older one wrote.
    ///
    /// # Errors
    ///
    /// As [`RunDoc::load`].
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        doc::parse(&doc::read(path)?, path)
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> Table {
        let columns = ["threads", "clients", "ops/s", "Mbit/s", "us/op"];
        let rows = self.ceilings.iter().map(|ceiling| {
            vec![
                ceiling.target.name().into(),
                operation(ceiling).into(),
                Cell::count(ceiling.threads.into()),
                Cell::count(ceiling.clients.into()),
                Cell::of(ceiling.ops_per_s, units::rate),
                Cell::of(ceiling.throughput_mbps, units::throughput),
                Cell::of(ceiling.cpu_us_per_op, units::cpu_us),
            ]
        });
        let mut notes: Vec<String> = [
            "null target: the engine alone, nothing is sent",
            "bare loopback: as many bytes as SMB on plain sockets; embedded server: all of SMB, unsigned",
            "both are processes here and share its cores with the generator: one elsewhere leaves it more",
            "us/op: CPU time of the generator per operation",
        ]
        .map(str::to_owned)
        .into();
        let missing = self.ceilings.iter().filter_map(|ceiling| {
            let reason = ceiling.not_measured.as_deref()?;
            let target = ceiling.target.name();
            Some(format!(
                "{target}, {}: {}",
                operation(ceiling),
                plain(reason)
            ))
        });
        notes.extend(missing);
        Table {
            title: format!(
                "what this machine generates at most, {} each",
                units::seconds(self.duration_s)
            ),
            columns: [Column::text("target"), Column::text("operation")]
                .into_iter()
                .chain(columns.map(Column::number))
                .collect(),
            rows: rows.collect(),
            notes,
        }
    }

    /// What sysbench found, a line each.
    #[must_use]
    pub fn sysbench_lines(&self) -> Vec<String> {
        let SysbenchDoc {
            version,
            tests,
            not_measured,
        } = &self.sysbench;
        let mut lines: Vec<_> = tests
            .iter()
            .map(|test| {
                format!(
                    "sysbench {} {} {}: {} events/s; min/avg/max/p95 {}/{}/{}/{} ms",
                    plain(version.as_deref().unwrap_or("")),
                    plain(&test.test),
                    plain(&test.options.join(" ")),
                    units::rate(test.events_per_s),
                    test.latency_min_ms,
                    test.latency_avg_ms,
                    test.latency_max_ms,
                    test.latency_p95_ms
                )
            })
            .collect();
        lines.extend(not_measured.as_deref().map(plain));
        lines
    }

    /// How far the peak of a run comes to what this machine does against the
    /// embedded server with requests of the most similar size; `None` where there
    /// is nothing like it, that is, none at most four times as large or as small.
    #[must_use]
    pub fn reached(&self, run: &RunDoc) -> Option<Reached> {
        let curve = Curve::of(&run.load_points);
        let row = curve.peak_row()?;
        let sum = |of: fn(&doc::LoadPointDoc) -> u64| {
            row.passes.iter().map(|pass| of(pass) as f64).sum::<f64>()
        };
        let (read, written) = (sum(|pass| pass.bytes_read), sum(|pass| pass.bytes_written));
        let operations: f64 = row
            .passes
            .iter()
            .map(|pass| pass.ops_per_s * pass.window_s)
            .sum();
        let size = (read + written) / operations;
        // An operation that moves nothing is like none of those measured.
        if !size.is_finite() || size < 1.0 {
            return None;
        }
        let op = if read >= written { "read" } else { "write" };
        let like = self.like(op, size, run.plan.threads_at(row.clients))?;
        // What an operation costs grows with its size: from a size far off nothing follows.
        let apart = (size / f64::from(like.bytes)).ln().abs();
        if apart > SIZES_APART.ln() {
            return None;
        }
        let ceiling = like.ops_per_s.filter(|ops_per_s| *ops_per_s > 0.0)?;
        let machine = run.machine.as_ref();
        let elsewhere = match machine.is_some_and(|machine| machine.is_same(&self.machine)) {
            true => "",
            false => " (calibrated on another machine, or before it changed)",
        };
        let most = format!(
            "at most {} {}s of {} per second with {}",
            units::rate(ceiling),
            like.op,
            bytes(like.bytes.into()),
            counted(like.threads.into(), "thread")
        );
        let peak = format!(
            "{} of {} on average",
            units::rate(row.ops_per_s),
            bytes(size.round() as u64)
        );
        let percent = row.ops_per_s / ceiling * 100.0;
        let mut reached = Reached {
            percent,
            text: format!(
                "calibration: this machine did {most}, against the embedded server on its own \
                 cores{}; the peak, {peak}, reached {} of that{elsewhere}",
                self.beside(like),
                units::percent(percent)
            ),
        };
        if !reached.is_usable() {
            reached.text = format!(
                "calibration: not usable{elsewhere}: it found {most}, but the peak of this run is \
                 {peak}; repeat `smbench calibrate`"
            );
        }
        Some(reached)
    }

    /// What was done with the same operations on targets that cost less, in brackets.
    fn beside(&self, like: &CeilingDoc) -> String {
        let of = |target: CeilingTarget| {
            let mut ceilings = self.ceilings.iter();
            let same = ceilings.find(|other| {
                (other.target, &other.op, other.bytes, other.threads)
                    == (target, &like.op, like.bytes, like.threads)
            });
            Some(format!(
                "{} on the {}",
                units::rate(same?.ops_per_s?),
                target.name()
            ))
        };
        let targets = [CeilingTarget::Loopback, CeilingTarget::Null];
        let others: Vec<_> = targets.into_iter().filter_map(of).collect();
        match others.is_empty() {
            true => String::new(),
            false => format!(" ({})", others.join(", ")),
        }
    }

    /// The ceiling of all SMB that is most like these operations.
    fn like(&self, op: &str, size: f64, threads: u32) -> Option<&CeilingDoc> {
        let measured = |ceiling: &&CeilingDoc| {
            ceiling.target == CeilingTarget::Embedded && ceiling.ops_per_s.is_some()
        };
        let distance = |ceiling: &CeilingDoc| {
            (
                ceiling.op != op,
                ceiling.threads.abs_diff(threads),
                (f64::from(ceiling.bytes).ln() - size.ln()).abs(),
            )
        };
        self.ceilings.iter().filter(measured).min_by(|one, other| {
            let (one, other) = (distance(one), distance(other));
            let by_threads = (one.0, one.1).cmp(&(other.0, other.1));
            by_threads.then(one.2.total_cmp(&other.2))
        })
    }
}

/// `read 4 KiB`.
fn operation(ceiling: &CeilingDoc) -> String {
    format!("{} {}", plain(&ceiling.op), bytes(ceiling.bytes.into()))
}
