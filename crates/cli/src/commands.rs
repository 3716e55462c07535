//! One module for each command.

mod cleanup;
mod compare;
mod fileio;
mod find;
mod import;
mod lab;
mod merge;
mod plan;
mod probe;
mod profiles;
mod report;
mod run;
pub(crate) mod schema;
mod show;

use crate::args::{CliCommand, completions, man_pages};
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::{calibrate, suite};

/// Executes the command.
pub(crate) fn execute(command: CliCommand) -> Result<Exit, Failure> {
    match command {
        CliCommand::Run(args) => run::run(&args),
        CliCommand::Find(command) => find::find(command),
        CliCommand::Plan(args) => plan::plan(&args),
        CliCommand::Profiles { command } => profiles::profiles(command),
        CliCommand::Suite(args) => suite::suite(&args),
        CliCommand::Fileio(command) => fileio::fileio(command),
        CliCommand::Suites { command } => suite::suites(command),
        CliCommand::Calibrate(args) => calibrate::calibrate(&args),
        CliCommand::Import(command) => import::import(&command),
        CliCommand::Probe(args) => probe::probe(&args),
        CliCommand::Show(args) => show::show(&args),
        CliCommand::Compare(args) => compare::compare_results(&args),
        CliCommand::Merge(args) => merge::merge_parts(&args),
        CliCommand::Report(args) => report::report(&args),
        CliCommand::Cleanup(args) => cleanup::cleanup(&args),
        CliCommand::Lab(command) => lab::lab(command),
        CliCommand::Completions { shell } => {
            print(&completions(shell))?;
            Ok(Exit::Done)
        }
        CliCommand::Schema { of } => schema::schema(of),
        CliCommand::Man { folder } => {
            man_pages(&folder).map_err(Failure::write(&folder))?;
            Ok(Exit::Done)
        }
    }
}
