//! The options of `merge`.

use std::path::PathBuf;

use clap::Args;

use super::value::{files, paths};

pub(super) const EXAMPLES: &str = "\
Examples:
  smbench merge part-a.json part-b.json --out whole.json

Each part is the result of `smbench run URL --client-range FROM..TO/ALL --begin-at TIME` on a machine
of its own, with the same options otherwise. Together they have each client once. The merged result
is what one process with all clients would have written: counts are added, and percentiles come from
the histograms of all parts. Where windows overlap for less than 99 %, the load point is not valid.

A machine is named by --label, or else by the file of its part.

Exit codes:
  0    done
  2    invalid command line or result file, or files that are not the parts of one run
  3    the output cannot be written
  4    the merged load point is not valid";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Result documents of all parts of one run, in any order
    #[arg(value_name = "PART", required = true, value_parser = paths())]
    pub(crate) parts: Vec<PathBuf>,
    /// File for the merged result; an existing file is replaced
    #[arg(long, value_name = "FILE", value_parser = files())]
    pub(crate) out: PathBuf,
    /// Print all tables: CPU use, every percentile, the operations at the peak
    #[arg(long)]
    pub(crate) details: bool,
}
