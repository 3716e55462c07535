//! A driver that is not part of smbench, kept from doing harm: however it
//! behaves, no wait is without end and no worker thread is its alone. Where it
//! or a stream from outside panics, that is told of them and not of smbench.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::task::coop;
use tokio::time::timeout;

use crate::clock::Nanos;
use crate::run::driver::{Busy, Call, Connector, Driver, Opened, Scratch, Sink};
use crate::run::operation::Dropped;
use crate::session::{LOGOFF_LIMIT, SessionError};

/// What a program that embeds the engine can bring along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Driver,
    Stream,
}

impl Part {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Stream => "stream of operations",
        }
    }
}

/// What a worker panics with where the fault is not smbench's.
#[derive(Debug)]
pub(super) struct GuestPanic {
    pub(super) part: Part,
    /// The message.
    pub(super) said: String,
}

impl GuestPanic {
    fn new(part: Part, panic: &(dyn Any + Send)) -> Self {
        let said = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(said), _) => (*said).to_owned(),
            (_, Some(said)) => said.clone(),
            (None, None) => "without a message".to_owned(),
        };
        Self { part, said }
    }
}

/// Runs code from outside. What it leaves half done when it panics is not looked
/// at again: the worker ends.
pub(super) fn in_guest<T>(part: Part, work: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(panic) if panic.is::<GuestPanic>() => resume_unwind(panic),
        Err(panic) => resume_unwind(Box::new(GuestPanic::new(part, &*panic))),
    }
}

/// The same of a future.
async fn await_guest<T>(part: Part, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| in_guest(part, || work.as_mut().poll(context))).await
}

/// Sets up somebody else's drivers.
#[derive(Clone)]
pub(super) struct Guests<C> {
    pub(super) connector: C,
    /// How long setting one up may take.
    pub(super) limit: Duration,
}

impl<C: Connector> Connector for Guests<C> {
    type Driver = Guest<C::Driver>;

    fn descriptors_per_group(&self) -> u32 {
        self.connector.descriptors_per_group()
    }

    async fn open(&self, clients: &[u32]) -> Result<Opened<Self::Driver>, SessionError> {
        match timeout(
            self.limit,
            await_guest(Part::Driver, self.connector.open(clients)),
        )
        .await
        {
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
        in_guest(Part::Driver, || self.0.has_room(scratch))
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        in_guest(Part::Driver, || self.0.submit(call, scratch, data))
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        let flushed = in_guest(Part::Driver, || self.0.flush(context, scratch));
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
        let polled = in_guest(Part::Driver, || self.0.poll_receive(context, scratch));
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
        in_guest(Part::Driver, || {
            self.0.take_answers(received, now, scratch, sink)
        })
    }

    fn is_awaited(&self) -> bool {
        in_guest(Part::Driver, || self.0.is_awaited())
    }

    fn why_overdue(&self) -> Option<Dropped> {
        in_guest(Part::Driver, || self.0.why_overdue())
    }

    async fn close(self) {
        // Whoever does not come to an end is dropped.
        let _ = timeout(LOGOFF_LIMIT, await_guest(Part::Driver, self.0.close())).await;
    }
}
