//! The names of a summary.

use serde::{Deserialize, Serialize};

use crate::ledger::CaptureLedger;

/// The names that occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSummary {
    /// Different names, shares among them.
    pub names: u64,
    /// Files that were opened.
    pub files: u64,
    /// Directories that were opened.
    pub directories: u64,
    /// Names that were made up for opens that were not seen.
    pub made_up: u64,
    /// Sum of the sizes of files when they were first opened.
    pub bytes: u64,
}

pub(super) fn tree(ledger: &CaptureLedger) -> TreeSummary {
    let is_part = ledger.slice.is_part();
    let all = ledger.paths.nodes.iter();
    let nodes = || all.clone().filter(|node| !is_part || node.is_in_slice);
    // A name of the slice may have been opened before or behind it.
    let opened = || all.clone().filter(|node| node.is_opened);
    let count = |wanted: bool| {
        let found = opened().filter(|node| node.is_directory == Some(wanted));
        found.count() as u64
    };
    TreeSummary {
        names: nodes().count() as u64,
        files: count(false),
        directories: count(true),
        made_up: nodes().filter(|node| node.is_made_up).count() as u64,
        bytes: opened()
            .filter_map(|node| node.size)
            .fold(0, u64::saturating_add),
    }
}

#[cfg(test)]
mod tests;
