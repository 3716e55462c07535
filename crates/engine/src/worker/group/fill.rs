//! Fills free slots: submits due operations to the driver as long as it has room.

use std::hint;

use smbench_model::Nanos;

use super::Group;
use super::pieces::begin;
use crate::drivers::driver::{Busy, Call, Driver, Scratch};
use crate::drivers::turns::after;
use crate::worker::load_control::LoadControl;
use crate::worker::member::DueFor;
use crate::worker::supply::Supply;

/// The reason why no further operation was submitted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// The windows, the credits or the schedule allow no more.
    AsPlanned,
    /// Slots are free, but the encoded bytes must be sent first.
    UpToBacklog,
    /// The client with this index has operations that cannot be sent.
    AtFault(usize),
}

impl Filled {
    const fn before(busy: Busy) -> Self {
        match busy {
            Busy::Room => Self::UpToBacklog,
            Busy::Credits
            | Busy::Session
            | Busy::Link
            | Busy::Earlier
            | Busy::Others
            | Busy::Over => Self::AsPlanned,
        }
    }
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Submits operations until every slot is in use, credits run out, the load
    /// point stops, or the driver has no room.
    pub(super) fn fill(
        &mut self,
        now: Nanos,
        scratch: &mut Scratch,
        control: &LoadControl,
    ) -> Filled {
        self.clients.count_in_flight(now, control);
        self.count_held_back(now, control);
        if S::splits() && self.clients.pieces_are_first() {
            let filled = self.send_pieces(scratch);
            if filled != Filled::AsPlanned {
                return filled;
            }
        }
        let members = self.clients.members.len();
        let mut member = self.turn;
        for _ in 0..members {
            let filled = self.fill_member(member, now, scratch, control);
            if filled != Filled::AsPlanned {
                hint::cold_path();
                // The member that found no room is served first the next time.
                self.turn = member;
                return filled;
            }
            member = after(member, members);
        }
        self.turn = after(self.turn, members);
        if S::splits() {
            let filled = self.send_pieces(scratch);
            if filled != Filled::AsPlanned {
                return filled;
            }
        }
        self.held_back.end();
        Filled::AsPlanned
    }

    #[inline]
    pub(super) fn count_held_back(&mut self, now: Nanos, control: &LoadControl) {
        if self.held_back.since.is_some() {
            hint::cold_path();
            self.count_as_held_back(now, control);
        }
    }

    #[inline(never)]
    fn count_as_held_back(&mut self, now: Nanos, control: &LoadControl) {
        let members = self.clients.members.iter();
        let due = members.filter_map(|member| member.due_since(now));
        let of_window = |from, to| control.window_between(from, to);
        self.held_back.count(now, due, of_window);
    }

    fn fill_member(
        &mut self,
        at: usize,
        now: Nanos,
        scratch: &mut Scratch,
        control: &LoadControl,
    ) -> Filled {
        let member = &mut self.clients.members[at];
        let slots = &mut self.clients.slots;
        let may_begin = !control.stops(now) && !self.driver.leaves(now);
        if !may_begin {
            hint::cold_path();
            member.cut_window(control.cancel.at());
            member.end_watches();
        }
        member.give_up_overdue(now);
        while let Some(due) = member.due(now, may_begin) {
            if !self.driver.has_room(scratch) {
                hint::cold_path();
                return Filled::UpToBacklog;
            }
            let slot = due.slot;
            let of_slot = &slots[slot as usize];
            // An action has one due instant. Each of its further requests has its
            // own intended instant.
            let (since, intended) = match due.what {
                DueFor::Further => (of_slot.due, of_slot.intended),
                DueFor::Next => (now, now),
                DueFor::Rested(at) | DueFor::Arrival(at) => (at, at),
            };
            let operation = match due.what {
                DueFor::Further => Some(of_slot.operation),
                DueFor::Next | DueFor::Rested(_) | DueFor::Arrival(_) => {
                    member.next_operation(control.schedule().phase(now))
                }
            };
            let Some(operation) = operation else {
                hint::cold_path();
                if member.is_over() {
                    member.retire();
                    return Filled::AsPlanned;
                }
                return Filled::AtFault(at);
            };
            let call = Call {
                slot,
                member: at,
                operation,
            };
            let submitted = match (S::splits(), &mut self.clients.splits) {
                (true, Some(splits)) => begin(&mut self.driver, splits, member, &call, scratch),
                _ => self
                    .driver
                    .submit(&call, scratch, |out| member.write_data(&operation, out)),
            };
            if let Err(busy) = submitted {
                hint::cold_path();
                if busy == Busy::Over {
                    member.retire();
                    return Filled::AsPlanned;
                }
                if !matches!(due.what, DueFor::Further) {
                    member.keep(operation);
                }
                member.waits.begin(busy, now, control);
                return Filled::before(busy);
            }
            member.waits.end(now, control);
            member.served(due, now);
            member.sent(slot, &operation);
            let epoch = member.epoch(&operation);
            let is_again = slots[slot as usize].fill(operation, since, intended, epoch, now);
            self.clients.in_flight += u32::from(!is_again);
        }
        if !may_begin {
            hint::cold_path();
            member.waits.end(now, control);
        }
        Filled::AsPlanned
    }
}
