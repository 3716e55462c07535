//! Directories that a server refused to open or to list.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use smbench_protocol::NtStatus;

/// The largest number of directories that are named.
const NAMED_MAX: usize = 100;

/// Directories that a walk left out because the server refused them, with the status of each.
/// It has at most 100. The failures of `walk` count all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedDirectories(BTreeMap<String, NtStatus>);

impl RefusedDirectories {
    /// Adds a directory, if there is room.
    pub(super) fn add(&mut self, path: &impl fmt::Display, status: NtStatus) {
        if self.0.len() < NAMED_MAX {
            self.0.insert(path.to_string(), status);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other
            .all()
            .for_each(|(path, status)| self.add(&path, status));
    }

    /// Returns the directories in the order of their paths.
    #[must_use]
    pub fn all(&self) -> impl ExactSizeIterator<Item = (&str, NtStatus)> {
        self.0.iter().map(|(path, status)| (&**path, *status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_is_named_once_and_not_too_many_are() {
        let mut refused = RefusedDirectories::default();
        let mut other = RefusedDirectories::default();
        for number in 0..2 * NAMED_MAX {
            other.add(&format!("d{number:03}"), NtStatus::ACCESS_DENIED);
        }
        refused.add(&"d001", NtStatus::ACCESS_DENIED);
        refused.merge(&other);
        let paths: Vec<_> = refused.all().map(|(path, _)| path.to_owned()).collect();
        let expected: Vec<_> = (0..NAMED_MAX).map(|at| format!("d{at:03}")).collect();
        assert_eq!(paths, expected);
    }
}
