//! Deletes a directory with all that is in it, as one operation: what is listed
//! is deleted, one name after the other, until nothing is listed any more.
//!
//! It allocates, as names come and go; traces have it where a client begins and
//! ends.

use smbench_protocol::command::WireName;
use smbench_protocol::command::create::options;
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, query_directory_flags,
};
use smbench_protocol::connection::NoCredit;
use smbench_protocol::directory::{self, Entry};
use smbench_protocol::{FileId, NtStatus, ProtocolError};

use super::wire::{To, deletion};
use crate::run::native::request::info::LISTING_LEN;
use crate::run::operation::Dropped;
use crate::share::join;

/// Listings that a tree may take: of a server whose names do not go, an end.
const LISTINGS_MAX: u32 = 100_000;
/// Directories in each other.
const DEPTH_MAX: usize = 100_000;

/// A tree that is being deleted.
pub(super) struct Deltree {
    /// Each in the one before.
    directories: Vec<String>,
    /// In the last of them.
    files: Vec<String>,
    listed: Vec<Entry>,
    stage: Stage,
    listings: u32,
}

#[derive(Clone, Copy)]
enum Stage {
    /// The last directory is listed.
    Listing,
    /// The last file is deleted.
    File,
    /// The last directory is.
    Directory,
}

/// What is to be done.
pub(super) enum Next {
    Send,
    /// That was all; how it went.
    End(NtStatus),
}

impl Deltree {
    pub(super) fn of(path: String) -> Self {
        Self {
            directories: vec![path],
            files: Vec::new(),
            listed: Vec::new(),
            stage: Stage::Listing,
            listings: 0,
        }
    }

    /// Appends the frame that is due; how many answers it takes.
    pub(super) fn send(&self, to: To<'_>, name: &mut WireName) -> Result<u8, NoCredit> {
        let path = match self.stage {
            Stage::File => self.files.last(),
            Stage::Listing | Stage::Directory => self.directories.last(),
        };
        let path = path.map_or("", String::as_str);
        // A name too long for a request was in none that listed it.
        let _ = name.set(path);
        match self.stage {
            Stage::File => to.touch(&deletion(name, options::FILE_NON_DIRECTORY_FILE)),
            Stage::Directory => to.touch(&deletion(name, options::FILE_DIRECTORY_FILE)),
            Stage::Listing => to.list(
                name,
                &QueryDirectoryRequest {
                    directory: FileId::RELATED,
                    class: DirectoryClass::Directory,
                    flags: query_directory_flags::RESTART_SCANS,
                    pattern: &WireName::every(),
                    output_length: LISTING_LEN,
                },
            ),
        }
    }

    /// Takes what was listed.
    pub(super) fn found(&mut self, message: &[u8]) -> Result<(), Dropped> {
        self.listed = directory::decode_response(message).map_err(ProtocolError::from)?;
        Ok(())
    }

    /// Goes on after a frame that ended in `status`.
    pub(super) fn go_on(&mut self, status: NtStatus) -> Next {
        let is_gone = matches!(
            status,
            NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND
        );
        let is_empty = matches!(status, NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE);
        match self.stage {
            _ if is_gone => self.leave(),
            Stage::Listing if is_empty || status == NtStatus::SUCCESS => self.enter(),
            Stage::File | Stage::Directory if status == NtStatus::SUCCESS => self.leave(),
            _ => return Next::End(status),
        }
        match self.directories.is_empty() {
            true => Next::End(NtStatus::SUCCESS),
            false if self.listings > LISTINGS_MAX || self.directories.len() > DEPTH_MAX => {
                Next::End(NtStatus::DIRECTORY_NOT_EMPTY)
            }
            false => Next::Send,
        }
    }

    /// What was to go is gone.
    fn leave(&mut self) {
        match self.stage {
            Stage::File => self.files.pop(),
            Stage::Listing | Stage::Directory => self.directories.pop(),
        };
        self.stage = match self.files.is_empty() {
            true => Stage::Listing,
            false => Stage::File,
        };
    }

    /// A directory was listed: the files in it go first, then the directories.
    fn enter(&mut self) {
        self.listings += 1;
        let Some(directory) = self.directories.last().cloned() else {
            return;
        };
        let listed = std::mem::take(&mut self.listed);
        self.stage = match listed.is_empty() {
            true => Stage::Directory,
            false => Stage::Listing,
        };
        for entry in listed {
            let path = join(&directory, &entry.name);
            match entry.is_directory {
                true => self.directories.push(path),
                false => {
                    self.files.push(path);
                    self.stage = Stage::File;
                }
            }
        }
    }
}
