//! What a load point says of its generator.

use smbench_model::record::{GeneratorRecord, Tally};
use smbench_model::work::Work;

use crate::run::health::{self, CpuUsers, LateSteps};

/// Returns which steps of an operation are late where the generator is.
pub(super) fn late_steps(work: &Work) -> LateSteps {
    let mut planned = work.populations.iter();
    if planned.any(|population| population.load.is_paced()) {
        LateSteps::RequestAndAnswer
    } else {
        LateSteps::Answer
    }
}

/// Adds the verdicts to the generator's record.
pub(super) fn judged(
    mut generator: GeneratorRecord,
    users: CpuUsers,
    held_back_share: f64,
    ops: &Tally,
    steps: LateSteps,
) -> GeneratorRecord {
    let verdict = health::judge(&generator, users);
    generator.limited = verdict.limited;
    generator.shared_cpus = verdict.shared_cpus;
    generator.latency_noise =
        health::latency_noise(&generator.lateness(), ops.window_all().latency(), steps);
    if generator.limited.is_none() && generator.shared_cpus.is_none() {
        generator.back_pressure = health::back_pressure(held_back_share);
    }
    generator
}
