//! How a run is presented to its user.

use smbench_report::RunDoc;

use crate::args::RunArgs;
use crate::conditions::Gate;
use crate::failure::Failure;
use crate::hosts::Hosts;
use crate::live::LiveScreen;
use crate::progress::Visibility;
use crate::searching::Search;

/// Presentation of a run to its user.
pub(crate) struct Presentation<'a> {
    /// Advice for a user who leaves at once, as the tail of a sentence.
    pub(crate) remedy: String,
    /// Function that prints the document.
    pub(crate) show: Show<'a>,
    pub(crate) gate: Gate<'a>,
    /// The search that chooses the load points, if the run is one.
    pub(crate) find: Option<Search>,
    pub(crate) next_steps: NextSteps,
    /// Visibility of finished load points where no progress can be shown.
    pub(crate) points: Visibility,
    /// Screen that covers the progress line.
    pub(crate) screen: Option<LiveScreen>,
    /// The hosts of the run.
    pub(crate) hosts: &'a Hosts,
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
pub(super) enum Detail {
    All,
    Summary,
    /// Only whether the result is valid.
    Verdict,
    /// The same, with the name of its profile.
    VerdictOfOne,
}

impl Detail {
    pub(super) fn of(args: &RunArgs, profiles: usize) -> Self {
        if args.details {
            Self::All
        } else if !args.output.quiet {
            Self::Summary
        } else if profiles > 1 {
            Self::VerdictOfOne
        } else {
            Self::Verdict
        }
    }
}
