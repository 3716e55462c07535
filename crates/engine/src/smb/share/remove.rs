//! Removes the directories of runs: that of this run at its end, and those that
//! killed runs left.

use std::ops::ControlFlow;
use std::time::Duration;

use smbench_model::record::RecycleBin;
use smbench_protocol::command::create::Disposition;
use smbench_protocol::directory::Entry;
use smbench_protocol::{FileId, NtStatus};

use super::files::{delete, join, list, respell};
use super::hold_marker;
use super::names::{MARKER, Own, is_kept_directory, is_run_directory, own};
use super::parts::{ListingParts, delete_tree};
use super::recycle::{Removed, RemovedNames, empty_bins, recorded_in};
use super::survey::survey;
use crate::smb::calls::{EntryKind, FileCalls};
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::ShareSession;

/// Number of retries, and the delay between them, while a directory is not empty
/// yet.
const REMOVE_RETRIES: u32 = 20;
const REMOVE_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Directories that a clean-up found, grouped by its decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Removed directories, as paths from the share's root in the server's spelling.
    pub removed: Vec<String>,
    /// Directories left in place because a run is using them.
    pub in_use: Vec<String>,
    /// Directories with a name like ours, but without our marker.
    pub foreign: Vec<String>,
    /// Directories of files that were prepared for `fileio`, and of trees; they stay.
    pub prepared: Vec<String>,
    /// Recycle bins that hold or held files of smbench.
    pub bins: Vec<RecycleBin>,
}

/// Removes the directories that killed runs left below the target's path.
pub(crate) async fn cleanup(endpoint: &Endpoint) -> Result<Cleanup, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let base = endpoint.target.path.clone();
    let (mut found, mut seen) = (Cleanup::default(), RemovedNames::default());
    let is_ours = |name: &str| is_kept_directory(name) || is_run_directory(name);
    let mut entries = list(&mut session, &base).await?;
    let spellings: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
    respell(&mut session, &base, &mut entries, is_ours).await?;
    for (entry, spelling) in entries.iter().zip(spellings) {
        if !entry.is_directory {
            continue;
        }
        let spelling = join(&base, &spelling);
        if is_kept_directory(&entry.name) {
            found.prepared.push(spelling);
        } else if is_run_directory(&entry.name) {
            let directory = join(&base, &entry.name);
            found
                .look_into(&mut session, &directory, spelling, &mut seen)
                .await?;
        }
    }
    found.bins = empty_bins(&mut session, endpoint, &seen, Removed::All).await;
    session.log_off().await;
    Ok(found)
}

/// Removes one directory, a path from the share's root, if it belongs to a killed
/// run.
pub(crate) async fn remove_remains(
    endpoint: &Endpoint,
    directory: &str,
) -> Result<Cleanup, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let (mut found, mut seen) = (Cleanup::default(), RemovedNames::default());
    let name = directory.rsplit('\\').next().unwrap_or_default();
    if is_run_directory(name) {
        found
            .look_into(&mut session, directory, directory.to_owned(), &mut seen)
            .await?;
        if found.in_use.is_empty() && found.foreign.is_empty() {
            let removed = Removed::One(directory);
            found.bins = empty_bins(&mut session, endpoint, &seen, removed).await;
        }
    } else {
        found.foreign.push(directory.to_owned());
    }
    session.log_off().await;
    Ok(found)
}

impl Cleanup {
    /// Removes a directory if it belongs to a killed run, and records the result under the
    /// server's spelling.
    async fn look_into(
        &mut self,
        session: &mut ShareSession,
        directory: &str,
        spelling: String,
        seen: &mut RemovedNames,
    ) -> Result<(), SessionError> {
        match clean(session, directory, seen).await {
            Ok(DirectoryOwner::Dead) => self.removed.push(spelling),
            Ok(DirectoryOwner::InUse) => self.in_use.push(spelling),
            Ok(DirectoryOwner::Foreign) => self.foreign.push(spelling),
            // A run that ends just now removes its directory itself.
            Err(error) => {
                gone_or(error)?;
            }
        }
        Ok(())
    }
}

/// Owner of a directory with a name like ours.
enum DirectoryOwner {
    /// A killed run; the directory was removed.
    Dead,
    /// A living run.
    InUse,
    /// Someone else.
    Foreign,
}

/// Removes a directory if it belongs to a killed run.
async fn clean(
    session: &mut ShareSession,
    directory: &str,
    seen: &mut RemovedNames,
) -> Result<DirectoryOwner, SessionError> {
    let inside = survey(session, directory).await?;
    if inside.other.is_some() && !inside.has_marker {
        return Ok(DirectoryOwner::Foreign);
    }
    // A living run has its marker open without sharing.
    match claim(session, directory).await {
        Ok(marker) => {
            if let Some(marker) = marker {
                seen.replayed(recorded_in(session, marker).await?);
            }
            remove_claimed(session, directory, marker, seen).await?;
            Ok(DirectoryOwner::Dead)
        }
        Err(error) if error.status() == Some(NtStatus::SHARING_VIOLATION) => {
            Ok(DirectoryOwner::InUse)
        }
        Err(error) => Err(error),
    }
}

/// Opens the marker of a killed run without sharing; returns `None` if the run was
/// killed before it created one.
async fn claim(
    session: &mut ShareSession,
    directory: &str,
) -> Result<Option<FileId>, SessionError> {
    let doing = format!("claim directory '{directory}'");
    let marker = join(directory, MARKER);
    match hold_marker(session, &doing, &marker, Disposition::Open).await {
        Ok(marker) => Ok(Some(marker)),
        Err(error) if error.status().is_some_and(NtStatus::names_nothing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes one of our directories on a new session, and its files from recycle bins.
pub(super) async fn remove_afresh(
    endpoint: &Endpoint,
    directory: &str,
    seen: &mut RemovedNames,
) -> Result<Vec<RecycleBin>, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let bins = remove_for_good(&mut session, endpoint, directory, None, seen).await?;
    session.log_off().await;
    Ok(bins)
}

/// Removes one of our directories, which may be claimed, and its files from recycle
/// bins.
pub(super) async fn remove_for_good(
    session: &mut ShareSession,
    endpoint: &Endpoint,
    directory: &str,
    claim: Option<FileId>,
    seen: &mut RemovedNames,
) -> Result<Vec<RecycleBin>, SessionError> {
    remove_claimed(session, directory, claim, seen).await?;
    Ok(empty_bins(session, endpoint, seen, Removed::One(directory)).await)
}

/// Deletes the files of one of our directories, closes the claim, then deletes the
/// marker and the directory. Retries for a while for two reasons. Sessions that
/// were cut off hold their opens until the server notices. A request of theirs may
/// also still be in progress.
async fn remove_claimed(
    session: &mut ShareSession,
    directory: &str,
    mut claim: Option<FileId>,
    seen: &mut RemovedNames,
) -> Result<(), SessionError> {
    for _ in 0..REMOVE_RETRIES {
        match try_remove(session, directory, &mut claim, seen).await {
            Ok(Removal::Gone) => {
                seen.directory(directory);
                return Ok(());
            }
            Ok(Removal::Held) => tokio::time::sleep(REMOVE_RETRY_DELAY).await,
            Err(error) => return Err(error),
        }
    }
    let held = survey(session, directory).await?;
    let marker = held.has_marker.then(|| MARKER.to_owned());
    Err(SessionError::Held {
        directory: directory.to_owned(),
        at: session.share(),
        name: held.other.or(marker).unwrap_or_default(),
    })
}

enum Removal {
    Gone,
    Held,
}

async fn try_remove(
    session: &mut ShareSession,
    directory: &str,
    claim: &mut Option<FileId>,
    seen: &mut RemovedNames,
) -> Result<Removal, SessionError> {
    let found = match survey(session, directory).await {
        Ok(found) => found,
        Err(error) => return gone_or(error),
    };
    let mut parts = ListingParts::default();
    loop {
        let is_own = |entry: &Entry| {
            let name = found.spelled(&entry.name);
            *name == *MARKER || own(&name, entry.is_directory).is_some()
        };
        let entries = parts.next(session, directory, is_own).await?;
        if entries.is_empty() {
            break;
        }
        for mut entry in entries {
            entry.name = found.spelled(&entry.name).into_owned();
            seen.file(&entry);
            remove_own(session, directory, &entry, seen).await?;
        }
    }
    // Two names can differ in case only, and one of them is ours. Without ours, the second
    // list cannot show that the other one is not.
    if let Some(name) = found.foreign {
        return Err(SessionError::NotEmpty {
            directory: directory.to_owned(),
            at: session.share(),
            name,
        });
    }
    // Servers differ when a directory to be deleted on close is not empty: some
    // report success and keep it. The list shows whether the directory is empty.
    if survey(session, directory).await?.other.is_some() {
        return Ok(Removal::Held);
    }
    if let Some(marker) = claim.take() {
        session.close_file("close the run's marker", marker).await?;
    }
    delete(session, &join(directory, MARKER), EntryKind::File).await?;
    delete(session, directory, EntryKind::Directory).await?;
    match list(session, directory).await {
        Ok(_) => Ok(Removal::Held),
        Err(error) => gone_or(error),
    }
}

/// Deletes an entry that a run made, but not the marker.
async fn remove_own(
    session: &mut ShareSession,
    directory: &str,
    entry: &Entry,
    seen: &mut RemovedNames,
) -> Result<(), SessionError> {
    let path = join(directory, &entry.name);
    match own(&entry.name, entry.is_directory) {
        Some(Own::One(kind)) => delete(session, &path, kind).await,
        Some(Own::Tree) => {
            let mut note = |entry: &Entry| {
                seen.recorded(entry);
                ControlFlow::Continue(())
            };
            delete_tree(session, &path, &mut note).await
        }
        None => Ok(()),
    }
}

/// Judges a failure to open a directory that is being removed.
fn gone_or(error: SessionError) -> Result<Removal, SessionError> {
    match error.status() {
        Some(status) if status.leads_nowhere() => Ok(Removal::Gone),
        Some(NtStatus::DELETE_PENDING) => Ok(Removal::Held),
        _ => Err(error),
    }
}
