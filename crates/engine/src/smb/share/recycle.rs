//! Recycle bins: folders to which a server moves what clients delete. Removes from
//! them the files that smbench deleted.
//!
//! A server such as Samba with `vfs_recycle` renames a deleted file to a folder at
//! the root of the share. A deletion inside that folder is real. Some servers keep
//! the path of the file there, others only its name.
//!
//! Invariant: every file that is removed from a bin is of smbench. What proves that is
//! in `owner`. A file without proof stays and is counted.
//!
//! A living run never looks into a bin before its end, and nothing is ever restored
//! from there. It is therefore safe to remove its files from a bin.

mod marker;
mod owner;
mod recorded;
mod space;
mod tree;
mod workers;

use std::collections::HashMap;

use smbench_model::login::Login;
use smbench_model::record::RecycleBin;
use smbench_protocol::NtStatus;
use smbench_protocol::command::FileTime;
use smbench_protocol::command::create::{CreateRequest, access};
use smbench_protocol::directory::Entry;

use super::ShareSession;
use super::files::join;
use super::names::{is_kept_directory, is_run_directory};
use crate::smb::calls::{EntryKind, FileCalls, Listing, ListingEnd};
use crate::smb::session::{Endpoint, SessionError};
pub(super) use owner::RemovedNames;
use owner::{Ownership, Period};
pub(super) use recorded::recorded_in;
pub(super) use space::{SpaceFinding, SpaceWatch};
pub(super) use tree::has_bin;
use workers::{Deleters, Settled};

/// Usual names of bins, at the root of a share: those of Samba, Synology, QNAP, Windows,
/// Unraid, and of guides to Samba.
const BINS: [&str; 7] = [
    ".recycle",
    "#recycle",
    "@Recycle",
    "$RECYCLE.BIN",
    ".Recycle.Bin",
    ".deleted",
    ".trash",
];
/// Names of users under which servers put the files of guests.
const GUESTS: [&str; 2] = ["nobody", "guest"];
/// Names of one listing, so that the memory for a large bin is bounded.
const PART: usize = 10_000;
/// Maximum number of listings of a folder, if other clients fill it all the time.
const PARTS_MAX: u32 = 1_000;
/// Maximum number of names that stay in a folder and are remembered.
const STAYING_MAX: usize = 100_000;

/// The directories whose files are looked for.
#[derive(Clone, Copy)]
pub(super) enum Removed<'a> {
    /// The one that was just removed, as a path from the share's root.
    One(&'a str),
    /// Those of all runs, below the target's path.
    All,
}

/// Removes files of smbench from all bins that it finds. Returns the bins that hold or
/// held some. `seen` is what was removed from the share just before.
///
/// A failure is in the result: the share itself is clean already.
pub(super) async fn empty_bins(
    session: &mut ShareSession,
    endpoint: &Endpoint,
    seen: &RemovedNames,
    removed: Removed<'_>,
) -> Vec<RecycleBin> {
    let mut all = Vec::new();
    let mut workers = Deleters::new(session, endpoint);
    'bins: for bin in BINS {
        let users = users(endpoint).into_iter().map(|user| join(bin, user));
        for place in [bin.to_owned()].into_iter().chain(users) {
            let is_bin = place == bin;
            let listed = list_strictly(workers.session, &place, 0, |_| true).await;
            let mut found = RecycleBin {
                path: place,
                ..RecycleBin::default()
            };
            match listed {
                Ok(Some(_)) => {}
                Ok(None) if is_bin => continue 'bins,
                Ok(None) => continue,
                Err(error) if error.status().is_some() => {
                    let found = refused(workers.session, &found.path, error, removed).await;
                    let is_lost = found.ended_early;
                    all.push(found);
                    if is_lost {
                        break 'bins;
                    }
                    if is_bin {
                        continue 'bins;
                    }
                    continue;
                }
                Err(error) => {
                    let doubt = if is_bin { "it may not exist; " } else { "" };
                    end_early(&mut found, format!("{doubt}{}", of_lost(&error)));
                    all.push(found);
                    break 'bins;
                }
            }
            if let Some(reason) = workers.patience.reason() {
                // The bins that follow are still looked for, so that each is reported.
                end_early(&mut found, reason);
                all.push(found);
                continue 'bins;
            }
            let mut sweep = Sweep {
                workers: &mut workers,
                seen,
                found,
            };
            let swept = sweep.whole(removed, endpoint).await;
            let mut found = sweep.found;
            let is_broken = swept.is_err();
            if let Err(error) = swept {
                end_early(&mut found, of_lost(&error));
            }
            if found.is_used() || found.files_unproven > 0 || found.reason.is_some() {
                all.push(found);
            }
            if is_broken {
                break 'bins;
            }
        }
    }
    workers.log_off().await;
    all
}

/// Describes a bin that the server refuses to list. It may still tell whether the directory
/// that was just removed is there. Other names prove nothing: other users' runs make them.
async fn refused(
    session: &mut ShareSession,
    bin: &str,
    error: SessionError,
    removed: Removed<'_>,
) -> RecycleBin {
    let reason = error.to_string();
    let (mut is_used, mut lost) = (false, None);
    if let Some(path) = own_directory(bin, removed) {
        let doing = format!("look for '{path}'");
        let request = CreateRequest::open(path.as_str(), access::FILE_READ_ATTRIBUTES);
        match session.open_file(&doing, &request).await {
            Ok(file) => {
                is_used = true;
                let _ = session.close_file(&doing, file).await;
            }
            Err(error) => {
                is_used = error.status() == Some(NtStatus::SHARING_VIOLATION);
                lost = error.status().is_none().then_some(error);
            }
        }
    }
    let (reason, refused) = if is_used {
        (Some(reason), None)
    } else {
        (None, Some(reason))
    };
    let mut found = RecycleBin {
        path: bin.to_owned(),
        reason,
        refused,
        ..RecycleBin::default()
    };
    if let Some(error) = lost {
        end_early(&mut found, of_lost(&error));
    }
    found
}

/// Returns where a bin has the directory that was just removed. `None` if somebody else may
/// have a directory of that name.
fn own_directory(bin: &str, removed: Removed<'_>) -> Option<String> {
    let Removed::One(directory) = removed else {
        return None;
    };
    let name = directory.rsplit('\\').next()?;
    is_run_directory(name).then(|| join(bin, directory))
}

/// Notes why a search ended before it had looked at everything.
fn end_early(found: &mut RecycleBin, reason: String) {
    found.ended_early = true;
    found.reason.get_or_insert(reason);
}

/// Describes the loss of the connection, which ends the search of all bins.
fn of_lost(error: &SessionError) -> String {
    format!("{error}; further bins were not looked for")
}

/// Returns the names below a bin under which the files of this user may be.
fn users(endpoint: &Endpoint) -> Vec<&str> {
    let target = &endpoint.target;
    let mut users = Vec::from_iter(
        [target.user.as_str()]
            .into_iter()
            .filter(|name| !name.is_empty()),
    );
    if matches!(target.login, Login::Guest | Login::Anonymous) || users.is_empty() {
        users.extend(GUESTS);
    }
    users
}

/// Lists a folder in part; `None` if it does not exist. Fails if this user may not list it.
async fn list_strictly(
    session: &mut ShareSession,
    path: &str,
    most: usize,
    wanted: impl FnMut(&Entry) -> bool,
) -> Result<Option<Listing>, SessionError> {
    let doing = format!("list directory '{path}'");
    let listed = session.list_some(&doing, path, most, wanted).await;
    match listed {
        Ok(listing) => Ok(Some(listing)),
        Err(error) => match error.status() {
            None | Some(NtStatus::ACCESS_DENIED) => Err(error),
            Some(_) => Ok(None),
        },
    }
}

/// Lists a folder in part; `None` if it does not exist or the server refuses to list it.
async fn list(
    session: &mut ShareSession,
    path: &str,
    most: usize,
    wanted: impl FnMut(&Entry) -> bool,
) -> Result<Option<Listing>, SessionError> {
    match list_strictly(session, path, most, wanted).await {
        Err(error) if error.status().is_some() => Ok(None),
        listed => listed,
    }
}

/// The removal of our files from one folder of a bin.
struct Sweep<'a, 'b> {
    workers: &'a mut Deleters<'b>,
    seen: &'a RemovedNames,
    found: RecycleBin,
}

impl Sweep<'_, '_> {
    /// Removes the files of our directories, with or without their paths.
    async fn whole(
        &mut self,
        removed: Removed<'_>,
        endpoint: &Endpoint,
    ) -> Result<(), SessionError> {
        let place = self.found.path.clone();
        match removed {
            Removed::One(directory) => {
                let name = directory.rsplit('\\').next().unwrap_or_default();
                // Nobody else draws the name of a run's directory.
                let is_removed = self.seen.has_directory(name) || is_run_directory(name);
                self.tree(&join(&place, directory), is_removed).await?;
            }
            Removed::All => {
                let folder = match endpoint.target.path.as_str() {
                    "" => place.clone(),
                    path => join(&place, path),
                };
                let is_ours = |entry: &Entry| {
                    let name = entry.name.as_str();
                    entry.is_directory && (is_run_directory(name) || is_kept_directory(name))
                };
                let listing = list(self.workers.session, &folder, PART, is_ours).await?;
                if let Some(listing) = &listing
                    && listing.end == ListingEnd::Cut
                {
                    let count = listing.entries.len();
                    let reason = format!(
                        "it has more directories of smbench than the {count} that were looked at"
                    );
                    end_early(&mut self.found, reason);
                }
                for entry in listing.into_iter().flat_map(|listing| listing.entries) {
                    let is_removed = self.seen.has_directory(&entry.name);
                    self.tree(&join(&folder, &entry.name), is_removed).await?;
                }
            }
        }
        let period = match removed {
            Removed::One(_) => Period::OfThisRun,
            Removed::All => Period::Any,
        };
        let seen = self.seen;
        self.files(&place, |entry| seen.judge(entry, period)).await
    }

    /// Removes the files in `folder` that `judge` calls ours, part by part.
    async fn files(
        &mut self,
        folder: &str,
        judge: impl Fn(&Entry) -> Ownership,
    ) -> Result<(), SessionError> {
        // Names that stay, so that they are judged once.
        let mut staying: HashMap<String, FileTime> = HashMap::new();
        let mut deleted: HashMap<String, FileTime> = HashMap::new();
        for _ in 0..PARTS_MAX {
            if let Some(reason) = self.workers.patience.reason() {
                end_early(&mut self.found, reason);
                break;
            }
            let wanted = |entry: &Entry| {
                !entry.is_directory
                    && judge(entry) != Ownership::Foreign
                    && !staying.contains_key(&entry.name)
            };
            let Some(listing) = list(self.workers.session, folder, PART, wanted).await? else {
                return Ok(());
            };
            let mut jobs = Vec::with_capacity(listing.entries.len());
            for entry in listing.entries {
                match deleted.get(&entry.name) {
                    None => jobs.push((judge(&entry), entry)),
                    Some(&created) => {
                        if created == entry.created {
                            let found = &mut self.found;
                            found.files_removed = found.files_removed.saturating_sub(1);
                            found.bytes_removed =
                                found.bytes_removed.saturating_sub(entry.end_of_file);
                            self.leave(&entry, "the server accepted the deletion and kept it");
                        }
                        // Otherwise another client has deleted a file of that name just now.
                        staying.insert(entry.name, entry.created);
                    }
                }
            }
            deleted.clear();
            let is_over = jobs.is_empty() && listing.end == ListingEnd::Whole;
            if is_over || staying.len() > STAYING_MAX {
                break;
            }
            let (settled, ended) = self.workers.settle(folder, jobs).await;
            for (entry, settled) in settled {
                match settled {
                    Settled::Gone => {
                        self.found.files_removed += 1;
                        self.found.bytes_removed += entry.end_of_file;
                        deleted.insert(entry.name, entry.created);
                        continue;
                    }
                    Settled::Unproven if self.seen.knows(&entry.name) => {
                        let found = &mut self.found;
                        found.files_unproven += 1;
                        let path = || join(folder, &entry.name);
                        found.unproven_first.get_or_insert_with(path);
                    }
                    Settled::Unproven => {}
                    Settled::Refused(reason) => self.leave(&entry, &reason),
                    Settled::NotTried(reason) => {
                        self.leave(&entry, &reason);
                        self.found.ended_early = true;
                    }
                }
                staying.insert(entry.name, entry.created);
            }
            ended?;
        }
        Ok(())
    }

    /// Counts a file of ours that stays.
    fn leave(&mut self, entry: &Entry, reason: &str) {
        self.found.files_left += 1;
        self.found.bytes_left += entry.end_of_file;
        self.found.reason.get_or_insert_with(|| reason.to_owned());
    }
}

/// Removes a directory if it is empty.
async fn remove_empty(session: &mut ShareSession, path: &str) -> Result<(), SessionError> {
    let doing = format!("delete '{path}'");
    match session
        .delete_entry(&doing, path, EntryKind::Directory)
        .await
    {
        Err(error) if error.status().is_none() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
