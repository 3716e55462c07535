//! One client: what it does next, and the data it writes.

use std::collections::VecDeque;

use crate::clock::Nanos;
use crate::pattern::{self, Stamp};
use crate::record::OpKind;
use crate::run::schedule::Schedule;
use crate::stream::{OpStream, Operation};
use crate::verify::{Epoch, Ledger};

/// What a slot is due for.
#[derive(Clone, Copy)]
pub(super) enum Due {
    /// A further request of its action.
    Further(u32),
    /// The first one of another action.
    First(u32),
}

/// A client of a group.
pub(super) struct Member {
    pub(super) number: u32,
    run: u32,
    operations: OpStream,
    /// The group's slots that are this client's and free.
    pub(super) free: Vec<u32>,
    /// The group's slots whose actions go on, the one that waits longest first.
    pub(super) continuing: VecDeque<u32>,
    /// Drawn, but not yet sent for lack of credits.
    drawn: Option<Operation>,
    /// Since when credits lack.
    starved_since: Option<Nanos>,
    pub(super) starved: Nanos,
    /// Of the last write, without verification.
    generation: u32,
    pub(super) ledger: Option<Box<Ledger>>,
}

impl Member {
    /// `run` is what tells the writes of this load point from those of others.
    pub(super) const fn new(
        number: u32,
        run: u32,
        operations: OpStream,
        ledger: Option<Box<Ledger>>,
    ) -> Self {
        Self {
            number,
            run,
            operations,
            free: Vec::new(),
            continuing: VecDeque::new(),
            drawn: None,
            starved_since: None,
            starved: Nanos(0),
            generation: 0,
            ledger,
        }
    }

    /// The slot to be served next, if one is due: one whose action goes on
    /// before one that is free.
    pub(super) fn due(&self, may_begin: bool) -> Option<Due> {
        if let Some(&slot) = self.continuing.front() {
            return Some(Due::Further(slot));
        }
        let free = self.free.last().filter(|_| may_begin);
        free.map(|&slot| Due::First(slot))
    }

    /// What was due has been sent.
    pub(super) fn served(&mut self, due: Due) {
        match due {
            Due::Further(_) => {
                self.continuing.pop_front();
            }
            Due::First(_) => {
                self.free.pop();
            }
        }
    }

    /// The first operation of the next action.
    pub(super) fn next_operation(&mut self) -> Operation {
        match self.drawn.take() {
            Some(operation) => operation,
            None => self.operations.next(),
        }
    }

    /// An operation that was due could not be sent for lack of credits; one
    /// that begins an action is kept.
    pub(super) fn starve(&mut self, drawn: Option<Operation>, now: Nanos) {
        self.drawn = self.drawn.or(drawn);
        self.starved_since.get_or_insert(now);
    }

    pub(super) const fn is_starved(&self) -> bool {
        self.starved_since.is_some()
    }

    pub(super) fn end_starvation(&mut self, now: Nanos, schedule: &Schedule) {
        if let Some(since) = self.starved_since.take() {
            self.starved = self.starved + schedule.window_between(since, now);
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

    /// The data of a write that is sure to go out.
    pub(super) fn fill(&mut self, operation: &Operation, data: &mut [u8]) {
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
        pattern::fill(data, offset, stamp);
    }
}
