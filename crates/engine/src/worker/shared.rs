//! State shared by the groups of one worker.

use std::task::Poll;

use crate::drivers::driver::Scratch;
use crate::drivers::dropped::Dropped;
use crate::worker::board::Desk;

/// State shared by the groups of one worker; each poll borrows it.
pub(crate) struct Shared {
    pub(crate) scratch: Scratch,
    pub(super) desk: Desk,
}

impl Shared {
    /// Makes the shared state; results go to `desk`.
    pub(crate) fn new(desk: Desk) -> Self {
        Self {
            scratch: Scratch::default(),
            desk,
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
