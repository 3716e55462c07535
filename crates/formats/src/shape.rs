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

use std::collections::BTreeMap;
use std::fmt::Write as _;

use smbench_model::tree::{
    LevelShape, NameLengths, TREE_DEPTH_MAX, Tree, TreeNames, TreeShape, TreeSizes,
};
use smbench_model::units::Size;
use thiserror::Error;

/// First line of a file.
const HEADER: &str = "# smbench tree shape";
/// Number of different sizes that are kept. More are joined with their neighbours.
const SIZES_MAX: usize = 200;
/// Sizes of a power of two, when sizes are joined.
const SIZES_PER_POWER: f64 = 8.0;
/// The longest name in characters.
const NAME_LENGTH_MAX: usize = 255;

/// A file that is not a shape.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// A line is not understood.
    #[error("line {line}: `{text}` is no line of a shape: level, name or size, with numbers")]
    Line {
        /// Line, from 1.
        line: usize,
        /// Its text.
        text: String,
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
}

impl MeasuredTree {
    fn level(&mut self, level: usize) -> &mut LevelShape {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, LevelShape::default());
        }
        &mut self.levels[level]
    }

    /// Adds a directory of a level, from 0 for the root.
    pub fn directory(&mut self, level: usize) {
        let directories = &mut self.level(level).directories;
        *directories = directories.saturating_add(1);
    }

    /// Adds a file of this size in a directory of a level.
    pub fn file(&mut self, level: usize, bytes: u64) {
        let files = &mut self.level(level).files;
        *files = files.saturating_add(1);
        let count = self.sizes.entry(bytes).or_default();
        *count = count.saturating_add(1);
    }

    /// Adds a name of this many characters.
    pub fn name(&mut self, length: usize) {
        let count = self
            .names
            .entry(length.clamp(1, NAME_LENGTH_MAX))
            .or_default();
        *count = count.saturating_add(1);
    }

    /// Returns the description of trees like this one.
    ///
    /// # Errors
    /// When it has too many entries.
    pub fn shape(self) -> Result<TreeShape, ShapeError> {
        if self.levels.is_empty() {
            return Err(ShapeError::Tree("it has no level".to_owned()));
        }
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
            Ok(_) => Ok(shape),
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

/// Reads a shape.
///
/// # Errors
/// When a line is not understood, or the shape is not that of a tree.
pub fn read(bytes: &[u8]) -> Result<TreeShape, ShapeError> {
    let mut measured = MeasuredTree::default();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        measured.line(text).ok_or_else(|| ShapeError::Line {
            line: at + 1,
            text: text.chars().take(80).collect(),
        })?;
    }
    measured.shape()
}

impl MeasuredTree {
    /// Adds a line of a shape.
    fn line(&mut self, text: &str) -> Option<()> {
        let fields: Vec<_> = text.split_whitespace().collect();
        match fields[..] {
            ["level", level, directories, files] => {
                let level: usize = level.parse().ok()?;
                if level > TREE_DEPTH_MAX as usize {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> MeasuredTree {
        let mut measured = MeasuredTree::default();
        for (level, directories, files) in [(0, 1, 2), (1, 3, 40), (2, 5, 0)] {
            (0..directories).for_each(|_| measured.directory(level));
            (0..files).for_each(|file| measured.file(level, file * 100));
        }
        [1, 8, 8, 300]
            .into_iter()
            .for_each(|length| measured.name(length));
        measured
    }

    #[test]
    fn a_shape_is_read_as_it_was_written() {
        let shape = measured().shape().unwrap();
        let text = write(&shape);
        assert!(
            text.contains(
                "level\t1\t3\t40\nlevel\t2\t5\t0\nname\t1\t1\nname\t8\t2\nname\t255\t1\n"
            )
        );
        assert_eq!(read(text.as_bytes()), Ok(shape));
    }

    #[test]
    fn many_sizes_are_joined_and_keep_their_bytes() {
        let sizes: BTreeMap<u64, u32> = (0..5000).map(|size| (size * 37, 2)).collect();
        let joined = joined(&sizes);
        assert!(joined.len() <= SIZES_MAX, "{}", joined.len());
        let bytes = |sizes: &[(u64, u32)]| -> f64 {
            sizes
                .iter()
                .map(|&(bytes, count)| bytes as f64 * f64::from(count))
                .sum()
        };
        let exact: Vec<_> = sizes.into_iter().collect();
        let share = bytes(&joined) / bytes(&exact);
        assert!((share - 1.0).abs() < 0.001, "{share}");
    }

    #[test]
    fn what_is_no_shape_is_refused_with_its_line() {
        for (text, line) in [
            ("level\t0\t1", 1),
            ("# a\nlevel 0 1 1\nsize x 1", 3),
            ("name 256 1", 1),
            ("level 33 1 1", 1),
            ("\u{0}\u{1}", 1),
        ] {
            let found = read(text.as_bytes()).unwrap_err();
            assert!(
                matches!(found, ShapeError::Line { line: at, .. } if at == line),
                "{text}: {found}"
            );
        }
        for text in ["", "level 0 2 1", "level 1 1 1", "level 0 1 4294967295"] {
            let found = read(text.as_bytes());
            assert!(
                matches!(found, Err(ShapeError::Tree(_))),
                "{text}: {found:?}"
            );
        }
    }
}
