//! Operations that are larger than a request, as the pieces in which they are sent.
//!
//! A piece is an ordinary READ or WRITE of a part of the operation's range. The operation
//! keeps its one slot from the first piece sent to the last one answered. A piece has a slot
//! number of its own above [`SLOTS_MAX`], from which that of its operation follows
//! ([`slot_of`]). Data is made and checked piece by piece, so memory does not grow with the
//! size of operations.
//!
//! After the first failure of a piece no further one is sent.

use std::collections::VecDeque;

use smbench_model::Nanos;
use smbench_model::contents::block::Stamp;
use smbench_model::contents::verify::ReadVerdict;
use smbench_model::operations::Operation;
use smbench_protocol::NtStatus;

use crate::drivers::driver::{SLOTS_MAX, slot_of};

/// The most pieces of an operation in flight. Drivers use numbers from 2^30 on for requests
/// of their own.
const PIECES_MAX: u32 = (1 << 30) / SLOTS_MAX - 1;
/// The start of no piece, in a lane that is free.
const NO_PIECE: u32 = u32::MAX;

/// The split operations of a group.
pub(super) struct Splits {
    /// The operation of each slot; of a slot without one, the last that it had.
    operations: Box<[SplitOperation]>,
    /// Slots with pieces to send, the longest waiting first.
    queue: VecDeque<u32>,
    /// Whether pieces are sent before new operations. The two take turns.
    pub(super) are_first: bool,
    /// Number of pieces in flight.
    pub(super) in_flight: u32,
    /// Whether the next piece waits for credits.
    pub(super) lack_credits: bool,
}

#[derive(Default)]
struct SplitOperation {
    length: u32,
    /// Bytes of each piece but the last.
    request_max: u32,
    /// Start of the next piece within the operation.
    next: u32,
    /// The pieces to be sent again.
    again: Vec<PieceAgain>,
    /// Start of the piece in each lane, or [`NO_PIECE`].
    lanes: Vec<u32>,
    /// Lanes without a piece in flight.
    free: Vec<u32>,
    pieces: u32,
    moved: u32,
    failure: Option<PieceFailure>,
    verdict: Option<ReadVerdict>,
    stamp: Stamp,
    is_queued: bool,
    /// Instant of the last answer.
    answered: Nanos,
}

/// A piece to be sent again.
#[derive(Clone, Copy)]
struct PieceAgain {
    /// Its start within the operation.
    start: u32,
    /// How it counts until it is sent; `None` if its session had expired.
    counted: Option<PieceRepeat>,
}

/// A piece that counts as sent again, after the event with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceRepeat(pub(super) Option<u32>);

/// The result of a piece.
#[derive(Clone, Copy)]
pub(super) enum PieceResult {
    /// All of its bytes were moved.
    Whole(Option<ReadVerdict>),
    Failed(PieceFailure),
    /// It must be sent again, because its session had expired.
    Expired,
    /// It must be sent again, because its connection was lost.
    Repeated(PieceRepeat),
}

/// The reason why an operation failed.
#[derive(Clone, Copy)]
pub(super) enum PieceFailure {
    /// Its connection was lost.
    Lost,
    Status(NtStatus),
    /// Fewer bytes were moved.
    Short(u32),
    /// More bytes were moved.
    Long,
    /// It read other data than the written data.
    Data,
}

/// The result of an operation whose last piece was answered.
pub(super) struct EndedSplit {
    /// The verdict on its data, or the first failure.
    pub(super) outcome: Result<Option<ReadVerdict>, PieceFailure>,
    /// Bytes moved by all pieces.
    pub(super) moved: u32,
    pub(super) pieces: u32,
    /// Pieces that count as sent again, and were not.
    pub(super) unrepeated: Vec<PieceRepeat>,
}

impl SplitOperation {
    /// Returns the start of the next piece to send.
    fn unsent(&self) -> Option<u32> {
        if self.failure.is_some() {
            return None;
        }
        let next = (self.next < self.length).then_some(self.next);
        self.again.last().map(|piece| piece.start).or(next)
    }

    /// Forgets the pieces to be sent again. Returns how they count.
    fn take_repeats(&mut self) -> Vec<PieceRepeat> {
        let again = self.again.drain(..);
        again.filter_map(|piece| piece.counted).collect()
    }

    fn in_flight(&self) -> usize {
        self.lanes.len() - self.free.len()
    }

    fn piece(&self, operation: &Operation, start: u32) -> Operation {
        Operation {
            offset: operation.offset + u64::from(start),
            length: self.request_max.min(operation.length - start),
            ..*operation
        }
    }

    /// Returns the lane of the next piece.
    fn next_lane(&self) -> Option<u32> {
        let new = self.lanes.len() as u32;
        self.free
            .last()
            .copied()
            .or((new < PIECES_MAX).then_some(new))
    }
}

impl Splits {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            operations: (0..slots).map(|_| SplitOperation::default()).collect(),
            queue: VecDeque::with_capacity(slots),
            are_first: false,
            in_flight: 0,
            lack_credits: false,
        }
    }

    /// Returns the slot number and the range of the first piece of an operation in a free
    /// slot.
    pub(super) fn first(slot: u32, operation: &Operation, request_max: u32) -> (u32, Operation) {
        let first = Operation {
            length: request_max,
            ..*operation
        };
        (number(slot, 0), first)
    }

    /// Begins an operation whose first piece was sent. `stamp` is that of a write.
    pub(super) fn begin(
        &mut self,
        slot: u32,
        operation: &Operation,
        request_max: u32,
        stamp: Stamp,
    ) {
        let split = &mut self.operations[slot as usize];
        debug_assert_eq!(split.in_flight(), 0, "the slot was free");
        split.lanes.clear();
        split.free.clear();
        split.again.clear();
        *split = SplitOperation {
            length: operation.length,
            request_max,
            stamp,
            again: std::mem::take(&mut split.again),
            lanes: std::mem::take(&mut split.lanes),
            free: std::mem::take(&mut split.free),
            is_queued: split.is_queued,
            ..SplitOperation::default()
        };
        self.are_first = true;
        self.sent(slot);
    }

    /// Returns the slot whose piece is next.
    pub(super) fn front(&self) -> Option<u32> {
        self.queue.front().copied()
    }

    /// Returns the number of slots with pieces to send, at most.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Lets the pieces of the next slot wait for those of the others, because its session
    /// takes no requests.
    pub(super) fn pass_over(&mut self) {
        self.queue.rotate_left(1);
    }

    /// Removes the first slot from the queue, because none of its pieces can be sent now.
    pub(super) fn pop(&mut self) {
        if let Some(slot) = self.queue.pop_front() {
            self.operations[slot as usize].is_queued = false;
        }
    }

    /// Returns the slot number and the range of the next piece of an operation; `None` if
    /// none can be sent now.
    pub(super) fn next(&self, slot: u32, operation: &Operation) -> Option<(u32, Operation)> {
        let split = &self.operations[slot as usize];
        let start = split.unsent()?;
        let lane = split.next_lane()?;
        Some((number(slot, lane), split.piece(operation, start)))
    }

    /// Records that the next piece of an operation was sent.
    pub(super) fn sent(&mut self, slot: u32) {
        let split = &mut self.operations[slot as usize];
        let start = match split.again.pop() {
            Some(piece) => piece.start,
            None => {
                let start = split.next;
                split.next += split.request_max.min(split.length - start);
                split.pieces += 1;
                start
            }
        };
        match split.free.pop() {
            Some(lane) => split.lanes[lane as usize] = start,
            None => split.lanes.push(start),
        }
        self.in_flight += 1;
        self.enqueue(slot);
    }

    /// Puts a slot into the queue, if it has pieces to send.
    fn enqueue(&mut self, slot: u32) {
        let split = &mut self.operations[slot as usize];
        if !split.is_queued && split.unsent().is_some() {
            split.is_queued = true;
            self.queue.push_back(slot);
        }
    }

    /// Returns the stamp of a write.
    pub(super) fn stamp(&self, slot: u32) -> Stamp {
        self.operations[slot as usize].stamp
    }

    /// Returns the range of the piece with this number; `None` if it is not in flight.
    pub(super) fn piece(&self, number: u32, operation: &Operation) -> Option<Operation> {
        let split = self.operations.get(slot_of(number))?;
        let lane = lane_of(number)?;
        let start = *split.lanes.get(lane as usize)?;
        (start != NO_PIECE).then(|| split.piece(operation, start))
    }

    /// Records the result of a piece in flight. Returns that of its operation if it was the
    /// last piece.
    pub(super) fn answered(
        &mut self,
        number: u32,
        result: PieceResult,
        now: Nanos,
    ) -> Option<EndedSplit> {
        let (slot, lane) = (slot_of(number), lane_of(number)?);
        self.in_flight -= 1;
        let split = &mut self.operations[slot];
        let start = std::mem::replace(&mut split.lanes[lane as usize], NO_PIECE);
        split.free.push(lane);
        split.answered = now;
        let length = split.request_max.min(split.length - start);
        match result {
            PieceResult::Whole(verdict) => {
                split.moved += length;
                split.verdict = match (split.verdict, verdict) {
                    (Some(one), Some(other)) => Some(one.and(other)),
                    (one, other) => one.or(other),
                };
            }
            PieceResult::Failed(failure) => {
                if let PieceFailure::Short(moved) = failure {
                    split.moved += moved;
                }
                split.failure.get_or_insert(failure);
            }
            PieceResult::Expired => split.again.push(PieceAgain {
                start,
                counted: None,
            }),
            PieceResult::Repeated(repeat) => split.again.push(PieceAgain {
                start,
                counted: Some(repeat),
            }),
        }
        if split.in_flight() == 0 && split.unsent().is_none() {
            return Some(EndedSplit {
                outcome: split.failure.map_or(Ok(split.verdict), Err),
                moved: split.moved,
                pieces: split.pieces,
                unrepeated: split.take_repeats(),
            });
        }
        self.enqueue(slot as u32);
        None
    }

    /// Returns whether pieces of the operation in a slot are to be sent again.
    pub(super) fn repeats(&self, slot: u32) -> bool {
        !self.operations[slot as usize].again.is_empty()
    }

    /// Sends no further piece of the operation in a slot, which has none in flight. Returns the
    /// pieces that count as sent again, and were not; `None` if no operation of several pieces
    /// is under way there.
    pub(super) fn give_up(&mut self, slot: u32) -> Option<Vec<PieceRepeat>> {
        let split = &mut self.operations[slot as usize];
        split.unsent()?;
        split.failure = Some(PieceFailure::Lost);
        Some(split.take_repeats())
    }

    /// Returns the instant of the last answer to a piece of this slot.
    pub(super) fn last_answer(&self, slot: usize) -> Nanos {
        self.operations[slot].answered
    }
}

const fn number(slot: u32, lane: u32) -> u32 {
    (lane + 1) * SLOTS_MAX + slot
}

fn lane_of(number: u32) -> Option<u32> {
    (number / SLOTS_MAX).checked_sub(1)
}

#[cfg(test)]
mod tests;
