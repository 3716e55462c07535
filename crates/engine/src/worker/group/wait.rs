//! Wakes a group independently of its driver: at due instants, and at the limit for
//! the duration of an operation.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

use smbench_model::Nanos;
use tokio::task::coop;

use super::Group;
use crate::drivers::driver::Driver;
use crate::drivers::dropped::Dropped;
use crate::machine::clock;
use crate::worker::alarm::Alarm;
use crate::worker::load_control::LoadControl;
use crate::worker::shared::Shared;
use crate::worker::supply::Supply;

impl<D: Driver, S: Supply> Group<D, S> {
    /// Sets the alarm for the next due instant of the group.
    #[inline]
    pub(super) fn set_alarm(
        &mut self,
        context: &mut Context<'_>,
        now: Nanos,
        control: &LoadControl,
    ) -> Result<(), Dropped> {
        match &control.alarm {
            Some(alarm) => self.set_alarm_of(alarm, context, now, control),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn set_alarm_of(
        &mut self,
        alarm: &Alarm,
        context: &mut Context<'_>,
        now: Nanos,
        control: &LoadControl,
    ) -> Result<(), Dropped> {
        if control.stops(now) {
            return Ok(());
        }
        let stop = control.schedule().stop;
        // Set once, because a call is never removed.
        if self.alarm_at.is_none() {
            self.alarm_at = Some(stop);
            alarm.set(self.number, stop, context)?;
        }
        let due = self.clients.due_after(now).into_iter();
        let leaves = self.driver.leaves_at().filter(|&leaves| leaves > now);
        let due = due.chain(leaves).min().filter(|&due| due < stop);
        if due.is_some() && due != self.alarm_at {
            self.alarm_at = due;
            alarm.set(self.number, due.unwrap_or(stop), context)?;
        }
        Ok(())
    }

    /// Sleeps until the driver is ready. Fails once the oldest operation has waited
    /// longer than the limit of operations. The timer is set rarely: it is moved only when it has
    /// fired too early.
    #[inline]
    pub(super) fn wait(
        &mut self,
        context: &mut Context<'_>,
        now: Nanos,
        shared: &mut Shared,
        control: &LoadControl,
    ) -> Poll<Result<(), Dropped>> {
        if now < self.timer_at {
            Poll::Pending
        } else {
            self.set_timer(context, now, shared, control)
        }
    }

    #[inline(never)]
    fn set_timer(
        &mut self,
        context: &mut Context<'_>,
        now: Nanos,
        shared: &mut Shared,
        control: &LoadControl,
    ) -> Poll<Result<(), Dropped>> {
        let limit = control.operation_limit;
        if self.driver.holds_group() {
            // The driver limits this wait. Clients without an action under way end earlier.
            // Operations after it have their limit again.
            let stop = control.schedule().stop;
            if now < stop {
                return self.set_timer_at(context, stop.min(now + limit));
            }
            // The server may stay away for as long as the clients try to come back.
            control.turn(&mut shared.recording, now);
            self.clients.count_in_flight(now, control);
            let recorder = &mut shared.recording.recorder;
            self.clients.give_up_waiting(now, recorder);
            return Poll::Ready(Ok(()));
        }
        let oldest = self.clients.oldest();
        let since = match oldest {
            Some((_, since)) => Some(since),
            None => self.clients.waiting_since().or(self.held_back.since),
        };
        let Some(since) = since else {
            return Poll::Pending;
        };
        // Time without a connection is not the server's.
        let since = since.max(self.clients.back_since);
        if now.since(since) >= limit {
            let stalled = match oldest {
                Some((oldest, _)) => oldest.stalled(limit),
                None if self.clients.is_any_shut_out() => Dropped::NotRenewed(format!(
                    "it was not authenticated again within {}",
                    humantime::format_duration(limit.into())
                )),
                None if self.clients.waiting_since().is_none() => Dropped::Other(format!(
                    "its driver took no operation within {}",
                    humantime::format_duration(limit.into())
                )),
                None if self.driver.is_awaited() => Dropped::Unanswered(limit),
                None => Dropped::NoCredits,
            };
            let why = self.driver.why_overdue().unwrap_or(stalled);
            return Poll::Ready(self.driver.overdue(why, &mut shared.scratch));
        }
        self.set_timer_at(context, since + limit)
    }

    fn set_timer_at(&mut self, context: &mut Context<'_>, at: Nanos) -> Poll<Result<(), Dropped>> {
        self.timer_at = at;
        let at = clock::timer(at);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        timer.as_mut().reset(at);
        // Polled once to register our waker. If the timer has already expired, the
        // next round of the loop checks the time.
        // Without budget it would not, so it gets its own.
        pin!(coop::unconstrained(timer.as_mut()))
            .poll(context)
            .map(Ok)
    }
}
