//! The options of `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::value::{parse_profile, paths};

/// What is made into profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import an Iometer .icf file: its access specifications as profiles, its test setup as a suite
    Iometer(ImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Configuration file of Iometer
    #[arg(value_name = "FILE.icf", value_parser = parse_profile)]
    pub(crate) file: String,
    /// Folder to write to, or the .toml file of the only profile [default: FILE without .icf, here]
    #[arg(long, value_name = "DIR|FILE", value_parser = paths())]
    pub(crate) out: Option<PathBuf>,
}
