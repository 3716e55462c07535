//! Wakes the groups of one worker at given instants, with microsecond precision.
//!
//! tokio's timers count whole milliseconds, which is longer than many operations
//! take. Instead, one kernel timer serves all groups of the worker. It is set for
//! the earliest of their instants.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use smbench_model::Nanos;

use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::machine::poller::Poller;
use crate::machine::poller::polled::PolledTimer;

/// The alarm clock of a worker.
pub(super) struct Alarm {
    timer: PolledTimer,
    calls: RefCell<Calls>,
}

#[derive(Default)]
struct Calls {
    /// Instants and groups to wake, the earliest first.
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// One waker for each group.
    wakers: Vec<Option<Waker>>,
    /// Instant for which the timer is set.
    set_for: Option<Nanos>,
}

/// Calls for which memory is reserved at the start, so that none allocates under
/// load.
const CALLS_EACH: usize = 3;
const CALLS_SPARE: usize = 64;

impl Alarm {
    /// Makes an alarm clock for this number of groups, whose tasks wait with this
    /// poller.
    pub(crate) fn new(poller: &Rc<Poller>, groups: usize) -> std::io::Result<Self> {
        Ok(Self {
            timer: PolledTimer::new(poller)?,
            calls: RefCell::new(Calls {
                wakers: vec![None; groups],
                // Three calls for each group: the stop, the instant it waits for,
                // and one that is obsolete. More are needed only if a group is
                // often woken late.
                due: BinaryHeap::with_capacity(groups * CALLS_EACH + CALLS_SPARE),
                ..Calls::default()
            }),
        })
    }

    /// Wakes a group once at an instant. The group may also be woken at other
    /// instants.
    pub(super) fn set(
        &self,
        group: usize,
        at: Nanos,
        context: &Context<'_>,
    ) -> std::io::Result<()> {
        let mut calls = self.calls.borrow_mut();
        match &mut calls.wakers[group] {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        calls.due.push(Reverse((at, group)));
        self.arm(&mut calls)
    }

    /// Sets the timer for the earliest call, if it is set for a later one or not at
    /// all.
    fn arm(&self, calls: &mut Calls) -> std::io::Result<()> {
        let Some(&Reverse((at, _))) = calls.due.peek() else {
            return Ok(());
        };
        if calls.set_for.is_none_or(|set_for| at < set_for) {
            self.timer.set(at.since(clock::now()))?;
            calls.set_for = Some(at);
        }
        Ok(())
    }

    /// Wakes the groups that are due, without end. Wakes all groups once the run is
    /// cancelled.
    pub(super) async fn run(&self, cancel: &Cancel) -> std::io::Result<()> {
        let rings = poll_fn(|_| {
            loop {
                match self.timer.poll_expired() {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(())) => self.ring(clock::now())?,
                }
            }
        });
        tokio::select! {
            ended = rings => ended,
            () = cancel.cancelled() => {
                self.ring_all();
                std::future::pending().await
            }
        }
    }

    /// Wakes all groups that have a call.
    pub(super) fn ring_all(&self) {
        // Without a call left there is no timer to set, which could fail.
        let _ = self.ring(Nanos::MAX);
    }

    fn ring(&self, now: Nanos) -> std::io::Result<()> {
        let mut calls = self.calls.borrow_mut();
        calls.set_for = None;
        while let Some(&Reverse((at, group))) = calls.due.peek()
            && at <= now
        {
            calls.due.pop();
            if let Some(waker) = &calls.wakers[group] {
                waker.wake_by_ref();
            }
        }
        self.arm(&mut calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::runtime;
    use crate::machine::tasks::Tasks;

    /// Groups wait for instants in mixed order; each is woken, and none too early.
    #[test]
    fn everyone_is_woken_and_nobody_early() {
        let (poller, cancel) = (Poller::new().unwrap(), Cancel::default());
        let alarm = Alarm::new(&poller, 3).unwrap();
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push_helper(alarm.run(&cancel));
        let begin = clock::now();
        for (group, after) in [(0, 3_000_000), (1, 1_000_000), (2, 2_000_000)] {
            let at = begin + Nanos(after);
            let mut is_set = false;
            let alarm = &alarm;
            tasks.push(Box::pin(poll_fn(move |context| {
                let now = clock::now();
                if !is_set {
                    is_set = true;
                    alarm.set(group, at, context).unwrap();
                    return Poll::Pending;
                }
                assert!(now >= at, "{now:?} is before {at:?}");
                Poll::Ready(group)
            })));
        }
        let woken = async {
            let mut woken = Vec::new();
            while let Some(group) = tasks.next().await.unwrap() {
                woken.push(group);
            }
            woken
        };
        let woken = runtime::local().unwrap().block_on(woken);
        assert_eq!(woken, [1, 2, 0]);
    }

    #[test]
    fn cancelling_wakes_those_that_are_not_due() {
        let (poller, cancel) = (Poller::new().unwrap(), Cancel::default());
        let alarm = Alarm::new(&poller, 1).unwrap();
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push_helper(alarm.run(&cancel));
        let (mut is_set, alarm, cancel) = (false, &alarm, &cancel);
        tasks.push(Box::pin(poll_fn(move |context| {
            if cancel.is_cancelled() {
                return Poll::Ready(());
            }
            if !is_set {
                is_set = true;
                alarm
                    .set(0, clock::now() + Nanos(3_600_000_000_000), context)
                    .unwrap();
                cancel.cancel();
            }
            Poll::Pending
        })));
        let woken = runtime::local().unwrap().block_on(tasks.next());
        assert_eq!(woken.unwrap(), Some(()));
    }
}
