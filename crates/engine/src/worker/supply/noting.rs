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
        let generation = self.generations[self.place(number)];
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
