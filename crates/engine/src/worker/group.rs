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
mod pieces;
mod wait;

use std::cell::RefCell;
use std::future::poll_fn;
use std::hint;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use smbench_model::Nanos;
use smbench_model::sessions::Caching;
use tokio::time::Sleep;

use crate::drivers::driver::Driver;
use crate::drivers::dropped::Dropped;
use crate::machine::clock;
use crate::smb::session::caching::Acknowledged;
use crate::worker::booking::{Booking, Clients};
use crate::worker::load_control::LoadControl;
use crate::worker::member::Member;
use crate::worker::schedule::Position;
use crate::worker::shared::{FinalReadCount, Shared};
use crate::worker::supply::Supply;
use fill::Filled;
use held_back::HeldBack;

/// Clients that share a driver, and their operations in flight.
pub(crate) struct Group<D, S> {
    pub(crate) driver: D,
    /// Number of the group on the worker's alarm clock.
    pub(crate) number: usize,
    pub(super) setup: GroupSetup,
    pub(super) clients: Clients<S>,
    /// Index of the member that gets credits first in the next round.
    turn: usize,
    /// Time in which the driver had no room, so that free slots could not be
    /// filled.
    held_back: HeldBack,
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Nanos,
    alarm_at: Option<Nanos>,
    /// End of the window, as far as the members know.
    pub(super) window_end: Nanos,
}

/// What the set-up of a group brought.
#[derive(Default)]
pub(crate) struct GroupSetup {
    /// Caching granted for the files held open.
    pub(super) granted: Vec<Caching>,
    /// Number of breaks before the load.
    pub(super) breaks: u64,
    /// Durations and outcomes of the acknowledgements before the load.
    pub(super) acknowledged: Vec<(Nanos, Acknowledged)>,
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Makes a group. Each member gets `outstanding` consecutive slots.
    pub(super) fn new(driver: D, members: Vec<Member<S>>, outstanding: u32) -> Self {
        Self {
            driver,
            number: 0,
            setup: GroupSetup::default(),
            clients: Clients::new(members, outstanding),
            turn: 0,
            held_back: HeldBack::default(),
            timer: None,
            timer_at: Nanos(0),
            alarm_at: None,
            window_end: Nanos::MAX,
        }
    }

    /// Switches the clients to the operations after the load. They count what they read there.
    pub(crate) fn close(&mut self, final_reads: &FinalReadCount) {
        self.clients.close(final_reads);
        self.driver.end_load();
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
        control: &LoadControl,
    ) -> Poll<Result<(), Dropped>> {
        let mut filled_at = None;
        loop {
            // Most wake-ups are caused by an answer, so the time of answers is
            // taken first.
            let polled = if filled_at.is_some() || self.clients.in_flight > 0 {
                self.driver.poll_receive(context, &mut shared.scratch)?
            } else {
                Poll::Pending
            };
            let mut now = match (polled, filled_at) {
                (Poll::Ready(received), _) => self.book(received, shared, control)?,
                (Poll::Pending, None) => {
                    self.follow_schedule(control);
                    clock::now()
                }
                (Poll::Pending, Some(filled_at)) => {
                    self.set_alarm(context, filled_at, control)?;
                    ready!(self.wait(context, filled_at, shared, control))?;
                    self.follow_schedule(control);
                    clock::now()
                }
            };
            let mut was_in_vain = false;
            loop {
                let before = self.clients.requests_in_flight();
                match self.fill(now, &mut shared.scratch, control) {
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
                let is_in_vain = self.clients.requests_in_flight() == before;
                if !self.driver.has_room(&shared.scratch) || is_in_vain && was_in_vain {
                    self.held_back.begin(now);
                    break;
                }
                was_in_vain = is_in_vain;
                // Writing took time, so the next requests get a new instant.
                now = clock::now();
            }
            self.driver.flush(context, &mut shared.scratch)?;
            if S::splits() && self.clients.pieces_lack_credits() && !self.driver.is_awaited() {
                return Poll::Ready(Err(Dropped::NoCredits));
            }
            if self.clients.in_flight == 0 {
                match self.clients.waiting_since() {
                    // An answer to another request of the driver may also bring
                    // credits.
                    Some(_) if self.driver.is_awaited() => {}
                    Some(_) => return Poll::Ready(Err(Dropped::NoCredits)),
                    None if control.stops(now) => return Poll::Ready(Ok(())),
                    None if self.driver.leaves(now) => self.leave(now),
                    None if self.clients.awaits_clock() || self.held_back.since.is_some() => {}
                    None if self.clients.watch() => {}
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
        control: &LoadControl,
    ) -> Result<Nanos, Dropped> {
        let now = clock::now();
        control.turn(&mut shared.recording, now);
        self.follow_schedule(control);
        self.clients.count_in_flight(now, control);
        // Counted first, because clients that are answered now had nothing to send
        // until now.
        self.count_held_back(now, control);
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
        let Shared {
            scratch, recording, ..
        } = shared;
        let mut booking = Booking {
            clients,
            in_window: u64::from(matches!(recording.interval.place, Position::Window(_))),
            recorder: &mut recording.recorder,
            now,
        };
        driver.take_answers(received, now, scratch, &mut booking)
    }
}
