//! The workers of a load point, seen from the coordinator: until their sessions
//! stand, and then until their load has ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::PROGRESS_INTERVAL;
use crate::cancel::Cancel;
use crate::clock::{self, Nanos};
use crate::process::CpuTime;
use crate::record::ClientUsage;
use crate::run::Context;
use crate::run::board::Board;
use crate::run::health::Account;
use crate::run::observe::{MeasuredInterval, Observer, Point, Progress};
use crate::run::schedule::{Interval, Place, Schedule};
use crate::run::timeline::Over;
use crate::run::worker::Report;
use crate::server_cpu::{Reading, ServerCpuRecord};
use crate::session::SessionError;

/// Shows the observer an interval of the window.
pub(super) fn tell(
    context: &Context<'_>,
    (point, repeat): (Point, u32),
    over: &Over,
    observer: &mut dyn Observer,
) {
    let Interval { from, to, place } = over.interval;
    if let Place::Window(index) = place {
        observer.interval_ended(&MeasuredInterval {
            point,
            repeat,
            index,
            start: context.started_wall + Duration::from(from.since(context.started)),
            length: to.since(from).into(),
            ops: &over.recorder,
        });
    }
}

/// What the coordinator saw of a load point.
pub(super) struct Observed {
    pub(super) schedule: Schedule,
    /// When the window closed, or before that the load ended or the run was
    /// cancelled.
    pub(super) closed: Nanos,
    /// Measured part of the window.
    pub(super) window: Nanos,
    pub(super) usage: ClientUsage,
    pub(super) server_cpu: ServerCpuRecord,
    /// See [`crate::record::GeneratorRecord::machine_busy`].
    pub(super) machine_busy: Option<f64>,
}

/// The workers, seen from the coordinator.
pub(super) struct Crew {
    pub(super) workers: usize,
    pub(super) reports: mpsc::UnboundedReceiver<Report>,
    pub(super) board: Arc<Board>,
    pub(super) account: Arc<Account>,
}

impl Crew {
    /// Waits until every session stands.
    pub(super) async fn set_up(
        &mut self,
        point: Point,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        let begin = clock::now();
        let mut shown = begin;
        let mut ready = 0;
        while ready < point.clients {
            let report = tokio::select! {
                report = self.reports.recv() => report,
                () = cancel.cancelled() => None,
            };
            match report {
                Some(Report::Ready(clients)) => ready += clients,
                Some(Report::SetupFailed(error)) => {
                    return Err(match (ready, error) {
                        (0, error) | (_, error @ SessionError::Interrupted) => error,
                        (ready, error) => SessionError::AfterSome {
                            ready,
                            clients: point.clients,
                            source: Box::new(error),
                        },
                    });
                }
                // A worker that goes without a word has failed in a way that
                // joining it brings to light.
                Some(Report::LoadEnded(_) | Report::Gone) | None => {
                    return Err(SessionError::Interrupted);
                }
            }
            let now = clock::now();
            if now.since(shown) >= PROGRESS_INTERVAL {
                shown = now;
                observer.progress(&Progress::SettingUp {
                    point,
                    ready,
                    elapsed: now.since(begin).into(),
                });
            }
        }
        Ok(())
    }

    /// Follows the load from its begin to its end.
    pub(super) async fn watch(
        &mut self,
        context: &Context<'_>,
        schedule: Schedule,
        (point, repeat): (Point, u32),
        observer: &mut dyn Observer,
    ) -> Observed {
        let mut last_tick = schedule.begin;
        // Beside the load: a server's exporter may take its time.
        let read_server_cpu = || {
            let meter = context.server_cpu.clone();
            tokio::task::spawn_blocking(move || meter.read())
        };
        let (mut cpu_at_open, mut cpu_at_close) = (None, None);
        let mut closing = None;
        let (mut ended, mut gone) = (0, 0);
        let mut last_end = Nanos(0);
        while ended.max(gone) < self.workers {
            let tick = last_tick + PROGRESS_INTERVAL;
            // What became due while the last was seen to is due at once.
            let next = [
                cpu_at_open.is_none().then_some(schedule.open),
                closing.is_none().then_some(schedule.close),
                Some(tick),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(tick);
            tokio::select! {
                report = self.reports.recv() => match report {
                    // A worker that fails goes without the first of these.
                    Some(Report::LoadEnded(at)) => {
                        ended += 1;
                        last_end = last_end.max(at);
                    }
                    Some(Report::Gone) => gone += 1,
                    Some(_) => {}
                    None => gone = self.workers,
                },
                () = tokio::time::sleep_until(clock::timer(next)) => {}
                () = context.cancel.cancelled(), if closing.is_none() => {
                    closing = Some(clock::now());
                    self.account.close();
                    cpu_at_close = Some(read_server_cpu());
                }
            }
            let (live, over) = self.board.collect();
            for over in &over {
                tell(context, (point, repeat), over, observer);
            }
            let recorders = over.into_iter().map(|over| over.recorder);
            self.board.give_back(recorders);
            let now = clock::now();
            self.account.see(now, &schedule);
            if cpu_at_open.is_none() && now >= schedule.open {
                cpu_at_open = Some(read_server_cpu());
            }
            if closing.is_none() && (now >= schedule.close || ended.max(gone) == self.workers) {
                closing = Some(now);
                self.account.close();
                cpu_at_close = Some(read_server_cpu());
            }
            if now >= tick {
                observer.progress(&Progress::Running {
                    point,
                    stage: schedule.stage(now),
                    elapsed: now.since(schedule.begin).into(),
                    total: schedule.stop.since(schedule.begin).into(),
                    live,
                });
                last_tick = now;
            }
        }
        // The workers' clocks stop at the cancel, or with their load, not when that
        // is noticed here.
        let load_end = match ended == self.workers {
            true => last_end,
            false => Nanos::MAX,
        };
        let closed = closing.unwrap_or(schedule.close);
        let closed = closed.min(context.cancel.at()).min(load_end);
        let window = schedule.window_until(closed);
        let [(opened_at, at_open), (closed_at, at_close)] = self.account.ends();
        // Read a little late, as timers go; the load is the same a little later, so
        // its share is taken.
        let share = window.as_secs_f64() / closed_at.since(opened_at).as_secs_f64().max(1e-9);
        let opening = finished(cpu_at_open).await;
        // The first look at the server is within the window, as far as it came in a
        // short one; the second is after it.
        let looking = opening
            .as_ref()
            .map_or(CpuTime::default(), |look| look.cost_until(closed_at));
        let load = at_close.cpu.since(at_open.cpu).since(looking);
        let load = load.share(share.min(2.0));
        let closing = finished(cpu_at_close).await;
        let server_cpu = context.server_cpu.between(opening, closing, window);
        Observed {
            schedule,
            server_cpu,
            closed,
            window,
            usage: ClientUsage {
                cpu_user: load.user,
                cpu_system: load.system,
                max_rss_bytes: at_close.max_rss_bytes,
            },
            machine_busy: at_close
                .machine
                .zip(at_open.machine)
                .and_then(|(close, open)| close.busy_since(open, looking.all())),
        }
    }
}

/// What a reading came to; none where there was none, or it panicked.
async fn finished(reading: Option<JoinHandle<Reading>>) -> Option<Reading> {
    reading?.await.ok()
}
