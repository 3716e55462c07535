//! Another host, as a worker of the first host's coordinator. Its thread passes on the
//! schedule, hands in the recorders that arrive, and returns the result.
//!
//! It also watches the host. A host that is silent for too long is lost, which ends the run.
//! One that stood still for a while makes the load point invalid.

mod clocks;
mod events;
mod faults;
mod without_result;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::load::SetupFailures;
use smbench_model::plan::Plan;
use smbench_model::record::HostClock;
use smbench_model::units::format_duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

use self::clocks::{Clocks, on_other};
use self::events::{ProxyEvent, SentOnce};
use self::faults::{stood_still, windows_apart};
use self::without_result::{Carried, Stop, without_result};
use super::first::{HostChannel, silence};
use super::message::{HostInterval, HostMeasurements, MessageBody, PointOrder};
use super::{ClockRelation, INTERRUPTED, SILENCE_AFTER_CANCEL, SILENCE_MAX, STILL_MAX};
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::worker::assignment::{NumberedResult, WorkerMessage, WorkerResult};
use crate::worker::fault::LoadFault;
use crate::worker::recorder_exchange::{HostStage, RecorderExchange};
use crate::worker::schedule::{Interval, Schedule, Schedules};
use crate::worker::work::GoneOnDrop;

/// Longest wait for a load point that is called off.
const CALL_OFF_MAX: Duration = Duration::from_secs(75);

/// Instructions for the proxy of another host.
pub(crate) struct ProxyAssignment {
    pub(crate) plan: Arc<Plan>,
    pub(crate) host: HostChannel,
    pub(crate) order: PointOrder,
    /// Numbers of the host's clients of each population.
    pub(crate) clients: Vec<Vec<u32>>,
    pub(crate) exchange: Arc<RecorderExchange>,
    /// Number of its first population among the workers; the others follow.
    pub(crate) number: usize,
    /// Set when no more sessions are to be set up.
    pub(crate) enough: Arc<AtomicBool>,
    pub(crate) cancel: Cancel,
    /// Longest time from the end of the load to the result: for answers, final flushes and
    /// log-offs.
    pub(crate) ends_within: Duration,
}

/// Carries out the part of a load point that another host has. Returns nothing if the load
/// point was called off.
pub(crate) fn carry(
    assignment: ProxyAssignment,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    start: Schedules,
) -> io::Result<Vec<NumberedResult>> {
    let _gone = GoneOnDrop(reports);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    Ok(runtime.block_on(async {
        let host = assignment.host.clone();
        let messages = host.messages().await;
        let now = clock::now();
        let mut proxy = Proxy {
            assignment,
            messages,
            reports,
            start,
            heard: now,
            awake: now,
            sent: SentOnce::default(),
            seen: Carried::default(),
        };
        let outcome = proxy.carry().await;
        let Proxy {
            assignment, seen, ..
        } = proxy;
        let number = assignment.number;
        assignment.exchange.leave_host(number);
        let result = match outcome {
            Ok(result) => result,
            Err(stop) => Some(without_result(&assignment, &seen, reports, &stop)),
        };
        let results = result.map(|result| NumberedResult { number, result });
        results.into_iter().collect()
    }))
}

/// The state of a proxy.
struct Proxy<'a, M> {
    assignment: ProxyAssignment,
    messages: M,
    reports: &'a mpsc::UnboundedSender<WorkerMessage>,
    start: Schedules,
    /// When the last message arrived here.
    heard: Nanos,
    /// When this thread last ran.
    awake: Nanos,
    sent: SentOnce,
    seen: Carried,
}

impl<M> Proxy<'_, M>
where
    M: std::ops::DerefMut<Target = mpsc::UnboundedReceiver<MessageBody>>,
{
    async fn carry(&mut self) -> Result<Option<WorkerResult>, Stop> {
        self.send(MessageBody::Point(self.assignment.order));
        let Some(schedule) = self.set_up().await? else {
            return Ok(None);
        };
        let relation = self.relate().await?;
        let related = clock::now();
        self.send(MessageBody::Begin(on_other(schedule, relation)));
        self.sent.begin = true;
        self.seen.begin = Some(schedule.begin);
        let (measurements, faults, schedule) = self.follow(schedule, relation).await?;
        let after = self.relate().await?;
        let clocks = Clocks {
            relation,
            related,
            after,
            until: clock::now(),
        };
        Ok(Some(self.result(measurements, faults, schedule, &clocks)))
    }

    /// Passes on what the host says until its load can begin. Returns `None` if it shall not.
    async fn set_up(&mut self) -> Result<Option<Schedule>, Stop> {
        let counts = self.assignment.order.load.setup != SetupFailures::EndRun;
        let (mut has_failed, mut has_tried, mut ended) = (false, false, None);
        loop {
            let message = match self.next().await? {
                ProxyEvent::Schedule(Some(schedule)) => {
                    return match ended {
                        None => Ok(Some(schedule)),
                        Some(_) if counts => Err(Stop::Empty),
                        Some(reason) => Err(Stop::Ended(reason)),
                    };
                }
                ProxyEvent::Schedule(None) if ended.is_some() => return Ok(None),
                ProxyEvent::Schedule(None) => {
                    self.call_off().await?;
                    return Ok(None);
                }
                ProxyEvent::Tick => continue,
                ProxyEvent::Received(MessageBody::Ready { clients, .. }) => WorkerMessage::Ready {
                    clients,
                    // Clocks are not related yet. A message takes less than a poll.
                    at: clock::now(),
                },
                ProxyEvent::Received(MessageBody::Refused { clients, failure }) => {
                    WorkerMessage::Refused {
                        clients,
                        error: self.assignment.failed(failure),
                    }
                }
                ProxyEvent::Received(MessageBody::AllTried) => {
                    has_tried = true;
                    WorkerMessage::AllTried
                }
                ProxyEvent::Received(MessageBody::SetupFailed(failure)) => {
                    has_failed = true;
                    WorkerMessage::SetupFailed(self.assignment.failed(failure))
                }
                ProxyEvent::Received(MessageBody::Unmeasured(reason)) => {
                    let failure = self.assignment.failure(&reason);
                    ended = Some(reason);
                    match (counts, has_failed) {
                        // Where failures are counted, it may have no session at all.
                        (true, _) if has_tried => continue,
                        (true, _) => WorkerMessage::AllTried,
                        (false, false) => WorkerMessage::SetupFailed(failure),
                        (false, true) => continue,
                    }
                }
                ProxyEvent::Received(_) => continue,
            };
            // The coordinator may have ended already; the error is ignored.
            let _ = self.reports.send(message);
        }
    }

    /// Calls the load point off, and waits until the host has ended it.
    async fn call_off(&mut self) -> Result<(), Stop> {
        self.send(MessageBody::CallOff);
        let ended = async {
            loop {
                let event = self.next().await?;
                let is_end = |body: &MessageBody| {
                    matches!(body, MessageBody::Unmeasured(_) | MessageBody::Measured(_))
                };
                if matches!(&event, ProxyEvent::Received(body) if is_end(body)) {
                    return Ok(());
                }
            }
        };
        let late = |_| Err(Stop::Stuck("it does not end the load point".to_owned()));
        timeout(CALL_OFF_MAX, ended).await.unwrap_or_else(late)
    }

    /// Relates the host's clock to the own one.
    async fn relate(&mut self) -> Result<ClockRelation, Stop> {
        let ProxyAssignment { host, .. } = &self.assignment;
        host.post.relate(host.number);
        loop {
            match self.next().await? {
                ProxyEvent::Received(MessageBody::Related(relation)) => return Ok(relation),
                ProxyEvent::Received(MessageBody::Unmeasured(reason)) => {
                    return Err(Stop::Ended(reason));
                }
                _ => {}
            }
        }
    }

    /// Hands in what arrives until the load point has ended on the host. Also returns what
    /// makes it invalid, and the last schedule.
    async fn follow(
        &mut self,
        mut schedule: Schedule,
        relation: ClockRelation,
    ) -> Result<(HostMeasurements, Vec<LoadFault>, Schedule), Stop> {
        let mut faults = Vec::new();
        loop {
            let (heard, awake) = (self.heard, self.awake);
            let event = self.next().await?;
            let now = clock::now();
            let silent = match event {
                ProxyEvent::Received(_) => now.since(heard),
                _ => Nanos(0),
            };
            if schedule.begin <= now && heard < schedule.stop {
                let name = self.assignment.host.name();
                faults.extend(stood_still(&name, now.since(awake), silent, now));
            }
            let end = schedule.stop.min(self.assignment.cancel.at());
            let is_result = matches!(event, ProxyEvent::Received(MessageBody::Measured(_)));
            if !is_result && now.since(end) > self.assignment.ends_within.into() {
                let limit = format_duration(self.assignment.ends_within);
                return Err(Stop::Stuck(format!(
                    "no result within {limit} after the load"
                )));
            }
            match event {
                ProxyEvent::Received(MessageBody::Interval(interval)) => {
                    self.hand_in(&interval, relation);
                }
                ProxyEvent::Received(MessageBody::Stage(part)) => self.hand_in_stage(*part),
                ProxyEvent::Received(MessageBody::Measured(measurements)) => {
                    return Ok((*measurements, faults, schedule));
                }
                ProxyEvent::Received(MessageBody::Unmeasured(reason)) => {
                    return Err(Stop::Ended(reason));
                }
                ProxyEvent::Schedule(Some(shorter)) => {
                    schedule = shorter;
                    self.send(MessageBody::Begin(on_other(shorter, relation)));
                }
                ProxyEvent::Received(_) | ProxyEvent::Schedule(None) | ProxyEvent::Tick => {}
            }
        }
    }

    fn hand_in(&mut self, interval: &HostInterval, relation: ClockRelation) {
        let HostInterval {
            interval,
            populations,
        } = interval;
        let interval = Interval {
            from: relation.on_first(interval.from),
            to: relation.on_first(interval.to),
            place: interval.place,
        };
        populations
            .iter()
            .for_each(|ops| self.seen.add(interval, ops));
        let ProxyAssignment {
            exchange, number, ..
        } = &self.assignment;
        for (number, recorder) in (*number..).zip(populations) {
            exchange.hand_in_interval(number, interval, recorder);
        }
    }

    fn hand_in_stage(&self, mut part: HostStage) {
        let of_host = &self.assignment;
        part.host.name = of_host.host.name();
        of_host.exchange.hand_in_stage(of_host.number, part);
    }

    /// Puts the result together, with the instants of the first host.
    fn result(
        &self,
        measurements: HostMeasurements,
        mut faults: Vec<LoadFault>,
        schedule: Schedule,
        clocks: &Clocks,
    ) -> WorkerResult {
        let HostMeasurements { result, mut host } = measurements;
        let name = self.assignment.host.name();
        let relation = clocks.relation;
        // A cancel by the first host is in the reason of the whole load point.
        let is_known = |fault: &&LoadFault| self.sent.cancel && fault.why == INTERRUPTED;
        let own = result.faults.iter().filter(|fault| !is_known(fault));
        faults.extend(own.map(|fault| {
            let why = format!("host {name}: {}", fault.why);
            fault.told(why, |at| relation.on_first(at))
        }));
        let late = host.late.unwrap_or_default();
        let late = late.since(schedule.open - schedule.begin);
        let windows = schedule.windows(self.assignment.plan.work.stages.as_ref());
        faults.extend(windows_apart(&name, &windows, clocks, late));
        let ended = relation.on_first(result.ended);
        // The coordinator may have ended already; the error is ignored.
        let _ = self.reports.send(WorkerMessage::LoadEnded(ended));
        host.name = name;
        host.clock = Some(HostClock {
            offset: relation.offset,
            bound: relation.bound,
            drift: clocks.drift(),
            skew: clocks.skew(schedule.open),
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
    async fn next(&mut self) -> Result<ProxyEvent, Stop> {
        if !self.sent.cancel && self.assignment.cancel.is_cancelled() {
            self.sent.cancel = true;
            self.send(MessageBody::Cancel);
        }
        if !self.sent.enough && self.assignment.enough.load(Ordering::Relaxed) {
            self.sent.enough = true;
            self.send(MessageBody::Enough);
        }
        self.awake = clock::now();
        let look_interval = self.sent.look_interval();
        tokio::select! {
            received = self.messages.recv() => match received {
                Some(received) => {
                    self.heard = clock::now();
                    Ok(ProxyEvent::Received(received))
                }
                None => Err(Stop::Lost("its connection has ended".to_owned())),
            },
            changed = self.start.changed(), if !self.sent.over => {
                let schedule = *self.start.borrow_and_update();
                self.sent.over |= changed.is_err();
                Ok(ProxyEvent::Schedule(schedule.filter(|_| changed.is_ok())))
            }
            // The next event tells the host.
            () = self.assignment.cancel.cancelled(), if !self.sent.cancel => Ok(ProxyEvent::Tick),
            () = tokio::time::sleep(look_interval) => self.look(),
        }
    }

    /// Judges whether the host has been silent for too long.
    fn look(&self) -> Result<ProxyEvent, Stop> {
        let now = clock::now();
        if now.since(self.awake) > STILL_MAX.into() {
            // This host stood still, and messages may wait.
            return Ok(ProxyEvent::Tick);
        }
        let silent = now.since(self.assignment.host.heard());
        let cancelled = silent.min(now.since(self.assignment.cancel.at()));
        if cancelled > SILENCE_AFTER_CANCEL.into() {
            let how = "it no longer answers";
            return Err(Stop::Lost(how.to_owned()));
        }
        if silent > SILENCE_MAX.into() {
            Err(Stop::Lost(silence()))
        } else {
            Ok(ProxyEvent::Tick)
        }
    }

    fn send(&self, body: MessageBody) {
        self.assignment.host.send(body);
    }
}
