//! Removes a prepared tree: only entries that its description names.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use smbench_model::contents::block::Salt;
use smbench_model::tree::{TreeError, TreeStage};
use smbench_protocol::NtStatus;

use super::crew::Crew;
use super::manifest::write_text;
use super::removed::RemovedFiles;
use super::scan::TreeOnShare;
use super::tree::{
    DIRECTORIES_AT_ONCE, FILES_AT_ONCE, PreparedFound, TreeWork, described, directory_of, look,
    teller,
};
use super::{Missing, claim};
use crate::smb::calls::{EntryKind, FileCalls};
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::ShareSession;
use crate::smb::share::files::{delete, join};
use crate::smb::share::names::TREE_MANIFEST;
use crate::smb::share::recycle::{Removed, RemovedNames, empty_bins, has_bin};
use crate::smb::share::remove::remove_for_good;

/// Removes the prepared tree and its directory, and what a server moved to recycle bins.
pub(crate) async fn remove_tree(
    endpoint: &Endpoint,
    work: TreeWork<'_>,
) -> Result<RemovedFiles, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let directory = directory_of(endpoint);
    let mut seen = RemovedNames::default();
    let on_share = match look(&mut session, &directory).await? {
        PreparedFound::Nothing => {
            let removed = Removed::One(&directory);
            let bins = empty_bins(&mut session, endpoint, &seen, removed).await;
            session.log_off().await;
            let directory = None;
            return Ok(RemovedFiles { directory, bins });
        }
        PreparedFound::Empty => None,
        PreparedFound::Tree(manifest) => {
            let (on_share, _) = described(endpoint, &mut session).await?;
            Some((on_share, manifest))
        }
    };
    let salt = Salt::default();
    let mut workspace = claim(endpoint, session, &directory, Missing::Refused, salt).await?;
    if let Some((on_share, manifest)) = on_share {
        if has_bin(&mut workspace.session).await? {
            note_all(&mut workspace.session, &on_share, &mut seen).await?;
        }
        // No run may use what is left after an interruption.
        let mut manifest = manifest;
        manifest.complete = false;
        write_text(&mut workspace, TREE_MANIFEST, &manifest.to_json()).await?;
        if let Err(error) = delete_all(endpoint, &on_share, work).await {
            workspace.remove().await?;
            return Err(error);
        }
    }
    let (mut session, marker) = (workspace.session, workspace.marker);
    let bins = remove_for_good(&mut session, endpoint, &directory, Some(marker), &mut seen).await?;
    session.log_off().await;
    let directory = Some(directory);
    Ok(RemovedFiles { directory, bins })
}

/// Notes the files of a tree, so that they are known again in a bin.
async fn note_all(
    session: &mut ShareSession,
    on_share: &TreeOnShare,
    seen: &mut RemovedNames,
) -> Result<(), SessionError> {
    let mut name = String::new();
    for directory in 0..on_share.tree.directories() {
        let path = on_share.directory(directory);
        let doing = format!("list directory '{path}'");
        let tree = &on_share.tree;
        let expected = tree.children(directory).len();
        let listed = session.see_each(&doing, &path, expected, |entry| {
            if tree.find(directory, &entry.name, &mut name).is_some() {
                seen.recorded(entry);
            }
        });
        match listed.await {
            Err(error) if error.status().is_none() => return Err(error),
            // An interruption may have left out this directory.
            _ => {}
        }
    }
    Ok(())
}

/// Deletes the files of a tree by their names, then the directories, the deepest first.
async fn delete_all(
    endpoint: &Endpoint,
    on_share: &TreeOnShare,
    work: TreeWork<'_>,
) -> Result<(), SessionError> {
    let tree = &on_share.tree;
    let mut crew = Crew::open(endpoint, work.sessions, work.cancel).await?;
    let done = Rc::new(Cell::new(0_u64));
    let (of_files, counted) = (on_share.clone(), Rc::clone(&done));
    let remove = async move |session: &mut ShareSession, files| {
        for file in files {
            delete(session, &of_files.file(file), EntryKind::File).await?;
            counted.set(counted.get() + 1);
        }
        Ok(())
    };
    let mut tell = teller(TreeStage::Deletion, tree.files(), &done, work.progress);
    crew.each(0..tree.files(), FILES_AT_ONCE, remove, &mut tell)
        .await?;
    drop(tell);
    done.set(0);
    let left: Rc<RefCell<Option<TreeError>>> = Rc::default();
    for level in tree.levels().rev() {
        let (on_share, counted, left) = (on_share.clone(), Rc::clone(&done), Rc::clone(&left));
        let remove = async move |session: &mut ShareSession, directories| {
            for directory in directories {
                if let Some(error) = delete_directory(session, &on_share, directory).await? {
                    left.borrow_mut().get_or_insert(error);
                }
                counted.set(counted.get() + 1);
            }
            Ok(())
        };
        let mut tell = teller(
            TreeStage::Directory,
            tree.directories(),
            &done,
            work.progress,
        );
        crew.each(level, DIRECTORIES_AT_ONCE, remove, &mut tell)
            .await?;
    }
    crew.log_off().await;
    left.take().map_or(Ok(()), |error| Err(error.into()))
}

/// Deletes a directory. Returns the first entry that is still in it, as an error.
async fn delete_directory(
    session: &mut ShareSession,
    on_share: &TreeOnShare,
    directory: u32,
) -> Result<Option<TreeError>, SessionError> {
    let path = on_share.directory(directory);
    let doing = format!("list directory '{path}'");
    let (mut first, mut buffer) = (None, String::new());
    let at = session.share();
    let expected = on_share.tree.children(directory).len();
    let listed = session.see_each(&doing, &path, expected, |entry| {
        if first.is_none() {
            let path = join(&path, &entry.name);
            let at = at.clone();
            first = Some(
                match on_share.tree.find(directory, &entry.name, &mut buffer) {
                    Some(_) => TreeError::Held { path, at },
                    None => TreeError::Foreign { path, at },
                },
            );
        }
    });
    match listed.await {
        Ok(()) => {}
        Err(error) => {
            return match error.status() {
                Some(
                    NtStatus::OBJECT_NAME_NOT_FOUND
                    | NtStatus::OBJECT_PATH_NOT_FOUND
                    | NtStatus::DELETE_PENDING,
                ) => Ok(None),
                Some(status) if status.refuses_name() => Ok(None),
                _ => Err(error),
            };
        }
    }
    if first.is_none() {
        delete(session, &path, EntryKind::Directory).await?;
    }
    Ok(first)
}
