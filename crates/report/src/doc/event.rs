//! What happened to clients during a load point.

mod calm;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::event::{EventAction, EventRecord};
use smbench_model::hooks::HookRecord;
use smbench_model::record::{
    DataFaults, EventLosses, LoadEvent, LoadPointRecord, OperationFailure,
};

use super::operation::FailureDoc;
use crate::latency::{Hdr, LatencyDoc};
use calm::{CalmLoad, EventSpan};

/// The kind of losses that no event of the plan came before.
const UNPLANNED: &str = "loss";
/// The name of a handle that the server had not promised to keep.
const NOT_GRANTED: &str = "not-granted";

/// A lost connection, or one that is replaced, at an instant of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LinkDoc {
    /// What happened: `link-lost` if a connection was lost, `link-back` if its clients have
    /// sessions again, `channel-lost` if they went on with another connection, `channel-back` if
    /// a new connection has taken its place.
    pub kind: String,
    /// Seconds from the start of the load, ramps included.
    pub at_s: f64,
    /// Number of clients to which it happened.
    pub clients: u32,
}

impl From<&LoadEvent> for LinkDoc {
    fn from(event: &LoadEvent) -> Self {
        Self {
            kind: event.kind.name().to_owned(),
            at_s: event.at.as_secs_f64(),
            clients: event.clients,
        }
    }
}

/// An event of the plan, and what the losses of connections after it cost. A loss belongs to the
/// last event before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EventDoc {
    /// What was done: `drop`, `exec`, `stop` or `signal`. `loss` has the losses before all events of the plan.
    pub kind: String,
    /// The event as it was asked for, such as `at 30s: drop 100%`. Absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Seconds from the start of the window to the event; `null` if the load ended before, and of
    /// losses before all events.
    pub at_s: Option<f64>,
    /// Number of clients that lost their connection, or that waited for a stopped server.
    pub clients: u64,
    /// Number of those that had no answer again before the load ended.
    pub clients_away: u64,
    /// Longest time of such a client from its last answer before the loss to the end of its load,
    /// in nanoseconds. Absent if all came back, and in documents of releases that did not record
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ns_max: Option<u64>,
    /// Time of each client that came back from its last answer before the loss, or before the
    /// server was stopped, to its first answer after it; `null` if none came back.
    pub blackout_ns: Option<LatencyDoc>,
    /// All of these times, in the format of an operation's histogram. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blackout_hdr: Option<Hdr>,
    /// Seconds from the event until an interval of the series had 95 % of the throughput before
    /// it, or of the operations if no data was moved. It is exact to an interval. 0 if the
    /// throughput did not fall below that within the longest blackout. Absent if it was not
    /// reached before the next event, or if no whole interval was before the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_s: Option<f64>,
    /// Number of durable handles that the server had kept.
    pub handles_kept: u64,
    /// Number of handles that it had not kept, though they were asked for.
    pub handles_lost: u64,
    /// The same by its answer; `not-granted` if it had promised nothing. Absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handles_lost_by: BTreeMap<String, u64>,
    /// Number of kept handles whose oplock or lease is what it was. 0, like the next key, in
    /// documents of releases that did not count it.
    #[serde(default)]
    pub caching_kept: u64,
    /// Number of kept handles whose oplock or lease is less than it was.
    #[serde(default)]
    pub caching_lost: u64,
    /// Number of byte-range locks that the server still had with their handles. Absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub locks_kept: u64,
    /// Number of byte-range locks that it had no more, though their handles were to be kept.
    /// Absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub locks_lost: u64,
    /// Number of requests without an answer that were sent again.
    pub requests_repeated: u64,
    /// Number of operations without an answer that failed.
    pub operations_failed: u64,
    /// Number of connections that were lost by clients which went on with another one. Absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub channels_lost: u64,
    /// Operations that failed after the event and before the next one, by cause, ramps included.
    /// A `lost-connection` belongs to the event of the loss, and `loss` has no other failures.
    /// `failures` of the load point contains all. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureDoc>,
    /// Wrong data that was read after the event and before the next one, as its stamps show it.
    /// `verify` of the load point contains it. Absent if all are 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<DataFaults>,
    /// The command that was run. Absent if the event has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<HookRecord>,
    /// How many processes of the lab server got the signal. Absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

impl EventDoc {
    /// Returns the events of a load point, after the losses before all of them. Its window opens
    /// after `ramp_up`.
    pub(crate) fn all(record: &LoadPointRecord, ramp_up: Duration) -> Vec<Self> {
        let losses = record.ops.losses();
        let unplanned = losses
            .after(None)
            .map(|losses| Self::with(UNPLANNED, losses));
        let nothing = EventLosses::default();
        let mut calm = CalmLoad::of(&record.series, record.window);
        let planned = (0..).zip(&record.events).map(|(index, event)| {
            let after = losses.after(Some(index)).unwrap_or(&nothing);
            let next = record.events.get(index as usize + 1);
            let until = next.and_then(|next| next.at).map(|at| at.as_secs_f64());
            let at_s = event.at.map(|at| at.as_secs_f64());
            Self {
                event: Some(event.event.to_string()),
                at_s,
                recovery_s: at_s.and_then(|at_s| {
                    calm.recovery_s(&EventSpan {
                        at_s,
                        next_s: until,
                        begins_by_s: effect_s(record, ramp_up, event, until) + longest_s(after),
                    })
                }),
                command: event.command.clone(),
                processes: match &event.signalled {
                    Some(Ok(count)) => Some(*count as u64),
                    Some(Err(_)) | None => None,
                },
                ..Self::with(event.event.action.name(), after)
            }
        });
        unplanned.into_iter().chain(planned).collect()
    }

    fn with(kind: &str, losses: &EventLosses) -> Self {
        let by = losses.handles.lost.iter();
        let by = by.map(|(status, count)| {
            let named = status.map(|status| OperationFailure::Status(status).name());
            (named.unwrap_or_else(|| NOT_GRANTED.to_owned()), *count)
        });
        let blackout = losses.blackout.get();
        Self {
            kind: kind.to_owned(),
            event: None,
            at_s: None,
            clients: losses.clients,
            clients_away: losses.still_away(),
            away_ns_max: Some(losses.longest_away.0).filter(|longest| *longest > 0),
            blackout_ns: LatencyDoc::of(&blackout),
            blackout_hdr: (!blackout.is_empty()).then(|| Hdr::from(&*blackout)),
            recovery_s: None,
            handles_kept: losses.handles.kept,
            handles_lost: losses.handles.lost.values().sum(),
            handles_lost_by: by.collect(),
            caching_kept: losses.handles.caching_kept,
            caching_lost: losses.handles.caching_lost,
            locks_kept: losses.handles.locks_kept,
            locks_lost: losses.handles.locks_lost,
            requests_repeated: losses.repeated.max(0).unsigned_abs(),
            operations_failed: losses.failed,
            channels_lost: losses.channels.max(0).unsigned_abs(),
            failures: FailureDoc::all(&losses.failures),
            verify: Some(losses.faults).filter(|faults| *faults != DataFaults::default()),
            command: None,
            processes: None,
        }
    }

    /// Adds up the events of all parts of a run, or of all passes. They have the same events.
    pub(crate) fn merged<'a>(parts: impl Iterator<Item = &'a [Self]>) -> Vec<Self> {
        let mut unplanned: Option<Self> = None;
        let mut planned: Vec<Self> = Vec::new();
        for part in parts {
            let (of_plan, others) = part.iter().partition::<Vec<_>, _>(|of| of.event.is_some());
            for event in others {
                match &mut unplanned {
                    Some(known) => known.add(event),
                    None => unplanned = Some(event.clone()),
                }
            }
            // Two events of a plan can be equal.
            for (at, event) in of_plan.into_iter().enumerate() {
                match planned.get_mut(at) {
                    Some(known) => known.add(event),
                    None => planned.push(event.clone()),
                }
            }
        }
        unplanned.into_iter().chain(planned).collect()
    }

    /// Adds the same event of another part of the clients, or of another pass.
    pub(crate) fn add(&mut self, other: &Self) {
        // A sum of what a file says may be too large.
        let add = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        add(&mut self.clients, other.clients);
        add(&mut self.clients_away, other.clients_away);
        self.away_ns_max = self.away_ns_max.max(other.away_ns_max);
        let parts = [&self.blackout_hdr, &other.blackout_hdr]
            .into_iter()
            .flatten();
        let pooled = crate::latency::pool(parts);
        self.blackout_ns = LatencyDoc::of(&pooled);
        self.blackout_hdr = (!pooled.is_empty()).then(|| Hdr::from(&pooled));
        self.recovery_s = match (self.recovery_s, other.recovery_s) {
            (Some(one), Some(two)) => Some(one.max(two)),
            _ => None,
        };
        add(&mut self.handles_kept, other.handles_kept);
        add(&mut self.handles_lost, other.handles_lost);
        add(&mut self.caching_kept, other.caching_kept);
        add(&mut self.caching_lost, other.caching_lost);
        add(&mut self.locks_kept, other.locks_kept);
        add(&mut self.locks_lost, other.locks_lost);
        for (status, count) in &other.handles_lost_by {
            add(
                self.handles_lost_by.entry(status.clone()).or_default(),
                *count,
            );
        }
        add(&mut self.requests_repeated, other.requests_repeated);
        add(&mut self.operations_failed, other.operations_failed);
        add(&mut self.channels_lost, other.channels_lost);
        for failure in &other.failures {
            self.add_failure(failure);
        }
        self.failures.sort_by_key(FailureDoc::rank);
        if let Some(faults) = &other.verify {
            self.verify.get_or_insert_default().merge(faults);
        }
        self.command = self.command.take().or_else(|| other.command.clone());
        self.processes = self.processes.or(other.processes);
    }

    fn add_failure(&mut self, failure: &FailureDoc) {
        let mut known = self.failures.iter_mut();
        match known.find(|known| known.is_same_cause(failure)) {
            Some(known) => known.count = known.count.saturating_add(failure.count),
            None => self.failures.push(failure.clone()),
        }
    }
}

/// Returns the longest blackout, in seconds, also of a client that did not come back.
fn longest_s(losses: &EventLosses) -> f64 {
    let of_back = Nanos(losses.blackout.get().max());
    of_back.max(losses.longest_away).as_secs_f64()
}

/// Returns when an event takes effect, in seconds from the start of the window. A command may do
/// so at its end, or cut connections even later, until the next event.
fn effect_s(
    record: &LoadPointRecord,
    ramp_up: Duration,
    event: &EventRecord,
    next_s: Option<f64>,
) -> f64 {
    let at_s = event.at.unwrap_or_default().as_secs_f64();
    if !matches!(event.event.action, EventAction::Exec(_)) {
        return at_s;
    }
    let links = record.ops.events().kept().iter();
    let lost = links.filter(|link| link.kind.is_loss());
    let lost_s = lost.map(|link| link.at.as_secs_f64() - ramp_up.as_secs_f64());
    let of_event = lost_s.filter(|lost_s| next_s.is_none_or(|next_s| *lost_s < next_s));
    let took_s = event.command.as_ref().map_or(0.0, |command| command.took_s);
    of_event.fold(at_s + took_s, f64::max)
}

/// Whether a count is left out.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use smbench_model::kind::OpKind;

    use super::*;

    #[test]
    fn equal_events_of_a_plan_stay_two() {
        let event = |kind: &str, event: Option<&str>, clients: u64| -> EventDoc {
            let event = serde_json::json!({
                "kind": kind, "event": event, "at_s": null, "clients": clients,
                "clients_away": 0, "blackout_ns": null, "handles_kept": 0, "handles_lost": 0,
                "requests_repeated": 0, "operations_failed": 0,
            });
            serde_json::from_value(event).unwrap()
        };
        let drop = |clients| event("drop", Some("at 1s: drop 50%"), clients);
        let failed = |event: EventDoc, ops: &[OpKind]| EventDoc {
            failures: FailureDoc::all(
                &ops.iter()
                    .map(|op| ((*op, OperationFailure::Short), 1))
                    .collect(),
            ),
            ..event
        };
        let one = [
            event("loss", None, 1),
            failed(drop(2), &[OpKind::Write]),
            drop(3),
        ];
        let other = [failed(drop(4), &[OpKind::Write, OpKind::Read]), drop(5)];
        let merged = EventDoc::merged([&one[..], &other[..]].into_iter());
        let clients: Vec<_> = merged.iter().map(|event| event.clients).collect();
        assert_eq!(clients, [1, 6, 8]);
        // As in a document of one part.
        let failures: Vec<_> = merged[1].failures.iter().collect();
        let counts: Vec<_> = failures.iter().map(|of| (&*of.op, of.count)).collect();
        assert_eq!(counts, [("read", 1), ("write", 2)]);
    }
}
