//! Deletes the files that clients copied to the run's directory, on several sessions in
//! parallel. There may be more of them than of all other files.

use smbench_model::files::FileSet;
use tokio::task::JoinSet;

use super::Workspace;
use super::files::{delete, join, list_respelled};
use crate::smb::calls::EntryKind;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::ShareSession;

/// Most sessions that delete in parallel.
const SESSIONS_MAX: usize = 8;
/// Fewest files for which another session is worth its log-on.
const FILES_PER_SESSION: usize = 100;

impl Workspace {
    /// Deletes all files that clients copied there.
    pub(crate) async fn remove_copies(&mut self) -> Result<(), SessionError> {
        let directory = &self.directory;
        let is_ours = FileSet::is_copy_name;
        let mut entries = list_respelled(&mut self.session, directory, is_ours).await?;
        entries.retain(|entry| !entry.is_directory && is_ours(&entry.name));
        let paths: Vec<_> = entries
            .iter()
            .map(|entry| join(directory, &entry.name))
            .collect();
        for entry in &entries {
            self.seen.file(entry);
        }
        let sessions = paths.len().div_ceil(FILES_PER_SESSION).min(SESSIONS_MAX);
        let mut running = JoinSet::new();
        for part in paths.chunks(paths.len().div_ceil(sessions.max(1)).max(1)) {
            running.spawn_local(delete_all(self.endpoint.clone(), part.to_vec()));
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(|_| SessionError::Panicked {
                doing: "delete the copies",
            })??;
        }
        Ok(())
    }
}

async fn delete_all(endpoint: Endpoint, paths: Vec<String>) -> Result<(), SessionError> {
    let mut session = ShareSession::open(&endpoint).await?;
    for path in &paths {
        delete(&mut session, path, EntryKind::File).await?;
    }
    session.log_off().await;
    Ok(())
}
