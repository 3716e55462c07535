//! THE worker loop: a group of clients that keep their requests in flight.
//!
//! The loop receives, completes, records, fills free slots, and flushes once. A
//! group is the clients that share a driver; most often it has one client. A slot
//! whose action has a further request comes before free slots. It continues even
//! when no new action may begin, so that opened files are closed.
//!
//! Invariant: after the first operations, nothing between submitting and completing
//! allocates, locks, formats or logs. Scratch buffers and the recorder belong to
//! the worker and are lent to one group at a time, for one poll.

mod fill;
mod held_back;
mod load;
mod wait;

use std::cell::RefCell;
use std::future::poll_fn;
use std::hint;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use smbench_model::Nanos;
use smbench_model::operations::Mix;
use smbench_model::sessions::Caching;
use tokio::time::Sleep;

use crate::cancel::Cancel;
use crate::clock;
use crate::run::alarm::Alarm;
use crate::run::board::Desk;
use crate::run::booking::{Booking, Clients};
use crate::run::driver::{Driver, Scratch};
use crate::run::health::Gauge;
use crate::run::member::Member;
use crate::run::operation::Dropped;
use crate::run::schedule::{Place, Schedule};
use crate::run::supply::Supply;
use crate::session::caching::Acknowledged;
use fill::Filled;
use held_back::HeldBack;

/// State shared by the groups of one worker; each poll borrows it.
pub(super) struct Shared {
    scratch: Scratch,
    pub(super) desk: Desk,
}

impl Shared {
    /// Makes the shared state; results go to `desk`.
    pub(super) fn new(desk: Desk) -> Self {
        Self {
            scratch: Scratch::default(),
            desk,
        }
    }
}

impl Shared {
    /// Runs `poll` and returns its result. After an error it clears the output
    /// buffer, so that requests of these clients are not sent to others.
    fn cleared(
        &mut self,
        poll: impl FnOnce(&mut Self) -> Poll<Result<(), Dropped>>,
    ) -> Poll<Result<(), Dropped>> {
        let polled = poll(self);
        if let Poll::Ready(Err(_)) = polled {
            self.scratch.output.clear();
        }
        polled
    }
}

/// Instructions of a load point for all clients of a worker.
pub(super) struct Orders {
    pub(super) schedule: Schedule,
    pub(super) operation_limit: Nanos,
    pub(super) cancel: Cancel,
    /// The worker's alarm clock, if the clock makes actions due.
    pub(super) alarm: Option<Rc<Alarm>>,
    /// The worker's gauge; the first group that reaches an edge of the window
    /// reports it there.
    pub(super) gauge: Rc<RefCell<Gauge>>,
}

impl Orders {
    fn stops(&self, now: Nanos) -> bool {
        now >= self.schedule.stop || self.cancel.is_cancelled()
    }

    /// Returns how much of the window lies between two instants. A cancel ends the
    /// window.
    pub(super) fn window_between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.schedule.window_between(from, to.min(self.cancel.at()))
    }

    /// Makes sure that an operation completed at `now` is recorded in the right
    /// interval. A cancel ends the window at once, before the remaining answers
    /// arrive.
    #[inline]
    pub(super) fn turn(&self, desk: &mut Desk, now: Nanos) {
        let cancelled_at = self.cancel.at();
        let until = now.min(cancelled_at);
        if desk.is_over(until) || cancelled_at <= now {
            hint::cold_path();
            self.turn_over(desk, now, cancelled_at);
        }
    }

    #[inline(never)]
    fn turn_over(&self, desk: &mut Desk, now: Nanos, cancelled_at: Nanos) {
        let until = now.min(cancelled_at);
        if desk.is_over(until) {
            desk.turn(until, self.schedule.interval_at(until));
            self.gauge.borrow_mut().see(now, &self.schedule);
        }
        if cancelled_at <= now {
            desk.leave_window(cancelled_at);
        }
    }

    /// Ends the recording of a worker whose load has ended at `now`. The window ends
    /// there as well, even if the schedule continues.
    pub(super) fn end(&self, desk: &mut Desk, now: Nanos) {
        self.turn(desk, now);
        desk.leave_window(now);
    }
}

/// Clients that share a driver, and their operations in flight.
pub(super) struct Group<D, S> {
    pub(super) driver: D,
    /// Number of the group on the worker's alarm clock.
    pub(super) number: usize,
    /// Caching granted for the files held open.
    pub(super) granted: Vec<Caching>,
    /// Number of breaks before the load.
    pub(super) breaks: u64,
    /// Durations and outcomes of the acknowledgements before the load.
    pub(super) acknowledged: Vec<(Nanos, Acknowledged)>,
    clients: Clients<S>,
    /// Index of the member that gets credits first in the next round.
    turn: usize,
    /// Time in which the driver had no room, so that free slots could not be
    /// filled.
    held_back: HeldBack,
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Nanos,
    alarm_at: Option<Nanos>,
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Makes a group. Each member gets `outstanding` consecutive slots.
    pub(super) fn new(
        driver: D,
        members: Vec<Member<S>>,
        outstanding: u32,
        mix: &Arc<Mix>,
    ) -> Self {
        Self {
            driver,
            number: 0,
            granted: Vec::new(),
            breaks: 0,
            acknowledged: Vec::new(),
            clients: Clients::new(members, outstanding, mix),
            turn: 0,
            held_back: HeldBack::default(),
            timer: None,
            timer_at: Nanos(0),
            alarm_at: None,
        }
    }

    /// Returns the members of the group.
    pub(super) fn members_mut(&mut self) -> &mut [Member<S>] {
        &mut self.clients.members
    }

    /// Returns the numbers of the clients.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.clients.members.iter().map(|member| member.number)
    }

    /// Switches the clients to the operations after the load.
    pub(super) fn close(&mut self) {
        self.clients.close();
        // The task that waited for this timer has ended.
        self.timer = None;
        self.timer_at = Nanos(0);
    }

    /// Answers the server while there is no load, without end. A client that holds
    /// an oplock or a lease must acknowledge a break when others want to open the
    /// file.
    pub(super) async fn idle(&mut self, shared: &RefCell<Shared>) -> Result<(), Dropped> {
        poll_fn(|context| {
            let shared = &mut shared.borrow_mut();
            shared.cleared(|shared| self.poll_idle(context, shared))
        })
        .await
    }

    fn poll_idle(
        &mut self,
        context: &mut Context<'_>,
        shared: &mut Shared,
    ) -> Poll<Result<(), Dropped>> {
        loop {
            self.driver.flush(context, &mut shared.scratch)?;
            let received = ready!(self.driver.poll_receive(context, &mut shared.scratch))?;
            self.complete(received, clock::now(), shared)?;
        }
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        shared: &mut Shared,
        orders: &Orders,
    ) -> Poll<Result<(), Dropped>> {
        let mut filled_at = None;
        loop {
            // Most wake-ups are caused by an answer, so the time of answers is
            // taken first.
            let polled = match filled_at.is_some() || self.clients.in_flight > 0 {
                true => self.driver.poll_receive(context, &mut shared.scratch)?,
                false => Poll::Pending,
            };
            let mut now = match (polled, filled_at) {
                (Poll::Ready(received), _) => self.book(received, shared, orders)?,
                (Poll::Pending, None) => clock::now(),
                (Poll::Pending, Some(filled_at)) => {
                    self.set_alarm(context, filled_at, orders)?;
                    ready!(self.wait(context, filled_at, orders.operation_limit))?;
                    clock::now()
                }
            };
            let mut was_in_vain = false;
            loop {
                let before = self.clients.in_flight;
                match self.fill(now, &mut shared.scratch, orders) {
                    Filled::AsPlanned => break,
                    Filled::UpToBacklog => hint::cold_path(),
                    Filled::AtFault(member) => {
                        hint::cold_path();
                        return Poll::Ready(Err(self.clients.members[member].fault()));
                    }
                }
                self.driver.flush(context, &mut shared.scratch)?;
                // A driver that accepts nothing although it reports room is not
                // asked without end.
                let is_in_vain = self.clients.in_flight == before;
                if !self.driver.has_room(&shared.scratch) || is_in_vain && was_in_vain {
                    self.held_back.begin(now);
                    break;
                }
                was_in_vain = is_in_vain;
                // Writing took time, so the next requests get a new instant.
                now = clock::now();
            }
            self.driver.flush(context, &mut shared.scratch)?;
            if self.clients.in_flight == 0 {
                match self.clients.waiting_since() {
                    // An answer to another request of the driver may also bring
                    // credits.
                    Some(_) if self.driver.is_awaited() => {}
                    Some(_) => return Poll::Ready(Err(Dropped::NoCredits)),
                    None if orders.stops(now) => return Poll::Ready(Ok(())),
                    None if self.clients.awaits_clock() || self.held_back.since().is_some() => {}
                    None => return Poll::Ready(Ok(())),
                }
            }
            filled_at = Some(now);
        }
    }

    /// Records every answer in the data just received; returns the instant of the
    /// receipt.
    fn book(
        &mut self,
        received: usize,
        shared: &mut Shared,
        orders: &Orders,
    ) -> Result<Nanos, Dropped> {
        let now = clock::now();
        orders.turn(&mut shared.desk, now);
        self.clients.count_in_flight(now, orders);
        // Counted first, because clients that are answered now had nothing to send
        // until now.
        self.count_held_back(now, orders);
        self.complete(received, now, shared)?;
        Ok(now)
    }

    /// Records every answer in the received data.
    fn complete(
        &mut self,
        received: usize,
        now: Nanos,
        shared: &mut Shared,
    ) -> Result<(), Dropped> {
        let Self {
            driver, clients, ..
        } = self;
        let Shared { scratch, desk } = shared;
        let mut booking = Booking {
            clients,
            in_window: u64::from(desk.interval().place != Place::Outside),
            recorder: &mut desk.recorder,
            now,
        };
        driver.take_answers(received, now, scratch, &mut booking)
    }
}
