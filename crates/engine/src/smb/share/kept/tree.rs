//! A prepared tree of directories, which stays after runs. It is in a directory with a name of
//! its own, together with its description and the marker, as the files of `fileio` tests are.
//!
//! A file is written from its start to its end. Its size therefore shows whether it is complete,
//! and an interrupted preparation goes on: it lists the tree, and makes what is missing.
//!
//! Only entries that the description names are written and deleted.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use smbench_model::contents::block::{Salt, Stamp};
use smbench_model::tree::{
    CheckedTree, PreparedTree, TREE_MANIFEST_BYTES_MAX, Tree, TreeError, TreeManifest,
    TreeProgress, TreeShape, TreeStage,
};
use smbench_model::units::Size;
use smbench_protocol::NtStatus;

use super::crew::Crew;
use super::manifest::{read_start, write_text};
use super::scan::{Scan, TreeOnShare};
use super::{Missing, claim, new_salt};
use crate::machine::cancel::Cancel;
use crate::smb::calls::{EntryKind, FileCalls};
use crate::smb::prepared::RemovedFiles;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::files::{delete, join};
use crate::smb::share::names::{MARKER, TREE_DIRECTORY, TREE_MANIFEST, TREE_ROOT};
use crate::smb::share::prepare::PREPARE_WRITE_LEN;
use crate::smb::share::recycle::{Removed, RemovedNames, empty_bins};
use crate::smb::share::remove::remove_for_good;
use crate::smb::share::replay::{make_directory, make_file};
use crate::smb::share::survey::list_inside;
use crate::smb::share::{ShareSession, too_little};
use smbench_protocol::credit::charge_for;

/// Numbers that a session takes at once.
const FILES_AT_ONCE: u32 = 64;
const DIRECTORIES_AT_ONCE: u32 = 8;

/// How a tree is worked on: with this number of sessions, until cancelled.
pub(crate) struct TreeWork<'a> {
    pub(crate) sessions: u32,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a mut dyn FnMut(TreeProgress),
}

fn directory_of(endpoint: &Endpoint) -> String {
    join(&endpoint.target.path, TREE_DIRECTORY)
}

/// What the directory of a prepared tree has.
enum Found {
    /// There is no directory.
    Nothing,
    /// There is a directory without a tree.
    Empty,
    /// There is a tree.
    Tree(TreeManifest),
}

/// Returns what is in the directory of the prepared tree. Fails if it has something else.
async fn look(session: &mut ShareSession, directory: &str) -> Result<Found, SessionError> {
    let entries = match list_inside(session, directory).await {
        Ok(entries) => entries,
        Err(error) if error.status() == Some(NtStatus::OBJECT_NAME_NOT_FOUND) => {
            return Ok(Found::Nothing);
        }
        Err(error) => return Err(error),
    };
    let at = session.share();
    let known = [MARKER, TREE_MANIFEST, TREE_ROOT];
    let is_foreign = |name: &str| !known.contains(&name);
    if let Some(entry) = entries.iter().find(|entry| is_foreign(&entry.name)) {
        let path = join(directory, &entry.name);
        return Err(TreeError::Foreign { path, at }.into());
    }
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let path = join(directory, TREE_MANIFEST);
    if !has(TREE_MANIFEST) {
        return match has(TREE_ROOT) {
            true => Err(TreeError::Manifest { path, at }.into()),
            false => Ok(Found::Empty),
        };
    }
    let json = read_start(session, &path, TREE_MANIFEST_BYTES_MAX).await?;
    match TreeManifest::parse(&json) {
        Some(manifest) => Ok(Found::Tree(manifest)),
        // It is written before anything else, so it may be cut only if there is no tree yet.
        None if !has(TREE_ROOT) => Ok(Found::Empty),
        None => Err(TreeError::Manifest { path, at }.into()),
    }
}

/// Makes a tree, or the missing parts of it. Writes nothing if it cannot fit, or if another tree
/// is there.
pub(crate) async fn prepare_tree(
    endpoint: &Endpoint,
    tree: &Arc<Tree>,
    work: TreeWork<'_>,
) -> Result<PreparedTree, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let directory = directory_of(endpoint);
    let found = look(&mut session, &directory).await?;
    let known = match found {
        Found::Tree(manifest) if !manifest.fits(tree.shape()) => {
            let at = session.share();
            let error = TreeError::other(&directory, at, &manifest.tree, tree.shape());
            return Err(error.into());
        }
        Found::Tree(manifest) => Some(Salt(manifest.salt)),
        Found::Nothing | Found::Empty => None,
    };
    if known.is_none() {
        check_room(endpoint, &mut session, tree.bytes()).await?;
    }
    let salt = known.unwrap_or_else(new_salt);
    let mut workspace = claim(endpoint, session, &directory, Missing::Made, salt).await?;
    if known.is_none() {
        let manifest = TreeManifest::of(tree.shape().clone(), salt.0);
        write_text(&mut workspace, TREE_MANIFEST, &manifest.to_json()).await?;
    }
    let on_share = TreeOnShare {
        tree: Arc::clone(tree),
        root: join(&directory, TREE_ROOT),
    };
    let made = make_tree(endpoint, &on_share, salt, known.is_some(), work).await;
    if made.is_err() {
        workspace.lose_patience();
    }
    workspace.remove().await?;
    let (found, bytes) = made?;
    Ok(PreparedTree {
        directory,
        found,
        written: tree.files() - found,
        bytes,
    })
}

/// Makes the missing parts of a tree. Returns the number of files that were complete, and the
/// bytes written.
async fn make_tree(
    endpoint: &Endpoint,
    on_share: &TreeOnShare,
    salt: Salt,
    goes_on: bool,
    work: TreeWork<'_>,
) -> Result<(u32, u64), SessionError> {
    let endpoint = endpoint.with_credit_target(charge_for(PREPARE_WRITE_LEN) + 1);
    let tree = &on_share.tree;
    let mut crew = Crew::open(&endpoint, work.sessions, work.cancel).await?;
    let done = Rc::new(Cell::new(0_u64));
    for level in tree.levels() {
        let (on_share, counted) = (on_share.clone(), Rc::clone(&done));
        let make = async move |session: &mut ShareSession, directories| {
            for directory in directories {
                make_directory(session, &on_share.directory(directory)).await?;
                counted.set(counted.get() + 1);
            }
            Ok(())
        };
        let mut tell = teller(
            TreeStage::Directories,
            tree.directories(),
            &done,
            work.progress,
        );
        crew.each(level, DIRECTORIES_AT_ONCE, make, &mut tell)
            .await?;
    }
    let scan = Rc::new(Scan::of(on_share));
    if goes_on {
        scan_with(&mut crew, &scan, tree, false, work.progress).await?;
        if let Some(path) = scan.foreign.take() {
            let at = endpoint.share();
            return Err(TreeError::Foreign { path, at }.into());
        }
    }
    let found = scan.files.get();
    done.set(found.into());
    let bytes = Rc::new(Cell::new(0_u64));
    let (counted, written) = (Rc::clone(&done), Rc::clone(&bytes));
    let on_share = on_share.clone();
    let make = async move |session: &mut ShareSession, files| {
        for file in files {
            if scan.complete.borrow().has(file as usize) {
                continue;
            }
            let stamp = Stamp {
                client: 0,
                file,
                generation: 0,
                run: 0,
            };
            let size = on_share.tree.size(file);
            make_file(session, &on_share.file(file), size, (stamp, salt)).await?;
            counted.set(counted.get() + 1);
            written.set(written.get() + size);
        }
        Ok(())
    };
    let mut tell = teller(TreeStage::Files, tree.files(), &done, work.progress);
    crew.each(0..tree.files(), FILES_AT_ONCE, make, &mut tell)
        .await?;
    crew.log_off().await;
    Ok((found, bytes.get()))
}

/// Returns a function that reports a stage.
fn teller<'a>(
    stage: TreeStage,
    total: u32,
    done: &'a Cell<u64>,
    progress: &'a mut dyn FnMut(TreeProgress),
) -> impl FnMut() + 'a {
    let total = total.into();
    move || {
        let done = done.get();
        progress(TreeProgress { stage, done, total });
    }
}

/// Lists all directories.
async fn scan_with(
    crew: &mut Crew,
    scan: &Rc<Scan>,
    tree: &Tree,
    stops_early: bool,
    progress: &mut dyn FnMut(TreeProgress),
) -> Result<(), SessionError> {
    let looking = Rc::clone(scan);
    let look = async move |session: &mut ShareSession, directories| {
        looking.look(session, directories, stops_early).await
    };
    let total = tree.directories();
    let mut tell = || {
        progress(TreeProgress {
            stage: TreeStage::Listing,
            done: scan.listed.get().into(),
            total: total.into(),
        });
    };
    crew.each(0..total, DIRECTORIES_AT_ONCE, look, &mut tell)
        .await
}

async fn check_room(
    endpoint: &Endpoint,
    session: &mut ShareSession,
    needed: u64,
) -> Result<(), SessionError> {
    let path = &endpoint.target.path;
    match too_little(session, path, (needed, 0)).await? {
        Some(free) => Err(TreeError::NoSpace {
            at: session.share(),
            needed: Size(needed).to_string(),
            free: Size(free).to_string(),
        }
        .into()),
        None => Ok(()),
    }
}

/// Returns the tree that is described on a share, and its path.
async fn described(
    endpoint: &Endpoint,
    session: &mut ShareSession,
) -> Result<(TreeOnShare, TreeShape), SessionError> {
    let directory = directory_of(endpoint);
    let Found::Tree(manifest) = look(session, &directory).await? else {
        let at = session.share();
        return Err(TreeError::NotPrepared { directory, at }.into());
    };
    let Ok(tree) = Tree::new(manifest.tree.clone()) else {
        let path = join(&directory, TREE_MANIFEST);
        let at = session.share();
        return Err(TreeError::Manifest { path, at }.into());
    };
    let on_share = TreeOnShare {
        tree: Arc::new(tree),
        root: join(&directory, TREE_ROOT),
    };
    Ok((on_share, manifest.tree))
}

/// Compares the prepared tree with its description.
pub(crate) async fn check_tree(
    endpoint: &Endpoint,
    work: TreeWork<'_>,
) -> Result<CheckedTree, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let (on_share, shape) = described(endpoint, &mut session).await?;
    session.log_off().await;
    let mut crew = Crew::open(endpoint, work.sessions, work.cancel).await?;
    let scan = Rc::new(Scan::of(&on_share));
    scan_with(&mut crew, &scan, &on_share.tree, true, work.progress).await?;
    crew.log_off().await;
    Ok(CheckedTree {
        directory: directory_of(endpoint),
        shape,
        directories: scan.directories.get(),
        files: scan.files.get(),
        difference: scan.difference.take().map(|(_, difference)| difference),
    })
}

/// Removes the prepared tree and its directory, and what a server moved to recycle bins.
pub(crate) async fn remove_tree(
    endpoint: &Endpoint,
    work: TreeWork<'_>,
) -> Result<RemovedFiles, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let directory = directory_of(endpoint);
    let mut seen = RemovedNames::default();
    let on_share = match look(&mut session, &directory).await? {
        Found::Nothing => {
            let removed = Removed::One(&directory);
            let bins = empty_bins(&mut session, endpoint, &seen, removed).await;
            session.log_off().await;
            let directory = None;
            return Ok(RemovedFiles { directory, bins });
        }
        Found::Empty => None,
        Found::Tree(_) => Some(described(endpoint, &mut session).await?.0),
    };
    let salt = Salt::default();
    let workspace = claim(endpoint, session, &directory, Missing::Refused, salt).await?;
    if let Some(on_share) = on_share
        && let Err(error) = delete_all(endpoint, &on_share, work).await
    {
        workspace.remove().await?;
        return Err(error);
    }
    let (mut session, marker) = (workspace.session, workspace.marker);
    let claimed = (directory.as_str(), Some(marker));
    let bins = remove_for_good(&mut session, endpoint, claimed, &mut seen).await?;
    session.log_off().await;
    let directory = Some(directory);
    Ok(RemovedFiles { directory, bins })
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
    let listed = session.list_some(&doing, &path, 0, |entry| {
        let path = join(&path, &entry.name);
        let at = at.clone();
        let is_ours = on_share.tree.find(directory, &entry.name, &mut buffer);
        first.get_or_insert_with(|| match is_ours {
            Some(_) => TreeError::Held { path, at },
            None => TreeError::Foreign { path, at },
        });
        false
    });
    match listed.await {
        Ok(_) => {}
        Err(error) => {
            return match error.status() {
                Some(
                    NtStatus::OBJECT_NAME_NOT_FOUND
                    | NtStatus::OBJECT_PATH_NOT_FOUND
                    | NtStatus::DELETE_PENDING,
                ) => Ok(None),
                _ => Err(error),
            };
        }
    }
    if first.is_none() {
        delete(session, &path, EntryKind::Directory).await?;
    }
    Ok(first)
}
