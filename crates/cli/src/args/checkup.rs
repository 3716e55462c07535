//! The options of `checkup`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use smbench_model::units::parse_duration;

use super::document::DocumentArgs;
use super::headings::COMMON;
use super::server::{SessionArgs, UrlArgs};
use super::value::files;

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
    /// Measured time per load point, instead of 2.5s, or of 20s with --long
    #[arg(long, short, value_name = "DURATION", value_parser = parse_duration,
        help_heading = COMMON)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten, next_help_heading = COMMON)]
    pub(crate) document: DocumentArgs,
    /// Also write the check-up as a page to FILE, replacing it
    #[arg(long, value_name = "FILE", value_parser = files(), help_heading = COMMON)]
    pub(crate) html: Option<PathBuf>,
    /// URL of the server's node_exporter or windows_exporter, for its CPU use; or off [default: its
    /// processes, if it runs on this machine]
    #[arg(long, value_name = "URL|off", hide_short_help = true)]
    pub(crate) server_metrics: Option<String>,
}
