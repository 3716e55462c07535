//! Listings in parts, so that directories of any size are removed in the same memory.

use std::collections::HashSet;
use std::ops::ControlFlow;

use smbench_model::bounds::FILES_MAX;
use smbench_protocol::NtStatus;
use smbench_protocol::directory::Entry;

use super::files::{delete, join};
use crate::smb::calls::{EntryKind, FileCalls, ListingEnd};
use crate::smb::session::{SessionError, StepFailure};

/// Number of names of a part. The last answer of the server may bring some more.
const PART_NAMES: usize = 10_000;
/// Number of names in a directory that stay, after which its listing ends.
const STAYING_MAX: usize = 10_000;
/// Most names to delete in a directory or a tree. Above it, the listing has no end: a
/// server may invent a name for each that is deleted.
const NAMES_MAX: usize = 10 * FILES_MAX as usize;

/// A directory whose entries are listed and deleted part by part. After the deletion of a part,
/// the beginning of the next listing has the next one.
pub(super) struct ListingParts {
    /// Number of names that may still be listed.
    names_left: usize,
    /// Names of the last part.
    tried: HashSet<String>,
    /// Names that were listed again after their deletion.
    staying: HashSet<String>,
    /// Whether the last part was the end of the listing.
    is_over: bool,
}

impl Default for ListingParts {
    fn default() -> Self {
        Self {
            names_left: NAMES_MAX,
            tried: HashSet::new(),
            staying: HashSet::new(),
            is_over: false,
        }
    }
}

impl ListingParts {
    /// Returns the next entries that `wanted` accepts; none at the end. The caller has deleted
    /// those of the last part, or they stay.
    pub(super) async fn next(
        &mut self,
        session: &mut impl FileCalls,
        path: &str,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>, SessionError> {
        while !self.is_over {
            let doing = match path {
                "" => "list the share".to_owned(),
                path => format!("list directory '{path}'"),
            };
            let is_next = |entry: &Entry| wanted(entry) && !self.staying.contains(&entry.name);
            let listing = session.list_some(&doing, path, PART_NAMES, is_next);
            let mut listing = listing.await?;
            let left = self.names_left.checked_sub(listing.entries.len());
            let too_many = || session.failed_call(&doing, StepFailure::EndlessListing);
            self.names_left = left.ok_or_else(too_many)?;
            self.is_over = listing.end == ListingEnd::Whole;
            let (tried, staying) = (&self.tried, &mut self.staying);
            listing.entries.retain(|entry| {
                let is_new = !tried.contains(&entry.name);
                if !is_new {
                    staying.insert(entry.name.clone());
                }
                is_new
            });
            self.is_over |= self.staying.len() > STAYING_MAX;
            self.tried.clear();
            if !listing.entries.is_empty() {
                if !self.is_over {
                    let names = listing.entries.iter().map(|entry| entry.name.clone());
                    self.tried.extend(names);
                }
                return Ok(listing.entries);
            }
        }
        Ok(Vec::new())
    }
}

/// A directory on the way from the root of the tree to the current one.
struct DirectoryVisit {
    path: String,
    parts: ListingParts,
    /// Directories of the last part that are still to be visited.
    below: Vec<String>,
}

impl DirectoryVisit {
    fn of(path: String) -> Self {
        Self {
            path,
            parts: ListingParts::default(),
            below: Vec::new(),
        }
    }
}

/// Deletes a directory with all its contents, or a file of that name. Entries that
/// others have open stay, and missing entries are no error. Calls `found` with each entry
/// below the directory, before its deletion. A break ends the walk.
pub(super) async fn delete_tree(
    session: &mut impl FileCalls,
    path: &str,
    found: &mut impl FnMut(&Entry) -> ControlFlow<()>,
) -> Result<(), SessionError> {
    delete_tree_of(session, path, NAMES_MAX, found).await
}

/// Deletes a tree as [`delete_tree`] does. A tree of more than `names_max` names is refused.
async fn delete_tree_of(
    session: &mut impl FileCalls,
    path: &str,
    names_max: usize,
    found: &mut impl FnMut(&Entry) -> ControlFlow<()>,
) -> Result<(), SessionError> {
    let mut left = names_max;
    let mut way = vec![DirectoryVisit::of(path.to_owned())];
    while let Some(visit) = way.last_mut() {
        if let Some(below) = visit.below.pop() {
            way.push(DirectoryVisit::of(below));
            continue;
        }
        let listed = visit.parts.next(session, &visit.path, |_| true).await;
        let entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                match error.status() {
                    Some(NtStatus::DELETE_PENDING) => {}
                    Some(status) if status.leads_nowhere() => {}
                    Some(NtStatus::NOT_A_DIRECTORY) => {
                        delete(session, &visit.path, EntryKind::File).await?;
                    }
                    _ => return Err(error),
                }
                way.pop();
                continue;
            }
        };
        if entries.is_empty() {
            delete(session, &visit.path, EntryKind::Directory).await?;
            way.pop();
            continue;
        }
        let Some(rest) = left.checked_sub(entries.len()) else {
            let doing = format!("list directory '{}'", visit.path);
            return Err(session.failed_call(&doing, StepFailure::EndlessListing));
        };
        left = rest;
        for entry in &entries {
            if found(entry).is_break() {
                return Ok(());
            }
            let inside = join(&visit.path, &entry.name);
            if entry.is_directory {
                visit.below.push(inside);
            } else {
                delete(session, &inside, EntryKind::File).await?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
