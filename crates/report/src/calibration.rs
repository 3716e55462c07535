//! Calibration: the highest load that a machine can generate. With it, a reader can
//! distinguish a slow server from a slow client. It is a separate document, and
//! later results keep a copy of it.
//!
//! A ceiling is the generator's result against a target that costs almost nothing.
//! Invariant: a ceiling does not limit the load on a remote server. A target on
//! this machine takes CPU time from the generator, so a remote server could get
//! more. Not here: measuring.

use itertools::Itertools as _;

use crate::curve::Curve;
use crate::doc::{CalibrationDoc, CeilingDoc, CeilingTarget, LoadPointDoc, RunDoc, SysbenchDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{self, bytes, counted, plain};

/// Largest ratio of two sizes that may still be compared.
const SIZES_APART: f64 = 4.0;
/// Operations are of one size up to this factor.
const SIZES_ALIKE: f64 = 1.25;

/// Name of a calibration's file in a folder of results.
pub const CALIBRATION_FILE: &str = "calibration.json";

/// Distance between a run and the limit of its machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Operations per second of the run's peak, in percent of those of the
    /// calibration.
    pub percent: f64,
    /// The whole statement, in a line.
    pub text: String,
}

impl Reached {
    /// Returns whether the calibration can be a limit: the run did not exceed it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.percent <= 100.0
    }
}

impl CalibrationDoc {
    /// Returns the ceilings as a table.
    #[must_use]
    pub fn table(&self) -> Table {
        let numbers = ["threads", "clients", "ops/s", "Mbit/s", "us/op"].map(Column::number);
        let columns = ["target", "operation"].map(Column::text);
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
            "both share the CPUs with smbench; expect more with a remote server",
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
                "maximum load of this machine, {} per test",
                units::seconds(self.duration_s)
            ),
            columns: columns.into_iter().chain(numbers).collect(),
            rows: rows.collect(),
            notes,
        }
    }

    /// Returns the figures of sysbench, a line each.
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

    /// Compares the peak of a run with this machine's rate against the embedded
    /// server, for the closest request size. `None` if no measured size is at most
    /// four times as large or as small, or if the run exceeds it with smaller ones.
    #[must_use]
    pub fn reached(&self, run: &RunDoc) -> Option<Reached> {
        let curve = Curve::of(&run.load_points);
        let row = curve.peak_row()?;
        let sum = |of: fn(&LoadPointDoc) -> u64| {
            row.passes.iter().map(|pass| of(pass) as f64).sum::<f64>()
        };
        let (read, written) = (sum(|pass| pass.bytes_read), sum(|pass| pass.bytes_written));
        let operations = row.passes.iter().map(|pass| pass.ops_per_s * pass.window_s);
        let operations: f64 = operations.sum();
        let size = (read + written) / operations;
        // An operation that moves no data is not comparable to the measured ones.
        if !size.is_finite() || size < 1.0 {
            return None;
        }
        let op = if read >= written { "read" } else { "write" };
        let like = self.like(op, size, run.plan.threads_at(row.clients))?;
        // The cost of an operation grows with its size. So sizes that differ much
        // say nothing about each other.
        let apart = (size / f64::from(like.bytes)).ln().abs();
        if apart > SIZES_APART.ln() {
            return None;
        }
        let ceiling = like.ops_per_s.filter(|ops_per_s| *ops_per_s > 0.0)?;
        let machine = run.machine.as_ref();
        let elsewhere = if machine.is_some_and(|machine| machine.is_same(&self.machine)) {
            ""
        } else {
            " (calibrated on another machine, or before it changed)"
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
        // Smaller operations cost less. So more of them than of larger ones contradict
        // nothing.
        if percent > 100.0 && size < f64::from(like.bytes) / SIZES_ALIKE {
            return None;
        }
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

    /// Returns the rates of the same operations on the cheaper targets, in
    /// brackets.
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
        match targets.into_iter().filter_map(of).join(", ").as_str() {
            "" => String::new(),
            others => format!(" ({others})"),
        }
    }

    /// Returns the ceiling of the embedded server that is closest to these
    /// operations.
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

/// Returns an operation and its size: `read 4 KiB`.
fn operation(ceiling: &CeilingDoc) -> String {
    format!("{} {}", plain(&ceiling.op), bytes(ceiling.bytes.into()))
}
