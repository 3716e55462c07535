//! The tree of a run: one that was prepared before, or one of its own.

use std::ops::Range;
use std::sync::Arc;

use smbench_model::fileio::FileioError;
use smbench_model::files::{COPIED_TREES, FileSet};
use smbench_model::tree::{Tree, TreeError, TreeProgress, TreeUsed};
use smbench_protocol::NtStatus;

use super::crew::Crew;
use super::manifest::hold_tree;
use super::scan::TreeOnShare;
use super::tree::{PreparedFound, TreeWork, directory_of, look, make_directories, make_tree};
use crate::machine::cancel::Cancel;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::files::join;
use crate::smb::share::names::TREE_ROOT;
use crate::smb::share::replay::make_directory;
use crate::smb::share::{RunTree, ShareSession, Workspace};

/// The largest number of files of a tree that a run makes for itself.
const OWN_FILES_MAX: u32 = 100_000;
/// Number of sessions that make it.
const OWN_SESSIONS: u32 = 8;
/// Fewest directories for which another session is worth its log-on.
const DIRECTORIES_PER_SESSION: u32 = 100;

/// Returns whether a run with this tree works on a prepared one. Fails if its preparation did not
/// end, or if the tree is too large to be made for one run.
pub(crate) async fn look_for_tree(
    endpoint: &Endpoint,
    session: &mut ShareSession,
    tree: &Tree,
) -> Result<TreeUsed, SessionError> {
    let directory = directory_of(endpoint);
    let at = session.share();
    let is_own = tree.files() <= OWN_FILES_MAX;
    match look(session, &directory).await? {
        PreparedFound::Tree(manifest) if manifest.fits(tree.shape()) => {
            if manifest.complete {
                Ok(TreeUsed::Prepared)
            } else {
                Err(TreeError::Incomplete { directory, at }.into())
            }
        }
        PreparedFound::Tree(manifest) if is_own => {
            let difference = manifest.difference(tree.shape());
            let unused =
                format!("the run does not use the tree prepared in '{directory}': {difference}");
            Ok(TreeUsed::Own {
                unused: Some(unused),
            })
        }
        PreparedFound::Tree(manifest) => {
            Err(TreeError::other(&directory, at, &manifest.tree, tree.shape()).into())
        }
        PreparedFound::Nothing | PreparedFound::Empty if is_own => {
            Ok(TreeUsed::Own { unused: None })
        }
        PreparedFound::Nothing | PreparedFound::Empty => {
            let (files, most) = (tree.files(), OWN_FILES_MAX);
            let error = TreeError::TooLarge {
                directory,
                at,
                files,
                most,
            };
            Err(error.into())
        }
    }
}

impl Workspace {
    /// Finds the prepared tree that a run works on, and holds its marker until the run has
    /// ended: other runs may use the tree, but none may change it. Without one, the run makes
    /// a tree in its own directory.
    pub(crate) async fn find_tree(&mut self, tree: &Tree) -> Result<(), SessionError> {
        let used = look_for_tree(&self.endpoint, &mut self.session, tree).await?;
        if used != TreeUsed::Prepared {
            self.files_in = join(&self.directory, TREE_ROOT);
            self.tree = Some(RunTree { used, marker: None });
            return Ok(());
        }
        let directory = directory_of(&self.endpoint);
        match hold_tree(&mut self.session, &directory).await {
            Ok(marker) => {
                let marker = Some(marker);
                self.tree = Some(RunTree { used, marker });
                self.files_in = join(&directory, TREE_ROOT);
                Ok(())
            }
            Err(error) if error.status() == Some(NtStatus::SHARING_VIOLATION) => {
                let at = self.session.share();
                Err(FileioError::InUse { directory, at }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the run works on a tree that was prepared before.
    pub(crate) fn has_prepared_tree(&self) -> bool {
        self.used_tree() == Some(&TreeUsed::Prepared)
    }

    /// Returns the tree of the run; `None` if it needs none.
    pub(crate) fn used_tree(&self) -> Option<&TreeUsed> {
        self.tree.as_ref().map(|tree| &tree.used)
    }

    /// Makes the directories into which these clients copy a tree.
    pub(crate) async fn make_copied_trees(
        &self,
        tree: &Arc<Tree>,
        clients: Range<u32>,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        let all = tree.directories().saturating_mul(clients.len() as u32);
        let sessions = all.div_ceil(DIRECTORIES_PER_SESSION).min(OWN_SESSIONS);
        let mut crew = Crew::open(&self.endpoint, sessions, cancel).await?;
        let parent = join(&self.directory, COPIED_TREES);
        crew.each(
            0..sessions.min(1),
            1,
            async move |session: &mut ShareSession, _| make_directory(session, &parent).await,
            &mut || {},
        )
        .await?;
        for client in clients {
            let mut root = format!(r"{}\", self.directory);
            FileSet::append_copied_tree(client, &mut root)
                .unwrap_or_else(|_| unreachable!("a string takes any text"));
            let on_share = TreeOnShare {
                tree: Arc::clone(tree),
                root,
            };
            make_directories(&mut crew, &on_share, &mut |_| {}).await?;
        }
        crew.log_off().await;
        Ok(())
    }

    /// Makes the tree of this run alone.
    pub(crate) async fn make_own_tree(
        &self,
        tree: &Arc<Tree>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(TreeProgress),
    ) -> Result<(), SessionError> {
        let on_share = TreeOnShare {
            tree: Arc::clone(tree),
            root: self.files_in.clone(),
        };
        let work = TreeWork {
            sessions: OWN_SESSIONS,
            cancel,
            progress,
        };
        make_tree(&self.endpoint, &on_share, self.salt, false, work).await?;
        Ok(())
    }
}
