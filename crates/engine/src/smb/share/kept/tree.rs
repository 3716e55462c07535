//! A prepared tree of directories, which stays after runs. It is in a directory with a name of
//! its own, together with its description and the marker, as the files of `fileio` tests are.
//!
//! A file is written from its start to its end. Its size therefore shows whether it is complete,
//! and an interrupted preparation goes on: it lists the tree, and makes what is missing.
//!
//! Only entries that the description names are written and deleted.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use smbench_model::contents::block::{Salt, Stamp};
use smbench_model::tree::{
    CheckedTree, PreparedTree, TREE_MANIFEST_BYTES_MAX, Tree, TreeError, TreeManifest,
    TreeProgress, TreeShape, TreeStage,
};
use smbench_model::units::Size;
use smbench_protocol::NtStatus;
use smbench_protocol::credit::charge_for;

use super::crew::Crew;
use super::manifest::{read_start, write_text};
use super::scan::{Scan, TreeOnShare};
use super::{Missing, claim, new_salt};
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::files::join;
use crate::smb::share::names::{MARKER, TREE_DIRECTORY, TREE_MANIFEST, TREE_ROOT};
use crate::smb::share::prepare::PREPARE_WRITE_LEN;
use crate::smb::share::replay::{make_directory, make_file};
use crate::smb::share::survey::list_inside;
use crate::smb::share::{ShareSession, too_little};

/// Numbers that a session takes at once.
pub(super) const FILES_AT_ONCE: u32 = 64;
pub(super) const DIRECTORIES_AT_ONCE: u32 = 8;

/// How a tree is worked on: with this number of sessions, until cancelled.
pub(crate) struct TreeWork<'a> {
    pub(crate) sessions: u32,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a mut dyn FnMut(TreeProgress),
}

impl From<TreeError> for SessionError {
    fn from(error: TreeError) -> Self {
        Self::Tree(Box::new(error))
    }
}

pub(in crate::smb::share) fn directory_of(endpoint: &Endpoint) -> String {
    join(&endpoint.target.path, TREE_DIRECTORY)
}

/// What the directory of a prepared tree has.
pub(super) enum PreparedFound {
    /// There is no directory.
    Nothing,
    /// There is a directory without a tree.
    Empty,
    /// There is a tree.
    Tree(TreeManifest),
}

/// Returns what is in the directory of the prepared tree. Fails if it has something else.
pub(super) async fn look(
    session: &mut ShareSession,
    directory: &str,
) -> Result<PreparedFound, SessionError> {
    let entries = match list_inside(session, directory).await {
        Ok(entries) => entries,
        Err(error) if error.status().is_some_and(NtStatus::names_nothing) => {
            return Ok(PreparedFound::Nothing);
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
        return if has(TREE_ROOT) {
            Err(TreeError::Manifest { path, at }.into())
        } else {
            Ok(PreparedFound::Empty)
        };
    }
    let json = read_start(session, &path, TREE_MANIFEST_BYTES_MAX).await?;
    match TreeManifest::parse(&json) {
        Some(manifest) => Ok(PreparedFound::Tree(manifest)),
        // It is written before anything else, so it may be cut only if there is no tree yet.
        None if !has(TREE_ROOT) => Ok(PreparedFound::Empty),
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
        PreparedFound::Tree(manifest) if !manifest.fits(tree.shape()) => {
            let at = session.share();
            let error = TreeError::other(&directory, at, &manifest.tree, tree.shape());
            return Err(error.into());
        }
        PreparedFound::Tree(manifest) => Some(Salt(manifest.salt)),
        PreparedFound::Nothing | PreparedFound::Empty => None,
    };
    if known.is_none() {
        check_room(endpoint, &mut session, tree.bytes()).await?;
    }
    let salt = known.unwrap_or_else(new_salt);
    let mut workspace = claim(endpoint, session, &directory, Missing::Made, salt).await?;
    let mut manifest = TreeManifest::of(tree.shape().clone(), salt.0);
    write_text(&mut workspace, TREE_MANIFEST, &manifest.to_json()).await?;
    let on_share = TreeOnShare {
        tree: Arc::clone(tree),
        root: join(&directory, TREE_ROOT),
    };
    let made = make_tree(endpoint, &on_share, salt, known.is_some(), work).await;
    if made.is_err() {
        workspace.lose_patience();
    } else {
        manifest.complete = true;
        write_text(&mut workspace, TREE_MANIFEST, &manifest.to_json()).await?;
    }
    workspace.remove().await?;
    let TreeMade { found, bytes, took } = made?;
    Ok(PreparedTree {
        directory,
        found,
        written: tree.files() - found,
        bytes,
        took,
    })
}

/// What was done to make a tree.
pub(super) struct TreeMade {
    /// Number of files that were complete.
    found: u32,
    /// Bytes of the others.
    bytes: u64,
    /// Time in which these were written.
    took: Duration,
}

/// Makes the missing parts of a tree.
pub(super) async fn make_tree(
    endpoint: &Endpoint,
    on_share: &TreeOnShare,
    salt: Salt,
    goes_on: bool,
    work: TreeWork<'_>,
) -> Result<TreeMade, SessionError> {
    let endpoint = endpoint.with_credit_target(charge_for(PREPARE_WRITE_LEN) + 1);
    let tree = &on_share.tree;
    let mut crew = Crew::open(&endpoint, work.sessions, work.cancel).await?;
    make_directories(&mut crew, on_share, work.progress).await?;
    let done = Rc::new(Cell::new(0_u64));
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
            make_file(session, &on_share.file(file), size, stamp, salt).await?;
            counted.set(counted.get() + 1);
            written.set(written.get() + size);
        }
        Ok(())
    };
    let mut tell = teller(TreeStage::Files, tree.files(), &done, work.progress);
    let begin = clock::now();
    crew.each(0..tree.files(), FILES_AT_ONCE, make, &mut tell)
        .await?;
    let took = clock::now().since(begin).into();
    crew.log_off().await;
    Ok(TreeMade {
        found,
        bytes: bytes.get(),
        took,
    })
}

/// Makes the directories of a tree, level by level.
pub(super) async fn make_directories(
    crew: &mut Crew,
    on_share: &TreeOnShare,
    progress: &mut dyn FnMut(TreeProgress),
) -> Result<(), SessionError> {
    let tree = &on_share.tree;
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
        let stage = TreeStage::Directories;
        let mut tell = teller(stage, tree.directories(), &done, progress);
        crew.each(level, DIRECTORIES_AT_ONCE, make, &mut tell)
            .await?;
    }
    Ok(())
}

/// Returns a function that reports a stage.
pub(super) fn teller<'a>(
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
    match too_little(session, path, needed, 0).await? {
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
pub(super) async fn described(
    endpoint: &Endpoint,
    session: &mut ShareSession,
) -> Result<(TreeOnShare, TreeShape), SessionError> {
    let directory = directory_of(endpoint);
    let PreparedFound::Tree(manifest) = look(session, &directory).await? else {
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
