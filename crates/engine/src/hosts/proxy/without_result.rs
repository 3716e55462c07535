//! A host that has no result: it is lost, or it has said why.

use smbench_model::Nanos;
use smbench_model::record::{Dropout, HostRecord, Recorder, SetupPhase};
use tokio::sync::mpsc;

use super::ProxyAssignment;
use crate::hosts::message::HostFailure;
use crate::smb::session::SessionError;
use crate::worker::assignment::{WorkerMessage, WorkerResult};
use crate::worker::fault::LoadFault;
use crate::worker::figures::PopulationEnd;
use crate::worker::schedule::{Interval, Position};

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
    /// When its load began, if it did.
    pub(super) begin: Option<Nanos>,
    /// The end of the last interval that is complete.
    until: Nanos,
    pub(super) operations: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
}

impl Carried {
    /// Adds the operations of an interval.
    pub(super) fn add(&mut self, interval: Interval, recorder: &Recorder) {
        self.until = self.until.max(interval.to);
        if matches!(interval.place, Position::Window(_)) {
            self.operations += recorder.all().count();
            self.bytes += recorder.bytes_carried();
        }
        self.errors += recorder.ops().map(|(_, op)| op.errors).sum::<u64>();
    }

    /// Returns the instant from which on nothing is known of the host under load.
    fn end(&self) -> Option<Nanos> {
        Some(self.begin?.max(self.until))
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
    let end = seen.end();
    let after = end.zip(seen.begin).map(|(end, begin)| end.since(begin));
    let lost_client = |&client: &u32| Dropout {
        client,
        reason: reason.clone(),
        after_s: after.map(Nanos::as_secs_f64),
    };
    let populations = clients.iter().map(|clients| PopulationEnd {
        dropouts: clients.iter().map(lost_client).collect(),
        ..PopulationEnd::default()
    });
    let populations: Vec<_> = populations.collect();
    let dropouts = populations
        .iter()
        .flat_map(|end| end.dropouts.iter().cloned());
    let dropouts: Vec<_> = dropouts.collect();
    WorkerResult {
        faults: vec![LoadFault::since(reason, end.unwrap_or_default())],
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
