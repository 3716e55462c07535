//! Another host, as a worker of the first host's coordinator. Its thread passes on the
//! schedule, hands in the recorders that arrive, and returns the result.
//!
//! It also watches the host. A host that is silent for too long is lost, which ends the run.
//! One that stood still for a while makes the load point invalid.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::record::{Dropout, HostClock, SetupPhase};
use smbench_model::units::format_duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::first::{HostChannel, silence};
use super::message::{HostFailure, HostInterval, HostMeasurements, PointOrder, Saying};
use super::{ClockRelation, SILENCE_AFTER_CANCEL, SILENCE_MAX, STILL_MAX};
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::smb::session::SessionError;
use crate::worker::assignment::{WorkerMessage, WorkerResult};
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::schedule::{Interval, Schedule, Schedules};
use crate::worker::work::GoneOnDrop;

/// The largest share of the window by which windows of hosts may be apart.
const APART_MAX: f64 = 0.01;
/// How often a proxy looks whether the set-up is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);

/// Instructions for the proxy of another host.
pub(crate) struct ProxyAssignment {
    pub(crate) host: HostChannel,
    pub(crate) order: PointOrder,
    /// Numbers of the host's clients.
    pub(crate) clients: Vec<u32>,
    pub(crate) exchange: Arc<RecorderExchange>,
    /// Number of the proxy among the workers, from 0.
    pub(crate) number: usize,
    /// Set when no more sessions are to be set up.
    pub(crate) enough: Arc<AtomicBool>,
    pub(crate) cancel: Cancel,
}

/// Carries out the part of a load point that another host has. Returns `None` if the load
/// point was called off.
pub(crate) fn carry(
    assignment: ProxyAssignment,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    start: Schedules,
) -> io::Result<Option<WorkerResult>> {
    let _gone = GoneOnDrop(reports);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    Ok(runtime.block_on(async {
        let host = assignment.host.clone();
        host.note(clock::now());
        let messages = host.messages().await;
        let mut proxy = Proxy {
            assignment,
            messages,
            reports,
            start,
            heard: clock::now(),
            awake: clock::now(),
            told: Told::default(),
        };
        let outcome = proxy.carry().await;
        let Proxy { assignment, .. } = proxy;
        assignment.exchange.leave(assignment.number);
        match outcome {
            Ok(result) => result,
            Err(Lost(reason)) => lost(&assignment, reports, &reason),
        }
    }))
}

/// Ends the run, because the host is lost.
fn lost(
    assignment: &ProxyAssignment,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    reason: &str,
) -> Option<WorkerResult> {
    let ProxyAssignment { host, clients, .. } = assignment;
    host.lose(reason);
    assignment.cancel.cancel();
    let reason = format!("host {} is lost: {reason}", host.name());
    // Only heard during the set-up; the coordinator may have ended already.
    let _ = reports.send(WorkerMessage::SetupFailed(SessionError::OnHost {
        host: host.name(),
        text: "it is lost".to_owned(),
        phase: SetupPhase::Connect,
        cause: "the host is lost".to_owned(),
        own_limit: true,
    }));
    let dropouts = clients.iter().map(|&client| Dropout {
        client,
        reason: reason.clone(),
        after_s: None,
    });
    Some(WorkerResult {
        dropouts: dropouts.collect(),
        faults: Vec::new(),
        ..WorkerResult::default()
    })
}

/// The host is lost, for this reason.
struct Lost(String);

/// What the host was told.
#[derive(Default)]
struct Told {
    cancel: bool,
    enough: bool,
    /// Whether the schedules are over.
    over: bool,
}

/// The state of a proxy.
struct Proxy<'a, M> {
    assignment: ProxyAssignment,
    messages: M,
    reports: &'a mpsc::UnboundedSender<WorkerMessage>,
    start: Schedules,
    /// When the last message arrived.
    heard: Nanos,
    /// When this thread last ran.
    awake: Nanos,
    told: Told,
}

/// Something that a proxy has to react to.
enum ProxyEvent {
    Said(Saying),
    /// The schedule has changed, or there will be none.
    Schedule(Option<Schedule>),
    /// It is time to look around.
    Tick,
}

impl<M> Proxy<'_, M>
where
    M: std::ops::DerefMut<Target = mpsc::UnboundedReceiver<Saying>>,
{
    async fn carry(&mut self) -> Result<Option<WorkerResult>, Lost> {
        self.say(Saying::Point(self.assignment.order));
        let Some(schedule) = self.set_up().await? else {
            return self.call_off().await;
        };
        let relation = self.relate().await?;
        self.say(Saying::Begin(on_other(schedule, relation)));
        let (measurements, faults) = self.follow(schedule, relation).await?;
        let after = self.relate().await?;
        let drift = after.offset - relation.offset;
        Ok(Some(self.result(
            measurements,
            faults,
            (schedule, relation, drift),
        )))
    }

    /// Passes on what the host says until its load can begin. Returns `None` if it shall not.
    async fn set_up(&mut self) -> Result<Option<Schedule>, Lost> {
        loop {
            let message = match self.next().await? {
                ProxyEvent::Schedule(schedule) => return Ok(schedule),
                ProxyEvent::Tick => continue,
                ProxyEvent::Said(Saying::Ready { clients, .. }) => WorkerMessage::Ready {
                    clients,
                    // Clocks are not related yet. A message takes less than a poll.
                    at: clock::now(),
                },
                ProxyEvent::Said(Saying::Refused { clients, failure }) => WorkerMessage::Refused {
                    clients,
                    error: self.failed(failure),
                },
                ProxyEvent::Said(Saying::AllTried) => WorkerMessage::AllTried,
                ProxyEvent::Said(Saying::SetupFailed(failure)) => {
                    WorkerMessage::SetupFailed(self.failed(failure))
                }
                ProxyEvent::Said(Saying::Unmeasured(reason)) => return Err(Lost(reason)),
                ProxyEvent::Said(_) => continue,
            };
            // The coordinator may have ended already; the error is ignored.
            let _ = self.reports.send(message);
        }
    }

    fn failed(&self, failure: HostFailure) -> SessionError {
        let HostFailure {
            text,
            phase,
            cause,
            own_limit,
        } = failure;
        SessionError::OnHost {
            host: self.assignment.host.name(),
            text,
            phase,
            cause,
            own_limit,
        }
    }

    /// Calls the load point off, and waits until the host has ended it.
    async fn call_off(&mut self) -> Result<Option<WorkerResult>, Lost> {
        self.say(Saying::CallOff);
        loop {
            match timeout(SILENCE_MAX, self.messages.recv()).await {
                Err(_) | Ok(None) => return Err(Lost(silence())),
                Ok(Some(Saying::Unmeasured(_) | Saying::Measured(_))) => return Ok(None),
                Ok(Some(_)) => {}
            }
        }
    }

    /// Relates the host's clock to the own one.
    async fn relate(&mut self) -> Result<ClockRelation, Lost> {
        self.assignment
            .host
            .post
            .relate(self.assignment.host.number);
        loop {
            if let ProxyEvent::Said(Saying::Related(relation)) = self.next().await? {
                return Ok(relation);
            }
        }
    }

    /// Hands in what arrives until the load point has ended on the host. Also returns what
    /// makes it invalid.
    async fn follow(
        &mut self,
        schedule: Schedule,
        relation: ClockRelation,
    ) -> Result<(HostMeasurements, Vec<String>), Lost> {
        let mut faults = Vec::new();
        loop {
            let (heard, awake) = (self.heard, self.awake);
            let event = self.next().await?;
            let now = clock::now();
            let silent = match event {
                ProxyEvent::Said(_) => now.since(heard),
                _ => Nanos(0),
            };
            if schedule.begin <= now && heard < schedule.stop {
                faults.extend(self.stood_still(now.since(awake), silent));
            }
            match event {
                ProxyEvent::Said(Saying::Interval(interval)) => self.hand_in(*interval, relation),
                ProxyEvent::Said(Saying::Measured(measurements)) => {
                    return Ok((*measurements, faults));
                }
                ProxyEvent::Said(Saying::Unmeasured(reason)) => return Err(Lost(reason)),
                ProxyEvent::Schedule(Some(shorter)) => {
                    self.say(Saying::Begin(on_other(shorter, relation)));
                }
                ProxyEvent::Said(_) | ProxyEvent::Schedule(None) | ProxyEvent::Tick => {}
            }
        }
    }

    /// Describes a host that has not run for a while: this one, or else the other.
    fn stood_still(&self, own: Nanos, other: Nanos) -> Option<String> {
        let (host, still) = match own > STILL_MAX.into() {
            true => ("the first host".to_owned(), own),
            false => (format!("host {}", self.assignment.host.name()), other),
        };
        (still > STILL_MAX.into()).then(|| {
            let still = Duration::from_millis(still.0 / 1_000_000);
            format!("{host} stood still for {}", format_duration(still))
        })
    }

    fn hand_in(&self, interval: HostInterval, relation: ClockRelation) {
        let HostInterval { interval, recorder } = interval;
        let interval = Interval {
            from: relation.on_first(interval.from),
            to: relation.on_first(interval.to),
            place: interval.place,
        };
        let ProxyAssignment {
            exchange, number, ..
        } = &self.assignment;
        exchange.hand_in_interval(*number, interval, recorder);
    }

    /// Puts the result together, with the instants of the first host.
    fn result(
        &self,
        measurements: HostMeasurements,
        mut faults: Vec<String>,
        (schedule, relation, drift): (Schedule, ClockRelation, i64),
    ) -> WorkerResult {
        let HostMeasurements { result, mut host } = measurements;
        let name = self.assignment.host.name();
        let window = (schedule.close - schedule.open).0 as f64;
        let late = host.late.unwrap_or_default();
        let missed = late.since(schedule.open - schedule.begin);
        let apart = Nanos(drift.unsigned_abs()) + relation.bound + missed;
        if apart.0 as f64 > window * APART_MAX {
            let apart = format_duration(Duration::from_micros(apart.0 / 1000));
            faults.push(format!("the window of host {name} may be {apart} apart"));
        }
        let ended = relation.on_first(result.ended);
        // The coordinator may have ended already; the error is ignored.
        let _ = self.reports.send(WorkerMessage::LoadEnded(ended));
        host.name = name;
        host.clock = Some(HostClock {
            offset: relation.offset,
            bound: relation.bound,
            drift,
        });
        WorkerResult {
            ended,
            closed: result.closed.map(|closed| relation.on_first(closed)),
            hosts: vec![host],
            faults,
            ..result
        }
    }

    /// Waits for the next event. Tells the host of a cancel, and that no more sessions are to
    /// be set up.
    async fn next(&mut self) -> Result<ProxyEvent, Lost> {
        let now = clock::now();
        if !self.told.cancel && self.assignment.cancel.is_cancelled() {
            self.told.cancel = true;
            self.say(Saying::Cancel);
        }
        if !self.told.enough && self.assignment.enough.load(Ordering::Relaxed) {
            self.told.enough = true;
            self.say(Saying::Enough);
        }
        self.awake = now;
        tokio::select! {
            said = self.messages.recv() => match said {
                Some(said) => {
                    self.heard = clock::now();
                    self.assignment.host.note(self.heard);
                    Ok(ProxyEvent::Said(said))
                }
                None => Err(Lost("its connection has ended".to_owned())),
            },
            changed = self.start.changed(), if !self.told.over => {
                let schedule = *self.start.borrow_and_update();
                self.told.over |= changed.is_err();
                Ok(ProxyEvent::Schedule(schedule.filter(|_| changed.is_ok())))
            }
            () = tokio::time::sleep(LOOK_INTERVAL) => {
                let now = clock::now();
                let silent = now.since(self.heard);
                let cancelled = silent.min(now.since(self.assignment.cancel.at()));
                if cancelled > SILENCE_AFTER_CANCEL.into() {
                    return Err(Lost("no message from it after the cancel".to_owned()));
                }
                match silent > SILENCE_MAX.into() {
                    true => Err(Lost(silence())),
                    false => Ok(ProxyEvent::Tick),
                }
            }
        }
    }

    fn say(&self, saying: Saying) {
        self.assignment.host.say(saying);
    }
}

/// Returns the schedule by the clock of the other host.
fn on_other(schedule: Schedule, relation: ClockRelation) -> Schedule {
    let Schedule {
        begin,
        open,
        close,
        stop,
        interval,
        clients,
    } = schedule;
    Schedule {
        begin: relation.on_other(begin),
        open: relation.on_other(open),
        close: relation.on_other(close),
        stop: relation.on_other(stop),
        interval,
        clients,
    }
}
