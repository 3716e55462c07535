//! The tasks of a worker's load, which all run within one task of tokio.
//!
//! As long as the load has sockets in the worker's [`Poller`], the tasks wait for its events
//! there, and the thread does not return to tokio. Tokio has a turn at regular times. It waits
//! for everybody while a task waits for something that tokio has ([`on_tokio`]), or if the
//! load has no such sockets: then the set of the poller is one of the files of tokio.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::hint;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use rustix::event::epoll::Event;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop;

use crate::machine::poller::{Patience, Poller, Waited};

/// Events fetched at a time.
const EVENTS: usize = 64;

thread_local! {
    /// Number of tasks that wait for something that tokio has.
    static ON_TOKIO: Cell<usize> = const { Cell::new(0) };
}

/// Carries out work of a task that waits for sockets, timers or files of tokio. Without it,
/// they are only served at tokio's regular turns.
pub(crate) async fn on_tokio<T>(work: impl Future<Output = T>) -> T {
    let _counted = OnTokio::new();
    work.await
}

struct OnTokio;

impl OnTokio {
    fn new() -> Self {
        ON_TOKIO.set(ON_TOKIO.get() + 1);
        Self
    }
}

impl Drop for OnTokio {
    fn drop(&mut self) {
        ON_TOKIO.set(ON_TOKIO.get() - 1);
    }
}

/// A future; `None` if it has ended.
type TaskFuture<'a, T> = Option<Pin<Box<dyn Future<Output = T> + 'a>>>;

/// Futures that run together.
pub(crate) struct Tasks<'a, T> {
    helpers: Vec<TaskFuture<'a, io::Result<()>>>,
    /// Their numbers come after those of the helpers.
    tasks: Vec<TaskFuture<'a, T>>,
    /// By number.
    wakers: Vec<Waker>,
    /// Number of tasks that have not ended.
    left: usize,
    ended: VecDeque<T>,
    woken: Arc<Woken>,
    poller: Rc<Poller>,
    /// The poller as a file of tokio.
    nested: Option<AsyncFd<Rc<Poller>>>,
    events: Vec<Event>,
    /// Tasks to poll.
    due: Vec<u32>,
    turn: TokioTurn,
}

/// When tokio has the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokioTurn {
    /// At no set time.
    Unset,
    /// When the poller's timer expires.
    Timed,
    /// Now.
    Owed,
}

/// Tasks that were woken other than by an event.
struct Woken {
    is_any: AtomicBool,
    list: Mutex<WokenList>,
    /// The thread that polls the tasks.
    thread: ThreadId,
    /// Ends its wait.
    bell: Arc<OwnedFd>,
}

#[derive(Default)]
struct WokenList {
    tasks: Vec<u32>,
    /// Wakes the task of tokio while tokio waits.
    tokio: Option<Waker>,
}

/// The waker of one task.
struct TaskWaker {
    number: u32,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = &*self.woken;
        let mut list = woken.lock();
        list.tasks.push(self.number);
        woken.is_any.store(true, Ordering::Release);
        let tokio = list.tokio.take();
        drop(list);
        match tokio {
            Some(tokio) => tokio.wake(),
            None if woken.thread == thread::current().id() => {}
            // Fails only if the bell has rung 2^64 times.
            None => drop(rustix::io::write(&woken.bell, &1_u64.to_ne_bytes())),
        }
    }
}

/// How far the tasks have come.
enum Turn<T> {
    /// One has ended.
    Ended(T),
    /// All have ended.
    Over,
    /// It is tokio's turn.
    Yield,
}

impl<'a, T> Tasks<'a, T> {
    /// Makes an empty set of tasks for this thread. Their files are in `poller`.
    pub(crate) fn new(poller: &Rc<Poller>) -> Self {
        Self {
            helpers: Vec::new(),
            tasks: Vec::new(),
            wakers: Vec::new(),
            left: 0,
            ended: VecDeque::new(),
            woken: Arc::new(Woken {
                is_any: AtomicBool::new(false),
                list: Mutex::default(),
                thread: thread::current().id(),
                bell: Arc::clone(poller.bell()),
            }),
            poller: Rc::clone(poller),
            nested: None,
            events: Vec::with_capacity(EVENTS),
            due: Vec::new(),
            turn: TokioTurn::Unset,
        }
    }

    /// Adds a task. It is polled for the first time by [`Tasks::next`].
    pub(crate) fn push(&mut self, task: impl Future<Output = T> + 'a) {
        self.tasks.push(Some(Box::pin(task)));
        self.left += 1;
        self.add_waker();
    }

    /// Adds a helper, which runs beside the tasks. [`Tasks::next`] fails if it fails. Helpers
    /// are added before the tasks.
    pub(crate) fn push_helper(&mut self, helper: impl Future<Output = io::Result<()>> + 'a) {
        debug_assert!(self.tasks.is_empty(), "a helper after a task");
        // The budget that tokio gives is for all, and helpers wait for no socket.
        let helper = coop::unconstrained(helper);
        self.helpers.push(Some(Box::pin(helper)));
        self.add_waker();
    }

    fn add_waker(&mut self) {
        let number = self.wakers.len() as u32;
        self.wakers.push(Waker::from(Arc::new(TaskWaker {
            number,
            woken: Arc::clone(&self.woken),
        })));
        self.due.push(number);
    }

    /// Returns the number of tasks that have not ended.
    pub(crate) const fn len(&self) -> usize {
        self.left
    }

    /// Runs the tasks until the next one ends. Returns `None` when all have ended. Fails if a
    /// helper or a wait for events fails.
    ///
    /// The future can be dropped and made anew without loss. Futures beside it are polled at
    /// tokio's turns.
    pub(crate) async fn next(&mut self) -> io::Result<Option<T>> {
        loop {
            // Not forgotten if this future is dropped here: timers of tokio would stand still.
            if self.turn == TokioTurn::Owed {
                tokio::task::yield_now().await;
                self.turn = TokioTurn::Unset;
            }
            match poll_fn(|context| self.run(context)).await? {
                Turn::Ended(output) => return Ok(Some(output)),
                Turn::Over => return Ok(None),
                Turn::Yield => {}
            }
        }
    }

    fn run(&mut self, context: &Context<'_>) -> Poll<io::Result<Turn<T>>> {
        self.woken.lock().tokio = None;
        loop {
            self.poll_due()?;
            // Tasks that others have just woken come before further events.
            if self.woken.take(&mut self.due) {
                self.poll_due()?;
            }
            if let Some(output) = self.ended.pop_front() {
                return Poll::Ready(Ok(Turn::Ended(output)));
            }
            if self.left == 0 {
                return Poll::Ready(Ok(Turn::Over));
            }
            if self.turn == TokioTurn::Owed {
                return Poll::Ready(Ok(Turn::Yield));
            }
            if ON_TOKIO.get() > 0 || !self.poller.has_sockets() {
                return match self.wait_on_tokio(context) {
                    Ok(()) => Poll::Pending,
                    Err(error) => Poll::Ready(Err(error)),
                };
            }
            self.wait()?;
        }
    }

    /// Polls the tasks that are due.
    fn poll_due(&mut self) -> io::Result<()> {
        for number in self.due.drain(..) {
            self.poller.polls(number);
            let number = number as usize;
            let context = &mut Context::from_waker(&self.wakers[number]);
            let Some(task) = number.checked_sub(self.helpers.len()) else {
                let helper = &mut self.helpers[number];
                if let Some(running) = helper
                    && let Poll::Ready(ended) = running.as_mut().poll(context)
                {
                    *helper = None;
                    ended?;
                }
                continue;
            };
            // A task may be due twice, and end the first time.
            let task = &mut self.tasks[task];
            if let Some(running) = task
                && let Poll::Ready(output) = running.as_mut().poll(context)
            {
                hint::cold_path();
                *task = None;
                self.left -= 1;
                self.ended.push_back(output);
            }
        }
        Ok(())
    }

    /// Waits for events of the poller.
    fn wait(&mut self) -> io::Result<()> {
        self.nested = None;
        if self.turn == TokioTurn::Unset {
            hint::cold_path();
            self.poller.time_tokio_turn()?;
            self.turn = TokioTurn::Timed;
        }
        // A task that wakes itself each time must not keep the others from their events.
        let patience = match self.woken.take(&mut self.due) {
            true => Patience::None,
            false => Patience::UntilEvent,
        };
        let Self {
            poller,
            events,
            due,
            ..
        } = self;
        if poller.wait(patience, events, due)? == Waited::TokioTurn {
            hint::cold_path();
            self.turn = TokioTurn::Owed;
        }
        Ok(())
    }

    /// Has tokio wait for what the tasks wait for, and poll this task again.
    #[inline(never)]
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe to call; the poller owns its descriptor, as it asks for"
    )]
    fn wait_on_tokio(&mut self, context: &Context<'_>) -> io::Result<()> {
        let Self {
            poller,
            nested,
            events,
            due,
            ..
        } = self;
        let nested = match nested {
            Some(nested) => nested,
            none => none.insert(AsyncFd::with_interest(
                Rc::clone(poller),
                Interest::READABLE,
            )?),
        };
        while let Poll::Ready(ready) =
            nested.poll_read_ready(&mut Context::from_waker(context.waker()))
        {
            let mut ready = ready?;
            if poller.wait(Patience::None, events, due)? == Waited::TokioTurn {
                self.turn = TokioTurn::Unset;
            }
            if events.len() < EVENTS {
                ready.clear_ready();
            }
        }
        let mut list = self.woken.lock();
        self.woken.is_any.store(false, Ordering::Relaxed);
        if !coop::has_budget_remaining() && !list.tasks.is_empty() {
            // The tasks share the budget that tokio gives. The first of them used it up.
            list.tasks.rotate_left(1);
        }
        due.append(&mut list.tasks);
        match due.is_empty() {
            true => list.tokio = Some(context.waker().clone()),
            // Tokio looks after its own files in between.
            false => context.waker().wake_by_ref(),
        }
        Ok(())
    }
}

impl Woken {
    fn lock(&self) -> MutexGuard<'_, WokenList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the woken tasks to `due`. Returns whether there are any.
    fn take(&self, due: &mut Vec<u32>) -> bool {
        let is_any = self.is_any.load(Ordering::Acquire);
        if is_any {
            hint::cold_path();
            let mut list = self.lock();
            self.is_any.store(false, Ordering::Relaxed);
            due.append(&mut list.tasks);
        }
        is_any
    }
}

#[cfg(test)]
mod tests;
