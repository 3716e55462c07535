//! The run's own directory on the share: creates, fills and removes it. Also finds
//! and removes directories that earlier runs left.
//!
//! Invariant: writes and deletions happen in two places only, and deletions also in
//! recycle bins (see `recycle`). One place is a directory
//! named `smbench-<16 hex digits>` that is empty or holds our marker file. The
//! other is `smbench-fileio`, whose files are prepared once and stay. A run keeps
//! its marker open without sharing. The server drops the open when the connection
//! dies, and thus distinguishes a living run from a dead one. A run that lost this
//! connection opens the marker again, see `hold`.
//!
//! Names are compared as the server compares them, see `files::list_respelled`.
//!
//! A run that has made its directory but not yet its marker looks dead to a
//! `cleanup`. If a `cleanup` removes the directory at that instant, the run fails
//! with a message.

mod copies;
mod files;
mod hold;
mod kept;
mod names;
mod parts;
mod prepare;
mod recycle;
mod remove;
mod replay;
mod session;
mod survey;

use smbench_model::contents::block::Salt;
use smbench_model::record::{RecycleBin, RunRecord, add_clause};
use smbench_model::tree::TreeUsed;
use smbench_model::units::Size;
use smbench_protocol::FileId;
use smbench_protocol::command::create::{CreateRequest, Disposition, access, options};

use crate::smb::calls::FileCalls;
use crate::smb::session::{Endpoint, SessionError};
use files::free_bytes_in;
pub(crate) use files::{free_bytes_at_root, join};
pub use kept::RemovedFiles;
pub(crate) use kept::{
    TreeWork, check_tree, look_for_tree, prepare_kept, prepare_tree, remove_kept, remove_tree,
};
pub(crate) use names::REPLAY_DIRECTORY;
use names::{DIRECTORY_PREFIX, MARKER};
use recycle::{RemovedNames, SpaceFinding, SpaceWatch};
pub use remove::Cleanup;
pub(crate) use remove::{cleanup, remove_remains};
use remove::{remove_afresh, remove_for_good};
pub(crate) use replay::populate;
pub(crate) use session::ShareSession;

/// The directory of one run, and the session that holds it.
pub(crate) struct Workspace {
    pub(crate) session: ShareSession,
    endpoint: Endpoint,
    pub(crate) directory: String,
    /// The directory of the files: this one, or the root of a tree.
    pub(crate) files_in: String,
    /// The tree of the run, if it needs one.
    tree: Option<RunTree>,
    marker: FileId,
    pub(crate) salt: Salt,
    fate: Fate,
    /// What the run made, for the search in recycle bins.
    seen: RemovedNames,
    space: Option<SpaceWatch>,
}

/// The tree of a run.
struct RunTree {
    used: TreeUsed,
    /// The marker of a prepared tree.
    marker: Option<FileId>,
}

/// Fate of a directory at the end of its run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The directory is deleted with everything in it.
    Removed,
    /// The directory stays, because its files are needed after the run.
    Kept,
}

impl Workspace {
    /// Creates a new directory below the target's path and claims it. If that
    /// fails, removes everything that was created. A directory that could not be
    /// removed is reported with the error.
    pub(crate) async fn create(
        endpoint: &Endpoint,
        mut session: ShareSession,
    ) -> Result<Self, (SessionError, Option<String>)> {
        let name = format!(
            "{DIRECTORY_PREFIX}{:016x}",
            crate::smb::session::random_u64()
        );
        let directory = join(&endpoint.target.path, &name);
        match claim_new(&mut session, &directory).await {
            Ok(marker) => Ok(Self {
                session,
                endpoint: endpoint.clone(),
                files_in: directory.clone(),
                tree: None,
                directory,
                marker,
                salt: Salt(crate::smb::session::random_u64()),
                fate: Fate::Removed,
                seen: RemovedNames::default(),
                space: None,
            }),
            Err(Unclaimed::NotMade(error)) => Err((error, None)),
            Err(Unclaimed::PerhapsMade(error)) => {
                let seen = &mut RemovedNames::default();
                let removed = match error.status() {
                    // The server answered, so the created entries are known and
                    // this session still works.
                    Some(_) => {
                        remove_for_good(&mut session, endpoint, &directory, None, seen).await
                    }
                    None => {
                        drop(session);
                        remove_afresh(&endpoint.after(&error), &directory, seen).await
                    }
                };
                Err((
                    error,
                    removed.err().map(|error| leftover(&directory, &error)),
                ))
            }
        }
    }

    /// Shortens the limits from now on, because the server may be gone or the user
    /// is waiting.
    pub(crate) fn lose_patience(&mut self) {
        self.endpoint = self.endpoint.impatient();
        self.space = None;
        self.session.lose_patience();
    }

    /// Lets the directory stay with everything in it.
    pub(crate) const fn keep(&mut self) {
        self.fate = Fate::Kept;
    }

    /// Deletes everything in the directory, then the directory, and what the server
    /// moved to recycle bins. A directory that stays only loses its claim.
    pub(crate) async fn remove(self) -> Result<KeptByServer, SessionError> {
        let Self {
            mut session,
            endpoint,
            directory,
            marker,
            fate,
            mut seen,
            space,
            tree,
            ..
        } = self;
        if let Some(marker) = tree.and_then(|tree| tree.marker) {
            // If the connection is gone, the server closes the marker.
            let _ = session.close_file("close the tree's marker", marker).await;
        }
        if fate == Fate::Kept {
            let closed = session.close_file("close the run's marker", marker).await;
            session.log_off().await;
            // If the connection is gone, the server closes the marker.
            return closed
                .map(|()| KeptByServer::default())
                .or(Ok(KeptByServer::default()));
        }
        let was_watched = space.is_some();
        let space = SpaceWatch::before_removal(space, &mut session).await;
        match remove_for_good(&mut session, &endpoint, &directory, Some(marker), &mut seen).await {
            Ok(bins) => {
                let space = SpaceWatch::after_removal(space, &mut session, &endpoint.cancel).await;
                session.log_off().await;
                Ok(KeptByServer { bins, space })
            }
            // The session that held the directory may have died, or be out of step;
            // a new one may still reach the server. The old one must go first: it
            // has the marker open.
            Err(error) => {
                drop(session);
                let endpoint = endpoint.after(&error);
                let bins = remove_afresh(&endpoint, &directory, &mut seen).await?;
                let space = if was_watched {
                    SpaceFinding::Unknown(error.to_string())
                } else {
                    SpaceFinding::Back
                };
                Ok(KeptByServer { bins, space })
            }
        }
    }

    /// Looks at the free space before files of this many bytes are written.
    pub(crate) async fn watch_space(&mut self, bytes: u64) {
        match &mut self.space {
            Some(space) => space.add(bytes),
            None => {
                // The run's directory will be gone at the end.
                let folder = &self.endpoint.target.path;
                self.space = SpaceWatch::begin(&mut self.session, folder, bytes).await;
            }
        }
    }
}

/// Deleted files that the server kept.
#[derive(Default)]
pub(crate) struct KeptByServer {
    /// Recycle bins that hold or held files of the run.
    pub(crate) bins: Vec<RecycleBin>,
    /// Whether the space of the files came back.
    space: SpaceFinding,
}

impl KeptByServer {
    /// Describes the files that are left; `None` if there are none.
    pub(crate) fn leftover(&self) -> Option<String> {
        let mut all = None;
        for bin in &self.bins {
            add_clause(&mut all, bin.leftover());
        }
        all
    }

    /// Records what the server kept.
    pub(crate) fn note_in(self, record: &mut RunRecord) {
        add_clause(&mut record.leftover, self.leftover());
        record.recycle_bins.extend(self.bins);
        match self.space {
            SpaceFinding::Back => {}
            SpaceFinding::Kept(measured) => add_clause(&mut record.space_kept, Some(measured)),
            SpaceFinding::Unknown(reason) => add_clause(&mut record.space_unchecked, Some(reason)),
        }
    }
}

/// Fails if `needed` more bytes cannot fit in `directory`, by the server's own
/// figures. `directory` is a path from the share's root, and the root is the empty
/// path. Writes nothing.
pub(crate) async fn check_space(
    session: &mut ShareSession,
    directory: &str,
    needed: u64,
) -> Result<(), SessionError> {
    match too_little(session, directory, needed, 0).await? {
        Some(free) => Err(SessionError::NoSpace {
            at: session.share(),
            needed: Size(needed).to_string(),
            free: Size(free).to_string(),
        }),
        None => Ok(()),
    }
}

/// Returns the bytes free in `directory` if `needed` bytes do not fit there after
/// `given_back` bytes are freed.
async fn too_little(
    session: &mut ShareSession,
    directory: &str,
    needed: u64,
    given_back: u64,
) -> Result<Option<u64>, SessionError> {
    if needed == 0 {
        return Ok(None);
    }
    let free = match free_bytes_in(session, directory).await {
        Ok(free) => free,
        // A directory that refuses the query may still be writable; otherwise the
        // write fails later.
        Err(error) if error.status().is_some() => None,
        Err(error) => return Err(error),
    };
    // If the server does not report free space, a full disk makes the write fail.
    Ok(free.filter(|free| needed > free.saturating_add(given_back)))
}

/// Returns the message for a directory that could not be removed.
pub(crate) fn leftover(directory: &str, error: &SessionError) -> String {
    format!("directory '{directory}' remains: {error}")
}

/// Why a directory was not claimed.
enum Unclaimed {
    /// There is no such directory.
    NotMade(SessionError),
    /// There may be one.
    PerhapsMade(SessionError),
}

impl From<SessionError> for Unclaimed {
    fn from(error: SessionError) -> Self {
        Self::PerhapsMade(error)
    }
}

/// Makes a directory and in it the marker, which stays open, shared with
/// nobody.
async fn claim_new(session: &mut ShareSession, directory: &str) -> Result<FileId, Unclaimed> {
    let doing = format!("create directory '{directory}'");
    let request = CreateRequest {
        disposition: Disposition::Create,
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(
            directory,
            access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE,
        )
    };
    let made = session.open_file(&doing, &request).await.map_err(|error| {
        if error.is_undone() {
            Unclaimed::NotMade(error)
        } else {
            Unclaimed::PerhapsMade(error)
        }
    })?;
    session.close_file(&doing, made).await?;
    let marker = join(directory, MARKER);
    let doing = format!("create file '{marker}'");
    Ok(hold_marker(session, &doing, &marker, Disposition::Create).await?)
}

/// Opens the marker of a directory without sharing it.
async fn hold_marker(
    session: &mut ShareSession,
    doing: &str,
    marker: &str,
    disposition: Disposition,
) -> Result<FileId, SessionError> {
    let request = CreateRequest {
        disposition,
        options: options::FILE_NON_DIRECTORY_FILE,
        share_access: 0,
        ..CreateRequest::open(
            marker,
            access::FILE_READ_DATA | access::FILE_WRITE_DATA | access::DELETE,
        )
    };
    session.open_file(doing, &request).await
}
