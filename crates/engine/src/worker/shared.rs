//! State shared by the groups of one worker.

use std::task::Poll;

use crate::drivers::driver::Scratch;
use crate::drivers::dropped::Dropped;
use crate::worker::recorder_exchange::IntervalRecorder;

/// State shared by the groups of one worker; each poll borrows it.
pub(crate) struct Shared {
    pub(crate) scratch: Scratch,
    pub(super) recording: IntervalRecorder,
}

impl Shared {
    /// Makes the shared state; results go to `recording`.
    pub(crate) fn new(recording: IntervalRecorder) -> Self {
        Self {
            scratch: Scratch::default(),
            recording,
        }
    }
}

impl Shared {
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
