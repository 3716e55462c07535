//! Wraps a driver of an embedding program, so that it can do no harm. Every wait
//! has a limit, and no driver keeps a worker thread to itself. A panic in such a
//! driver or stream is reported as the program's own, not as a bug in smbench.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_model::Nanos;
use tokio::time::timeout;

use crate::drivers::driver::{Busy, Call, Connector, Driver, LoadSockets, Opened, Scratch, Sink};
use crate::drivers::dropped::Dropped;
use crate::smb::session::{LOGOFF_LIMIT, SessionError};

/// How often a driver may be ready before other groups have a turn.
const TURNS_MAX: u32 = 128;

/// The parts that an embedding program can supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignPart {
    Driver,
    Stream,
}

impl ForeignPart {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Stream => "stream of operations",
        }
    }
}

/// Panic payload of a worker if the code of the embedding program panicked.
#[derive(Debug)]
pub(crate) struct ForeignPanic {
    pub(crate) part: ForeignPart,
    /// Message of the panic.
    pub(crate) said: String,
}

impl ForeignPanic {
    fn new(part: ForeignPart, panic: &(dyn Any + Send)) -> Self {
        let said = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(said), _) => (*said).to_owned(),
            (_, Some(said)) => said.clone(),
            (None, None) => "without a message".to_owned(),
        };
        Self { part, said }
    }
}

/// Runs code of the embedding program. Its state after a panic is not used again,
/// because the worker ends.
#[inline]
pub(crate) fn in_embedding<T>(part: ForeignPart, work: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(panic) if panic.is::<ForeignPanic>() => resume_unwind(panic),
        Err(panic) => resume_unwind(Box::new(ForeignPanic::new(part, &*panic))),
    }
}

/// Awaits a future of the embedding program, and reports a panic as [`in_embedding`]
/// does.
async fn await_guest<T>(part: ForeignPart, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| in_embedding(part, || work.as_mut().poll(context))).await
}

/// Sets up drivers of the embedding program.
#[derive(Clone)]
pub(crate) struct UntrustedConnector<C> {
    pub(crate) connector: C,
    /// Time limit for setting up one driver.
    pub(crate) limit: Duration,
}

impl<C: Connector> Connector for UntrustedConnector<C> {
    type Driver = Untrusted<C::Driver>;

    fn descriptors_per_group(&self) -> u32 {
        self.connector.descriptors_per_group()
    }

    async fn open(&self, clients: &[u32]) -> Result<Opened<Self::Driver>, SessionError> {
        match timeout(
            self.limit,
            await_guest(ForeignPart::Driver, self.connector.open(clients)),
        )
        .await
        {
            Ok(opened) => Ok(opened?.map(|driver| Untrusted { driver, turns: 0 })),
            Err(_) => Err(SessionError::Other(format!(
                "the connector was not ready within {}",
                humantime::format_duration(self.limit)
            ))),
        }
    }
}

/// A driver of the embedding program.
pub(crate) struct Untrusted<D> {
    driver: D,
    /// How often it was ready since other groups had a turn.
    turns: u32,
}

impl<D: Driver> Driver for Untrusted<D> {
    fn begin_load(&mut self, sockets: &LoadSockets) -> Result<(), Dropped> {
        in_embedding(ForeignPart::Driver, || self.driver.begin_load(sockets))
    }

    fn has_room(&self, scratch: &Scratch) -> bool {
        in_embedding(ForeignPart::Driver, || self.driver.has_room(scratch))
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        in_embedding(ForeignPart::Driver, || {
            self.driver.submit(call, scratch, data)
        })
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped> {
        let flushed = in_embedding(ForeignPart::Driver, || self.driver.flush(context, scratch));
        // All groups share the buffer: remaining bytes would be sent on the
        // connection of another group.
        scratch.output.clear();
        flushed
    }

    #[expect(
        clippy::inline_always,
        reason = "the worker loop calls it once per wake-up; a call costs 34 instructions"
    )]
    #[inline(always)]
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        // Other groups have a turn even if this driver is always ready.
        if self.turns == TURNS_MAX {
            self.turns = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = in_embedding(ForeignPart::Driver, || {
            self.driver.poll_receive(context, scratch)
        });
        self.turns = match polled {
            Poll::Ready(_) => self.turns + 1,
            Poll::Pending => 0,
        };
        polled
    }

    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        in_embedding(ForeignPart::Driver, || {
            self.driver.take_answers(received, now, scratch, sink)
        })
    }

    fn is_awaited(&self) -> bool {
        in_embedding(ForeignPart::Driver, || self.driver.is_awaited())
    }

    fn why_overdue(&self) -> Option<Dropped> {
        in_embedding(ForeignPart::Driver, || self.driver.why_overdue())
    }

    async fn close(self) {
        // A driver that exceeds the limit is dropped.
        let _ = timeout(
            LOGOFF_LIMIT,
            await_guest(ForeignPart::Driver, self.driver.close()),
        )
        .await;
    }
}
