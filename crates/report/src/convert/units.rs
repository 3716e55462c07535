//! The rules by which a load point of units is valid: those of SPECsfs and SPECstorage, with the
//! limits of the profile.

use std::time::Duration;

use smbench_model::unit::{LoadUnit, UnitLimits};

use crate::doc::{LoadPointDoc, OfferedDoc};
use crate::units::{latency, percent, plain};

/// Counts the units of a load point, and judges it by their limits.
pub(super) fn judged(unit: &LoadUnit, mut point: LoadPointDoc) -> LoadPointDoc {
    point.units = unit.count(point.clients);
    let missed = rate_missed(unit.limits, &point);
    point.offered = point.offered.map(|offered| OfferedDoc {
        rate_missed: Some(missed.is_some()),
        ..offered
    });
    let objection = missed.or_else(|| too_slow(unit.limits, &point));
    if let Some(objection) = objection.filter(|_| point.valid) {
        point.valid = false;
        point.invalid_reason = Some(objection);
    }
    point
}

/// Names the first population whose clients did not reach enough of their rate.
fn rate_missed(limits: UnitLimits, point: &LoadPointDoc) -> Option<String> {
    let parts = point.populations.iter();
    let mut objections = parts.filter_map(|part| {
        let reached = part.reached?;
        let name = plain(&part.name);
        let (mean, slowest) = (reached.mean_percent, reached.slowest_percent);
        if mean < limits.mean_percent {
            let (mean, limit) = (percent(mean), percent(limits.mean_percent));
            Some(format!("{name} reached {mean} of its rate, and the limit is {limit}"))
        } else if slowest < limits.slowest_percent {
            let (slowest, limit) = (percent(slowest), percent(limits.slowest_percent));
            Some(format!(
                "the slowest client of {name} reached {slowest} of its rate, and the limit is {limit}"
            ))
        } else {
            None
        }
    });
    objections.next()
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
