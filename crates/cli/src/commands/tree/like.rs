//! The shape of a tree that exists: of a local directory, or of a file with a shape or a listing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use smbench_formats::shape::{self, MeasuredShape, MeasuredTree};
use smbench_model::tree::{LevelShape, TREE_DEPTH_MAX, TreeShape};
use smbench_report::units::counted;

use crate::failure::Failure;
use crate::output::complain;

/// Returns the shape of a directory, of a file of `smbench tree shape`, or of a listing. Prints
/// what it lacks.
pub(super) fn of(path: &Path) -> Result<TreeShape, Failure> {
    let found = if path.is_dir() {
        measure(path)
    } else {
        read(path)
    }?;
    for line in losses(&found) {
        complain(format!("{}: {line}", path.display()));
    }
    Ok(found.shape)
}

/// Describes what a shape lacks of the tree that was measured, and what may be too much.
fn losses(found: &MeasuredShape) -> Vec<String> {
    let LevelShape { directories, files } = found.deeper;
    let deeper = (directories > 0 || files > 0).then(|| {
        format!(
            "the shape leaves out {} deeper than {TREE_DEPTH_MAX} levels, with {}",
            counted(directories.into(), "directory"),
            counted(files.into(), "file")
        )
    });
    let shortened = (found.shortened > 0).then(|| {
        format!(
            "the shape shortens {} to {} characters, so that no path is too long",
            counted(found.shortened.into(), "name"),
            found.longest
        )
    });
    let in_one = found.is_in_one.then(|| {
        "one directory has all of the listing: make it with %P, unless that directory is a part of \
         the tree"
            .to_owned()
    });
    deeper.into_iter().chain(shortened).chain(in_one).collect()
}

fn read(file: &Path) -> Result<MeasuredShape, Failure> {
    let text = fs::read(file).map_err(unreadable(file))?;
    shape::read(&text).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// Returns the failure for a file or a directory that the user gave.
fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Usage(format!("cannot read {}: {error}", path.display()))
}

/// Measures a local directory. Links and other entries that are neither files nor directories
/// are left out.
fn measure(folder: &Path) -> Result<MeasuredShape, Failure> {
    let mut measured = MeasuredTree::default();
    measured.directory(0, "");
    let mut waiting: Vec<(PathBuf, usize)> = vec![(folder.to_owned(), 0)];
    while let Some((path, level)) = waiting.pop() {
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            // The path of what is only counted may be too long for the system.
            Err(_) if MeasuredTree::is_too_deep(level) => continue,
            Err(error) => return Err(unreadable(&path)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(unreadable(&path))?;
            let facts = entry.metadata().map_err(unreadable(&entry.path()))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if facts.is_dir() {
                measured.directory(level + 1, &name);
                waiting.push((entry.path(), level + 1));
            } else if facts.is_file() {
                measured.file(level, &name, facts.len());
            }
        }
    }
    measured
        .shape()
        .map_err(|error| Failure::Usage(format!("{}: {error}", folder.display())))
}
