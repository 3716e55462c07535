//! The workers of a load point, as the coordinator sees them: until all sessions
//! are set up, and then until all workers have ended.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::event::EventRecord;
use smbench_model::generator::Pinning;
use smbench_model::load::{PointLoad, SetupFailures};
use smbench_model::part::ClientPart;
use smbench_model::progress::{PointNumber, Progress};
use smbench_model::record::SetupAttempts;
use tokio::sync::{mpsc, watch};

use super::begin::{begin_of_load, clients_before, next_schedule, ordered_schedule};
use super::cpu_reader::{CpuReader, Meters};
use super::events::RunningEvents;
use super::populations::{PopulationLoad, workers_of};
use super::set_up::SetUp;
use super::shown::{ReadBack, tell};
use super::stages::{StageRows, ends_between};
use super::threads::AssignedThreads;
use super::until_steady::UntilSteady;
use crate::hosts::Upstream;
use crate::machine::{clock, process};
use crate::run::Observer;
use crate::run::context::Context;
use crate::run::environment::environment;
use crate::run::error::RunError;
use crate::run::observe::PROGRESS_INTERVAL;
use crate::worker::assignment::{Assignment, NumberedResult, WorkerMessage};
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::schedule::Schedule;
use crate::worker::setup_rate::SetupRate;
use crate::worker::under_load::{KeptSessions, LoadGone, UnderLoad};
use crate::worker::work::{AssignedWorker, work};

/// The coordinator's view of a load point.
pub(super) struct Observed {
    /// Time from the start of the workers until the last session was set up.
    pub(super) setup: Nanos,
    pub(super) schedule: Schedule,
    /// Instant at which the window closed; earlier if the load ended or the run was
    /// cancelled before.
    pub(super) closed: Nanos,
    /// Measured part of the window.
    pub(super) window: Nanos,
    /// Number of clients whose sessions were set up, or all where a failure ends the run.
    pub(super) clients: u32,
    /// The attempts, where failures are counted.
    pub(super) attempts: Option<SetupAttempts>,
    /// What became of the events of the plan.
    pub(super) events: Vec<EventRecord>,
}

impl Observed {
    /// Returns the same for the workers of this host alone, whose load ended at that instant.
    pub(super) fn of_own(&self, ended: Nanos) -> Self {
        let closed = self.closed.min(ended.max(self.schedule.open));
        Self {
            closed,
            window: self.schedule.window_until(closed),
            attempts: self.attempts.clone(),
            events: self.events.clone(),
            ..*self
        }
    }
}

/// Returns the number of this host, and the number of hosts.
const fn host_of(part: ClientPart) -> (usize, usize) {
    match part {
        ClientPart::Host { host, of } => (host as usize, of as usize),
        ClientPart::All | ClientPart::Range(_) => (0, 1),
    }
}

/// Returns the CPUs that workers are pinned to in turn; none if they are free.
fn cpus_of(pinning: Pinning) -> Vec<usize> {
    match pinning {
        Pinning::Free => Vec::new(),
        Pinning::Pinned => process::cpus(),
    }
}

/// Where workers report to.
pub(super) type Reports = mpsc::UnboundedSender<WorkerMessage>;

/// The workers of a load point, as the coordinator sees them.
pub(super) struct Workers {
    pub(super) threads: Vec<JoinHandle<std::io::Result<Vec<NumberedResult>>>>,
    /// Number of workers on this host, by population. A thread has one or more of them.
    pub(super) own: Vec<usize>,
    /// Number of all workers. The further ones are proxies of other hosts.
    pub(super) count: usize,
    /// Start of the set-up.
    pub(super) begin: Nanos,
    /// Sends the schedule. Workers that wait for it end when this is dropped.
    pub(super) start: watch::Sender<Option<Schedule>>,
    pub(super) reports: mpsc::UnboundedReceiver<WorkerMessage>,
    pub(super) load: PointLoad,
    /// Tells the workers to set up no more sessions.
    pub(super) enough: Arc<AtomicBool>,
    exchange: Arc<RecorderExchange>,
    /// The way to the first host, if this is another one.
    pub(super) upstream: Option<Upstream>,
    /// Whether this host learned of the end of the window after it.
    pub(super) is_late: bool,
}

impl Workers {
    /// Returns the view before the first worker is started. `own` is the number of workers of each
    /// population.
    fn unstarted(
        context: &Context<'_>,
        load: PointLoad,
        own: Vec<usize>,
        exchange: Arc<RecorderExchange>,
        start: watch::Sender<Option<Schedule>>,
        reports: mpsc::UnboundedReceiver<WorkerMessage>,
    ) -> Self {
        let upstream = context.role.upstream();
        Self {
            threads: Vec::new(),
            count: own.iter().sum(),
            own,
            begin: clock::now(),
            start,
            reports,
            load,
            enough: upstream.map_or_else(Arc::default, Upstream::enough),
            exchange,
            upstream: upstream.cloned(),
            is_late: false,
        }
    }

    /// Starts the workers of a load point, this many for each population. If the system refuses a
    /// thread, ends those that it has started.
    pub(super) async fn start(
        context: &Context<'_>,
        point: PointNumber,
        load: PointLoad,
        populations: &[PopulationLoad],
        exchange: &Arc<RecorderExchange>,
    ) -> Result<(Self, (LoadGone, KeptSessions)), RunError> {
        // Only the workers keep these senders. So the receivers notice when no worker
        // is left.
        let (report, reports) = mpsc::unbounded_channel();
        let (under_load, load_gone, kept) = UnderLoad::new();
        let (start, started) = watch::channel(None);
        let cpus = cpus_of(context.plan.generator.pinning);
        let own = populations.iter().map(|of| of.workers).collect();
        let mut all = Self::unstarted(context, load, own, Arc::clone(exchange), start, reports);
        let (begin, wanted) = (all.begin, all.count);
        let (host, hosts) = host_of(context.plan.generator.part);
        let mut threads = AssignedThreads::new(context.plan.generator.threads as usize);
        for (number, (of_population, open_groups)) in workers_of(context, populations).enumerate() {
            let (population, load) = (of_population.population, of_population.load);
            let plan = &population.plan;
            let connections = &plan.sessions.connections;
            let assignment = Assignment {
                plan: Arc::clone(plan),
                mix: Arc::clone(&population.mix),
                generation_run: context.runs_before.wrapping_add(point.number),
                salt: population.salt,
                clients: load.clients,
                clients_before: clients_before(&plan.only().clients, point.number),
                rate: load.rate,
                setup: load.setup,
                enough: Arc::clone(&all.enough),
                groups_before: of_population.groups_before,
                groups: connections
                    .groups(plan.generator.part.clients(load.clients))
                    .skip(of_population.at)
                    .step_by(of_population.among)
                    .collect(),
                pace: SetupRate::new(
                    begin,
                    plan.generator.setup_rate,
                    connections.sessions_per_connection,
                    number * hosts + host,
                    wanted * hosts,
                ),
                cpu: None,
                exchange: Arc::clone(exchange),
                notes: population.notes.clone(),
                number,
                under_load: Cell::new(Some(under_load.clone())),
                cancel: context.cancel.clone(),
            };
            let worker = AssignedWorker {
                assignment,
                open_groups,
            };
            threads.add(worker, &plan.only().workload);
        }
        for (thread, assigned) in threads.pinned_to(&cpus).into_iter().enumerate() {
            let (report, started) = (report.clone(), started.clone());
            let spawned = std::thread::Builder::new()
                .name(format!("smbench-{thread}"))
                .spawn(move || work(assigned, &report, started));
            all = all.with(spawned).await?;
        }
        let proxies = all.with_proxies(context, point, populations, report, started, exchange);
        let all = proxies.await?;
        Ok((all, (load_gone, kept)))
    }

    /// Adds a thread. If the system has refused it, ends those that were started.
    pub(super) async fn with(
        mut self,
        spawned: std::io::Result<JoinHandle<std::io::Result<Vec<NumberedResult>>>>,
    ) -> Result<Self, RunError> {
        match spawned {
            Ok(thread) => {
                self.threads.push(thread);
                Ok(self)
            }
            Err(error) => {
                self.join().await?;
                Err(error.into())
            }
        }
    }

    /// Sets up all sessions, starts the load and follows it to its end.
    pub(super) async fn run<'a>(
        &mut self,
        load: LoadGone,
        kept: KeptSessions,
        context: &'a Context<'_>,
        point: PointNumber,
        observer: &mut dyn Observer,
    ) -> Result<(Observed, CpuReader, StageRows<'a>), RunError> {
        observer.progress(&Progress::SettingUp {
            point,
            ready: 0,
            elapsed: Duration::ZERO,
        });
        let SetUp {
            stood,
            clients,
            attempts,
        } = self.set_up(point, context.cancel, observer).await?;
        let under_load = match self.load.setup {
            SetupFailures::EndRun => self.load.clients,
            SetupFailures::CountUntil(_) => clients,
        };
        let meters = Meters::before_load(context).await;
        let schedule = match &self.upstream {
            Some(upstream) => ordered_schedule(upstream, context.cancel, self.load.setup).await?,
            None => Schedule::new(begin_of_load(context).await?, &context.plan, under_load),
        };
        let between = ends_between(context.plan.work.stages.as_ref(), &schedule);
        let (cpu_reader, readings) = CpuReader::start(
            schedule,
            self.start.subscribe(),
            between,
            context.cancel.clone(),
            meters,
            load,
            kept,
        )?;
        let mut rows = StageRows::new(context, schedule.open, readings);
        self.start.send_replace(Some(schedule));
        let mut environment = environment(context, point, "event", None);
        environment.extend(observer.hook_environment());
        let over = context.cancel.child();
        let events = RunningEvents::start(context, schedule, &environment, &over);
        let followed = self.follow(context, schedule, point, &mut rows, observer);
        let (schedule, closed) = followed.await;
        over.cancel();
        let events = events.end(closed).await;
        let observed = Observed {
            setup: stood.since(self.begin),
            schedule,
            closed,
            window: schedule.window_until(closed),
            clients,
            attempts,
            events,
        };
        Ok((observed, cpu_reader, rows))
    }

    /// Follows the workers until all have ended. Returns the schedule, which may have become
    /// shorter, and the instant at which the window closed. No measurement depends on when
    /// the coordinator runs, because its observer may delay it.
    async fn follow(
        &mut self,
        context: &Context<'_>,
        mut schedule: Schedule,
        point: PointNumber,
        rows: &mut StageRows<'_>,
        observer: &mut dyn Observer,
    ) -> (Schedule, Nanos) {
        let mut until_steady = UntilSteady::of(&context.plan);
        let mut ordered = self.upstream.as_ref().map(Upstream::schedules);
        if let Some(ordered) = &mut ordered {
            until_steady = None;
            ordered.mark_unchanged();
        }
        let mut shown = schedule.begin;
        let (mut ended, mut gone) = (0, 0);
        let mut last_end = Nanos(0);
        let mut read_back = ReadBack::default();
        while gone < self.count {
            // If the tick was missed, it is due at once.
            let tick = shown + PROGRESS_INTERVAL;
            tokio::select! {
                report = self.reports.recv() => match report {
                    // A worker that fails sends no `LoadEnded`.
                    Some(WorkerMessage::LoadEnded(at)) => {
                        ended += 1;
                        last_end = last_end.max(at);
                    }
                    Some(WorkerMessage::Gone) => gone += 1,
                    Some(_) => {}
                    None => gone = self.count,
                },
                Some(shorter) = next_schedule(&mut ordered) => {
                    self.start.send_replace(Some(shorter));
                    self.is_late |= clock::now() >= shorter.close;
                    schedule = shorter;
                }
                () = tokio::time::sleep_until(clock::timer(tick)) => {}
            }
            let (live, over) = self.exchange.collect();
            for over in &over {
                tell(context, point, over, observer);
                read_back.add(&over.recorder);
                if let Some(watched) = &mut until_steady {
                    watched.add(over);
                    if let Some(ended) = watched.ended(schedule, clock::now()) {
                        self.start.send_replace(Some(ended));
                        schedule = ended;
                        until_steady = None;
                    }
                }
            }
            let recorders = over.into_iter().map(|over| over.recorder);
            self.exchange.give_back(recorders);
            rows.follow(&self.exchange, point, observer);
            let now = clock::now();
            if now >= tick {
                let running = Progress::Running {
                    point,
                    stage: schedule.stage(now),
                    elapsed: now.since(schedule.begin).into(),
                    total: schedule.stop.since(schedule.begin).into(),
                    live,
                };
                let after_load = (ended > 0).then(|| now.since(last_end));
                let read_back = read_back.progress(point, after_load);
                observer.progress(&read_back.unwrap_or(running));
                shown = now;
            }
        }
        let load_end = if ended == self.count {
            last_end
        } else {
            Nanos::MAX
        };
        let closed = schedule.close.min(context.cancel.at()).min(load_end);
        (schedule, closed)
    }
}
