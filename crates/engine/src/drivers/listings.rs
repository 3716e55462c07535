//! Listings that clients keep under leases of directories (MS-SMB2 3.2.5.19.2), and watches of
//! directories.
//!
//! A `list` asks for a lease on its directory. If the server grants it, the directory stays open
//! after the listing, and the client keeps the number of names. A further `list` of the
//! directory is answered from that number, without a request, until the server breaks the lease
//! or the client itself changes the directory.
//!
//! Invariant: a client keeps at most [`KEPT_MAX`] listings, each a few words long.
//!
//! Not here: acknowledgements of breaks, and what is sent to close directories, which are in
//! [`Cache`](crate::smb::session::caching::Cache).

mod neighbours;
mod notes;

use std::collections::VecDeque;
use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::files::FileSet;
use smbench_model::sessions::Caching;
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::{FileId, NtStatus};

use super::changes::{AwaitedNotice, ChangeMark, ChangeOf, Changes, MadeFile};
use super::driver::{Answer, Call, Extent, ListingEvent, Sink, slot_of};
use super::dropped::Dropped;
use crate::smb::session::caching::Object;
use notes::{
    BegunListing, EndedListing, FileLook, KeptListing, ListingLease, ListingProgress, SlotNote,
};

/// The most listings that a client keeps at a time.
const KEPT_MAX: usize = 64;

/// The directory that the run itself changes, if its files are in no tree.
const CHANGED: u32 = 0;

/// Returns the directory of an object; `None` if it is not one of those that are listed.
pub(super) fn parent(files: &FileSet, object: Object) -> Option<u32> {
    match (files.tree(), object) {
        (_, Object::Directory(_)) => None,
        (None, _) => Some(CHANGED),
        (Some(tree), Object::File(file)) => Some(tree.directory_of(file)),
        (Some(_), _) => None,
    }
}

/// The listings of the clients of a group.
pub(crate) struct Listings {
    changes: Arc<Changes>,
    /// Whether the clients list the directory that they change.
    lists_changed: bool,
    /// Listings of each member, the oldest first.
    kept: Box<[VecDeque<KeptListing>]>,
    /// What each slot does.
    notes: Box<[SlotNote]>,
    /// The file of another client that each member has seen last.
    seen: Box<[Option<MadeFile>]>,
    /// Slots to answer from memory, with the number of names.
    ready: Vec<(u32, u32)>,
    /// What is to be reported.
    events: Vec<ListingEvent>,
    /// Whether other groups come before the next answers from memory.
    others_first: bool,
}

impl Listings {
    /// Makes the listings of a group with this number of members and slots.
    pub(super) fn new(
        changes: &Arc<Changes>,
        files: &FileSet,
        members: usize,
        slots: usize,
    ) -> Self {
        // Nobody else reports what a client lost before it came back.
        let given_up = changes.take_given_up() as usize;
        Self {
            changes: Arc::clone(changes),
            lists_changed: files.tree().is_none(),
            kept: vec![VecDeque::new(); members].into_boxed_slice(),
            notes: vec![SlotNote::default(); slots].into_boxed_slice(),
            seen: vec![None; members].into_boxed_slice(),
            ready: Vec::new(),
            events: vec![ListingEvent::Ended; given_up],
            others_first: false,
        }
    }

    /// Answers a listing from memory; returns whether it can.
    pub(super) fn answers(&mut self, call: &Call) -> bool {
        let (directory, action) = (call.operation.file, call.operation.action);
        let mut kept = self.kept[call.member].iter();
        let is_it =
            |kept: &&KeptListing| (kept.lease.directory, kept.lease.action) == (directory, action);
        let Some(kept) = kept.find(is_it) else {
            return false;
        };
        let is_changed = self.lists_changed && self.changes.is_changed_since(kept.read_at);
        if is_changed || kept.is_short {
            self.events.push(ListingEvent::Stale);
        }
        self.ready.push((call.slot, kept.entries));
        true
    }

    /// Notes that the directory of a listing is opened, with this key for its lease.
    pub(super) fn begin(&mut self, call: &Call, key: LeaseKey) {
        self.notes[slot_of(call.slot)].listing = Some(BegunListing {
            lease: ListingLease {
                directory: call.operation.file,
                action: call.operation.action,
                key,
                mark: ChangeMark::ask(&self.changes, AwaitedNotice::All),
            },
            entries: 0,
            progress: ListingProgress::Opening,
        });
    }

    /// Notes that a change is sent in the directory that is listed. A client that names its own
    /// lease gets no break for it. Its listings end here; returns the directories to close.
    pub(super) fn change(
        &mut self,
        call: &Call,
        names_lease: NamesLease,
        now: Nanos,
    ) -> Vec<EndedListing> {
        let what = ChangeOf::kind(call.operation.kind).filter(|_| self.lists_changed);
        if let Some(what) = what {
            match self.notes.get_mut(call.slot as usize) {
                Some(note) => {
                    let sent = self.changes.send(what, now);
                    if let Some(lost) = note.change.replace(sent) {
                        self.changes.end(lost, false);
                    }
                }
                // A piece of a larger WRITE.
                None => self.changes.become_unsure(),
            }
        }
        match (what, names_lease) {
            (Some(_), NamesLease::Yes(key)) => self.end(key),
            _ => Vec::new(),
        }
    }

    /// Ends the listings under a lease; returns the directories to close.
    fn end(&mut self, key: LeaseKey) -> Vec<EndedListing> {
        let mut closed = Vec::new();
        for (member, kept) in self.kept.iter_mut().enumerate() {
            kept.retain(|kept| {
                let is_other = kept.lease.key != key;
                if !is_other {
                    let open = kept.open;
                    closed.push(EndedListing { member, open });
                }
                is_other
            });
        }
        for begun in self
            .notes
            .iter_mut()
            .filter_map(|note| note.listing.as_mut())
        {
            if begun.lease.key == key {
                begun.progress = ListingProgress::Unleased;
            }
        }
        let ended = closed.iter().map(|_| ListingEvent::Ended);
        self.events.extend(ended);
        closed
    }

    /// Ends the listings under a lease that the server breaks; returns the directories to close.
    pub(super) fn broken(&mut self, key: LeaseKey, now: Nanos) -> Vec<EndedListing> {
        let kept = self.kept.iter().flatten().map(|kept| kept.lease);
        let begun = self.notes.iter().filter_map(|note| note.listing);
        let begun = begun.filter(|begun| begun.progress != ListingProgress::Opening);
        let lease = kept
            .chain(begun.map(|begun| begun.lease))
            .find(|lease| lease.key == key);
        let lease = lease.filter(|lease| self.lists_changed && lease.directory == CHANGED);
        let cause = lease.and_then(|lease| lease.mark.cause(&self.changes));
        if let Some(sent) = cause {
            self.events.push(ListingEvent::Broken(now.since(sent)));
        }
        self.end(key)
    }

    /// Notes the answer to a request of a slot.
    pub(super) fn answered(&mut self, answer: &Answer<'_>, granted: Option<Caching>, now: Nanos) {
        let Some(note) = self.notes.get_mut(answer.slot as usize) else {
            return;
        };
        if let Some(change) = note.change.take() {
            let is_done = answer.status == NtStatus::SUCCESS;
            self.changes.end(change, is_done);
        }
        if let Some(watch) = note.watch.take()
            && is_notice(answer.status)
        {
            let cause = watch.cause(&self.changes);
            let took = cause.map(|sent| now.since(sent));
            self.events.push(ListingEvent::Noticed(took));
            note.noticed = watch.noticed(&self.changes);
        }
        if let Some(made) = note.made.take()
            && answer.status == NtStatus::SUCCESS
        {
            self.changes.made(made);
        }
        let Some(begun) = &mut note.listing else {
            return;
        };
        begun.progress = match (begun.progress, granted) {
            (ListingProgress::Opening, Some(Caching::DirectoryLease(state)))
                if state.contains(LeaseState::RH) =>
            {
                begun.lease.mark.agree(&self.changes, now);
                ListingProgress::Leased
            }
            (ListingProgress::Opening, _) => ListingProgress::Unleased,
            (ListingProgress::Leased, _)
                if matches!(
                    answer.status,
                    NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE
                ) =>
            {
                ListingProgress::Complete(now)
            }
            (ListingProgress::Leased, _) if answer.status == NtStatus::SUCCESS => {
                begun.entries = begun.entries.saturating_add(answer.moved);
                ListingProgress::Leased
            }
            _ => ListingProgress::Unleased,
        };
    }

    /// Notes that a watch is sent.
    pub(super) fn watch(&mut self, slot: u32, awaited: AwaitedNotice) {
        let note = &mut self.notes[slot_of(slot)];
        let mark = ChangeMark::ask_again(&self.changes, awaited, note.noticed.take());
        note.watch = Some(mark);
    }

    /// Notes that the server has begun the watch of a slot, if it has one.
    pub(super) fn watching(&mut self, slot: u32, now: Nanos) {
        if let Some(watch) = &mut self.notes[slot_of(slot)].watch {
            watch.agree(&self.changes, now);
        }
    }

    /// Keeps the listing of a slot instead of closing its directory; returns whether it does, and
    /// a directory to close in its favour. The directory has at least `least` names.
    pub(super) fn keep(
        &mut self,
        call: &Call,
        open: FileId,
        least: usize,
    ) -> (bool, Option<FileId>) {
        let Some(begun) = self.notes[slot_of(call.slot)].listing.take() else {
            return (false, None);
        };
        let ListingProgress::Complete(read_at) = begun.progress else {
            return (false, None);
        };
        let kept = &mut self.kept[call.member];
        let place = |kept: &KeptListing| (kept.lease.directory, kept.lease.action);
        let lease = begun.lease;
        if kept
            .iter()
            .any(|kept| place(kept) == (lease.directory, lease.action))
        {
            return (false, None);
        }
        let oldest = if kept.len() == KEPT_MAX {
            kept.pop_front()
        } else {
            None
        };
        kept.push_back(KeptListing {
            lease,
            open,
            entries: begun.entries,
            read_at,
            is_short: (begun.entries as usize) < least,
        });
        self.events.push(ListingEvent::Kept);
        self.events.extend(oldest.map(|_| ListingEvent::Ended));
        self.ready.push((call.slot, 0));
        (true, oldest.map(|oldest| oldest.open))
    }

    /// Returns whether answers from memory are to be given now. Every second time they are not,
    /// so that other groups come first.
    pub(super) fn turn(&mut self) -> CachedTurn {
        if self.ready.is_empty() {
            return CachedTurn::Nothing;
        }
        self.others_first = !self.others_first;
        if self.others_first {
            CachedTurn::Others
        } else {
            CachedTurn::Now
        }
    }

    /// Gives the answers from memory.
    pub(super) fn give(&mut self, sink: &mut impl Sink) -> Result<(), Dropped> {
        self.report(sink);
        self.ready.drain(..).try_for_each(|(slot, moved)| {
            sink.answer(&Answer {
                moved,
                ..Answer::bare(slot, Extent::Apart, NtStatus::SUCCESS)
            })
        })
    }

    /// Reports what has happened.
    pub(super) fn report(&mut self, sink: &mut impl Sink) {
        self.events.drain(..).for_each(|event| sink.listing(event));
    }
}

impl Drop for Listings {
    fn drop(&mut self) {
        for change in self.notes.iter().filter_map(|note| note.change) {
            self.changes.end(change, false);
        }
        self.changes
            .give_up(self.kept.iter().map(VecDeque::len).sum());
    }
}

/// Returns whether this status of a watch is that of a notification. Too many changes to list
/// are one as well.
pub(super) fn is_notice(status: NtStatus) -> bool {
    matches!(status, NtStatus::SUCCESS | NtStatus::NOTIFY_ENUM_DIR)
}

/// Whether a request names the lease of the client on the directory, with this key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamesLease {
    Yes(LeaseKey),
    No,
}

/// Whether answers are given from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachedTurn {
    /// There are none.
    Nothing,
    /// Other groups come first.
    Others,
    /// It is the turn of this group.
    Now,
}

#[cfg(test)]
mod tests;
