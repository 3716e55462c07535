//! What carries operations out: the one seam between the worker loop and
//! whatever speaks to a server.
//!
//! A driver serves one group of clients that share what it is made of, such as
//! a connection. The loop owns slots, time and the record; a driver owns
//! sockets, sessions and open files. Nothing here allocates per operation on
//! behalf of the native driver.

use std::task::{Context, Poll};

use smbench_protocol::NtStatus;

use crate::clock::Nanos;
use crate::plan::Caching;
use crate::run::operation::Dropped;
use crate::run::worker::Assignment;
use crate::session::SessionError;
pub(super) use crate::session::caching::Acknowledged;
use crate::stream::Operation;

/// Bytes taken from a socket at a time; whole 64 KiB answers fit several times.
const RECEIVE_LEN: usize = 256 * 1024;

/// Buffers of a worker, lent to one driver at a time, for one poll.
pub(super) struct Scratch {
    pub(super) input: Box<[u8]>,
    pub(super) output: Vec<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            input: vec![0; RECEIVE_LEN].into_boxed_slice(),
            output: Vec::with_capacity(RECEIVE_LEN),
        }
    }
}

/// An operation on its way to a driver.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// Comes back with the answer; unique among the group's calls in flight.
    pub(super) slot: u32,
    /// The client's index in the group.
    pub(super) member: usize,
    pub(super) operation: Operation,
}

/// The server's answer to a call, or a part of it.
pub(super) struct Answer<'a> {
    pub(super) slot: u32,
    pub(super) extent: Extent,
    pub(super) status: NtStatus,
    /// Bytes moved, where data was and that succeeded.
    pub(super) moved: u32,
    /// What a READ brought, where the driver keeps it.
    pub(super) data: Option<&'a [u8]>,
}

/// How much of an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// None yet: the server has taken the call up (STATUS_PENDING).
    Interim,
    /// A part, others follow.
    Part,
    /// All of it, or the last part.
    Final,
    /// That the session has expired, and nothing else: the server has done
    /// nothing. The driver authenticates again, and the call is to be submitted
    /// once more.
    Expired,
}

/// Where a driver tells what the server said.
pub(super) trait Sink {
    /// A call was answered, or a part of it.
    fn answer(&mut self, answer: &Answer<'_>) -> Result<(), Dropped>;
    /// An open was granted this, having asked for caching.
    fn granted(&mut self, caching: Caching);
    /// The server takes caching back.
    fn broken(&mut self);
    /// What was sent to agree to that has been answered, after so long.
    fn acknowledged(&mut self, took: Nanos, outcome: Acknowledged);
    /// A session that was found expired at `since` is as good as new.
    fn reauthenticated(&mut self, since: Nanos);
}

/// Why a call was not taken; nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    /// No credit is at hand for it.
    Credits,
    /// Bytes of earlier calls must go out first.
    Room,
    /// Its session has expired, and is being authenticated again.
    Session,
}

/// A driver whose sessions stand and whose files are open.
pub(super) struct Opened<D> {
    pub(super) driver: D,
    /// How long each session took to set up.
    pub(super) session_setup: Vec<Nanos>,
    /// What the files held open were granted, where caching was asked for.
    pub(super) granted: Vec<Caching>,
    /// Notifications of breaks so far.
    pub(super) breaks: u64,
    /// How long agreeing to them took, and what came of it.
    pub(super) acknowledged: Vec<(Nanos, Acknowledged)>,
    /// TCP connections made for them.
    pub(super) connections: u32,
}

impl<D> Opened<D> {
    /// The same with what `make` makes of the driver.
    pub(super) fn map<T>(self, make: impl FnOnce(D) -> T) -> Opened<T> {
        Opened {
            driver: make(self.driver),
            session_setup: self.session_setup,
            granted: self.granted,
            breaks: self.breaks,
            acknowledged: self.acknowledged,
            connections: self.connections,
        }
    }
}

/// Carries out the operations of a group of clients.
pub(super) trait Driver: Sized + 'static {
    /// Sets up what the clients with these numbers need.
    async fn open(worker: &Assignment, clients: &[u32]) -> Result<Opened<Self>, SessionError>;

    /// Whether a call can be taken before the next flush.
    fn has_room(&self, scratch: &Scratch) -> bool;

    /// Takes a call; its answer comes later. `fill` makes the data of a WRITE
    /// and is called only when the call is sure to go out.
    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy>;

    /// Hands on what was submitted, as far as the other side takes it.
    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> Result<(), Dropped>;

    /// Waits for something to come in; what it is, is for
    /// [`Driver::take_answers`] to know.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>>;

    /// Tells `sink` of everything complete in what was received, at `now`, and
    /// submits what the server waits for.
    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped>;

    /// Whether the server owes an answer, be it to something that no call asked
    /// for.
    fn is_awaited(&self) -> bool {
        false
    }

    /// Why an answer is overdue, where the server is not to blame.
    fn why_overdue(&self) -> Option<Dropped> {
        None
    }

    /// Takes leave of the server; bounded in time.
    async fn close(self);
}
