//! THE worker loop: one client keeping its requests in flight.
//!
//! Fill free slots, flush once, read, complete, record. Invariant: between
//! submitting and completing, nothing allocates, locks, formats or logs once
//! warm; the send and receive buffers and the recorder belong to the worker
//! and are lent to one client at a time, for one poll.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::frame::Payload;
use smbench_protocol::header::Command;
use smbench_protocol::{Event, FileId, NoCredit, ProtocolError};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::task::coop;
use tokio::time::Sleep;

use crate::cancel::Cancel;
use crate::clock::{self, Nanos};
use crate::pattern::{self, Stamp};
use crate::record::{OpKind, Phase, Recorder};
use crate::run::backlog::{self, Backlog};
use crate::run::live::Interval;
use crate::run::operation::{Dropped, Slot, SlotState, Unfit, judge};
use crate::run::schedule::Schedule;
use crate::session::Session;
use crate::stream::{OpStream, Operation};
use crate::verify::Ledger;

/// Bytes taken from a socket at a time; whole 64 KiB answers fit several times.
const RECEIVE_LEN: usize = 256 * 1024;

/// What the clients of one worker share, one poll at a time.
pub(super) struct Shared {
    input: Box<[u8]>,
    output: Vec<u8>,
    pub(super) recorder: Recorder,
    pub(super) interval: Interval,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            input: vec![0; RECEIVE_LEN].into_boxed_slice(),
            output: Vec::with_capacity(RECEIVE_LEN),
            recorder: Recorder::default(),
            interval: Interval::default(),
        }
    }
}

/// What all clients of a load point go by.
#[derive(Clone)]
pub(super) struct Orders {
    pub(super) schedule: Schedule,
    pub(super) operation_limit: Nanos,
    pub(super) cancel: Cancel,
}

/// Why no further operation was encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// The window, the credits or the schedule allow no more.
    AsPlanned,
    /// Slots are free, but the bytes must go out first.
    UpToBacklog,
}

/// One client: a session, its open files, its operations.
pub(super) struct Client {
    pub(super) number: u32,
    pub(super) session: Session,
    pub(super) files: Box<[FileId]>,
    run: u32,
    operations: OpStream,
    slots: Box<[Slot]>,
    free: Vec<u32>,
    /// Drawn, but not yet sent for lack of credits; since when.
    waiting: Option<(Operation, Nanos)>,
    pub(super) starved: Nanos,
    /// Since when the backlog keeps free slots from being filled.
    held_back_since: Option<Nanos>,
    pub(super) held_back: Nanos,
    backlog: Backlog,
    generation: u32,
    ledger: Option<Box<Ledger>>,
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Nanos,
}

impl Client {
    pub(super) fn new(
        number: u32,
        session: Session,
        files: Box<[FileId]>,
        operations: OpStream,
        outstanding: u32,
        ledger: Option<Box<Ledger>>,
        run: u32,
    ) -> Self {
        let idle = Slot {
            operation: Operation {
                kind: OpKind::Read,
                file: 0,
                offset: 0,
                length: 0,
            },
            sent: Nanos(0),
            epoch: None,
            state: SlotState::Free,
        };
        Self {
            number,
            session,
            files,
            run,
            operations,
            slots: vec![idle; outstanding as usize].into_boxed_slice(),
            free: (0..outstanding).rev().collect(),
            waiting: None,
            starved: Nanos(0),
            held_back_since: None,
            held_back: Nanos(0),
            backlog: Backlog::default(),
            generation: 0,
            ledger,
            timer: None,
            timer_at: Nanos(0),
        }
    }

    /// Keeps the load on until the schedule stops and everything in flight has
    /// been answered.
    pub(super) async fn run(
        &mut self,
        shared: &RefCell<Shared>,
        orders: &Orders,
    ) -> Result<(), Dropped> {
        poll_fn(|context| self.poll(context, &mut shared.borrow_mut(), orders)).await
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        shared: &mut Shared,
        orders: &Orders,
    ) -> Poll<Result<(), Dropped>> {
        let mut now = clock::now();
        loop {
            while self.fill(now, shared, orders) == Filled::UpToBacklog {
                self.flush(context, shared)?;
                if self.backlog.len() > 0 {
                    self.held_back_since.get_or_insert(now);
                    break;
                }
                // Writing took a while; what is sent next is sent now.
                now = clock::now();
            }
            self.flush(context, shared)?;
            if self.session.connection.in_flight() == 0 {
                return Poll::Ready(match self.waiting {
                    Some(_) => Err(Dropped::NoCredits),
                    None => Ok(()),
                });
            }
            match self.receive(context, &mut shared.input)? {
                Poll::Ready(len) => {
                    now = clock::now();
                    self.complete(len, now, shared, orders)?;
                }
                Poll::Pending => {
                    ready!(self.wait(context, now, orders.operation_limit))?;
                    now = clock::now();
                }
            }
        }
    }

    fn flush(&mut self, context: &mut Context<'_>, shared: &mut Shared) -> std::io::Result<()> {
        self.backlog
            .flush(&mut self.session.stream, context, &mut shared.output)
    }

    /// Encodes operations until every slot is taken, credits run out, the load
    /// point stops, or enough bytes wait to be sent.
    fn fill(&mut self, now: Nanos, shared: &mut Shared, orders: &Orders) -> Filled {
        while let Some(&slot) = self.free.last() {
            if now >= orders.schedule.stop || orders.cancel.is_cancelled() {
                self.end_starvation(now, &orders.schedule);
                break;
            }
            if self.backlog.len() + shared.output.len() >= backlog::FULL_LEN {
                return Filled::UpToBacklog;
            }
            let operation = match self.waiting {
                Some((operation, _)) => operation,
                None => self.operations.next(),
            };
            if self
                .submit(slot, operation, now, &mut shared.output)
                .is_err()
            {
                self.waiting.get_or_insert((operation, now));
                break;
            }
            self.end_starvation(now, &orders.schedule);
            self.free.pop();
        }
        if let Some(since) = self.held_back_since.take() {
            self.held_back = self.held_back + orders.schedule.window_between(since, now);
        }
        Filled::AsPlanned
    }

    fn end_starvation(&mut self, now: Nanos, schedule: &Schedule) {
        if let Some((_, since)) = self.waiting.take() {
            let in_window = schedule
                .window_until(now)
                .since(schedule.window_until(since));
            self.starved = self.starved + in_window;
        }
    }

    fn submit(
        &mut self,
        slot: u32,
        operation: Operation,
        now: Nanos,
        out: &mut Vec<u8>,
    ) -> Result<(), NoCredit> {
        let file_id = self.files[operation.file as usize];
        let connection = &mut self.session.connection;
        let mut entry = Slot {
            operation,
            sent: now,
            epoch: None,
            state: SlotState::InFlight,
        };
        let Operation {
            file,
            offset,
            length,
            ..
        } = operation;
        match operation.kind {
            OpKind::Read => {
                let request = ReadRequest {
                    file_id,
                    offset,
                    length,
                    minimum_count: 0,
                };
                connection.read(slot, &request, out)?;
                entry.epoch = self.ledger.as_ref().map(|ledger| ledger.read_issued());
            }
            OpKind::Write => {
                let request = WriteRequest {
                    file_id,
                    offset,
                    length,
                    flags: 0,
                };
                let Self {
                    ledger, generation, ..
                } = self;
                let unverified = Stamp {
                    client: self.number,
                    file,
                    generation: generation.wrapping_add(1),
                    run: self.run,
                };
                connection.write(slot, &request, out, |data| {
                    // Only now is it sure that the write goes out.
                    *generation = unverified.generation;
                    let stamp = match ledger {
                        Some(ledger) => ledger.write_issued(file, offset, length),
                        None => unverified,
                    };
                    pattern::fill(data, offset, stamp);
                })?;
            }
            OpKind::Flush => {
                let request = FlushRequest { file_id };
                connection.request(Command::Flush, 1, slot, out, |out| request.encode(out))?;
            }
        }
        self.slots[slot as usize] = entry;
        Ok(())
    }

    fn receive(
        &mut self,
        context: &mut Context<'_>,
        input: &mut [u8],
    ) -> Result<Poll<usize>, Dropped> {
        let mut buffer = ReadBuf::new(input);
        match Pin::new(&mut self.session.stream).poll_read(context, &mut buffer) {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(outcome) => {
                outcome?;
                match buffer.filled().len() {
                    0 => Err(Dropped::Closed),
                    len => Ok(Poll::Ready(len)),
                }
            }
        }
    }

    /// Books every answer in the first `len` bytes of the input.
    fn complete(
        &mut self,
        len: usize,
        now: Nanos,
        shared: &mut Shared,
        orders: &Orders,
    ) -> Result<(), Dropped> {
        let payload = match self.ledger {
            Some(_) => Payload::Keep,
            None => Payload::Discard,
        };
        let Session {
            inbound,
            connection,
            ..
        } = &mut self.session;
        let mut input = &mut shared.input[..len];
        while let Some(frame) = inbound
            .next(&mut input, payload)
            .map_err(ProtocolError::from)?
        {
            let mut messages = connection.open(frame)?;
            while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
                let Event::Completed(done) = connection.receive(message)? else {
                    // An interim answer; the final one completes the operation.
                    continue;
                };
                let slot = &mut self.slots[done.tag as usize];
                slot.state = SlotState::Free;
                self.free.push(done.tag);
                let kind = slot.operation.kind;
                // A cancelled window ends at once, not when the answers are in.
                let phase = match orders.cancel.is_cancelled() {
                    false => orders.schedule.phase(now),
                    true => Phase::Outside,
                };
                match judge(slot, &done, self.ledger.as_deref_mut())? {
                    Ok(bytes) => {
                        let service = now.since(slot.sent);
                        shared.recorder.success(kind, bytes, service, phase);
                        shared.interval.record(bytes, service);
                    }
                    Err(Unfit::Answer(failure)) => shared.recorder.failure(kind, failure, phase),
                    Err(Unfit::Data(mismatch)) => {
                        let Operation { file, .. } = slot.operation;
                        shared
                            .recorder
                            .wrong_data(self.number, file, &mismatch, phase);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sleeps until the socket is ready; an error once the oldest operation has
    /// waited longer than `limit`. The timer is set rarely: it is only moved
    /// when it has fired and turned out to be early.
    fn wait(
        &mut self,
        context: &mut Context<'_>,
        now: Nanos,
        limit: Nanos,
    ) -> Poll<Result<(), Dropped>> {
        if now < self.timer_at {
            return Poll::Pending;
        }
        let oldest = self
            .slots
            .iter()
            .filter(|slot| slot.state == SlotState::InFlight)
            .min_by_key(|slot| slot.sent);
        let Some(oldest) = oldest else {
            return Poll::Pending;
        };
        if now.since(oldest.sent) >= limit {
            return Poll::Ready(Err(Dropped::Stalled {
                kind: oldest.operation.kind.name(),
                limit,
            }));
        }
        // Without budget the timer would not take our waker, and tokio has
        // already arranged for another poll.
        if !coop::has_budget_remaining() {
            return Poll::Pending;
        }
        self.timer_at = oldest.sent + limit;
        let at = clock::timer(self.timer_at);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        timer.as_mut().reset(at);
        // Polled once to leave our waker with it. If it is due already, the
        // next round of the loop sees the time.
        timer.as_mut().poll(context).map(Ok)
    }
}
