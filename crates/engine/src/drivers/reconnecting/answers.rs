//! Follows the answers of a driver on their way to the loop.

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::Reclaimed;
use smbench_model::sessions::Caching;
use smbench_protocol::NtStatus;
use smbench_protocol::command::WireName;

use super::calls::{BlackoutCause, ClientCalls};
use crate::drivers::driver::{Answer, ChurnEvent, Extent, ListingEvent, Sink};
use crate::drivers::dropped::{Dropped, LostLink};
use crate::smb::session::caching::Acknowledged;

/// Follows which calls a driver has answered.
pub(super) struct Answers<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) calls: &'a mut ClientCalls,
    pub(super) now: Nanos,
}

impl<S: Sink> Sink for Answers<'_, S> {
    fn answer(&mut self, answer: &Answer<'_>) -> Result<(), Dropped> {
        if (answer.extent.is_answer() || answer.extent == Extent::Interim)
            && let Some(back) = self.calls.answered(answer.slot, self.now)
        {
            if back.cause == BlackoutCause::Stop {
                self.sink.cut_off(back.lost_at, 1);
            }
            self.sink.came_back(back.lost_at, back.after);
        }
        match self.calls.back_at(answer.slot) {
            None => self.sink.answer(answer)?,
            Some(back_at) => self.sink.answer_after_loss(answer, back_at)?,
        }
        // If the answer ends the session, the call is still in flight, and is lost with it.
        if !matches!(answer.extent, Extent::Interim | Extent::Part) {
            self.calls.ended(answer.slot);
        }
        Ok(())
    }

    fn granted(&mut self, caching: Caching) {
        self.sink.granted(caching);
    }

    fn broken(&mut self) {
        self.sink.broken();
    }

    fn listing(&mut self, event: ListingEvent) {
        self.sink.listing(event);
    }

    fn refused(&mut self, directory: &WireName, status: NtStatus) {
        self.sink.refused(directory, status);
    }

    fn acknowledged(&mut self, took: Nanos, outcome: Acknowledged) {
        self.sink.acknowledged(took, outcome);
    }

    fn reauthenticated(&mut self, since: Nanos) {
        self.sink.reauthenticated(since);
    }

    fn link_lost(&mut self, lost: &LostLink, since: Nanos, channels: u64) {
        self.sink.link_lost(lost, since, channels);
    }

    fn channel_lost(&mut self, lost: &LostLink, since: Nanos) {
        self.sink.channel_lost(lost, since);
    }

    fn channel_back(&mut self) {
        self.sink.channel_back();
    }

    fn cut_off(&mut self, since: Nanos, clients: u32) {
        self.sink.cut_off(since, clients);
    }

    fn link_back(&mut self, handles: &Reclaimed) {
        self.sink.link_back(handles);
    }

    fn came_back(&mut self, lost_at: Nanos, after: Nanos) {
        self.sink.came_back(lost_at, after);
    }

    fn stayed_away(&mut self, lost_at: Nanos, after: Nanos) {
        self.sink.stayed_away(lost_at, after);
    }

    fn churned(&mut self, event: ChurnEvent<'_>) {
        self.sink.churned(event);
    }

    fn parts(&mut self, slot: u32, parts: impl Iterator<Item = (OpKind, Nanos)>) {
        self.sink.parts(slot, parts);
    }
}
