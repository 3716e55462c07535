//! A worker measures itself: with a timer that is noticed in the same way as
//! answers, and with the system's figures for its thread.
//!
//! The timer is a descriptor in the same epoll set as the sockets, so its expiry is
//! noticed as late as an answer. A timer of the runtime would be rounded to
//! milliseconds, which is more than many latencies.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use hdrhistogram::Histogram;
use smbench_model::Nanos;
use smbench_model::record::{WorkerRecord, lateness_histogram};

use crate::machine::process::ThreadUsage;
use crate::machine::{clock, process};
use crate::worker::alarm::Timer;
use crate::worker::schedule::Schedule;

/// Time between two measurements of a worker's lateness.
const TICK: Nanos = Nanos(10_000_000);

/// Measurements of a worker so far.
pub(crate) struct Gauge {
    pub(super) schedule: Schedule,
    opened: Option<(Nanos, ThreadUsage)>,
    closed: Option<(Nanos, ThreadUsage)>,
    lateness: Histogram<u64>,
}

impl Gauge {
    /// Starts to measure this thread, in a task of its own that ends with the
    /// window. If the system provides no timer, lateness stays unknown.
    pub(crate) fn start(schedule: Schedule) -> Rc<RefCell<Self>> {
        let gauge = Rc::new(RefCell::new(Self {
            schedule,
            opened: None,
            closed: None,
            lateness: lateness_histogram(),
        }));
        let watched = Rc::clone(&gauge);
        tokio::task::spawn_local(async move {
            let watched_all = async { watch(&Timer::new()?, &watched).await };
            if watched_all.await.is_err() {
                watch_only_usage(schedule, &watched).await;
            }
        });
        gauge
    }

    /// Reads the thread's usage if `now` has passed an edge of the window. Returns
    /// whether the window is over.
    pub(crate) fn see(&mut self, now: Nanos) -> bool {
        if self.opened.is_none() && now >= self.schedule.open {
            self.opened = Some((now, process::thread_usage()));
        }
        if self.closed.is_none() && now >= self.schedule.close {
            self.closed = Some((now, process::thread_usage()));
        }
        self.closed.is_some()
    }

    /// Returns the measurements when the worker's load ends, which may be before
    /// the window ends.
    pub(crate) fn record(&self, cpu: Option<usize>) -> WorkerRecord {
        let closed = self
            .closed
            .unwrap_or_else(|| (clock::now(), process::thread_usage()));
        let (opened_at, opened) = self.opened.unwrap_or(closed);
        let (closed_at, closed) = closed;
        let seconds = closed_at.since(opened_at).as_secs_f64();
        let share = |later: Duration, earlier: Duration| match seconds > 0.0 {
            true => (later.saturating_sub(earlier).as_secs_f64() / seconds).min(1.0),
            false => 0.0,
        };
        WorkerRecord {
            cpu,
            cpu_share: share(closed.cpu, opened.cpu),
            waiting_share: closed
                .waiting
                .zip(opened.waiting)
                .map(|(later, earlier)| share(later, earlier)),
            lateness: self.lateness.clone(),
        }
    }
}

async fn watch(timer: &Timer, gauge: &RefCell<Gauge>) -> std::io::Result<()> {
    let mut due = clock::now() + TICK;
    loop {
        timer.set(due.since(clock::now()))?;
        poll_fn(|context| timer.poll_expired(context)).await?;
        let now = clock::now();
        let gauge = &mut gauge.borrow_mut();
        // Records all ticks that have become due, so that none is lost while the
        // thread is late.
        while due <= now {
            if gauge.schedule.open <= due && due < gauge.schedule.close {
                gauge.lateness.saturating_record(now.since(due).0.max(1));
            }
            due = due + TICK;
        }
        if gauge.see(now) {
            return Ok(());
        }
    }
}

async fn watch_only_usage(schedule: Schedule, gauge: &RefCell<Gauge>) {
    for at in [schedule.open, schedule.close] {
        tokio::time::sleep_until(clock::timer(at)).await;
        gauge.borrow_mut().see(clock::now());
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::LocalSet;

    use super::*;

    /// A thread that blocks for a while is late by that time, and no tick of that
    /// time is lost.
    #[tokio::test]
    async fn a_thread_that_is_held_up_sees_it() {
        let held_up = Nanos(150_000_000);
        let begin = clock::now();
        let close = begin + Nanos(60_000_000_000);
        let schedule = Schedule {
            begin,
            open: begin,
            close,
            stop: close,
            interval: close,
            clients: 1,
        };
        let watching = async {
            let gauge = Gauge::start(schedule);
            // Until the gauge has recorded its first tick.
            while gauge.borrow().lateness.is_empty() {
                tokio::time::sleep(TICK.into()).await;
            }
            let hold = clock::now();
            while clock::now().since(hold) < held_up {}
            while gauge.borrow().lateness.max() < held_up.0 - 2 * TICK.0 {
                tokio::task::yield_now().await;
            }
            let record = gauge.borrow().record(Some(3));
            assert_eq!(record.cpu, Some(3));
            assert!(record.cpu_share > 0.0);
            assert!(record.lateness.len() > held_up.0 / TICK.0);
        };
        let limit = Duration::from_secs(30);
        let watching = tokio::time::timeout(limit, watching);
        LocalSet::new().run_until(watching).await.unwrap();
    }
}
