//! How a run is presented to its user.

use std::path::PathBuf;

use smbench_report::text::{Passage, Tone, jobs, summary, verdict, verdict_of_one};
use smbench_report::{RunDoc, render};

use crate::advice::left_behind;
use crate::conditions::Gate;
use crate::failure::Failure;
use crate::hosts::Hosts;
use crate::live::LiveScreen;
use crate::output::{print, print_coloured};
use crate::progress::Visibility;
use crate::request::{RunRequest, RunServer};
use crate::searching::Search;

/// Presentation of a run to its user.
pub(crate) struct Presentation<'a> {
    /// Advice for a user who leaves at once, as the tail of a sentence.
    pub(crate) remedy: String,
    /// Function that prints the document.
    pub(crate) show: Show<'a>,
    pub(crate) gate: Gate<'a>,
    /// Number of runs of one population, which come before that of all. They have no conditions.
    pub(crate) alone: usize,
    /// The search that chooses the load points, if the run is one.
    pub(crate) find: Option<Search>,
    pub(crate) next_steps: NextSteps,
    /// Visibility of finished load points where no progress can be shown.
    pub(crate) points: Visibility,
    /// Screen that covers the progress line.
    pub(crate) screen: Option<LiveScreen>,
    /// The hosts of the run.
    pub(crate) hosts: &'a Hosts,
    /// File for notes on answers.
    pub(crate) state: Option<PathBuf>,
}

/// Function that prints a document.
type Show<'a> = &'a dyn Fn(&RunDoc) -> Result<(), Failure>;

/// Whether the text ends with commands that a user may want next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextSteps {
    Shown,
    Hidden,
}

/// How much of a result is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    All,
    Summary,
    /// Only whether the result is valid, and how long jobs took.
    Verdict,
    /// The same, with the name of its profile.
    VerdictOfOne,
}

impl Detail {
    pub(crate) fn of(details: bool, quiet: bool, profiles: usize) -> Self {
        if details {
            Self::All
        } else if !quiet {
            Self::Summary
        } else if profiles > 1 {
            Self::VerdictOfOne
        } else {
            Self::Verdict
        }
    }

    /// Returns the function that prints a document.
    pub(crate) fn show(self) -> Show<'static> {
        match self {
            Self::All => &|doc: &RunDoc| print(&render(doc)),
            Self::Summary => &|doc: &RunDoc| print_coloured(&summary(doc)),
            Self::Verdict => &|doc: &RunDoc| print_coloured(&with_jobs(verdict(doc), 0, doc)),
            Self::VerdictOfOne => {
                // The first passage names the profile.
                &|doc: &RunDoc| print_coloured(&with_jobs(verdict_of_one(doc), 1, doc))
            }
        }
    }

    /// Returns whether the text of this many profiles ends with further commands.
    pub(crate) fn next_steps(self, profiles: usize) -> NextSteps {
        if self == Self::Summary && profiles == 1 {
            NextSteps::Shown
        } else {
            NextSteps::Hidden
        }
    }
}

/// Adds how long the jobs of a run took, which are its result, at this place.
fn with_jobs(mut passages: Vec<Passage>, at: usize, doc: &RunDoc) -> Vec<Passage> {
    let table = jobs(doc).filter(|table| doc.find.is_none() && !table.rows.is_empty());
    if let Some(table) = table {
        let (tone, text) = (Tone::Plain, table.to_text() + "\n");
        passages.insert(at, Passage { tone, text });
    }
    passages
}

/// Returns the advice for a user who leaves the run at once.
pub(crate) fn remedy(request: &RunRequest) -> String {
    match &request.server {
        RunServer::Embedded => String::new(),
        RunServer::Given(server) => {
            left_behind(&server.target.redacted(), request.draft.dialects())
        }
    }
}
