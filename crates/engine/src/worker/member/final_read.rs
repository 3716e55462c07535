//! The READs after the load of what a client has written ([`Plan::reads_finally`]).
//!
//! A client has several in flight, one in each of its slots. The next one waits where the loop
//! keeps an operation that could not be sent ([`Member::keep`]). As long as there is one, slots are
//! free for it. So the loop needs no code for these READs. The ledger judges them as it does any
//! READ.
//!
//! [`Plan::reads_finally`]: smbench_model::plan::Plan::reads_finally

use std::mem;
use std::ops::Range;
use std::rc::Rc;

use smbench_model::contents::block::BLOCK_BYTES;
use smbench_model::contents::verify::{Ledger, WrittenRange};
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
/// The most bytes in flight to all clients together, unless each has one READ. A slow server
/// returns them within the limit of an operation.
const IN_FLIGHT_BYTES: u64 = 64 << 20;

/// What a client reads after its load.
pub(crate) struct FinalReads {
    /// Index of an action of the mix that writes to files held open.
    action: u32,
    /// The most bytes of a READ.
    request_max: u32,
    /// The most READs in flight.
    in_flight_max: usize,
    /// Index of the first block that was not asked for yet.
    next: usize,
    /// The same without the READ that waits to be sent.
    waiting_from: usize,
    /// The first slot, and the blocks of the READ in flight in each.
    first_slot: u32,
    asked: Box<[u64]>,
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
        let request_max = of_plan.map_or(any_server, |of_plan| of_plan.max(any_server));
        let of_all = u64::from(worker.clients) * u64::from(request_max);
        let in_flight_max = IN_FLIGHT_BYTES.checked_div(of_all).unwrap_or(1);
        let in_flight_max = in_flight_max.max(1) as usize;
        let new = Self::new(action as u32, request_max, in_flight_max);
        Some(Box::new(new))
    }

    fn new(action: u32, request_max: u32, in_flight_max: usize) -> Self {
        Self {
            action,
            request_max,
            in_flight_max,
            next: 0,
            waiting_from: 0,
            first_slot: 0,
            asked: Box::default(),
            count: None,
        }
    }

    /// Takes the next READ; `None` if there is none. `most` are the bytes of a request.
    fn take(&mut self, ledger: &Ledger, most: u32) -> Option<Operation> {
        let range = ledger.written_from(self.next, most.min(self.request_max))?;
        let WrittenRange {
            file,
            offset,
            length,
            next,
        } = range;
        self.waiting_from = mem::replace(&mut self.next, next);
        Some(Operation {
            kind: OpKind::Read,
            action: self.action,
            file,
            offset,
            length,
        })
    }

    /// Returns the blocks of the READ in flight in a slot.
    fn asked_in(&mut self, slot: u32) -> Option<&mut u64> {
        let index = slot.checked_sub(self.first_slot)?;
        self.asked.get_mut(index as usize)
    }
}

impl<S: Supply> Member<S> {
    /// Begins the READs after the load in these slots, if there are any. The client is retired.
    pub(super) fn begin_final_reads(&mut self, slots: Range<u32>, count: &FinalReadCount) {
        let (Some(reads), Some(ledger)) = (&mut self.final_reads, &self.ledger) else {
            return;
        };
        add(count, ledger.written_blocks(), 0);
        reads.count = Some(Rc::clone(count));
        reads.first_slot = slots.start;
        reads.asked = vec![0; slots.len().min(reads.in_flight_max)].into();
        let most = self.operations.request_max(OpKind::Read);
        self.drawn = reads.take(ledger, most);
        if self.drawn.is_some() {
            let used = slots.start..slots.start + reads.asked.len() as u32;
            self.give_slots(used);
        }
    }

    /// Makes the next READ after the load due in the slot of one that is answered.
    #[cold]
    pub(super) fn read_on(&mut self, slot: u32) {
        let Some(reads) = &mut self.final_reads else {
            return;
        };
        let checked = reads.asked_in(slot).map_or(0, mem::take);
        let Some(count) = &reads.count else {
            return;
        };
        add(count, 0, checked);
        if self.drawn.is_some() {
            self.free.push(slot);
        }
    }

    /// Notes that a retired client sends this READ in its next free slot. Another one waits from
    /// here on, or no slot is free any more.
    #[cold]
    pub(super) fn read_next(&mut self, sent: &Operation) {
        let (Some(reads), Some(ledger)) = (&mut self.final_reads, &self.ledger) else {
            return;
        };
        let Some(&slot) = self.free.last() else {
            return;
        };
        if let Some(asked) = reads.asked_in(slot) {
            *asked = u64::from(sent.length) / BLOCK_BYTES as u64;
        }
        let most = self.operations.request_max(OpKind::Read);
        self.drawn = reads.take(ledger, most);
        if self.drawn.is_none() {
            self.free.clear();
            self.free.push(slot);
        }
    }
}

impl<S> Member<S> {
    /// Learns that the request in a slot got no data. If it was a READ after the load, its blocks
    /// were not checked.
    pub(in crate::worker) fn got_no_data(&mut self, slot: u32) {
        let reads = self.final_reads.as_deref_mut();
        if let Some(asked) = reads.and_then(|reads| reads.asked_in(slot)) {
            *asked = 0;
        }
    }

    /// Keeps an operation that begins an action but could not be sent yet.
    pub(in crate::worker) fn keep(&mut self, drawn: Operation) {
        if let (Some(_), Some(reads)) = (self.drawn.replace(drawn), &mut self.final_reads) {
            // The READ that was to follow it is taken again.
            reads.next = reads.waiting_from;
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

    fn member(in_flight_max: usize) -> Member<Endless> {
        let files = FileSet {
            scope: Scope::Private,
            count: 1,
            size: 8 * u64::from(BLOCK),
            layout: Layout::Flat,
        };
        let ledger = Box::new(Ledger::new(&files, 0, 1, Salt(7)));
        let mut member = Member::new(0, 1, Salt(7), Endless, Some(ledger));
        member.give_slots(4..6);
        member.final_reads = Some(Box::new(FinalReads::new(1, 1 << 16, in_flight_max)));
        member
    }

    fn write(member: &mut Member<Endless>, offset: u64, length: u32) {
        let ledger = member.ledger.as_mut().unwrap();
        ledger.write_issued(0, offset, length);
        ledger.write_done(0, offset, length);
    }

    /// Sends the next operation. Returns its slot and the operation; `None` if none is due.
    fn sent(member: &mut Member<Endless>) -> Option<(u32, Operation)> {
        let due = member.due(Nanos(9), true)?;
        let operation = member.next_operation(Phase::Outside).unwrap();
        member.served(due, Nanos(9));
        Some((due.slot, operation))
    }

    #[test]
    fn what_a_client_has_written_is_read_after_its_load_one_request_at_a_time() {
        let mut member = member(1);
        let block = u64::from(BLOCK);
        write(&mut member, block, 3 * BLOCK);
        write(&mut member, 6 * block, BLOCK);
        let count = FinalReadCount::default();
        member.close(4..6, &count);
        assert_eq!(sent(&mut member), Some((4, read(block, 2 * BLOCK))));
        assert_eq!(sent(&mut member), None);
        member.release(4, Nanos(10));
        assert_eq!(sent(&mut member), Some((4, read(3 * block, BLOCK))));
        // The server refuses it.
        member.got_no_data(4);
        member.release(4, Nanos(11));
        assert_eq!(sent(&mut member), Some((4, read(6 * block, BLOCK))));
        assert_eq!(sent(&mut member), None);
        member.release(4, Nanos(12));
        assert_eq!(sent(&mut member), None);
        let (due, checked) = (4, 3);
        assert_eq!(count.get(), FinalRead { due, checked });
    }

    /// One of them cannot be sent at first, for want of credits.
    #[test]
    fn as_many_are_in_flight_as_the_client_has_slots() {
        let mut member = member(9);
        let block = u64::from(BLOCK);
        write(&mut member, 0, 8 * BLOCK);
        let count = FinalReadCount::default();
        member.close(4..6, &count);
        assert_eq!(sent(&mut member), Some((4, read(0, 2 * BLOCK))));
        let unsent = member.next_operation(Phase::Outside).unwrap();
        assert_eq!(unsent, read(2 * block, 2 * BLOCK));
        member.keep(unsent);
        assert_eq!(sent(&mut member), Some((5, unsent)));
        assert_eq!(sent(&mut member), None);
        member.release(5, Nanos(10));
        let unsent = member.next_operation(Phase::Outside).unwrap();
        assert_eq!(unsent, read(4 * block, 2 * BLOCK));
        member.keep(unsent);
        member.release(4, Nanos(11));
        assert_eq!(sent(&mut member), Some((4, unsent)));
        let last = member.next_operation(Phase::Outside).unwrap();
        member.keep(last);
        assert_eq!(sent(&mut member), Some((5, last)));
        assert_eq!(last, read(6 * block, 2 * BLOCK));
        assert_eq!(sent(&mut member), None);
        for slot in [4, 5] {
            member.release(slot, Nanos(12));
        }
        assert_eq!(sent(&mut member), None);
        let (due, checked) = (8, 8);
        assert_eq!(count.get(), FinalRead { due, checked });
    }

    /// A client that ends under load begins nothing when its last operations are answered.
    #[test]
    fn a_client_that_is_retired_under_load_reads_nothing() {
        let mut member = member(1);
        write(&mut member, 0, BLOCK);
        member.retire();
        member.release(4, Nanos(10));
        assert!(member.due(Nanos(11), true).is_none());
    }
}
