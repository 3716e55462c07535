//! Names of files and directories that a run makes on the share.

use smbench_model::files::{COPIED_TREES, FileSet, ScratchName};

use crate::smb::calls::EntryKind;

pub(super) const DIRECTORY_PREFIX: &str = "smbench-";
/// Digits of [`crate::smb::session::random_u64`] in hexadecimal.
pub(super) const DIRECTORY_DIGITS: usize = 16;
pub(super) const MARKER: &str = "smbench.run";
/// Name of the directory of prepared files, below the target's path.
pub(super) const FILEIO_DIRECTORY: &str = "smbench-fileio";
/// Name of the manifest in that directory.
pub(super) const MANIFEST: &str = "fileio.json";
/// Name of the directory of a prepared tree, below the target's path.
pub(super) const TREE_DIRECTORY: &str = "smbench-tree";
/// Name of the description in that directory.
pub(super) const TREE_MANIFEST: &str = "tree.json";
/// Name of the root of a tree, inside that directory or that of a run.
pub(crate) const TREE_ROOT: &str = "tree";
/// Name of the directory for replays, inside that of the run. No other entry of it can have
/// this name.
pub(crate) const REPLAY_DIRECTORY: &str = "replay";

/// Directories of a run whose whole contents it made.
pub(super) const OWN_TREES: [&str; 3] = [REPLAY_DIRECTORY, TREE_ROOT, COPIED_TREES];

/// Returns whether a directory of this name has prepared files, which stay after runs.
pub(super) fn is_kept_directory(name: &str) -> bool {
    name == FILEIO_DIRECTORY || name == TREE_DIRECTORY
}

/// Returns whether a file of this name was made by a run.
pub(super) fn own_name(name: &str) -> bool {
    name == MANIFEST || name == TREE_MANIFEST || FileSet::is_file_name(name)
}

pub(super) fn is_run_directory(name: &str) -> bool {
    name.strip_prefix(DIRECTORY_PREFIX).is_some_and(|digits| {
        digits.len() == DIRECTORY_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Kind of an entry that a run makes.
pub(super) enum Own {
    /// A file, or an empty directory.
    One(EntryKind),
    /// A directory whose whole contents a run made.
    Tree,
}

/// Returns the kind of an entry; `None` if no run made it.
pub(super) fn own(name: &str, is_directory: bool) -> Option<Own> {
    let kind = match is_directory {
        false if name == MANIFEST || name == TREE_MANIFEST => Some(EntryKind::File),
        true if OWN_TREES.contains(&name) => return Some(Own::Tree),
        true => ScratchName::is_like(name).then_some(EntryKind::Directory),
        false => FileSet::is_file_name(name).then_some(EntryKind::File),
    };
    kind.map(Own::One)
}

/// Returns whether a run makes entries of this name in its directory.
pub(super) fn is_inside(name: &str) -> bool {
    name == MARKER || OWN_TREES.contains(&name) || own_name(name)
}
