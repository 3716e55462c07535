//! The operations of each population, if there are several.

use std::collections::VecDeque;

use smbench_model::record::{Recorder, Series, SeriesDetail, Tally};

use super::{RecorderExchange, lock};
use crate::worker::timeline::{EndedInterval, HandedIn, NextInterval, Timeline};

/// The intervals of a population.
pub(super) struct PopulationTimeline {
    pub(super) timeline: Timeline,
    /// The numbers of its workers among all, in ascending order.
    workers: Vec<usize>,
    /// The intervals that are complete for the population, but not for all, in their order.
    ended: VecDeque<(NextInterval, Recorder)>,
}

impl PopulationTimeline {
    /// Begins the intervals of the workers with these numbers, which ascend.
    pub(super) fn new(workers: Vec<usize>) -> Self {
        Self {
            timeline: Timeline::new(workers.len(), SeriesDetail::Summaries),
            workers,
            ended: VecDeque::new(),
        }
    }

    /// Adds the recorder of a worker, if it is one of this population.
    pub(super) fn add(&mut self, handed: &HandedIn) {
        let Self {
            timeline,
            workers,
            ended,
        } = self;
        if let Ok(worker) = workers.binary_search(&handed.worker) {
            timeline.add_copy(handed, worker, |over| {
                ended.push_back((over.interval.into(), over.recorder));
            });
        }
    }

    /// Takes the operations of an interval, with which all before it have passed.
    fn take(&mut self, interval: NextInterval) -> Recorder {
        while let Some((first, _)) = self.ended.front()
            && *first < interval
        {
            self.ended.pop_front();
        }
        match self.ended.front() {
            Some((first, _)) if *first == interval => self.ended.pop_front(),
            _ => None,
        }
        .map_or_else(Recorder::default, |(_, recorder)| recorder)
    }
}

/// Summarises the oldest interval if it is complete for all workers, with the operations of each
/// population.
pub(super) fn close_next(
    timeline: &mut Timeline,
    populations: &mut [PopulationTimeline],
) -> Option<EndedInterval> {
    let mut over = timeline.close_next()?;
    let interval = over.interval.into();
    let of_each = populations.iter_mut();
    over.populations = of_each
        .map(|population| population.take(interval))
        .collect();
    Some(over)
}

impl RecorderExchange {
    /// Returns the sums of each population alone; nothing if there is only one. Call this after
    /// [`Self::finish`].
    pub(crate) fn finish_populations(&self) -> Vec<(Tally, Series)> {
        let mut merging = lock(&self.merging);
        let mut populations = std::mem::take(&mut merging.populations);
        for population in &mut populations {
            let timeline = &mut population.timeline;
            timeline.end();
            while timeline.close_next().is_some() {}
            for stage in &mut merging.left {
                stage.populations.extend(timeline.take_stage());
            }
        }
        let ended = populations.into_iter();
        ended.map(|ended| ended.timeline.finish()).collect()
    }
}
