//! What a run, a search or a suite says while it is in progress. The command shows it as
//! a line, a full screen or messages; another program as it likes.

use smbench_engine::run::{MeasuredInterval, Progress};
use smbench_protocol::DialectRange;
use smbench_report::RunDoc;

use crate::time_left::TimeLeft;

/// A share on which something is left, for advice how to remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftShare<'a> {
    /// Its URL without a password.
    pub url: &'a str,
    /// The dialects that its server was asked for.
    pub dialects: DialectRange,
}

/// Follows runs from outside. Every method may be left out.
pub trait RunObserver {
    /// Tells the phase of a run, and the time left for all runs.
    fn progress(&self, _progress: &Progress, _left: &TimeLeft) {}

    /// Tells the operations of an interval of the window.
    fn interval(&self, _interval: &MeasuredInterval<'_>) {}

    /// Tells the load points so far, before they are saved. Of many, it does not tell each.
    fn points(&self, _doc: &RunDoc) {}

    /// Tells what the next run is a part of.
    fn within(&self, _whole: &str) {}

    /// Tells that no run is in progress any more.
    fn ended(&self) {}

    /// Tells a fact that a user should know, in one line.
    fn note(&self, _text: &str) {}

    /// Tells that something is left on a share.
    fn left_behind(&self, text: &str, _share: LeftShare<'_>) {
        self.note(text);
    }

    /// Takes a document that could not be saved. Nobody else has it.
    fn not_saved(&self, _doc: &RunDoc) {}
}

/// Ignores everything.
impl RunObserver for () {}
