//! The load of a load point: whether it was steady, how much was in flight, and
//! whether a rate was reached.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use smbench_model::load::LoadModel;
use smbench_model::plan::Plan;
use smbench_model::record::{GeneratorRecord, LatencyNoise, Punctuality, Series};

use crate::doc::{ConcurrencyDoc, OfferedDoc};
use crate::statistics::{SteadyDoc, per};

pub(super) fn latency_noise(generator: &GeneratorRecord) -> BTreeMap<String, u64> {
    let named = |noise: &LatencyNoise| {
        let permille = (noise.quantile * 1000.0).round() as u64;
        let name = match permille % 10 {
            0 => format!("p{}", permille / 10),
            _ => format!("p{permille}"),
        };
        (name, noise.late.0)
    };
    generator.latency_noise.iter().map(named).collect()
}

/// Judges whether bytes per interval were steady; operations where no data was
/// moved.
pub(crate) fn steady(series: &Series, window: Duration) -> SteadyDoc {
    let interval_ns = series.interval.as_nanos().max(1);
    let whole = (window.as_nanos() / interval_ns) as usize;
    SteadyDoc::of(&series.amounts(whole))
}

/// Returns how many operations were in flight. `in_flight_s` sums up how long each was.
pub(crate) fn concurrency(
    in_flight_s: f64,
    service: &Histogram<u64>,
    window_s: f64,
) -> ConcurrencyDoc {
    let in_flight_mean = per(in_flight_s, window_s);
    let busy_s = service.mean() * service.len() as f64 / 1e9;
    let by_littles_law = per(busy_s, window_s);
    ConcurrencyDoc {
        in_flight_mean,
        by_littles_law,
        littles_ratio: (in_flight_mean > 0.0).then(|| by_littles_law / in_flight_mean),
    }
}

/// Share of the due operations by which a rate may be missed.
const RATE_MISSED_SHARE: f64 = 0.01;
/// A rate may also be missed by the operations due in this time. A shorter stall at
/// the end of the window leaves this many unsent.
pub(super) const RATE_MISSED_S: f64 = 0.1;

/// Returns whether a plan asks for a rate that can be judged. A load that ends with a
/// number of operations leaves the arrivals after the last one uncounted.
pub(super) fn is_at_rate(plan: &Plan) -> bool {
    let test = plan.only().workload.fileio();
    let by_count = test.is_some_and(|test| test.events.is_some()) || plan.only().is_counted();
    matches!(plan.only().load, LoadModel::Rate { .. }) && !by_count
}

/// Returns whether fewer operations were answered than were due, by more than is allowed.
pub(crate) fn misses_rate(
    due: u64,
    answered: u64,
    service: &Histogram<u64>,
    window_s: f64,
) -> bool {
    let ops_per_s = per(due as f64, window_s);
    let missing = due.saturating_sub(answered) as f64;
    // One that is in flight at the end may not be made up for by one at the beginning.
    let shortest_s = service.min() as f64 / 1e9;
    let in_flight = ops_per_s * (RATE_MISSED_S + shortest_s) + 1.0;
    missing > (due as f64 * RATE_MISSED_SHARE).max(in_flight)
}

/// Returns the operations that were due by the clock. `service` has the service times of the
/// window.
pub(super) fn offered(
    plan: &Plan,
    punctuality: Punctuality,
    service: &Histogram<u64>,
    window_s: f64,
) -> OfferedDoc {
    let (due, answered) = (punctuality.due, punctuality.answered);
    OfferedDoc {
        operations: due,
        ops_per_s: per(due as f64, window_s),
        answered: Some(answered),
        rate_missed: is_at_rate(plan).then(|| misses_rate(due, answered, service, window_s)),
        late: punctuality.late,
        dropped: punctuality.dropped,
        unanswered: punctuality.unanswered,
        unanswered_ns_max: punctuality.unanswered_max.0,
        delay_ns_max: punctuality.delay_max.0,
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::record::LoadPointRecord;
    use smbench_model::stages::StagesPurpose;

    use super::super::load_point;
    use super::*;
    use crate::doc::{Named, StageDoc, StageUnitDoc};

    #[test]
    fn a_load_that_changes_is_not_called_unsteady() {
        let mut point = load_point(&LoadPointRecord::begun(8, None, 1));
        point.steady = Some(SteadyDoc::of(&[1000, 1000, 500, 1000, 1000, 500]));
        assert!(point.unsteady().is_some(), "{:?}", point.steady);
        let mut stage = StageDoc {
            number: 1,
            unit: Named::Known(StageUnitDoc::Clients),
            begin_s: 0.0,
            length_s: 6.0,
            from: 8.0,
            to: 8.0,
            clients_at_start: Some(8),
            purpose: StagesPurpose::Lines,
        };
        point.stage = Some(stage.clone());
        assert!(point.unsteady().is_some());
        stage.to = 2.0;
        point.stage = Some(stage);
        assert_eq!(point.unsteady(), None);
    }
}
