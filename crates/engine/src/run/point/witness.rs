//! A thread that reads CPU time when the window opens and when it closes.
//!
//! It has nothing else to do. The coordinator may be held up by its observer, and
//! what is read seconds late tells of another time; a look from a worker would be
//! part of the latencies that it measures.

use std::convert::Infallible;
use std::pin::pin;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::cancel::Cancel;
use crate::clock::{self, Nanos};
use crate::process::{self, CpuTime, Usage};
use crate::record::ClientUsage;
use crate::run::schedule::Schedule;
use crate::server_cpu::{Meter, Reading};

/// A worker keeps one until its load has ended: when none is left, no load is on.
pub(in crate::run) type UnderLoad = mpsc::Sender<Infallible>;
/// Notices that.
pub(super) type LoadGone = mpsc::Receiver<Infallible>;

pub(super) fn under_load() -> (UnderLoad, LoadGone) {
    mpsc::channel(1)
}

/// The thread at work.
pub(super) struct Witness(oneshot::Receiver<Seen>);

/// What it read.
pub(super) struct Seen {
    opened: (Nanos, Usage),
    /// When the window closed, or before that the load ended or the run was
    /// cancelled.
    closed: (Nanos, Usage),
    /// Of the server's CPU, at both instants, where the window did open.
    pub(super) server: [Option<Reading>; 2],
}

impl Witness {
    /// Begins to wait for the window.
    pub(super) fn start(
        schedule: Schedule,
        cancel: Cancel,
        meter: Meter,
        load: LoadGone,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let (tell, told) = oneshot::channel();
        std::thread::Builder::new()
            .name("smbench-cpu".to_owned())
            .spawn(move || {
                let seen = runtime.block_on(watch(schedule, cancel, meter, load));
                // The coordinator may have been dropped; then nobody asks.
                let _ = tell.send(seen);
            })?;
        Ok(Self(told))
    }

    /// What it has seen, when the window is over; `None` only where it panicked.
    pub(super) async fn seen(self) -> Option<Seen> {
        self.0.await.ok()
    }
}

async fn watch(schedule: Schedule, cancel: Cancel, meter: Meter, mut load: LoadGone) -> Seen {
    let mut over = pin!(async {
        tokio::select! {
            _ = load.recv() => {}
            () = cancel.cancelled() => {}
        }
    });
    // Beside the load: a server's exporter may take its time.
    let look = || {
        let meter = meter.clone();
        tokio::task::spawn_blocking(move || meter.read())
    };
    tokio::select! {
        () = tokio::time::sleep_until(clock::timer(schedule.open)) => {}
        () = &mut over => {
            let now = read();
            return Seen { opened: now, closed: now, server: [None, None] };
        }
    }
    let opened = read();
    let at_open = look();
    tokio::select! {
        () = tokio::time::sleep_until(clock::timer(schedule.close)) => {}
        () = &mut over => {}
    }
    let closed = read();
    let at_close = look();
    Seen {
        opened,
        closed,
        server: [finished(at_open).await, finished(at_close).await],
    }
}

fn read() -> (Nanos, Usage) {
    (clock::now(), process::usage())
}

/// What a look came to; none where it panicked.
async fn finished(look: JoinHandle<Reading>) -> Option<Reading> {
    look.await.ok()
}

impl Seen {
    /// What this process used in a window of that length, and the share of all
    /// CPUs of this machine that anyone did.
    pub(super) fn usage(&self, window: Nanos) -> (ClientUsage, Option<f64>) {
        let ((opened_at, opened), (closed_at, closed)) = (self.opened, self.closed);
        // The first look at the server is within the window, as far as it came in a
        // short one; the second is after it.
        let looking = self.server[0]
            .as_ref()
            .map_or(CpuTime::default(), |look| look.cost_until(closed_at));
        // Read a little late, as timers go, or not at once when the load ended: the
        // load is the same a little later, so its share is taken.
        let share = window.as_secs_f64() / closed_at.since(opened_at).as_secs_f64().max(1e-9);
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

    use super::*;
    use crate::server_cpu::CpuSource;

    const HOUR: Nanos = Nanos(3_600_000_000_000);

    async fn seen(open: Nanos, what_ends_it: impl FnOnce(UnderLoad, &Cancel)) -> Seen {
        let begin = clock::now();
        let schedule = Schedule {
            begin,
            open: begin + open,
            close: begin + HOUR + HOUR,
            stop: begin + HOUR + HOUR,
            interval: HOUR,
        };
        let (held, load) = under_load();
        let meter = Meter::new(&CpuSource::Off, None);
        let cancel = Cancel::default();
        let witness = Witness::start(schedule, cancel.clone(), meter, load).unwrap();
        // Not before it has come to the window, if it is open.
        tokio::time::sleep(Duration::from_millis(50)).await;
        what_ends_it(held, &cancel);
        let seen = tokio::time::timeout(Duration::from_secs(30), witness.seen());
        seen.await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_load_that_ends_early_or_is_cancelled_closes_the_window() {
        let cancelled = seen(Nanos(0), |held, cancel| {
            cancel.cancel();
            std::mem::forget(held);
        });
        let ended = seen(Nanos(0), |held, _| drop(held));
        for seen in [cancelled.await, ended.await] {
            assert!(seen.opened.0 < seen.closed.0);
            assert!(seen.opened.1.cpu.all() <= seen.closed.1.cpu.all());
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
