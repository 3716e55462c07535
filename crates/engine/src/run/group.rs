//! THE worker loop: a group of clients keeping their requests in flight.
//!
//! Fill free slots, flush once, receive, complete, record. A group is the
//! clients that share a driver; most often that is one. A slot whose action has
//! a further request goes before those that are free, and does so even when no
//! action may begin any more: what was opened gets closed. Invariant: between
//! submitting and completing, nothing allocates, locks, formats or logs once
//! warm; scratch buffers and the recorder belong to the worker and are lent to
//! one group at a time, for one poll.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::task::coop;
use tokio::time::Sleep;

use crate::cancel::Cancel;
use crate::clock::{self, Nanos};
use crate::plan::Caching;
use crate::record::{Failure, Fairness, OpKind, Punctuality, Recorder, Times};
use crate::run::alarm::Alarm;
use crate::run::board::Desk;
use crate::run::driver::{Acknowledged, Answer, Busy, Call, Driver, Extent, Scratch, Sink};
use crate::run::member::{DueFor, Member};
use crate::run::operation::{Dropped, Slot, SlotState, Unfit, judge};
use crate::run::schedule::{Interval, Place, Schedule};
use crate::stream::{Mix, Went};

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
}

impl Orders {
    fn stops(&self, now: Nanos) -> bool {
        now >= self.schedule.stop || self.cancel.is_cancelled()
    }

    /// Has what completes at `now` recorded where it belongs. A cancelled window
    /// ends at once, not when the answers are in.
    pub(super) fn turn(&self, desk: &mut Desk, now: Nanos) {
        let is_cancelled = self.cancel.is_cancelled();
        if is_cancelled && desk.interval().place != Place::Outside {
            let rest = Interval {
                from: now,
                to: Nanos::MAX,
                place: Place::Outside,
            };
            desk.turn(now, rest);
        } else if !is_cancelled && desk.is_over(now) {
            desk.turn(now, self.schedule.interval_at(now));
        }
    }
}

/// Why no further operation was submitted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// The windows, the credits or the schedule allow no more.
    AsPlanned,
    /// Slots are free, but the bytes must go out first.
    UpToBacklog,
}

/// Clients that share a driver, and their operations in flight.
pub(super) struct Group<D> {
    pub(super) driver: D,
    /// The group's number on the worker's alarm clock.
    pub(super) number: usize,
    /// What the files held open were granted.
    pub(super) granted: Vec<Caching>,
    /// Notifications of breaks before the load.
    pub(super) breaks: u64,
    /// What came of agreeing to them.
    pub(super) acknowledged: Vec<(Nanos, Acknowledged)>,
    clients: Clients,
    /// Whose turn it is to be the first to get credits.
    turn: usize,
    /// Since when the driver keeps free slots from being filled.
    held_back_since: Option<Nanos>,
    held_back: Nanos,
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Nanos,
    alarm_at: Option<Nanos>,
}

/// Time of the window in which operations were in flight, summed over
/// operations: what Little's law calls the time integral of L.
#[derive(Default)]
struct InFlight {
    sum: Nanos,
    until: Nanos,
}

impl InFlight {
    /// As many were in flight since the last time this was called.
    fn add(&mut self, in_flight: u32, now: Nanos, schedule: &Schedule) {
        if now > self.until {
            let passed = schedule.window_between(self.until, now);
            self.sum = self.sum + Nanos(passed.0.saturating_mul(in_flight.into()));
            self.until = now;
        }
    }
}

/// The side of a group that answers are booked on.
struct Clients {
    members: Box<[Member]>,
    slots: Box<[Slot]>,
    mix: Arc<Mix>,
    in_flight: u32,
    in_flight_time: InFlight,
}

impl<D: Driver> Group<D> {
    /// Each member gets `outstanding` slots, one member after the other.
    pub(super) fn new(
        driver: D,
        mut members: Vec<Member>,
        outstanding: u32,
        mix: &Arc<Mix>,
    ) -> Self {
        let mut slots = Vec::with_capacity(members.len() * outstanding as usize);
        for (at, member) in members.iter_mut().enumerate() {
            let first = slots.len() as u32;
            member.give_slots(first..first + outstanding);
            slots.resize(slots.len() + outstanding as usize, Slot::free(at));
        }
        Self {
            driver,
            number: 0,
            granted: Vec::new(),
            breaks: 0,
            acknowledged: Vec::new(),
            clients: Clients {
                members: members.into_boxed_slice(),
                slots: slots.into_boxed_slice(),
                mix: Arc::clone(mix),
                in_flight: 0,
                in_flight_time: InFlight::default(),
            },
            turn: 0,
            held_back_since: None,
            held_back: Nanos(0),
            timer: None,
            timer_at: Nanos(0),
            alarm_at: None,
        }
    }

    /// The clients.
    pub(super) fn members_mut(&mut self) -> &mut [Member] {
        &mut self.clients.members
    }

    /// Time of the window in which operations were in flight, summed over
    /// operations.
    pub(super) fn in_flight_time(&self) -> Nanos {
        self.clients.in_flight_time.sum
    }

    /// How evenly the clients were served.
    pub(super) fn fairness(&self) -> Fairness {
        let mut fairness = Fairness::default();
        for member in &self.clients.members {
            fairness.add(member.completed);
        }
        fairness
    }

    /// How well the clients kept due instants.
    pub(super) fn punctuality(&self) -> Punctuality {
        let members = self.clients.members.iter();
        members.fold(Punctuality::NONE, |sum, member| sum + member.punctuality())
    }

    /// Numbers of the clients.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.clients.members.iter().map(|member| member.number)
    }

    /// Clients that completed an operation in the window.
    pub(super) fn served(&self) -> u32 {
        let members = self.clients.members.iter();
        members.filter(|member| member.completed > 0).count() as u32
    }

    /// Time of the window in which a request was due but no credit was at
    /// hand, summed over the clients.
    pub(super) fn starved(&self) -> Nanos {
        let members = self.clients.members.iter();
        members.fold(Nanos(0), |sum, member| sum + member.starved)
    }

    /// Time of the window in which a request was due but the driver had no
    /// room for it, summed over the clients.
    pub(super) fn held_back(&self) -> Nanos {
        Nanos(self.held_back.0 * self.clients.members.len() as u64)
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

    /// Keeps the load on until the schedule stops and everything in flight has
    /// been answered.
    pub(super) async fn run(
        &mut self,
        shared: &RefCell<Shared>,
        orders: &Orders,
    ) -> Result<(), Dropped> {
        let ended = poll_fn(|context| {
            let shared = &mut shared.borrow_mut();
            shared.cleared(|shared| self.poll(context, shared, orders))
        })
        .await;
        self.clients.count_in_flight(clock::now(), orders);
        let end = clock::now().min(orders.schedule.stop);
        for member in &mut self.clients.members {
            member.give_up_before(end, &orders.schedule);
        }
        ended
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        shared: &mut Shared,
        orders: &Orders,
    ) -> Poll<Result<(), Dropped>> {
        let mut now = clock::now();
        loop {
            while self.fill(now, &mut shared.scratch, orders) == Filled::UpToBacklog {
                self.driver.flush(context, &mut shared.scratch)?;
                if !self.driver.has_room(&shared.scratch) {
                    self.held_back_since.get_or_insert(now);
                    break;
                }
                // Writing took a while; what is sent next is sent now.
                now = clock::now();
            }
            self.driver.flush(context, &mut shared.scratch)?;
            if self.clients.in_flight == 0 {
                match self.clients.waiting_since() {
                    // What is owed to none of them may bring credits as well.
                    Some(_) if self.driver.is_awaited() => {}
                    Some(_) => return Poll::Ready(Err(Dropped::NoCredits)),
                    None if orders.stops(now) || self.clients.due_at().is_none() => {
                        return Poll::Ready(Ok(()));
                    }
                    None => {}
                }
            }
            match self.driver.poll_receive(context, &mut shared.scratch)? {
                Poll::Ready(received) => {
                    now = clock::now();
                    orders.turn(&mut shared.desk, now);
                    self.clients.count_in_flight(now, orders);
                    self.complete(received, now, shared)?;
                }
                Poll::Pending => {
                    self.set_alarm(context, now, orders)?;
                    ready!(self.wait(context, now, orders.operation_limit))?;
                    now = clock::now();
                }
            }
        }
    }

    /// Has the group woken when something is due by the clock.
    fn set_alarm(
        &mut self,
        context: &mut Context<'_>,
        now: Nanos,
        orders: &Orders,
    ) -> Result<(), Dropped> {
        let Some(alarm) = &orders.alarm else {
            return Ok(());
        };
        if orders.stops(now) {
            return Ok(());
        }
        // What is due already waits for an answer or for room, not for the
        // clock.
        let Some(due) = self.clients.due_at().filter(|&due| due > now) else {
            return Ok(());
        };
        let at = due.min(orders.schedule.stop);
        if self.alarm_at != Some(at) {
            self.alarm_at = Some(at);
            alarm.set(self.number, at, context)?;
        }
        Ok(())
    }

    /// Submits operations until every slot is taken, credits run out, the load
    /// point stops, or the driver has no room.
    fn fill(&mut self, now: Nanos, scratch: &mut Scratch, orders: &Orders) -> Filled {
        self.clients.count_in_flight(now, orders);
        let members = self.clients.members.len();
        for at in 0..members {
            let member = (self.turn + at) % members;
            if self.fill_member(member, now, scratch, orders) == Filled::UpToBacklog {
                // Whoever found no room is the first to get it.
                self.turn = member;
                return Filled::UpToBacklog;
            }
        }
        self.turn = (self.turn + 1) % members;
        if let Some(since) = self.held_back_since.take() {
            self.held_back = self.held_back + orders.schedule.window_between(since, now);
        }
        Filled::AsPlanned
    }

    fn fill_member(
        &mut self,
        at: usize,
        now: Nanos,
        scratch: &mut Scratch,
        orders: &Orders,
    ) -> Filled {
        let member = &mut self.clients.members[at];
        let slots = &mut self.clients.slots;
        let may_begin = !orders.stops(now);
        member.give_up_overdue(now, &orders.schedule);
        while let Some(due) = member.due(now, may_begin) {
            if !self.driver.has_room(scratch) {
                return Filled::UpToBacklog;
            }
            let slot = due.slot;
            let of_slot = &slots[slot as usize];
            let (operation, intended) = match due.what {
                DueFor::Further => (of_slot.operation, of_slot.intended),
                DueFor::Next => (member.next_operation(), now),
                DueFor::Rested(at) | DueFor::Arrival(at) => (member.next_operation(), at),
            };
            let call = Call {
                slot,
                member: at,
                operation,
            };
            let submitted = self
                .driver
                .submit(&call, scratch, |data| member.fill(&operation, data));
            if let Err(busy) = submitted {
                if !matches!(due.what, DueFor::Further) {
                    member.keep(operation);
                }
                match busy {
                    Busy::Credits => member.starve(now),
                    Busy::Room | Busy::Session => member.end_starvation(now, &orders.schedule),
                }
                match busy {
                    Busy::Session => member.shut_out(now),
                    Busy::Room | Busy::Credits => member.let_in(),
                }
                return match busy {
                    Busy::Room => Filled::UpToBacklog,
                    Busy::Credits | Busy::Session => Filled::AsPlanned,
                };
            }
            member.end_starvation(now, &orders.schedule);
            member.let_in();
            member.served(due, now, &orders.schedule);
            let slot = &mut slots[slot as usize];
            // What is sent once more has been under way all the time.
            let sent = match slot.state {
                SlotState::Expired => slot.sent,
                _ => {
                    self.clients.in_flight += 1;
                    now
                }
            };
            *slot = Slot {
                member: at,
                operation,
                intended,
                sent,
                epoch: member.epoch(&operation),
                moved: 0,
                state: SlotState::InFlight,
            };
        }
        if !may_begin {
            member.end_starvation(now, &orders.schedule);
            member.let_in();
        }
        Filled::AsPlanned
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

    /// Sleeps until the driver is ready; an error once the oldest operation has
    /// waited longer than `limit`. The timer is set rarely: it is only moved
    /// when it has fired and turned out to be early.
    fn wait(
        &mut self,
        context: &mut Context<'_>,
        now: Nanos,
        limit: Nanos,
    ) -> Poll<Result<(), Dropped>> {
        if now < self.timer_at {
            return Poll::Pending;
        }
        let oldest = self.clients.oldest();
        let since = match oldest {
            Some(oldest) => Some(oldest.sent),
            None => self.clients.waiting_since(),
        };
        let Some(since) = since else {
            return Poll::Pending;
        };
        if now.since(since) >= limit {
            let stalled = match oldest {
                Some(oldest) => oldest.stalled(limit),
                None if self.clients.is_any_shut_out() => Dropped::NotRenewed(format!(
                    "it was not authenticated again within {}",
                    humantime::format_duration(limit.into())
                )),
                None => Dropped::NoCredits,
            };
            return Poll::Ready(Err(self.driver.why_overdue().unwrap_or(stalled)));
        }
        // Without budget the timer would not take our waker, and tokio has
        // already arranged for another poll.
        if !coop::has_budget_remaining() {
            return Poll::Pending;
        }
        self.timer_at = since + limit;
        let at = clock::timer(self.timer_at);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        timer.as_mut().reset(at);
        // Polled once to leave our waker with it. If it is due already, the
        // next round of the loop sees the time.
        timer.as_mut().poll(context).map(Ok)
    }
}

/// Books what was received at one instant.
struct Booking<'a> {
    clients: &'a mut Clients,
    recorder: &'a mut Recorder,
    /// 1 in the window, else 0: what an operation adds to its client's.
    in_window: u64,
    now: Nanos,
}

impl Sink for Booking<'_> {
    fn answer(&mut self, answer: &Answer<'_>) -> Result<(), Dropped> {
        let (now, in_window) = (self.now, self.in_window);
        self.clients.book(answer, now, in_window, self.recorder)
    }

    fn granted(&mut self, caching: Caching) {
        self.recorder.caching_mut().count(caching);
    }

    fn broken(&mut self) {
        self.recorder.caching_mut().breaks += 1;
    }

    fn acknowledged(&mut self, took: Nanos, outcome: Acknowledged) {
        book_acknowledged(self.recorder, took, outcome);
    }

    fn reauthenticated(&mut self, since: Nanos) {
        let (kind, took) = (OpKind::Reauthentication, self.now.since(since));
        self.recorder.success(kind, 0, took);
    }
}

/// Books the answer to the acknowledgement of a break.
pub(super) fn book_acknowledged(recorder: &mut Recorder, took: Nanos, outcome: Acknowledged) {
    let kind = OpKind::OplockBreak;
    match outcome {
        Acknowledged::Confirmed => recorder.success(kind, 0, took),
        Acknowledged::Moot => recorder.caching_mut().moot += 1,
        Acknowledged::Refused(status) => recorder.failure(kind, Failure::Status(status)),
    }
}

impl Clients {
    /// When a slot is due by the clock alone, the earliest of all.
    fn due_at(&self) -> Option<Nanos> {
        self.members.iter().filter_map(Member::due_at).min()
    }

    /// To be called before the number in flight changes. A cancelled window is
    /// over.
    fn count_in_flight(&mut self, now: Nanos, orders: &Orders) {
        if !orders.cancel.is_cancelled() {
            let (in_flight, schedule) = (self.in_flight, &orders.schedule);
            self.in_flight_time.add(in_flight, now, schedule);
        }
    }

    /// Since when a client could not send what is due, if one cannot.
    fn waiting_since(&self) -> Option<Nanos> {
        let members = self.members.iter();
        members.filter_map(Member::waiting_since).min()
    }

    fn is_any_shut_out(&self) -> bool {
        self.members.iter().any(Member::is_shut_out)
    }

    fn oldest(&self) -> Option<&Slot> {
        self.slots
            .iter()
            .filter(|slot| slot.state.is_in_flight())
            .min_by_key(|slot| slot.sent)
    }

    fn book(
        &mut self,
        answer: &Answer<'_>,
        now: Nanos,
        in_window: u64,
        recorder: &mut Recorder,
    ) -> Result<(), Dropped> {
        let slot = &mut self.slots[answer.slot as usize];
        let member = &mut self.members[slot.member];
        let kind = slot.operation.kind;
        // Most of what is answered later is like what is answered at once; but
        // with a CHANGE_NOTIFY the server has done its work by saying so.
        if answer.extent == Extent::Interim && kind != OpKind::ChangeNotify {
            return Ok(());
        }
        if slot.state == SlotState::Continuing {
            // A CHANGE_NOTIFY that fired before it could be cancelled.
            member.continuing.retain(|&other| other != answer.slot);
            slot.state = SlotState::Free;
            member.release(answer.slot, now);
            return Ok(());
        }
        if answer.extent == Extent::Expired && slot.expire(member.ledger.as_deref_mut()) {
            member.continuing.push_back(answer.slot);
            return Ok(());
        }
        slot.moved = slot.moved.saturating_add(answer.moved);
        if slot.state == SlotState::InFlight {
            match judge(slot, answer, member.ledger.as_deref_mut())? {
                Ok(()) if answer.extent == Extent::Part => {}
                Ok(()) => {
                    let times = Times {
                        service: now.since(slot.sent),
                        response: now.since(slot.intended),
                    };
                    recorder.success(kind, slot.moved, times);
                    member.completed += in_window;
                }
                Err(unfit) => {
                    slot.state = SlotState::Failing;
                    match unfit {
                        Unfit::Answer(failure) => recorder.failure(kind, failure),
                        Unfit::Data(mismatch) => {
                            let place = (member.number, slot.operation.file);
                            recorder.wrong_data(kind, place, &mismatch);
                        }
                    }
                }
            }
        }
        if answer.extent == Extent::Part {
            return Ok(());
        }
        self.in_flight -= 1;
        let went = match (slot.state, answer.extent) {
            (SlotState::Failing, _) => Went::Wrong,
            (_, Extent::Interim) => Went::Pending,
            _ => Went::Well,
        };
        match self.mix.after(&slot.operation, went) {
            Some(next) => {
                slot.operation = next;
                slot.intended = now;
                slot.state = SlotState::Continuing;
                member.continuing.push_back(answer.slot);
            }
            None => {
                slot.state = SlotState::Free;
                member.release(answer.slot, now);
            }
        }
        Ok(())
    }
}
