//! Sets up the sessions of a worker, a limited number at a time and at most at the
//! given rate, and logs them off at the end.
//!
//! Invariant: memory that a session needs only during set-up is proportional to the
//! number of parallel set-ups, not to the total number of sessions.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::contents::verify::{Ledger, Others};
use smbench_model::kind::OpKind;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::drivers::driver::{Connector, Driver, Opened};
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::smb::session::SessionError;
use crate::worker::assignment::{Assignment, Means, Outcome, Report};
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for, resume};
use crate::worker::group::Group;
use crate::worker::member::Member;
use crate::worker::schedule::Schedule;
use crate::worker::shared::Shared;
use crate::worker::standing::Standing;
use crate::worker::supply::{Supplies, Supply};

/// Number of groups that one worker sets up, or logs off, in parallel.
const SESSIONS_AT_ONCE: usize = 32;
/// Maximum lateness that is compensated. It covers late timers only: after a slow
/// server, the worker must not exceed the rate.
const MADE_UP: Nanos = Nanos(10_000_000);

/// Computes when a worker may begin its next group: at even distances, and not
/// earlier to compensate for lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    due: Nanos,
    interval: Nanos,
}

impl Pace {
    /// Makes the pace from `begin` on. All `workers` together take turns and begin
    /// `rate` sessions per second, with `sessions` in each group. Without a rate,
    /// groups are due at once.
    pub(crate) fn new(
        begin: Nanos,
        rate: Option<u32>,
        sessions: u32,
        (worker, workers): (usize, usize),
    ) -> Self {
        // A group takes the time of all its sessions.
        let turn = rate.map_or(0, |rate| {
            u64::from(sessions) * 1_000_000_000 / u64::from(rate)
        });
        Self {
            due: begin + Nanos(turn * worker as u64),
            interval: Nanos(turn * workers as u64),
        }
    }

    /// Returns the instant at which the next group is due.
    pub(super) const fn due(&self) -> Nanos {
        self.due
    }

    /// Returns the pace after a group began at `now`.
    pub(super) fn begun(self, now: Nanos) -> Self {
        Self {
            due: (self.due + self.interval).max(now - MADE_UP),
            ..self
        }
    }
}

/// Sets up all groups of a worker; the first failure ends it.
pub(super) async fn set_up<C: Connector, T: Supplies>(
    worker: &Rc<Assignment>,
    means: &Rc<Means<C, T>>,
    shared: &Rc<RefCell<Shared>>,
    reports: &mpsc::UnboundedSender<Report>,
    start: &watch::Receiver<Option<Schedule>>,
    outcome: &mut Outcome,
) -> Result<Standing<C::Driver, T::Supply>, SessionError> {
    let mut groups = 0..worker.groups.len();
    let mut running = JoinSet::new();
    let mut pace = worker.pace;
    let mut standing = Standing::new(worker);
    let mut called_off = start.clone();
    loop {
        let now = clock::now();
        while running.len() < SESSIONS_AT_ONCE && pace.due() <= now {
            let Some(group) = groups.next() else { break };
            let (worker, means) = (Rc::clone(worker), Rc::clone(means));
            running.spawn_local(
                async move { open_group(&worker, &means, &worker.groups[group]).await },
            );
            pace = pace.begun(now);
        }
        if running.is_empty() && groups.is_empty() {
            return Ok(standing);
        }
        let is_waiting = running.len() < SESSIONS_AT_ONCE && !groups.is_empty();
        let opened = tokio::select! {
            // In this order, because the schedule may follow immediately after the
            // last session.
            biased;
            Some(opened) = running.join_next() => opened,
            // A schedule is sent only when all sessions are set up. A change before
            // that means that another worker has failed.
            _ = called_off.changed() => return Err(SessionError::Interrupted),
            () = worker.cancel.cancelled() => return Err(SessionError::Interrupted),
            () = tokio::time::sleep_until(clock::timer(pace.due())), if is_waiting => continue,
        };
        let Opened {
            driver: mut group,
            session_setup,
            granted,
            breaks,
            acknowledged,
            connections,
        } = opened.unwrap_or_else(resume)?;
        group.granted = granted;
        group.breaks = breaks;
        group.acknowledged = acknowledged;
        let _ = reports.send(Report::Ready {
            clients: group.numbers().count() as u32,
            at: clock::now(),
        });
        standing.push(group, shared, start);
        outcome.connections += u64::from(connections);
        for session in session_setup {
            outcome.session_setup.saturating_record(session.0);
        }
    }
}

/// Logs off all sessions, which closes their files. Sessions without an answer when
/// the time is up lose their connection.
pub(super) async fn tear_down<D: Driver, S: Supply>(
    groups: Vec<Group<D, S>>,
    cancel: &Cancel,
    limit: Duration,
) {
    let mut groups = groups.into_iter();
    let mut running = JoinSet::new();
    let all = async {
        loop {
            // The number of tasks is limited, because each has memory for a whole
            // log-off.
            while running.len() < SESSIONS_AT_ONCE
                && let Some(group) = groups.next()
            {
                running.spawn_local(group.driver.close());
            }
            if running.join_next().await.is_none() {
                break;
            }
        }
    };
    tokio::select! {
        () = all => {}
        () = tokio::time::sleep(limit) => {}
        () = cancelled_for(cancel, CANCEL_GRACE) => {}
    }
}

/// Sets up a group.
pub(crate) async fn open_group<C: Connector, T: Supplies>(
    worker: &Assignment,
    means: &Means<C, T>,
    clients: &[u32],
) -> Result<Opened<Group<C::Driver, T::Supply>>, SessionError> {
    let plan = &*worker.plan;
    let opened = means.connector.open(clients).await?;
    let verified = match plan.verify {
        Verify::ReadBack if plan.workload.uses_files() => {
            Some(match plan.workload.kinds().contains(&OpKind::Write) {
                true => Others::Write,
                false => Others::Read,
            })
        }
        _ => None,
    };
    let members = clients
        .iter()
        .map(|&number| {
            let operations = means.supplies.of_client(number);
            let writes @ (run, salt) = (worker.generation_run, worker.salt);
            let files = &plan.workload.files;
            let ledger =
                verified.map(|others| Box::new(Ledger::beside(others, files, number, run, salt)));
            Member::new(number, writes, operations, ledger)
        })
        .collect();
    Ok(opened.map(|driver| Group::new(driver, members, plan.outstanding, &worker.mix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn workers_take_turns_at_even_distances() {
        for (rate, sessions, workers, starts) in [
            (None, 1, 2, [[5, 5, 5], [5, 5, 5]]),
            (Some(100), 1, 2, [[5, 25, 45], [15, 35, 55]]),
            (Some(1000), 1, 2, [[5, 7, 9], [6, 8, 10]]),
            // Groups of ten sessions each.
            (Some(1000), 10, 2, [[5, 25, 45], [15, 35, 55]]),
        ] {
            for (worker, expected) in starts.into_iter().enumerate() {
                let begin = Nanos(5 * MS);
                let mut pace = Pace::new(begin, rate, sessions, (worker, workers));
                let due = expected.map(|_| {
                    let due = pace.due();
                    pace = pace.begun(due);
                    due.0 / MS
                });
                // Without a rate the next group is already due.
                let due = due.map(|due| due.max(5 * u64::from(rate.is_none())));
                assert_eq!(due, expected, "{rate:?}, worker {worker}");
            }
        }
    }

    #[test]
    fn what_a_timer_loses_is_made_up_for_and_what_a_server_loses_is_not() {
        let pace = Pace::new(Nanos(0), Some(500), 1, (0, 1));
        for (begun_at_ms, next_due_ms) in [(0, 2), (1, 2), (11, 2), (12, 2), (13, 3), (500, 490)] {
            let next = pace.begun(Nanos(begun_at_ms * MS));
            assert_eq!(next.due(), Nanos(next_due_ms * MS), "{begun_at_ms}");
        }
    }
}
