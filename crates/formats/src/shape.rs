//! The shape of a tree as a file: the number of directories and files of each level, lengths of
//! names, and sizes. It has no name of the tree that it describes.
//!
//! Each line has three fields with tabs between them, or four for a level:
//!
//! ```text
//! level   0       1       12
//! level   1       40      3000
//! name    9       812
//! size    4096    1200
//! ```
//!
//! A level has its distance from the root, its directories and its files. A name has a length in
//! characters, and a size its bytes, both with the number of entries.
//!
//! A listing of a tree, as `find DIR -printf '%y\t%s\t%P\n'` writes it, has a shape too. Each line
//! has `d` for a directory or `f` for a file, the bytes and the path below the directory.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use smbench_model::tree::{
    LevelShape, NameLengths, TREE_DEPTH_MAX, Tree, TreeNames, TreeShape, TreeSizes,
    name_bytes_within,
};
use smbench_model::units::Size;
use thiserror::Error;

/// First line of a file.
const HEADER: &str = "# smbench tree shape";
/// How the lines of a shape begin.
const SHAPE_WORDS: [&str; 3] = ["level", "name", "size"];
/// Number of different sizes that are kept. More are joined with their neighbours.
const SIZES_MAX: usize = 200;
/// Sizes of a power of two, when sizes are joined.
const SIZES_PER_POWER: f64 = 8.0;
/// The longest name in characters.
const NAME_LENGTH_MAX: usize = 255;

/// A file that is not a shape.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A line is not understood.
    #[error("line {line}: `{text}` is no line of a shape: level, name or size, with numbers")]
    Line {
        /// Line, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A line of a listing is not understood.
    #[error(
        "line {line}: `{text}` is neither a line of a shape nor of a listing: `find DIR -printf \
         '%y\\t%s\\t%P\\n'` writes one, unless a name has a line break"
    )]
    Listing {
        /// Line, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A path of a listing does not begin below the directory that is listed.
    #[error(
        "line {line}: path `{path}` does not begin below the directory of the listing: with %P, as \
         in `find DIR -printf '%y\\t%s\\t%P\\n'`, it does"
    )]
    Above {
        /// Line, from 1.
        line: usize,
        /// The path.
        path: String,
    },
    /// The shape is not that of a tree.
    #[error("{0}")]
    Tree(String),
}

/// A tree that is being measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredTree {
    levels: Vec<LevelShape>,
    names: BTreeMap<usize, u32>,
    sizes: BTreeMap<u64, u32>,
    /// Directories that are too deep for a tree, and the files in them.
    deeper: LevelShape,
}

/// The shape of a tree that was measured, and what the shape lacks of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredShape {
    /// The shape.
    pub shape: TreeShape,
    /// Directories that are too deep for a tree, and the files in them. They are left out.
    pub deeper: LevelShape,
    /// Number of names that are longer than paths of this depth allow.
    pub shortened: u32,
    /// Characters that these names have in the shape.
    pub longest: usize,
    /// Whether it is of a listing that lacks its own directory, and one directory has all of it.
    /// The paths of such a listing may begin with that of the directory.
    pub is_in_one: bool,
}

impl MeasuredTree {
    fn level(&mut self, level: usize) -> &mut LevelShape {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, LevelShape::default());
        }
        &mut self.levels[level]
    }

    /// Whether directories of a level are deeper than those of any tree.
    #[must_use]
    pub const fn is_too_deep(level: usize) -> bool {
        level > TREE_DEPTH_MAX as usize
    }

    /// Adds a directory of a level, from 0 for the root, whose name is empty. One that is too
    /// deep is only counted.
    pub fn directory(&mut self, level: usize, name: &str) {
        let directories = if Self::is_too_deep(level) {
            &mut self.deeper.directories
        } else {
            self.name(name);
            &mut self.level(level).directories
        };
        *directories = directories.saturating_add(1);
    }

    /// Adds a file of this size in a directory of a level. One that is too deep is only counted.
    pub fn file(&mut self, level: usize, name: &str, bytes: u64) {
        if Self::is_too_deep(level) {
            self.deeper.files = self.deeper.files.saturating_add(1);
            return;
        }
        self.name(name);
        let files = &mut self.level(level).files;
        *files = files.saturating_add(1);
        let count = self.sizes.entry(bytes).or_default();
        *count = count.saturating_add(1);
    }

    fn name(&mut self, name: &str) {
        if !name.is_empty() {
            let length = name.chars().count().min(NAME_LENGTH_MAX);
            let count = self.names.entry(length).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Shortens the names with more than this many characters. Returns their number.
    fn shorten(&mut self, longest: usize) -> u32 {
        let longer = self.names.split_off(&(longest + 1));
        let shortened = longer.into_values().fold(0, u32::saturating_add);
        if shortened > 0 {
            let count = self.names.entry(longest).or_default();
            *count = count.saturating_add(shortened);
        }
        shortened
    }

    /// Returns the description of trees like this one.
    ///
    /// # Errors
    /// When it has too many entries.
    pub fn shape(mut self) -> Result<MeasuredShape, ShapeError> {
        let Some(depth) = self.levels.len().checked_sub(1) else {
            return Err(ShapeError::Tree("it is empty".to_owned()));
        };
        // Paths of the original vary, but any path of a tree may have the longest names.
        let longest = name_bytes_within(depth).min(NAME_LENGTH_MAX);
        let shortened = self.shorten(longest);
        let sizes = joined(&self.sizes);
        let sizes = sizes
            .into_iter()
            .map(|(bytes, count)| (Size(bytes), f64::from(count)));
        let sizes = TreeSizes::Weights(sizes.collect());
        let lengths = self
            .names
            .into_iter()
            .map(|(length, count)| (length as u8, count));
        let default = TreeShape::default();
        let shape = TreeShape {
            levels: self.levels,
            sizes: if sizes == TreeSizes::Weights(Vec::new()) {
                default.sizes
            } else {
                sizes
            },
            names: TreeNames {
                length: NameLengths::of_counts(lengths).unwrap_or_default(),
                ..TreeNames::default()
            },
            ..TreeShape::default()
        };
        match Tree::new(shape.clone()) {
            Ok(_) => Ok(MeasuredShape {
                shape,
                deeper: self.deeper,
                shortened,
                longest,
                is_in_one: false,
            }),
            Err(problem) => Err(ShapeError::Tree(problem.to_string())),
        }
    }
}

/// Joins sizes that are close together, if there are many. A joined size is the mean of its
/// files, so that all files together keep their bytes.
fn joined(sizes: &BTreeMap<u64, u32>) -> Vec<(u64, u32)> {
    if sizes.len() <= SIZES_MAX {
        return sizes
            .iter()
            .map(|(&bytes, &count)| (bytes, count))
            .collect();
    }
    let mut classes: BTreeMap<u64, (u128, u32)> = BTreeMap::new();
    for (&bytes, &count) in sizes {
        let class = ((bytes as f64 + 1.0).log2() * SIZES_PER_POWER) as u64;
        let (sum, files) = classes.entry(class).or_default();
        *sum += u128::from(bytes) * u128::from(count);
        *files = files.saturating_add(count);
    }
    let mean = |(sum, files): (u128, u32)| ((sum / u128::from(files.max(1))) as u64, files);
    classes.into_values().map(mean).collect()
}

/// Returns the text of a shape.
#[must_use]
pub fn write(shape: &TreeShape) -> String {
    let mut text = format!("{HEADER}\n");
    // Writing to a String cannot fail.
    for (at, level) in shape.levels.iter().enumerate() {
        let _ = writeln!(text, "level\t{at}\t{}\t{}", level.directories, level.files);
    }
    for (length, count) in shape.names.length.counts() {
        let _ = writeln!(text, "name\t{length}\t{count}");
    }
    if let TreeSizes::Weights(sizes) = &shape.sizes {
        for (size, count) in sizes {
            let _ = writeln!(text, "size\t{}\t{count}", size.0);
        }
    }
    text
}

/// Reads a shape, or the shape of a listing.
///
/// # Errors
/// When a line is not understood, or the shape is not that of a tree.
pub fn read(bytes: &[u8]) -> Result<MeasuredShape, ShapeError> {
    let mut measured = MeasuredTree::default();
    let mut is_shape = None;
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\r');
        if text.trim().is_empty() || (text.starts_with('#') && is_shape != Some(false)) {
            continue;
        }
        let is_shape =
            *is_shape.get_or_insert_with(|| SHAPE_WORDS.iter().any(|w| text.starts_with(w)));
        let added = if is_shape {
            measured.line(text)
        } else {
            measured.listed(text)
        };
        let (line, start) = (at + 1, || text.chars().take(80).collect());
        match added {
            Some(()) => {}
            None if is_shape => {
                return Err(ShapeError::Line {
                    line,
                    text: start(),
                });
            }
            None if let Some(path) = path_above(text) => {
                let path = path.chars().take(80).collect();
                return Err(ShapeError::Above { line, path });
            }
            None => {
                return Err(ShapeError::Listing {
                    line,
                    text: start(),
                });
            }
        }
    }
    let mut is_in_one = false;
    if is_shape == Some(false) {
        // A listing may leave out the directory that it is of.
        let below = measured.levels.get(1).map_or(0, |level| level.directories);
        let root = measured.level(0);
        is_in_one = (root.directories, root.files, below) == (0, 0, 1);
        root.directories = root.directories.max(1);
    }
    let found = measured.shape()?;
    Ok(MeasuredShape { is_in_one, ..found })
}

/// Returns the path of a line of a listing, if it does not begin below the listed directory.
fn path_above(text: &str) -> Option<&str> {
    let path = text.splitn(3, '\t').nth(2)?;
    let is_above = path.starts_with('/') || path.split('/').any(|name| name == "..");
    is_above.then_some(path)
}

impl MeasuredTree {
    /// Adds a line of a shape.
    fn line(&mut self, text: &str) -> Option<()> {
        let fields: Vec<_> = text.split_whitespace().collect();
        match fields[..] {
            ["level", level, directories, files] => {
                let level: usize = level.parse().ok()?;
                if Self::is_too_deep(level) {
                    return None;
                }
                *self.level(level) = LevelShape {
                    directories: directories.parse().ok()?,
                    files: files.parse().ok()?,
                };
            }
            ["name", length, count] => {
                let length: usize = length.parse().ok()?;
                if !(1..=NAME_LENGTH_MAX).contains(&length) {
                    return None;
                }
                self.names.insert(length, count.parse().ok()?);
            }
            ["size", bytes, count] => {
                self.sizes.insert(bytes.parse().ok()?, count.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds a line of a listing. Links and other entries that are neither files nor directories
    /// are left out.
    fn listed(&mut self, text: &str) -> Option<()> {
        let mut fields = text.splitn(3, '\t');
        let (of, bytes, path) = (fields.next()?, fields.next()?, fields.next()?);
        let bytes: u64 = bytes.trim().parse().ok()?;
        if of.len() != 1 || path_above(text).is_some() {
            return None;
        }
        let names = || path.split('/').filter(|name| !["", "."].contains(name));
        let level = names().count();
        match (of, names().next_back()) {
            ("d", name) => self.directory(level, name.unwrap_or_default()),
            ("f", Some(name)) => self.file(level - 1, name, bytes),
            ("f", None) => return None,
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
