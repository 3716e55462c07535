//! What answers and events change in the state of a group.

use std::hint;

use smbench_model::Nanos;
use smbench_protocol::command::oplock_break::BreakNotification;
use smbench_protocol::{Completion, Connection, FileId, NtStatus, ProtocolError};

use super::answer;
use super::encode::{Encode, To};
use super::further::{self, SlotProgress};
use super::state::{CachingNews, GroupState, member_of};
use crate::drivers::driver::{Call, ChannelNews, Extent, ListingEvent, Sink, slot_of};
use crate::drivers::dropped::Dropped;
use crate::drivers::links::Links;
use crate::smb::session::caching::{Answered, Cache};

impl<E> GroupState<E> {
    /// Returns the session, tag and buffer of a call's request on the chosen connection.
    #[inline]
    pub(super) fn to<'a>(&self, links: &'a mut Links, call: &Call, out: &'a mut Vec<u8>) -> To<'a> {
        To {
            connection: links.connection(),
            session: self.held[call.member].session,
            tag: call.slot,
            out,
        }
    }

    /// Returns the held-open file of a call.
    pub(super) fn held_file(&self, call: &Call) -> FileId {
        self.held[call.member].files[call.operation.file as usize]
    }

    /// Starts the reauthentication of the session to which a slot belongs.
    #[cold]
    fn expired(&mut self, slot: u32, now: Nanos) {
        self.renewals.found(slot_of(slot) / self.outstanding, now);
    }

    /// Processes the answer to the acknowledgement of a break.
    #[cold]
    pub(super) fn acknowledged(&mut self, done: &Completion<'_>, now: Nanos, sink: &mut impl Sink) {
        match self.cache.answered(done.tag, done.status, now) {
            Some(Answered::Settled(took, outcome)) => sink.acknowledged(took, outcome),
            Some(Answered::Expired(due)) => {
                self.cache.put_back(due);
                if let Some(member) = member_of(&self.held, due.session) {
                    self.renewals.found(member, now);
                }
            }
            Some(Answered::Closed(took)) => sink.listing(ListingEvent::Closed(took)),
            None => {}
        }
    }

    /// Processes an answer for the further session of a slot.
    #[cold]
    fn further_answered(
        &mut self,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
        now: Nanos,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let place = &mut self.places[done.tag as usize];
        match further::answered(place, connection, done, out)? {
            SlotProgress::NotYet => Ok(()),
            SlotProgress::Unfinished => {
                self.unfinished.push(done.tag);
                Ok(())
            }
            SlotProgress::To(answer) => {
                if answer.extent == Extent::Expired {
                    self.expired(done.tag, now);
                }
                sink.answer(&answer)
            }
        }
    }
}

impl<E: Encode> GroupState<E> {
    /// Processes the answer to a request of a slot.
    #[inline]
    pub(super) fn answered(
        &mut self,
        done: &Completion<'_>,
        connection: &mut Connection,
        out: &mut Vec<u8>,
        now: Nanos,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let place = self.places.get_mut(done.tag as usize);
        if place.as_ref().is_some_and(|place| place.further.is_some()) {
            hint::cold_path();
            return self.further_answered(done, connection, out, now, sink);
        }
        let news = place
            .as_ref()
            .map_or(CachingNews::None, |place| place.caching);
        let mut answer = match answer::of(done, place) {
            Ok(answer) => answer,
            Err(fault) => return Err(fault.into_dropped().map_err(ProtocolError::from)?),
        };
        if news != CachingNews::None {
            self.caching_answered(news, done, answer.as_mut(), now, sink)?;
        }
        if done.status != NtStatus::SUCCESS {
            hint::cold_path();
            self.failed(done, now, sink);
            if let Some(answer) = &mut answer {
                self.judge_replay(done, answer, now);
            }
        }
        if let Some(answer) = answer
            && let Some(answer) = E::answered(self, answer, done, connection, out)?
        {
            sink.answer(&answer)?;
        }
        Ok(())
    }

    /// Notes an answer that is not a success.
    #[cold]
    fn failed(&mut self, done: &Completion<'_>, now: Nanos, sink: &mut impl Sink) {
        if done.status == NtStatus::NETWORK_SESSION_EXPIRED {
            self.expired(done.tag, now);
        }
        let place = self.places.get_mut(done.tag as usize);
        if let Some(walked) = place.and_then(|place| place.walked.as_mut()) {
            walked.report(sink);
        }
    }

    /// Finds the open of a break, and makes the acknowledgement due.
    #[cold]
    pub(super) fn broken(
        &mut self,
        notification: &BreakNotification,
        now: Nanos,
        sink: &mut impl Sink,
    ) {
        sink.broken();
        self.owe(notification);
        self.listings_broken(notification, now, sink);
    }

    /// Makes the acknowledgement of a break due, if its open is found.
    fn owe(&mut self, notification: &BreakNotification) {
        let Self {
            encoder,
            cache,
            held,
            places,
            outstanding,
            ..
        } = self;
        cache.broken(notification, |open| {
            let (slot, level) = encoder.holder(open, held, places)?;
            Some((held[slot / *outstanding].session, level))
        });
    }

    /// Takes over what a connection of the sessions learned while it was set up. Nothing is in
    /// flight on it.
    #[cold]
    pub(super) fn learn(&mut self, mut cache: Cache) -> ChannelNews {
        let news = ChannelNews {
            breaks: cache.take_breaks(),
            acknowledged: cache.take_settled(),
        };
        for broken in cache.take_early() {
            self.owe(&BreakNotification::Oplock(broken));
        }
        self.cache.absorb(cache);
        news
    }
}
