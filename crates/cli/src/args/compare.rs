//! The options of `compare`.

use std::path::PathBuf;

use clap::Args;
use smbench_report::compare::Condition;

use super::value::{Destination, destinations, paths};

pub(super) const EXAMPLES: &str = "\
Examples:
  smbench compare before.json after.json
  smbench compare before.json after.json --fail-if 'throughput < -5%' --fail-if 'p99 > +10%'
  smbench compare studies/flush

Changes are in percent of the first result. Verdicts need passes: with --repeat 2 or more of both
runs there is a 95 % confidence interval, by Welch's t test; five passes are a good number. Runs of
one pass are compared as well, but cannot tell.

Conditions are [OPERATION] METRIC [at CLIENTS|at peak] < -N% or > +N%. METRIC is throughput, ops/s,
mean, p50, p90, p99, p99.9, us/op (CPU of the generator) or server-us/op, OPERATION read, write and
so on. Without a place, throughput and ops/s are those of the peaks, all others those at the first
result's peak load point in both. Each condition has one of three outcomes:
  failed        the change is beyond N and more than noise
  passed        the change is not beyond N, and the passes could have shown one of N
  inconclusive  the passes cannot tell: the noise is too large, or one result has one pass
A metric that was not measured ends in exit code 2.

Results of different work are refused, unless --force is given: other operations, files or load.

Exit codes:
  0    done; no condition of --fail-if failed
  1    a condition of --fail-if failed, or was inconclusive with --fail-if-inconclusive
  2    the command line or a result makes no sense, or there is nothing to compare
  3    the output cannot be written";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Result documents, or folders of studies; the first is the baseline. In a single study the
    /// baseline is the server that its comparisons name, or its first
    #[arg(value_name = "RESULT|STUDY", required = true, value_parser = paths())]
    pub(crate) results: Vec<PathBuf>,
    /// End with exit code 1 if a change is like this, such as 'throughput < -5%'; repeatable
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
    /// End with exit code 1 also if a condition is inconclusive
    #[arg(long, requires = "fail_if")]
    pub(crate) fail_if_inconclusive: bool,
    /// Compare results of different work as well
    #[arg(long)]
    pub(crate) force: bool,
    /// Print every number of every load point, by operation too, with its interval
    #[arg(long)]
    pub(crate) details: bool,
    /// Write the comparison as JSON; - for standard output, in place of the tables
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
    /// Write the comparison as CSV; - for standard output, in place of the tables
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) csv: Option<Destination>,
}
