//! What clients wait for, and how long.

use smbench_model::Nanos;

use super::Clients;
use crate::worker::load_control::LoadControl;
use crate::worker::slot::Slot;
use crate::worker::supply::Supply;

impl<S: Supply> Clients<S> {
    /// Returns how long before the end of the window the operation of a slot was sent; `None`
    /// if it was sent later.
    pub(super) fn time_until_close(&self, slot: u32) -> Option<Nanos> {
        let slot = self.slots.get(slot as usize)?;
        self.members.get(slot.member)?.time_until_close(slot)
    }

    /// Returns the earliest instant since which a client cannot send a due
    /// operation for lack of credits or of a session.
    pub(in crate::worker) fn waiting_since(&self) -> Option<Nanos> {
        let members = self.members.iter();
        members.filter_map(|member| member.waits.since()).min()
    }

    /// Returns whether the session of any client takes no requests.
    pub(in crate::worker) fn is_any_shut_out(&self) -> bool {
        self.members.iter().any(|member| member.waits.is_shut_out())
    }

    /// Returns the operation in flight that has waited longest for an answer, and the start
    /// of the wait.
    pub(in crate::worker) fn oldest(&self) -> Option<(&Slot, Nanos)> {
        let in_flight = self.slots.iter().enumerate();
        in_flight
            .filter(|(_, slot)| slot.state.is_in_flight())
            .map(|(at, slot)| match &self.splits {
                Some(splits) => (slot, slot.sent.max(splits.last_answer(at))),
                None => (slot, slot.sent),
            })
            .min_by_key(|(_, since)| *since)
    }

    /// Returns the sum over operations of their time in flight within the window.
    pub(in crate::worker) const fn in_flight_time(&self) -> Nanos {
        self.in_flight_time.sum
    }

    /// Updates the time in flight; call this before the number in flight changes.
    pub(in crate::worker) fn count_in_flight(&mut self, now: Nanos, control: &LoadControl) {
        self.in_flight_time.add(self.in_flight, now, control);
    }
}
