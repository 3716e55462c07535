//! The sums of the stages of a load.

use smbench_model::record::{Series, Tally};

use super::hosts::{HostStage, StagesOfHost};
use super::{Merging, RecorderExchange, lock};
use crate::worker::timeline::Timeline;

/// The operations of a stage, in little memory.
pub(crate) struct StageSums {
    pub(crate) all: Tally,
    /// Those of this host alone, where they are kept.
    pub(crate) own: Option<Tally>,
    /// Those of each population, if there are several.
    pub(crate) populations: Vec<Tally>,
    /// The parts of the other hosts, without those that were lost before.
    pub(crate) hosts: Vec<HostStage>,
}

impl StageSums {
    /// Returns those of a stage of which only all operations are known.
    pub(super) fn of_all(all: Tally) -> Self {
        Self {
            all,
            own: None,
            populations: Vec::new(),
            hosts: Vec::new(),
        }
    }
}

impl Merging {
    /// Takes the sums of the next stage; `None` if none is left.
    fn take_stage(&mut self) -> Option<StageSums> {
        let all = self.timeline.take_stage()?;
        let populations = self.populations.iter_mut();
        let hosts = self.hosts.values_mut();
        Some(StageSums {
            all,
            own: self.own.as_mut().and_then(Timeline::take_stage),
            populations: populations
                .filter_map(|population| population.timeline.take_stage())
                .collect(),
            hosts: hosts.filter_map(StagesOfHost::take).collect(),
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
        if let Some(own) = &mut merging.own {
            own.divide(ends);
            let others = own.workers()..self.population_of.len();
            let others = others.step_by(self.populations());
            merging.hosts = others
                .map(|number| (number, StagesOfHost::default()))
                .collect();
        }
        drop(merging);
        self
    }

    /// Takes the operations of each stage that is complete, with the parts of all hosts that are
    /// there, but the last one.
    pub(crate) fn ended_stages(&self) -> Vec<StageSums> {
        let mut merging = lock(&self.merging);
        let mut ended = Vec::new();
        while merging.timeline.has_ended_stage()
            && merging.hosts.values().all(StagesOfHost::is_ready)
        {
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

    /// Takes the operations of the stages that are left. Call this after [`Self::finish_own`] and
    /// [`Self::finish_populations`].
    pub(crate) fn finish_stages(&self) -> Vec<StageSums> {
        let mut merging = lock(&self.merging);
        let Merging { left, hosts, .. } = &mut *merging;
        for stage in &mut *left {
            let hosts = hosts.values_mut();
            stage.hosts = hosts.filter_map(StagesOfHost::take).collect();
        }
        std::mem::take(left)
    }
}
