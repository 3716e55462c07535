//! The changes that the clients of a run make in the run's directory, for clients that keep
//! its listing or watch it.
//!
//! All clients of a process share them. They are noted only with leases on directories, with
//! watches, or if clients look at what others made. Changes of other processes are not known here.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use smbench_model::Nanos;
use smbench_model::kind::OpKind;

/// Number of changes whose instants are kept.
const REMEMBERED: usize = 64;

/// What a request does to the directory of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeOf {
    /// It adds, removes or renames a name.
    Names,
    /// It may do so.
    Perhaps,
    /// It may change what a listing shows of a name.
    Attributes,
}

impl ChangeOf {
    /// Returns what a request of this kind changes; `None` for nothing.
    pub(super) const fn kind(kind: OpKind) -> Option<Self> {
        use OpKind as K;
        match kind {
            K::CopyInCreate
            | K::SaveCreate
            | K::SaveBackup
            | K::SaveRename
            | K::SaveDelete
            | K::Rename => Some(Self::Names),
            K::Create | K::Close | K::Delete => Some(Self::Perhaps),
            K::Write
            | K::Flush
            | K::SetFile
            | K::SetSecurity
            | K::CopyChunk
            | K::CreateSetClose
            | K::CopyInWrite
            | K::CopyInTimes
            | K::CopyInClose
            | K::SaveWrite
            | K::SaveFlush
            | K::SaveClose => Some(Self::Attributes),
            _ => None,
        }
    }
}

/// A change that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentChange {
    since: Nanos,
    what: ChangeOf,
}

/// Changes in the order in which they were sent.
#[derive(Debug)]
struct ChangeSequence {
    /// Number of changes sent.
    sent: AtomicU64,
    in_flight: AtomicU32,
    /// When the latest changes were sent, doubled; plus one for a change of names.
    instants: [AtomicU64; REMEMBERED],
}

impl Default for ChangeSequence {
    fn default() -> Self {
        Self {
            sent: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            instants: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// The changes that someone waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AwaitedNotice {
    /// Changes of names alone.
    Names,
    /// All.
    All,
}

/// A file that a client has copied to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MadeFile {
    pub(super) client: u32,
    pub(super) number: u32,
}

impl MadeFile {
    /// Returns it as a number; 0 stands for no file.
    const fn packed(self) -> u64 {
        ((self.client as u64) << 32 | self.number as u64) + 1
    }

    fn unpacked(packed: u64) -> Option<Self> {
        let packed = packed.checked_sub(1)?;
        Some(Self {
            client: (packed >> 32) as u32,
            number: packed as u32,
        })
    }
}

/// The changes of a run.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    all: ChangeSequence,
    /// Those that change names, or may.
    names: ChangeSequence,
    /// When the latest change of names was sent that is done.
    done: AtomicU64,
    /// Set if some changes are not noted, so that nothing can be timed.
    is_unsure: AtomicBool,
    /// The newest file that a client has copied to the server.
    newest: AtomicU64,
    /// The newest one of another client than that.
    newest_of_others: AtomicU64,
    /// Listings that ended with the connection of their client.
    given_up: AtomicU32,
}

impl Changes {
    /// Notes that a client has copied a file to the server.
    pub(super) fn made(&self, file: MadeFile) {
        let before = self.newest.swap(file.packed(), SeqCst);
        let of_other = MadeFile::unpacked(before).filter(|before| before.client != file.client);
        if of_other.is_some() {
            self.newest_of_others.store(before, SeqCst);
        }
    }

    /// Returns the newest file that another client has copied to the server.
    pub(super) fn newest_for(&self, client: u32) -> Option<MadeFile> {
        [&self.newest, &self.newest_of_others]
            .into_iter()
            .filter_map(|newest| MadeFile::unpacked(newest.load(SeqCst)))
            .find(|made| made.client != client)
    }

    /// Begins a load point. What was copied to the server is removed between load points.
    pub(crate) fn begin_load_point(&self) {
        self.newest.store(0, SeqCst);
        self.newest_of_others.store(0, SeqCst);
        self.given_up.store(0, SeqCst);
    }

    /// Notes that listings end together with the connection of their client.
    pub(super) fn give_up(&self, listings: usize) {
        self.given_up.fetch_add(listings as u32, SeqCst);
    }

    /// Returns the number of listings given up since this was asked last.
    pub(super) fn take_given_up(&self) -> u32 {
        self.given_up.swap(0, SeqCst)
    }

    /// Notes that a change is sent.
    pub(super) fn send(&self, what: ChangeOf, now: Nanos) -> SentChange {
        for of in self.sequences(what) {
            of.in_flight.fetch_add(1, SeqCst);
            let number = of.sent.fetch_add(1, SeqCst);
            let is_of_names = u64::from(what == ChangeOf::Names);
            of.instants[number as usize % REMEMBERED].store(now.0 << 1 | is_of_names, SeqCst);
        }
        SentChange { since: now, what }
    }

    /// Notes that a change has its answer, or will get none.
    pub(super) fn end(&self, change: SentChange, is_done: bool) {
        if is_done && change.what == ChangeOf::Names {
            self.done.fetch_max(change.since.0, SeqCst);
        }
        for of in self.sequences(change.what) {
            of.in_flight.fetch_sub(1, SeqCst);
        }
    }

    fn sequences(&self, what: ChangeOf) -> impl Iterator<Item = &ChangeSequence> {
        let of_names = what != ChangeOf::Attributes;
        [&self.all]
            .into_iter()
            .chain(of_names.then_some(&self.names))
    }

    /// Learns that some changes are not noted.
    pub(super) fn become_unsure(&self) {
        self.is_unsure.store(true, SeqCst);
    }

    /// Returns whether a change of names is done that was sent after `instant`.
    pub(super) fn is_changed_since(&self, instant: Nanos) -> bool {
        self.done.load(SeqCst) > instant.0
    }

    const fn awaited(&self, awaited: AwaitedNotice) -> &ChangeSequence {
        match awaited {
            AwaitedNotice::Names => &self.names,
            AwaitedNotice::All => &self.all,
        }
    }

    /// Returns the number of changes sent. Returns `None` if one of them is in flight, other than
    /// the latest one after which so many have been noticed.
    fn sent_if_quiet(&self, awaited: AwaitedNotice, noticed: Option<u64>) -> Option<u64> {
        let of = self.awaited(awaited);
        let in_flight = of.in_flight.load(SeqCst);
        let sent = of.sent.load(SeqCst);
        let is_quiet = in_flight == 0 || in_flight == 1 && noticed == Some(sent);
        is_quiet.then_some(sent)
    }
}

/// The instant from which someone waits for a change: the server granted a lease or began a watch.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeMark {
    awaited: AwaitedNotice,
    /// Number of changes of which it does not wait for any more, if it is known.
    noticed: Option<u64>,
    /// Number of changes before it; `None` if another one was in flight meanwhile.
    before: Option<u64>,
    at: Option<Nanos>,
}

impl ChangeMark {
    /// Begins the wait with a request that is sent now.
    pub(super) fn ask(changes: &Changes, awaited: AwaitedNotice) -> Self {
        Self::ask_again(changes, awaited, None)
    }

    /// Begins the wait again after a notice of the latest of so many changes. Its answer may come
    /// after the notice.
    pub(super) fn ask_again(
        changes: &Changes,
        awaited: AwaitedNotice,
        noticed: Option<u64>,
    ) -> Self {
        Self {
            awaited,
            noticed,
            before: changes.sent_if_quiet(awaited, noticed),
            at: None,
        }
    }

    /// Returns the number of changes up to the only one that a notice now can be about. A change
    /// may cause several notices, unless it is one of names.
    pub(super) fn noticed(&self, changes: &Changes) -> Option<u64> {
        self.cause(changes)?;
        let sent = changes.awaited(self.awaited).sent.load(SeqCst);
        let is_only = self.awaited == AwaitedNotice::Names && self.before? + 1 == sent;
        is_only.then_some(sent)
    }

    /// Notes that the server has agreed.
    pub(super) fn agree(&mut self, changes: &Changes, now: Nanos) {
        let before = changes.sent_if_quiet(self.awaited, self.noticed);
        self.before = self.before.filter(|_| before == self.before);
        self.at = Some(now);
    }

    /// Returns when the first change since was sent, if it is one of names. Returns `None` if
    /// that is not sure.
    pub(super) fn cause(&self, changes: &Changes) -> Option<Nanos> {
        let (before, agreed) = (self.before?, self.at?);
        let of = changes.awaited(self.awaited);
        let sent = of.sent.load(SeqCst);
        if sent <= before || sent - before > REMEMBERED as u64 || changes.is_unsure.load(SeqCst) {
            return None;
        }
        let noted = of.instants[before as usize % REMEMBERED].load(SeqCst);
        let at = Nanos(noted >> 1);
        (noted & 1 == 1 && at >= agreed).then_some(at)
    }
}

#[cfg(test)]
mod tests;
