//! Who made a file in a recycle bin.
//!
//! A file is of smbench if one of these holds:
//!
//! * It is in a directory that is named as that of a run and that was just removed, or
//!   that holds the marker. Its name is one that a run makes.
//! * It has the name, the size and the time of creation of a file that was deleted just
//!   before.
//! * It is empty, a run makes such names, and it was created after the marker of a
//!   run whose directory was just removed. Both times are of the server's clock. Names of
//!   a recording may be those of anybody. They count only for the run that has just ended.
//! * Its contents are of smbench, and a run makes such names or, in a replay, it was
//!   created after the marker.

use std::borrow::Cow;
use std::collections::HashSet;

use smbench_model::contents::block::is_of_smbench;
use smbench_model::fileio::Manifest;
use smbench_protocol::command::FileTime;
use smbench_protocol::directory::Entry;

use super::marker::is_marker;
use crate::smb::share::names::{MANIFEST, MARKER, own_name};

/// Number of files whose names are kept. More are judged by their contents.
const SEEN_MAX: usize = 100_000;

/// Whether smbench made a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// It did.
    Certain,
    /// It did if the contents say so.
    ByContents,
    /// Nothing points to smbench.
    Foreign,
}

/// The files that are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    /// Those that were created since the marker of the run that has just ended.
    OfThisRun,
    /// Those of all runs.
    Any,
}

/// A file as a directory lists it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SeenFile {
    name: String,
    bytes: u64,
    created: u64,
}

/// Files and directories that were removed from the share just before.
#[derive(Default)]
pub(crate) struct RemovedNames {
    /// When the oldest marker was created.
    since: Option<u64>,
    files: HashSet<SeenFile>,
    /// Names of files that replays made.
    recorded: HashSet<String>,
    /// Names of directories.
    directories: HashSet<String>,
    has_replay: bool,
}

impl RemovedNames {
    /// Notes a directory.
    pub(in crate::smb::share) fn directory(&mut self, path: &str) {
        let name = path.rsplit('\\').next().unwrap_or_default();
        self.directories.insert(name.to_owned());
    }

    /// Notes a file of a run's directory.
    pub(in crate::smb::share) fn file(&mut self, entry: &Entry) {
        if entry.is_directory {
            return;
        }
        let FileTime(created) = entry.created;
        if entry.name == MARKER {
            self.since = Some(self.since.map_or(created, |since| since.min(created)));
        }
        if self.files.len() < SEEN_MAX {
            self.files.insert(SeenFile {
                name: entry.name.clone(),
                bytes: entry.end_of_file,
                created,
            });
        }
    }

    /// Notes an entry that a replay has left.
    pub(in crate::smb::share) fn recorded(&mut self, entry: &Entry) {
        self.has_replay = true;
        self.file(entry);
        if !entry.is_directory && self.recorded.len() < SEEN_MAX {
            self.recorded.insert(entry.name.clone());
        }
    }

    /// Notes that a replay made files of these names.
    pub(in crate::smb::share) fn replayed(&mut self, names: impl IntoIterator<Item = String>) {
        let before = self.recorded.len();
        self.recorded.extend(names);
        self.has_replay |= self.recorded.len() > before;
    }

    pub(super) fn has_directory(&self, name: &str) -> bool {
        self.directories.contains(name)
    }

    /// Returns whether smbench makes files of this name. In a replay that it does not know
    /// well enough, a file of any name may be its own.
    pub(super) fn knows(&self, name: &str) -> bool {
        let name = original(name);
        is_made_by_run(&respelled(name)) || self.recorded.contains(name)
    }

    /// Judges a file of a bin by its entry.
    pub(super) fn judge(&self, entry: &Entry, period: Period) -> Ownership {
        let exact = original(&entry.name);
        let name = respelled(exact);
        let FileTime(created) = entry.created;
        // A server that keeps no times reports 0.
        let in_time = self
            .since
            .is_some_and(|since| since > 0 && created >= since);
        if period == Period::OfThisRun && self.since.is_some() && !in_time {
            return Ownership::Foreign;
        }
        let seen = SeenFile {
            name: name.to_string(),
            bytes: entry.end_of_file,
            created,
        };
        match entry.end_of_file {
            _ if created > 0 && self.files.contains(&seen) => Ownership::Certain,
            0 if in_time && is_made_by_run(exact) => Ownership::Certain,
            0 if in_time && period == Period::OfThisRun && self.recorded.contains(exact) => {
                Ownership::Certain
            }
            // Without a directory that was removed just now, nothing shows that a file
            // without contents is ours.
            _ if is_made_by_run(&name) || (self.has_replay && in_time) => Ownership::ByContents,
            _ => Ownership::Foreign,
        }
    }
}

/// Returns the name that a file had before it was moved to a bin that has another file
/// of this name.
pub(super) fn original(name: &str) -> &str {
    let numbered = name
        .strip_prefix("Copy #")
        .and_then(|rest| rest.split_once(" of "));
    match numbered {
        Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Returns a name of ours in our spelling, because a server may change its case. It may also
/// be the name of somebody's file on a case-sensitive share, so it is no proof by itself.
pub(super) fn respelled(name: &str) -> Cow<'_, str> {
    let ours = name.to_ascii_lowercase();
    if is_made_by_run(&ours) {
        ours.into()
    } else {
        name.into()
    }
}

/// Returns whether a run makes files of this name.
pub(super) fn is_made_by_run(name: &str) -> bool {
    name == MARKER || own_name(name)
}

/// Returns whether the start of a file shows that smbench wrote it.
pub(super) fn is_proof(name: &str, data: &[u8]) -> bool {
    match &*respelled(original(name)) {
        MANIFEST => Manifest::parse(data).is_some(),
        MARKER => is_marker(data),
        _ => is_of_smbench(data),
    }
}

#[cfg(test)]
mod tests;
