//! One client: what it does next, and the data it writes.

use crate::clock::Nanos;
use crate::pattern::{self, Stamp};
use crate::record::OpKind;
use crate::run::schedule::Schedule;
use crate::stream::{OpStream, Operation};
use crate::verify::{Epoch, Ledger};

/// A client of a group.
pub(super) struct Member {
    pub(super) number: u32,
    run: u32,
    operations: OpStream,
    /// The group's slots that are this client's and free.
    pub(super) free: Vec<u32>,
    /// Drawn, but not yet sent for lack of credits; since when.
    waiting: Option<(Operation, Nanos)>,
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
            waiting: None,
            starved: Nanos(0),
            generation: 0,
            ledger,
        }
    }

    /// The operation that waits, else the next one.
    pub(super) fn next_operation(&mut self) -> Operation {
        match self.waiting {
            Some((operation, _)) => operation,
            None => self.operations.next(),
        }
    }

    pub(super) fn wait_with(&mut self, operation: Operation, now: Nanos) {
        self.waiting.get_or_insert((operation, now));
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    pub(super) fn end_starvation(&mut self, now: Nanos, schedule: &Schedule) {
        if let Some((_, since)) = self.waiting.take() {
            self.starved = self.starved + schedule.window_between(since, now);
        }
    }

    /// What a read must know when it is sent, under verification.
    pub(super) fn epoch(&self, operation: &Operation) -> Option<Epoch> {
        match operation.kind {
            OpKind::Read => self.ledger.as_ref().map(|ledger| ledger.read_issued()),
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
