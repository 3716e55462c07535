//! Prepared files of `fileio` tests, which stay after a test. They are in a
//! directory with a name of its own, together with a manifest that describes them.
//!
//! A file is written from its start to its end, one request after the other. Its
//! size on the share therefore shows the progress, and an interrupted preparation
//! continues from there. This does not hold while a test writes its own files, by
//! requests of many clients at a time. During that time the manifest says so. If it
//! still says so later, the files are written again from the start. The directory
//! is claimed in the same way as that of a run, so that no two runs work in it.

mod crew;
mod found;
mod manifest;
mod removal;
mod removed;
mod scan;
mod tree;

use std::collections::{BTreeMap, VecDeque};

use smbench_model::contents::block::{BLOCK_BYTES, Salt};
use smbench_model::fileio::{Contents, Fileio, FileioError, Prepared, TestMode};
use smbench_model::files::{FileSet, Layout, Scope, WorkFile};
use smbench_model::units::Size;
use smbench_protocol::NtStatus;
use smbench_protocol::command::create::Disposition;

use super::files::join;
use super::names::{FILEIO_DIRECTORY, MANIFEST, MARKER, own_name};
use super::prepare::{FileTreatment, Job};
use super::recycle::{Removed, RemovedNames, empty_bins};
use super::remove::remove_for_good;
use super::replay::make_directory;
use super::survey::list_inside;
use super::{Fate, Workspace, hold_marker, too_little};
use crate::machine::cancel::Cancel;
use crate::smb::session::{Endpoint, SessionError, random_u64};
use crate::smb::share::ShareSession;
pub(crate) use found::look_for_tree;
pub(super) use manifest::hold_tree;
use manifest::{manifest, write_manifest};
pub(crate) use removal::remove_tree;
pub use removed::RemovedFiles;
pub(super) use tree::directory_of as tree_directory;
pub(crate) use tree::{TreeWork, check_tree, prepare_tree};

/// Whether a missing directory is created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Refused,
}

/// Returns a salt for files that are not written yet.
fn new_salt() -> Salt {
    Salt(random_u64())
}

/// Sizes in bytes of the files in the directory, by name.
type FileSizes = BTreeMap<String, u64>;

/// Returns the files of a test.
fn files(test: &Fileio) -> FileSet {
    FileSet {
        scope: Scope::Shared,
        count: test.files,
        size: test.file_bytes(),
        layout: Layout::Flat,
    }
}

fn directory_of(endpoint: &Endpoint) -> String {
    join(&endpoint.target.path, FILEIO_DIRECTORY)
}

/// Creates the files of a test, or the missing parts of them. Calls `progress` with
/// the bytes written so far and in total. Writes nothing if the files cannot fit.
pub(crate) async fn prepare_kept(
    endpoint: &Endpoint,
    test: &Fileio,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Prepared, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let directory = directory_of(endpoint);
    let files = files(test);
    let found = sizes(&mut session, &directory).await?.unwrap_or_default();
    let mut missing = missing(&files, &found, &directory, endpoint)?;
    // Refuses files of another test before writing to them.
    let manifest = if found.keys().any(|name| name != MARKER) {
        Some(manifest(&mut session, &directory, &found, test).await?)
    } else {
        None
    };
    let contents = manifest.as_ref().map_or(Contents::Whole, |it| it.contents);
    let salt = manifest.map_or_else(new_salt, |manifest| manifest.salt());
    let mut given_back = 0;
    if contents == Contents::MayHaveHoles {
        missing = from_the_beginning(&files);
        given_back = found.values().sum();
    }
    let total: u64 = missing.iter().map(|job| files.size - job.from).sum();
    check_room(endpoint, &mut session, total, given_back).await?;
    let mut workspace = claim(endpoint, session, &directory, Missing::Made, salt).await?;
    if contents == Contents::MayHaveHoles {
        // Sizes show the progress again only when the files are empty.
        workspace.empty(files.clone(), cancel).await?;
    }
    write_manifest(&mut workspace, test, Contents::Whole).await?;
    let prepared = Prepared {
        directory,
        found: files.count - missing.len() as u32,
        written: missing.len() as u32,
        bytes: total,
    };
    progress(0, total);
    let filled = workspace
        .fill(
            files,
            missing.into_iter(),
            FileTreatment::GoOn,
            cancel,
            &mut |done| {
                progress(done, total);
            },
        )
        .await;
    if filled.is_err() {
        workspace.lose_patience();
    }
    workspace.remove().await?;
    filled?;
    if cancel.is_cancelled() {
        Err(SessionError::Interrupted)
    } else {
        Ok(prepared)
    }
}

/// Removes the files and their directory, and what a server moved to recycle bins.
pub(crate) async fn remove_kept(endpoint: &Endpoint) -> Result<RemovedFiles, SessionError> {
    let mut session = ShareSession::open(endpoint).await?;
    let directory = directory_of(endpoint);
    let mut seen = RemovedNames::default();
    let Some(found) = sizes(&mut session, &directory).await? else {
        let removed = Removed::One(&directory);
        let bins = empty_bins(&mut session, endpoint, &seen, removed).await;
        session.log_off().await;
        let directory = None;
        return Ok(RemovedFiles { directory, bins });
    };
    refuse_foreign(&found, &directory, endpoint)?;
    let salt = Salt::default();
    let workspace = claim(endpoint, session, &directory, Missing::Refused, salt).await?;
    let Workspace {
        mut session,
        marker,
        ..
    } = workspace;
    let bins = remove_for_good(&mut session, endpoint, &directory, Some(marker), &mut seen).await?;
    session.log_off().await;
    let directory = Some(directory);
    Ok(RemovedFiles { directory, bins })
}

impl Workspace {
    /// Claims the directory of prepared files. A test that writes its own files
    /// also creates the directory.
    pub(crate) async fn of_prepared(
        endpoint: &Endpoint,
        mut session: ShareSession,
        test: &Fileio,
    ) -> Result<Self, SessionError> {
        let directory = directory_of(endpoint);
        let missing = match test.mode {
            TestMode::SeqWr => Missing::Made,
            _ => Missing::Refused,
        };
        let found = sizes(&mut session, &directory).await?;
        if let (Some(found), Missing::Made) = (&found, missing) {
            refuse_foreign(found, &directory, endpoint)?;
        }
        let (salt, contents) = match &found {
            Some(found) if missing == Missing::Refused || found.contains_key(MANIFEST) => {
                let manifest = manifest(&mut session, &directory, found, test).await?;
                (manifest.salt(), manifest.contents)
            }
            None if missing == Missing::Refused => {
                let at = endpoint.share();
                return Err(FileioError::NotPrepared { directory, at }.into());
            }
            _ => (new_salt(), Contents::Whole),
        };
        if missing == Missing::Made {
            let given_back = found.iter().flat_map(|found| found.values()).sum();
            let needed = files(test).bytes(1);
            check_room(endpoint, &mut session, needed, given_back).await?;
        }
        let workspace = claim(endpoint, session, &directory, missing, salt).await?;
        match (missing, contents) {
            // No client writes these files any more, so the holes would stay.
            (Missing::Refused, Contents::MayHaveHoles) => {
                workspace.remove().await?;
                let at = endpoint.share();
                Err(FileioError::Holes { directory, at }.into())
            }
            _ => Ok(workspace),
        }
    }

    /// Checks that the files are those of `test`; the error names the first wrong
    /// file. If the test writes its own files, they are emptied instead, and may
    /// have holes until [`Workspace::settle`].
    pub(crate) async fn check_prepared(
        &mut self,
        test: &Fileio,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        let files = files(test);
        if test.mode == TestMode::SeqWr {
            write_manifest(self, test, Contents::MayHaveHoles).await?;
            return self.empty(files, cancel).await;
        }
        let directory = self.directory.clone();
        let found = sizes(&mut self.session, &directory).await?;
        let found = found.unwrap_or_default();
        let missing = missing(&files, &found, &directory, &self.endpoint)?;
        match missing.front() {
            None => Ok(()),
            Some(first) => {
                let name = files.file_name(0, first.file.file);
                let bytes = found.get(&name);
                Err(FileioError::WrongSize {
                    path: join(&directory, &name),
                    at: self.endpoint.share(),
                    found: bytes.map_or_else(|| "no entry".to_owned(), exact),
                    bytes: exact(&files.size),
                }
                .into())
            }
        }
    }

    /// Records in the manifest that the files written by `test` have no holes.
    pub(crate) async fn settle(&mut self, test: &Fileio) -> Result<(), SessionError> {
        write_manifest(self, test, Contents::Whole).await
    }

    async fn empty(&self, files: FileSet, cancel: &Cancel) -> Result<(), SessionError> {
        let jobs = from_the_beginning(&files);
        let empty = FileSet { size: 0, ..files };
        self.fill(
            empty,
            jobs.into_iter(),
            FileTreatment::Anew,
            cancel,
            &mut |_| {},
        )
        .await
    }
}

/// Fails if `needed` bytes do not fit after `given_back` bytes are freed.
async fn check_room(
    endpoint: &Endpoint,
    session: &mut ShareSession,
    needed: u64,
    given_back: u64,
) -> Result<(), SessionError> {
    let path = &endpoint.target.path;
    match too_little(session, path, needed, given_back).await? {
        Some(free) => Err(FileioError::NoSpace {
            at: session.share(),
            needed: Size(needed).to_string(),
            free: Size(free).to_string(),
        }
        .into()),
        None => Ok(()),
    }
}

fn exact(bytes: &u64) -> String {
    format!("{:#}", Size(*bytes))
}

fn all(files: &FileSet) -> impl Iterator<Item = WorkFile> + use<> {
    files.iter(1)
}

fn from_the_beginning(files: &FileSet) -> VecDeque<Job> {
    all(files).map(|file| Job { file, from: 0 }).collect()
}

/// Returns the sizes of the files in a directory; `None` if it does not exist.
async fn sizes(
    session: &mut ShareSession,
    directory: &str,
) -> Result<Option<FileSizes>, SessionError> {
    match list_inside(session, directory).await {
        Ok(entries) => Ok(Some(
            entries
                .into_iter()
                .map(|entry| (entry.name, entry.end_of_file))
                .collect(),
        )),
        Err(error) if error.status().is_some_and(NtStatus::names_nothing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the incomplete files, each with the offset to continue from. The offset
/// is at the start of a block, because the last block may be incomplete.
fn missing(
    files: &FileSet,
    found: &FileSizes,
    directory: &str,
    endpoint: &Endpoint,
) -> Result<VecDeque<Job>, SessionError> {
    refuse_foreign(found, directory, endpoint)?;
    let mut jobs = VecDeque::new();
    for file in all(files) {
        let name = files.file_name(file.client, file.file);
        let bytes = found.get(&name).copied();
        match bytes {
            Some(bytes) if bytes == files.size => {}
            Some(bytes) if bytes > files.size => {
                return Err(FileioError::TooLong {
                    path: join(directory, &name),
                    at: endpoint.share(),
                    found: exact(&bytes),
                    bytes: exact(&files.size),
                }
                .into());
            }
            bytes => {
                let whole = bytes.unwrap_or(0) / BLOCK_BYTES as u64;
                let from = whole * BLOCK_BYTES as u64;
                jobs.push_back(Job { file, from });
            }
        }
    }
    Ok(jobs)
}

/// Fails if the directory has an entry that no test has made.
fn refuse_foreign(
    found: &FileSizes,
    directory: &str,
    endpoint: &Endpoint,
) -> Result<(), FileioError> {
    let foreign = found
        .keys()
        .find(|name| name.as_str() != MARKER && !own_name(name));
    match foreign {
        None => Ok(()),
        Some(name) => Err(FileioError::Foreign {
            directory: directory.to_owned(),
            at: endpoint.share(),
            name: name.clone(),
        }),
    }
}

/// Claims a directory of prepared files.
async fn claim(
    endpoint: &Endpoint,
    mut session: ShareSession,
    directory: &str,
    missing: Missing,
    salt: Salt,
) -> Result<Workspace, SessionError> {
    let directory = directory.to_owned();
    if missing == Missing::Made {
        make_directory(&mut session, &directory).await?;
    }
    let doing = format!("claim directory '{directory}'");
    let marker = join(&directory, MARKER);
    match hold_marker(&mut session, &doing, &marker, Disposition::OpenIf).await {
        Ok(marker) => Ok(Workspace {
            session,
            endpoint: endpoint.clone(),
            files_in: directory.clone(),
            tree: None,
            directory,
            marker,
            salt,
            fate: Fate::Kept,
            seen: RemovedNames::default(),
            space: None,
        }),
        Err(error) if error.status() == Some(NtStatus::SHARING_VIOLATION) => {
            let at = endpoint.share();
            Err(FileioError::InUse { directory, at }.into())
        }
        Err(error) => Err(error),
    }
}
