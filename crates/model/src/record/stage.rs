//! What is measured in one stage of a load, and the load points that stages become.

use std::time::{Duration, SystemTime};

use super::{
    ClientUsage, Dropout, Fairness, GeneratorRecord, HostRecord, LoadPointRecord, PopulationRecord,
    Punctuality, Tally, TcpRecord,
};
use crate::cpu::ServerCpuRecord;
use crate::load::{Rate, RateScope};
use crate::stages::{StagePlace, StageUnit};

/// The measurements of one stage. All others are those of the whole load.
#[derive(Clone, Debug)]
pub struct StageRecord {
    /// The stage.
    pub place: StagePlace,
    /// Clients under load at its end, of all populations.
    pub clients: u32,
    /// The same at its start.
    pub clients_at_start: u32,
    /// Time from the start of the load to its end, with ramps.
    pub until: Duration,
    /// How much of it was measured.
    pub window: Duration,
    /// Wall-clock time at which it began.
    pub window_opened: SystemTime,
    /// Its operations.
    pub ops: Tally,
    /// How punctual its actions were that are due by the clock.
    pub punctuality: Punctuality,
    /// The parts of the populations, if there are several.
    pub populations: Vec<PopulationStage>,
    /// Why it must not be quoted by itself; `None` if nothing is wrong with it.
    pub invalid: Option<String>,
    /// The generator's own use of CPU and memory; of several hosts, their sum.
    pub client: ClientUsage,
    /// Share of all CPUs of this machine that were busy, 0 to 1; of several hosts, the highest.
    pub machine_busy: Option<f64>,
    /// The parts of the hosts, the first host first, without those that were lost before its end;
    /// empty if there is only one.
    pub hosts: Vec<HostRecord>,
    /// The server's use of CPU.
    pub server_cpu: ServerCpuRecord,
    /// What TCP did, if that was asked for.
    pub tcp: Option<TcpRecord>,
    /// Memory at its end.
    pub memory: StageMemory,
}

/// What processes hold at the end of a stage; `None` where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageMemory {
    /// Bytes of the generator, also those that are swapped out, without those of files; of several
    /// hosts, their sum.
    pub own: Option<u64>,
    /// The same of the server's processes.
    pub server: Option<u64>,
    /// Handles that the server's processes have open: files, sockets and others.
    pub server_handles: Option<u64>,
}

impl StageRecord {
    fn mean_clients(&self) -> f64 {
        self.place.mean_clients(self.clients_at_start, self.clients)
    }

    /// Returns how long its clients were under load, summed over them, in seconds.
    fn clients_s(&self) -> f64 {
        self.mean_clients() * self.window.as_secs_f64()
    }

    /// Returns the clients that were lost before its end, or at an unknown time.
    fn lost(&self, all: &[Dropout]) -> Vec<Dropout> {
        let end = self.until.as_secs_f64();
        let is_before = |one: &&Dropout| one.after_s.is_none_or(|after_s| after_s < end);
        all.iter().filter(is_before).cloned().collect()
    }
}

/// The part of a population in a stage.
#[derive(Clone, Debug)]
pub struct PopulationStage {
    /// Its clients under load at the end of the stage.
    pub clients: u32,
    /// Its operations.
    pub ops: Tally,
    /// How punctual its actions were that are due by the clock.
    pub punctuality: Punctuality,
}

impl LoadPointRecord {
    /// Returns a load point for each stage, or this one if the load has none. What is measured
    /// once for the whole load, such as the log-ons and the state of the generator, is in each.
    /// Waits are divided by the time of the clients.
    #[must_use]
    pub fn into_stages(mut self) -> Vec<Self> {
        let stages = std::mem::take(&mut self.stages);
        if stages.is_empty() {
            return vec![self];
        }
        let last = stages.len() - 1;
        let clients_s: f64 = stages.iter().map(StageRecord::clients_s).sum();
        let points = stages.into_iter().enumerate().map(|(index, stage)| {
            let whole = self.invalid.clone();
            // A client that is lost lacks in the stages after that too.
            let lacks = !stage.lost(&self.dropouts).is_empty();
            let whole = whole.filter(|_| lacks || index == last);
            let of_waits = if clients_s > 0.0 {
                stage.clients_s() / clients_s
            } else {
                0.0
            };
            let stage = StageRecord {
                invalid: stage.invalid.clone().or(whole),
                // A client that is lost after the last one is in it.
                until: if index == last {
                    Duration::MAX
                } else {
                    stage.until
                },
                ..stage
            };
            self.part(stage, of_waits)
        });
        points.collect()
    }

    /// Returns the load point of a stage that ended under load. How long its clients waited is
    /// known only after the load.
    #[must_use]
    pub fn of_stage(&self, stage: StageRecord) -> Self {
        self.part(stage, 0.0)
    }

    /// Returns the load point of a stage with this share of the waits, 0 to 1.
    fn part(&self, stage: StageRecord, of_waits: f64) -> Self {
        let interval = self.series.interval.as_secs().max(1);
        let from = (stage.place.begin.as_secs() / interval) as usize;
        let intervals = from..(stage.place.end().as_secs() / interval) as usize;
        let dropouts = stage.lost(&self.dropouts);
        let lost_of_each = self.populations.iter().map(|one| stage.lost(&one.dropouts));
        let lost_of_each: Vec<_> = lost_of_each.collect();
        let mean_clients = stage.mean_clients();
        let populations = self.populations.iter().zip(stage.populations);
        let populations = populations.zip(lost_of_each);
        let populations = populations.map(|((population, of_stage), dropouts)| PopulationRecord {
            name: population.name.clone(),
            clients: of_stage.clients,
            clients_served: population.clients_served,
            dropouts,
            punctuality: of_stage.punctuality,
            series: population.series.part(intervals.clone()),
            ops: of_stage.ops,
        });
        let populations: Vec<_> = populations.collect();
        let hosts = stage.hosts.into_iter().map(|part| {
            let whole = self.hosts.iter().find(|host| host.name == part.name);
            match whole {
                Some(whole) => whole.in_stage(HostRecord {
                    mean_clients: mean_clients * f64::from(whole.clients)
                        / f64::from(self.clients.max(1)),
                    credit_starved: whole.credit_starved.mul_f64(of_waits),
                    held_back: whole.held_back.mul_f64(of_waits),
                    ..part
                }),
                None => part,
            }
        });
        Self {
            hosts: hosts.collect(),
            clients: stage.clients,
            clients_at_start: stage.clients_at_start,
            rate: match stage.place.unit {
                StageUnit::Clients => None,
                StageUnit::Rate => Some(Rate {
                    per_second: stage.place.to,
                    scope: RateScope::Total,
                }),
            },
            window: stage.window,
            window_opened: stage.window_opened,
            dropouts,
            populations,
            series: self.series.part(intervals),
            // Measured for the whole load only.
            in_flight: Duration::ZERO,
            punctuality: stage.punctuality,
            fairness: Fairness::default(),
            invalid: stage.invalid,
            client: stage.client,
            server_cpu: stage.server_cpu,
            tcp: stage.tcp,
            generator: GeneratorRecord {
                machine_busy: stage.machine_busy,
                ..self.generator.clone()
            },
            ops: stage.ops,
            stage: Some(stage.place),
            memory: Some(stage.memory),
            credit_starved: self.credit_starved.mul_f64(of_waits),
            held_back: self.held_back.mul_f64(of_waits),
            ..self.clone()
        }
    }
}
