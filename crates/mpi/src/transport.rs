//! Messages between hosts over MPI, without a call that could block.
//!
//! A message is cut into frames that any transport of Open MPI sends at once (eagerly), so a
//! frame that can be received has arrived as a whole: its sender may die at any time. Frames are
//! sent with MPI's buffered mode, which copies them and returns.

use mpi::point_to_point::{Destination as _, MatchedReceiveVec as _, Source as _};
use mpi::topology::{Communicator as _, SimpleCommunicator};
use smbench_engine::hosts::{HostMessage, HostTransport};

/// Bytes of messages that may wait to be sent. Those to a host that is lost wait for ever.
pub(crate) const PENDING_BYTES: usize = 64 << 20;
/// Bytes of a frame. Shared memory is the transport with the lowest limit for eager messages,
/// 4096 bytes with the header.
const FRAME_BYTES: usize = 3072;

/// The last frame of a message, and any other.
const LAST: u8 = 1;
const MORE: u8 = 0;

/// The ranks of an MPI program as hosts.
pub(crate) struct MpiTransport {
    world: SimpleCommunicator,
    place: (u32, u32),
    /// The frames so far of a message from each rank.
    partial: Vec<Vec<u8>>,
}

impl MpiTransport {
    pub(crate) fn new(world: SimpleCommunicator) -> Self {
        let (rank, size) = (world.rank(), world.size());
        let place = (rank.unsigned_abs(), size.unsigned_abs());
        Self {
            partial: vec![Vec::new(); size.unsigned_abs() as usize],
            world,
            place,
        }
    }
}

impl HostTransport for MpiTransport {
    fn place(&self) -> (u32, u32) {
        self.place
    }

    fn send(&mut self, to: u32, message: HostMessage) {
        let bytes = rmp_serde::to_vec_named(&message)
            .unwrap_or_else(|error| unreachable!("every message has a form in bytes: {error}"));
        let rank = self.world.process_at_rank(to.cast_signed());
        let mut frames = bytes.chunks(FRAME_BYTES).peekable();
        while let Some(frame) = frames.next() {
            let kind = if frames.peek().is_some() { MORE } else { LAST };
            let frame = [&[kind], frame].concat();
            rank.buffered_send(&frame[..]);
        }
    }

    fn receive(&mut self) -> Option<(u32, HostMessage)> {
        loop {
            let arrived = self.world.any_process().immediate_matched_probe()?;
            let (frame, status) = arrived.matched_receive_vec::<u8>();
            let from = status.source_rank().unsigned_abs();
            let partial = &mut self.partial[from as usize];
            let (kind, bytes) = frame.split_first()?;
            partial.extend_from_slice(bytes);
            if *kind == LAST {
                let message = rmp_serde::from_slice(&std::mem::take(partial));
                // All hosts run the same build; another build may say what this one
                // does not know.
                return Some((from, message.ok()?));
            }
        }
    }
}
