//! The loss of one of several connections (MS-SMB2 3.2.7.1). Sessions, opens and leases stand.
//! Only the requests in flight there are sent again.

use std::hint;

use smbench_model::Nanos;
use smbench_protocol::connection::Repetition;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, FileId, NtStatus};

use super::Native;
use super::encode::Encode;
use super::state::{CachingNews, GroupState, SlotObjects};
use crate::drivers::driver::{Answer, Busy, Call, Extent, LostCalls, RepeatedAs};
use crate::drivers::dropped::{LinkCause, LostLink};
use crate::drivers::links::Links;
use crate::machine::clock;
use crate::smb::session::caching::{self, Answered};

/// Pause before a replay that the server has refused, because it still carries out the request.
const PAUSE: Nanos = Nanos(10_000_000);

/// The calls that the loss of a connection concerns, by their slots.
#[derive(Debug, Default)]
pub(super) struct ChannelReplays {
    /// Those that are to be sent again as replays, not before this instant.
    due: Vec<(u32, Nanos)>,
    /// Replays in flight.
    sent: Vec<u32>,
    /// Those in flight on the other connections at the loss. The server refuses them if a
    /// request with the new channel sequence overtakes them (3.3.5.2.10).
    older: Vec<u32>,
}

/// What the answer to a replay means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplayOutcome {
    /// What it says.
    AsAnswered,
    /// The server has not carried out the call, which is sent once more.
    Refused,
    /// The call was carried out before the connection was lost.
    DoneBefore,
}

impl ChannelReplays {
    /// Forgets what was in flight in a slot that has a new call.
    fn begin(&mut self, slot: u32) {
        self.sent.retain(|&sent| sent != slot);
        self.older.retain(|&older| older != slot);
    }

    /// Judges an answer that is not a success.
    fn judge(
        &mut self,
        slot: u32,
        command: Command,
        status: NtStatus,
        now: Nanos,
    ) -> ReplayOutcome {
        if status == NtStatus::FILE_NOT_AVAILABLE && self.older.contains(&slot) {
            self.begin(slot);
            return ReplayOutcome::Refused;
        }
        if !self.sent.contains(&slot) {
            return ReplayOutcome::AsAnswered;
        }
        self.begin(slot);
        match (command, status) {
            (_, NtStatus::FILE_NOT_AVAILABLE) => {
                self.due.push((slot, now + PAUSE));
                ReplayOutcome::Refused
            }
            (Command::Close, NtStatus::FILE_CLOSED)
            | (Command::Lock, NtStatus::RANGE_NOT_LOCKED) => ReplayOutcome::DoneBefore,
            _ => ReplayOutcome::AsAnswered,
        }
    }
}

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
    /// flight on it can be sent again. Returns the slots of these calls.
    #[cold]
    pub(super) fn lose(&mut self, lost: &LostLink, repeated: RepeatedAs<'_>) -> Option<LostCalls> {
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
        let slots: LostCalls = slots.collect();
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
        self.links.lose(lost.connection);
        let sessions = self.group.held.iter().map(|held| held.session);
        self.links.next_sequence(&sessions.collect::<Vec<_>>());
        let tags = in_flight.lost.iter();
        tags.for_each(|&tag| self.group.forget_request(tag));
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Command = Command::Write;
    const NOW: Nanos = Nanos(5);

    #[test]
    fn only_a_replay_that_comes_too_early_is_sent_once_more_after_a_pause() {
        let early = NtStatus::FILE_NOT_AVAILABLE;
        let mut replays = ChannelReplays {
            sent: vec![3, 5],
            ..ChannelReplays::default()
        };
        let mut judge = |slot, status| replays.judge(slot, WRITE, status, NOW);
        assert_eq!(judge(4, early), ReplayOutcome::AsAnswered, "not a replay");
        assert_eq!(judge(5, early), ReplayOutcome::Refused);
        let again = judge(5, early);
        assert_eq!(again, ReplayOutcome::AsAnswered, "not sent again yet");
        assert_eq!(judge(3, NtStatus::DISK_FULL), ReplayOutcome::AsAnswered);
        assert_eq!(replays.due, [(5, NOW + PAUSE)]);
        assert!(replays.sent.is_empty());
    }

    #[test]
    fn a_request_that_a_newer_one_has_overtaken_is_sent_again_once() {
        let mut replays = ChannelReplays {
            older: vec![2, 7],
            ..ChannelReplays::default()
        };
        let early = NtStatus::FILE_NOT_AVAILABLE;
        let mut judge = |slot| replays.judge(slot, WRITE, early, NOW);
        assert_eq!(judge(7), ReplayOutcome::Refused);
        assert_eq!(judge(7), ReplayOutcome::AsAnswered);
        replays.begin(2);
        let of_new_call = replays.judge(2, WRITE, early, NOW);
        assert_eq!(of_new_call, ReplayOutcome::AsAnswered);
        assert!(replays.due.is_empty());
    }

    #[test]
    fn what_was_closed_or_unlocked_before_the_loss_has_succeeded() {
        let (closed, unlocked) = (NtStatus::FILE_CLOSED, NtStatus::RANGE_NOT_LOCKED);
        let mut replays = ChannelReplays {
            sent: vec![1, 2],
            ..ChannelReplays::default()
        };
        let close = replays.judge(1, Command::Close, closed, NOW);
        let unlock = replays.judge(2, Command::Lock, unlocked, NOW);
        assert_eq!([close, unlock], [ReplayOutcome::DoneBefore; 2]);
        let later = replays.judge(1, Command::Close, closed, NOW);
        assert_eq!(later, ReplayOutcome::AsAnswered);
    }
}
