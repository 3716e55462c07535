//! Prepared files of `fileio` tests: made once, used by several runs.

use std::sync::Arc;

use smbench_model::fileio::{Fileio, Prepared};
use smbench_model::limits::Limits;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;
use smbench_model::tree::{CheckedTree, PreparedTree, Tree, TreeProgress};

use crate::machine::cancel::Cancel;
use crate::machine::runtime::blocking;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share;
pub use crate::smb::share::RemovedFiles;
use crate::smb::share::TreeWork;

/// Credits to ask for while files are prepared.
const CREDITS: u16 = 32;

/// Makes the files of a test on a share, and blocks the thread. It continues where
/// an earlier call has stopped. The files stay until [`remove`] is called.
/// `progress` is called with the bytes written so far and the bytes that were
/// missing.
///
/// # Errors
/// When the server cannot be reached or refuses. When the files do not fit, or
/// other files were prepared before; then nothing has been written.
pub fn prepare(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    test: &Fileio,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Prepared, SessionError> {
    blocking(SessionError::System, async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS).await?;
        share::prepare_kept(&endpoint, test, cancel, progress).await
    })
}

/// A server, and how the tree of its share is worked on.
pub struct TreeServer<'a> {
    /// The share.
    pub target: &'a Target,
    /// How sessions are set up.
    pub options: SessionOptions,
    /// How long the server may take.
    pub limits: Limits,
    /// Number of sessions that work at the same time.
    pub sessions: u32,
    /// Ends the work early.
    pub cancel: &'a Cancel,
    /// Is called with the progress of each stage.
    pub progress: &'a mut dyn FnMut(TreeProgress),
}

impl TreeServer<'_> {
    /// Makes a tree, and blocks the thread. It continues where an earlier call has stopped. The
    /// tree stays until [`Self::remove`] is called.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses. When the tree does not fit, or another one
    /// was prepared before; then nothing has been written.
    pub fn prepare(self, tree: &Arc<Tree>) -> Result<PreparedTree, SessionError> {
        self.work(async |endpoint, work| share::prepare_tree(endpoint, tree, work).await)
    }

    /// Compares the prepared tree with its description, and blocks the thread.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or no tree is prepared.
    pub fn check(self) -> Result<CheckedTree, SessionError> {
        self.work(async |endpoint, work| share::check_tree(endpoint, work).await)
    }

    /// Removes the prepared tree, and blocks the thread.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the tree is in use or holds entries of
    /// others.
    pub fn remove(self) -> Result<RemovedFiles, SessionError> {
        self.work(async |endpoint, work| share::remove_tree(endpoint, work).await)
    }

    fn work<T>(
        self,
        job: impl AsyncFnOnce(&Endpoint, TreeWork<'_>) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        blocking(SessionError::System, async {
            let (target, options, limits) = (self.target, self.options, self.limits);
            let endpoint = Endpoint::resolve(target, options, limits, CREDITS).await?;
            let work = TreeWork {
                sessions: self.sessions,
                cancel: self.cancel,
                progress: self.progress,
            };
            job(&endpoint, work).await
        })
    }
}

/// Removes the files that [`prepare`] has made, and blocks the thread.
///
/// # Errors
/// When the server cannot be reached or refuses, or the files are in use.
pub fn remove(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
) -> Result<RemovedFiles, SessionError> {
    blocking(SessionError::System, async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS).await?;
        share::remove_kept(&endpoint).await
    })
}
