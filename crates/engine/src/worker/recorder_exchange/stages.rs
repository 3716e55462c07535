//! The sums of the stages of a load.

use smbench_model::record::Tally;

use super::{RecorderExchange, lock};

/// The operations of each stage, when the load is over. Empty if it has no stages.
#[derive(Default)]
pub(crate) struct StageSums {
    pub(crate) all: Vec<Tally>,
    /// Those of each population, if there are several.
    pub(crate) populations: Vec<Vec<Tally>>,
}

impl RecorderExchange {
    /// Also sums up each stage; `ends` has the index of the first interval after each.
    pub(crate) fn divided(self, ends: &[u32]) -> Self {
        let mut merging = lock(&self.merging);
        merging.timeline.divide(ends);
        for population in &mut merging.populations {
            population.divide(ends);
        }
        drop(merging);
        self
    }

    /// Returns the operations of each stage. Call this after [`Self::finish_populations`].
    pub(crate) fn finish_stages(&self) -> StageSums {
        std::mem::take(&mut lock(&self.merging).stages)
    }
}
