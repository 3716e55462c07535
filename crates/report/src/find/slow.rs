//! Log-ons that take a large part of a probe: how many could not be answered in its window, and
//! what took so long.

use smbench_model::kind::OpKind;
use smbench_model::setting::HOLD;

use crate::doc::{FindKind, LoadPointDoc, OpDoc, RunDoc};
use crate::units::latency;

/// Share of the window from which on the time of a log-on is reported.
const LONG: f64 = 0.1;
/// Share of a log-on from which on one step took nearly all of it.
const NEARLY_ALL: f64 = 0.8;

fn op(point: &LoadPointDoc, kind: OpKind) -> Option<&OpDoc> {
    point.ops.get(kind.name())
}

/// Returns how many log-ons were due so late that no server could answer them in the window.
/// Log-ons that were due as long before the window make up for them, if the ramp was as long.
pub(super) fn due_too_late(kind: FindKind, doc: &RunDoc, point: &LoadPointDoc) -> f64 {
    if kind != FindKind::Logons {
        return 0.0;
    }
    let took = op(point, OpKind::Session).and_then(|op| op.service_ns);
    let shortest_s = took.map_or(0.0, |took| took.min as f64 / 1e9);
    let ops_per_s = point.offered.map_or(0.0, |offered| offered.ops_per_s);
    (shortest_s - doc.plan.ramp_up_s).max(0.0) * ops_per_s
}

/// Says that log-ons took a large part of the window, in which step, and what to do. `None`
/// if they did not.
pub(super) fn long_log_ons(kind: FindKind, point: &LoadPointDoc) -> Option<String> {
    let log_ons = op(point, OpKind::Session).filter(|_| kind == FindKind::Logons)?;
    let took = log_ons.service_ns?;
    if took.mean < LONG * point.window_s * 1e9 {
        return None;
    }
    let steps = OpKind::ALL
        .into_iter()
        .filter(|kind| kind.is_part_of_session());
    let step = steps.map(OpKind::name).find(|name| {
        let mean = point.ops.get(*name).and_then(|op| op.service_ns);
        mean.is_some_and(|mean| mean.mean >= NEARLY_ALL * took.mean)
    });
    let step = step.map_or_else(String::new, |step| format!(", nearly all in {step}"));
    Some(format!(
        "log-ons took {}{step}; use a longer {HOLD}",
        latency(took.mean)
    ))
}
