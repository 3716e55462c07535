//! Wakes the groups of one worker at given instants, with microsecond precision.
//!
//! tokio's timers count whole milliseconds, which is longer than many operations
//! take. Instead, one kernel timer serves all groups of the worker. It is set for
//! the earliest of their instants.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use smbench_model::Nanos;

use crate::machine::cancel::Cancel;
use crate::machine::clock;
pub(crate) use timer::Timer;

/// The alarm clock of a worker.
pub(super) struct Alarm {
    timer: Timer,
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
    /// Makes an alarm clock for this number of groups, in the runtime of this
    /// thread.
    pub(crate) fn new(groups: usize) -> std::io::Result<Self> {
        Ok(Self {
            timer: Timer::new()?,
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
        let rings = poll_fn(|context| {
            loop {
                match self.timer.poll_expired(context) {
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

mod timer {
    use std::os::fd::{AsFd, AsRawFd, RawFd};
    use std::task::{Context, Poll, ready};

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use smbench_model::Nanos;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A kernel timer with nanosecond resolution.
    pub(crate) struct Timer(AsyncFd<Descriptor>);

    struct Descriptor(TimerFd);

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }

    impl Timer {
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe to call; ours owns its descriptor, as it asks for"
        )]
        pub(crate) fn new() -> std::io::Result<Self> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            AsyncFd::with_interest(Descriptor(timer), Interest::READABLE).map(Self)
        }

        /// Sets the timer to expire once, after this time. This replaces an earlier
        /// setting.
        pub(crate) fn set(&self, after: Nanos) -> std::io::Result<()> {
            // Zero would turn the timer off.
            let after = TimeSpec::from_duration(after.max(Nanos(1)).into());
            let expiration = Expiration::OneShot(after);
            let timer = &self.0.get_ref().0;
            Ok(timer.set(expiration, TimerSetTimeFlags::empty())?)
        }

        /// Returns `Ready` once for each time that the timer has expired.
        pub(crate) fn poll_expired(&self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            loop {
                let mut guard = ready!(self.0.poll_read_ready(context))?;
                // Either the timer has expired, or `try_io` clears the readiness.
                match guard.try_io(|timer| Ok(timer.get_ref().0.wait()?)) {
                    Ok(expired) => return Poll::Ready(expired),
                    Err(_would_block) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use tokio::task::LocalSet;

    use super::*;

    /// Groups wait for instants in mixed order; each is woken, and none too early.
    #[tokio::test]
    async fn everyone_is_woken_and_nobody_early() {
        let local = LocalSet::new();
        let alarm = Rc::new(Alarm::new(3).unwrap());
        let woken = Rc::new(RefCell::new(Vec::new()));
        local
            .run_until(async {
                let clock = Rc::clone(&alarm);
                let ringing = tokio::task::spawn_local(async move {
                    let cancel = Cancel::default();
                    clock.run(&cancel).await
                });
                let begin = clock::now();
                let waiting =
                    [(0, 3_000_000), (1, 1_000_000), (2, 2_000_000)].map(|(group, after)| {
                        let (alarm, woken) = (Rc::clone(&alarm), Rc::clone(&woken));
                        let at = begin + Nanos(after);
                        tokio::task::spawn_local(async move {
                            let mut is_set = false;
                            poll_fn(|context| {
                                let now = clock::now();
                                if !is_set {
                                    is_set = true;
                                    alarm.set(group, at, context).unwrap();
                                    return Poll::Pending;
                                }
                                assert!(now >= at, "{now:?} is before {at:?}");
                                Poll::Ready(())
                            })
                            .await;
                            woken.borrow_mut().push(group);
                        })
                    });
                for task in waiting {
                    task.await.unwrap();
                }
                ringing.abort();
            })
            .await;
        assert_eq!(*woken.borrow(), [1, 2, 0]);
    }

    #[tokio::test]
    async fn cancelling_wakes_those_that_are_not_due() {
        let cancel = Cancel::default();
        let alarm = Alarm::new(1).unwrap();
        let mut is_set = false;
        let waits = poll_fn(|context| {
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
        });
        tokio::select! {
            // Polled in this order, because the calls must be set before the alarm
            // runs.
            biased;
            () = waits => {}
            ended = alarm.run(&cancel) => panic!("the alarm ended: {ended:?}"),
        }
    }
}
