//! The options of `compare`.

use std::path::PathBuf;

use clap::Args;
use smbench_report::compare::Condition;

use super::value::{Destination, destinations, files, paths};

pub(super) const EXAMPLES: &str = "\
Examples:
  smbench compare before.json after.json
  smbench compare before.json after.json --fail-if 'throughput < -5%' --fail-if 'p99 > +10%'
  smbench compare studies/flush

Changes are relative to the first result. Verdicts need several passes of both runs: with
--repeat 2 or more there is a 95 % confidence interval (Welch's t test). Use --repeat 5. Runs of one
pass are compared without a verdict.

Conditions are [OPERATION] METRIC [at CLIENTS|at peak] < -N% or > +N%. METRIC is throughput, ops/s,
mean, p50, p90, p95, p99, p99.9, max, us/op (CPU of the generator) or server-us/op, OPERATION is read,
write and so on. Without a place, throughput and ops/s are those of the peaks; all others are taken
at the first result's peak load point. Each condition has one of three outcomes:
  failed        the change is beyond N and more than noise
  passed        the change is not beyond N, and the passes could have shown one of N
  inconclusive  the passes cannot tell: the noise is too large, or one result has one pass
Exit code 2 if a metric was not measured.

Results with other operations, files or load are refused, unless --force is given.

Exit codes:
  0    done; no condition of --fail-if failed
  1    a condition of --fail-if failed, or was inconclusive with --fail-if-inconclusive
  2    invalid command line or result file, or only one result
  3    the output cannot be written";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Result documents, or folders of studies; the first is the baseline. In a single study the
    /// baseline is the server that its comparisons name, or its first
    #[arg(value_name = "RESULT|STUDY", required = true, value_parser = paths())]
    pub(crate) results: Vec<PathBuf>,
    /// Fail (exit code 1) if a change meets this condition, for example 'throughput < -5%'; can be
    /// repeated
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
    /// Fail (exit code 1) also if a condition is inconclusive
    #[arg(long, requires = "fail_if")]
    pub(crate) fail_if_inconclusive: bool,
    /// Compare results even if their operations, files or load differ
    #[arg(long)]
    pub(crate) force: bool,
    /// Print all metrics of all load points and operations, with their intervals
    #[arg(long)]
    pub(crate) details: bool,
    /// Write the comparison as JSON to FILE; - prints it instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
    /// Write the comparison as CSV to FILE; - prints it instead of the tables
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
    /// Write the tables as Markdown to FILE; - prints them instead of the text
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) markdown: Option<Destination>,
    /// Write the outcomes of --fail-if to FILE as JUnit tests
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) junit: Option<PathBuf>,
}
