//! Drivers carry out operations. They are the only interface between the worker
//! loop and the code that talks to a server.
//!
//! The loop owns slots, time and the record. A driver owns sockets, sessions and
//! open files. The loop allocates nothing per operation for a driver.
//! [`crate::driver`] exports these types to embedding programs.

use std::task::{Context, Poll};

use smbench_model::Nanos;
use smbench_model::bounds::OUTSTANDING_MAX;
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::record::Reclaimed;
use smbench_model::sessions::{Caching, SESSIONS_PER_CONNECTION_MAX};
use smbench_protocol::NtStatus;
use smbench_protocol::command::WireName;

pub use crate::drivers::answer::{Answer, Extent};
pub use crate::drivers::away::ChurnEvent;
pub use crate::drivers::busy::Busy;
pub(crate) use crate::drivers::channel_loss::{
    BoundChannel, ChannelMember, ChannelNews, ChannelSetup, LostChannel, OldestRequest,
    OldestRequests, RepeatedAs,
};
use crate::drivers::dropped::{Dropped, LostLink};
pub(crate) use crate::drivers::load_sockets::LoadSockets;
pub use crate::drivers::opened::Opened;
use crate::drivers::remains::{Reopening, SessionRemains};
use crate::smb::session::SessionError;
use crate::smb::session::caching::Acknowledged;

/// Bytes received from a socket at a time; room for several answers of 64 KiB.
const RECEIVE_LEN: usize = 256 * 1024;

/// Buffers of a worker, lent to one driver at a time. Their contents are
/// lost by the next call of [`Driver::flush`] or [`Driver::poll_receive`].
pub struct Scratch {
    /// Buffer to receive into, 256 KiB.
    pub input: Box<[u8]>,
    /// Buffer to encode into, empty at first. [`Driver::flush`] must leave it
    /// empty: the driver itself must keep the bytes that its socket did not take.
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

/// Slots of a group have lower numbers: those of 256 sessions with 1024 operations each.
pub(crate) const SLOTS_MAX: u32 = SESSIONS_PER_CONNECTION_MAX * OUTSTANDING_MAX;

/// An operation submitted to a driver, or a piece of an operation that is split. The loop
/// splits operations for the engine's own drivers only. The slot of a piece is above
/// that of all others.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Identifies the call in its answer. It is unique among the group's calls in
    /// flight, and lower than the number of clients times the plan's `outstanding`.
    pub slot: u32,
    /// The client's index in the group.
    pub member: usize,
    /// The operation to carry out.
    pub operation: Operation,
}

/// Returns the slot of a call's operation.
pub(crate) const fn slot_of(slot: u32) -> usize {
    (slot % SLOTS_MAX) as usize
}

/// What became of a listing that a client keeps under a lease of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingEvent {
    /// It is kept.
    Kept,
    /// It is kept no more.
    Ended,
    /// It has answered an operation, although a change is done that it does not show.
    Stale,
    /// The server breaks its lease, this long after the first change by this run was sent.
    Broken(Nanos),
    /// A watch has ended with a notification, this long after the first change by this run was
    /// sent; `None` if that is not sure.
    Noticed(Option<Nanos>),
    /// Its directory was closed outside of an operation, in this time.
    Closed(Nanos),
}

/// Receives the answers and events that a driver reports.
pub trait Sink {
    /// Reports an answer to a call, or a part of it.
    ///
    /// # Errors
    /// If the group cannot continue. The driver must return the error at once.
    fn answer(&mut self, answer: &Answer<'_>) -> Result<(), Dropped>;
    /// Reports an answer like [`Self::answer`], if a lost connection of the clients was last back
    /// at this instant.
    ///
    /// # Errors
    /// As for [`Self::answer`].
    #[doc(hidden)]
    fn answer_after_loss(&mut self, answer: &Answer<'_>, _back_at: Nanos) -> Result<(), Dropped> {
        self.answer(answer)
    }
    /// Reports the caching that an open was granted. Called only for opens that
    /// requested caching.
    fn granted(&mut self, caching: Caching);
    /// Reports that the server breaks an oplock or a lease.
    fn broken(&mut self);
    /// Reports what became of a listing that is kept under a lease.
    fn listing(&mut self, event: ListingEvent);
    /// Reports a directory that a walk has to leave out, because the server refuses it.
    fn refused(&mut self, directory: &WireName, status: NtStatus);
    /// Reports the answer to the acknowledgement of a break, and how long it took.
    fn acknowledged(&mut self, took: Nanos, outcome: Acknowledged);
    /// Reports that a session found expired at `since` is authenticated again.
    fn reauthenticated(&mut self, since: Nanos);
    /// Reports that a connection was lost, and that the driver is replacing it. Must come
    /// before the answers of extent [`Extent::Lost`]. `since` is the loss to which it belongs:
    /// an earlier one, if no client had an answer after that. `channels` is the number of
    /// [`Self::channel_lost`] since then, which belong to this loss.
    fn link_lost(&mut self, lost: &LostLink, since: Nanos, channels: u64);
    /// Reports the loss of one of several connections; the clients use the others. Must come
    /// before the answers of extent [`Extent::Repeatable`]. `since` is as for
    /// [`Self::link_lost`].
    fn channel_lost(&mut self, lost: &LostLink, since: Nanos);
    /// Reports that another connection has taken the place of one of [`Self::channel_lost`].
    fn channel_back(&mut self);
    /// Reports how many further clients cannot send because of the loss at `since`.
    fn cut_off(&mut self, since: Nanos, clients: u32);
    /// Reports that the clients have new sessions after a loss, and what became of their durable
    /// handles. The opens of actions under way are gone, so these actions end.
    fn link_back(&mut self, handles: &Reclaimed);
    /// Reports the first answer to a client after a loss at `lost_at`, and its blackout.
    fn came_back(&mut self, lost_at: Nanos, after: Nanos);
    /// Reports a client that has no answer since a loss at `lost_at`, and its blackout so far. Its
    /// load has ended.
    fn stayed_away(&mut self, lost_at: Nanos, after: Nanos);
    /// Reports that the clients have left, or are back. They have nothing in flight.
    fn churned(&mut self, event: ChurnEvent<'_>);
    /// Reports how long each part of the operation in a slot took, in their order. Parts are in
    /// no sum. Must come before the answer.
    fn parts(&mut self, slot: u32, parts: impl Iterator<Item = (OpKind, Nanos)>);
}

/// Sets up drivers. Each worker has a clone.
pub trait Connector: Clone + Send + 'static {
    /// The driver that it sets up.
    type Driver: Driver;

    /// Returns the number of files, including sockets, that the clients of one
    /// group have open; 0 by default. The engine raises this process's limit on
    /// open files if that is needed. A run that needs more than the hard limit is
    /// refused.
    fn descriptors_per_group(&self) -> u32 {
        0
    }

    /// Sets up a driver for the clients with these numbers, within the worker's
    /// tokio runtime, which has one thread. Called once for each group of each load
    /// point. All workers call it in parallel, each for up to 32 groups at a time.
    /// A call that takes longer than [`Limits::setup`](smbench_model::limits::Limits) fails.
    ///
    /// # Errors
    /// The reason why the set-up failed; the load point is then not run.
    fn open(
        &self,
        clients: &[u32],
    ) -> impl Future<Output = Result<Opened<Self::Driver>, SessionError>>;

    /// Returns the number of addresses of which each attempt to reopen tries one.
    #[doc(hidden)]
    fn nodes(&self) -> usize {
        1
    }

    /// Sets up a driver for clients that have lost their connection, like [`Self::open`].
    #[doc(hidden)]
    fn reopen(
        &self,
        clients: &[u32],
        _again: &Reopening,
    ) -> impl Future<Output = Result<Opened<Self::Driver>, SessionError>> {
        self.open(clients)
    }
}

/// Carries out the operations of a group of clients. A group is the clients that
/// share a connection; most often it has one client.
///
/// The loop repeats these calls in this order:
/// 1. [`has_room`] and [`submit`] for each call that is due.
/// 2. [`flush`] once.
/// 3. [`poll_receive`], and [`take_answers`] with its result. If nothing had
///    arrived, the loop continues at [`poll_receive`] later.
///
/// All of these run on one thread, within a runtime of tokio, and must not block. On
/// the client's side, only the driver's own work is part of a latency: an operation
/// is sent at the instant before [`submit`], and done at the instant after
/// [`poll_receive`].
///
/// [`has_room`]: Driver::has_room
/// [`submit`]: Driver::submit
/// [`flush`]: Driver::flush
/// [`poll_receive`]: Driver::poll_receive
/// [`take_answers`]: Driver::take_answers
pub trait Driver: Sized + 'static {
    /// Moves the sockets of the driver to the place where the load waits. Only the engine's
    /// own drivers have sockets that can be there.
    ///
    /// # Errors
    /// The reason why these clients cannot begin.
    #[doc(hidden)]
    fn begin_load(&mut self, _sockets: &LoadSockets) -> Result<(), Dropped> {
        Ok(())
    }

    /// Learns that operations after the load follow, for which no lost connection is replaced.
    #[doc(hidden)]
    fn end_load(&mut self) {}

    /// Reports the clients that are not back from a blackout when their load ends.
    #[doc(hidden)]
    fn end_blackouts(&mut self, _now: Nanos, _sink: &mut impl Sink) {}

    /// Learns when the load of all clients begins, and how many they are.
    #[doc(hidden)]
    fn load_begins(&mut self, _begin: Nanos, _clients: u32) {}

    /// Returns whether the clients begin nothing now, because they are leaving or away.
    #[doc(hidden)]
    #[inline]
    fn leaves(&self, _now: Nanos) -> bool {
        false
    }

    /// Returns the instant at which the clients leave next, if that is known.
    #[doc(hidden)]
    #[inline]
    fn leaves_at(&self) -> Option<Nanos> {
        None
    }

    /// Lets the clients leave, which have nothing in flight. Does nothing if they are away.
    #[doc(hidden)]
    fn leave(&mut self) {}

    /// Resets the connections, as an event asks for, and returns nothing to the server.
    #[doc(hidden)]
    fn reset(&mut self) {}

    /// Looks for one of several connections that is interrupted. `oldest` is what the driver saw
    /// the last time.
    #[doc(hidden)]
    fn interrupted(&mut self, _oldest: &mut OldestRequests) -> Option<Dropped> {
        None
    }

    /// Goes on without one of several connections. Returns it, with the calls that were in
    /// flight on it, which are sent again; `None` if the sessions are lost with it.
    #[doc(hidden)]
    fn lose_connection(
        &mut self,
        _lost: &LostLink,
        _repeated: RepeatedAs<'_>,
    ) -> Option<LostChannel> {
        None
    }

    /// Returns what another connection in the place of a lost one needs; `None` if the sessions
    /// can have no further one.
    #[doc(hidden)]
    fn channel_setup(&mut self, _lost: &LostChannel) -> Option<ChannelSetup> {
        None
    }

    /// Uses another connection in the place of a lost one from here on.
    #[doc(hidden)]
    fn add_connection(
        &mut self,
        _added: BoundChannel,
        _sockets: &LoadSockets,
    ) -> Result<ChannelNews, Dropped> {
        Ok(ChannelNews::default())
    }

    /// Returns what new sessions need of the old ones, whose connection is lost.
    #[doc(hidden)]
    fn remains(&mut self) -> SessionRemains {
        SessionRemains::default()
    }

    /// Returns whether a call can be accepted before the next flush; `true` by default.
    fn has_room(&self, _scratch: &Scratch) -> bool {
        true
    }

    /// Accepts a call. The answer is reported later, in [`Driver::take_answers`],
    /// even if it is known at once. `data` appends the [`Operation::length`] bytes
    /// of a WRITE. Call it only when the call is certain to be sent.
    ///
    /// # Errors
    /// The reason why the call cannot be accepted now.
    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy>;

    /// Sends the submitted calls, as far as the other side takes them. Must
    /// register the waker of `context` to be woken when there is more room. Does
    /// nothing by default.
    ///
    /// # Errors
    /// The reason why these clients cannot continue.
    fn flush(&mut self, _context: &mut Context<'_>, _scratch: &mut Scratch) -> Result<(), Dropped> {
        Ok(())
    }

    /// Waits for data and returns a value that only [`Driver::take_answers`]
    /// interprets. When it returns `Pending`, it must register the waker of
    /// `context` for the next data. The loop bounds the wait: an operation not
    /// answered within [`Limits::operation`](smbench_model::limits::Limits) drops its group.
    ///
    /// # Errors
    /// The reason why these clients cannot continue.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>>;

    /// Reports everything that is complete in the received data to `sink`, and
    /// submits the requests that the server waits for. `received` is the result of
    /// [`Driver::poll_receive`]; `now` is the instant of the receipt.
    ///
    /// # Errors
    /// The reason why these clients cannot continue.
    fn take_answers(
        &mut self,
        received: usize,
        now: Nanos,
        scratch: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped>;

    /// Returns whether an answer is outstanding, also one to a request that no call asked for.
    fn is_awaited(&self) -> bool {
        false
    }

    /// Returns whether the driver is replacing a lost connection. It limits that wait, and
    /// wakes the group when it ends.
    fn holds_group(&self) -> bool {
        false
    }

    /// Returns the reason why an answer is overdue, if the server is not at fault.
    fn why_overdue(&self) -> Option<Dropped> {
        None
    }

    /// Learns why an answer is overdue. A driver that cannot replace its connection returns
    /// this reason.
    #[doc(hidden)]
    fn overdue(&mut self, why: Dropped, _scratch: &mut Scratch) -> Result<(), Dropped> {
        Err(why)
    }

    /// Logs off from the server, within 5 s. By default, drops the driver.
    fn close(self) -> impl Future<Output = ()> {
        async { drop(self) }
    }
}
