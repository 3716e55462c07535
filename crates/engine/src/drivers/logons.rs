//! The driver of complete log-ons: each operation makes a connection and a session of its
//! own, and ends them again.
//!
//! A client has no session of its own before. The sockets are closed with a reset, so that
//! a high rate does not use up the local ports. An ordinary close keeps the port for a
//! minute (`TIME_WAIT`).

use std::io::ErrorKind;
use std::mem;
use std::panic::resume_unwind;
use std::task::{Context, Poll};
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::SetupPhase;
use smbench_protocol::NtStatus;
use socket2::SockRef;
use tokio::task::JoinSet;

use crate::drivers::driver::{
    Answer, Busy, Call, Connector, Driver, Extent, Opened, Scratch, Sink,
};
use crate::drivers::dropped::Dropped;
use crate::smb::session::{Endpoint, LOGOFF_LIMIT, SessionError, StepFailure};
use crate::smb::share::ShareSession;

/// Sets up clients that log on to this endpoint.
#[derive(Clone)]
pub(crate) struct LogonConnect(pub(crate) Endpoint);

/// The log-ons of a group of clients.
pub(crate) struct Logons {
    endpoint: Endpoint,
    /// Number of the next connection, which selects its local address.
    next: u32,
    running: JoinSet<(u32, LogonEnd)>,
    /// Sessions that stand, by slot.
    standing: Vec<Option<ShareSession>>,
    /// Calls that have ended but are not reported yet.
    done: Vec<(u32, LogonEnd)>,
}

/// The end of a call.
enum LogonEnd {
    LoggedOn(ShareSession),
    Refused(SessionError),
    LoggedOff,
}

impl Connector for LogonConnect {
    type Driver = Logons;

    async fn open(&self, clients: &[u32]) -> Result<Opened<Logons>, SessionError> {
        let driver = Logons {
            endpoint: self.0.clone(),
            next: clients.first().copied().unwrap_or(0),
            running: JoinSet::new(),
            standing: Vec::new(),
            done: Vec::new(),
        };
        Ok(Opened::new(driver, 0, Vec::new()))
    }
}

impl Driver for Logons {
    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let slot = call.slot;
        let place = slot as usize;
        if self.standing.len() <= place {
            self.standing.resize_with(place + 1, || None);
        }
        match call.operation.kind {
            OpKind::Session => {
                let endpoint = self.endpoint.of_connection(self.next).for_client(self.next);
                self.next = self.next.wrapping_add(1);
                self.running.spawn_local(async move {
                    // Boxed, because the future is large and tasks are moved.
                    match Box::pin(ShareSession::open(&endpoint)).await {
                        Ok(session) => (slot, LogonEnd::LoggedOn(session)),
                        Err(error) => (slot, LogonEnd::Refused(error)),
                    }
                });
            }
            _ => {
                let session = self.standing[place].take();
                self.running.spawn_local(async move {
                    if let Some(session) = session {
                        Box::pin(log_off(session)).await;
                    }
                    (slot, LogonEnd::LoggedOff)
                });
            }
        }
        Ok(())
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        while let Poll::Ready(Some(ended)) = self.running.poll_join_next(context) {
            // No task is cancelled while the driver is polled, so one that failed panicked.
            self.done
                .push(ended.unwrap_or_else(|error| resume_unwind(error.into_panic())));
        }
        match self.done.len() {
            0 => Poll::Pending,
            ended => Poll::Ready(Ok(ended)),
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        for (slot, ended) in mem::take(&mut self.done) {
            let status = match ended {
                LogonEnd::LoggedOn(session) => {
                    let took = session.steps().took();
                    sink.parts(slot, took.map(|(phase, took)| (part(phase), took)));
                    self.standing[slot as usize] = Some(session);
                    NtStatus::SUCCESS
                }
                LogonEnd::Refused(error) if error.is_of_this_machine() => {
                    return Err(Dropped::Other(error.to_string()));
                }
                LogonEnd::Refused(error) => status(&error),
                LogonEnd::LoggedOff => NtStatus::SUCCESS,
            };
            sink.answer(&Answer::bare(slot, Extent::Final, status))?;
        }
        Ok(())
    }

    async fn close(mut self) {
        // Operations still in progress after an interrupt are dropped.
        drop(mem::take(&mut self.running));
        let log_off_all = async {
            for session in self.standing.into_iter().flatten() {
                log_off(session).await;
            }
        };
        // If the server does not answer, closing the sockets is enough.
        let _ = tokio::time::timeout(LOGOFF_LIMIT, log_off_all).await;
    }
}

async fn log_off(session: ShareSession) {
    // If the system refuses, the port is only free later.
    let _ = session
        .stream()
        .and_then(|stream| SockRef::from(stream).set_linger(Some(Duration::ZERO)));
    session.log_off().await;
}

/// Returns the kind that the time of a phase is recorded under.
const fn part(phase: SetupPhase) -> OpKind {
    match phase {
        SetupPhase::Connect => OpKind::SessionConnect,
        SetupPhase::Negotiate => OpKind::SessionNegotiate,
        SetupPhase::LogOn => OpKind::SessionLogOn,
        SetupPhase::TreeConnect => OpKind::SessionTreeConnect,
    }
}

/// Returns the status of a failed log-on. Where the server gave none, it is the one that
/// Windows has for the event.
fn status(error: &SessionError) -> NtStatus {
    if let Some(status) = error.status() {
        return status;
    }
    match error {
        SessionError::ConnectTimeout { .. }
        | SessionError::Step {
            source: StepFailure::Timeout { .. },
            ..
        } => NtStatus::IO_TIMEOUT,
        SessionError::Connect { source, .. } if source.kind() == ErrorKind::ConnectionRefused => {
            NtStatus::CONNECTION_REFUSED
        }
        SessionError::Connect { .. }
        | SessionError::Step {
            source:
                StepFailure::Io(_)
                | StepFailure::NoSmb2
                | StepFailure::NoFurther
                | StepFailure::NoConnection,
            ..
        } => NtStatus::CONNECTION_DISCONNECTED,
        _ => NtStatus::UNSUCCESSFUL,
    }
}
