//! The workers of a load point, as the coordinator sees them: until all sessions
//! are set up, and then until all workers have ended.

use std::sync::Arc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::progress::{MeasuredInterval, Point, Progress};
use tokio::sync::mpsc;

use super::PROGRESS_INTERVAL;
use crate::cancel::Cancel;
use crate::clock;
use crate::run::board::Board;
use crate::run::schedule::{Interval, Place, Schedule};
use crate::run::timeline::Over;
use crate::run::worker::Report;
use crate::run::{Context, Observer};
use crate::session::SessionError;

/// Reports an interval of the window to the observer.
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

/// The coordinator's view of a load point.
pub(super) struct Observed {
    pub(super) schedule: Schedule,
    /// Instant at which the window closed; earlier if the load ended or the run was
    /// cancelled before.
    pub(super) closed: Nanos,
    /// Measured part of the window.
    pub(super) window: Nanos,
}

/// The workers, as the coordinator sees them.
pub(super) struct Crew {
    pub(super) workers: usize,
    pub(super) reports: mpsc::UnboundedReceiver<Report>,
    pub(super) board: Arc<Board>,
}

impl Crew {
    /// Waits until every session is set up; returns the instant of the last one.
    pub(super) async fn set_up(
        &mut self,
        point: Point,
        begin: Nanos,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<Nanos, SessionError> {
        let (mut shown, mut stood) = (begin, begin);
        let mut ready = 0;
        while ready < point.clients {
            let tick = clock::timer(shown + PROGRESS_INTERVAL);
            tokio::select! {
                report = self.reports.recv() => match report {
                    Some(Report::Ready { clients, at }) => {
                        ready += clients;
                        stood = stood.max(at);
                    }
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
                    // A worker that ends without a report has failed; joining its
                    // thread shows the reason.
                    Some(Report::LoadEnded(_) | Report::Gone) | None => {
                        return Err(SessionError::Interrupted);
                    }
                },
                () = cancel.cancelled() => return Err(SessionError::Interrupted),
                () = tokio::time::sleep_until(tick) => {}
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
        Ok(stood)
    }

    /// Follows the workers until all have ended. No measurement depends on when the
    /// coordinator runs, because its observer may delay it.
    pub(super) async fn watch(
        &mut self,
        context: &Context<'_>,
        schedule: Schedule,
        (point, repeat): (Point, u32),
        observer: &mut dyn Observer,
    ) -> Observed {
        let mut shown = schedule.begin;
        let (mut ended, mut gone) = (0, 0);
        let mut last_end = Nanos(0);
        while gone < self.workers {
            // If the tick was missed, it is due at once.
            let tick = shown + PROGRESS_INTERVAL;
            tokio::select! {
                report = self.reports.recv() => match report {
                    // A worker that fails sends no `LoadEnded`.
                    Some(Report::LoadEnded(at)) => {
                        ended += 1;
                        last_end = last_end.max(at);
                    }
                    Some(Report::Gone) => gone += 1,
                    Some(_) => {}
                    None => gone = self.workers,
                },
                () = tokio::time::sleep_until(clock::timer(tick)) => {}
            }
            let (live, over) = self.board.collect();
            for over in &over {
                tell(context, (point, repeat), over, observer);
            }
            let recorders = over.into_iter().map(|over| over.recorder);
            self.board.give_back(recorders);
            let now = clock::now();
            if now >= tick {
                observer.progress(&Progress::Running {
                    point,
                    stage: schedule.stage(now),
                    elapsed: now.since(schedule.begin).into(),
                    total: schedule.stop.since(schedule.begin).into(),
                    live,
                });
                shown = now;
            }
        }
        let load_end = match ended == self.workers {
            true => last_end,
            false => Nanos::MAX,
        };
        let closed = schedule.close.min(context.cancel.at()).min(load_end);
        Observed {
            schedule,
            closed,
            window: schedule.window_until(closed),
        }
    }
}
