//! One client: its next operations, and the data that it writes.

mod away;
mod final_read;
mod punctual;
mod staged;
mod waits;
mod watching;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::contents::block;
use smbench_model::contents::block::{Salt, Stamp};
use smbench_model::contents::verify::{Epoch, Ledger};
use smbench_model::kind::OpKind;
use smbench_model::load::Rate;
use smbench_model::operations::{Mix, Operation};
use smbench_model::plan::Plan;
use smbench_model::record::{Phase, Punctuality};

use crate::drivers::dropped::Dropped;
use crate::worker::frames::Frames;
use crate::worker::pace::Pace;
use crate::worker::schedule::Schedule;
use crate::worker::shared::FinalReadCount;
use crate::worker::supply::Supply;
pub(crate) use final_read::FinalReads;
pub(crate) use staged::StageEnds;
use staged::StagedCounts;
use waits::Waits;

/// A slot to be served.
#[derive(Clone, Copy)]
pub(super) struct DueSlot {
    pub(super) slot: u32,
    pub(super) what: DueFor,
}

/// The reason why a slot is due.
#[derive(Clone, Copy)]
pub(super) enum DueFor {
    /// A further request of its action.
    Further,
    /// The first request of another action, at once.
    Next,
    /// The first request of another action; the slot rested until this instant.
    Rested(Nanos),
    /// The first request of another action; the clock made it due at this instant.
    Arrival(Nanos),
}

/// A client of a group.
pub(super) struct Member<S> {
    pub(crate) number: u32,
    run: u32,
    salt: Salt,
    pub(super) operations: S,
    pace: Pace,
    /// Whether the clock makes actions due. If so, response times count from the
    /// due instant.
    is_paced: bool,
    /// Whether the client begins no further action.
    is_retired: bool,
    /// Free slots of this client.
    free: Vec<u32>,
    /// Slots that become free at an instant.
    resting: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Arrivals that have waited longer than this are discarded.
    patience: Nanos,
    /// Actions due from the first instant on and before the second are counted.
    window: (Nanos, Nanos),
    punctuality: Punctuality,
    /// The same by stage, if the load has stages.
    staged: Option<Box<StagedCounts>>,
    /// The frames of a stream.
    frames: Option<Box<Frames>>,
    /// Slots of the group whose actions have a further request, the longest waiting
    /// first.
    pub(super) continuing: VecDeque<u32>,
    /// Slots with watches that the server holds.
    watching: Vec<u32>,
    /// An operation that was drawn but not sent yet.
    drawn: Option<Operation>,
    pub(super) waits: Waits,
    /// Number of operations completed without error in the window.
    pub(super) completed: u64,
    /// Sum of the service times of those operations.
    pub(super) busy: Nanos,
    /// Generation of the last write; only used without verification.
    generation: u32,
    pub(super) ledger: Option<Box<Ledger>>,
    /// What it reads after the load, if anything.
    pub(super) final_reads: Option<Box<FinalReads>>,
}

impl<S: Supply> Member<S> {
    /// Makes a client. `run` distinguishes the writes of this load point from those
    /// of others. `salt` distinguishes the writes of this run from those of others.
    pub(crate) fn new(
        number: u32,
        run: u32,
        salt: Salt,
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
            punctuality: Punctuality::default(),
            staged: None,
            frames: None,
            continuing: VecDeque::new(),
            watching: Vec::new(),
            drawn: None,
            waits: Waits::NONE,
            completed: 0,
            busy: Nanos(0),
            generation: 0,
            ledger,
            final_reads: None,
        }
    }

    /// Assigns the group's slots with these numbers to this client.
    pub(super) fn give_slots(&mut self, slots: std::ops::Range<u32>) {
        self.free = slots.rev().collect();
    }

    /// Sets the window; only actions due in it are counted.
    pub(super) const fn observe(&mut self, schedule: &Schedule) {
        self.window = (schedule.open, schedule.close);
    }

    /// Counts by stage as well.
    pub(crate) fn divide(&mut self, ends: &StageEnds) {
        self.staged = Some(Box::new(StagedCounts::new(ends)));
    }

    /// Starts the plan's load model at `starts`, for a load point with this number of
    /// clients. A rate replaces that of the plan.
    pub(crate) fn begin(
        &mut self,
        plan: &Plan,
        mix: &Arc<Mix>,
        clients: u32,
        rate: Option<Rate>,
        starts: Nanos,
    ) {
        self.pace = Pace::new(plan, mix, self.number, clients, rate, starts);
        self.is_paced =
            plan.only().load.is_paced() || !matches!(self.pace, Pace::Closed | Pace::Turns(_));
        self.frames = Frames::of(&plan.only().load, plan.only().outstanding);
        self.patience = plan.limits.operation.into();
        if !matches!(
            self.pace,
            Pace::Rate(_) | Pace::Recorded(_) | Pace::Bursts(_)
        ) {
            let free = self.free.drain(..);
            let first = self.pace.first(starts);
            self.resting.extend(free.map(|slot| Reverse((first, slot))));
        }
    }

    /// Returns the slot to be served next, if one is due. Slots with a further
    /// request come before free slots.
    pub(super) fn due(&self, now: Nanos, may_begin: bool) -> Option<DueSlot> {
        if let Some(&slot) = self.continuing.front() {
            let what = DueFor::Further;
            return Some(DueSlot { slot, what });
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
                Pace::Bursts(bursts) if bursts.opens > now => return None,
                Pace::Bursts(bursts) => DueFor::Arrival(bursts.due(now)),
                Pace::Closed | Pace::Thinking(_) | Pace::Pausing(_) | Pace::Turns(_) => {
                    DueFor::Next
                }
            };
            return Some(DueSlot { slot, what });
        }
        let &Reverse((at, slot)) = self.resting.peek()?;
        let what = DueFor::Rested(at);
        (at <= now).then_some(DueSlot { slot, what })
    }

    /// Returns the instant since which a slot has been due; `None` if no slot is
    /// due. Returns instant 0 if an answer made the slot due, not the clock.
    pub(super) fn due_since(&self, now: Nanos) -> Option<Nanos> {
        Some(match self.due(now, true)?.what {
            DueFor::Further | DueFor::Next => Nanos(0),
            DueFor::Rested(at) | DueFor::Arrival(at) => at,
        })
    }

    /// Returns the next instant at which the clock makes a slot due; `None` if that
    /// needs an answer first.
    pub(super) fn due_at(&self) -> Option<Nanos> {
        if self.waits.looks_again.is_some() {
            return self.waits.looks_again;
        }
        match &self.pace {
            Pace::Rate(arrivals) => self.free.last().map(|_| arrivals.next()),
            Pace::Recorded(instants) => self.free.last().map(|_| instants.next()),
            Pace::Bursts(bursts) => self.free.last().map(|_| bursts.opens),
            Pace::Closed | Pace::Thinking(_) | Pace::Pausing(_) | Pace::Turns(_) => {
                self.resting.peek().map(|&Reverse((at, _))| at)
            }
        }
    }

    /// Records that the due operation of a slot has been sent.
    pub(crate) fn served(&mut self, due: DueSlot, now: Nanos) {
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
                    Pace::Closed | Pace::Thinking(_) | Pace::Pausing(_) | Pace::Turns(_) => {}
                }
                self.count(at, now.since(at));
            }
        }
    }

    /// Ends the action of a slot. The load model decides when the slot becomes
    /// free.
    #[inline]
    pub(super) fn release(&mut self, slot: u32, now: Nanos) {
        if self.is_paced {
            self.count_answer(now);
        }
        if self.is_retired {
            return self.read_on(slot);
        }
        match self.pace {
            Pace::Closed | Pace::Rate(_) | Pace::Recorded(_) => self.free.push(slot),
            Pace::Bursts(_) | Pace::Pausing(_) | Pace::Thinking(_) | Pace::Turns(_) => {
                self.rest(slot, now);
            }
        }
    }

    /// Ends the action of a slot that the load model may let rest.
    #[inline(never)]
    fn rest(&mut self, slot: u32, now: Nanos) {
        let pause = match &mut self.pace {
            Pace::Closed | Pace::Rate(_) | Pace::Recorded(_) => Nanos(0),
            Pace::Bursts(bursts) => {
                bursts.can_send(now);
                Nanos(0)
            }
            Pace::Pausing(pauses) => pauses.next_pause(),
            Pace::Thinking(gaps) => gaps.next_gap(),
            Pace::Turns(turns) => turns.next(now).since(now),
        };
        if pause == Nanos(0) {
            self.free.push(slot);
        } else {
            self.resting.push(Reverse((now + pause, slot)));
        }
    }

    /// Returns the first operation of the next action; `None` if there is none that
    /// can be sent.
    pub(super) fn next_operation(&mut self, phase: Phase) -> Option<Operation> {
        match self.drawn.take() {
            Some(operation) => Some(operation),
            None => self.operations.next(phase),
        }
    }

    /// Switches to the operations after the load, if there are any, in these slots.
    pub(crate) fn close(&mut self, slots: std::ops::Range<u32>, final_reads: &FinalReadCount) {
        self.retire();
        self.drawn = None;
        if self.operations.close() {
            self.is_retired = false;
            self.give_slots(slots);
        } else {
            self.begin_final_reads(slots.start, final_reads);
        }
    }

    /// Returns whether there are no further operations.
    pub(super) fn is_over(&self) -> bool {
        self.operations.is_over()
    }

    /// Retires the client: it begins no further action.
    pub(super) fn retire(&mut self) {
        self.free.clear();
        self.resting.clear();
        self.pace = Pace::Closed;
        self.is_retired = true;
    }

    /// Returns why the next operation cannot be sent.
    pub(super) fn fault(&self) -> Dropped {
        self.operations.fault()
    }

    /// Keeps an operation that begins an action but could not be sent yet.
    pub(super) fn keep(&mut self, drawn: Operation) {
        self.drawn = Some(drawn);
    }

    /// Returns whether such an operation is still waiting.
    pub(super) const fn has_unsent(&self) -> bool {
        self.drawn.is_some()
    }

    /// Returns the ledger's epoch at the instant when a read or a write is sent; only with
    /// verification.
    pub(super) fn epoch(&self, operation: &Operation) -> Option<Epoch> {
        let ledger = self.ledger.as_ref()?;
        match operation.kind {
            OpKind::Read | OpKind::CreateReadClose => Some(ledger.read_issued()),
            OpKind::Write => Some(ledger.last_write()),
            _ => None,
        }
    }

    /// Learns that the operation of a slot was sent.
    #[inline]
    pub(super) fn sent(&mut self, slot: u32, operation: &Operation) {
        self.operations.sent(slot, operation, self.generation);
    }

    /// Appends the data of a write that is certain to be sent.
    pub(super) fn write_data(&mut self, operation: &Operation, out: &mut Vec<u8>) {
        let stamp = self.stamp(operation);
        self.write_stamped(operation, stamp, out);
    }

    /// Appends the data of a piece of a write.
    #[inline]
    pub(super) fn write_stamped(&self, piece: &Operation, stamp: Stamp, out: &mut Vec<u8>) {
        block::append(out, piece.length as usize, piece.offset, stamp, self.salt);
    }

    /// Returns the stamp of a write that is certain to be sent.
    #[inline]
    pub(super) fn stamp(&mut self, operation: &Operation) -> Stamp {
        let Operation {
            file,
            offset,
            length,
            ..
        } = *operation;
        self.generation = self.generation.wrapping_add(1);
        match &mut self.ledger {
            Some(ledger) => ledger.write_issued(file, offset, length),
            None => Stamp {
                client: self.number,
                file,
                generation: self.generation,
                run: self.run,
            },
        }
    }
}
