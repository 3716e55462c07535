//! The options of `checkup`.

use std::path::PathBuf;

use clap::Args;

use super::headings::COMMON;
use super::server::{SessionArgs, UrlArgs};
use super::value::{Destination, destinations, files};

/// Examples of the command.
pub(super) const EXAMPLES: &str = "\
Examples:
  smbench checkup smb://ann@nas/bench                       what is slow here? two minutes
  smbench checkup smb://ann@nas/bench --json before.json    keeps it
  smbench compare before.json after.json                    what has changed?";

#[derive(Debug, Args)]
pub(crate) struct CheckupArgs {
    #[command(flatten)]
    pub(crate) url: UrlArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Take ten minutes instead of two: longer load points, larger files
    #[arg(long, help_heading = COMMON)]
    pub(crate) long: bool,
    /// Also write the check-up as JSON to FILE, replacing it; - prints it instead of the text
    #[arg(long, value_name = "FILE|-", value_parser = destinations(), help_heading = COMMON)]
    pub(crate) json: Option<Destination>,
    /// Also write the check-up as a page to FILE, replacing it
    #[arg(long, value_name = "FILE", value_parser = files(), help_heading = COMMON)]
    pub(crate) html: Option<PathBuf>,
    /// URL of the server's node_exporter or windows_exporter, for its CPU use; or off [default: its
    /// processes, if it runs on this machine]
    #[arg(long, value_name = "URL|off", hide_short_help = true)]
    pub(crate) server_metrics: Option<String>,
}
