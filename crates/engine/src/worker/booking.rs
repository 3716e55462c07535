//! The bookkeeping of a group: which operation occupies which slot, and how an
//! answer completes it.
//!
//! Invariant: between submitting and completing an operation, nothing here
//! allocates, after the first operations. Not here: when operations are sent, which
//! is in [`super::group`].

mod failed;
mod in_flight;
mod lost;
mod pieces;
pub(super) mod unusual;
mod waiting;
mod whole;

use std::hint;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::operations::RequestResult;
use smbench_model::record::{EventKind, OperationFailure, Reclaimed, Recorder, Times};
use smbench_model::sessions::Caching;
use smbench_protocol::NtStatus;
use smbench_protocol::command::WireName;

use crate::drivers::driver::{Answer, ChurnEvent, Extent, ListingEvent, Sink};
use crate::drivers::dropped::{Dropped, LostLink};
use crate::smb::session::caching::Acknowledged;
use crate::worker::event_instants::EventInstants;
use crate::worker::member::Member;
use crate::worker::shared::FinalReadCount;
use crate::worker::slot::{Slot, SlotState};
use crate::worker::split::Splits;
use crate::worker::supply::Supply;
use crate::worker::whole::WholeOperation;
use failed::{AnswerInstant, fail};
use in_flight::TimeInFlight;
use lost::SlotsAfterLoss;
use unusual::book_acknowledged;

/// The members of a group, their slots and the operations in flight.
pub(super) struct Clients<S> {
    pub(super) members: Box<[Member<S>]>,
    pub(super) slots: Box<[Slot]>,
    pub(crate) in_flight: u32,
    /// State of operations larger than a request, if there can be any.
    pub(super) splits: Option<Box<Splits>>,
    /// The operation of several steps in each slot; empty if there can be none.
    wholes: Box<[WholeOperation]>,
    in_flight_time: TimeInFlight,
    /// Number of slots of each member.
    outstanding: u32,
    /// Start of the load, from which instants of events count.
    pub(super) begin: Nanos,
    /// When lost connections were last replaced.
    pub(super) back_since: Nanos,
    /// The instants of the plan's events.
    pub(super) events: EventInstants,
    /// Index of the event before the last loss of a connection.
    after_event: Option<u32>,
    /// Slots for which more follows from a lost connection, once there are any.
    after_loss: Option<Box<SlotsAfterLoss>>,
    /// Whether the server is asked to keep the handles of files held open.
    pub(super) keeps_handles: bool,
}

/// Records the answers received at one instant.
pub(super) struct Booking<'a, S> {
    pub(crate) clients: &'a mut Clients<S>,
    pub(crate) recorder: &'a mut Recorder,
    /// 1 in the window, else 0; added to the client's count for each operation.
    pub(super) in_window: u64,
    pub(super) now: Nanos,
}

impl<S: Supply> Sink for Booking<'_, S> {
    fn answer(&mut self, answer: &Answer<'_>) -> Result<(), Dropped> {
        let (now, in_window) = (self.now, self.in_window);
        self.clients.book(answer, now, in_window, self.recorder)
    }

    fn answer_after_loss(&mut self, answer: &Answer<'_>, back_at: Nanos) -> Result<(), Dropped> {
        let (now, in_window) = (self.now, self.in_window);
        let clients = &mut *self.clients;
        if clients.ends_lock(answer, now, in_window, self.recorder) {
            return Ok(());
        }
        match clients.in_blackout(answer.slot, back_at, now) {
            None => self.answer(answer),
            Some((kind, times)) => self.book_late(answer, kind, times),
        }
    }

    fn granted(&mut self, caching: Caching) {
        self.recorder.caching_mut().count(caching);
    }

    fn broken(&mut self) {
        self.recorder.caching_mut().breaks += 1;
    }

    fn listing(&mut self, event: ListingEvent) {
        let caching = self.recorder.caching_mut();
        match event {
            ListingEvent::Kept => caching.kept += 1,
            ListingEvent::Ended => caching.ended += 1,
            ListingEvent::Stale => caching.stale += 1,
            ListingEvent::Noticed(took) => {
                if let Some(took) = took {
                    self.recorder.success(OpKind::Watch, 0, took);
                }
                self.recorder.listed(OpKind::Watch, 1);
            }
            ListingEvent::Closed(took) => self.recorder.success(OpKind::ListClose, 0, took),
            ListingEvent::Broken(took) => self.recorder.success(OpKind::ListBreak, 0, took),
        }
    }

    fn refused(&mut self, directory: &WireName, status: NtStatus) {
        self.recorder.refused(directory, status);
    }

    fn acknowledged(&mut self, took: Nanos, outcome: Acknowledged) {
        book_acknowledged(self.recorder, took, outcome);
        if let Acknowledged::Refused(status) = outcome {
            let event = self.clients.events.last_before(self.now);
            let failure = OperationFailure::Status(status);
            self.recorder
                .failed_after(event, OpKind::OplockBreak, failure);
        }
    }

    fn reauthenticated(&mut self, since: Nanos) {
        let (kind, took) = (OpKind::Reauthentication, self.now.since(since));
        self.recorder.success(kind, 0, took);
    }

    fn link_lost(&mut self, lost: &LostLink, since: Nanos, channels: u64) {
        self.book_event(EventKind::LinkLost, lost.at);
        self.clients.after_event = self.clients.events.last_before(since);
        let losses = self.recorder.losses_mut(self.clients.after_event);
        losses.links += 1;
        // They may have been counted in an earlier second.
        losses.channels -= channels as i64;
    }

    fn channel_lost(&mut self, lost: &LostLink, since: Nanos) {
        self.book_event(EventKind::ChannelLost, lost.at);
        self.clients.after_event = self.clients.events.last_before(since);
        let losses = self.recorder.losses_mut(self.clients.after_event);
        losses.links += 1;
        losses.channels += 1;
    }

    fn channel_back(&mut self) {
        self.book_event(EventKind::ChannelBack, self.now);
    }

    fn cut_off(&mut self, since: Nanos, clients: u32) {
        let event = self.clients.events.last_before(since);
        self.recorder.losses_mut(event).clients += u64::from(clients);
    }

    fn link_back(&mut self, handles: &Reclaimed) {
        self.book_event(EventKind::LinkBack, self.now);
        let losses = self.recorder.losses_mut(self.clients.after_event);
        losses.handles.merge(handles);
        if !handles.is_complete() {
            self.clients.reopened();
        }
        self.clients
            .end_actions(self.now, self.in_window, Some(handles), self.recorder);
    }

    fn came_back(&mut self, lost_at: Nanos, after: Nanos) {
        let event = self.clients.events.last_before(lost_at);
        self.recorder.losses_mut(event).came_back(after);
    }

    fn stayed_away(&mut self, lost_at: Nanos, after: Nanos) {
        let event = self.clients.events.last_before(lost_at);
        self.recorder.losses_mut(event).stayed_away(after);
    }

    fn churned(&mut self, event: ChurnEvent<'_>) {
        self.book_churn(event);
    }

    fn parts(&mut self, slot: u32, parts: impl Iterator<Item = (OpKind, Nanos)>) {
        let is_late = self.in_window == 0;
        let mut missed = is_late
            .then(|| self.clients.time_until_close(slot))
            .flatten();
        for (kind, took) in parts {
            self.recorder.success(kind, 0, took);
            // One part after another uses up the time from sending to the close.
            if let Some(left) = missed {
                missed = (left >= took).then(|| left.since(took));
                if missed.is_none() {
                    self.recorder.in_flight(kind, left);
                }
            }
        }
    }
}

impl<S: Supply> Clients<S> {
    /// Makes the clients of a group. Each member gets `outstanding` consecutive
    /// slots.
    pub(crate) fn new(mut members: Vec<Member<S>>, outstanding: u32) -> Self {
        let mut slots = Vec::with_capacity(members.len() * outstanding as usize);
        for (at, member) in members.iter_mut().enumerate() {
            let first = slots.len() as u32;
            member.give_slots(first..first + outstanding);
            slots.resize(slots.len() + outstanding as usize, Slot::free(at));
        }
        Self {
            splits: S::splits().then(|| Box::new(Splits::new(slots.len()))),
            wholes: if S::splits() {
                vec![WholeOperation::default(); slots.len()].into_boxed_slice()
            } else {
                Box::default()
            },
            members: members.into_boxed_slice(),
            slots: slots.into_boxed_slice(),
            in_flight: 0,
            in_flight_time: TimeInFlight::default(),
            outstanding,
            begin: Nanos(0),
            back_since: Nanos(0),
            events: EventInstants::default(),
            after_event: None,
            after_loss: None,
            keeps_handles: false,
        }
    }

    /// Returns whether any slot waits for an instant only, not for an answer.
    pub(super) fn awaits_clock(&self) -> bool {
        self.members.iter().any(|member| member.due_at().is_some())
    }

    /// Returns whether the server holds a watch.
    pub(super) fn watch(&self) -> bool {
        self.members.iter().any(Member::watches)
    }

    /// Returns the next instant after `now` at which the clock makes a slot due. A
    /// slot that is already due waits for an answer or for room, so it is left out.
    pub(super) fn due_after(&self, now: Nanos) -> Option<Nanos> {
        let due = self.members.iter().filter_map(Member::due_at);
        due.filter(|&due| due > now).min()
    }

    /// Switches the clients to the operations after the load. No slot may be in
    /// use.
    pub(crate) fn close(&mut self, final_reads: &FinalReadCount) {
        let mut first = 0;
        for member in &mut self.members {
            member.close(first..first + self.outstanding, final_reads);
            first += self.outstanding;
        }
    }

    fn book(
        &mut self,
        answer: &Answer<'_>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) -> Result<(), Dropped> {
        let Some(slot) = self.slots.get_mut(answer.slot as usize) else {
            if S::splits() {
                return self.book_piece(answer, now, in_window, recorder);
            }
            return Err(Dropped::Unasked(answer.slot));
        };
        if slot.state != SlotState::InFlight || !answer.extent.is_answer() {
            hint::cold_path();
            if let Some(booked) = self.book_unusual(answer, now, in_window, recorder) {
                return booked;
            }
        }
        let slot = &mut self.slots[answer.slot as usize];
        let member = &mut self.members[slot.member];
        slot.moved = slot.moved.saturating_add(answer.moved);
        if slot.state == SlotState::InFlight {
            let whole = S::splits().then(|| &mut self.wholes[answer.slot as usize]);
            let at = AnswerInstant {
                now,
                in_window,
                events: &self.events,
            };
            record(member, slot, whole, answer, at, recorder)?;
        }
        if answer.extent == Extent::Part {
            return Ok(());
        }
        let is_step = S::splits() && slot.operation.kind.is_step();
        if is_step {
            self.wholes[answer.slot as usize].add(slot);
        }
        self.in_flight -= 1;
        if in_window == 0 {
            hint::cold_path();
            book_missed(member, slot, now, recorder);
        }
        let went = match (slot.state, answer.extent) {
            (SlotState::Failing, _) => RequestResult::Wrong,
            _ if is_step && self.wholes[answer.slot as usize].has_failed() => RequestResult::Wrong,
            (_, Extent::Interim) => RequestResult::Pending,
            _ => RequestResult::Well,
        };
        let operations = &member.operations;
        match operations.after(&slot.operation, went, answer.status) {
            Some(next) => {
                slot.operation = next;
                slot.intended = now;
                slot.state = SlotState::Continuing;
                member.continuing.push_back(answer.slot);
            }
            None => {
                slot.state = SlotState::Free;
                if S::splits() {
                    member.end_frame(slot.due, now, went);
                }
                member.release(answer.slot, now);
                if is_step {
                    self.end_whole(answer.slot, None, now, in_window, recorder);
                }
            }
        }
        Ok(())
    }
}

/// Counts an operation that was not answered in the window.
#[cold]
#[inline(never)]
fn book_missed<S: Supply>(
    member: &mut Member<S>,
    slot: &Slot,
    now: Nanos,
    recorder: &mut Recorder,
) {
    if let Some(waited) = member.miss_window(slot, now) {
        recorder.in_flight(slot.operation.kind, waited);
    }
}

/// Checks an answer, or a part of one, and records the operation with its last part
/// or with its first failure, which the operation of several steps gets, too.
#[inline]
fn record<S: Supply>(
    member: &mut Member<S>,
    slot: &mut Slot,
    whole: Option<&mut WholeOperation>,
    answer: &Answer<'_>,
    at: AnswerInstant<'_>,
    recorder: &mut Recorder,
) -> Result<(), Dropped> {
    let AnswerInstant { now, in_window, .. } = at;
    let kind = slot.operation.kind;
    let ledger = member.ledger.as_deref_mut();
    let judged = member.operations.judge(slot, answer, ledger)?;
    if let Ok(Some(verdict)) = judged {
        recorder.verified(verdict);
    }
    match judged {
        Ok(_) if answer.extent == Extent::Part => {}
        Ok(_) => {
            let operations = &mut member.operations;
            operations.answered(answer.slot, slot, now, RequestResult::Well);
            let times = Times {
                service: now.since(slot.sent),
                response: now.since(slot.intended),
            };
            if S::splits() && kind.is_step() {
                let moved = kind.transfers().map_or(0, |_| slot.moved);
                recorder.success(kind, moved, times);
            } else {
                recorder.success(kind, slot.moved, times);
                member.completed += in_window;
            }
            member.busy = member.busy + Nanos(times.service.0 * in_window);
        }
        Err(unfit) => {
            hint::cold_path();
            if let Some(failure) = fail(member, slot, answer.slot, &unfit, at, recorder)
                && let Some(whole) = whole
            {
                whole.fail(failure);
            }
        }
    }
    Ok(())
}
