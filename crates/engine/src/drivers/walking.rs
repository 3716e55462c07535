//! The directories of a walk: which a client has found, and which its slots list.
//!
//! A walk begins in one directory. Its directories wait in a queue, and those found last come
//! first. So the queue has about as many as there are on one way down the tree. It has a bound:
//! a client that finds more is dropped and says so, because it would leave out directories.
//!
//! A path stays as the server wrote it. Links of a server (reparse points) are counted and not
//! followed. A path allocates only where the memory of earlier ones is too short.

use smbench_model::action::{Action, TreeRoot};
use smbench_model::operations::Mix;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::attributes::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT,
};
use smbench_protocol::command::query_directory::{DirectoryClass, DirectoryEntry};
use smbench_protocol::connection::NoCredit;
use smbench_protocol::{DecodeError, NtStatus};

use super::driver::{Busy, Sink};
use super::dropped::Dropped;
use super::prepare::wire_names;
use super::site::Site;
use crate::smb::session::SessionError;

/// The largest queue of a client, in bytes of its paths.
const QUEUE_BYTES_MAX: usize = 32 << 20;
/// Between the names of a path, in UTF-16.
const SEPARATOR: [u8; 2] = [b'\\', 0];

/// The directories that a client has found and not listed.
pub(super) struct WalkQueue {
    root: WireName,
    waiting: PathStack,
    /// Number of walks that have not begun; `None` without end.
    left: Option<u64>,
}

/// Paths, one after the other, each before its length.
#[derive(Default)]
struct PathStack(Vec<u8>);

impl PathStack {
    /// Adds the path of a name in a directory.
    fn push(&mut self, directory: &[u8], name: &[u8]) {
        let separator: &[u8] = if directory.is_empty() || name.is_empty() {
            &[]
        } else {
            &SEPARATOR
        };
        let parts = [directory, separator, name];
        parts.iter().for_each(|part| self.0.extend_from_slice(part));
        let len: usize = parts.iter().map(|part| part.len()).sum();
        self.0.extend_from_slice(&(len as u32).to_le_bytes());
    }

    /// Moves the last path to `path`. Returns whether there was one.
    fn pop(&mut self, path: &mut WireName) -> bool {
        let Some((rest, len)) = self.0.split_last_chunk::<4>() else {
            return false;
        };
        let start = rest.len() - u32::from_le_bytes(*len) as usize;
        path.truncate(0);
        let fits = path.append_raw(&rest[start..]);
        fits.unwrap_or_else(|_| unreachable!("the path was short enough when it was found"));
        self.0.truncate(start);
        true
    }
}

/// A directory that a slot lists.
#[derive(Default)]
pub(super) struct WalkedDirectory {
    path: WireName,
    /// Its directories that are not in the queue yet.
    found: PathStack,
    /// Bytes that the queue had left at the last request.
    room: usize,
    stage: WalkStage,
    /// Why the server has refused it, until that is reported.
    refusal: Option<NtStatus>,
    /// A directory that is left out.
    without: WireName,
}

/// The place of a slot that lists a directory of a walk.
pub(super) trait WalkPlace {
    /// Returns the directory; `None` if clients do not walk.
    fn walked(&mut self) -> &mut Option<Box<WalkedDirectory>>;
}

/// How far a slot is with its directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WalkStage {
    /// It has none, or its directories are all in the queue.
    #[default]
    Idle,
    /// The server was asked to open it.
    Opening,
    /// It is being listed.
    Listing,
}

/// The reason why a directory cannot be walked.
#[derive(Debug)]
pub(super) enum WalkFault {
    Malformed(DecodeError),
    /// The queue has no room.
    Full,
    /// A path is too long for a request.
    Long,
}

impl From<DecodeError> for WalkFault {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl WalkFault {
    /// Returns why the client ends, but for a malformed answer.
    pub(super) fn into_dropped(self) -> Result<Dropped, DecodeError> {
        Ok(Dropped::Other(match self {
            Self::Malformed(error) => return Err(error),
            Self::Full => format!(
                "its walk has found more directories than can wait: their paths have more than \
                 {QUEUE_BYTES_MAX} bytes"
            ),
            Self::Long => "its walk has found a path that no request can have".to_owned(),
        }))
    }
}

/// Returns where the walk of a mix begins, and what its listings ask for: the information and
/// the bytes.
pub(super) fn walk_of(mix: &Mix) -> Option<(TreeRoot, DirectoryClass, u32)> {
    mix.actions().iter().find_map(|action| match action {
        Action::Walk {
            class,
            buffer,
            root,
        } => Some((*root, *class, *buffer)),
        _ => None,
    })
}

impl WalkQueue {
    /// Makes the queue of a client; `None` if clients do not walk.
    pub(super) fn of(site: &Site) -> Result<Option<Self>, SessionError> {
        let Some((root, ..)) = walk_of(&site.mix) else {
            return Ok(None);
        };
        let root = match root {
            TreeRoot::Files => &site.files_in,
            TreeRoot::Target => &site.endpoint.target.path,
        };
        let names = wire_names(std::slice::from_ref(root))?;
        Ok(Some(Self {
            root: names.into_iter().next().unwrap_or_default(),
            waiting: PathStack::default(),
            left: site.plan.only().count,
        }))
    }

    /// Opens the next directory with `create` for the slot `at` of a client with these places.
    pub(super) fn open_next<P: WalkPlace>(
        &mut self,
        places: &mut [P],
        at: usize,
        create: impl FnOnce(&WireName) -> Result<(), NoCredit>,
    ) -> Result<(), Busy> {
        let Some(mut walked) = places[at].walked().take() else {
            unreachable!("a walk has a directory for each slot");
        };
        let is_busy = |place: &mut P| place.walked().as_ref().is_some_and(|one| one.is_busy());
        let next = self.next(&mut walked, || places.iter_mut().any(is_busy));
        let walked = places[at].walked().insert(walked);
        next?;
        match create(&walked.path) {
            Ok(()) => {
                walked.stage = WalkStage::Opening;
                Ok(())
            }
            Err(NoCredit) => {
                self.put_back(walked);
                Err(Busy::Credits)
            }
        }
    }

    /// Returns the directory of a walk that a slot lists. Its directories are in the queue.
    pub(super) fn walked<'a>(&mut self, place: &'a mut impl WalkPlace) -> &'a mut WalkedDirectory {
        let Some(walked) = place.walked() else {
            unreachable!("a walk has a directory for each slot");
        };
        self.take(walked);
        walked
    }

    /// Takes the next directory for a slot. `others_list` says whether other slots of the
    /// client may find more directories of this walk.
    fn next(
        &mut self,
        slot: &mut WalkedDirectory,
        others_list: impl FnOnce() -> bool,
    ) -> Result<(), Busy> {
        // The server has not carried out the request, so it is sent again.
        if slot.stage == WalkStage::Opening {
            return Ok(());
        }
        if self.waiting.pop(&mut slot.path) {
            return Ok(());
        }
        if others_list() {
            return Err(Busy::Earlier);
        }
        match &mut self.left {
            Some(0) => return Err(Busy::Over),
            Some(left) => *left -= 1,
            None => {}
        }
        self.waiting.push(self.root.as_bytes(), &[]);
        self.waiting.pop(&mut slot.path);
        Ok(())
    }

    /// Takes a directory back that could not be asked for.
    fn put_back(&mut self, slot: &WalkedDirectory) {
        if slot.stage == WalkStage::Opening {
            return;
        }
        self.waiting.push(slot.path.as_bytes(), &[]);
    }

    /// Takes over what a slot has found.
    fn take(&mut self, slot: &mut WalkedDirectory) {
        self.waiting.0.append(&mut slot.found.0);
        slot.room = QUEUE_BYTES_MAX.saturating_sub(self.waiting.0.len());
    }
}

impl WalkedDirectory {
    /// Makes the place of a slot; `None` if clients do not walk.
    pub(super) fn of(site: &Site) -> Result<Option<Box<Self>>, SessionError> {
        if walk_of(&site.mix).is_none() {
            return Ok(None);
        }
        let names = wire_names(std::slice::from_ref(&site.directory))?;
        Ok(Some(Box::new(Self {
            without: names.into_iter().next().unwrap_or_default(),
            ..Self::default()
        })))
    }

    pub(super) const fn path(&self) -> &WireName {
        &self.path
    }

    /// Whether the slot may find further directories of the walk.
    fn is_busy(&self) -> bool {
        self.stage != WalkStage::Idle
    }

    /// Notes that the directory is listed on.
    pub(super) const fn listing(&mut self) {
        self.stage = WalkStage::Listing;
    }

    /// Notes that the directory has been listed, and that the queue has its directories.
    pub(super) const fn ended(&mut self) {
        self.stage = WalkStage::Idle;
    }

    /// Notes that a request failed. Without an open directory there is nothing to list.
    pub(super) fn refused(&mut self, status: NtStatus) {
        self.refusal = match (self.stage, status) {
            (WalkStage::Idle, _)
            | (WalkStage::Listing, NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE) => None,
            _ => Some(status),
        };
        if self.stage == WalkStage::Opening {
            self.stage = WalkStage::Idle;
        }
    }

    /// Reports the directory once, if the server has refused it.
    pub(super) fn report(&mut self, sink: &mut impl Sink) {
        if let Some(status) = self.refusal.take() {
            sink.refused(&self.path, status);
        }
    }

    /// Notes the directories of an answer. Returns the number of its names.
    pub(super) fn note<'a>(
        &mut self,
        entries: impl Iterator<Item = Result<DirectoryEntry<'a>, DecodeError>>,
    ) -> Result<u32, WalkFault> {
        let mut names = 0;
        for entry in entries {
            let entry = entry?;
            if matches!(entry.name, b".\0" | b".\0.\0") || self.leaves_out(entry.name) {
                continue;
            }
            names += 1;
            let attributes = entry.details.map_or(0, |details| details.file_attributes);
            let kind = attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT);
            if kind == FILE_ATTRIBUTE_DIRECTORY {
                self.find(entry.name)?;
            }
        }
        Ok(names)
    }

    /// Whether an entry is the directory that is left out.
    fn leaves_out(&self, name: &[u8]) -> bool {
        let (path, without) = (self.path.as_bytes(), self.without.as_bytes());
        let Some(rest) = without.strip_prefix(path) else {
            return false;
        };
        let rest = match path {
            [] => Some(rest),
            _ => rest.strip_prefix(&SEPARATOR),
        };
        rest == Some(name)
    }

    fn find(&mut self, name: &[u8]) -> Result<(), WalkFault> {
        if name.is_empty() {
            return Ok(());
        }
        let path = self.path.as_bytes();
        if path.len() + SEPARATOR.len() + name.len() > usize::from(u16::MAX) {
            return Err(WalkFault::Long);
        }
        self.found.push(path, name);
        if self.found.0.len() > self.room {
            return Err(WalkFault::Full);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
