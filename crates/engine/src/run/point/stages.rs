//! The stages of a load point: where they end, and what was measured in each. Each becomes a
//! record when it has ended, under load.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use smbench_model::Nanos;
use smbench_model::progress::PointNumber;
use smbench_model::record::{
    ClientUsage, LoadPointRecord, PopulationRecord, PopulationStage, Punctuality, StageRecord,
};
use smbench_model::stages::{StagePlace, Stages};

use super::cpu_reader::{Seen, StageInstants, StageReading, StageReadings};
use super::failed::{Excuse, excuse, objection_to, trouble_in};
use super::host_records::{add_hosts_of_stage, clients_here_after};
use crate::machine::{clock, tcp};
use crate::run::Observer;
use crate::run::context::{Context, RunRole};
use crate::worker::fault::LoadFault;
use crate::worker::recorder_exchange::{RecorderExchange, StageSums};
use crate::worker::schedule::Schedule;

/// Returns the index of the first interval of the window after each stage.
pub(super) fn stage_ends(stages: &Stages) -> Vec<u32> {
    let interval = stages.interval().map_or(1, |interval| interval.as_secs());
    let ends = stages
        .places()
        .map(|place| place.end().as_secs() / interval);
    // There are at most `bounds::INTERVALS_MAX` intervals.
    ends.map(|end| end as u32).collect()
}

/// Returns the instants between stages, in the window of `schedule`; `None` without stages.
pub(super) fn ends_between(stages: Option<&Stages>, schedule: &Schedule) -> StageInstants {
    let ends = stages?
        .places()
        .map(|place| schedule.open + place.end().into());
    Some(ends.filter(|end| *end < schedule.close).collect())
}

/// The stages of a load point, of which each becomes a record when it has ended.
pub(super) struct StageRows<'a> {
    context: &'a Context<'a>,
    /// Start of the window.
    open: Nanos,
    /// What may go wrong with operations.
    excuse: Excuse,
    places: Vec<StagePlace>,
    /// The operations of the stages that have no record yet, the next one first.
    sums: VecDeque<StageSums>,
    coming: StageReadings,
    /// The readings, by the number of stages before them. Those of no use are gone.
    readings: BTreeMap<usize, StageReading>,
    records: Vec<StageRecord>,
}

/// How punctual the actions of each stage were.
pub(super) struct StagePunctuality {
    pub(super) all: Vec<Punctuality>,
    /// Those of each population, if there are several.
    pub(super) populations: Vec<Vec<Punctuality>>,
}

impl<'a> StageRows<'a> {
    pub(super) fn new(context: &'a Context<'a>, open: Nanos, coming: StageReadings) -> Self {
        let stages = context.plan.work.stages.iter();
        Self {
            context,
            open,
            excuse: excuse(context),
            places: stages.flat_map(Stages::places).collect(),
            sums: VecDeque::new(),
            coming,
            readings: BTreeMap::new(),
            records: Vec::new(),
        }
    }

    /// Makes the records of the stages that have ended, and tells the observer of each.
    pub(super) fn follow(
        &mut self,
        exchange: &RecorderExchange,
        point: PointNumber,
        observer: &mut dyn Observer,
    ) {
        if self.places.is_empty() {
            return;
        }
        while let Ok(reading) = self.coming.try_recv() {
            self.readings.insert(reading.number, reading);
        }
        self.sums.extend(exchange.ended_stages());
        let before = self.records.len();
        let next = |rows: &Self| rows.records.len() + 1;
        while !self.sums.is_empty() && self.readings.contains_key(&next(self)) {
            self.add(StageEnding::UnderLoad);
        }
        let new = &self.records[before..];
        if new.is_empty() {
            return;
        }
        let whole = self.so_far(exchange, point);
        for stage in new {
            observer.stage_ended(&whole.of_stage(stage.clone()));
        }
    }

    /// Returns what is known of the load point under load.
    fn so_far(&self, exchange: &RecorderExchange, point: PointNumber) -> LoadPointRecord {
        let stages = self.context.plan.work.stages.as_ref();
        let interval = stages.and_then(Stages::interval).unwrap_or_default();
        let (mut series, of_each) = exchange.series();
        series.interval = interval;
        let populations = self.context.plan.work.populations.iter().zip(of_each);
        let populations = populations.map(|(population, mut series)| {
            series.interval = interval;
            let name = population.name.clone().unwrap_or_default();
            PopulationRecord {
                series,
                ..PopulationRecord::begun(name, population.max_clients())
            }
        });
        LoadPointRecord {
            series,
            populations: populations.collect(),
            ..LoadPointRecord::begun(point.clients, point.rate, point.repeat)
        }
    }

    /// Returns the records of all stages that began, after the load. `left` has the operations
    /// of those that had not ended under load. A stage with a fault is not valid.
    pub(super) async fn finish(
        mut self,
        left: Vec<StageSums>,
        ended: LoadEnd,
        punctuality: &StagePunctuality,
        faults: &[LoadFault],
    ) -> Vec<StageRecord> {
        while let Some(reading) = self.coming.recv().await {
            self.readings.insert(reading.number, reading);
        }
        self.sums.extend(left);
        while !self.sums.is_empty() {
            self.add(StageEnding::With(ended));
        }
        let spans = self.spans();
        let all = self.records.iter_mut().zip(spans).enumerate();
        for (index, (record, span)) in all {
            let mut faults = faults.iter();
            let fault = faults.find(|fault| fault.is_between(span.start, span.end));
            let fault = fault.map(|fault| fault.why.clone());
            record.invalid = fault.or(record.invalid.take());
            let of_stage = |counts: &[Punctuality]| counts.get(index).copied().unwrap_or_default();
            record.punctuality = of_stage(&punctuality.all);
            let populations = record.populations.iter_mut().zip(&punctuality.populations);
            for (population, counts) in populations {
                population.punctuality = of_stage(counts);
            }
        }
        let began = self.records.into_iter();
        began
            .take_while(|record| !record.window.is_zero())
            .collect()
    }

    /// Returns the times of the stages. What is before the first one belongs to it, and what is
    /// after the last one to that.
    fn spans(&self) -> Vec<Range<Nanos>> {
        let last = self.places.len().saturating_sub(1);
        let places = self.places.iter().enumerate();
        let span = |(index, place): (usize, &StagePlace)| {
            let begin = match index {
                0 => Nanos(0),
                _ => self.open + place.begin.into(),
            };
            let end = if index == last {
                Nanos::MAX
            } else {
                self.open + place.end().into()
            };
            begin..end
        };
        places.map(span).collect()
    }

    /// Returns how many clients of each population are under load at the end of a stage; on
    /// another host than the first, of its own.
    fn clients_after(&self, place: &StagePlace) -> Vec<u32> {
        if let RunRole::Other(_) = self.context.role {
            return clients_here_after(self.context, place);
        }
        let work = &self.context.plan.work;
        let populations = 0..work.populations.len();
        populations
            .map(|index| work.clients_after(index, place))
            .collect()
    }

    /// Adds the record of the next stage, whose operations are known.
    fn add(&mut self, ended: StageEnding) {
        let index = self.records.len();
        let (Some(place), Some(sums)) = (self.places.get(index).copied(), self.sums.pop_front())
        else {
            return;
        };
        let begin = self.open + place.begin.into();
        let end = begin + place.length.into();
        let (end, load_end) = match ended {
            StageEnding::UnderLoad => (end, Nanos::MAX),
            StageEnding::With(load) => (end.min(load.closed), load.last),
        };
        let window = end.since(begin);
        let opening = self.readings.remove(&index);
        let closing = self.readings.get(&(index + 1));
        let seen = opening.zip(closing);
        let seen = seen.map(|(opening, closing)| Seen::of_stage(&opening, closing));
        let memory = closing.map(|closing| closing.memory).unwrap_or_default();
        let (client, machine_busy) = match &seen {
            Some(seen) => seen.usage(window),
            None => (ClientUsage::default(), None),
        };
        let meter = &self.context.server_cpu;
        let ([opening, closing], [tcp_opening, tcp_closing]) =
            seen.map_or_else(Default::default, |seen| (seen.server, seen.tcp));
        let server_cpu = meter.between(opening, closing, window, load_end);
        let tcp = self.context.tcp.as_ref().map(|watch| {
            watch
                .clone()
                .and_then(|_| tcp::between(tcp_opening, tcp_closing))
        });
        let StageSums {
            mut all,
            own,
            populations,
            hosts,
        } = sums;
        if let Some(before) = self.records.last() {
            all.continue_churn(&before.ops);
        }
        let work = &self.context.plan.work;
        let clients = self.clients_after(&place);
        let populations = clients.iter().zip(populations);
        let populations = populations.map(|(clients, ops)| PopulationStage {
            clients: *clients,
            ops,
            punctuality: Punctuality::default(),
        });
        let mut record = StageRecord {
            invalid: if work.is_pause(&place) {
                trouble_in(&all, self.excuse)
            } else {
                objection_to(&all, self.excuse)
            },
            place,
            clients: clients.iter().sum(),
            clients_at_start: work.clients_before(&place),
            until: work.ramp_up + place.end(),
            window: window.into(),
            window_opened: clock::wall_at(begin),
            ops: all,
            punctuality: Punctuality::default(),
            populations: populations.collect(),
            client,
            machine_busy,
            hosts: Vec::new(),
            server_cpu,
            tcp,
            memory,
        };
        add_hosts_of_stage(&mut record, self.context, own.as_ref(), hosts);
        if let RunRole::Other(upstream) = self.context.role {
            upstream.stage(&record);
        }
        self.records.push(record);
    }
}

/// When the next stage ended.
#[derive(Clone, Copy)]
enum StageEnding {
    /// Before the load did.
    UnderLoad,
    /// Perhaps with the load.
    With(LoadEnd),
}

/// The end of a load.
#[derive(Clone, Copy)]
pub(super) struct LoadEnd {
    /// Instant at which the window closed.
    pub(super) closed: Nanos,
    /// Instant at which the last operation ended.
    pub(super) last: Nanos,
}
