//! State shared by the groups of one worker.

use std::rc::Rc;
use std::task::Poll;

use crate::drivers::driver::{LoadSockets, Scratch};
use crate::drivers::dropped::Dropped;
use crate::machine::poller::Poller;
use crate::worker::notes::SharedPad;
use crate::worker::recorder_exchange::IntervalRecorder;

/// State shared by the groups of one worker; each poll borrows it.
pub(crate) struct Shared {
    pub(crate) scratch: Scratch,
    pub(super) recording: IntervalRecorder,
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
            pad: None,
            sockets: LoadSockets::new(Rc::clone(poller)),
        }
    }
}

impl Shared {
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
