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
         '%y\\t%s\\t%P\\n'` writes one"
    )]
    Listing {
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

/// Reads a shape, or the shape of a listing.
///
/// # Errors
/// When a line is not understood, or the shape is not that of a tree.
pub fn read(bytes: &[u8]) -> Result<TreeShape, ShapeError> {
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
            None => {
                return Err(ShapeError::Listing {
                    line,
                    text: start(),
                });
            }
        }
    }
    if is_shape == Some(false) {
        // A listing may leave out the directory that it is of.
        let root = measured.level(0);
        root.directories = root.directories.max(1);
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

    /// Adds a line of a listing. Links and other entries that are neither files nor directories
    /// are left out, and so are directories deeper than a tree can be.
    fn listed(&mut self, text: &str) -> Option<()> {
        let mut fields = text.splitn(3, '\t');
        let (of, bytes, path) = (fields.next()?, fields.next()?, fields.next()?);
        let bytes: u64 = bytes.trim().parse().ok()?;
        let is_above = path.starts_with('/') || path.split('/').any(|name| name == "..");
        if of.len() != 1 || is_above {
            return None;
        }
        let names = || path.split('/').filter(|name| !["", "."].contains(name));
        let level = names().count();
        let length = names().next_back().map(|name| name.chars().count());
        match (of, length) {
            ("d", _) if level > TREE_DEPTH_MAX as usize => {}
            ("d", length) => {
                self.directory(level);
                length.into_iter().for_each(|length| self.name(length));
            }
            ("f", Some(length)) if level <= TREE_DEPTH_MAX as usize + 1 => {
                self.name(length);
                self.file(level - 1, bytes);
            }
            ("f", None) => return None,
            _ => {}
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
    fn a_listing_has_the_shape_of_its_tree() {
        let listing = "d\t4096\t\nd\t4096\tphotos\nf\t7\tphotos/one two.jpg\nl\t3\tlink\nf\t9\ta\n";
        let mut same = MeasuredTree::default();
        [0, 1].into_iter().for_each(|level| same.directory(level));
        same.file(1, 7);
        same.file(0, 9);
        [6, 11, 1].into_iter().for_each(|length| same.name(length));
        let same = same.shape();
        assert_eq!(read(listing.as_bytes()), same);
        let without_root = listing.split_once('\n').unwrap().1.replace('\n', "\r\n");
        assert_eq!(read(without_root.as_bytes()), same);
        for wrong in [
            "\u{0}\u{1}",
            "f\t7\t/srv/a",
            "f 7 a",
            "f\tx\ta",
            "f\t7\t",
            "d\t0\t../a",
            "photos/one.jpg",
        ] {
            let text = wrong.to_owned();
            assert_eq!(
                read(wrong.as_bytes()),
                Err(ShapeError::Listing { line: 1, text })
            );
        }
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
