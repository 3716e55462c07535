//! One client: what it does next, and the data it writes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint;
use std::sync::Arc;

use crate::clock::Nanos;
use crate::pattern::{self, Salt, Stamp};
use crate::plan::Plan;
use crate::record::{OpKind, Phase, Punctuality};
use crate::run::group::Orders;
use crate::run::operation::{Dropped, Slot};
use crate::run::pace::{LATE, Pace};
use crate::run::schedule::Schedule;
use crate::run::supply::Supply;
use crate::stream::{Mix, Operation};
use crate::verify::{Epoch, Ledger};

/// A slot to be served.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) slot: u32,
    pub(super) what: DueFor,
}

/// What a slot is due for.
#[derive(Clone, Copy)]
pub(super) enum DueFor {
    /// A further request of its action.
    Further,
    /// The first one of another action, at once.
    Next,
    /// The same, after the slot has rested until this instant.
    Rested(Nanos),
    /// The same, because the clock says so since this instant.
    Arrival(Nanos),
}

/// A client of a group.
pub(super) struct Member<S> {
    pub(super) number: u32,
    run: u32,
    salt: Salt,
    operations: S,
    pace: Pace,
    /// Whether the clock says when something is due, and latency counts from then.
    is_paced: bool,
    /// Whether there is nothing left to begin.
    is_retired: bool,
    /// Slots that are this client's and free.
    free: Vec<u32>,
    /// Slots that are free, but not before an instant.
    resting: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// An arrival that has waited for longer is given up.
    patience: Nanos,
    /// What is due from the first of these on and before the second counts.
    window: (Nanos, Nanos),
    punctuality: Punctuality,
    /// The group's slots whose actions go on, the one that waits longest first.
    pub(super) continuing: VecDeque<u32>,
    /// Drawn, but not yet sent.
    drawn: Option<Operation>,
    /// Since when credits lack.
    starved_since: Option<Nanos>,
    pub(super) starved: Nanos,
    /// Operations completed without error in the window.
    pub(super) completed: u64,
    /// Time that those took, summed up.
    pub(super) busy: Nanos,
    /// Since when its session takes no requests.
    shut_out_since: Option<Nanos>,
    /// Of the last write, without verification.
    generation: u32,
    pub(super) ledger: Option<Box<Ledger>>,
}

impl<S: Supply> Member<S> {
    /// `run` is what tells the writes of this load point from those of others, the
    /// salt what tells those of the whole run.
    pub(super) const fn new(
        number: u32,
        (run, salt): (u32, Salt),
        operations: S,
        ledger: Option<Box<Ledger>>,
    ) -> Self {
        Self {
            number,
            run,
            salt,
            operations,
            pace: Pace::Closed,
            is_paced: false,
            is_retired: false,
            free: Vec::new(),
            resting: BinaryHeap::new(),
            patience: Nanos::MAX,
            window: (Nanos::MAX, Nanos(0)),
            punctuality: Punctuality::NONE,
            continuing: VecDeque::new(),
            drawn: None,
            starved_since: None,
            starved: Nanos(0),
            completed: 0,
            busy: Nanos(0),
            shut_out_since: None,
            generation: 0,
            ledger,
        }
    }

    /// Gets the group's slots with these numbers.
    pub(super) fn give_slots(&mut self, slots: std::ops::Range<u32>) {
        self.free = slots.rev().collect();
    }

    /// What counts is what is due in the window.
    pub(super) const fn observe(&mut self, schedule: &Schedule) {
        self.window = (schedule.open, schedule.close);
    }

    /// Goes by the plan's load model from `starts` on, at a load point of so
    /// many clients.
    pub(super) fn begin(&mut self, plan: &Plan, mix: &Arc<Mix>, clients: u32, starts: Nanos) {
        self.pace = Pace::new(plan, mix, self.number, clients, starts);
        self.is_paced = !matches!(self.pace, Pace::Closed);
        self.patience = plan.limits.operation.into();
        if !matches!(
            self.pace,
            Pace::Rate(_) | Pace::Recorded(_) | Pace::Bursts(_)
        ) {
            let starts = starts + self.pace.first_pause();
            let free = self.free.drain(..);
            self.resting
                .extend(free.map(|slot| Reverse((starts, slot))));
        }
    }

    /// The slot to be served next, if one is due: one whose action goes on
    /// before one that is free.
    pub(super) fn due(&self, now: Nanos, may_begin: bool) -> Option<Due> {
        if let Some(&slot) = self.continuing.front() {
            let what = DueFor::Further;
            return Some(Due { slot, what });
        }
        if !may_begin {
            return None;
        }
        if let Some(&slot) = self.free.last() {
            let what = match &self.pace {
                Pace::Rate(arrivals) if arrivals.next() > now => return None,
                Pace::Rate(arrivals) => DueFor::Arrival(arrivals.next()),
                Pace::Recorded(instants) if instants.next() > now => return None,
                Pace::Recorded(instants) => DueFor::Arrival(instants.next()),
                Pace::Bursts(bursts) if bursts.opens() > now => return None,
                Pace::Bursts(bursts) => DueFor::Arrival(bursts.due(now)),
                Pace::Closed | Pace::Thinking(_) | Pace::Pausing(_) => DueFor::Next,
            };
            return Some(Due { slot, what });
        }
        let &Reverse((at, slot)) = self.resting.peek()?;
        let what = DueFor::Rested(at);
        (at <= now).then_some(Due { slot, what })
    }

    /// Since when a slot has been due; `None` where none is, and the beginning of all
    /// times where it takes an answer and not the clock to say so.
    pub(super) fn due_since(&self, now: Nanos) -> Option<Nanos> {
        Some(match self.due(now, true)?.what {
            DueFor::Further | DueFor::Next => Nanos(0),
            DueFor::Rested(at) | DueFor::Arrival(at) => at,
        })
    }

    /// When a slot is due by the clock alone; `None` when it takes an answer.
    pub(super) fn due_at(&self) -> Option<Nanos> {
        match &self.pace {
            Pace::Rate(arrivals) => self.free.last().map(|_| arrivals.next()),
            Pace::Recorded(instants) => self.free.last().map(|_| instants.next()),
            Pace::Bursts(bursts) => self.free.last().map(|_| bursts.opens()),
            Pace::Closed | Pace::Thinking(_) | Pace::Pausing(_) => {
                self.resting.peek().map(|&Reverse((at, _))| at)
            }
        }
    }

    /// What was due has been sent.
    pub(super) fn served(&mut self, due: Due, now: Nanos) {
        match due.what {
            DueFor::Further => {
                self.continuing.pop_front();
            }
            DueFor::Next => {
                self.free.pop();
            }
            DueFor::Rested(at) => {
                self.resting.pop();
                self.count(at, now.since(at));
            }
            DueFor::Arrival(at) => {
                self.free.pop();
                match &mut self.pace {
                    Pace::Rate(arrivals) => {
                        arrivals.take();
                    }
                    Pace::Recorded(instants) => instants.take(),
                    Pace::Bursts(bursts) => bursts.sent(!self.free.is_empty(), now),
                    Pace::Closed | Pace::Thinking(_) | Pace::Pausing(_) => {}
                }
                self.count(at, now.since(at));
            }
        }
    }

    /// Nothing that is due from `end` on counts: the window was cancelled then, if
    /// it was.
    pub(super) fn cut_window(&mut self, end: Nanos) {
        self.window.1 = self.window.1.min(end);
    }

    fn is_counted(&self, due: Nanos) -> bool {
        let (open, close) = self.window;
        open <= due && due < close
    }

    fn count(&mut self, due: Nanos, delay: Nanos) {
        self.punctuality.sent += u64::from(self.is_counted(due + delay));
        if self.is_counted(due) {
            self.punctuality.due += 1;
            self.punctuality.late += u64::from(delay > LATE);
            self.punctuality.delay_max = self.punctuality.delay_max.max(delay);
        }
    }

    /// Gives up the arrivals that have waited for too long. Not what was recorded:
    /// operations depend on those before them.
    #[inline]
    pub(super) fn give_up_overdue(&mut self, now: Nanos) {
        if matches!(self.pace, Pace::Rate(_)) {
            self.give_up_before(now.since(self.patience), now);
        }
    }

    /// Gives up whatever was due before the load ended, at `end`, and has not been
    /// served.
    pub(super) fn give_up_rest(&mut self, end: Nanos) {
        self.give_up_before(end, end);
        let (open, close) = self.window;
        if let Pace::Recorded(instants) = &self.pace
            && let Some((count, first)) = instants.left_between(open, close.min(end))
        {
            self.punctuality.due += count;
            self.punctuality.dropped += count;
            self.leave_unanswered(count, first, end);
        }
    }

    /// Gives up, at `now`, the arrivals before an instant that have not been
    /// served.
    fn give_up_before(&mut self, until: Nanos, now: Nanos) {
        while let Pace::Rate(arrivals) = &mut self.pace
            && arrivals.next() < until
        {
            let due = arrivals.take();
            if self.is_counted(due) {
                self.punctuality.due += 1;
                self.punctuality.dropped += 1;
                self.leave_unanswered(1, due, now);
            }
        }
    }

    /// Takes note that what was due in the window has not been answered in it, but
    /// at `now` or never. As with what was due, an action counts once: with its first
    /// request that is not. In a closed loop it is what was under way when the window
    /// closed, whenever it was sent.
    pub(super) fn miss_window(&mut self, slot: &Slot, now: Nanos) {
        let (_, close) = self.window;
        if !self.is_paced {
            if slot.sent < close && close <= now {
                self.leave_unanswered(1, slot.sent, now);
            }
        } else if self.is_counted(slot.due) && self.is_counted(slot.intended) {
            self.leave_unanswered(1, slot.intended, now);
        }
    }

    /// So many, of which the first was due at `first`.
    fn leave_unanswered(&mut self, count: u64, first: Nanos, now: Nanos) {
        let kept = &mut self.punctuality;
        kept.unanswered += count;
        kept.unanswered_max = kept.unanswered_max.max(now.since(first));
    }

    /// How well due instants were kept.
    pub(super) const fn punctuality(&self) -> Punctuality {
        self.punctuality
    }

    /// A slot's action has ended.
    pub(super) fn release(&mut self, slot: u32, now: Nanos) {
        if self.is_retired {
            return;
        }
        match &mut self.pace {
            Pace::Closed | Pace::Rate(_) | Pace::Recorded(_) => self.free.push(slot),
            Pace::Bursts(bursts) => {
                bursts.can_send(now);
                self.free.push(slot);
            }
            Pace::Pausing(pauses) => match pauses.next_pause() {
                Nanos(0) => self.free.push(slot),
                pause => self.resting.push(Reverse((now + pause, slot))),
            },
            Pace::Thinking(gaps) => {
                self.resting.push(Reverse((now + gaps.next_gap(), slot)));
            }
        }
    }

    /// The first operation of the next action; `None` when it cannot be sent.
    pub(super) fn next_operation(&mut self, phase: Phase) -> Option<Operation> {
        match self.drawn.take() {
            Some(operation) => Some(operation),
            None => self.operations.next(phase),
        }
    }

    /// The load is over: from now on does what is left to do then, if there is
    /// anything, in these slots.
    pub(super) fn close(&mut self, slots: std::ops::Range<u32>) {
        self.retire();
        self.drawn = None;
        if self.operations.close() {
            self.is_retired = false;
            self.give_slots(slots);
        }
    }

    /// Whether there is no operation any more.
    pub(super) fn is_over(&self) -> bool {
        self.operations.is_over()
    }

    /// Begins no action any more: all have been.
    pub(super) fn retire(&mut self) {
        self.free.clear();
        self.resting.clear();
        self.pace = Pace::Closed;
        self.is_retired = true;
    }

    /// Why it cannot be.
    pub(super) fn fault(&self) -> Dropped {
        self.operations.fault()
    }

    /// An operation that begins an action could not be sent yet.
    pub(super) fn keep(&mut self, drawn: Operation) {
        self.drawn = Some(drawn);
    }

    /// Whether there is such an operation still.
    pub(super) const fn has_unsent(&self) -> bool {
        self.drawn.is_some()
    }

    /// An operation that was due could not be sent for lack of credits.
    pub(super) fn starve(&mut self, now: Nanos) {
        self.starved_since.get_or_insert(now);
    }

    /// An operation that was due could not be sent, as the session has expired.
    pub(super) fn shut_out(&mut self, now: Nanos) {
        self.shut_out_since.get_or_insert(now);
    }

    /// Since when what is due cannot be sent, for lack of credits or of a
    /// session.
    pub(super) fn waiting_since(&self) -> Option<Nanos> {
        self.starved_since.or(self.shut_out_since)
    }

    pub(super) const fn is_shut_out(&self) -> bool {
        self.shut_out_since.is_some()
    }

    /// It is let in, or wants nothing any more.
    pub(super) const fn let_in(&mut self) {
        self.shut_out_since = None;
    }

    /// What counts as starving ends at `now`.
    #[inline]
    pub(super) fn end_starvation(&mut self, now: Nanos, orders: &Orders) {
        if let Some(since) = self.starved_since.take() {
            hint::cold_path();
            self.starved = self.starved + orders.window_between(since, now);
        }
    }

    /// What a read must know when it is sent, under verification.
    pub(super) fn epoch(&self, operation: &Operation) -> Option<Epoch> {
        match operation.kind {
            OpKind::Read | OpKind::CreateReadClose => {
                self.ledger.as_ref().map(|ledger| ledger.read_issued())
            }
            _ => None,
        }
    }

    /// Appends the data of a write that is sure to go out.
    pub(super) fn write_data(&mut self, operation: &Operation, out: &mut Vec<u8>) {
        let Operation {
            file,
            offset,
            length,
            ..
        } = *operation;
        self.generation = self.generation.wrapping_add(1);
        let stamp = match &mut self.ledger {
            Some(ledger) => ledger.write_issued(file, offset, length),
            None => Stamp {
                client: self.number,
                file,
                generation: self.generation,
                run: self.run,
            },
        };
        pattern::append(out, length as usize, offset, stamp, self.salt);
    }
}
