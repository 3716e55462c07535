//! The driver with the full client smb-rs (crate `smb`). It is a cross-check with
//! another implementation of the protocol, and a yardstick for the native driver.
//!
//! An operation is a future on smb-rs's objects, which all run on the worker's own
//! runtime. smb-rs does not report its waits for credits. They are therefore part
//! of an operation's service time, and the group's count of starvation stays zero.
//! Memory use is that of smb-rs: at least the bytes of every request in flight.
//!
//! smb-rs signs everything that it does not encrypt, so `--sign off` is refused. Its
//! tasks are spawned with `tokio::spawn` and need `Send`, but run on the worker's
//! thread. It loses the credits of interim responses. A connection therefore gets a
//! reserve of credits beyond its window. On a server that often answers late the
//! connection can still run dry; its client then drops out with that reason.

mod calls;
mod link;
pub(crate) mod mix;
pub(crate) mod replay;
mod translate;
mod transport;

use std::future::ready;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use smb::{Resource, Tree};
use smbench_model::Nanos;
use smbench_protocol::NtStatus;
use tokio::time::timeout;

use self::link::Link;
pub(crate) use self::link::facts;
use self::translate::status_in;
use crate::drivers::driver::{
    Answer, Busy, Call, Connector, Driver, Extent, Opened, Scratch, Sink,
};
use crate::drivers::dropped::Dropped;
use crate::drivers::site::Site;
use crate::machine::clock;
use crate::smb::session::{LOGOFF_LIMIT, SessionError};

/// A call in progress in smb-rs.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Done, Dropped>>>>;

/// A call that has been answered.
pub(crate) struct Done {
    slot: u32,
    status: NtStatus,
    moved: u32,
    /// Buffer of a READ, filled up to `moved`.
    buffer: Option<Vec<u8>>,
    made: Made,
    /// Number of messages sent for it.
    messages: u64,
}

/// The object that a call opened, for later calls.
#[derive(Default)]
pub(crate) enum Made {
    #[default]
    Nothing,
    Resource(Resource),
    Tree(Tree),
}

/// Makes the calls of one source's operations, and keeps what they open.
pub(crate) trait Caller: Sized + 'static {
    /// Makes the caller of a group of clients.
    fn new(site: &Site) -> Result<Self, SessionError>;

    /// Creates on the share what a client needs, before its session is set up.
    async fn prepare(&self, _site: &Site, _client: u32) -> Result<(), SessionError> {
        Ok(())
    }

    /// Opens in a client's session what it uses during the load point.
    async fn open(
        &mut self,
        site: &Site,
        client: u32,
        link: &Arc<Link>,
    ) -> Result<(), SessionError>;

    /// Fails if a call waits for another.
    fn check(&self, _: &Call) -> Result<(), Busy> {
        Ok(())
    }

    /// Begins a call. `buffers` has buffers for READs. `data` appends the bytes of a
    /// WRITE.
    fn begin(
        &mut self,
        call: &Call,
        buffers: &mut Vec<Vec<u8>>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Running;

    /// Keeps what the call of a slot has opened.
    fn keep(&mut self, slot: u32, made: Made);

    /// Closes what a member has open.
    async fn close(&self, member: usize) -> smb::Result<()>;
}

/// The sessions of a group, each on a connection of its own.
pub(crate) struct SmbRs<C> {
    caller: C,
    /// Session of each member.
    links: Box<[Arc<Link>]>,
    running: FuturesUnordered<Running>,
    /// Calls that have been answered but not reported yet.
    done: Vec<Done>,
    /// Number of messages sent during set-up, plus those of the calls answered since.
    accounted: u64,
    /// The reason why no further answer will arrive; reported after `done`.
    failed: Option<Dropped>,
    /// Buffers of READs that have been reported, to be used again.
    spare: Vec<Vec<u8>>,
}

/// Sets up the sessions of a run's groups. The second value makes the caller of a
/// group.
#[derive(Clone)]
pub(crate) struct SmbRsConnect<F>(pub(crate) Arc<Site>, pub(crate) F);

impl<F, C> Connector for SmbRsConnect<F>
where
    F: Fn(&Site) -> Result<C, SessionError> + Clone + Send + 'static,
    C: Caller,
{
    type Driver = SmbRs<C>;

    async fn open(&self, clients: &[u32]) -> Result<Opened<SmbRs<C>>, SessionError> {
        let Self(site, caller) = self;
        let mut caller = caller(site)?;
        let mut links = Vec::with_capacity(clients.len());
        let mut session_setup = Vec::with_capacity(clients.len());
        for &client in clients {
            let prepared = caller.prepare(site, client).await;
            prepared.map_err(SessionError::of_own_file)?;
            let begin = clock::now();
            let link = Arc::new(Link::open(&site.endpoint.of_connection(client)).await?);
            session_setup.push(clock::now().since(begin));
            let opened = caller.open(site, client, &link).await;
            opened.map_err(SessionError::of_own_file)?;
            links.push(link);
        }
        let driver = SmbRs {
            caller,
            accounted: links.iter().map(|link| link.line.sent()).sum(),
            links: links.into_boxed_slice(),
            running: FuturesUnordered::new(),
            done: Vec::new(),
            failed: None,
            spare: Vec::new(),
        };
        let connections = clients.len() as u32;
        Ok(Opened::new(driver, connections, session_setup))
    }
}

impl<C: Caller> Driver for SmbRs<C> {
    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        self.caller.check(call)?;
        // It is sent when it is polled, so that there is nothing to flush.
        let running = self.caller.begin(call, &mut self.spare, data);
        self.running.push(running);
        Ok(())
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        for link in &self.links {
            link.line.wake_when_lost(context.waker());
        }
        while self.failed.is_none()
            && let Poll::Ready(Some(outcome)) = self.running.poll_next_unpin(context)
        {
            match outcome {
                Ok(done) => {
                    self.accounted += done.messages;
                    self.done.push(done);
                }
                Err(failed) => self.failed = Some(failed),
            }
        }
        if !self.done.is_empty() {
            return Poll::Ready(Ok(self.done.len()));
        }
        // If a connection was lost, that caused the other failures.
        let mut lost = self.links.iter().filter_map(|link| link.line.lost());
        match lost.next().or_else(|| self.failed.clone()) {
            Some(reason) => Poll::Ready(Err(reason)),
            None => Poll::Pending,
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        for mut done in self.done.drain(..) {
            self.caller.keep(done.slot, mem::take(&mut done.made));
            let filled = done.buffer.as_deref();
            sink.answer(&Answer {
                slot: done.slot,
                extent: Extent::Final,
                status: done.status,
                moved: done.moved,
                data: filled.and_then(|buffer| buffer.get(..done.moved as usize)),
            })?;
            self.spare.extend(done.buffer.take());
        }
        Ok(())
    }

    fn why_overdue(&self) -> Option<Dropped> {
        let sent: u64 = self.links.iter().map(|link| link.line.sent()).sum();
        (sent == self.accounted).then_some(Dropped::ClientCredits)
    }

    async fn close(self) {
        // Operations still in progress after an interrupt are dropped.
        drop(self.running);
        let log_off = async {
            for (member, link) in self.links.iter().enumerate() {
                if self.caller.close(member).await.is_err() {
                    return;
                }
                link.log_off().await;
            }
        };
        // If the server does not answer, closing the sockets is enough.
        let _ = timeout(LOGOFF_LIMIT, log_off).await;
    }
}

/// Makes a panic of smb-rs drop the clients instead of the run. smb-rs panics on
/// some unexpected answers, such as a READ with too many bytes.
fn guarded(call: impl Future<Output = Result<Done, Dropped>> + 'static) -> Running {
    Box::pin(AssertUnwindSafe(call).catch_unwind().map(|outcome| {
        outcome.unwrap_or_else(|_| {
            let reason = "it could not cope with an answer of the server";
            Err(Dropped::Client(reason.to_owned()))
        })
    }))
}

/// Converts smb-rs's result of an operation into an answer.
fn ended(
    slot: u32,
    outcome: std::io::Result<usize>,
    buffer: Option<Vec<u8>>,
) -> Result<Done, Dropped> {
    let (status, moved) = match outcome {
        Ok(moved) => (NtStatus::SUCCESS, moved as u32),
        Err(error) => match status_in(&error.to_string()) {
            Some(status) => (status, 0),
            None => return Err(Dropped::Client(error.to_string())),
        },
    };
    Ok(Done {
        slot,
        status,
        moved,
        buffer,
        made: Made::Nothing,
        messages: 1,
    })
}

/// Answers a call for which smb-rs sends nothing.
fn unsent(slot: u32, status: NtStatus) -> Running {
    Box::pin(ready(Ok(Done {
        slot,
        status,
        moved: 0,
        buffer: None,
        made: Made::Nothing,
        messages: 0,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_smb_rs_costs_only_its_clients() {
        let outcome = guarded(async { panic!("range end index 9 out of range") }).await;
        let Err(Dropped::Client(reason)) = outcome else {
            panic!("the clients of the call are to be dropped");
        };
        assert!(reason.contains("could not cope"), "{reason}");
    }

    #[tokio::test]
    async fn a_call_that_sends_nothing_is_not_accounted_as_a_message() {
        let done = unsent(3, NtStatus::FILE_CLOSED).await.ok().unwrap();
        assert_eq!((done.slot, done.status), (3, NtStatus::FILE_CLOSED));
        assert_eq!((done.moved, done.messages), (0, 0));
    }

    #[test]
    fn outcomes_become_answers_where_they_are_some() {
        let answered = |outcome| ended(3, outcome, None).map(|done| (done.status, done.moved));
        assert!(matches!(answered(Ok(512)), Ok((NtStatus::SUCCESS, 512))));
        let refused = smb::Error::UnexpectedMessageStatus(NtStatus::DISK_FULL.0).to_string();
        let refused = std::io::Error::other(refused);
        assert!(matches!(
            answered(Err(refused)),
            Ok((NtStatus::DISK_FULL, 0))
        ));
        let broken = std::io::Error::other(smb::Error::ConnectionStopped.to_string());
        assert!(matches!(answered(Err(broken)), Err(Dropped::Client(_))));
    }
}
