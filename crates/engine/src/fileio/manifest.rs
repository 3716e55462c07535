//! What was prepared, as it is written down beside the files.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Fileio;
use crate::pattern::Salt;
use crate::units::Size;

/// Bytes beyond which a file is no manifest, whatever it holds.
pub(crate) const MANIFEST_BYTES_MAX: u32 = 4096;

/// Contents of files are [`crate::pattern`]'s, of this kind.
const PATTERN: &str = "SMBENCH2";

/// Which files there are, one like the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    version: u32,
    pub(crate) files: u32,
    pub(crate) file_bytes: u64,
    pattern: String,
    /// What contents are salted with, so that later runs know them again.
    salt: u64,
    /// Not told by releases that left no holes, or did not know.
    #[serde(default)]
    pub(crate) contents: Contents,
}

/// Whether files hold all that they should, as far as they are long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contents {
    /// They do.
    #[default]
    Whole,
    /// A test makes them anew, each request sent by whichever client is ready
    /// for one, and was not seen to come to its end.
    MayHaveHoles,
}

impl Manifest {
    pub(crate) fn of(test: &Fileio, salt: Salt, contents: Contents) -> Self {
        Self {
            contents,
            version: 1,
            files: test.files,
            file_bytes: test.file_bytes(),
            pattern: PATTERN.to_owned(),
            salt: salt.0,
        }
    }

    /// What contents are salted with.
    pub(crate) const fn salt(&self) -> Salt {
        Salt(self.salt)
    }

    /// Whether the files are those of a test.
    pub(crate) fn fits(&self, test: &Fileio) -> bool {
        (self.files, self.file_bytes) == (test.files, test.file_bytes())
    }

    /// Some hundred bytes of JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| unreachable!("plain fields always serialise: {error}"))
            + "\n"
    }

    /// `None` where it is none, or none that this release understands.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(json).ok()?;
        (manifest.version == 1 && manifest.pattern == PATTERN && manifest.files > 0)
            .then_some(manifest)
    }
}

/// What preparing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The directory, from the share's root.
    pub directory: String,
    /// Files that were whole already.
    pub found: u32,
    /// Files that were made or gone on with.
    pub written: u32,
    /// Bytes written.
    pub bytes: u64,
}

/// Why there are no files to work on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileioError {
    /// Nothing was prepared.
    #[error(
        "there are no prepared files in '{directory}' on {at}: make them with `smbench fileio \
         prepare` and the same --file-num and --file-total-size"
    )]
    NotPrepared {
        /// From the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// Others were.
    #[error(
        "the files prepared in '{directory}' on {at} are {found_files} of {found_bytes}, and not \
         {files} of {bytes}: give --file-num={found_files} --file-total-size={total}, or remove them \
         with `smbench fileio cleanup`"
    )]
    OtherFiles {
        /// From the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
        /// How many there are.
        found_files: u32,
        /// Bytes in each.
        found_bytes: String,
        /// Bytes of all together, to be given again.
        total: u64,
        /// How many there should be.
        files: u32,
        /// Bytes in each.
        bytes: String,
    },
    /// One of them is not as it was, or was never finished.
    #[error(
        "file '{path}' on {at} has {found}, and not {bytes}: go on with `smbench fileio prepare` and \
         the same options"
    )]
    WrongSize {
        /// From the share's root.
        path: String,
        /// Host, port and share.
        at: String,
        /// Bytes it has; "no entry" where it is not there.
        found: String,
        /// Bytes it should have.
        bytes: String,
    },
    /// One of them is larger than it should be.
    #[error(
        "file '{path}' on {at} has {found}, more than the {bytes} that were prepared: remove the \
         files with `smbench fileio cleanup` and prepare them again"
    )]
    TooLong {
        /// From the share's root.
        path: String,
        /// Host, port and share.
        at: String,
        /// Bytes it has.
        found: String,
        /// Bytes it should have.
        bytes: String,
    },
    /// They were being written when their writer was lost.
    #[error(
        "the files prepared in '{directory}' on {at} may have holes, as the seqwr test that made them \
         anew was not seen to come to its end: write them again with `smbench fileio prepare` and the same \
         options"
    )]
    Holes {
        /// From the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// Requests beyond what the server carries.
    #[error(
        "--file-block-size, with what --file-merged-requests makes of it, is {wanted}, but {at} takes \
         {kind}s of at most {limit}: give less"
    )]
    BlockTooLarge {
        /// Bytes of a request.
        wanted: String,
        /// Host, port and share.
        at: String,
        /// "read" or "write".
        kind: &'static str,
        /// What was negotiated.
        limit: String,
    },
    /// Too little room.
    #[error(
        "the share at {at} has {free} free, but the files need {needed} more: give a smaller \
         --file-total-size, or another share"
    )]
    NoSpace {
        /// Host, port and share.
        at: String,
        /// What would be written.
        needed: String,
        /// What the server says is free.
        free: String,
    },
    /// Somebody works with them now.
    #[error("another smbench is using directory '{directory}' on {at}: wait until it has ended")]
    InUse {
        /// From the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// The directory is somebody else's.
    #[error(
        "directory '{directory}' on {at} holds '{name}', which smbench did not put there: move it \
         away first"
    )]
    Foreign {
        /// From the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
        /// A name in it.
        name: String,
    },
    /// What was prepared is not known.
    #[error(
        "file '{path}' on {at} does not tell what was prepared: remove the files with `smbench fileio \
         cleanup` and prepare them again"
    )]
    Manifest {
        /// From the share's root.
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

    /// Others than the options say.
    pub(crate) fn other(directory: &str, at: String, found: &Manifest, test: &Fileio) -> Self {
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
