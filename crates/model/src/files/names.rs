//! The names of copies, and those that no file has.

use std::fmt;

use super::{COPIED_TREES, FileSet, Layout, ScratchName, is_number};
use crate::random::finalise;

impl FileSet {
    /// Appends the path of the file that `client` copies to the server as number `copy`:
    /// `c00001-f10000000000.dat`. No work file has as many digits. In a tree it is the path of
    /// a file of the client's copy of the tree. When a client copies the tree again, the names
    /// of the files get the number of the copy as an extension.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_copy_name(
        &self,
        client: u32,
        copy: u32,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        let Layout::Tree(tree) = &self.layout else {
            return write!(out, "c{client:05}-f1{copy:010}.dat");
        };
        Self::append_copied_tree(client, out)?;
        out.write_char('\\')?;
        tree.append_file(copy % tree.files(), out)?;
        match copy / tree.files() {
            0 => Ok(()),
            again => write!(out, ".{again}"),
        }
    }

    /// Appends the path of the directory that holds a client's copy of a tree:
    /// `copies\c00001`.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_copied_tree(client: u32, out: &mut impl fmt::Write) -> fmt::Result {
        write!(out, "{COPIED_TREES}\\c{client:05}")
    }

    /// Appends a path that no file has: `c00001-f20000000000.dat`, in a tree in any of its
    /// directories.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_missing_name(
        &self,
        client: u32,
        number: u32,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        if let Layout::Tree(tree) = &self.layout {
            let random = finalise(u64::from(client) << 32 | u64::from(number));
            let directory = tree.popular_directory(random);
            if directory != 0 {
                tree.append_directory(directory, out)?;
                out.write_char('\\')?;
            }
        }
        Self::append_missing_file(client, number, out)
    }

    /// Appends a name that no file has, without a directory.
    ///
    /// # Errors
    /// Only if `out` refuses the text.
    pub fn append_missing_file(client: u32, number: u32, out: &mut impl fmt::Write) -> fmt::Result {
        write!(out, "c{client:05}-f2{number:010}.dat")
    }

    /// Whether [`FileSet::file_name`] or [`ScratchName::of`] makes names like this
    /// one. A clean-up touches no other names.
    #[must_use]
    pub fn is_file_name(name: &str) -> bool {
        ScratchName::is_like(name) || Self::is_work_file_name(name)
    }

    /// Whether [`FileSet::append_copy_name`] makes names like this one.
    #[must_use]
    pub fn is_copy_name(name: &str) -> bool {
        let digits = name
            .strip_suffix(".dat")
            .and_then(|stem| stem.split_once("-f1"));
        Self::is_work_file_name(name) && digits.is_some_and(|(_, copy)| copy.len() == 10)
    }

    fn is_work_file_name(name: &str) -> bool {
        let number = is_number;
        name.strip_suffix(".dat")
            .and_then(|stem| stem.split_once("-f"))
            .is_some_and(|(owner, file)| {
                number(file) && (owner == "shared" || owner.strip_prefix('c').is_some_and(number))
            })
    }
}
