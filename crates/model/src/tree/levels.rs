//! The levels of a tree: which directory holds which directories and files.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Children, TREE_DEPTH_MAX, TREE_DIRECTORIES_MAX, TREE_FILES_MAX, TreeProblem, TreeShape,
};

/// Directories in a directory, if neither depth nor fan-out is given.
const FAN_OUT: u32 = 10;

/// Number of directories and of files in all directories of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelShape {
    /// Directories of the level; 1 for the root.
    pub directories: u32,
    /// Files in these directories.
    pub files: u32,
}

/// A level: a range of directories, and the range of files in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeLevel {
    directories: Range<u32>,
    files: Range<u32>,
}

/// The levels, from the root. Each has a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels(Box<[TreeLevel]>);

impl Levels {
    pub(super) fn of(shape: &TreeShape) -> Result<Self, TreeProblem> {
        let levels = if shape.levels.is_empty() {
            check_numbers(shape)?;
            spread(shape)?
        } else {
            check_levels(&shape.levels)?;
            shape.levels.clone()
        };
        let (mut directories, mut files) = (0, 0);
        let levels = levels.iter().map(|level| {
            let first = (directories, files);
            directories += level.directories;
            files += level.files;
            TreeLevel {
                directories: first.0..directories,
                files: first.1..files,
            }
        });
        Ok(Self(levels.collect()))
    }

    pub(super) fn directories(&self) -> u32 {
        self.last().directories.end
    }

    pub(super) fn files(&self) -> u32 {
        self.last().files.end
    }

    fn last(&self) -> &TreeLevel {
        &self.0[self.0.len() - 1]
    }

    pub(super) fn depth(&self) -> u32 {
        self.0.len() as u32 - 1
    }

    pub(super) fn fan_out(&self) -> u32 {
        let pairs = self.0.windows(2);
        let most = pairs.map(|pair| {
            let [above, below] = [&pair[0], &pair[1]].map(|level| level.directories.len() as u32);
            below.div_ceil(above)
        });
        most.max().unwrap_or(0)
    }

    pub(super) fn directories_by_level(&self) -> impl DoubleEndedIterator<Item = Range<u32>> {
        self.0.iter().map(|level| level.directories.clone())
    }

    /// Returns the largest number of entries of a directory, or a little more.
    pub(super) fn largest_directory(&self) -> usize {
        let below = self.0.iter().skip(1).map(|level| level.directories.len());
        let entries = self.0.iter().zip(below.chain([0]));
        let most = entries.map(|(level, below)| {
            let parents = level.directories.len();
            level.files.len().div_ceil(parents) + below.div_ceil(parents)
        });
        most.max().unwrap_or(0)
    }

    /// Returns the level of a directory.
    fn level_of(&self, directory: u32) -> usize {
        self.0
            .partition_point(|level| level.directories.end <= directory)
    }

    pub(super) fn children(&self, directory: u32) -> Children {
        let at = self.level_of(directory);
        let level = &self.0[at];
        let parent = directory - level.directories.start;
        let parents = &level.directories;
        let below = self.0.get(at + 1);
        Children {
            files: share(parent, parents, &level.files),
            directories: below.map_or(self.directories()..self.directories(), |below| {
                share(parent, parents, &below.directories)
            }),
        }
    }

    pub(super) fn parent(&self, directory: u32) -> Option<u32> {
        let at = self.level_of(directory);
        let above = &self.0[at.checked_sub(1)?].directories;
        Some(owner(directory, &self.0[at].directories, above))
    }

    pub(super) fn directory_of(&self, file: u32) -> u32 {
        let at = self.0.partition_point(|level| level.files.end <= file);
        let level = &self.0[at];
        owner(file, &level.files, &level.directories)
    }
}

/// Returns the part of `children` that belongs to one of `parents`, which have equal parts.
fn share(parent: u32, parents: &Range<u32>, children: &Range<u32>) -> Range<u32> {
    let bound = |parent: u32| {
        let before = u64::from(parent) * children.len() as u64 / parents.len() as u64;
        children.start + before as u32
    };
    bound(parent)..bound(parent + 1)
}

/// Returns the one of `parents` that [`share`] gives a child.
fn owner(child: u32, children: &Range<u32>, parents: &Range<u32>) -> u32 {
    let after = u64::from(child - children.start) + 1;
    let parent = (after * parents.len() as u64 - 1) / children.len() as u64;
    parents.start + parent as u32
}

fn check_numbers(shape: &TreeShape) -> Result<(), TreeProblem> {
    let depth = shape.depth.unwrap_or(0);
    if !(1..=TREE_DIRECTORIES_MAX).contains(&shape.directories) {
        Err(TreeProblem::Directories(shape.directories))
    } else if shape.files > TREE_FILES_MAX {
        Err(TreeProblem::Files(shape.files))
    } else if depth > TREE_DEPTH_MAX {
        Err(TreeProblem::Depth(depth))
    } else if shape.fan_out == Some(0) {
        Err(TreeProblem::FanOutZero)
    } else {
        Ok(())
    }
}

fn check_levels(levels: &[LevelShape]) -> Result<(), TreeProblem> {
    let sum = |count: fn(&LevelShape) -> u32| {
        let all = levels.iter().map(|level| u64::from(count(level)));
        u32::try_from(all.sum::<u64>()).unwrap_or(u32::MAX)
    };
    let (directories, files) = (sum(|level| level.directories), sum(|level| level.files));
    let wrong = (0..).zip(levels).find(|(at, level)| match at {
        0 => level.directories != 1,
        _ => level.directories == 0,
    });
    if let Some((at, _)) = wrong {
        Err(TreeProblem::Level(at))
    } else if levels.len() - 1 > TREE_DEPTH_MAX as usize {
        Err(TreeProblem::Depth(levels.len() as u32 - 1))
    } else if directories > TREE_DIRECTORIES_MAX {
        Err(TreeProblem::Directories(directories))
    } else if files > TREE_FILES_MAX {
        Err(TreeProblem::Files(files))
    } else {
        Ok(())
    }
}

/// Fills the levels from the root, and spreads the files over all directories.
fn spread(shape: &TreeShape) -> Result<Vec<LevelShape>, TreeProblem> {
    let (count, files) = (shape.directories, u64::from(shape.files));
    let (depth, fan_out) = match (shape.depth, shape.fan_out) {
        (None, fan_out) => (TREE_DEPTH_MAX, fan_out.unwrap_or(FAN_OUT)),
        (Some(depth), Some(fan_out)) => (depth, fan_out),
        (Some(depth), None) => (depth, fan_out_for(count, depth)),
    };
    let mut levels = Vec::new();
    let (mut made, mut next) = (0, 1);
    for _ in 0..=depth {
        let here = next.min(u64::from(count) - made);
        let before = made * files / u64::from(count);
        made += here;
        let after = made * files / u64::from(count);
        levels.push(LevelShape {
            directories: here as u32,
            files: (after - before) as u32,
        });
        if made == u64::from(count) {
            return Ok(levels);
        }
        next = here * u64::from(fan_out);
    }
    // A fan-out that nobody gave is none to blame.
    let is_given = shape.depth.is_none() || shape.fan_out.is_some();
    let given = if is_given {
        format!("depth {depth} and fan-out {fan_out} hold")
    } else {
        format!("depth {depth} holds")
    };
    let directories = if made == 1 {
        "directory"
    } else {
        "directories"
    };
    Err(TreeProblem::TooShallow {
        room: format!("{given} {made} {directories}"),
        directories: count,
        advice: advice(count, depth, fan_out),
    })
}

/// Returns the number of directories, at most `enough`, that a depth and a fan-out hold.
fn held(depth: u32, fan_out: u32, enough: u32) -> u64 {
    let (mut all, mut level) = (1, 1);
    for _ in 0..depth {
        level = u64::from(fan_out).saturating_mul(level).min(1 << 32);
        all += level;
        if all >= u64::from(enough) {
            break;
        }
    }
    all
}

/// Returns the smallest fan-out with which this depth holds `count` directories.
fn fan_out_for(count: u32, depth: u32) -> u32 {
    let (mut low, mut high) = (1, count.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if held(depth, middle, count) >= u64::from(count) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns the smallest depth, and the smallest fan-out, that hold `count` directories.
fn advice(count: u32, depth: u32, fan_out: u32) -> String {
    let holds = |depth: u32, fan_out: u32| held(depth, fan_out, count) >= u64::from(count);
    let deeper = (depth..=TREE_DEPTH_MAX).find(|&depth| holds(depth, fan_out));
    let wider = Some(fan_out_for(count, depth)).filter(|&wider| holds(depth, wider));
    let parts = [
        deeper.map(|deeper| format!("depth {deeper}")),
        wider.map(|wider| format!("fan-out {wider}")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "1 directory".to_owned()
    } else {
        parts.join(" or ")
    }
}
