//! What carries operations out: the one seam between the worker loop and
//! whatever speaks to a server.
//!
//! The loop owns slots, time and the record; a driver owns sockets, sessions and
//! open files. Nothing here allocates per operation on behalf of a driver. The
//! public face of this is [`crate::driver`].

use std::task::{Context, Poll};

use smbench_protocol::NtStatus;

use crate::clock::Nanos;
use crate::plan::Caching;
use crate::run::operation::Dropped;
use crate::session::SessionError;
pub use crate::session::caching::Acknowledged;
use crate::stream::Operation;

/// Bytes taken from a socket at a time; whole 64 KiB answers fit several times.
const RECEIVE_LEN: usize = 256 * 1024;

/// Buffers of a worker thread, lent to one driver at a time: what is in them is
/// gone by the next call of [`Driver::flush`] or [`Driver::poll_receive`].
pub struct Scratch {
    /// To receive into, 256 KiB.
    pub input: Box<[u8]>,
    /// To encode into, empty. [`Driver::flush`] must leave it so: what its
    /// socket does not take at once is the driver's to keep.
    pub output: Vec<u8>,
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
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Comes back with the answer; unique among the group's calls in flight, and
    /// below its number of clients times the plan's `outstanding`.
    pub slot: u32,
    /// The client's index in the group.
    pub member: usize,
    /// What is to be done.
    pub operation: Operation,
}

/// The server's answer to a call, or a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// That of the call.
    pub slot: u32,
    /// Whether more is to come.
    pub extent: Extent,
    /// How it went. What is not [`NtStatus::SUCCESS`] is counted as a failure,
    /// and the client goes on, unless the status says that its session is gone.
    pub status: NtStatus,
    /// Bytes moved, where data was and that succeeded. Other than
    /// [`Operation::length`] is a failure.
    pub moved: u32,
    /// The `moved` bytes that a READ brought, where the driver keeps them; what
    /// the plan's [`Verify::ReadBack`](crate::plan::Verify) compares.
    pub data: Option<&'a [u8]>,
}

/// How much of an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
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
pub trait Sink {
    /// A call was answered, or a part of it.
    ///
    /// # Errors
    /// When the group cannot go on; to be handed on at once.
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
pub enum Busy {
    /// No credit is at hand for it. It is submitted again when something has
    /// been received; a group that waits for credits with nothing in flight is
    /// dropped, unless [`Driver::is_awaited`].
    Credits,
    /// Bytes of earlier calls must go out first. It is submitted again when
    /// [`Driver::has_room`].
    Room,
    /// Its session has expired, and is being authenticated again.
    Session,
}

/// A driver whose sessions stand and whose files are open.
#[derive(Clone, Debug)]
pub struct Opened<D> {
    /// Ready for calls.
    pub driver: D,
    /// How long each session took to connect and log on, and nothing that was opened
    /// in it then.
    pub session_setup: Vec<Nanos>,
    /// What the files held open were granted, where caching was asked for.
    pub granted: Vec<Caching>,
    /// Notifications of breaks so far.
    pub breaks: u64,
    /// How long agreeing to them took, and what came of it.
    pub acknowledged: Vec<(Nanos, Acknowledged)>,
    /// TCP connections made for them.
    pub connections: u32,
}

impl<D> Opened<D> {
    /// A driver with so many connections, whose sessions took so long to set up,
    /// and that caches nothing.
    #[must_use]
    pub const fn new(driver: D, connections: u32, session_setup: Vec<Nanos>) -> Self {
        Self {
            driver,
            session_setup,
            granted: Vec::new(),
            breaks: 0,
            acknowledged: Vec::new(),
            connections,
        }
    }

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

/// Sets up drivers. Each worker thread has a clone.
pub trait Connector: Clone + Send + 'static {
    /// What it sets up.
    type Driver: Driver;

    /// Files, sockets among them, that the clients of one group have open. The
    /// limit of this process on open files is raised where that makes too many,
    /// and left alone where it does not; a run that needs more than it can have is
    /// refused. None, by default.
    fn descriptors_per_group(&self) -> u32 {
        0
    }

    /// Sets up what the clients with these numbers need, within the worker's
    /// tokio runtime, which has one thread. It is called once for each group of
    /// each load point, by `worker`s side by side and for up to 32 groups at a
    /// time, and takes no longer than [`Limits::setup`](crate::plan::Limits).
    ///
    /// # Errors
    /// Why it cannot be; the load point does not take place then.
    fn open(
        &self,
        clients: &[u32],
    ) -> impl Future<Output = Result<Opened<Self::Driver>, SessionError>>;
}

/// Carries out the operations of a group of clients: those that share a
/// connection, which most often is one.
///
/// The loop calls, in this order and over and over: [`has_room`] and [`submit`]
/// for each call that is due, [`flush`] once, [`poll_receive`], and with what it
/// brought [`take_answers`]; where nothing had come, it goes on from
/// [`poll_receive`]. All of these run on one thread, within a task of
/// tokio's, and must not block. None of it is between the two instants of a
/// latency but what the driver itself does: an operation is sent at the instant
/// before [`submit`], and done at the instant after [`poll_receive`].
///
/// [`has_room`]: Driver::has_room
/// [`submit`]: Driver::submit
/// [`flush`]: Driver::flush
/// [`poll_receive`]: Driver::poll_receive
/// [`take_answers`]: Driver::take_answers
pub trait Driver: Sized + 'static {
    /// Whether a call can be taken before the next flush; always, by default.
    fn has_room(&self, _scratch: &Scratch) -> bool {
        true
    }

    /// Takes a call; its answer comes later, in [`Driver::take_answers`], also
    /// where it is known at once. `data` appends the [`Operation::length`] bytes of
    /// a WRITE and is called only when the call is sure to go out.
    ///
    /// # Errors
    /// Why it cannot be taken now.
    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy>;

    /// Hands on what was submitted, as far as the other side takes it; the waker
    /// in `context` is woken when it takes more. Nothing is left to do by default.
    ///
    /// # Errors
    /// Why these clients cannot go on.
    fn flush(&mut self, _context: &mut Context<'_>, _scratch: &mut Scratch) -> Result<(), Dropped> {
        Ok(())
    }

    /// Waits for something to come in; what it is, is for
    /// [`Driver::take_answers`] to know. `Pending` leaves the waker in `context`
    /// with whatever comes next. The loop bounds the wait: an operation that is
    /// not answered within [`Limits::operation`](crate::plan::Limits) drops its
    /// group.
    ///
    /// # Errors
    /// Why these clients cannot go on.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>>;

    /// Tells `sink` of everything complete in what was received, at `now`, and
    /// submits what the server waits for. `received` is what
    /// [`Driver::poll_receive`] was ready with.
    ///
    /// # Errors
    /// Why these clients cannot go on.
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

    /// Takes leave of the server, for 5 s at most; by dropping the driver, by
    /// default.
    fn close(self) -> impl Future<Output = ()> {
        async { drop(self) }
    }
}
