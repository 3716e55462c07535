//! A tree of directories and files as a function of a seed.
//!
//! Directories are numbered from 0, which is the root, level by level. The directories of a
//! level, and its files, are spread evenly over their parents. So the children of a directory
//! are two ranges of numbers. The name and the size of a number are a function of the seed.
//! Nothing is stored for a directory or a file, and any client of any host finds any of them.
//!
//! Not here: where the tree lies on a share, and who makes it.

mod find;
mod levels;
mod names;
mod popularity;
mod prepared;
mod sizes;

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::random::{draw, finalise};
pub use find::TreeEntry;
pub use levels::LevelShape;
use levels::Levels;
use names::NameKind;
pub use names::{NameCase, NameLengths, TreeNames};
pub use popularity::Popularity;
use popularity::PopularityRanks;
pub use prepared::{
    CheckedTree, PreparedTree, TreeDifference, TreeError, TreeProgress, TreeStage, TreeUsed,
};
#[doc(hidden)]
pub use prepared::{TREE_MANIFEST_BYTES_MAX, TreeManifest};
use sizes::SizeDraws;
pub use sizes::TreeSizes;

/// The largest number of files in a tree.
pub const TREE_FILES_MAX: u32 = 10_000_000;
/// The largest number of directories in a tree.
pub const TREE_DIRECTORIES_MAX: u32 = 10_000_000;
/// The largest number of levels below the root.
pub const TREE_DEPTH_MAX: u32 = 32;
/// The longest path in a tree, in bytes. With the path of the tree on the server, it stays
/// below the limit of 4,096 bytes that servers on Linux have.
const PATH_BYTES_MAX: usize = 3_000;

/// Returns the bytes that the longest name may have in a tree with this many levels below the
/// root, so that no path is too long.
#[must_use]
pub const fn name_bytes_within(depth: usize) -> usize {
    // Each name has a separator.
    (PATH_BYTES_MAX / (depth + 1)).saturating_sub(1)
}

/// The description of a tree. Equal descriptions make equal trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeShape {
    /// Seed of names and sizes.
    pub seed: u64,
    /// Number of directories, with the root.
    pub directories: u32,
    /// Number of files.
    pub files: u32,
    /// Largest number of levels below the root. As many as are needed when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Number of directories in a directory. When absent, as many as the depth needs, or 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<u32>,
    /// Directories and files of each level, from the root. They replace the four numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelShape>,
    /// Sizes of files and their share of the files, or a lognormal distribution of them.
    pub sizes: TreeSizes,
    /// Names of files and directories.
    pub names: TreeNames,
    /// Which files and directories are used more often than others.
    pub popularity: Popularity,
}

impl Default for TreeShape {
    fn default() -> Self {
        Self {
            seed: 1,
            directories: 10,
            files: 1000,
            depth: None,
            fan_out: None,
            levels: Vec::new(),
            sizes: TreeSizes::default(),
            names: TreeNames::default(),
            popularity: Popularity::default(),
        }
    }
}

/// A problem with the description of a tree, and how to correct it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TreeProblem {
    /// There are no directories, or too many.
    #[error("{0} directories are not possible: give 1 to {TREE_DIRECTORIES_MAX}")]
    Directories(u32),
    /// There are too many files.
    #[error("{0} files are too many for a tree: give at most {TREE_FILES_MAX}")]
    Files(u32),
    /// The depth is too large.
    #[error("a depth of {0} is too large: give at most {TREE_DEPTH_MAX}")]
    Depth(u32),
    /// A directory can hold no directory.
    #[error("a fan-out of 0 leaves no directory below the root: give 1 or more")]
    FanOutZero,
    /// Depth and fan-out hold fewer directories.
    #[error("{room}, not {directories}: give {advice}")]
    TooShallow {
        /// Which of the two was given, and the number of directories that fit.
        room: String,
        /// Number of directories.
        directories: u32,
        /// The smallest changes that make room.
        advice: String,
    },
    /// The levels of a shape cannot be a tree.
    #[error("level {0} of the shape has directories or files that no directory can hold")]
    Level(usize),
    /// The sizes are not valid.
    #[error("{0}")]
    Sizes(String),
    /// The names are not valid.
    #[error("{0}")]
    Names(String),
    /// The popularity is not valid.
    #[error("{0}")]
    Popularity(String),
    /// Paths are too long for servers.
    #[error(
        "paths of up to {0} bytes are too long: give a smaller depth or shorter names, for at most \
         {PATH_BYTES_MAX} bytes"
    )]
    Path(usize),
}

/// A tree, prepared for drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    shape: TreeShape,
    levels: Levels,
    sizes: SizeDraws,
    /// The files and the directories by popularity.
    ranks: [PopularityRanks; 2],
    /// Key of the names.
    names_key: u64,
}

/// The children of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Children {
    /// Numbers of its files.
    pub files: Range<u32>,
    /// Numbers of its directories.
    pub directories: Range<u32>,
}

impl Children {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len() + self.directories.len()
    }

    /// Whether the directory is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Tree {
    /// Prepares a tree.
    ///
    /// # Errors
    /// Returns the first part of the description that is not possible.
    pub fn new(shape: TreeShape) -> Result<Self, TreeProblem> {
        let levels = Levels::of(&shape)?;
        shape.sizes.check().map_err(TreeProblem::Sizes)?;
        shape.names.check().map_err(TreeProblem::Names)?;
        shape.popularity.check().map_err(TreeProblem::Popularity)?;
        let key = |purpose: u64| finalise(draw(shape.seed, purpose));
        let tree = Self {
            sizes: SizeDraws::new(&shape.sizes, key(0)),
            ranks: [levels.files(), levels.directories()]
                .map(|count| PopularityRanks::new(shape.popularity, count)),
            names_key: key(1),
            levels,
            shape,
        };
        let (depth, longest) = (tree.levels.depth() as usize, tree.name_bytes_max());
        if longest > name_bytes_within(depth) {
            return Err(TreeProblem::Path((depth + 1) * (longest + 1)));
        }
        Ok(tree)
    }

    /// Returns the description.
    #[must_use]
    pub const fn shape(&self) -> &TreeShape {
        &self.shape
    }

    /// Returns the number of directories, with the root.
    #[must_use]
    pub fn directories(&self) -> u32 {
        self.levels.directories()
    }

    /// Returns the number of files.
    #[must_use]
    pub fn files(&self) -> u32 {
        self.levels.files()
    }

    /// Returns the number of levels below the root.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.levels.depth()
    }

    /// Returns the largest number of directories in a directory.
    #[must_use]
    pub fn fan_out(&self) -> u32 {
        self.levels.fan_out()
    }

    /// Returns the directories of each level, from the root.
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = Range<u32>> + use<'_> {
        self.levels.directories_by_level()
    }

    /// Returns the bytes of a file.
    #[must_use]
    pub fn size(&self, file: u32) -> u64 {
        self.sizes.size(file)
    }

    /// Returns the bytes of the largest file that the description makes possible.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.sizes.largest()
    }

    /// Returns the bytes of all files together. It looks at each of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (0..self.files()).fold(0, |sum: u64, file| sum.saturating_add(self.size(file)))
    }

    /// Returns the children of a directory.
    #[must_use]
    pub fn children(&self, directory: u32) -> Children {
        self.levels.children(directory)
    }

    /// Returns the directory that holds a directory; `None` for the root.
    #[must_use]
    pub fn parent(&self, directory: u32) -> Option<u32> {
        self.levels.parent(directory)
    }

    /// Returns the directory of a file.
    #[must_use]
    pub fn directory_of(&self, file: u32) -> u32 {
        self.levels.directory_of(file)
    }

    /// Returns a file by a random number, as popular as the description says.
    #[must_use]
    pub fn popular(&self, random: u64) -> u32 {
        self.ranks[0].pick(random)
    }

    /// Returns a directory by a random number, as popular as the description says.
    #[must_use]
    pub fn popular_directory(&self, random: u64) -> u32 {
        self.ranks[1].pick(random)
    }

    /// Appends the path of a directory from the root, with `\` between its names. That of
    /// the root is empty.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_directory(&self, directory: u32, out: &mut impl fmt::Write) -> fmt::Result {
        let mut way = [0; TREE_DEPTH_MAX as usize];
        let (mut at, mut steps) = (directory, 0);
        while let Some(parent) = self.parent(at) {
            way[steps] = at;
            (at, steps) = (parent, steps + 1);
        }
        for (step, &directory) in way[..steps].iter().rev().enumerate() {
            if step > 0 {
                out.write_char('\\')?;
            }
            self.append_directory_name(directory, out)?;
        }
        Ok(())
    }

    /// Appends the path of a file from the root.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_file(&self, file: u32, out: &mut impl fmt::Write) -> fmt::Result {
        let directory = self.directory_of(file);
        if directory != 0 {
            self.append_directory(directory, out)?;
            out.write_char('\\')?;
        }
        self.append_file_name(file, out)
    }

    /// Appends the name of a file, without its path.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_file_name(&self, file: u32, out: &mut impl fmt::Write) -> fmt::Result {
        let all = self.children(self.directory_of(file));
        let index = file - all.files.start;
        self.append_name(NameKind::File, file, index, all.len(), out)
    }

    /// Appends the name of a directory below the root, without its path.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_directory_name(&self, directory: u32, out: &mut impl fmt::Write) -> fmt::Result {
        let Some(parent) = self.parent(directory) else {
            return Ok(());
        };
        let all = self.children(parent);
        let index = all.files.len() as u32 + directory - all.directories.start;
        self.append_name(NameKind::Directory, directory, index, all.len(), out)
    }
}

#[cfg(test)]
mod tests;
