//! Options of commands with one document as their result.

use clap::Args;

use super::value::{Destination, destinations};

#[derive(Debug, Args)]
pub(crate) struct DocumentArgs {
    /// Also write the result as JSON to FILE, replacing it; - prints it instead of the text
    #[arg(long, value_name = "FILE|-", value_parser = destinations())]
    pub(crate) json: Option<Destination>,
    /// Do not show progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
