//! One of the runs of a command: how its messages, its result and its screen name it.

use std::fmt::Display;

use smbench_model::plan::Plan;
use smbench_report::RunDoc;
use smbench_report::units::plain;

use super::presentation::Presentation;
use crate::args::{OutputArgs, without_urls};
use crate::conditions::Gate;
use crate::failure::{Exit, Failure};
use crate::live::LiveTitle;
use crate::output::complain;
use crate::progress::ProgressLine;
use crate::request::{RunRequest, RunServer};
use crate::unsaved::Unsaved;

/// Output options of a run, and the name for its messages.
pub(super) struct RunContext<'a> {
    pub(super) output: &'a OutputArgs,
    pub(super) presentation: &'a Presentation<'a>,
    /// The conditions that are judged of it.
    pub(super) gate: Gate<'a>,
    /// Name of the profile, if there are several.
    pub(super) name: Option<String>,
    /// Number of the profile, and of all profiles.
    pub(super) place: (usize, usize),
    pub(super) line: &'a ProgressLine,
    pub(super) unsaved: &'a Unsaved,
}

impl RunContext<'_> {
    /// Prints an error, with the profile's name if there are several.
    pub(super) fn complain(&self, message: impl Display) {
        match &self.name {
            Some(name) => complain(format_args!("profile {name}: {message}")),
            None => complain(message),
        }
    }

    /// Adds problems with files to the end of a run. The higher exit code counts.
    pub(super) fn with_files(
        &self,
        ended: Result<Exit, Failure>,
        files: Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        match (ended, files) {
            (Ok(Exit::Done), files) => files.map(|()| Exit::Done),
            (ended, Ok(())) => ended,
            (ended, Err(failure)) => {
                let exit = failure.exit();
                self.complain(failure);
                ended.map(|ended| ended.max(exit))
            }
        }
    }

    /// Returns the exit code of a run. Prints a failure of one of several profiles,
    /// because it does not prevent the others.
    pub(super) fn settle(&self, ended: Result<Exit, Failure>) -> Result<Exit, Failure> {
        match ended {
            Err(failure) if self.name.is_some() => {
                self.complain(without_urls(failure.to_string()));
                Ok(failure.exit())
            }
            ended => ended,
        }
    }
}

/// Result of a run, and how it ended.
pub(super) struct Ran {
    pub(super) doc: RunDoc,
    pub(super) ended: Result<Exit, Failure>,
}

/// Returns the title of the screen.
pub(super) fn title(plan: &Plan, request: &RunRequest, context: &RunContext<'_>) -> LiveTitle {
    let profile = &plan.work.profile;
    let mut populations = plan.work.populations.iter();
    LiveTitle {
        profile: match context.place {
            (_, 1) => plain(profile),
            (number, of) => format!("profile {number}/{of}: {}", plain(profile)),
        },
        server: match &request.server {
            RunServer::Embedded => "the built-in server".to_owned(),
            RunServer::Given(server) => server.target.redacted(),
        },
        clients: plan.work.load_points(),
        passes: plan.work.repeat,
        is_replay: populations.any(|one| one.workload.replay().is_some()),
    }
}
