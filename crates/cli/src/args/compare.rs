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

A change is one from the first result, in percent. Verdicts rest on passes: with --repeat 2 or more
of both runs there is a 95 % confidence interval, by Welch's t test; five passes are a good number.
Runs of one pass are compared as well, but cannot tell.

Conditions are [OPERATION] METRIC [at CLIENTS|at peak] < -N% or > +N%. METRIC is throughput, ops/s,
mean, p50, p90, p99, p99.9, us/op (CPU of the generator) or server-us/op, OPERATION read, write and
so on. A condition fails if the change is beyond N and more than noise; with one pass, if it is
beyond N. Without a place, throughput and ops/s are those of the peaks, all others those at the
first result's peak load point in both. What was not measured ends in exit code 2.

Exit codes:
  0    done
  1    a condition of --fail-if was met
  2    the command line or a result makes no sense, or there is nothing to compare";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Result documents, or folders of studies; the first is the baseline. In a single study the
    /// baseline is the server that its comparisons name, or its first
    #[arg(value_name = "RESULT|STUDY", required = true, value_parser = paths())]
    pub(crate) results: Vec<PathBuf>,
    /// End with exit code 1 if a change is like this, such as 'throughput < -5%'; repeatable
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
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
