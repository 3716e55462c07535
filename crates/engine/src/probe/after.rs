//! Reads the files of a run after a crash, and judges each block by the run's notes.
//!
//! Only reads. The notes are read up to three times: for the promises, for the writes that
//! blocks hold, and for the writes that lost blocks should hold. So memory grows with the
//! blocks of the files, and not with the number of writes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use smbench_model::contents::after::{
    AfterCrash, BlockContent, BlockPromise, Examined, NotedFile, Promises,
};
use smbench_model::contents::block::{BLOCK_BYTES, Salt};
use smbench_model::contents::notes::{
    NoteOutcome, NotePage, NotesEnd, NotesError, NotesHead, NotesReader,
};
use smbench_model::limits::Limits;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;
use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::{FileId, NtStatus};

use super::CREDITS_ASKED;
use crate::machine::runtime::blocking;
use crate::smb::calls::FileCalls;
use crate::smb::session::{Endpoint, SessionError};
use crate::smb::share::{ShareSession, join};

/// The most blocks that are listed with their places.
const PLACES_MAX: usize = 1000;
/// The most bytes that one READ asks for.
const READ_BYTES_MAX: u32 = 1 << 20;

/// Reason why a share cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum AfterError {
    /// The state file cannot be used.
    #[error("{path}: {error}")]
    State {
        /// The state file.
        path: String,
        /// Why not.
        #[source]
        error: NotesError,
    },
    /// The notes are of another share.
    #[error("{path} is of {noted}, and not of share {given}: give the URL of that run")]
    OtherShare {
        /// The state file.
        path: String,
        /// The target of its run.
        noted: String,
        /// The share that was given, with the directory.
        given: String,
    },
    /// The notes have no write.
    #[error("{path} has no answered write: there is nothing to check")]
    Nothing {
        /// The state file.
        path: String,
    },
    /// The server cannot be reached, or refuses.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Compares the files of a run on a share with its notes in the file `state`, and blocks the
/// thread. `progress` gets the bytes read so far and those to read.
///
/// # Errors
/// If the notes cannot be used, or a file cannot be read. A missing file or directory is no
/// error: its blocks are lost.
pub fn verify_after(
    target: &Target,
    options: SessionOptions,
    limits: Limits,
    state: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<AfterCrash, AfterError> {
    let notes = Notes::open(state)?;
    notes.check(target)?;
    let mut promises = Promises::of(&notes.head.populations);
    let (mut count, mut flushes) = (0, 0);
    let (end, notes_lost) = notes.read(|page| {
        count += page.notes.len() as u64;
        let flushed = page.notes.iter();
        flushes += flushed
            .filter(|note| note.outcome == NoteOutcome::Flushed)
            .count() as u64;
        promises.add(page)
    })?;
    let path = || state.display().to_string();
    if promises.files().next().is_none() {
        return Err(AfterError::Nothing { path: path() });
    }
    let (mut examined, mut missing) = (Examined::of(&promises), Vec::new());
    let refused = |error| AfterError::from(SessionError::System(error));
    blocking(refused, async {
        let endpoint = Endpoint::resolve(target, options, limits, CREDITS_ASKED).await?;
        let mut session = ShareSession::open(&endpoint).await?;
        for population in &notes.head.populations {
            let directory = &population.directory;
            if !exists(&mut session, directory).await? {
                missing.push(directory.clone());
            }
        }
        examine(&mut session, &promises, &mut examined, progress).await?;
        session.log_off().await;
        Ok(())
    })?;
    if examined.is_unsure() {
        notes.read(|page| {
            examined.look(page);
            Ok(())
        })?;
    }
    let mut fates = examined.judge(PLACES_MAX);
    if !fates.first.is_empty() {
        notes.read(|page| {
            fates.look(page, &promises);
            Ok(())
        })?;
    }
    let paths = fates.first.iter();
    let paths = paths.map(|block| path_of(&promises, block.file)).collect();
    Ok(AfterCrash {
        head: notes.head,
        end,
        notes_lost,
        notes: count,
        flushes,
        fates,
        paths,
        missing,
    })
}

/// A file with notes.
struct Notes<'a> {
    path: &'a Path,
    head: NotesHead,
}

impl<'a> Notes<'a> {
    fn open(path: &'a Path) -> Result<Self, AfterError> {
        let reader = reader(path).map_err(of_state(path))?;
        let head = reader.head().clone();
        Ok(Self { path, head })
    }

    /// Fails if the notes are of another share. Servers have many names, so the host may be
    /// another one.
    fn check(&self, target: &Target) -> Result<(), AfterError> {
        let is_same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        if is_same(&self.head.share, &target.share) && is_same(&self.head.path, &target.path) {
            return Ok(());
        }
        Err(AfterError::OtherShare {
            path: self.path.display().to_string(),
            noted: self.head.url.clone(),
            given: format!("{}/{}", target.share, target.path.replace('\\', "/")),
        })
    }

    /// Reads all pages. Returns how they end, and the number of notes that are missing.
    fn read(
        &self,
        mut take: impl FnMut(&NotePage) -> Result<(), NotesError>,
    ) -> Result<(NotesEnd, u64), AfterError> {
        let mut read = || {
            let mut reader = reader(self.path)?;
            while let Some(page) = reader.next_page()? {
                take(&page)?;
            }
            Ok((reader.end().unwrap_or(NotesEnd::Cut), reader.lost()))
        };
        read().map_err(of_state(self.path))
    }
}

fn reader(path: &Path) -> Result<NotesReader<BufReader<File>>, NotesError> {
    NotesReader::open(BufReader::with_capacity(1 << 20, File::open(path)?))
}

fn of_state(path: &Path) -> impl FnOnce(NotesError) -> AfterError {
    let path = path.display().to_string();
    |error| AfterError::State { path, error }
}

fn path_of(promises: &Promises, file: NotedFile) -> String {
    let population = promises.population(file);
    let name = population.file_set().file_name(file.client, file.file);
    join(&population.directory, &name)
}

/// Returns whether a directory is on the share.
async fn exists(session: &mut ShareSession, directory: &str) -> Result<bool, SessionError> {
    let doing = format!("open directory '{directory}'");
    let request = CreateRequest {
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(directory, access::FILE_READ_ATTRIBUTES)
    };
    match session.open_file(&doing, &request).await {
        Ok(opened) => {
            session.close_file(&doing, opened).await?;
            Ok(true)
        }
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &SessionError) -> bool {
    matches!(
        error.status(),
        Some(NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND)
    )
}

/// Reads all known blocks.
async fn examine(
    session: &mut ShareSession,
    promises: &Promises,
    examined: &mut Examined<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), SessionError> {
    let all = promises.files().map(|(_, blocks)| blocks.len() as u64);
    let total = all.sum::<u64>() * BLOCK_BYTES as u64;
    let mut done = 0;
    for (file, blocks) in promises.files() {
        let path = path_of(promises, file);
        let doing = format!("read file '{path}'");
        let request = CreateRequest {
            options: options::FILE_NON_DIRECTORY_FILE,
            ..CreateRequest::open(path.as_str(), access::FILE_READ_DATA)
        };
        let opened = match session.open_file(&doing, &request).await {
            Ok(opened) => Some(opened),
            Err(error) if is_missing(&error) => None,
            Err(error) => return Err(error),
        };
        let limit = session.read_limit().min(READ_BYTES_MAX) as usize / BLOCK_BYTES;
        let mut first = 0;
        for part in blocks.chunks(limit.max(1)) {
            let data = match opened {
                Some(opened) => read_part(session, &doing, opened, first, part).await?,
                None => Vec::new(),
            };
            let salt = promises.population(file).salt;
            note_part(examined, file, salt, first, part, &data);
            first += part.len() as u32;
            done += (part.len() * BLOCK_BYTES) as u64;
            progress(done, total);
        }
        if let Some(opened) = opened {
            session.close_file(&doing, opened).await?;
        }
    }
    Ok(())
}

/// Reads a part of a file that begins with block `first`; nothing if no block of it is known.
async fn read_part(
    session: &mut ShareSession,
    doing: &str,
    file: FileId,
    first: u32,
    part: &[BlockPromise],
) -> Result<Vec<u8>, SessionError> {
    let mut data = Vec::new();
    if !part.iter().any(BlockPromise::is_known) {
        return Ok(data);
    }
    let offset = u64::from(first) * BLOCK_BYTES as u64;
    let length = part.len() * BLOCK_BYTES;
    while data.len() < length {
        let rest = (length - data.len()) as u32;
        let read = session
            .read_at(doing, file, offset + data.len() as u64, rest)
            .await?;
        if read.is_empty() {
            break;
        }
        data.extend_from_slice(&read);
    }
    Ok(data)
}

/// Notes what the known blocks of a part hold. It begins with block `first`.
fn note_part(
    examined: &mut Examined<'_>,
    file: NotedFile,
    salt: Salt,
    first: u32,
    part: &[BlockPromise],
    data: &[u8],
) {
    let (found, _) = data.as_chunks::<BLOCK_BYTES>();
    let known = (first..).zip(part).filter(|(_, block)| block.is_known());
    for (at, _) in known {
        let offset = u64::from(at) * BLOCK_BYTES as u64;
        let content = match found.get((at - first) as usize) {
            Some(found) => BlockContent::of(found, offset, salt),
            None => BlockContent::Nothing,
        };
        examined.add(file, at, content);
    }
}
