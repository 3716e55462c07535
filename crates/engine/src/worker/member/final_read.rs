//! The READs after the load of what a client has written ([`Plan::reads_finally`]).
//!
//! A client has one in flight, so that the loop needs no more than the operation that it keeps
//! anyway ([`Member::keep`]). The ledger judges them as it does any READ.
//!
//! [`Plan::reads_finally`]: smbench_model::plan::Plan::reads_finally

use std::mem;
use std::rc::Rc;

use smbench_model::contents::block::BLOCK_BYTES;
use smbench_model::contents::verify::WrittenRange;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::operations::Operation;
use smbench_model::record::FinalRead;

use super::Member;
use crate::worker::assignment::Assignment;
use crate::worker::shared::FinalReadCount;
use crate::worker::supply::Supply;

/// Bytes that any server of SMB2 returns in a READ (MS-SMB2 3.3.5.4).
const REQUEST_BYTES: u32 = 64 * 1024;
/// Bytes that any server of CIFS returns in a READ.
const CIFS_REQUEST_BYTES: u32 = 4 * 1024;

/// What a client reads after its load.
pub(crate) struct FinalReads {
    /// Index of an action of the mix that writes to files held open.
    action: u32,
    /// The most bytes of a READ.
    request_max: u32,
    /// Index of the first block that was not asked for yet.
    next: usize,
    /// Blocks of the READ in flight.
    asked: u64,
    /// Where the blocks are counted, once the load has ended.
    count: Option<FinalReadCount>,
}

/// Adds blocks to those of all clients of the worker.
fn add(count: &FinalReadCount, due: u64, checked: u64) {
    count.set(count.get().and(FinalRead { due, checked }));
}

impl FinalReads {
    /// Returns what a client of this worker reads after its load; `None` if clients read nothing
    /// then.
    pub(crate) fn of(worker: &Assignment) -> Option<Box<Self>> {
        let plan = &*worker.plan;
        if !plan.reads_finally() {
            return None;
        }
        let mut actions = worker.mix.actions().iter();
        let action = actions.position(|action| action.kinds().contains(&OpKind::Write))?;
        let any_server = if plan.sessions.options.dialects.has_cifs() {
            CIFS_REQUEST_BYTES
        } else {
            REQUEST_BYTES
        };
        let reads = plan.only().workload.kinds().contains(&OpKind::Read);
        // The server was asked for the sizes of the plan before the run.
        let of_plan = reads.then(|| plan.largest_of(Direction::Read));
        Some(Box::new(Self::new(
            action as u32,
            of_plan.map_or(any_server, |of_plan| of_plan.max(any_server)),
        )))
    }

    const fn new(action: u32, request_max: u32) -> Self {
        Self {
            action,
            request_max,
            next: 0,
            asked: 0,
            count: None,
        }
    }
}

impl<S: Supply> Member<S> {
    /// Begins the READs after the load in this slot, if there are any. The client is retired.
    pub(super) fn begin_final_reads(&mut self, slot: u32, count: &FinalReadCount) {
        let (Some(reads), Some(ledger)) = (&mut self.final_reads, &self.ledger) else {
            return;
        };
        add(count, ledger.written_blocks(), 0);
        reads.count = Some(Rc::clone(count));
        self.read_on(slot);
    }

    /// Makes the next READ after the load due in the slot of the last one, if that is answered.
    #[cold]
    pub(super) fn read_on(&mut self, slot: u32) {
        let (Some(reads), Some(ledger)) = (&mut self.final_reads, &self.ledger) else {
            return;
        };
        let Some(count) = &reads.count else {
            return;
        };
        add(count, 0, mem::take(&mut reads.asked));
        let request_max = self.operations.request_max(OpKind::Read);
        let most = reads.request_max.min(request_max);
        let Some(range) = ledger.written_from(reads.next, most) else {
            return;
        };
        let WrittenRange {
            file,
            offset,
            length,
            next,
        } = range;
        (reads.next, reads.asked) = (next, u64::from(length) / BLOCK_BYTES as u64);
        self.drawn = Some(Operation {
            kind: OpKind::Read,
            action: reads.action,
            file,
            offset,
            length,
        });
        self.free.push(slot);
    }
}

impl<S> Member<S> {
    /// Learns that a request got no data. If it was a READ after the load, its blocks were not
    /// checked.
    pub(in crate::worker) fn got_no_data(&mut self) {
        if let Some(reads) = &mut self.final_reads {
            reads.asked = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::Nanos;
    use smbench_model::contents::block::Salt;
    use smbench_model::contents::verify::Ledger;
    use smbench_model::files::{FileSet, Layout, Scope};
    use smbench_model::operations::RequestResult;
    use smbench_model::record::Phase;
    use smbench_protocol::NtStatus;

    use super::*;
    use crate::drivers::dropped::Dropped;

    const BLOCK: u32 = BLOCK_BYTES as u32;

    /// A source without an end.
    struct Endless;

    impl Supply for Endless {
        fn next(&mut self, _: Phase) -> Option<Operation> {
            Some(read(0, 0))
        }

        fn request_max(&self, _: OpKind) -> u32 {
            2 * BLOCK
        }

        fn after(&self, _: &Operation, _: RequestResult, _: NtStatus) -> Option<Operation> {
            None
        }

        fn fault(&self) -> Dropped {
            unreachable!("all of it can be sent")
        }
    }

    const fn read(offset: u64, length: u32) -> Operation {
        Operation {
            kind: OpKind::Read,
            action: 1,
            file: 0,
            offset,
            length,
        }
    }

    fn member() -> Member<Endless> {
        let files = FileSet {
            scope: Scope::Private,
            count: 1,
            size: 8 * u64::from(BLOCK),
            layout: Layout::Flat,
        };
        let ledger = Box::new(Ledger::new(&files, 0, 1, Salt(7)));
        let mut member = Member::new(0, 1, Salt(7), Endless, Some(ledger));
        member.give_slots(4..6);
        member.final_reads = Some(Box::new(FinalReads::new(1, 1 << 16)));
        member
    }

    fn write(member: &mut Member<Endless>, offset: u64, length: u32) {
        let ledger = member.ledger.as_mut().unwrap();
        ledger.write_issued(0, offset, length);
        ledger.write_done(0, offset, length);
    }

    /// Returns the next operation, which has a slot.
    fn sent(member: &mut Member<Endless>) -> Operation {
        let due = member.due(Nanos(9), true).unwrap();
        assert_eq!(due.slot, 4);
        let operation = member.next_operation(Phase::Outside).unwrap();
        member.served(due, Nanos(9));
        assert!(member.due(Nanos(9), true).is_none());
        operation
    }

    #[test]
    fn what_a_client_has_written_is_read_after_its_load_one_request_at_a_time() {
        let mut member = member();
        let block = u64::from(BLOCK);
        write(&mut member, block, 3 * BLOCK);
        write(&mut member, 6 * block, BLOCK);
        let count = FinalReadCount::default();
        member.close(4..6, &count);
        assert_eq!(sent(&mut member), read(block, 2 * BLOCK));
        member.release(4, Nanos(10));
        assert_eq!(sent(&mut member), read(3 * block, BLOCK));
        // The server refuses it.
        member.got_no_data();
        member.release(4, Nanos(11));
        assert_eq!(sent(&mut member), read(6 * block, BLOCK));
        member.release(4, Nanos(12));
        assert!(member.due(Nanos(13), true).is_none());
        let (due, checked) = (4, 3);
        assert_eq!(count.get(), FinalRead { due, checked });
    }

    /// A client that ends under load begins nothing when its last operations are answered.
    #[test]
    fn a_client_that_is_retired_under_load_reads_nothing() {
        let mut member = member();
        write(&mut member, 0, BLOCK);
        member.retire();
        member.release(4, Nanos(10));
        assert!(member.due(Nanos(11), true).is_none());
    }
}
