//! The stages of a load point: where they end, and what was measured in each.

use smbench_model::Nanos;
use smbench_model::record::{PopulationStage, Punctuality, StageRecord, Tally};
use smbench_model::stages::{StagePlace, Stages};

use super::cpu_reader::Seen;
use super::failed::Excuse;
use super::objection_to;
use super::workers::Observed;
use crate::machine::{clock, tcp};
use crate::run::context::Context;
use crate::worker::recorder_exchange::StageSums;
use crate::worker::schedule::Schedule;

/// Returns the index of the first interval of the window after each stage.
pub(super) fn stage_ends(stages: &Stages) -> Vec<u32> {
    let interval = stages.interval().map_or(1, |interval| interval.as_secs());
    let ends = stages
        .places()
        .map(|place| place.end().as_secs() / interval);
    // There are at most `record::INTERVALS_MAX` intervals.
    ends.map(|end| end as u32).collect()
}

/// Returns the instants between stages, in the window of `schedule`.
pub(super) fn ends_between(stages: Option<&Stages>, schedule: &Schedule) -> Vec<Nanos> {
    let places = stages.into_iter().flat_map(Stages::places);
    let ends = places.map(|place| schedule.open + place.end().into());
    ends.filter(|end| *end < schedule.close).collect()
}

/// Returns what was counted in a stage.
fn of_stage(counts: &[Punctuality], index: usize) -> Punctuality {
    counts.get(index).copied().unwrap_or_default()
}

/// What the stages of a load point have in common.
pub(super) struct StageMeasurements<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) observed: &'a Observed,
    pub(super) seen: &'a Seen,
    /// Instant at which the last operation ended.
    pub(super) load_end: Nanos,
    /// What may go wrong with operations.
    pub(super) excuse: Excuse,
    /// How punctual the actions of each stage were.
    pub(super) punctuality: Vec<Punctuality>,
    /// Those of each population, if there are several.
    pub(super) of_populations: Vec<Vec<Punctuality>>,
}

impl StageMeasurements<'_> {
    /// Returns what was measured in each stage that began.
    pub(super) fn records(&self, sums: StageSums) -> Vec<StageRecord> {
        let stages = self.context.plan.work.stages.iter();
        let places = stages.flat_map(Stages::places);
        let mut populations: Vec<_> = sums.populations.into_iter().map(Vec::into_iter).collect();
        let measured = places.zip(sums.all).enumerate();
        let records = measured.map(|(index, (place, ops))| {
            let populations = populations.iter_mut().filter_map(Iterator::next);
            let punctual = self.of_populations.iter().map(|of| of_stage(of, index));
            let populations = populations.zip(punctual);
            let populations =
                populations.map(|(ops, punctuality)| PopulationStage { ops, punctuality });
            let populations = populations.collect();
            self.record(index, place, ops, populations)
        });
        records
            .take_while(|record| !record.window.is_zero())
            .collect()
    }

    fn record(
        &self,
        index: usize,
        place: StagePlace,
        ops: Tally,
        populations: Vec<PopulationStage>,
    ) -> StageRecord {
        let begin = self.observed.schedule.open + place.begin.into();
        let end = (begin + place.length.into()).min(self.observed.closed);
        let window = end.since(begin);
        let seen = self.seen.of_stage(index);
        let (client, machine_busy) = seen.usage(window);
        let [opening, closing] = seen.server.clone();
        let meter = &self.context.server_cpu;
        let server_cpu = meter.between(opening, closing, window, self.load_end);
        let tcp = self.context.tcp.as_ref().map(|watch| {
            let [opening, closing] = seen.tcp.clone();
            watch.clone().and_then(|_| tcp::between(opening, closing))
        });
        StageRecord {
            invalid: objection_to(&ops, self.excuse),
            place,
            window: window.into(),
            window_opened: clock::wall_at(begin),
            ops,
            punctuality: of_stage(&self.punctuality, index),
            populations,
            client,
            machine_busy,
            server_cpu,
            tcp,
            memory: self.seen.memory.get(index).copied().unwrap_or_default(),
        }
    }
}
