//! State shared by the groups of one worker.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Poll;

use smbench_model::record::FinalRead;

use crate::drivers::driver::{LoadSockets, Scratch};
use crate::drivers::dropped::Dropped;
use crate::machine::poller::Poller;
use crate::worker::notes::SharedPad;
use crate::worker::recorder_exchange::IntervalRecorder;

/// The blocks that clients of a worker read after their load, as far as they are not recorded.
pub(crate) type FinalReadCount = Rc<Cell<FinalRead>>;

/// State shared by the groups of one worker; each poll borrows it.
pub(crate) struct Shared {
    pub(crate) scratch: Scratch,
    pub(super) recording: IntervalRecorder,
    pub(super) final_reads: FinalReadCount,
    /// The page for notes on answers, if such are made.
    pub(super) pad: Option<SharedPad>,
    pub(crate) sockets: LoadSockets,
}

impl Shared {
    /// Makes the shared state. Results go to `recording`, and sockets are in `poller`.
    pub(crate) fn new(recording: IntervalRecorder, poller: &Rc<Poller>) -> Self {
        Self {
            scratch: Scratch::default(),
            recording,
            final_reads: FinalReadCount::default(),
            pad: None,
            sockets: LoadSockets::new(Rc::clone(poller)),
        }
    }
}

impl Shared {
    /// Records the blocks that clients have read after their load since the last call.
    pub(super) fn record_final_reads(&mut self) {
        let read = self.final_reads.take();
        if read != FinalRead::default() {
            self.recording.recorder.read_finally(read);
        }
    }

    /// Hands in the notes on answers.
    pub(super) fn turn_page(&self) {
        if let Some(pad) = &self.pad {
            pad.borrow_mut().hand_in();
        }
    }

    /// Runs `poll` and returns its result. After an error it clears the output
    /// buffer, so that requests of these clients are not sent to others.
    pub(crate) fn cleared(
        &mut self,
        poll: impl FnOnce(&mut Self) -> Poll<Result<(), Dropped>>,
    ) -> Poll<Result<(), Dropped>> {
        let polled = poll(self);
        if let Poll::Ready(Err(_)) = polled {
            self.scratch.output.clear();
        }
        polled
    }
}
