//! The set-up of a load point's sessions, as the coordinator sees it.

use std::sync::atomic::Ordering;

use smbench_model::Nanos;
use smbench_model::load::SetupFailures;
use smbench_model::progress::{PointNumber, Progress};
use smbench_model::record::{AttemptsAt, SetupAttempts};

use super::workers::Workers;
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::run::Observer;
use crate::run::observe::PROGRESS_INTERVAL;
use crate::smb::session::SessionError;
use crate::worker::assignment::WorkerMessage;

/// The sessions of a load point.
pub(super) struct SetUp {
    /// Instant at which the last session was ready.
    pub(super) stood: Nanos,
    /// Number of clients whose sessions were set up.
    pub(super) clients: u32,
    /// The attempts, where failures are counted.
    pub(super) attempts: Option<SetupAttempts>,
}

/// Number of attempts from which on their share counts, at most.
const ATTEMPTS_MIN: f64 = 1000.0;

/// Returns whether this share of the attempts has failed, where 0 means any of them. Of too
/// few attempts, a single failure would be a large share.
fn is_limit(attempts: &SetupAttempts, share: f64) -> bool {
    if share <= 0.0 {
        return attempts.failed() > 0;
    }
    let enough = (1.0 / share).min(ATTEMPTS_MIN);
    f64::from(attempts.ended) >= enough && attempts.failed_share() >= share
}

/// The state of a set-up that is under way.
struct SoFar {
    ready: u32,
    stood: Nanos,
    attempts: SetupAttempts,
    /// The last failure that was counted.
    failed: Option<SessionError>,
    /// Number of workers that set up no more sessions.
    done: usize,
}

impl Workers {
    /// Waits until every session is set up, or has failed where failures are counted.
    pub(super) async fn set_up(
        &mut self,
        point: PointNumber,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<SetUp, SessionError> {
        let mut shown = self.begin;
        let mut so_far = SoFar {
            ready: 0,
            stood: self.begin,
            attempts: SetupAttempts::default(),
            failed: None,
            done: 0,
        };
        while !self.is_set_up(&so_far, point) {
            let tick = clock::timer(shown + PROGRESS_INTERVAL);
            tokio::select! {
                report = self.reports.recv() => self.take(report, point, &mut so_far)?,
                () = cancel.cancelled(), if self.load.setup == SetupFailures::EndRun => {
                    return Err(SessionError::Interrupted);
                }
                () = tokio::time::sleep_until(tick) => {}
            }
            let now = clock::now();
            if now.since(shown) >= PROGRESS_INTERVAL {
                shown = now;
                self.note(&mut so_far, now);
                observer.progress(&Progress::SettingUp {
                    point,
                    ready: so_far.ready,
                    elapsed: now.since(self.begin).into(),
                });
            }
        }
        self.note(&mut so_far, clock::now());
        match (so_far.ready, so_far.failed.take()) {
            (0, error) => Err(error.unwrap_or(SessionError::Interrupted)),
            _ => Ok(SetUp {
                stood: so_far.stood,
                clients: so_far.ready,
                attempts: (self.load.setup != SetupFailures::EndRun).then_some(so_far.attempts),
            }),
        }
    }

    fn is_set_up(&self, so_far: &SoFar, point: PointNumber) -> bool {
        match self.load.setup {
            SetupFailures::EndRun => so_far.ready >= point.clients,
            SetupFailures::CountUntil(_) => so_far.done >= self.count,
        }
    }

    /// Notes how many sessions stand.
    fn note(&self, so_far: &mut SoFar, now: Nanos) {
        let failed = so_far.attempts.failed();
        let elapsed = now.since(self.begin).into();
        let over_time = &mut so_far.attempts.over_time;
        over_time.push(AttemptsAt {
            elapsed,
            stood: so_far.ready,
            failed,
        });
    }

    /// Takes a report of a worker into account.
    fn take(
        &self,
        report: Option<WorkerMessage>,
        point: PointNumber,
        so_far: &mut SoFar,
    ) -> Result<(), SessionError> {
        if let (Some(upstream), Some(report)) = (&self.upstream, &report) {
            upstream.report(report);
        }
        match report {
            Some(WorkerMessage::Ready { clients, at }) => {
                so_far.ready += clients;
                so_far.attempts.ended += clients;
                so_far.stood = so_far.stood.max(at);
            }
            Some(WorkerMessage::Refused { clients, error }) => {
                let attempts = &mut so_far.attempts;
                if error.is_of_this_machine() {
                    attempts.own_limit = Some(error.to_string());
                } else {
                    attempts.fail(error.phase(), error.cause(), clients);
                }
                so_far.failed = Some(error);
            }
            Some(WorkerMessage::AllTried) => so_far.done += 1,
            Some(WorkerMessage::SetupFailed(error)) => {
                return Err(match (so_far.ready, error) {
                    (0, error) | (_, error @ SessionError::Interrupted) => error,
                    (ready, error) => SessionError::AfterSome {
                        ready,
                        clients: point.clients,
                        source: Box::new(error),
                    },
                });
            }
            // A worker that ends without a report has failed; joining its thread shows the
            // reason.
            Some(WorkerMessage::LoadEnded(_) | WorkerMessage::Gone) | None => {
                return Err(SessionError::Interrupted);
            }
        }
        let attempts = &mut so_far.attempts;
        // Of several hosts, the first one judges the share, of all of them.
        if let (SetupFailures::CountUntil(share), None) = (self.load.setup, &self.upstream) {
            attempts.limit_reached |= is_limit(attempts, share);
        }
        if attempts.limit_reached || attempts.own_limit.is_some() {
            self.enough.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
