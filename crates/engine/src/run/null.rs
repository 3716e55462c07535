//! A target that does nothing at once: what is left is the cost of the loop.

use std::task::{Context, Poll};

use smbench_protocol::NtStatus;

use crate::clock::Nanos;
use crate::run::driver::{Answer, Busy, Call, Connector, Driver, Extent, Opened, Scratch, Sink};
use crate::run::operation::Dropped;
use crate::session::SessionError;

/// The null target: no I/O, and every operation is answered well as soon as the
/// loop asks. Requests made of it cost what the loop and the record cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Connector for Null {
    type Driver = NullDriver;

    async fn open(&self, clients: &[u32]) -> Result<Opened<NullDriver>, SessionError> {
        let session_setup = vec![Nanos(0); clients.len()];
        Ok(Opened::new(NullDriver::default(), 0, session_setup))
    }
}

/// A group of clients of the null target.
#[derive(Clone, Debug, Default)]
pub struct NullDriver {
    /// Slots of calls to be answered, and their bytes.
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
        // With nothing to answer the next call comes by the clock, and the loop
        // sees to that.
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
        self.calls.drain(..).try_for_each(|(slot, moved)| {
            sink.answer(&Answer {
                slot,
                extent: Extent::Final,
                status: NtStatus::SUCCESS,
                moved,
                data: None,
            })
        })
    }
}
