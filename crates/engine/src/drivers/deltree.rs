//! Deletes a directory with all its contents, as one operation. It lists the
//! directory and deletes each listed name, until a listing is empty.
//!
//! This allocates, because the names are not known before. Traces have this
//! operation only at the start and at the end of a client's work.

use smbench_protocol::NtStatus;
use smbench_protocol::directory::Entry;

use crate::smb::share::join;

/// Maximum number of listings for one tree. It ends the operation if the server
/// does not remove the names.
const LISTINGS_MAX: u32 = 100_000;
/// Maximum depth of nested directories.
const DEPTH_MAX: usize = 100_000;

/// A tree that is being deleted.
pub(super) struct Deltree {
    /// Directories to delete, each after those that contain it.
    directories: Vec<String>,
    /// Files to delete in the last of these directories.
    files: Vec<String>,
    listed: Vec<Entry>,
    request: DeltreeRequest,
    listings: u32,
}

/// A request for a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeltreeRequest {
    /// Lists the last directory.
    Listing,
    /// Deletes the last file.
    File,
    /// Deletes the last directory, which is empty.
    Directory,
}

/// The next step.
pub(super) enum DeltreeStep {
    Send,
    /// The operation has ended with this status.
    End(NtStatus),
}

impl Deltree {
    pub(crate) fn of(path: String) -> Self {
        Self {
            directories: vec![path],
            files: Vec::new(),
            listed: Vec::new(),
            request: DeltreeRequest::Listing,
            listings: 0,
        }
    }

    /// Returns the next request.
    pub(super) const fn request(&self) -> DeltreeRequest {
        self.request
    }

    /// Returns the path of the next request.
    pub(super) fn path(&self) -> &str {
        let last = match self.request {
            DeltreeRequest::File => self.files.last(),
            DeltreeRequest::Listing | DeltreeRequest::Directory => self.directories.last(),
        };
        last.map_or("", String::as_str)
    }

    /// Keeps the entries of a listing.
    pub(super) fn found(&mut self, entries: Vec<Entry>) {
        self.listed = entries;
    }

    /// Continues after a request that ended with `status`.
    pub(super) fn go_on(&mut self, status: NtStatus) -> DeltreeStep {
        let is_gone = match status {
            NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND => true,
            // Of a listing, this is the end. Of an open, some servers mean that there is no name.
            NtStatus::NO_SUCH_FILE => self.request != DeltreeRequest::Listing,
            _ => false,
        };
        let is_empty = matches!(status, NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE);
        match self.request {
            _ if is_gone => self.leave(),
            DeltreeRequest::Listing if is_empty || status == NtStatus::SUCCESS => self.enter(),
            DeltreeRequest::File | DeltreeRequest::Directory if status == NtStatus::SUCCESS => {
                self.leave();
            }
            _ => return DeltreeStep::End(status),
        }
        if self.directories.is_empty() {
            DeltreeStep::End(NtStatus::SUCCESS)
        } else if self.listings > LISTINGS_MAX || self.directories.len() > DEPTH_MAX {
            DeltreeStep::End(NtStatus::DIRECTORY_NOT_EMPTY)
        } else {
            DeltreeStep::Send
        }
    }

    /// Removes the entry that was deleted from the lists.
    fn leave(&mut self) {
        match self.request {
            DeltreeRequest::File => self.files.pop(),
            DeltreeRequest::Listing | DeltreeRequest::Directory => self.directories.pop(),
        };
        self.request = if self.files.is_empty() {
            DeltreeRequest::Listing
        } else {
            DeltreeRequest::File
        };
    }

    /// Adds the entries of a listed directory. Its files are deleted first, then
    /// its directories.
    fn enter(&mut self) {
        self.listings += 1;
        let Some(directory) = self.directories.last().cloned() else {
            return;
        };
        let listed = std::mem::take(&mut self.listed);
        self.request = if listed.is_empty() {
            DeltreeRequest::Directory
        } else {
            DeltreeRequest::Listing
        };
        for entry in listed {
            let path = join(&directory, &entry.name);
            if entry.is_directory {
                self.directories.push(path);
            } else {
                self.files.push(path);
                self.request = DeltreeRequest::File;
            }
        }
    }
}
