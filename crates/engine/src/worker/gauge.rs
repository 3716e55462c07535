//! A thread of the load measures itself: with a timer that is noticed in the same way as
//! answers, and with the system's figures for its thread.
//!
//! The timer is a descriptor in the epoll set of the load, and its task is polled in the
//! order of events, so its expiry is noticed as late as an answer. A timer of the runtime
//! would be rounded to milliseconds, which is more than many latencies.

use std::cell::RefCell;
use std::future::poll_fn;
use std::time::Duration;

use hdrhistogram::Histogram;
use smbench_model::Nanos;
use smbench_model::record::{WorkerRecord, lateness_histogram};

use crate::machine::poller::polled::PolledTimer;
use crate::machine::process::ThreadUsage;
use crate::machine::{clock, process};
use crate::worker::schedule::Schedule;

/// Time between two measurements of a thread's lateness.
const TICK: Nanos = Nanos(10_000_000);

/// Measurements of a thread so far.
pub(crate) struct Gauge {
    pub(super) schedule: Schedule,
    opened: Option<(Nanos, ThreadUsage)>,
    closed: Option<(Nanos, ThreadUsage)>,
    lateness: Histogram<u64>,
    /// Instant of the next tick.
    due: Nanos,
}

impl Gauge {
    /// Makes a gauge for this thread. [`watch`] measures its lateness.
    pub(super) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            opened: None,
            closed: None,
            lateness: lateness_histogram(),
            due: Nanos::MAX,
        }
    }

    /// Records all ticks that have become due, so that none is lost while the thread is
    /// late.
    fn count_ticks(&mut self, now: Nanos) {
        while self.due <= now {
            if self.schedule.open <= self.due && self.due < self.schedule.close {
                self.lateness
                    .saturating_record(now.since(self.due).0.max(1));
            }
            self.due = self.due + TICK;
        }
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

    /// Returns the measurements of a load that has ended at this instant, which may be
    /// before the window ends.
    pub(crate) fn record(&mut self, cpu: Option<usize>, ended: Nanos) -> WorkerRecord {
        // A tick may not have been noticed before.
        self.count_ticks(ended);
        let closed = self
            .closed
            .unwrap_or_else(|| (clock::now(), process::thread_usage()));
        let (opened_at, opened) = self.opened.unwrap_or(closed);
        let (closed_at, closed) = closed;
        let seconds = closed_at.since(opened_at).as_secs_f64();
        let share = |later: Duration, earlier: Duration| {
            if seconds > 0.0 {
                (later.saturating_sub(earlier).as_secs_f64() / seconds).min(1.0)
            } else {
                0.0
            }
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

/// Measures the lateness of this thread until the window ends, with a timer of its load.
pub(super) async fn watch(timer: &PolledTimer, gauge: &RefCell<Gauge>) -> std::io::Result<()> {
    gauge.borrow_mut().due = clock::now() + TICK;
    loop {
        let due = gauge.borrow().due;
        timer.set(due.since(clock::now()))?;
        poll_fn(|_| timer.poll_expired()).await?;
        let now = clock::now();
        let gauge = &mut gauge.borrow_mut();
        gauge.count_ticks(now);
        if gauge.see(now) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::poller::Poller;
    use crate::machine::runtime;
    use crate::machine::tasks::Tasks;

    /// A thread that blocks for a while is late by that time, and no tick of that
    /// time is lost.
    #[test]
    fn a_thread_that_is_held_up_sees_it() {
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
        let poller = Poller::new().unwrap();
        let (timer, pause) = (
            PolledTimer::new(&poller).unwrap(),
            PolledTimer::new(&poller).unwrap(),
        );
        let gauge = RefCell::new(Gauge::new(schedule));
        let mut tasks = Tasks::new(&poller).unwrap();
        tasks.push_helper(watch(&timer, &gauge));
        tasks.push(Box::pin(async {
            let pause = async || {
                pause.set(TICK).unwrap();
                poll_fn(|_| pause.poll_expired()).await.unwrap();
            };
            // Until the gauge has recorded its first tick.
            while gauge.borrow().lateness.is_empty() {
                pause().await;
            }
            let hold = clock::now();
            while clock::now().since(hold) < held_up {}
            while gauge.borrow().lateness.max() < held_up.0 - 2 * TICK.0 {
                pause().await;
            }
        }));
        let limit = Duration::from_secs(30);
        let watching = async { tokio::time::timeout(limit, tasks.next()).await.unwrap() };
        let watched = runtime::local().unwrap().block_on(watching);
        assert_eq!(watched.unwrap(), Some(()));
        let record = gauge.borrow_mut().record(Some(3), clock::now());
        assert_eq!(record.cpu, Some(3));
        assert!(record.cpu_share > 0.0);
        assert!(record.lateness.len() > held_up.0 / TICK.0);
    }

    /// A tick that nobody has noticed before the load ends is late, not forgotten.
    #[test]
    fn a_tick_that_was_not_noticed_counts() {
        let begin = clock::now();
        let mut gauge = Gauge::new(Schedule {
            begin,
            open: begin,
            close: begin + Nanos(60_000_000_000),
            stop: begin + Nanos(60_000_000_000),
            interval: begin + Nanos(60_000_000_000),
            clients: 1,
        });
        gauge.due = begin;
        let lateness = gauge.record(None, begin).lateness;
        assert_eq!(lateness.len(), 1);
    }
}
