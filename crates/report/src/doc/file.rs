//! Documents as files.
//!
//! A file is replaced whole or not at all, so a reader never meets half a
//! document, not even after a power cut; every error is one line that names the file.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::{LoadPointDoc, RunDoc, SCHEMA_VERSION};
use crate::units::{counted, plain};

/// Why a document could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write {path}: {source}")]
pub struct SaveError {
    /// The document's file.
    path: PathBuf,
    source: io::Error,
}

/// Why a file could not be read as a document.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error("read {path}: there is no such file")]
    NotFound {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file exists but cannot be read.
    #[error("read {path}: {source}")]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is not JSON.
    #[error("read {path}: not JSON: {detail}")]
    NotJson {
        /// The file asked for.
        path: PathBuf,
        /// What is wrong, with line and column.
        detail: String,
    },
    /// JSON, but nothing that smbench wrote.
    #[error("read {path}: not an smbench result: it has no schema_version")]
    NotAResult {
        /// The file asked for.
        path: PathBuf,
    },
    /// The format is newer than this build.
    #[error(
        "read {path}: written by a newer smbench: schema_version {found}, this build reads {SCHEMA_VERSION}"
    )]
    Newer {
        /// The file asked for.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A key is missing or has the wrong type, or keys contradict each other.
    #[error("read {path}: not a valid result: {detail}")]
    Malformed {
        /// The file asked for.
        path: PathBuf,
        /// What is wrong, with line and column where there is one.
        detail: String,
    },
}

/// The part of a document that tells how to read the rest.
#[derive(Deserialize)]
struct Version {
    schema_version: u64,
}

impl RunDoc {
    /// The document as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Writes the document, replacing any older one at once.
    ///
    /// # Errors
    ///
    /// When the file, or its temporary neighbour, cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), SaveError> {
        save(self, path)
    }

    /// Writes the document under the first of `paths` that is free, and returns that
    /// path. Replaces nothing. All paths are in one directory.
    ///
    /// # Errors
    ///
    /// As [`RunDoc::save`]; also when none of the paths is free.
    pub fn save_under_free_name(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Result<PathBuf, SaveError> {
        save_under_free_name(self, paths)
    }

    /// Reads a document that this build or an older one wrote.
    ///
    /// # Errors
    ///
    /// One line per [`LoadError`]; nothing a file holds makes this panic.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        Self::parse(&read(path)?, path)
    }

    /// Reads the document that `bytes` hold; messages name `path`.
    ///
    /// # Errors
    ///
    /// As [`RunDoc::load`], but for those of files.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, LoadError> {
        let doc: Self = parse(bytes, path)?;
        doc.load_points
            .iter()
            .try_for_each(consistent)
            .map_err(|detail| malformed(path, &detail))?;
        Ok(doc)
    }
}

fn malformed(path: &Path, detail: &str) -> LoadError {
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

/// Writes a document, replacing any older one at once.
pub(crate) fn save(doc: &impl Serialize, path: &Path) -> Result<(), SaveError> {
    let at = |source| SaveError {
        path: path.to_owned(),
        source,
    };
    // The rename would put a file where a device or a pipe was.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(at(io::Error::other("not a regular file")));
    }
    write_beside(doc, path, |temporary| fs::rename(temporary, path)).map_err(at)
}

/// Writes a document under the first of `paths` that is free.
fn save_under_free_name(
    doc: &impl Serialize,
    paths: impl IntoIterator<Item = PathBuf>,
) -> Result<PathBuf, SaveError> {
    let mut paths = paths.into_iter().peekable();
    let first = paths.peek().cloned().unwrap_or_default();
    write_beside(doc, &first, |temporary| {
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

/// Writes a document to a temporary file beside `path` and calls `name` with it, which
/// gives it its name.
fn write_beside<T>(
    doc: &impl Serialize,
    path: &Path,
    name: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let file_name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    // In the same directory, since a rename is atomic only within one
    // file system.
    let temporary = path.with_file_name(format!(
        ".{}.{}.tmp",
        file_name.to_string_lossy(),
        std::process::id()
    ));
    let write = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(to_json(doc).as_bytes())?;
        // The name may reach the disk before the data does: after a power cut there
        // would be nothing in it.
        file.sync_all()
    };
    write().and_then(|()| name(&temporary)).inspect_err(|_| {
        // Nothing more can be done when the removal fails as well.
        let _ = fs::remove_file(&temporary);
    })
}

/// Renames a file to a name that must be free, so that two runs that save at the same
/// moment cannot overwrite each other.
fn name_new(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Ok(()) => {
            // A second name of the document does no harm.
            let _ = fs::remove_file(temporary);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has hard links.
        Err(_) => {
            fs::File::create_new(path)?;
            fs::rename(temporary, path).inspect_err(|_| {
                let _ = fs::remove_file(path);
            })
        }
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    fs::read(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => LoadError::NotFound {
            path: path.to_owned(),
        },
        _ => LoadError::Unreadable {
            path: path.to_owned(),
            source,
        },
    })
}

/// Reads a document of any kind.
pub(crate) fn parse<D: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<D, LoadError> {
    // The version first: a newer document may lack what this build thinks it
    // needs, and that must not be called an error in it.
    let version: Version =
        serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            Category::Data => LoadError::NotAResult {
                path: path.to_owned(),
            },
            Category::Syntax | Category::Eof | Category::Io => LoadError::NotJson {
                path: path.to_owned(),
                detail: plain(&error.to_string()),
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

/// What is pooled from the histograms must be what the counts claim.
fn consistent(point: &LoadPointDoc) -> Result<(), String> {
    let differs = point.ops.iter().find(|(_, op)| op.hdr.count() != op.count);
    differs.map_or(Ok(()), |(name, op)| {
        Err(format!(
            "load point of {}, pass {}: {name} has count {} but a histogram of {}",
            counted(point.clients.into(), "client"),
            point.repeat,
            op.count,
            op.hdr.count()
        ))
    })
}
