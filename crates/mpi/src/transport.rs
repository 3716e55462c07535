//! Messages between hosts over MPI, without a call that could block.
//!
//! A message is cut into frames that any transport of Open MPI sends at once (eagerly), so a
//! frame that can be received has arrived as a whole: its sender may die at any time. A send to
//! a rank that is gone never ends. While it is pending, all other messages go on.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use mpi::point_to_point::{Destination as _, MatchedReceiveVec as _, Source as _};
use mpi::request::{LocalScope, Request, scope};
use mpi::topology::{Communicator as _, SimpleCommunicator};
use smbench_engine::hosts::{HostMessage, HostPump, HostTransport, PumpTurn};

/// Bytes of a frame. Shared memory is the transport with the lowest limit for eager messages,
/// 4096 bytes with the header.
const FRAME_BYTES: usize = 3072;

/// The pause between two looks at sends that are pending.
const PENDING_PAUSE: Duration = Duration::from_millis(2);

/// The last frame of a message, and any other.
const LAST: u8 = 1;
const MORE: u8 = 0;

/// The messages that have arrived, and the frames that are to be sent.
pub(crate) struct Mailbox {
    place: (u32, u32),
    arrived: VecDeque<(u32, HostMessage)>,
    /// Frames to each rank.
    waiting: Vec<Vec<Vec<u8>>>,
}

impl HostTransport for Mailbox {
    fn place(&self) -> (u32, u32) {
        self.place
    }

    fn send(&mut self, to: u32, message: HostMessage) {
        let bytes = rmp_serde::to_vec_named(&message)
            .unwrap_or_else(|error| unreachable!("every message has a form in bytes: {error}"));
        let mut frames = bytes.chunks(FRAME_BYTES).peekable();
        while let Some(frame) = frames.next() {
            let kind = if frames.peek().is_some() { MORE } else { LAST };
            self.waiting[to as usize].push([&[kind], frame].concat());
        }
    }

    fn receive(&mut self) -> Option<(u32, HostMessage)> {
        self.arrived.pop_front()
    }
}

/// The ranks of an MPI program.
pub(crate) struct Ranks<'w> {
    world: &'w SimpleCommunicator,
    /// The frames so far of a message from each rank.
    partial: Vec<Vec<u8>>,
}

impl<'w> Ranks<'w> {
    pub(crate) fn new(world: &'w SimpleCommunicator) -> (Self, Mailbox) {
        let (rank, size) = (world.rank().unsigned_abs(), world.size().unsigned_abs());
        let mailbox = Mailbox {
            place: (rank, size),
            arrived: VecDeque::new(),
            waiting: vec![Vec::new(); size as usize],
        };
        let ranks = Self {
            world,
            partial: vec![Vec::new(); size as usize],
        };
        (ranks, mailbox)
    }

    /// Moves messages until the host's role is dropped and all are sent.
    pub(crate) fn run(mut self, mut pump: HostPump<Mailbox>) {
        let nobody = vec![false; self.partial.len()];
        loop {
            self.receive(pump.transport());
            let turn = pump.turn();
            self.send(&mut pump, &nobody);
            match turn {
                PumpTurn::Ended => return,
                PumpTurn::Awake => thread::yield_now(),
                PumpTurn::Idle => pump.rest(),
            }
        }
    }

    /// Sends what waits for ranks that are not busy. While sends are pending, everything else
    /// goes on, with those ranks busy.
    fn send(&mut self, pump: &mut HostPump<Mailbox>, busy: &[bool]) {
        let waiting = &mut pump.transport().waiting;
        let free = waiting.iter_mut().zip(busy).enumerate();
        let taken = free.filter(|(_, (frames, busy))| !**busy && !frames.is_empty());
        let taken: Vec<_> = taken
            .map(|(rank, (frames, _))| (rank, std::mem::take(frames)))
            .collect();
        if taken.is_empty() {
            return;
        }
        let world = self.world;
        scope(|scope| {
            let mut pending = Vec::new();
            for (rank, frames) in &taken {
                let to = world.process_at_rank(*rank as i32);
                for frame in frames {
                    pending.push((*rank, to.immediate_send(scope, &frame[..])));
                }
            }
            loop {
                pending = still_pending(pending);
                if pending.is_empty() {
                    return;
                }
                let mut busy = busy.to_vec();
                for (rank, _) in &pending {
                    busy[*rank] = true;
                }
                self.receive(pump.transport());
                let turn = pump.turn();
                self.send(pump, &busy);
                match turn {
                    // Open MPI sends only when it is called.
                    PumpTurn::Idle => thread::sleep(PENDING_PAUSE),
                    // After the end, the command ends the process if this takes too long.
                    PumpTurn::Awake | PumpTurn::Ended => thread::yield_now(),
                }
            }
        });
    }

    /// Receives all frames that have arrived.
    fn receive(&mut self, mailbox: &mut Mailbox) {
        while let Some(arrived) = self.world.any_process().immediate_matched_probe() {
            let (frame, status) = arrived.matched_receive_vec::<u8>();
            let from = status.source_rank().unsigned_abs();
            let Some((kind, bytes)) = frame.split_first() else {
                continue;
            };
            let partial = &mut self.partial[from as usize];
            partial.extend_from_slice(bytes);
            if *kind == LAST {
                // All hosts run the same build, so every message is known.
                if let Ok(message) = rmp_serde::from_slice(partial) {
                    mailbox.arrived.push_back((from, message));
                }
                partial.clear();
            }
        }
    }
}

type Pending<'a, 's> = (usize, Request<'a, [u8], &'s LocalScope<'a>>);

/// Returns the sends that have not ended.
fn still_pending<'a, 's>(sends: Vec<Pending<'a, 's>>) -> Vec<Pending<'a, 's>> {
    let mut pending = Vec::with_capacity(sends.len());
    for (rank, send) in sends {
        if let Err(send) = send.test() {
            pending.push((rank, send));
        }
    }
    pending
}
