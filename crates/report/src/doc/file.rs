//! Documents as files.
//!
//! A file is replaced completely or not at all. So a reader never finds half a
//! document, not even after a power cut. Every error is one line that names the
//! file.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::tool::SCHEMA_VERSION;
use crate::units::plain;

/// Reason why a document could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write {path}: {source}")]
pub struct SaveError {
    /// Path of the document's file.
    path: PathBuf,
    source: io::Error,
}

/// Reason why a file could not be read as a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file does not exist.
    #[error("read {path}: the file does not exist")]
    NotFound {
        /// Path of the requested file.
        path: PathBuf,
    },
    /// The file exists but cannot be read.
    #[error("read {path}: {source}")]
    Unreadable {
        /// Path of the requested file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The text is not JSON.
    #[error("read {path}: not an smbench result: it is not JSON ({})", plain(&source.to_string()))]
    NotJson {
        /// Path of the requested file.
        path: PathBuf,
        /// The error, with line and column.
        source: serde_json::Error,
    },
    /// The text is JSON, but not a result of smbench.
    #[error("read {path}: not an smbench result: it has no schema_version")]
    NotAResult {
        /// Path of the requested file.
        path: PathBuf,
    },
    /// The format is newer than this build.
    #[error(
        "read {path}: written by a newer smbench: schema_version {found}, this build reads {SCHEMA_VERSION}"
    )]
    Newer {
        /// Path of the requested file.
        path: PathBuf,
        /// Version of the file's format.
        found: u64,
    },
    /// A key is missing or has the wrong type, or keys contradict each other.
    #[error("read {path}: not a valid result: {detail}")]
    Malformed {
        /// Path of the requested file.
        path: PathBuf,
        /// The error, with line and column if it has one.
        detail: String,
    },
}

impl LoadError {
    /// Returns the error of a file or folder that the system did not read.
    pub(crate) fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Unreadable { path, source },
        }
    }
}

/// The key of a document that says how to read the others.
#[derive(Deserialize, JsonSchema)]
struct SchemaVersion {
    schema_version: u64,
}

pub(super) fn malformed(path: &Path, detail: &str) -> LoadError {
    LoadError::Malformed {
        path: path.to_owned(),
        detail: plain(detail),
    }
}

pub(crate) fn to_json(doc: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(doc).unwrap_or_else(|error| {
        unreachable!("string keys and plain values always have a JSON form: {error}")
    });
    json + "\n"
}

/// Writes a document and replaces an older one atomically.
pub(crate) fn save(doc: &impl Serialize, path: &Path) -> Result<(), SaveError> {
    save_written(path, |file| file.write_all(to_json(doc).as_bytes()))
}

/// Replaces a file atomically by what `write` writes.
pub(super) fn save_written(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), SaveError> {
    let at = |source| SaveError {
        path: path.to_owned(),
        source,
    };
    // The rename would replace a device or a pipe by a file.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(at(io::Error::other("not a regular file")));
    }
    write_beside(write, path, |temporary| fs::rename(temporary, path)).map_err(at)
}

/// Writes a document to the first of `paths` that does not exist yet.
pub(super) fn save_under_free_name(
    doc: &impl Serialize,
    paths: impl IntoIterator<Item = PathBuf>,
) -> Result<PathBuf, SaveError> {
    save_written_under_free_name(paths, |file| file.write_all(to_json(doc).as_bytes()))
}

/// Saves what `write` writes as the first of `paths` that does not exist yet.
pub(super) fn save_written_under_free_name(
    paths: impl IntoIterator<Item = PathBuf>,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<PathBuf, SaveError> {
    let mut paths = paths.into_iter().peekable();
    let first = paths.peek().cloned().unwrap_or_default();
    write_beside(write, &first, |temporary| {
        for path in paths {
            match name_new(temporary, &path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    })
    .map_err(|source| SaveError {
        path: first,
        source,
    })
}

/// Lets `write` write to a temporary file next to `path`. Then calls `name`, which
/// gives the file its final name.
fn write_beside<T>(
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
    path: &Path,
    name: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let (mut file, temporary) = create_beside(path)?;
    let write = || {
        write(&mut file)?;
        // Otherwise the name could reach the disk before the data. The file would
        // then be empty after a power cut.
        file.sync_all()
    };
    write().and_then(|()| name(&temporary)).inspect_err(|_| {
        // If the removal fails as well, nothing more can be done.
        let _ = fs::remove_file(&temporary);
    })
}

/// Creates a temporary file in the directory of `path`, because a rename is atomic
/// only within one file system. No other writer has a file of its name.
fn create_beside(path: &Path) -> io::Result<(fs::File, PathBuf)> {
    /// Number of temporary files that this process has tried to create.
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let file_name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    loop {
        let temporary = path.with_file_name(format!(
            ".{}.{}-{}.tmp",
            file_name.to_string_lossy(),
            process::id(),
            TRIED.fetch_add(1, Ordering::Relaxed)
        ));
        match fs::File::create_new(&temporary) {
            // Of a killed process, or of a container where a process has the same
            // number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, temporary)),
        }
    }
}

/// Renames a file to a name that must not exist yet. So two runs that save at the
/// same moment cannot overwrite each other.
fn name_new(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Ok(()) => {
            // If this fails, a second name of the document does no harm.
            let _ = fs::remove_file(temporary);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no hard links.
        Err(_) => {
            fs::File::create_new(path)?;
            fs::rename(temporary, path).inspect_err(|_| {
                let _ = fs::remove_file(path);
            })
        }
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    fs::read(path).map_err(|source| LoadError::of(path, source))
}

/// Reads a document of any kind.
pub(crate) fn parse<D: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<D, LoadError> {
    // Check the version first. A newer document may lack keys that this build
    // requires, and that is not an error in the document.
    let version: SchemaVersion =
        serde_json::from_slice(bytes).map_err(|source| match source.classify() {
            Category::Data => LoadError::NotAResult {
                path: path.to_owned(),
            },
            Category::Syntax | Category::Eof | Category::Io => LoadError::NotJson {
                path: path.to_owned(),
                source,
            },
        })?;
    match version.schema_version {
        found if found > u64::from(SCHEMA_VERSION) => Err(LoadError::Newer {
            path: path.to_owned(),
            found,
        }),
        0 => Err(malformed(path, "there is no schema_version 0")),
        _ => serde_json::from_slice(bytes).map_err(|error| malformed(path, &error.to_string())),
    }
}
