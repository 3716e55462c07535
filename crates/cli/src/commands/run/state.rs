//! The state file of a run: when a run cannot have one, and the messages about it.

use std::io;
use std::path::Path;

use smbench_engine::run::{RunError, StateFile};
use smbench_model::record::NotedRecord;

use super::context::RunContext;
use crate::advice::cleanup_command;
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::request::{RunRequest, RunServer};

/// Fails if the answers of a run cannot be noted.
pub(super) fn check(request: &RunRequest, is_search: bool, hosts: &Hosts) -> Result<(), Failure> {
    let why = match (&request.server, hosts) {
        _ if is_search => "it is for smbench run, and not for a search",
        (RunServer::Embedded, _) => {
            "name a server: the built-in one keeps nothing when the run has ended"
        }
        (_, Hosts::First(..) | Hosts::Other(_)) => "it is for a run of one machine",
        (RunServer::Given(_), Hosts::Alone) => {
            let noted = request.draft.check_noted();
            return noted.map_err(|problem| RunError::Plan(problem).into());
        }
    };
    Err(Failure::Usage(format!("--state: {why}")))
}

/// Creates the file. A file that exists may be the evidence of a crash.
pub(super) fn create(path: &Path) -> Result<StateFile, Failure> {
    StateFile::create(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Usage(format!(
            "{} exists already: name another --state",
            path.display()
        )),
        _ => Failure::write(path)(error),
    })
}

/// Tells what to do with the state file and the files that stay. Returns the exit code for a
/// state file that is not complete.
pub(super) fn conclude(
    noted: Option<&NotedRecord>,
    request: &RunRequest,
    context: &RunContext<'_>,
) -> Exit {
    let (Some(noted), RunServer::Given(server)) = (noted, &request.server) else {
        return Exit::Done;
    };
    let url = server.target.redacted();
    if noted.notes == 0 && noted.failure.is_none() {
        context.complain("no write was answered: there is no state file");
        return Exit::Done;
    }
    context.complain(format_args!(
        "check the files with: smbench verify-after '{url}' --state '{}'; then remove them with: {}",
        noted.file,
        cleanup_command(&url, request.draft.dialects())
    ));
    match &noted.failure {
        Some(failure) => {
            context.complain(format_args!(
                "{} ends early: {failure}; {} answers are not in it",
                noted.file, noted.lost
            ));
            Exit::Setup
        }
        None if noted.lost > 0 => {
            context.complain(format_args!(
                "{} lacks {} answers, because its disk was too slow",
                noted.file, noted.lost
            ));
            Exit::Done
        }
        None => Exit::Done,
    }
}
