//! A thread that reads CPU time when the window opens and when it closes.
//!
//! It has no other work. The observer may delay the coordinator, and a reading that
//! is seconds late belongs to another period. A reading by a worker would add to
//! the latencies that it measures.
//!
//! A server may have a process for each session, and the CPU time of one that ends is out of
//! reach for a moment. So workers keep their sessions until the last reading is done.

mod looks;

use std::pin::pin;

use smbench_model::Nanos;
use smbench_model::record::{ClientUsage, CountersRecord, StageMemory};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::machine::cancel::Cancel;
use crate::machine::counters::{CounterMeter, ServerCounterReading};
use crate::machine::process::{CpuTime, Usage};
use crate::machine::server_cpu::{Meter, Reading};
use crate::machine::tcp::{TcpReading, TcpWatch};
use crate::machine::{clock, process};
use crate::run::context::Context;
use crate::worker::schedule::{Schedule, Schedules};
use crate::worker::under_load::{KeptSessions, LoadGone};
use looks::{Look, StageLooks, one_reading_at_a_time};

/// What the thread reads.
pub(super) struct Meters {
    pub(super) server: Meter,
    /// TCP's connections, if that was asked for.
    pub(super) tcp: Option<TcpWatch>,
    /// The meter of the server's counters with the reading before the load, if that was
    /// asked for.
    pub(super) counters: Option<(CounterMeter, Option<ServerCounterReading>)>,
}

impl Meters {
    /// Returns the meters of a load point whose sessions are set up, and reads what is read
    /// before the load.
    pub(super) async fn before_load(context: &Context<'_>) -> Self {
        let mut counters = None;
        if let Some(meter) = &context.counters {
            counters = Some((meter.clone(), read_counters(meter).await));
        }
        Self {
            server: context.server_cpu.clone(),
            tcp: context.tcp.clone().and_then(Result::ok),
            counters,
        }
    }
}

/// Reads the server's counters when they are complete; `None` if the reading panicked.
async fn read_counters(meter: &CounterMeter) -> Option<ServerCounterReading> {
    tokio::time::sleep(meter.delay()).await;
    let meter = meter.clone();
    tokio::task::spawn_blocking(move || meter.read()).await.ok()
}

/// Handle of the running thread.
pub(super) struct CpuReader(oneshot::Receiver<Seen>);

/// The instants between the stages of a load; `None` if it has none.
pub(super) type StageInstants = Option<Vec<Nanos>>;

/// Receives the readings at the start and at the end of each stage, if the load has stages.
pub(super) type StageReadings = mpsc::UnboundedReceiver<StageReading>;

/// What this process had used at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsageReading {
    at: Nanos,
    usage: Usage,
}

/// The readings of the thread.
pub(super) struct Seen {
    opened: UsageReading,
    /// Reading when the window closed; earlier if the load ended or the run was
    /// cancelled before.
    closed: UsageReading,
    /// Readings of the server's CPU at both instants, if the window opened.
    pub(super) server: [Option<Reading>; 2],
    /// Readings of TCP's counters at both instants, if that was asked for.
    pub(super) tcp: [Option<TcpReading>; 2],
    /// What the server counted under the whole load, if that was asked for.
    pub(super) counters: Option<CountersRecord>,
}

/// The readings at the start of the first stage, or at the end of a stage.
pub(super) struct StageReading {
    /// The number of stages before it.
    pub(super) number: usize,
    used: UsageReading,
    server: Reading,
    tcp: Option<TcpReading>,
    pub(super) memory: StageMemory,
}

impl CpuReader {
    /// Starts the thread, which waits for the window.
    pub(super) fn start(
        schedule: Schedule,
        schedules: Schedules,
        stage_ends: StageInstants,
        cancel: Cancel,
        meters: Meters,
        mut load: LoadGone,
        kept: KeptSessions,
    ) -> std::io::Result<(Self, StageReadings)> {
        let runtime = one_reading_at_a_time()?;
        let (tell, receiver) = oneshot::channel();
        let (of_stages, readings) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("smbench-cpu".to_owned())
            .spawn(move || {
                // An exporter needs no sessions, and it may be slow.
                let Meters {
                    server,
                    tcp,
                    counters,
                } = meters;
                let is_needed = server.is_of_processes() || tcp.is_some() || counters.is_some();
                let kept = is_needed.then_some(kept);
                let seen = runtime.block_on(async {
                    let look = Look { server, tcp };
                    let stages = StageLooks::new(&look, stage_ends, of_stages);
                    let seen = watch(schedule, schedules, stages, cancel, &look, &mut load).await;
                    Seen {
                        counters: counted(counters, &mut load).await,
                        ..seen
                    }
                });
                drop(kept);
                // The coordinator may have ended already and dropped the receiver.
                let _ = tell.send(seen);
            })?;
        Ok((Self(receiver), readings))
    }

    /// Returns the readings when the window is over; `None` only if the thread
    /// panicked.
    pub(super) async fn seen(self) -> Option<Seen> {
        self.0.await.ok()
    }
}

async fn watch(
    schedule: Schedule,
    schedules: Schedules,
    mut stages: StageLooks,
    cancel: Cancel,
    look: &Look,
    load: &mut LoadGone,
) -> Seen {
    let mut over = pin!(async {
        tokio::select! {
            _ = load.recv() => {}
            () = cancel.cancelled() => {}
        }
    });
    tokio::select! {
        () = tokio::time::sleep_until(clock::timer(schedule.open)) => {}
        () = &mut over => {
            let now = read();
            return Seen { opened: now, closed: now, server: [None, None], tcp: [None, None], counters: None };
        }
    }
    let opened = read();
    let at_open = look.start();
    stages.start(opened);
    let mut is_over = false;
    for end in std::mem::take(&mut stages.ends) {
        tokio::select! {
            () = tokio::time::sleep_until(clock::timer(end)) => stages.start(read()),
            () = &mut over => {
                is_over = true;
                break;
            }
        }
    }
    if !is_over {
        tokio::select! {
            () = closed(schedule, schedules) => {}
            () = &mut over => {}
        }
    }
    let closed = read();
    let at_close = look.start();
    stages.start(closed);
    let (server_open, tcp_open) = finished(at_open).await;
    let (server_close, tcp_close) = finished(at_close).await;
    stages.finish().await;
    Seen {
        opened,
        closed,
        server: [server_open, server_close],
        tcp: [tcp_open, tcp_close],
        counters: None,
    }
}

/// Waits for the end of the load, and returns what the server counted under it.
async fn counted(
    counters: Option<(CounterMeter, Option<ServerCounterReading>)>,
    load: &mut LoadGone,
) -> Option<CountersRecord> {
    let (meter, before) = counters?;
    // Nothing is sent: it ends.
    let _ = load.recv().await;
    let after = read_counters(&meter).await;
    Some(meter.between(before, after))
}

/// Waits for the end of the window, which may become earlier meanwhile.
async fn closed(mut schedule: Schedule, mut schedules: Schedules) {
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(clock::timer(schedule.close)) => return,
            Ok(()) = schedules.changed() => {
                schedule = schedules.borrow().unwrap_or(schedule);
            }
        }
    }
}

fn read() -> UsageReading {
    UsageReading {
        at: clock::now(),
        usage: process::usage(),
    }
}

/// Returns a reading of the server and of TCP; `None` if it panicked.
async fn finished(
    look: JoinHandle<(Reading, Option<TcpReading>)>,
) -> (Option<Reading>, Option<TcpReading>) {
    look.await
        .map_or((None, None), |(server, tcp)| (Some(server), tcp))
}

impl Seen {
    /// Returns the readings at both ends of a stage.
    pub(super) fn of_stage(opening: &StageReading, closing: &StageReading) -> Self {
        let both = [opening, closing];
        Self {
            opened: opening.used,
            closed: closing.used,
            server: both.map(|reading| Some(reading.server.clone())),
            tcp: both.map(|reading| reading.tcp.clone()),
            counters: None,
        }
    }

    /// Returns the CPU time of this process in a window of that length, and the
    /// share of all CPUs of this machine that were busy.
    pub(super) fn usage(&self, window: Nanos) -> (ClientUsage, Option<f64>) {
        let (opened, closed) = (self.opened.usage, self.closed.usage);
        let length = self.closed.at.since(self.opened.at);
        // The first reading of the server is within the window; a short window may
        // contain only a part of it. The second one is after the window.
        let looking = self.server[0]
            .as_ref()
            .map_or(CpuTime::default(), |look| look.cost_until(self.closed.at));
        // The readings may be slightly late, because of timers or an early end of
        // the load. The load is the same shortly after the window, so the window's
        // share is taken.
        let share = window.as_secs_f64() / length.as_secs_f64().max(1e-9);
        let load = closed.cpu.since(opened.cpu).since(looking);
        let load = load.share(share.min(2.0));
        let looking = looking.all();
        let machine = closed.machine.zip(opened.machine);
        let usage = ClientUsage {
            cpu_user: load.user,
            cpu_system: load.system,
            max_rss_bytes: closed.max_rss_bytes,
        };
        (
            usage,
            machine.and_then(|(close, open)| close.busy_since(open, looking)),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smbench_model::cpu::CpuSource;

    use super::*;
    use crate::worker::under_load::UnderLoad;

    const HOUR: Nanos = Nanos(3_600_000_000_000);

    async fn seen(open: Nanos, what_ends_it: impl FnOnce(UnderLoad, &Cancel)) -> Seen {
        seen_with(None, open, what_ends_it).await.0
    }

    /// The readings, and the numbers of those at the ends of stages.
    async fn seen_with(
        stage_ends: StageInstants,
        open: Nanos,
        what_ends_it: impl FnOnce(UnderLoad, &Cancel),
    ) -> (Seen, Vec<usize>) {
        let begin = clock::now();
        let schedule = Schedule {
            begin,
            open: begin + open,
            close: begin + HOUR + HOUR,
            stop: begin + HOUR + HOUR,
            interval: HOUR,
            clients: 1,
        };
        let (held, load, kept) = UnderLoad::new();
        let meters = Meters {
            server: Meter::new(&CpuSource::Off, &[]),
            tcp: None,
            counters: None,
        };
        let cancel = Cancel::default();
        let (_schedules, schedules) = tokio::sync::watch::channel(Some(schedule));
        let cancelled = cancel.clone();
        let (cpu_reader, mut readings) = CpuReader::start(
            schedule, schedules, stage_ends, cancelled, meters, load, kept,
        )
        .unwrap();
        // Waits so that the thread has reached the window if it is open.
        tokio::time::sleep(Duration::from_millis(50)).await;
        what_ends_it(held, &cancel);
        let seen = tokio::time::timeout(Duration::from_secs(30), cpu_reader.seen());
        let seen = seen.await.unwrap().unwrap();
        let mut numbers = Vec::new();
        while let Some(reading) = readings.recv().await {
            numbers.push(reading.number);
        }
        numbers.sort_unstable();
        (seen, numbers)
    }

    /// The last reading is started when nothing else is left to do.
    #[tokio::test]
    async fn no_reading_of_a_stage_is_lost() {
        let ends = Some((1..=3).map(Nanos).collect());
        let (_, numbers) = seen_with(ends, Nanos(0), |held, _| drop(held)).await;
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn a_load_that_ends_early_or_is_cancelled_closes_the_window() {
        let cancelled = seen(Nanos(0), |held, cancel| {
            cancel.cancel();
            std::mem::forget(held);
        });
        let ended = seen(Nanos(0), |held, _| drop(held));
        for seen in [cancelled.await, ended.await] {
            assert!(seen.opened.at < seen.closed.at);
            assert!(seen.opened.usage.cpu.all() <= seen.closed.usage.cpu.all());
            assert!(seen.server.iter().all(Option::is_some));
        }
    }

    #[tokio::test]
    async fn a_window_that_never_opened_has_no_length() {
        let seen = seen(HOUR, |held, _| drop(held)).await;
        assert_eq!(seen.opened, seen.closed);
        assert!(seen.server.iter().all(Option::is_none));
        let (usage, machine) = seen.usage(Nanos(0));
        assert_eq!((usage.cpu_user, usage.cpu_system), Default::default());
        assert_eq!(machine, None);
    }
}
