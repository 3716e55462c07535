//! Clean-ups of a share in memory.

use std::collections::{BTreeMap, BTreeSet};

use smbench_protocol::FileId;
use smbench_protocol::command::FileTime;
use smbench_protocol::command::create::CreateRequest;

use super::*;
use crate::smb::calls::{Listing, ListingBounds};
use crate::smb::session::StepFailure;

/// A share, whose directories have their names in the order of the alphabet.
#[derive(Default)]
struct CleanedShare {
    /// Entries by their paths, and whether each is a directory.
    entries: BTreeMap<String, bool>,
    /// Paths that are never deleted, although the server accepts it.
    held: BTreeSet<String>,
    listings: usize,
    /// Most entries in one listing.
    most: usize,
    /// Whether a new file appears for each that is deleted.
    is_inventive: bool,
}

impl CleanedShare {
    fn with(files: usize, directories: usize) -> Self {
        let mut disk = Self::default();
        disk.entries.insert("top".to_owned(), true);
        for file in 0..files {
            disk.entries.insert(format!(r"top\f{file:06}"), false);
        }
        for directory in 0..directories {
            let path = format!(r"top\d{directory:06}");
            disk.entries.insert(format!(r"{path}\inner"), true);
            disk.entries.insert(format!(r"{path}\inner\file"), false);
            disk.entries.insert(path, true);
        }
        disk
    }

    fn inside(&self, path: &str) -> impl Iterator<Item = (&str, bool)> {
        let above = format!(r"{path}\");
        let below = self.entries.range(above.clone()..);
        below
            .map_while(move |(path, is_directory)| {
                Some((path.strip_prefix(&above)?, *is_directory))
            })
            .filter(|(name, _)| !name.contains('\\'))
    }
}

impl FileCalls for CleanedShare {
    async fn open_file(&mut self, _: &str, _: &CreateRequest<'_>) -> Result<FileId, SessionError> {
        unreachable!("a clean-up opens nothing")
    }

    async fn close_file(&mut self, _: &str, _: FileId) -> Result<(), SessionError> {
        unreachable!("a clean-up opens nothing")
    }

    async fn delete_entry(
        &mut self,
        _: &str,
        path: &str,
        kind: EntryKind,
    ) -> Result<(), SessionError> {
        let is_directory = matches!(kind, EntryKind::Directory);
        assert_eq!(self.entries.get(path), Some(&is_directory), "{path}");
        if !self.held.contains(path) && self.inside(path).next().is_none() {
            self.entries.remove(path);
            if self.is_inventive {
                self.entries.insert(format!("{path}0"), is_directory);
            }
        }
        Ok(())
    }

    fn read_limit(&self) -> u32 {
        0
    }

    async fn read_at(
        &mut self,
        _: &str,
        _: FileId,
        _: u64,
        _: u32,
    ) -> Result<Vec<u8>, SessionError> {
        unreachable!("a clean-up reads nothing")
    }

    fn write_limit(&self) -> u32 {
        0
    }

    async fn write_at(
        &mut self,
        _: &str,
        _: FileId,
        _: u64,
        _: u32,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u32, SessionError> {
        unreachable!("a clean-up writes nothing")
    }

    async fn flush(&mut self, _: &str, _: FileId) -> Result<(), SessionError> {
        unreachable!("a clean-up writes nothing")
    }

    async fn list_wanted(
        &mut self,
        _: &str,
        path: &str,
        bounds: ListingBounds,
        wanted: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<Listing, SessionError> {
        let mut entries = Vec::new();
        let mut end = ListingEnd::Whole;
        for (name, is_directory) in self.inside(path) {
            let entry = Entry {
                name: name.to_owned(),
                end_of_file: 0,
                is_directory,
                created: FileTime(0),
            };
            if wanted(&entry) {
                entries.push(entry);
            }
            if entries.len() > bounds.most {
                end = ListingEnd::Cut;
                break;
            }
        }
        self.listings += 1;
        self.most = self.most.max(entries.len());
        Ok(Listing { entries, end })
    }

    async fn free_bytes(&mut self, _: &str, _: &str) -> Result<Option<u64>, SessionError> {
        Ok(None)
    }

    fn failed_call(&self, _: &str, _: StepFailure) -> SessionError {
        SessionError::Interrupted
    }
}

async fn delete_top(disk: &mut CleanedShare) -> usize {
    let mut found = 0;
    let mut count = |_: &Entry| {
        found += 1;
        ControlFlow::Continue(())
    };
    delete_tree(disk, "top", &mut count).await.unwrap();
    found
}

#[tokio::test]
async fn a_large_directory_goes_part_by_part() {
    let mut disk = CleanedShare::with(3 * PART_NAMES, 5);
    assert_eq!(delete_top(&mut disk).await, 3 * PART_NAMES + 15);
    assert_eq!(disk.entries, BTreeMap::new());
    assert_eq!(disk.most, PART_NAMES + 1);
}

#[tokio::test]
async fn a_small_tree_takes_one_listing_of_each_directory() {
    let mut disk = CleanedShare::with(3, 2);
    assert_eq!(delete_top(&mut disk).await, 9);
    assert_eq!(disk.entries, BTreeMap::new());
    assert_eq!(disk.listings, 5);
}

#[tokio::test]
async fn what_stays_is_tried_once_and_the_rest_goes() {
    let mut disk = CleanedShare::with(2 * PART_NAMES, 3);
    let held = [r"top\d000001\inner\file", r"top\f000000", r"top\f000007"];
    disk.held.extend(held.map(str::to_owned));
    delete_top(&mut disk).await;
    let left: Vec<_> = disk.entries.keys().map(String::as_str).collect();
    let directories = ["top", r"top\d000001", r"top\d000001\inner"];
    let mut expected = [&directories[..], &held].concat();
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert!(disk.listings < 20, "{}", disk.listings);
}

#[tokio::test]
async fn a_directory_whose_entries_all_stay_ends_the_walk() {
    let mut disk = CleanedShare::with(3 * PART_NAMES, 0);
    disk.held = disk.entries.keys().cloned().collect();
    delete_top(&mut disk).await;
    assert_eq!(disk.entries.len(), 3 * PART_NAMES + 1);
    assert!(disk.listings <= 4, "{}", disk.listings);
}

#[tokio::test]
async fn a_server_that_invents_names_ends_the_walk() {
    let mut disk = CleanedShare::with(PART_NAMES + 1, 0);
    disk.is_inventive = true;
    let mut count = 0;
    let mut found = |_: &Entry| {
        count += 1;
        ControlFlow::Continue(())
    };
    let deleted = delete_tree_of(&mut disk, "top", 3 * PART_NAMES, &mut found).await;
    assert!(
        matches!(deleted, Err(SessionError::Interrupted)),
        "{deleted:?}"
    );
    assert_eq!(count, 2 * (PART_NAMES + 1));
}
