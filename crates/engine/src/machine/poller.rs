//! An epoll set for the sockets and timers of a thread's load.
//!
//! At each wake-up, tokio looks at its timers, signals and queues, and touches the state of a
//! socket and of a task several times. Caches are cold then, so this code costs more than
//! the answer itself. Here an event leads straight to the task that owns the socket.
//! [`Tasks`](crate::machine::tasks::Tasks) waits for events and polls that task.

pub(crate) mod polled;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hint;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use smbench_model::Nanos;

use crate::machine::timer::KernelTimer;

/// Events fetched at a time.
pub(crate) const EVENTS: usize = 64;
/// Time between two turns of tokio's, in which its timers and sockets are served. The limit of
/// an operation may be noticed as late as that. Each turn costs a wake-up.
const TOKIO_TURN: Nanos = Nanos(20_000_000);
/// Limit for a wait, in case the timer for tokio's turn fails. A wait with a short limit is
/// dear, because the kernel then sets the machine's timer: with 2 ms, a read took an eighth
/// more CPU time.
const WAIT_MAX: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Events that belong to no file of a task.
const BELL: u64 = u64::MAX;
const TURN: u64 = u64::MAX - 1;

/// The number of no task.
const NO_TASK: u32 = u32::MAX;

/// An epoll set, and what its events have said.
#[derive(Debug)]
pub(crate) struct Poller {
    set: OwnedFd,
    /// An eventfd with which other threads end a wait.
    bell: Arc<OwnedFd>,
    /// Expires when tokio has the next turn.
    turn: KernelTimer,
    /// The files of tasks, by the number of their events.
    files: RefCell<Vec<Option<Rc<Readiness>>>>,
    /// Numbers without a file.
    free: RefCell<Vec<usize>>,
    /// Number of sockets among the files.
    sockets: Cell<usize>,
    /// The task that is being polled.
    polled: Cell<u32>,
    /// Number of receives since this poll began.
    receives: Cell<u32>,
}

/// What is known of a file.
#[derive(Debug)]
struct Readiness {
    /// The task to poll at the next event, or [`NO_TASK`].
    task: Cell<u32>,
    is_readable: Cell<bool>,
    is_writable: Cell<bool>,
    /// Whether the peer has closed, or the connection broke.
    is_ended: Cell<bool>,
}

/// How long to wait for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    UntilEvent,
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Events, or nothing.
    Events,
    /// It is tokio's turn. There may be events as well.
    TokioTurn,
}

impl Poller {
    /// Makes an empty set.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        let poller = Self {
            set: epoll::create(CreateFlags::CLOEXEC)?,
            bell: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
            turn: KernelTimer::new()?,
            files: RefCell::default(),
            free: RefCell::default(),
            sockets: Cell::new(0),
            polled: Cell::new(NO_TASK),
            receives: Cell::new(0),
        };
        poller.add(&*poller.bell, BELL)?;
        poller.add(&poller.turn, TURN)?;
        Ok(Rc::new(poller))
    }

    /// Adds a file, whose events report changes only (edge-triggered, epoll(7)).
    fn add(&self, file: impl AsFd, number: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.set,
            file,
            EventData::new_u64(number),
            flags,
        )?)
    }

    fn count_sockets(&self, change: impl FnOnce(usize) -> usize) {
        self.sockets.set(change(self.sockets.get()));
    }

    /// Returns whether the set has a socket.
    pub(crate) fn has_sockets(&self) -> bool {
        self.sockets.get() > 0
    }

    /// Returns the eventfd that ends a wait once it is written to.
    pub(crate) fn bell(&self) -> &Arc<OwnedFd> {
        &self.bell
    }

    /// Sets the timer for tokio's next turn.
    pub(crate) fn time_tokio_turn(&self) -> io::Result<()> {
        self.turn.set(TOKIO_TURN)
    }

    /// Waits for events, and adds the tasks whose files are ready to `due`. Fetches as many
    /// events as `events` has capacity for.
    pub(crate) fn wait(
        &self,
        patience: Patience,
        events: &mut Vec<Event>,
        due: &mut VecDeque<u32>,
    ) -> io::Result<Waited> {
        events.clear();
        let limit = match patience {
            Patience::None => &NO_WAIT,
            Patience::UntilEvent => &WAIT_MAX,
        };
        match epoll::wait(&self.set, spare_capacity(events), Some(limit)) {
            // A signal may be tokio's.
            Err(Errno::INTR) => return Ok(Waited::TokioTurn),
            Err(error) => return Err(error.into()),
            Ok(0) if patience == Patience::UntilEvent => return Ok(Waited::TokioTurn),
            Ok(_) => {}
        }
        let mut waited = Waited::Events;
        let files = self.files.borrow();
        for event in &*events {
            // Copied, because the structure is packed.
            let (flags, data) = (event.flags, event.data);
            match data.u64() {
                TURN => {
                    hint::cold_path();
                    waited = Waited::TokioTurn;
                }
                // The caller looks for woken tasks after each wait.
                BELL => hint::cold_path(),
                number => {
                    // A file may have left since the event.
                    if let Some(Some(file)) = files.get(number as usize)
                        && file.note(flags)
                    {
                        due.push_back(file.task.get());
                    }
                }
            }
        }
        Ok(waited)
    }

    /// Takes in all events so far. Every task must be polled afterwards.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let (mut events, mut due) = (Vec::with_capacity(EVENTS), VecDeque::new());
        loop {
            self.wait(Patience::None, &mut events, &mut due)?;
            if events.len() < EVENTS {
                return Ok(());
            }
        }
    }

    /// Says which task is polled from now on.
    pub(crate) fn polls(&self, task: u32) {
        self.polled.set(task);
        self.receives.set(0);
    }
}

impl AsRawFd for Poller {
    fn as_raw_fd(&self) -> RawFd {
        self.set.as_raw_fd()
    }
}

impl Readiness {
    /// Takes in an event. Returns whether its task waits for it: events also say what was
    /// known before, and bytes that were received before their event was fetched.
    fn note(&self, flags: EventFlags) -> bool {
        let was_writable = self.is_writable.get();
        if flags.intersects(EventFlags::ERR | EventFlags::HUP | EventFlags::RDHUP) {
            hint::cold_path();
            self.is_ended.set(true);
        }
        if flags.contains(EventFlags::IN) || self.is_ended.get() {
            self.is_readable.set(true);
        }
        if flags.contains(EventFlags::OUT) || self.is_ended.get() {
            self.is_writable.set(true);
        }
        flags != EventFlags::OUT || !was_writable
    }
}

/// A file in a set: what is known of it, and which task it wakes.
#[derive(Debug)]
struct PolledFile {
    poller: Rc<Poller>,
    readiness: Rc<Readiness>,
    number: usize,
    kind: FileKind,
}

/// Kinds of files. Tokio may wait for the events of a set without sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Timer = 0,
    Socket = 1,
}

impl PolledFile {
    /// Adds a file that does not block. The file must be closed, or deleted from the set, when
    /// the result is dropped.
    fn new(poller: &Rc<Poller>, file: impl AsFd, kind: FileKind) -> io::Result<Self> {
        let free = poller.free.borrow_mut().pop();
        let mut files = poller.files.borrow_mut();
        let number = free.unwrap_or_else(|| {
            files.push(None);
            files.len() - 1
        });
        let readiness = Rc::new(Readiness {
            task: Cell::new(NO_TASK),
            // The first call tries, because no event reports what was there before.
            is_readable: Cell::new(true),
            is_writable: Cell::new(true),
            is_ended: Cell::new(false),
        });
        files[number] = Some(Rc::clone(&readiness));
        drop(files);
        // Its drop frees the number if the file is refused.
        let added = Self {
            poller: Rc::clone(poller),
            readiness,
            number,
            kind,
        };
        poller.count_sockets(|sockets| sockets + kind as usize);
        poller.add(file, number as u64)?;
        Ok(added)
    }

    /// Reads from the file if it may be readable. Else, the current task is polled again at
    /// the next event.
    fn poll_read<T>(&self, read: impl FnOnce() -> io::Result<T>) -> Poll<io::Result<T>> {
        if self.readiness.is_readable.get() {
            match read() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readiness.is_readable.set(false);
                }
                read => return Poll::Ready(read),
            }
        }
        self.await_event();
        Poll::Pending
    }

    /// Has the current task polled at the next event.
    fn await_event(&self) {
        self.readiness.task.set(self.poller.polled.get());
    }
}

impl Drop for PolledFile {
    fn drop(&mut self) {
        self.poller.files.borrow_mut()[self.number] = None;
        self.poller.free.borrow_mut().push(self.number);
        self.poller
            .count_sockets(|sockets| sockets - self.kind as usize);
    }
}
