//! A driver that is not part of smbench, kept from doing harm: however it
//! behaves, no wait is without end and no worker thread is its alone.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::task::coop;
use tokio::time::timeout;

use crate::clock::Nanos;
use crate::run::driver::{Busy, Call, Connector, Driver, Opened, Scratch, Sink};
use crate::run::operation::Dropped;
use crate::session::{LOGOFF_LIMIT, SessionError};

/// Sets up somebody else's drivers.
#[derive(Clone)]
pub(super) struct Guests<C> {
    pub(super) connector: C,
    /// How long setting one up may take.
    pub(super) limit: Duration,
}

impl<C: Connector> Connector for Guests<C> {
    type Driver = Guest<C::Driver>;

    async fn open(&self, clients: &[u32]) -> Result<Opened<Self::Driver>, SessionError> {
        match timeout(self.limit, self.connector.open(clients)).await {
            Ok(opened) => Ok(opened?.map(Guest)),
            Err(_) => Err(SessionError::Other(format!(
                "the connector was not ready within {}",
                humantime::format_duration(self.limit)
            ))),
        }
    }
}

/// Somebody else's driver.
pub(super) struct Guest<D>(D);

impl<D: Driver> Driver for Guest<D> {
    fn has_room(&self, scratch: &Scratch) -> bool {
        self.0.has_room(scratch)
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.0.submit(call, scratch, data)
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        let flushed = self.0.flush(context, scratch);
        // The buffer is every group's: what one leaves would go out on another's
        // connection.
        scratch.output.clear();
        flushed
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        // One that is always ready lets others have the thread as well.
        let turn = ready!(coop::poll_proceed(context));
        let polled = self.0.poll_receive(context, scratch);
        if polled.is_ready() {
            turn.made_progress();
        }
        polled
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.0.take_answers(received, now, scratch, sink)
    }

    fn is_awaited(&self) -> bool {
        self.0.is_awaited()
    }

    fn why_overdue(&self) -> Option<Dropped> {
        self.0.why_overdue()
    }

    async fn close(self) {
        // Whoever does not come to an end is dropped.
        let _ = timeout(LOGOFF_LIMIT, self.0.close()).await;
    }
}
