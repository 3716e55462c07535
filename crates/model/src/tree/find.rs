//! Which entry of a tree has a name.

use super::Tree;
use super::names::{DIGITS, width};

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// A file, by its number.
    File(u32),
    /// A directory, by its number.
    Directory(u32),
}

impl Tree {
    /// Returns the entry of a directory that has this name, in any case of its ASCII letters;
    /// `None` if there is none. `buffer` is memory for one name.
    #[must_use]
    pub fn find(&self, directory: u32, name: &str, buffer: &mut String) -> Option<TreeEntry> {
        let all = self.children(directory);
        let stem = name
            .split_once('.')
            .map_or(name, |(stem, _)| stem)
            .as_bytes();
        let digits = &stem[stem.len().checked_sub(width(all.len()))?..];
        let index = digits.iter().try_fold(0, |index, digit| {
            let value = DIGITS
                .iter()
                .position(|known| *known == digit.to_ascii_lowercase())?;
            Some(index << 5 | value)
        })?;
        let files = all.files.len();
        let entry = if index < files {
            TreeEntry::File(all.files.start + index as u32)
        } else if index < all.len() {
            TreeEntry::Directory(all.directories.start + (index - files) as u32)
        } else {
            return None;
        };
        buffer.clear();
        match entry {
            TreeEntry::File(file) => self.append_file_name(file, buffer),
            TreeEntry::Directory(directory) => self.append_directory_name(directory, buffer),
        }
        .ok()?;
        buffer.eq_ignore_ascii_case(name).then_some(entry)
    }
}
