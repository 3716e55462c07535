//! A tree that was prepared on a share: its description there, and what can be wrong.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::TreeShape;

/// The largest description of a tree in bytes.
#[doc(hidden)]
pub const TREE_MANIFEST_BYTES_MAX: u32 = 64 * 1024;

/// The description of a prepared tree, which is stored next to it.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeManifest {
    version: u32,
    pub tree: TreeShape,
    /// The salt of the contents, so that later runs recognise them.
    pub salt: u64,
    /// Whether every file was written.
    #[serde(default)]
    pub complete: bool,
}

impl TreeManifest {
    /// Makes the description of a new tree.
    pub const fn of(tree: TreeShape, salt: u64) -> Self {
        Self {
            version: 1,
            tree,
            salt,
            complete: false,
        }
    }

    /// Whether the tree has the same directories and files. How often they are used does
    /// not matter.
    pub fn fits(&self, tree: &TreeShape) -> bool {
        let popularity = self.tree.popularity;
        let same = TreeShape {
            popularity,
            ..tree.clone()
        };
        self.tree == same
    }

    /// Returns the first difference from a tree that is asked for, in a clause.
    pub fn difference(&self, asked: &TreeShape) -> String {
        difference(&self.tree, asked)
    }

    /// Returns the JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| unreachable!("plain fields always serialise: {error}"))
            + "\n"
    }

    /// Parses a description. `None` if it is not one, or if this release does not
    /// understand it.
    pub fn parse(json: &[u8]) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(json).ok()?;
        (manifest.version == 1).then_some(manifest)
    }
}

/// The tree that a run works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeUsed {
    /// It was prepared before.
    Prepared,
    /// The run makes it.
    Own {
        /// Says in a clause why the run does not use the tree that is prepared on the share.
        /// `None` if there is none.
        unused: Option<String>,
    },
}

/// The result of preparing a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedTree {
    /// The directory, as a path from the share's root.
    pub directory: String,
    /// Number of files that were already complete.
    pub found: u32,
    /// Number of files that were made or made again.
    pub written: u32,
    /// Bytes written.
    pub bytes: u64,
    /// Time in which they were written, without that for directories and listings.
    pub took: Duration,
}

/// The result of a comparison of a tree with its description.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedTree {
    /// The directory, as a path from the share's root.
    pub directory: String,
    /// The description.
    pub shape: TreeShape,
    /// Number of directories and of files that are as described.
    pub directories: u32,
    /// Number of files that are as described.
    pub files: u32,
    /// The first difference, in the order of directories.
    pub difference: Option<TreeDifference>,
}

/// A difference between a tree and its description. Paths are from the share's root.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeDifference {
    /// An entry is missing.
    #[error("'{0}' is missing")]
    Missing(String),
    /// A file has another size.
    #[error("'{path}' has {found} bytes, and not {bytes}")]
    Size {
        /// The path.
        path: String,
        /// Bytes of the file.
        found: u64,
        /// Bytes by the description.
        bytes: u64,
    },
    /// The server lists an entry several times.
    #[error("the server lists '{0}' twice")]
    Twice(String),
    /// An entry does not belong to the tree, or a file is a directory or the reverse.
    #[error("'{0}' does not belong to the tree")]
    Foreign(String),
}

/// What is in progress with a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeStage {
    /// Directories are made.
    Directories,
    /// Directories are listed.
    Listing,
    /// Files are written.
    Files,
    /// Files are deleted.
    Deletion,
    /// Directories are deleted.
    Directory,
}

/// The progress with a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeProgress {
    /// What is in progress.
    pub stage: TreeStage,
    /// Directories or files that are done.
    pub done: u64,
    /// Directories or files of the stage.
    pub total: u64,
}

/// The reason why there is no tree to work on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// No tree is prepared.
    #[error("there is no prepared tree in '{directory}' on {at}")]
    NotPrepared {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// No tree is prepared, and a run makes none as large.
    #[error(
        "there is no prepared tree in '{directory}' on {at}, and a run itself makes at most {most} \
         files, not {files}"
    )]
    TooLarge {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
        /// Number of files in the tree.
        files: u32,
        /// The largest number of files of a tree that a run makes for itself.
        most: u32,
    },
    /// The preparation has not ended.
    #[error(
        "the tree in '{directory}' on {at} is not complete: its preparation was interrupted, and \
         continues when it is asked for again"
    )]
    Incomplete {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
    },
    /// Another tree is prepared.
    #[error(
        "the tree prepared in '{directory}' on {at} is another one: {difference}; use that tree, \
         another path, or remove it first"
    )]
    OtherTree {
        /// The directory, as a path from the share's root.
        directory: String,
        /// Host, port and share.
        at: String,
        /// The first difference of the descriptions.
        difference: String,
    },
    /// The share has too little space.
    #[error("the share at {at} has {free} free, but the tree needs {needed}")]
    NoSpace {
        /// Host, port and share.
        at: String,
        /// Bytes to write.
        needed: String,
        /// Bytes that are free according to the server.
        free: String,
    },
    /// The tree contains something that smbench did not make.
    #[error("'{path}' on {at} does not belong to the tree: move it away first")]
    Foreign {
        /// The path from the share's root.
        path: String,
        /// Host, port and share.
        at: String,
    },
    /// An entry was not deleted.
    #[error("'{path}' on {at} stays after its deletion: a client may have it open")]
    Held {
        /// The path from the share's root.
        path: String,
        /// Host, port and share.
        at: String,
    },
    /// The description cannot be understood.
    #[error(
        "file '{path}' on {at} does not describe a tree: remove the directory that it is in by \
         hand"
    )]
    Manifest {
        /// The path from the share's root.
        path: String,
        /// Host, port and share.
        at: String,
    },
}

impl TreeError {
    /// Whether the options are of another tree than the one that was prepared.
    #[must_use]
    pub const fn is_asked_wrongly(&self) -> bool {
        matches!(self, Self::OtherTree { .. })
    }

    /// Makes the error that another tree is prepared.
    pub fn other(directory: &str, at: String, found: &TreeShape, asked: &TreeShape) -> Self {
        Self::OtherTree {
            directory: directory.to_owned(),
            at,
            difference: difference(found, asked),
        }
    }
}

/// Returns the first field in which two descriptions differ.
fn difference(found: &TreeShape, asked: &TreeShape) -> String {
    let levels = |shape: &TreeShape| {
        if shape.levels.is_empty() {
            (shape.directories, shape.files)
        } else {
            let sum = |count: fn(&super::LevelShape) -> u32| shape.levels.iter().map(count).sum();
            (sum(|level| level.directories), sum(|level| level.files))
        }
    };
    let given = |number: Option<u32>| number.map_or("not given".to_owned(), |it| it.to_string());
    let fields = |shape: &TreeShape| {
        let (directories, files) = levels(shape);
        [
            ("seed", shape.seed.to_string()),
            ("number of directories", directories.to_string()),
            ("number of files", files.to_string()),
            ("depth", given(shape.depth)),
            ("fan-out", given(shape.fan_out)),
            ("sizes", shape.sizes.to_string()),
            ("length of names", shape.names.length.to_string()),
            (
                "share of letters outside ASCII",
                shape.names.utf8.to_string(),
            ),
            ("case of names", shape.names.case.to_string()),
        ]
    };
    let pairs = fields(found).into_iter().zip(fields(asked));
    let differing = pairs.into_iter().find(|(found, asked)| found != asked);
    differing.map_or_else(
        || "its levels differ".to_owned(),
        |((name, found), (_, asked))| format!("its {name} is {found}, and not {asked}"),
    )
}
