//! One module for each command.

mod after;
mod checkup;
mod cleanup;
mod compare;
mod fileio;
mod find;
mod gate;
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
mod suite;
mod tree;

use crate::args::{CliCommand, FileioCommand, completions, man_pages};
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::output::{MessageLines, print};
use crate::{calibrate, signals};

/// Follows the first host with the plans of the command. Commands without a run do nothing.
pub(crate) fn follow(command: CliCommand, hosts: &Hosts) -> Result<Exit, Failure> {
    match command.without_output() {
        command @ (CliCommand::Run(_)
        | CliCommand::Find(_)
        | CliCommand::Suite(_)
        | CliCommand::Fileio(FileioCommand::Run(_))) => execute(command, hosts),
        _ => hosts.follower().map_or(Ok(Exit::Done), |follower| {
            follower.follow(Vec::new(), &MessageLines, &signals::cancel_on_interrupt)
        }),
    }
}

/// Executes the command.
pub(crate) fn execute(command: CliCommand, hosts: &Hosts) -> Result<Exit, Failure> {
    match command {
        CliCommand::Run(args) => run::run(&args, hosts),
        CliCommand::Checkup(args) => checkup::checkup(&args),
        CliCommand::Find(command) => find::find(command, hosts),
        CliCommand::Plan(args) => plan::plan(&args),
        CliCommand::Profiles { command } => profiles::profiles(command),
        CliCommand::Suite(args) => suite::suite(&args, hosts),
        CliCommand::Fileio(command) => fileio::fileio(command, hosts),
        CliCommand::Tree(command) => tree::tree(&command),
        CliCommand::Suites { command } => suite::suites(command),
        CliCommand::Calibrate(args) => calibrate::calibrate(&args),
        CliCommand::Import(command) => import::import(&command),
        CliCommand::Probe(args) => probe::probe(&args),
        CliCommand::Show(args) => show::show(&args),
        CliCommand::Compare(args) => compare::compare_results(&args),
        CliCommand::Gate(args) => gate::gate(&args),
        CliCommand::Merge(args) => merge::merge_parts(&args),
        CliCommand::Report(args) => report::report(&args),
        CliCommand::Cleanup(args) => cleanup::cleanup(&args),
        CliCommand::VerifyAfter(args) => after::verify_after(&args),
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
