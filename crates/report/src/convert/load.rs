//! The load of a load point: whether it was steady, how much was in flight, and
//! whether a rate was reached.

use std::collections::BTreeMap;

use smbench_model::plan::{LoadModel, Plan};
use smbench_model::record::{GeneratorRecord, LatencyNoise, LoadPointRecord, OpRecord};

use super::per_second;
use crate::doc::{ConcurrencyDoc, OfferedDoc};
use crate::statistics::SteadyDoc;

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
pub(super) fn steady(record: &LoadPointRecord) -> SteadyDoc {
    let interval_ns = record.series.interval.as_nanos().max(1);
    let whole = (record.window.as_nanos() / interval_ns) as usize;
    SteadyDoc::of(&record.series.amounts(whole))
}

pub(super) fn concurrency(record: &LoadPointRecord, all: &OpRecord) -> ConcurrencyDoc {
    let in_flight_mean = per_second(record.in_flight.as_secs_f64(), record.window);
    let busy_s = all.service.mean() * all.count() as f64 / 1e9;
    let by_littles_law = per_second(busy_s, record.window);
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
const RATE_MISSED_S: f64 = 0.1;

/// Returns whether a plan asks for a rate that can be judged. A load that ends with a
/// number of operations leaves the arrivals after the last one uncounted.
pub(super) fn is_at_rate(plan: &Plan) -> bool {
    let (test, replay) = (plan.work.workload.fileio(), plan.work.workload.replay());
    let by_count = test.is_some_and(|test| test.events.is_some())
        || replay.is_some_and(|replay| replay.loops.is_some());
    matches!(plan.work.load, LoadModel::Rate { .. }) && !by_count
}

pub(super) fn offered(record: &LoadPointRecord, is_at_rate: bool) -> OfferedDoc {
    let punctuality = record.punctuality;
    let ops_per_s = per_second(punctuality.due as f64, record.window);
    let missing = punctuality.due.saturating_sub(punctuality.answered) as f64;
    // One that is in flight at the end may not be made up for by one at the beginning.
    let shortest_s = record.ops.window_all().service.min() as f64 / 1e9;
    let in_flight = ops_per_s * (RATE_MISSED_S + shortest_s) + 1.0;
    let allowed = (punctuality.due as f64 * RATE_MISSED_SHARE).max(in_flight);
    OfferedDoc {
        operations: punctuality.due,
        ops_per_s,
        answered: Some(punctuality.answered),
        rate_missed: is_at_rate.then_some(missing > allowed),
        late: punctuality.late,
        dropped: punctuality.dropped,
        unanswered: punctuality.unanswered,
        unanswered_ns_max: punctuality.unanswered_max.0,
        delay_ns_max: punctuality.delay_max.0,
    }
}
