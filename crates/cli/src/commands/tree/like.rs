//! The shape of a tree that exists: of a local directory, or of a file with a shape or a listing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use smbench_formats::shape::{self, MeasuredTree};
use smbench_model::tree::{TREE_DEPTH_MAX, TreeShape};

use crate::failure::Failure;

/// Returns the shape of a directory, of a file of `smbench tree shape`, or of a listing.
pub(super) fn of(path: &Path) -> Result<TreeShape, Failure> {
    if path.is_dir() {
        measure(path)
    } else {
        read(path)
    }
}

fn read(file: &Path) -> Result<TreeShape, Failure> {
    let text = fs::read(file).map_err(unreadable(file))?;
    shape::read(&text).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// Returns the failure for a file or a directory that the user gave.
fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Usage(format!("cannot read {}: {error}", path.display()))
}

/// Measures a local directory. Links and other entries that are neither files nor directories
/// are left out, and so are directories deeper than a tree can be.
fn measure(folder: &Path) -> Result<TreeShape, Failure> {
    let mut measured = MeasuredTree::default();
    let mut waiting: Vec<(PathBuf, usize)> = vec![(folder.to_owned(), 0)];
    while let Some((path, level)) = waiting.pop() {
        measured.directory(level);
        let entries = fs::read_dir(&path).map_err(unreadable(&path))?;
        for entry in entries {
            let entry = entry.map_err(unreadable(&path))?;
            let facts = entry.metadata().map_err(unreadable(&entry.path()))?;
            let name = entry.file_name();
            let length = name.to_string_lossy().chars().count();
            if facts.is_dir() && level < TREE_DEPTH_MAX as usize {
                measured.name(length);
                waiting.push((entry.path(), level + 1));
            } else if facts.is_file() {
                measured.name(length);
                measured.file(level, facts.len());
            }
        }
    }
    measured
        .shape()
        .map_err(|error| Failure::Usage(format!("{}: {error}", folder.display())))
}
