//! A host that has no result: it is lost, or it has said why.

use smbench_model::record::{Dropout, HostRecord, Recorder, SetupPhase};
use tokio::sync::mpsc;

use super::ProxyAssignment;
use crate::hosts::message::HostFailure;
use crate::smb::session::SessionError;
use crate::worker::assignment::{WorkerMessage, WorkerResult};
use crate::worker::figures::PopulationEnd;
use crate::worker::schedule::Position;

/// Why a host has no result.
pub(super) enum Stop {
    /// It is silent.
    Lost(String),
    /// It answers, but does not end.
    Stuck(String),
    /// It has said why.
    Ended(String),
    /// None of its sessions could be set up, where failures are counted.
    Empty,
}

/// The work of a host before it was lost.
#[derive(Default)]
pub(super) struct Carried {
    pub(super) operations: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
}

impl Carried {
    /// Adds the operations of an interval.
    pub(super) fn add(&mut self, place: Position, recorder: &Recorder) {
        if matches!(place, Position::Window(_)) {
            self.operations += recorder.all().count();
            self.bytes += recorder.bytes_carried();
        }
        self.errors += recorder.ops().map(|(_, op)| op.errors).sum::<u64>();
    }
}

/// Returns the result for a host that has none: its clients have dropped out. A lost host ends
/// the run.
pub(super) fn without_result(
    assignment: &ProxyAssignment,
    seen: &Carried,
    reports: &mpsc::UnboundedSender<WorkerMessage>,
    stop: &Stop,
) -> WorkerResult {
    let ProxyAssignment { host, clients, .. } = assignment;
    let lost = |reason: &str| format!("host {} is lost: {reason}", host.name());
    let reason = match stop {
        Stop::Lost(reason) | Stop::Stuck(reason) => lost(reason),
        Stop::Ended(reason) => format!("host {}: {reason}", host.name()),
        Stop::Empty => {
            return WorkerResult {
                hosts: vec![HostRecord {
                    name: host.name(),
                    ..HostRecord::default()
                }],
                ..WorkerResult::default()
            };
        }
    };
    match stop {
        Stop::Lost(how) => host.lose(how),
        Stop::Stuck(how) => host.lose_this(how),
        Stop::Ended(_) | Stop::Empty => {}
    }
    if matches!(stop, Stop::Lost(_) | Stop::Stuck(_)) {
        // Only heard during the set-up; the coordinator may have ended already.
        let _ = reports.send(WorkerMessage::SetupFailed(assignment.failure("it is lost")));
        assignment.cancel.cancel();
    }
    let populations = clients.iter().map(|clients| PopulationEnd {
        dropouts: clients
            .iter()
            .map(|&client| lost_client(client, &reason))
            .collect(),
        ..PopulationEnd::default()
    });
    let populations: Vec<_> = populations.collect();
    let dropouts = populations
        .iter()
        .flat_map(|end| end.dropouts.iter().cloned());
    let dropouts: Vec<_> = dropouts.collect();
    WorkerResult {
        faults: vec![reason.clone()],
        hosts: vec![HostRecord {
            name: host.name(),
            clients: dropouts.len() as u32,
            operations: seen.operations,
            bytes: seen.bytes,
            errors: seen.errors,
            ..HostRecord::default()
        }],
        populations,
        dropouts,
        ..WorkerResult::default()
    }
}

fn lost_client(client: u32, reason: &str) -> Dropout {
    Dropout {
        client,
        reason: reason.to_owned(),
        after_s: None,
    }
}

impl ProxyAssignment {
    /// Returns a failure that is the host's own.
    pub(super) fn failure(&self, text: &str) -> SessionError {
        SessionError::OnHost {
            host: self.host.name(),
            text: text.to_owned(),
            phase: SetupPhase::Connect,
            cause: text.to_owned(),
            own_limit: true,
        }
    }

    /// Returns a failure of which the host has told.
    pub(super) fn failed(&self, failure: HostFailure) -> SessionError {
        let HostFailure {
            text,
            phase,
            cause,
            own_limit,
        } = failure;
        SessionError::OnHost {
            host: self.host.name(),
            text,
            phase,
            cause,
            own_limit,
        }
    }
}
