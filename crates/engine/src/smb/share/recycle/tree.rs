//! Our directories in a bin that keeps the paths of deleted files.

use std::ops::ControlFlow;

use smbench_protocol::NtStatus;
use smbench_protocol::command::create::Disposition;
use smbench_protocol::directory::Entry;

use super::owner::{Ownership, Period, is_made_by_run, original, respelled};
use super::{BINS, PART, Sweep, end_early, list, list_strictly, remove_empty};
use crate::smb::calls::FileCalls;
use crate::smb::session::SessionError;
use crate::smb::share::ShareSession;
use crate::smb::share::files::join;
use crate::smb::share::hold_marker;
use crate::smb::share::names::{MARKER, OWN_TREES, TREE_ROOT, is_run_directory};
use crate::smb::share::parts::delete_tree;

/// Returns whether the share has a folder that is named as a bin.
pub(in crate::smb::share) async fn has_bin(
    session: &mut ShareSession,
) -> Result<bool, SessionError> {
    for bin in BINS {
        match list_strictly(session, bin, 0, |_| false).await {
            Ok(None) => {}
            Ok(Some(_)) => return Ok(true),
            Err(error) if error.status().is_some() => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

impl Sweep<'_, '_> {
    /// Removes our files from a directory that is named as ours, then the directory if it
    /// is empty. `is_removed` says whether the directory was removed from the share just
    /// now, so that no run uses it.
    pub(super) async fn tree(&mut self, path: &str, is_removed: bool) -> Result<(), SessionError> {
        let is_marker =
            |entry: &Entry| !entry.is_directory && respelled(original(&entry.name)) == MARKER;
        let Some(markers) = list(self.workers.session, path, 0, is_marker).await? else {
            return Ok(());
        };
        if let Some(marker) = markers.entries.first().filter(|_| !is_removed)
            && self.is_held(&join(path, &marker.name)).await?
        {
            return Ok(());
        }
        if is_removed || !markers.entries.is_empty() {
            let name = path.rsplit('\\').next().unwrap_or_default();
            if is_run_directory(name) {
                for whole in OWN_TREES {
                    self.own_tree(&join(path, whole)).await?;
                }
            } else {
                self.below(join(path, TREE_ROOT)).await?;
            }
            let seen = self.seen;
            // The marker goes last, because it is the proof.
            for is_last in [false, true] {
                self.files(path, |entry| {
                    let exact = original(&entry.name);
                    let name = respelled(exact);
                    if !is_made_by_run(&name) || (name == MARKER) != is_last {
                        Ownership::Foreign
                    } else if name == exact {
                        Ownership::Certain
                    } else {
                        seen.judge(entry, Period::Any)
                    }
                })
                .await?;
            }
        } else {
            let seen = self.seen;
            self.files(path, |entry| seen.judge(entry, Period::Any))
                .await?;
        }
        remove_empty(self.workers.session, path).await
    }

    /// Returns whether a run uses the directory of this marker: a target may lie in what
    /// looks like a bin.
    async fn is_held(&mut self, marker: &str) -> Result<bool, SessionError> {
        let doing = format!("claim '{marker}'");
        let session = &mut *self.workers.session;
        match hold_marker(session, &doing, marker, Disposition::Open).await {
            Ok(file) => {
                session.close_file(&doing, file).await?;
                Ok(false)
            }
            Err(error) => match error.status() {
                Some(status) => Ok(status == NtStatus::SHARING_VIOLATION),
                None => Err(error),
            },
        }
    }

    /// Removes our files from a directory and those below it, then the empty directories.
    async fn below(&mut self, root: String) -> Result<(), SessionError> {
        let seen = self.seen;
        // Each with whether its own directories are known already.
        let mut way = vec![(root, false)];
        while let Some((path, is_known)) = way.pop() {
            if is_known || self.workers.patience.reason().is_some() {
                remove_empty(self.workers.session, &path).await?;
                continue;
            }
            let is_directory = |entry: &Entry| entry.is_directory;
            let Some(listing) = list(self.workers.session, &path, PART, is_directory).await? else {
                continue;
            };
            self.files(&path, |entry| match seen.judge(entry, Period::Any) {
                // A directory of ours has files of any name, and others may have put theirs there.
                Ownership::Foreign => Ownership::ByContents,
                ours => ours,
            })
            .await?;
            let inside = listing.entries.iter();
            let inside: Vec<_> = inside
                .map(|entry| (join(&path, &entry.name), false))
                .collect();
            way.push((path, true));
            way.extend(inside);
        }
        Ok(())
    }

    /// Removes a directory whose whole contents a run made.
    async fn own_tree(&mut self, path: &str) -> Result<(), SessionError> {
        let (mut files, mut bytes) = (0, 0);
        let patience = self.workers.patience.clone();
        let mut ended = None;
        let deleted = delete_tree(self.workers.session, path, &mut |entry| {
            ended = patience.reason();
            if ended.is_some() {
                return ControlFlow::Break(());
            }
            if !entry.is_directory {
                files += 1;
                bytes += entry.end_of_file;
            }
            ControlFlow::Continue(())
        })
        .await;
        if let Some(reason) = ended {
            end_early(&mut self.found, reason);
        }
        match deleted {
            Ok(()) => {
                self.found.files_removed += files;
                self.found.bytes_removed += bytes;
                Ok(())
            }
            Err(error) if error.status().is_some() => {
                self.found.files_left += files;
                self.found.bytes_left += bytes;
                self.found.reason.get_or_insert(error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
