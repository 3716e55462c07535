//! Deletes the files that clients copied to the run's directory, on several sessions in
//! parallel. There may be more of them than of all other files.

use std::cell::RefCell;
use std::mem;
use std::ops::ControlFlow;
use std::rc::Rc;

use smbench_model::files::{COPIED_TREES, FileSet};
use smbench_protocol::NtStatus;
use tokio::task::JoinSet;

use super::Workspace;
use super::files::{delete, join, list, list_respelled};
use super::parts::delete_tree;
use super::recycle::RemovedNames;
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
        let is_ours = |name: &str| FileSet::is_copy_name(name) || name == COPIED_TREES;
        let mut entries = list_respelled(&mut self.session, directory, is_ours).await?;
        entries.retain(|entry| is_ours(&entry.name));
        let (trees, files): (Vec<_>, _) = entries.iter().partition(|entry| entry.is_directory);
        let paths = files.iter().map(|entry| join(directory, &entry.name));
        let paths: Vec<_> = paths.collect();
        for entry in &files {
            self.seen.file(entry);
        }
        let each = self.endpoint.clone();
        in_parallel(paths, FILES_PER_SESSION, |part| {
            delete_all(each.clone(), part)
        })
        .await?;
        if trees.is_empty() {
            return Ok(());
        }
        self.remove_copied_trees().await
    }

    /// Deletes the trees that clients copied there, but not their directory.
    async fn remove_copied_trees(&mut self) -> Result<(), SessionError> {
        let directory = join(&self.directory, COPIED_TREES);
        let trees = match list(&mut self.session, &directory).await {
            Ok(trees) => trees,
            Err(error) if error.status().is_some_and(NtStatus::names_nothing) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let paths = trees.iter().map(|tree| join(&directory, &tree.name));
        let seen = Rc::new(RefCell::new(mem::take(&mut self.seen)));
        let endpoint = self.endpoint.clone();
        let work = |part| delete_trees(endpoint.clone(), Rc::clone(&seen), part);
        let deleted = in_parallel(paths.collect(), 1, work).await;
        self.seen = seen.take();
        deleted
    }
}

/// Divides paths among sessions. Each gets at least `at_least` of them, if there are as many.
async fn in_parallel<F>(
    paths: Vec<String>,
    at_least: usize,
    mut work: impl FnMut(Vec<String>) -> F,
) -> Result<(), SessionError>
where
    F: Future<Output = Result<(), SessionError>> + 'static,
{
    let sessions = paths.len().div_ceil(at_least).min(SESSIONS_MAX);
    let mut running = JoinSet::new();
    for part in paths.chunks(paths.len().div_ceil(sessions.max(1)).max(1)) {
        running.spawn_local(work(part.to_vec()));
    }
    while let Some(ended) = running.join_next().await {
        ended.map_err(|_| SessionError::Panicked {
            doing: "delete the copies",
        })??;
    }
    Ok(())
}

async fn delete_all(endpoint: Endpoint, paths: Vec<String>) -> Result<(), SessionError> {
    let mut session = ShareSession::open(&endpoint).await?;
    for path in &paths {
        delete(&mut session, path, EntryKind::File).await?;
    }
    session.log_off().await;
    Ok(())
}

async fn delete_trees(
    endpoint: Endpoint,
    seen: Rc<RefCell<RemovedNames>>,
    paths: Vec<String>,
) -> Result<(), SessionError> {
    let mut session = ShareSession::open(&endpoint).await?;
    for path in &paths {
        let mut note = |entry: &_| {
            seen.borrow_mut().recorded(entry);
            ControlFlow::Continue(())
        };
        delete_tree(&mut session, path, &mut note).await?;
    }
    session.log_off().await;
    Ok(())
}
