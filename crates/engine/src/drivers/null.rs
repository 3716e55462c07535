//! A target that completes every operation at once and does nothing, so only the
//! cost of the loop remains.

use std::task::{Context, Poll};

use smbench_model::Nanos;

use crate::drivers::driver::{Answer, Busy, Call, Connector, Driver, Opened, Scratch, Sink};
use crate::drivers::dropped::Dropped;
use crate::smb::session::SessionError;

/// The null target. It does no I/O, and answers every operation with success as
/// soon as the loop asks. A request costs only the work of the loop and the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Connector for Null {
    type Driver = NullDriver;

    async fn open(&self, clients: &[u32]) -> Result<Opened<NullDriver>, SessionError> {
        let session_setup = vec![Nanos(0); clients.len()];
        Ok(Opened::new(NullDriver::default(), 0, session_setup))
    }
}

/// The driver of a group of clients on the null target.
#[derive(Clone, Debug, Default)]
pub struct NullDriver {
    /// Slots of calls to answer, and the bytes of each call.
    calls: Vec<(u32, u32)>,
}

impl Driver for NullDriver {
    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.calls.push((call.slot, call.operation.length));
        Ok(())
    }

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        // Without a call there is nothing to answer. The clock then starts the next
        // call, and the loop handles the clock.
        match self.calls.len() {
            0 => Poll::Pending,
            calls => Poll::Ready(Ok(calls)),
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.calls
            .drain(..)
            .try_for_each(|(slot, moved)| sink.answer(&Answer::success(slot, moved)))
    }
}
