//! The manifest: a description of the prepared files, stored next to them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Fileio;
use crate::contents::block::Salt;
use crate::setting::{FILE_NUM, FILE_TOTAL_SIZE};
use crate::units::Size;

/// The largest manifest in bytes. A larger file is not a manifest.
#[doc(hidden)]
pub const MANIFEST_BYTES_MAX: u32 = 4096;

/// The kind of contents, which [`crate::contents::block`] defines.
const PATTERN: &str = "SMBENCH2";

/// The number and size of the prepared files, which are all the same.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    pub files: u32,
    pub file_bytes: u64,
    pattern: String,
    /// The salt of the contents, so that later runs recognise them.
    salt: u64,
    /// Missing in manifests of releases that left no holes, or did not know of
    /// them.
    #[serde(default)]
    pub contents: Contents,
}

/// Whether the files contain all their data, up to their size.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// The files contain all their data.
    #[default]
    Whole,
    /// A test rewrites the files and was not seen to end. Any client that is ready
    /// sends the next request, so an unfinished test may leave holes.
    MayHaveHoles,
}

impl Manifest {
    /// Makes the manifest of a test's files.
    pub fn of(test: &Fileio, salt: Salt, contents: Contents) -> Self {
        Self {
            contents,
            version: 1,
            files: test.files,
            file_bytes: test.file_bytes(),
            pattern: PATTERN.to_owned(),
            salt: salt.0,
        }
    }

    /// Returns the salt of the contents.
    pub const fn salt(&self) -> Salt {
        Salt(self.salt)
    }

    /// Whether the files match a test.
    pub fn fits(&self, test: &Fileio) -> bool {
        (self.files, self.file_bytes) == (test.files, test.file_bytes())
    }

    /// Returns about a hundred bytes of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| unreachable!("plain fields always serialise: {error}"))
            + "\n"
    }

    /// Parses a manifest. `None` if it is not one, or if this release does not
    /// understand it.
    pub fn parse(json: &[u8]) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(json).ok()?;
        (manifest.version == 1 && manifest.pattern == PATTERN && manifest.files > 0)
            .then_some(manifest)
    }
}

/// The result of preparing files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The directory, as a path from the share's root.
    pub directory: String,
    /// Number of files that were already complete.
    pub found: u32,
    /// Number of files that were made or continued.
    pub written: u32,
    /// Bytes written.
    pub bytes: u64,
}

/// The reason why there are no files to work on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileioError {
    /// No files are prepared.
    #[error(
        "there are no prepared files in '{directory}' on {at}: make them with `smbench fileio \
         prepare` and the same {FILE_NUM} and {FILE_TOTAL_SIZE}"
    )]
    NotPrepared {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// Other files are prepared.
    #[error(
        "the files prepared in '{directory}' on {at} are {found_files} of {found_bytes}, and not \
         {files} of {bytes}: give {FILE_NUM}={found_files} {FILE_TOTAL_SIZE}={total}, or remove them \
         with `smbench fileio cleanup`"
    )]
    OtherFiles {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
        /// Number of prepared files.
        found_files: u32,
        /// Bytes in each prepared file.
        found_bytes: String,
        /// Bytes of all prepared files together, for the advice.
        total: u64,
        /// Number of files that the options ask for.
        files: u32,
        /// Bytes in each file that the options ask for.
        bytes: String,
    },
    /// A file was changed or never finished.
    #[error(
        "file '{path}' on {at} has {found}, and not {bytes}: continue with `smbench fileio prepare` and \
         the same options"
    )]
    WrongSize {
        /// The path from the share's root.
        path: String,
        /// Host, port and share.
        at: String,
        /// Bytes found; "no entry" if the file does not exist.
        found: String,
        /// Bytes expected.
        bytes: String,
    },
    /// A file is larger than expected.
    #[error(
        "file '{path}' on {at} has {found}, more than the {bytes} that were prepared: remove the \
         files with `smbench fileio cleanup` and prepare them again"
    )]
    TooLong {
        /// The path from the share's root.
        path: String,
        /// Host, port and share.
        at: String,
        /// Bytes found.
        found: String,
        /// Bytes expected.
        bytes: String,
    },
    /// The files may have holes, because a test that rewrote them was not seen to
    /// end.
    #[error(
        "the files prepared in '{directory}' on {at} may have holes, because a seqwr test that \
         rewrote them was not seen to end: write them again with `smbench fileio prepare` and the same \
         options"
    )]
    Holes {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// The share has too little space.
    #[error(
        "the share at {at} has {free} free, but the files need {needed} more: give a smaller \
         {FILE_TOTAL_SIZE}, or another share"
    )]
    NoSpace {
        /// Host, port and share.
        at: String,
        /// Bytes to write.
        needed: String,
        /// Bytes that are free according to the server.
        free: String,
    },
    /// Another smbench is using the files.
    #[error("another smbench is using directory '{directory}' on {at}: wait until it has ended")]
    InUse {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// The directory contains something that smbench did not make.
    #[error(
        "directory '{directory}' on {at} holds '{name}', which smbench did not put there: move it \
         away first"
    )]
    Foreign {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
        /// A foreign name in the directory.
        name: String,
    },
    /// The manifest cannot be understood.
    #[error(
        "file '{path}' on {at} does not tell what was prepared: remove the files with `smbench fileio \
         cleanup` and prepare them again"
    )]
    Manifest {
        /// The path from the share's root.
        path: String,
        /// Host, port and share.
        at: String,
    },
}

impl FileioError {
    /// Whether the options are of other files than those that were prepared.
    #[must_use]
    pub const fn is_asked_wrongly(&self) -> bool {
        matches!(self, Self::OtherFiles { .. })
    }

    /// Makes the error that the prepared files do not match the options.
    pub fn other(directory: &str, at: String, found: &Manifest, test: &Fileio) -> Self {
        Self::OtherFiles {
            directory: directory.to_owned(),
            at,
            found_files: found.files,
            found_bytes: format!("{:#}", Size(found.file_bytes)),
            total: found.file_bytes.saturating_mul(found.files.into()),
            files: test.files,
            bytes: format!("{:#}", Size(test.file_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = Manifest {
            version: 1,
            files: 4,
            file_bytes: 8 << 20,
            pattern: PATTERN.to_owned(),
            salt: u64::MAX,
            contents: Contents::MayHaveHoles,
        };
        let json = manifest.to_json();
        assert!(json.len() < MANIFEST_BYTES_MAX as usize);
        assert_eq!(Manifest::parse(json.as_bytes()), Some(manifest.clone()));
        let older = json.replace(",\"contents\":\"may-have-holes\"", "");
        assert_ne!(older, json);
        let found = Manifest::parse(older.as_bytes()).unwrap();
        assert_eq!(found.contents, Contents::Whole);
        let newer = Manifest {
            version: 2,
            ..manifest
        };
        for other in ["", "{}", "[1]", "\u{0}", &newer.to_json()] {
            assert_eq!(Manifest::parse(other.as_bytes()), None, "{other}");
        }
    }
}
