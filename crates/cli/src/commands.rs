//! One module for each command.

mod cleanup;
mod compare;
mod fileio;
mod import;
mod lab;
mod plan;
mod probe;
mod profiles;
mod report;
mod run;
mod show;

use crate::args::Command;
use crate::failure::{Exit, Failure};
use crate::{calibrate, suite};

/// Executes the command.
pub(crate) fn execute(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Profiles { command } => profiles::profiles(command),
        Command::Suite(args) => suite::suite(&args),
        Command::Fileio(command) => fileio::fileio(command),
        Command::Suites { command } => suite::suites(command),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Import(command) => import::import(&command),
        Command::Probe(args) => probe::probe(&args),
        Command::Show(args) => show::show(&args),
        Command::Compare(args) => compare::compare_results(&args),
        Command::Report(args) => report::report(&args),
        Command::Cleanup(args) => cleanup::cleanup(&args),
        Command::Lab(command) => lab::lab(command),
    }
}
