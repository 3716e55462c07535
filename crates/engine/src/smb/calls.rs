//! Calls on files and directories that SMB2 and CIFS have in common, one request at a time.

use smbench_protocol::FileId;
use smbench_protocol::command::create::CreateRequest;
use smbench_protocol::directory::Entry;

use crate::smb::session::{SessionError, StepFailure};

/// Names that an answer to a listing has at least, except the last one. An answer of 64 KiB has
/// room for 100 of the longest names.
const ANSWER_NAMES_MIN: usize = 50;
/// Maximum number of names in one listing: far more than a run makes, and some
/// hundred MiB of memory.
pub(crate) const LISTING_NAMES_MAX: usize = 1_000_000;

/// How much of a listing is read.
#[derive(Clone, Copy)]
pub(crate) struct ListingBounds {
    /// Number of wanted names with which there are not too many of them yet.
    pub(crate) most: usize,
    /// Number of other names after which the listing may have no end.
    pub(crate) others: usize,
}

impl ListingBounds {
    /// Returns the bounds where up to `most` names are kept.
    const fn keeping(most: usize) -> Self {
        let others = LISTING_NAMES_MAX;
        Self { most, others }
    }

    /// Returns the bounds where no name is kept, and this many are expected.
    const fn expecting(names: usize) -> Self {
        let others = names.saturating_add(LISTING_NAMES_MAX);
        Self { most: 0, others }
    }

    /// Returns the maximum number of answers.
    pub(crate) const fn answers(self) -> usize {
        self.others.div_ceil(ANSWER_NAMES_MIN)
    }
}

/// Type of the entry to delete.
#[derive(Clone, Copy)]
pub(crate) enum EntryKind {
    File,
    Directory,
}

/// Entries of a directory.
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    pub(crate) end: ListingEnd,
}

impl Listing {
    /// Returns the listing of a whole directory.
    pub(crate) const fn whole(entries: Vec<Entry>) -> Self {
        let end = ListingEnd::Whole;
        Self { entries, end }
    }
}

/// Chooses entries of a listing, and counts the others.
pub(crate) struct NameFilter<'a> {
    wanted: &'a mut dyn FnMut(&Entry) -> bool,
    refused: usize,
    others: usize,
}

impl<'a> NameFilter<'a> {
    pub(crate) const fn new(
        wanted: &'a mut dyn FnMut(&Entry) -> bool,
        bounds: ListingBounds,
    ) -> Self {
        let (refused, others) = (0, bounds.others);
        Self {
            wanted,
            refused,
            others,
        }
    }

    /// Returns whether an entry is wanted.
    pub(crate) fn takes(&mut self, entry: &Entry) -> bool {
        let is_wanted = (self.wanted)(entry);
        self.refused += usize::from(!is_wanted);
        is_wanted
    }

    /// Returns whether the listing may have no end, because it has too many other names.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.refused > self.others
    }
}

/// How a listing ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListingEnd {
    /// The server has no more names.
    Whole,
    /// There were enough names.
    Cut,
}

/// A session that is connected to a share.
pub(crate) trait FileCalls {
    /// Opens or creates a file or a directory.
    async fn open_file(
        &mut self,
        doing: &str,
        request: &CreateRequest<'_>,
    ) -> Result<FileId, SessionError>;

    /// Closes a file or a directory.
    async fn close_file(&mut self, doing: &str, file: FileId) -> Result<(), SessionError>;

    /// Deletes a file or an empty directory.
    async fn delete_entry(
        &mut self,
        doing: &str,
        path: &str,
        kind: EntryKind,
    ) -> Result<(), SessionError>;

    /// Returns up to `length` bytes from the start of a file, in as many requests as the server
    /// needs for them.
    async fn read_start(
        &mut self,
        doing: &str,
        file: FileId,
        length: u32,
    ) -> Result<Vec<u8>, SessionError> {
        let mut data = Vec::new();
        while data.len() < length as usize {
            let rest = length - data.len() as u32;
            let wanted = rest.min(self.read_limit()).max(1);
            let offset = data.len() as u64;
            let read = self.read_at(doing, file, offset, wanted).await?;
            data.extend_from_slice(&read);
            if read.len() < wanted as usize {
                break;
            }
        }
        Ok(data)
    }

    /// Returns the largest READ in bytes that the server accepts now.
    fn read_limit(&self) -> u32;

    /// Returns up to `length` bytes from `offset`: none from the end of the file on.
    async fn read_at(
        &mut self,
        doing: &str,
        file: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, SessionError>;

    /// Returns the largest WRITE in bytes that the server accepts now.
    fn write_limit(&self) -> u32;

    /// Writes the `length` bytes that `data` appends. Returns how many the server took.
    async fn write_at(
        &mut self,
        doing: &str,
        file: FileId,
        offset: u64,
        length: u32,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u32, SessionError>;

    /// Has the server write the file's data to stable storage.
    async fn flush(&mut self, doing: &str, file: FileId) -> Result<(), SessionError>;

    /// Returns the entries of a directory that `wanted` accepts, without `.` and `..`.
    /// The empty path is the share's root. Stops after an answer with which there are
    /// more than `most` of them. More than [`LISTING_NAMES_MAX`] others are an error.
    async fn list_some(
        &mut self,
        doing: &str,
        path: &str,
        most: usize,
        mut wanted: impl FnMut(&Entry) -> bool,
    ) -> Result<Listing, SessionError> {
        let bounds = ListingBounds::keeping(most);
        self.list_wanted(doing, path, bounds, &mut wanted).await
    }

    /// Shows each entry of a directory to `see`, without `.` and `..`, and keeps none. More than
    /// [`LISTING_NAMES_MAX`] beyond the `expected` ones are an error.
    async fn see_each(
        &mut self,
        doing: &str,
        path: &str,
        expected: usize,
        mut see: impl FnMut(&Entry),
    ) -> Result<(), SessionError> {
        let mut wanted = |entry: &Entry| {
            see(entry);
            false
        };
        let bounds = ListingBounds::expecting(expected);
        let listed = self.list_wanted(doing, path, bounds, &mut wanted).await;
        listed.map(|_| ())
    }

    /// Does the work of [`Self::list_some`] and [`Self::see_each`].
    async fn list_wanted(
        &mut self,
        doing: &str,
        path: &str,
        bounds: ListingBounds,
        wanted: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<Listing, SessionError>;

    /// Returns the entries of a directory, without `.` and `..`. The empty path is the
    /// share's root.
    async fn list(&mut self, doing: &str, path: &str) -> Result<Vec<Entry>, SessionError> {
        let listing = self
            .list_some(doing, path, LISTING_NAMES_MAX, |_| true)
            .await?;
        match listing.end {
            ListingEnd::Whole => Ok(listing.entries),
            ListingEnd::Cut => Err(self.failed_call(doing, StepFailure::EndlessListing)),
        }
    }

    /// Returns the bytes free for this user in a directory; `None` if the server refuses
    /// the query.
    async fn free_bytes(&mut self, doing: &str, path: &str) -> Result<Option<u64>, SessionError>;

    /// Returns the error for a request about the share that failed.
    fn failed_call(&self, doing: &str, source: StepFailure) -> SessionError;
}

#[cfg(test)]
mod tests {
    use smbench_model::tree::TREE_FILES_MAX;
    use smbench_protocol::command::FileTime;

    use super::*;

    /// Returns whether a listing ends after this many names of which none is kept.
    fn ends(bounds: ListingBounds, names: usize) -> bool {
        let entry = Entry {
            name: "name".to_owned(),
            end_of_file: 0,
            is_directory: false,
            created: FileTime(0),
        };
        let mut see = |_: &Entry| false;
        let mut filter = NameFilter::new(&mut see, bounds);
        let taken = (0..names).filter(|_| filter.takes(&entry)).count();
        assert_eq!(taken, 0);
        !filter.is_exhausted() && names <= bounds.answers() * ANSWER_NAMES_MIN
    }

    #[test]
    fn a_directory_of_a_tree_may_have_more_names_than_others() {
        let many = LISTING_NAMES_MAX * 3 / 2;
        assert!(ends(ListingBounds::expecting(many), many));
        // Files of others do not make the listing endless.
        assert!(ends(ListingBounds::expecting(many), many + 10));
        assert!(!ends(ListingBounds::keeping(0), many));
        assert!(!ends(ListingBounds::expecting(10), many));
        let largest = TREE_FILES_MAX as usize;
        assert!(ListingBounds::expecting(largest).answers() * ANSWER_NAMES_MIN >= largest);
    }
}
