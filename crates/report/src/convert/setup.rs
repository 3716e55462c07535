//! The set-up of sessions.

use std::cmp::Reverse;

use smbench_model::record::{AttemptsAt, SetupAttempts, SetupPhase, SetupRecord};

use crate::doc::{AttemptsAtDoc, AttemptsDoc, SetupDoc, SetupFailureDoc};
use crate::latency::{Hdr, LatencyDoc};
use crate::statistics::per;

pub(crate) fn setup(record: &SetupRecord) -> SetupDoc {
    SetupDoc {
        sessions: record.session.len(),
        connections: Some(record.connections),
        elapsed_s: record.elapsed.as_secs_f64(),
        sessions_per_s: Some(per(
            record.session.len() as f64,
            record.elapsed.as_secs_f64(),
        )),
        latency_ns: LatencyDoc::of(&record.session),
        hdr: Some(Hdr::from(&record.session)),
        attempts: record.attempts.as_ref().map(attempts),
    }
}

fn attempts(record: &SetupAttempts) -> AttemptsDoc {
    let failure = |((phase, cause), &count): (&(SetupPhase, String), &u32)| SetupFailureDoc {
        phase: *phase,
        cause: cause.clone(),
        count,
    };
    let mut failures: Vec<_> = record.failures.iter().map(failure).collect();
    failures.sort_by_key(|failure| Reverse(failure.count));
    let at = |at: &AttemptsAt| AttemptsAtDoc {
        s: at.elapsed.as_secs_f64(),
        stood: at.stood,
        failed: at.failed,
    };
    AttemptsDoc {
        ended: record.ended,
        failed: record.failed(),
        failures,
        limit_reached: record.limit_reached,
        own_limit: record.own_limit.clone(),
        over_time: record.over_time.iter().map(at).collect(),
    }
}
