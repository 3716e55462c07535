//! Operations whose answered writes and flushes are noted. They have a loop of their own, so
//! that others cost no instruction for it. The sources below it are the usual ones.

use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::action::Action;
use smbench_model::contents::notes::{AnswerNote, NoteOutcome};
use smbench_model::contents::verify::Ledger;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Mix, Operation, RequestResult};
use smbench_model::record::Phase;
use smbench_protocol::NtStatus;

use super::{Supplies, Supply};
use crate::drivers::driver::Answer;
use crate::drivers::dropped::Dropped;
use crate::worker::notes::SharedPad;
use crate::worker::slot::{Judged, Slot};

/// The operations of all clients.
#[derive(Clone)]
pub(crate) struct Noting<T> {
    supplies: T,
    /// Whether each action asks for write-through.
    through: Arc<[bool]>,
    outstanding: u32,
}

impl<T: Supplies> Noting<T> {
    /// Makes operations of a mix, with this many slots of each client.
    pub(crate) fn new(supplies: T, mix: &Mix, outstanding: u32) -> Self {
        let through = mix.actions().iter().map(|action| {
            matches!(
                action,
                Action::Write {
                    write_through: true,
                    ..
                }
            )
        });
        Self {
            supplies,
            through: through.collect(),
            outstanding,
        }
    }
}

impl<T: Supplies> Supplies for Noting<T> {
    type Supply = NotingSupply<T::Supply>;

    fn of_load_point(&self) -> Self {
        Self {
            supplies: self.supplies.of_load_point(),
            through: Arc::clone(&self.through),
            outstanding: self.outstanding,
        }
    }

    fn of_client(&self, client: u32) -> NotingSupply<T::Supply> {
        NotingSupply {
            operations: self.supplies.of_client(client),
            through: Arc::clone(&self.through),
            client,
            generations: vec![0; self.outstanding as usize].into_boxed_slice(),
            opened_after: 0,
            pad: None,
        }
    }
}

/// The operations of one client.
pub(crate) struct NotingSupply<S> {
    operations: S,
    through: Arc<[bool]>,
    client: u32,
    /// The generation of the write in each slot of the client.
    generations: Box<[u32]>,
    /// The generation of the last write before the client opened its files.
    opened_after: u32,
    pad: Option<SharedPad>,
}

impl<S> NotingSupply<S> {
    /// Returns the place of a slot of the group among those of the client.
    fn place(&self, slot: u32) -> usize {
        slot as usize % self.generations.len().max(1)
    }
}

impl<S: Supply> Supply for NotingSupply<S> {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        self.operations.next(phase)
    }

    fn is_over(&self) -> bool {
        self.operations.is_over()
    }

    fn close(&mut self) -> bool {
        self.operations.close()
    }

    fn splits() -> bool {
        S::splits()
    }

    fn request_max(&self, kind: OpKind) -> u32 {
        self.operations.request_max(kind)
    }

    fn judge(&self, slot: &Slot, answer: &Answer<'_>, ledger: Option<&mut Ledger>) -> Judged {
        self.operations.judge(slot, answer, ledger)
    }

    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation> {
        self.operations.after(last, went, status)
    }

    fn fault(&self) -> Dropped {
        self.operations.fault()
    }

    fn note_in(&mut self, pad: Option<&SharedPad>) {
        self.pad = pad.cloned();
    }

    fn reopened(&mut self) {
        self.opened_after = self.generations.iter().copied().max().unwrap_or_default();
    }

    #[inline]
    fn sent(&mut self, slot: u32, operation: &Operation, generation: u32) {
        if operation.kind == OpKind::Write {
            let place = self.place(slot);
            self.generations[place] = generation;
        }
    }

    #[inline]
    fn answered(&mut self, number: u32, slot: &Slot, now: Nanos, went: RequestResult) {
        let Operation {
            kind,
            action,
            file,
            offset,
            length,
        } = slot.operation;
        let (outcome, offset, length) = match (kind, went) {
            (OpKind::Write, RequestResult::Well) if self.through[action as usize] => {
                (NoteOutcome::WrittenThrough, offset, length)
            }
            (OpKind::Write, RequestResult::Well) => (NoteOutcome::Stored, offset, length),
            (OpKind::Write, _) => (NoteOutcome::Refused, offset, length),
            (OpKind::Flush, RequestResult::Well) => (NoteOutcome::Flushed, 0, 0),
            _ => return,
        };
        let generation = match kind {
            OpKind::Flush => self.opened_after,
            _ => self.generations[self.place(number)],
        };
        if let Some(pad) = &self.pad {
            pad.borrow_mut().add(&AnswerNote {
                client: self.client,
                file,
                generation,
                outcome,
                offset,
                length,
                sent: slot.sent,
                done: now,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    use super::*;
    use crate::worker::notes::{NoteDesk, NotePad};

    const WRITE: Operation = Operation {
        kind: OpKind::Write,
        action: 0,
        file: 0,
        offset: 0,
        length: 512,
    };
    const FLUSH: Operation = Operation {
        kind: OpKind::Flush,
        ..WRITE
    };

    /// A source of nothing.
    struct Unused;

    impl Supply for Unused {
        fn next(&mut self, _: Phase) -> Option<Operation> {
            None
        }

        fn after(&self, _: &Operation, _: RequestResult, _: NtStatus) -> Option<Operation> {
            None
        }

        fn fault(&self) -> Dropped {
            unreachable!("nothing is sent")
        }
    }

    #[test]
    fn a_flush_has_the_last_write_before_the_files_were_opened_anew() {
        let desk = NoteDesk {
            exchange: Arc::default(),
            population: 0,
        };
        let pad = Rc::new(RefCell::new(NotePad::new(&desk, 1, 0)));
        let mut supply = NotingSupply {
            operations: Unused,
            through: [false].into(),
            client: 0,
            generations: [0, 0].into(),
            opened_after: 0,
            pad: Some(pad),
        };
        let mut slot = Slot::free(0);
        let mut answer = |supply: &mut NotingSupply<Unused>, number, operation| {
            slot.operation = operation;
            supply.answered(number, &slot, Nanos(9), RequestResult::Well);
        };
        for (number, generation) in [(0, 1), (1, 2)] {
            supply.sent(number, &WRITE, generation);
        }
        answer(&mut supply, 0, WRITE);
        answer(&mut supply, 0, FLUSH);
        // The second write gets no answer.
        supply.reopened();
        supply.sent(0, &WRITE, 3);
        answer(&mut supply, 0, WRITE);
        answer(&mut supply, 1, FLUSH);
        drop(supply);
        desk.exchange.end();
        let mut pages = VecDeque::new();
        desk.exchange.take(&mut pages);
        let notes = pages[0]
            .notes
            .iter()
            .map(|words| AnswerNote::of_words(*words));
        let generations: Vec<_> = notes.map(|note| note.generation).collect();
        assert_eq!(generations, [1, 0, 3, 2]);
    }
}
