//! Our directories in a bin that keeps the paths of deleted files.

use smbench_protocol::directory::Entry;

use super::owner::{Ownership, Period, is_made_by_run, original};
use super::{Sweep, list, remove_empty};
use crate::smb::session::SessionError;
use crate::smb::share::files::join;
use crate::smb::share::names::MARKER;
use crate::smb::share::replay::{REPLAY_DIRECTORY, delete_tree};

impl Sweep<'_, '_> {
    /// Removes our files from a directory that is named as ours, then the directory if it
    /// is empty. `is_removed` says whether the directory was removed from the share just
    /// now, so that no run uses it.
    pub(super) async fn tree(&mut self, path: &str, is_removed: bool) -> Result<(), SessionError> {
        let is_marker = |entry: &Entry| !entry.is_directory && original(&entry.name) == MARKER;
        let Some(markers) = list(self.workers.session, path, 0, is_marker).await? else {
            return Ok(());
        };
        if is_removed || !markers.entries.is_empty() {
            self.replays(&join(path, REPLAY_DIRECTORY)).await?;
            // The marker goes last, because it is the proof.
            for is_last in [false, true] {
                self.files(path, |entry| {
                    let name = original(&entry.name);
                    if is_made_by_run(&name) && (name == MARKER) == is_last {
                        Ownership::Certain
                    } else {
                        Ownership::Foreign
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

    /// Removes everything that replays made.
    async fn replays(&mut self, path: &str) -> Result<(), SessionError> {
        let (mut files, mut bytes) = (0, 0);
        let deleted = delete_tree(self.workers.session, path, &mut |entry| {
            if !entry.is_directory {
                files += 1;
                bytes += entry.end_of_file;
            }
        })
        .await;
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
