//! The rules by which a load point of units is valid: those of SPECsfs and SPECstorage, with the
//! limits of the profile.

use std::time::Duration;

use smbench_model::unit::{LoadUnit, UnitLimits};

use super::load::RATE_MISSED_S;
use crate::doc::{LoadPointDoc, ReachedDoc};
use crate::statistics::per;
use crate::units::{latency, percent, plain};

/// Counts the units of a load point, and judges it by their limits.
pub(super) fn judged(unit: &LoadUnit, mut point: LoadPointDoc) -> LoadPointDoc {
    point.units = unit.count(point.clients);
    let window_s = point.window_s;
    let mut first_missed = None;
    let mut is_judged = false;
    for part in &mut point.populations {
        let Some(reached) = part.reached else {
            continue;
        };
        is_judged = true;
        let missed = rate_missed(unit.limits, &part.name, reached, window_s);
        if let Some(offered) = &mut part.offered {
            offered.rate_missed = Some(missed.is_some());
        }
        first_missed = first_missed.or(missed);
    }
    if let Some(offered) = point.offered.as_mut().filter(|_| is_judged) {
        offered.rate_missed = Some(first_missed.is_some());
    }
    let objection = first_missed.or_else(|| too_slow(unit.limits, &point));
    if let Some(objection) = objection.filter(|_| point.valid) {
        point.valid = false;
        point.invalid_reason = Some(objection);
    }
    point
}

/// Says which limit of their rate the clients of a population missed, if they did. Operations that
/// were due just before the window closed are not missed, and neither is one of the slowest client.
fn rate_missed(
    limits: UnitLimits,
    name: &str,
    reached: ReachedDoc,
    window_s: f64,
) -> Option<String> {
    let name = plain(name);
    let at_end = per(100.0 * RATE_MISSED_S, window_s);
    let in_flight = per(100.0, reached.requested_ops_per_s * window_s);
    if reached.mean_percent + at_end < limits.mean_percent {
        let share = compared(reached.mean_percent, limits.mean_percent);
        Some(format!("{name} reached {share}"))
    } else if reached.slowest_percent + at_end + in_flight < limits.slowest_percent {
        let share = compared(reached.slowest_percent, limits.slowest_percent);
        Some(format!("the slowest client of {name} reached {share}"))
    } else {
        None
    }
}

/// Sets a share beside its limit, with as many digits as tell them apart.
fn compared(share: f64, limit: f64) -> String {
    let (mut of, limit) = (percent(share), percent(limit));
    if of == limit {
        of = format!("{share:.3} %");
    }
    format!("{of} of its rate, and the limit is {limit}")
}

/// Says that operations took too long on average.
fn too_slow(limits: UnitLimits, point: &LoadPointDoc) -> Option<String> {
    let mean_ns = point.latency_ns?.mean;
    let limit_ns = limits.mean_latency.as_ref().map(Duration::as_nanos)? as f64;
    (mean_ns > limit_ns).then(|| {
        let (mean, limit) = (latency(mean_ns), latency(limit_ns));
        format!("the mean response time is {mean}, and the limit is {limit}")
    })
}
