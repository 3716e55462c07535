//! The tasks of a thread's load, which all run within one task of tokio.
//!
//! If the load has sockets in the thread's [`Poller`], the thread waits for events there, and
//! gives tokio a turn at regular times. Otherwise the thread waits in tokio, and the set of the
//! poller is one of tokio's files. It also waits there while a task needs tokio
//! ([`on_tokio`]).

mod woken;

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::hint;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::Event;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop;

use crate::machine::poller::{EVENTS, Patience, Poller, Waited};
use woken::Woken;

/// Events after which tokio has a turn, even if the timer for it is behind many others.
const EVENTS_PER_TURN: usize = 2_000;
/// The number of the poller among the tasks, where it is a file of tokio.
const NESTED: u32 = 0;
/// Tokio's turns after which the poller is no longer a file of tokio. To add a set with many
/// sockets to another set is dear, and as long as it is there, each event costs more.
const UNUSED_TURNS_MAX: u32 = 50;

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
    /// Their numbers begin with 1.
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
    /// Number of tokio's turns since tokio last had to wait for the poller.
    unused_turns: u32,
    events: Vec<Event>,
    /// Number of events since tokio's last turn.
    fetched: usize,
    /// Tasks to poll, in order.
    due: VecDeque<u32>,
    /// Those of them for which the poller has events, where tokio waits for it.
    nested_due: VecDeque<u32>,
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
    /// Makes an empty set of tasks for this thread. Their files are in `poller`, whose events
    /// up to now are not needed, because each task is polled once at first.
    pub(crate) fn new(poller: &Rc<Poller>) -> io::Result<Self> {
        poller.settle()?;
        let woken = Arc::new(Woken::new(poller.bell()));
        Ok(Self {
            helpers: Vec::new(),
            tasks: Vec::new(),
            wakers: vec![woken.next_waker()],
            left: 0,
            ended: VecDeque::new(),
            woken,
            poller: Rc::clone(poller),
            nested: None,
            unused_turns: 0,
            events: Vec::with_capacity(EVENTS),
            fetched: 0,
            due: VecDeque::new(),
            nested_due: VecDeque::new(),
            turn: TokioTurn::Unset,
        })
    }

    /// Adds a task. It is polled for the first time by [`Tasks::next`].
    pub(crate) fn push(&mut self, task: Pin<Box<dyn Future<Output = T> + 'a>>) {
        self.tasks.push(Some(task));
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
        self.due.push_back(self.wakers.len() as u32);
        self.wakers.push(self.woken.next_waker());
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

    fn run(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Turn<T>>> {
        self.woken.report_to(None);
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
            if self.is_on_tokio() {
                self.wait_on_tokio(context)?;
                return Poll::Pending;
            }
            self.wait()?;
        }
    }

    /// Returns whether tokio waits for all.
    fn is_on_tokio(&self) -> bool {
        ON_TOKIO.get() > 0 || !self.poller.has_sockets()
    }

    /// Polls the tasks that are due. On tokio, stops once its budget is used up. The others
    /// are then the first of the next time.
    fn poll_due(&mut self) -> io::Result<()> {
        let has_limit = self.is_on_tokio();
        while !has_limit || coop::has_budget_remaining() {
            match self.due.pop_front() {
                None => break,
                Some(NESTED) => self.poll_nested()?,
                Some(number) => self.poll_task(number)?,
            }
        }
        Ok(())
    }

    fn poll_task(&mut self, number: u32) -> io::Result<()> {
        let index = number as usize;
        // An event may be meant for a task of the time before.
        let Some(waker) = self.wakers.get(index) else {
            return Ok(());
        };
        self.poller.polls(number);
        let context = &mut Context::from_waker(waker);
        let Some(task) = index.checked_sub(1 + self.helpers.len()) else {
            let helper = &mut self.helpers[index - 1];
            if let Some(running) = helper
                && let Poll::Ready(ended) = running.as_mut().poll(context)
            {
                *helper = None;
                ended?;
            }
            return Ok(());
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
        Ok(())
    }

    /// Waits for events of the poller.
    fn wait(&mut self) -> io::Result<()> {
        if self.turn == TokioTurn::Unset {
            hint::cold_path();
            self.poller.time_tokio_turn()?;
            self.turn = TokioTurn::Timed;
        }
        self.woken.take(&mut self.due);
        // A task that wakes itself each time must not keep the others from their events.
        let patience = if self.due.is_empty() {
            Patience::UntilEvent
        } else {
            Patience::None
        };
        let waited = self
            .poller
            .wait(patience, &mut self.events, &mut self.due)?;
        self.fetched += self.events.len();
        if waited == Waited::TokioTurn || self.fetched > EVENTS_PER_TURN {
            hint::cold_path();
            self.turn = TokioTurn::Owed;
            self.fetched = 0;
            self.unused_turns += 1;
            if self.unused_turns > UNUSED_TURNS_MAX {
                self.nested = None;
            }
        }
        Ok(())
    }

    /// Has tokio wait for what the tasks wait for, and poll this task again.
    #[inline(never)]
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe to call; the poller owns its descriptor, as it asks for"
    )]
    fn wait_on_tokio(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.unused_turns = 0;
        if self.nested.is_none() {
            let poller = Rc::clone(&self.poller);
            self.nested = Some(AsyncFd::with_interest(poller, Interest::READABLE)?);
            self.due.push_back(NESTED);
        }
        let is_any = self.woken.take(&mut self.due);
        if is_any || !self.due.is_empty() || self.woken.report_to(Some(context.waker())) {
            // Tokio looks after its own files, and then polls this task again.
            let yielded = pin!(tokio::task::yield_now()).poll(context);
            debug_assert!(yielded.is_pending());
        }
        Ok(())
    }

    /// Polls the tasks for which the poller has events, where tokio waits for it.
    fn poll_nested(&mut self) -> io::Result<()> {
        let mut context = Context::from_waker(&self.wakers[NESTED as usize]);
        while let Some(nested) = &self.nested {
            // The timers of the load must not depend on the budget that drivers leave.
            let ready = coop::unconstrained(poll_fn(|context| nested.poll_read_ready(context)));
            let Poll::Ready(ready) = pin!(ready).poll(&mut context) else {
                break;
            };
            let due = &mut self.nested_due;
            let waited = self.poller.wait(Patience::None, &mut self.events, due)?;
            if self.events.len() < EVENTS {
                ready?.clear_ready();
            }
            if waited == Waited::TokioTurn {
                self.turn = TokioTurn::Unset;
            }
        }
        while let Some(number) = self.nested_due.pop_front() {
            self.poll_task(number)?;
        }
        Ok(())
    }
}

impl<T> Tasks<'_, T> {
    /// Drops each task, even if one panics while others are dropped because of a panic.
    pub(crate) fn drop_all(&mut self) {
        self.woken.report_to(None);
        // The embedding program has seen a panic of its drivers. Tokio drops tasks in this way.
        for task in self.tasks.drain(..) {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
        }
        for ended in self.ended.drain(..) {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(ended)));
        }
    }
}

impl<T> Drop for Tasks<'_, T> {
    fn drop(&mut self) {
        self.drop_all();
    }
}

#[cfg(test)]
pub(super) mod tests;
