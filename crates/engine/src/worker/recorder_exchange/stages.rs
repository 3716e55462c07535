//! The sums of the stages of a load.

use smbench_model::record::{Series, Tally};

use super::{Merging, RecorderExchange, lock};

/// The operations of a stage, in little memory.
pub(crate) struct StageSums {
    pub(crate) all: Tally,
    /// Those of each population, if there are several.
    pub(crate) populations: Vec<Tally>,
}

impl Merging {
    /// Takes the sums of the next stage; `None` if none is left.
    fn take_stage(&mut self) -> Option<StageSums> {
        let populations = self.populations.iter_mut();
        Some(StageSums {
            all: self.timeline.take_stage()?,
            populations: populations
                .filter_map(|population| population.timeline.take_stage())
                .collect(),
        })
    }
}

impl RecorderExchange {
    /// Also sums up each stage; `ends` has the index of the first interval after each.
    pub(crate) fn divided(self, ends: &[u32]) -> Self {
        let mut merging = lock(&self.merging);
        merging.timeline.divide(ends);
        for population in &mut merging.populations {
            population.timeline.divide(ends);
        }
        drop(merging);
        self
    }

    /// Takes the operations of each stage that is complete, but the last one.
    pub(crate) fn ended_stages(&self) -> Vec<StageSums> {
        let mut merging = lock(&self.merging);
        let mut ended = Vec::new();
        while merging.timeline.has_ended_stage() {
            ended.extend(merging.take_stage());
        }
        ended
    }

    /// Returns the operations over time so far: of all, and of each population if there are
    /// several.
    pub(crate) fn series(&self) -> (Series, Vec<Series>) {
        let merging = lock(&self.merging);
        let populations = merging.populations.iter();
        let of_each = populations.map(|population| population.timeline.series.clone());
        (merging.timeline.series.clone(), of_each.collect())
    }

    /// Takes the operations of the stages that are left. Call this after
    /// [`Self::finish_populations`].
    pub(crate) fn finish_stages(&self) -> Vec<StageSums> {
        std::mem::take(&mut lock(&self.merging).left)
    }
}
