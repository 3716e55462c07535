//! The options of `verify-after`.

use std::path::PathBuf;

use clap::Args;

use super::server::{SessionArgs, UrlArgs};
use super::value::{Destination, destinations, paths};

pub(super) const EXAMPLES: &str = "\
Examples:
  smbench run smb://ann@files.example/bench -p ./log-writer.toml -d 1h --state crash.state
  (the server loses its power and starts again)
  smbench verify-after smb://ann@files.example/bench --state crash.state
  smbench cleanup smb://ann@files.example/bench

The command only reads. A FLUSH promises what its client wrote to the file and had an answer to
before it sent the FLUSH. A write-through promises its own data.

Exit codes:
  0    no promise is broken
  1    data is lost or torn that a FLUSH or a write-through had promised
  2    invalid command line or state file, or the state file is of another share
  3    the server or its files cannot be read";

#[derive(Debug, Args)]
pub(crate) struct VerifyAfterArgs {
    #[command(flatten)]
    pub(crate) url: UrlArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// File that `smbench run --state` wrote
    #[arg(long, value_name = "FILE", value_parser = paths())]
    pub(crate) state: PathBuf,
    /// Write the answer as JSON to FILE; - prints it instead of the text
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
}
