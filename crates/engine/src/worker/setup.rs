//! Sets up the sessions of a worker, a limited number at a time and at most at the
//! given rate, and logs them off at the end.
//!
//! Invariant: memory that a session needs only during set-up is proportional to the
//! number of parallel set-ups, not to the total number of sessions.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use smbench_model::contents::Verify;
use smbench_model::contents::verify::{Ledger, OtherWriters};
use smbench_model::kind::OpKind;
use smbench_model::load::SetupFailures;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::drivers::driver::{Connector, Opened};
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::smb::session::SessionError;
use crate::worker::any_group::{AnyGroup, OpenGroups};
use crate::worker::assignment::{Assignment, WorkerMessage, WorkerParts, WorkerResult};
use crate::worker::cancelled::{CANCEL_GRACE, cancelled_for, resume};
use crate::worker::group::{Group, GroupSetup};
use crate::worker::member::{FinalReads, Member};
use crate::worker::notes::SharedPad;
use crate::worker::schedule::Schedule;
use crate::worker::shared::Shared;
use crate::worker::supply::{Supplies, Supply};
use crate::worker::waiting::WaitingGroups;

/// Number of groups that one worker sets up, or logs off, in parallel.
const SESSIONS_AT_ONCE: usize = 32;

/// Sets up all groups of a worker; the first failure ends it.
pub(super) async fn set_up(
    worker: &Rc<Assignment>,
    parts: &Rc<dyn OpenGroups>,
    shared: &Rc<RefCell<Shared>>,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    start: &watch::Receiver<Option<Schedule>>,
    outcome: &mut WorkerResult,
) -> Result<WaitingGroups, SessionError> {
    let mut groups = 0..worker.groups.len();
    let mut running = JoinSet::new();
    let mut pace = worker.pace;
    let mut waiting = WaitingGroups::new(worker);
    let mut called_off = start.clone();
    let pad = shared.borrow().pad.clone();
    loop {
        let now = clock::now();
        if worker.enough.load(Ordering::Relaxed) {
            groups = 0..0;
        }
        while running.len() < SESSIONS_AT_ONCE && pace.due <= now {
            let Some(group) = groups.next() else { break };
            let (worker, parts) = (Rc::clone(worker), Rc::clone(parts));
            let pad = pad.clone();
            running.spawn_local(async move {
                let clients = &worker.groups[group];
                let opened = parts.open(&worker, clients, pad.as_ref()).await;
                opened.map_err(|error| (clients.len() as u32, error))
            });
            pace = pace.begun(now);
        }
        if running.is_empty() && groups.is_empty() {
            if worker.setup != SetupFailures::EndRun {
                let _ = reports.send(WorkerMessage::AllTried);
            }
            return Ok(waiting);
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
            () = worker.cancel.cancelled() => match worker.setup {
                SetupFailures::EndRun => return Err(SessionError::Interrupted),
                // The sessions that stand are a result.
                SetupFailures::CountUntil(_) => {
                    running.shutdown().await;
                    let _ = reports.send(WorkerMessage::AllTried);
                    return Ok(waiting);
                }
            },
            () = tokio::time::sleep_until(clock::timer(pace.due)), if is_waiting => continue,
        };
        let (opened, refused) = match opened.unwrap_or_else(resume) {
            Ok(mut opened) => {
                let refused = opened.refused.take();
                (Some(opened), refused)
            }
            Err(refused) => (None, Some(refused)),
        };
        let refused = match (refused, worker.setup) {
            (Some((_, error)), SetupFailures::EndRun) => return Err(error),
            (refused, _) => refused,
        };
        if let Some(opened) = opened {
            waiting.push(accepted(opened, reports, outcome), shared, start);
        }
        if let Some((clients, error)) = refused {
            let _ = reports.send(WorkerMessage::Refused { clients, error });
        }
    }
}

/// Reports a group that is set up, and returns it.
fn accepted(
    opened: Opened<Box<dyn AnyGroup>>,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    outcome: &mut WorkerResult,
) -> Box<dyn AnyGroup> {
    let Opened {
        driver: mut group,
        session_setup,
        granted,
        breaks,
        acknowledged,
        connections,
        reclaimed: _,
        server: _,
        refused: _,
    } = opened;
    group.keep_setup(GroupSetup {
        granted,
        breaks,
        acknowledged,
    });
    let _ = reports.send(WorkerMessage::Ready {
        clients: group.numbers().len() as u32,
        at: clock::now(),
    });
    outcome.connections += u64::from(connections);
    for session in session_setup {
        outcome.session_setup.saturating_record(session.0);
    }
    group
}

/// Logs off all sessions, which closes their files. Sessions without an answer when
/// the time is up lose their connection.
pub(super) async fn tear_down(groups: Vec<Box<dyn AnyGroup>>, cancel: &Cancel, limit: Duration) {
    let mut groups = groups.into_iter();
    let mut running = JoinSet::new();
    let all = async {
        loop {
            // The number of tasks is limited, because each has memory for a whole
            // log-off.
            while running.len() < SESSIONS_AT_ONCE
                && let Some(group) = groups.next()
            {
                running.spawn_local(group.close());
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
    parts: &WorkerParts<C, T>,
    clients: &[u32],
    pad: Option<&SharedPad>,
) -> Result<Opened<Group<C::Driver, T::Supply>>, SessionError> {
    let plan = &*worker.plan;
    let opened = parts.connector.open(clients).await?;
    let refused = opened.refused.as_ref().map_or(0, |(count, _)| *count);
    let clients = &clients[..clients.len().saturating_sub(refused as usize)];
    let verified = match plan.only().verify {
        Verify::ReadBack if plan.only().workload.uses_files() => {
            Some(if plan.only().workload.kinds().contains(&OpKind::Write) {
                OtherWriters::Write
            } else {
                OtherWriters::Read
            })
        }
        _ => None,
    };
    let members = clients
        .iter()
        .map(|&number| {
            let mut operations = parts.supplies.of_client(number);
            operations.note_in(pad);
            let (run, salt) = (worker.generation_run, worker.salt);
            let files = &plan.only().workload.files;
            let ledger =
                verified.map(|others| Box::new(Ledger::beside(others, files, number, run, salt)));
            let mut member = Member::new(number, run, salt, operations, ledger);
            member.final_reads = FinalReads::of(worker);
            member
        })
        .collect();
    Ok(opened.map(|driver| Group::new(driver, members, plan.only().outstanding)))
}
