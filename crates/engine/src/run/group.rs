//! THE worker loop: a group of clients keeping their requests in flight.
//!
//! Receive, complete, record, fill free slots, flush once. A group is the
//! clients that share a driver; most often that is one. A slot whose action has
//! a further request goes before those that are free, and does so even when no
//! action may begin any more: what was opened gets closed. Invariant: between
//! submitting and completing, nothing allocates, locks, formats or logs once
//! warm; scratch buffers and the recorder belong to the worker and are lent to
//! one group at a time, for one poll.

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

use tokio::time::Sleep;

use crate::cancel::Cancel;
use crate::clock::{self, Nanos};
use crate::plan::Caching;
use crate::run::alarm::Alarm;
use crate::run::board::Desk;
use crate::run::booking::{Booking, Clients};
use crate::run::driver::{Acknowledged, Driver, Scratch};
use crate::run::health::Gauge;
use crate::run::member::Member;
use crate::run::operation::Dropped;
use crate::run::schedule::{Place, Schedule};
use crate::run::supply::Supply;
use crate::stream::Mix;
use fill::Filled;
use held_back::HeldBack;

/// What the groups of one worker share, one poll at a time.
pub(super) struct Shared {
    scratch: Scratch,
    pub(super) desk: Desk,
}

impl Shared {
    /// Results go to `desk`.
    pub(super) fn new(desk: Desk) -> Self {
        Self {
            scratch: Scratch::default(),
            desk,
        }
    }
}

impl Shared {
    /// What `poll` ends in; if in an error, nothing that was encoded for these
    /// clients goes out to others.
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

/// What all clients of a load point go by.
pub(super) struct Orders {
    pub(super) schedule: Schedule,
    pub(super) operation_limit: Nanos,
    pub(super) cancel: Cancel,
    /// Where actions are due by the clock.
    pub(super) alarm: Option<Rc<Alarm>>,
    /// The worker's, which is told of the window's edges by whoever comes first.
    pub(super) gauge: Rc<RefCell<Gauge>>,
}

impl Orders {
    fn stops(&self, now: Nanos) -> bool {
        now >= self.schedule.stop || self.cancel.is_cancelled()
    }

    /// How much of the window lies between two instants. A cancelled one is over
    /// from then on.
    pub(super) fn window_between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.schedule.window_between(from, to.min(self.cancel.at()))
    }

    /// Has what completes at `now` recorded where it belongs. A cancelled window
    /// ends at once, not when the answers are in.
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

    /// The same where the worker's load has ended at `now`, which may be before
    /// its time.
    pub(super) fn end(&self, desk: &mut Desk, now: Nanos) {
        self.turn(desk, now);
        desk.leave_window(now);
    }
}

/// Clients that share a driver, and their operations in flight.
pub(super) struct Group<D, S> {
    pub(super) driver: D,
    /// The group's number on the worker's alarm clock.
    pub(super) number: usize,
    /// What the files held open were granted.
    pub(super) granted: Vec<Caching>,
    /// Notifications of breaks before the load.
    pub(super) breaks: u64,
    /// What came of agreeing to them.
    pub(super) acknowledged: Vec<(Nanos, Acknowledged)>,
    clients: Clients<S>,
    /// Whose turn it is to be the first to get credits.
    turn: usize,
    /// By the driver, which keeps free slots from being filled.
    held_back: HeldBack,
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Nanos,
    alarm_at: Option<Nanos>,
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Each member gets `outstanding` slots, one member after the other.
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

    /// The clients.
    pub(super) fn members_mut(&mut self) -> &mut [Member<S>] {
        &mut self.clients.members
    }

    /// Numbers of the clients.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.clients.members.iter().map(|member| member.number)
    }

    /// The load is over: from now on the clients do what is left to do then.
    pub(super) fn close(&mut self) {
        self.clients.close();
        // Whoever waited on it has gone.
        self.timer = None;
        self.timer_at = Nanos(0);
    }

    /// Answers the server while no load is on, without end: a client that had
    /// something granted must give it back when others want to open the file.
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
            // An answer is what most often wakes: its time is taken before anything else.
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
                // A driver that takes nothing although it says that it has room
                // is not asked for ever.
                let is_in_vain = self.clients.in_flight == before;
                if !self.driver.has_room(&shared.scratch) || is_in_vain && was_in_vain {
                    self.held_back.begin(now);
                    break;
                }
                was_in_vain = is_in_vain;
                // Writing took a while; what is sent next is sent now.
                now = clock::now();
            }
            self.driver.flush(context, &mut shared.scratch)?;
            if self.clients.in_flight == 0 {
                match self.clients.waiting_since() {
                    // What is owed to none of them may bring credits as well.
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

    /// Books every answer in what has been received just now; when that was.
    fn book(
        &mut self,
        received: usize,
        shared: &mut Shared,
        orders: &Orders,
    ) -> Result<Nanos, Dropped> {
        let now = clock::now();
        orders.turn(&mut shared.desk, now);
        self.clients.count_in_flight(now, orders);
        // Who is answered now had nothing to send until now.
        self.count_held_back(now, orders);
        self.complete(received, now, shared)?;
        Ok(now)
    }

    /// Books every answer in what was received.
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
