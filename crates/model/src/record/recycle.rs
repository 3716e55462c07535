//! Deleted files that a server kept in a recycle bin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Size;

/// A folder to which the server moved deleted files. A deletion was a rename for this
/// server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecycleBin {
    /// The folder, as a path from the root of the share, with `\` between names.
    pub path: String,
    /// Files of smbench that smbench deleted from the folder.
    pub files_removed: u64,
    /// Bytes in the files of `files_removed`.
    pub bytes_removed: u64,
    /// Files of smbench that could not be deleted from the folder.
    pub files_left: u64,
    /// Bytes in the files of `files_left`.
    pub bytes_left: u64,
    /// Why the first file of `files_left` could not be deleted, or why the search for files
    /// ended early. Absent if there is no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the search ended before smbench had looked at everything, so that a later
    /// clean-up may delete more. Absent if it did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_early: bool,
    /// Why the server refused to list the folder. Nothing shows that it holds files of
    /// smbench. Absent if the folder was listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Files that smbench may have made, by their names or times. Their contents do not
    /// prove it, so they stay.
    pub files_unproven: u64,
    /// Path of the first file of `files_unproven`, from the root of the share. Absent if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven_first: Option<String>,
}

impl RecycleBin {
    /// Returns whether smbench found a file of its own in the folder.
    #[must_use]
    pub const fn is_used(&self) -> bool {
        self.files_removed > 0 || self.files_left > 0
    }

    /// Returns whether `leftover` is only about folders of `bins` whose files the server refused
    /// to delete or to list. A clean-up would be refused as well.
    #[must_use]
    pub fn refuses(bins: &[Self], leftover: &str) -> bool {
        let refused = bins.iter().filter(|bin| !bin.ended_early);
        let texts = refused.filter_map(Self::leftover);
        let others = texts.fold(leftover.to_owned(), |text, one| text.replacen(&one, "", 1));
        others.chars().all(|char| char == ';' || char == ' ')
    }

    /// Says that the folder could not be searched, as a lower-case clause; `None` if nothing
    /// speaks against that.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let reason = self.refused.as_ref()?;
        Some(format!(
            "the recycle bin '{}' could not be searched: {reason}",
            self.path
        ))
    }

    /// Describes the files that smbench may have made, as a lower-case clause; `None` if
    /// there are none.
    #[must_use]
    pub fn unproven(&self) -> Option<String> {
        let files = match self.files_unproven {
            0 => return None,
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let first = match (&self.unproven_first, self.files_unproven) {
            (None, _) => String::new(),
            (Some(path), 1) => format!(": '{path}'"),
            (Some(path), _) => format!("; the first is '{path}'"),
        };
        Some(format!(
            "{files} in the recycle bin '{}' that smbench may have made, but neither contents nor \
             times prove it{first}",
            self.path
        ))
    }

    /// Describes the files that are left, as a lower-case clause; `None` if there are none.
    #[must_use]
    pub fn leftover(&self) -> Option<String> {
        let count = self.files_left;
        if count == 0 {
            let reason = self.reason.as_ref()?;
            return Some(format!(
                "the recycle bin '{}' was not searched to its end: {reason}",
                self.path
            ));
        }
        let files = if count == 1 {
            "1 file remains".to_owned()
        } else {
            format!("{count} files remain")
        };
        let reason = self.reason.as_deref().unwrap_or("no reason given");
        let (path, bytes) = (&self.path, Size(self.bytes_left).three_digits());
        Some(format!(
            "{files} in the recycle bin '{path}' ({bytes}): {reason}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::add_clause;

    #[test]
    fn a_leftover_is_refused_if_each_of_its_clauses_is() {
        let bin = |path: &str, ended_early| RecycleBin {
            path: path.to_owned(),
            files_left: 1,
            ended_early,
            ..RecycleBin::default()
        };
        let bins = [bin("a", false), bin("b", false), bin("c", true)];
        let leftover = |bins: &[RecycleBin]| {
            let mut all = None;
            for bin in bins {
                add_clause(&mut all, bin.leftover());
                add_clause(&mut all, bin.leftover());
            }
            all.unwrap()
        };
        let both = leftover(&bins[..2]);
        assert_eq!(both.matches("1 file remains").count(), 2);
        assert!(RecycleBin::refuses(&bins, &both));
        assert!(RecycleBin::refuses(&bins, &leftover(&bins[1..2])));
        assert!(!RecycleBin::refuses(&bins, &leftover(&bins)));
        assert!(!RecycleBin::refuses(&bins, "directory 'x' remains"));
    }
}
