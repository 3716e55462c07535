//! The changes that the clients of a run make in the run's directory, for clients that keep
//! its listing.
//!
//! All clients of a process share them. They are noted only with leases on directories. Changes
//! of other processes are not known here.

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
    /// It may change what a listing shows.
    Perhaps,
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
            K::Write
            | K::Flush
            | K::Create
            | K::Close
            | K::SetFile
            | K::Delete
            | K::SetSecurity
            | K::CopyChunk
            | K::CreateSetClose
            | K::CopyInWrite
            | K::CopyInTimes
            | K::CopyInClose
            | K::SaveWrite
            | K::SaveFlush
            | K::SaveClose => Some(Self::Perhaps),
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

/// The changes of a run.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Number of changes sent.
    sent: AtomicU64,
    in_flight: AtomicU32,
    /// When the latest changes were sent, doubled; plus one for a change of names.
    instants: [AtomicU64; REMEMBERED],
    /// When the latest change of names was sent that is done.
    done: AtomicU64,
    /// Set if some changes are not noted, so that no break can be timed.
    is_unsure: AtomicBool,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            sent: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            instants: std::array::from_fn(|_| AtomicU64::new(0)),
            done: AtomicU64::new(0),
            is_unsure: AtomicBool::new(false),
        }
    }
}

impl Changes {
    /// Notes that a change is sent.
    pub(super) fn send(&self, what: ChangeOf, now: Nanos) -> SentChange {
        self.in_flight.fetch_add(1, SeqCst);
        let number = self.sent.fetch_add(1, SeqCst);
        let is_of_names = u64::from(what == ChangeOf::Names);
        self.instants[number as usize % REMEMBERED].store(now.0 << 1 | is_of_names, SeqCst);
        SentChange { since: now, what }
    }

    /// Notes that a change has its answer, or will get none.
    pub(super) fn end(&self, change: SentChange, is_done: bool) {
        if is_done && change.what == ChangeOf::Names {
            self.done.fetch_max(change.since.0, SeqCst);
        }
        self.in_flight.fetch_sub(1, SeqCst);
    }

    /// Learns that some changes are not noted.
    pub(super) fn become_unsure(&self) {
        self.is_unsure.store(true, SeqCst);
    }

    /// Returns the number of changes sent; `None` if one of them is in flight.
    pub(super) fn sent_if_quiet(&self) -> Option<u64> {
        let is_quiet = self.in_flight.load(SeqCst) == 0;
        is_quiet.then(|| self.sent.load(SeqCst))
    }

    /// Returns whether a change of names is done that was sent after `instant`.
    pub(super) fn is_changed_since(&self, instant: Nanos) -> bool {
        self.done.load(SeqCst) > instant.0
    }

    /// Returns when the change after the first `before` was sent, if it is one of names and was
    /// sent after `granted`.
    pub(super) fn sent_after(&self, before: u64, granted: Nanos) -> Option<Nanos> {
        let sent = self.sent.load(SeqCst);
        if sent <= before || sent - before > REMEMBERED as u64 || self.is_unsure.load(SeqCst) {
            return None;
        }
        let noted = self.instants[before as usize % REMEMBERED].load(SeqCst);
        let at = Nanos(noted >> 1);
        (noted & 1 == 1 && at >= granted).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_change_after_a_lease_is_found_if_it_is_one_of_names() {
        let changes = Changes::default();
        assert_eq!(changes.sent_if_quiet(), Some(0));
        assert_eq!(changes.sent_after(0, Nanos(5)), None);
        let first = changes.send(ChangeOf::Names, Nanos(10));
        assert_eq!(changes.sent_if_quiet(), None);
        assert_eq!(changes.sent_after(0, Nanos(5)), Some(Nanos(10)));
        // It was sent before the lease was granted.
        assert_eq!(changes.sent_after(0, Nanos(11)), None);
        changes.end(first, true);
        assert_eq!(changes.sent_if_quiet(), Some(1));
        changes.send(ChangeOf::Perhaps, Nanos(20));
        changes.send(ChangeOf::Names, Nanos(30));
        assert_eq!(changes.sent_after(0, Nanos(5)), Some(Nanos(10)));
        assert_eq!(changes.sent_after(1, Nanos(5)), None);
        assert_eq!(changes.sent_after(2, Nanos(5)), Some(Nanos(30)));
    }

    #[test]
    fn instants_that_are_forgotten_or_not_noted_time_no_break() {
        let changes = Changes::default();
        for at in 1..=REMEMBERED as u64 + 1 {
            changes.send(ChangeOf::Names, Nanos(at));
        }
        assert_eq!(changes.sent_after(0, Nanos(0)), None);
        assert_eq!(changes.sent_after(1, Nanos(0)), Some(Nanos(2)));
        changes.become_unsure();
        assert_eq!(changes.sent_after(1, Nanos(0)), None);
    }

    #[test]
    fn a_listing_is_old_once_a_later_change_of_names_is_done() {
        let changes = Changes::default();
        let refused = changes.send(ChangeOf::Names, Nanos(10));
        let write = changes.send(ChangeOf::Perhaps, Nanos(11));
        let made = changes.send(ChangeOf::Names, Nanos(12));
        changes.end(refused, false);
        changes.end(write, true);
        assert!(!changes.is_changed_since(Nanos(9)));
        changes.end(made, true);
        assert!(changes.is_changed_since(Nanos(11)));
        // The change may have come before the end of this listing.
        assert!(!changes.is_changed_since(Nanos(12)));
    }
}
