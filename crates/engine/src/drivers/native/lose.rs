//! What a group does when it loses one of several connections: its sessions, opens and leases
//! stand, and only the requests in flight there are lost (MS-SMB2 3.2.7.1).

use std::hint;

use smbench_protocol::connection::Repetition;
use smbench_protocol::{Completion, NtStatus};

use super::Native;
use super::encode::Encode;
use super::state::{CachingNews, GroupState, SlotObjects};
use crate::drivers::driver::{Busy, Call, LostCalls};
use crate::drivers::dropped::{LinkCause, LostLink};
use crate::drivers::links::Links;
use crate::machine::clock;
use crate::smb::session::caching::{self, Answered};

/// The calls of a lost connection that change something, by their slots.
#[derive(Debug, Default)]
pub(super) struct ChannelReplays {
    /// Those that were not sent again yet.
    due: Vec<u32>,
    /// Those that were.
    sent: Vec<u32>,
}

impl ChannelReplays {
    /// Makes a replay due again if it was refused for being too early. Returns whether it was.
    fn comes_too_early(&mut self, slot: u32, status: NtStatus) -> bool {
        let Some(at) = self.sent.iter().position(|&sent| sent == slot) else {
            return false;
        };
        self.sent.swap_remove(at);
        let is_early = status == NtStatus::FILE_NOT_AVAILABLE;
        if is_early {
            self.due.push(slot);
        }
        is_early
    }
}

impl<E> GroupState<E> {
    /// Marks the request of a call that is sent again.
    #[inline]
    pub(super) fn begin_replay(&self, links: &mut Links, call: &Call) -> Repetition {
        let Some(replays) = &self.replays else {
            return Repetition::First;
        };
        hint::cold_path();
        if !replays.due.contains(&call.slot) {
            return Repetition::First;
        }
        links.repeat(self.held[call.member].session, Repetition::Replay);
        Repetition::Replay
    }

    /// Ends the mark of a request, and notes that it was sent.
    #[inline]
    pub(super) fn end_replay(
        &mut self,
        links: &mut Links,
        call: &Call,
        mark: Repetition,
        encoded: Result<(), Busy>,
    ) -> Result<(), Busy> {
        if mark == Repetition::Replay {
            hint::cold_path();
            links.repeat(self.held[call.member].session, Repetition::First);
            if let (Some(replays), Ok(())) = (&mut self.replays, encoded) {
                replays.due.retain(|&slot| slot != call.slot);
                replays.sent.push(call.slot);
            }
        }
        encoded
    }

    /// Returns whether the server has refused a replay because it still carries out the request
    /// that it repeats (MS-SMB2 3.3.5.2.10). It is then sent once more.
    #[cold]
    pub(super) fn comes_too_early(&mut self, done: &Completion<'_>) -> bool {
        let replays = self.replays.as_mut();
        replays.is_some_and(|replays| replays.comes_too_early(done.tag, done.status))
    }

    /// Returns whether nothing in this state is of a certain connection, or of a request that
    /// cannot be lost alone: log-ons, listings under leases, walks, and the requests of a
    /// recording that depend on each other.
    fn stands_without_a_connection(&self) -> bool {
        let is_plain = |of: &SlotObjects| of.further.is_none() && of.walked.is_none();
        self.renewals.is_empty()
            && self.unfinished.is_empty()
            && self.listings.is_none()
            && self.places.iter().all(is_plain)
    }

    /// Makes an acknowledgement without an answer due again. Forgets what a slot waited for.
    fn forget_request(&mut self, tag: u32) {
        if tag >= caching::FIRST_TAG {
            let status = NtStatus::NETWORK_SESSION_EXPIRED;
            if let Some(Answered::Expired(due)) = self.cache.answered(tag, status, clock::now()) {
                self.cache.put_back(due);
            }
        } else if let Some(place) = self.places.get_mut(tag as usize) {
            place.due = 0;
            place.expired = false;
            place.caching = CachingNews::None;
        }
    }
}

impl<E: Encode> Native<E> {
    /// Goes on without a connection, if the sessions have another one. Returns the slots of the
    /// calls that were in flight on it.
    #[cold]
    pub(super) fn lose(
        &mut self,
        lost: &LostLink,
        is_replayed: &dyn Fn(u32) -> bool,
    ) -> Option<LostCalls> {
        let is_of_connection = matches!(
            lost.cause,
            LinkCause::Closed | LinkCause::Io(_) | LinkCause::Unacknowledged
        );
        if !is_of_connection || E::IS_RECORDING || !self.group.stands_without_a_connection() {
            return None;
        }
        let tags = self.links.lose(lost.connection)?;
        let sessions = self.group.held.iter().map(|held| held.session);
        self.links.next_sequence(&sessions.collect::<Vec<_>>());
        tags.iter().for_each(|&tag| self.group.forget_request(tag));
        let slots = tags.into_iter().filter(|&tag| tag < caching::FIRST_TAG);
        let slots: LostCalls = slots.collect();
        let replays = slots.iter().filter(|&&slot| is_replayed(slot));
        let known = self.group.replays.get_or_insert_default();
        known.due.extend(replays);
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_replay_that_comes_too_early_is_sent_once_more() {
        let early = NtStatus::FILE_NOT_AVAILABLE;
        let mut replays = ChannelReplays {
            due: vec![],
            sent: vec![3, 5],
        };
        assert!(!replays.comes_too_early(4, early), "not a replay");
        assert!(replays.comes_too_early(5, early));
        assert!(!replays.comes_too_early(5, early), "not sent again yet");
        assert!(!replays.comes_too_early(3, NtStatus::DISK_FULL));
        assert_eq!(replays.due, [5]);
        assert!(replays.sent.is_empty());
    }
}
