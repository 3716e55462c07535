//! What a group does when it loses one of several connections: its sessions, opens and leases
//! stand, and only the requests in flight there are lost (MS-SMB2 3.2.7.1).

use smbench_protocol::NtStatus;
use smbench_protocol::connection::Repetition;

use super::Native;
use super::encode::Encode;
use super::state::{CachingNews, GroupState, SlotObjects};
use crate::drivers::driver::{Busy, Call, LostCalls};
use crate::drivers::dropped::{LinkCause, LostLink};
use crate::machine::clock;
use crate::smb::session::caching::{self, Answered};

impl<E> GroupState<E> {
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
        self.replays = self.replays.iter().chain(replays).copied().collect();
        Some(slots)
    }

    /// Sends a call again that had no answer, marked as a replay.
    #[cold]
    pub(super) fn replay(
        &mut self,
        call: &Call,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let Self { links, group, .. } = self;
        let session = group.held[call.member].session;
        links.repeat(session, Repetition::Replay);
        let mut out = links.take_buffer();
        let encoded = E::encode(group, links, call, &mut out, data);
        links.put_buffer(out);
        links.repeat(session, Repetition::First);
        if encoded.is_ok() {
            let others = self.replays.iter().filter(|&&slot| slot != call.slot);
            self.replays = others.copied().collect();
        }
        encoded
    }
}
