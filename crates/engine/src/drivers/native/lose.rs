//! The loss of one of several connections (MS-SMB2 3.2.7.1). Sessions, opens and leases stand.
//! Only the requests in flight there are sent again.

use std::hint;

use smbench_model::Nanos;
use smbench_protocol::connection::Repetition;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, FileId, NtStatus, SessionIndex};

use super::Native;
use super::channel_replays::ReplayOutcome;
use super::encode::Encode;
use super::state::{CachingNews, GroupState, SlotObjects};
use crate::drivers::driver::{
    Answer, Busy, Call, ChannelMember, ChannelSetup, Extent, LostChannel, RepeatedAs,
};
use crate::drivers::dropped::{LinkCause, LostLink};
use crate::drivers::links::Links;
use crate::machine::clock;
use crate::smb::session::caching::{self, Answered};

impl<E> GroupState<E> {
    /// Marks the request of a call that is sent again. Refuses it if it is too early for that.
    #[inline]
    pub(super) fn begin_replay(
        &mut self,
        links: &mut Links,
        call: &Call,
    ) -> Result<Repetition, Busy> {
        let Some(replays) = &mut self.replays else {
            return Ok(Repetition::First);
        };
        hint::cold_path();
        replays.begin(call.slot);
        match replays.due.iter().find(|(slot, _)| *slot == call.slot) {
            None => Ok(Repetition::First),
            Some((_, at)) if clock::now() < *at => Err(Busy::Others),
            Some(_) => {
                links.repeat(self.held[call.member].session, Repetition::Replay);
                Ok(Repetition::Replay)
            }
        }
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
                replays.due.retain(|(slot, _)| *slot != call.slot);
                replays.sent.push(call.slot);
            }
        }
        encoded
    }

    /// Corrects the answer to a call that the loss of a connection concerns.
    #[cold]
    pub(super) fn judge_replay(
        &mut self,
        done: &Completion<'_>,
        answer: &mut Answer<'_>,
        now: Nanos,
    ) {
        let Some(replays) = &mut self.replays else {
            return;
        };
        match replays.judge(done.tag, done.command, done.status, now) {
            ReplayOutcome::AsAnswered => {}
            ReplayOutcome::Refused => answer.extent = Extent::Expired,
            ReplayOutcome::DoneBefore => {
                answer.status = NtStatus::SUCCESS;
                if done.command == Command::Close
                    && let Some(place) = self.places.get_mut(done.tag as usize)
                {
                    place.open = FileId::default();
                }
            }
        }
    }

    /// Returns whether nothing in this state belongs to one connection, or to a request that
    /// cannot be lost alone. Such are log-ons, listings under leases, and walks.
    fn stands_without_a_connection(&self) -> bool {
        let is_plain = |of: &SlotObjects| of.further.is_none() && of.walked.is_none();
        self.renewals.is_empty()
            && self.unfinished.is_empty()
            && self.listings.is_none()
            && self.places.iter().all(is_plain)
    }

    /// Returns the sessions of all members.
    pub(super) fn sessions(&self) -> Vec<SessionIndex> {
        self.held.iter().map(|held| held.session).collect()
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
    /// Goes on without a connection, if the sessions have another one, and if each call in
    /// flight on it can be sent again.
    #[cold]
    pub(super) fn lose(
        &mut self,
        lost: &LostLink,
        repeated: RepeatedAs<'_>,
    ) -> Option<LostChannel> {
        let is_of_connection = matches!(
            lost.cause,
            LinkCause::Closed | LinkCause::Io(_) | LinkCause::Unacknowledged
        );
        if !is_of_connection || E::IS_RECORDING || !self.group.stands_without_a_connection() {
            return None;
        }
        let in_flight = self.links.in_flight_on(lost.connection)?;
        let is_call = |tag: &u32| *tag < caching::FIRST_TAG;
        let slots = in_flight.lost.iter().copied().filter(is_call);
        let slots: Vec<_> = slots.collect();
        let known = self.group.replays.get_or_insert_default();
        let mut due = Vec::new();
        for &slot in &slots {
            if repeated(slot)? == Repetition::Replay {
                due.push((slot, Nanos(0)));
            }
        }
        slots.iter().for_each(|&slot| known.begin(slot));
        known.due.append(&mut due);
        known.older.extend(in_flight.others);
        let sessions = self.group.sessions();
        let endpoint = self.links.lose(lost.connection, &sessions);
        self.links.next_sequence(&sessions);
        let tags = in_flight.lost.iter();
        tags.for_each(|&tag| self.group.forget_request(tag));
        Some(LostChannel { slots, endpoint })
    }

    /// Returns what another connection in the place of a lost one needs. Each use costs the
    /// sessions one of the channels that they can have.
    #[cold]
    pub(super) fn set_up_again(&mut self, lost: &LostChannel) -> Option<ChannelSetup> {
        let held = self.group.held.iter();
        let members = held.map(|held| {
            let binding = self.links.binding(held.session)?;
            Some(ChannelMember {
                client: held.client,
                session: held.session,
                binding,
            })
        });
        let members = members.collect::<Option<Vec<_>>>()?;
        let endpoint = lost.endpoint.clone().for_client(members.first()?.client);
        Some(ChannelSetup { endpoint, members })
    }
}
