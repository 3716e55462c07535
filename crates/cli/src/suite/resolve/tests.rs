mod digests;
mod refusals;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct SuiteLine {
    #[command(flatten)]
    args: SuiteArgs,
}

/// Resolves a suite with these options.
fn resolved(name_or_path: &str, options: &[&str]) -> Result<Suite, Failure> {
    let line = [&["suite", name_or_path], options].concat();
    let args = SuiteLine::parse_from(line).args;
    Suite::resolve(&Source::load(name_or_path)?, &args)
}
