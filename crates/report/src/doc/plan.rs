//! The plan of a run in its document: everything needed to run it again. Key names
//! contain the units. Not here: the target, which is `server.url`, and the
//! password.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::contents::Verify;
use smbench_model::event::PlannedEvent;
use smbench_model::generator::{Generator, Pinning};
use smbench_model::limits::Limits;
use smbench_model::load::{Ramp, RateScope, Spacing};
use smbench_model::plan::Plan;
use smbench_model::record::Origin;
use smbench_model::stages::{Stages, StagesPurpose};

use super::named::Named;
use super::plan_sessions::PlanSessionsDoc;
use super::population::{PopulationDoc, UnitDoc};
use super::stream::StreamDoc;
use super::workload::WorkloadDoc;

/// The settings of a run. Keys belong to the work unless they are in one of the
/// structs of another part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PlanDoc {
    /// Name of the profile.
    pub profile: String,
    /// Digest that is equal for plans that measure the same thing.
    pub digest: String,
    /// The populations of clients, which were under load at the same time. Absent unless they
    /// were asked for. If there are several, `workload`, `outstanding`, rates, think times and
    /// `stream` of the plan say nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub populations: Vec<PopulationDoc>,
    /// What load points count in place of clients. Absent if they count clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitDoc>,
    /// The workload of each client.
    pub workload: WorkloadDoc,
    /// Clients of each load point, in the order they run.
    pub load_points: Vec<u32>,
    /// Number of passes over the series of load points.
    pub repeat: u32,
    /// Requests that each client keeps in flight.
    pub outstanding: u32,
    /// Number of actions of each client, after which the load point ends. Absent if it ends by
    /// the clock, and in a replay and a `fileio` test, which have numbers of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Operations per second, of all clients together or of each (`rate_scope`).
    /// Absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The rates of the load points, in the order they run, if there are several;
    /// `rate_per_s` is then the highest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates_per_s: Vec<f64>,
    /// Scope of the rate: all clients together, or each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_scope: Option<Named<RateScope>>,
    /// Spacing of operations at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Named<ArrivalsDoc>>,
    /// The stream of each client, with `rate_per_s` frames per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamDoc>,
    /// Mean seconds between the end of an operation and the next. Absent without a
    /// think time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time_s: Option<f64>,
    /// Distribution of think times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_distribution: Option<Named<Spacing>>,
    /// Start of clients, or of those of a population: `linear` over the ramp-up. Absent if all began
    /// at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Named<Ramp>>,
    /// Seconds under load before the window.
    pub ramp_up_s: f64,
    /// Seconds in the window.
    pub duration_s: f64,
    /// Longest window, if it is extended until the load is steady. `duration_s` is then the
    /// shortest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady_s: Option<f64>,
    /// How the load changed under one load, such as `2m:50,10m:500`, or `soak 8h:200`. Each stage is
    /// a load point. Absent unless it has stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<String>,
    /// Seconds at full load after the window.
    pub ramp_down_s: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// What was done at instants of each window, such as `at 30s: drop 100%`. Absent if there was
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// The load generator; its keys are among those of the plan.
    #[serde(flatten)]
    pub generator: PlanGeneratorDoc,
    /// `own` if an embedding program supplied the operations. `workload`, `seed`
    /// and `digest` then do not describe them. Absent in other documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Named<Origin>>,
    /// The sessions; their keys are among those of the plan.
    #[serde(flatten)]
    pub sessions: PlanSessionsDoc,
    /// Whether data read was compared with the data written.
    pub verify: Verify,
    /// Bounds on every wait.
    pub limits: LimitsDoc,
    /// Size of all files on the share at the largest load point.
    pub bytes_on_share: u64,
}

/// The load generator of a plan. It does not change the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PlanGeneratorDoc {
    /// Worker threads of the generator. Of several machines, all together.
    pub threads: u32,
    /// Whether each thread was pinned to its own CPU. Absent, like the next key, in
    /// documents of releases without the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_threads: Option<bool>,
    /// Highest number of sessions that were set up per second. Of several machines, all
    /// together. Absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_rate: Option<u32>,
    /// The clients that this run carried, such as `0..500/1000`: clients 0 to 499 of 1000. Absent
    /// if it carried all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_range: Option<String>,
    /// The client that carried out the operations. Absent in documents of releases
    /// without the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Named<DriverDoc>>,
    /// The shell command before each load point. Absent, like the next keys, without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_point: Option<String>,
    /// The shell command after each load point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_point: Option<String>,
    /// How long each load point waited at most for a quiet server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_quiet_s: Option<f64>,
}

/// Spacing of operations at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ArrivalsDoc {
    /// Equal gaps.
    Constant,
    /// A Poisson process.
    Poisson,
}

/// The client that carried out the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DriverDoc {
    /// smbench's own client.
    Native,
    /// The crate `smb`.
    SmbRs,
    /// The driver of an embedding program.
    Own,
}

/// The longest each wait may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LimitsDoc {
    /// Until TCP is connected.
    pub connect_s: f64,
    /// Until one set-up request is answered.
    pub setup_s: f64,
    /// Until one measured operation is answered.
    pub operation_s: f64,
}

impl PlanDoc {
    /// Returns what its stages are for.
    pub(crate) fn stages_purpose(&self) -> StagesPurpose {
        match &self.stages {
            Some(stages) if stages.starts_with("soak ") => StagesPurpose::Soak,
            _ => StagesPurpose::Lines,
        }
    }

    /// Returns the number of worker threads at this number of clients. Sessions
    /// that share a connection share a thread, and a thread without clients never
    /// starts.
    pub(crate) fn threads_at(&self, clients: u32) -> u32 {
        let sessions = self.sessions.sessions_per_connection.unwrap_or(1).max(1);
        let place = self
            .load_points
            .iter()
            .position(|of_point| *of_point == clients);
        let of_each = self.populations.iter();
        let of_each = of_each.filter_map(|one| one.clients.get(place?).copied());
        // The clients of a connection are of one population.
        let groups = match of_each.map(|clients| clients.div_ceil(sessions)).sum() {
            0 => clients.div_ceil(sessions),
            groups => groups,
        };
        self.generator.threads.min(groups)
    }

    /// Returns the number of connections at this number of clients.
    pub(crate) fn connections_at(&self, clients: u32) -> u64 {
        let sessions = self.sessions.sessions_per_connection.unwrap_or(1).max(1);
        let connections = self.sessions.connections_per_session.unwrap_or(1);
        u64::from(clients.div_ceil(sessions)) * u64::from(connections)
    }

    /// Returns whether clients join one by one during the ramp-up.
    #[must_use]
    pub fn is_joined_one_by_one(&self) -> bool {
        self.ramp == Some(Named::Known(Ramp::Linear))
    }

    /// Returns whether load points end when all clients have replayed the recording, or done
    /// their number of actions.
    #[must_use]
    pub fn is_until_replayed(&self) -> bool {
        let replay = self.workload.replay.as_ref();
        self.count.is_some() || replay.is_some_and(|replay| replay.loops.is_some())
    }
}

impl From<&Plan> for PlanDoc {
    fn from(plan: &Plan) -> Self {
        let populations = PopulationDoc::of(plan);
        if let [_] = plan.work.populations[..] {
            return Self {
                populations,
                ..Self::of_one(plan)
            };
        }
        let alone = plan.alone().next();
        let Some(first) = alone.as_ref().map(Self::of_one) else {
            unreachable!("a plan has at least one population");
        };
        let is_verified = |one: &PopulationDoc| one.verify == Verify::ReadBack;
        Self {
            digest: plan.digest(),
            workload: WorkloadDoc::default(),
            load_points: plan.work.load_points(),
            stages: plan.work.stages.as_ref().map(Stages::to_string),
            outstanding: populations
                .iter()
                .map(|one| one.outstanding)
                .max()
                .unwrap_or(1),
            rate_per_s: None,
            rates_per_s: Vec::new(),
            rate_scope: None,
            arrivals: None,
            stream: None,
            think_time_s: None,
            think_distribution: None,
            ramp: populations.iter().find_map(|one| one.ramp.clone()),
            sessions: PlanSessionsDoc::from(&plan.sessions),
            verify: if populations.iter().any(is_verified) {
                Verify::ReadBack
            } else {
                Verify::Off
            },
            bytes_on_share: populations.iter().map(|one| one.bytes_on_share).sum(),
            populations,
            ..first
        }
    }
}

impl PlanDoc {
    /// Describes a plan with one population.
    fn of_one(plan: &Plan) -> Self {
        let load = &plan.only().load;
        let (rate, think) = (load.rate(), load.think_time());
        Self {
            profile: plan.work.profile.clone(),
            digest: plan.digest(),
            populations: Vec::new(),
            unit: plan.work.unit.as_ref().map(UnitDoc::from),
            workload: WorkloadDoc::from(&plan.only().workload),
            load_points: plan.work.load_points(),
            repeat: plan.work.repeat,
            outstanding: plan.only().outstanding,
            count: plan.only().count,
            rate_per_s: rate.map(|(rate, _)| rate.per_second),
            rates_per_s: plan
                .only()
                .rates
                .iter()
                .map(|rate| rate.per_second)
                .collect(),
            rate_scope: rate.map(|(rate, _)| Named::Known(rate.scope)),
            arrivals: rate.map(|(_, arrivals)| Named::Known(arrivals.into())),
            stream: plan.only().load.stream().map(StreamDoc::from),
            think_time_s: think.map(|think| think.mean.as_secs_f64()),
            think_distribution: think.map(|think| Named::Known(think.spacing)),
            ramp: (plan.only().ramp != Ramp::Full).then_some(Named::Known(plan.only().ramp)),
            ramp_up_s: plan.work.ramp_up.as_secs_f64(),
            duration_s: plan.work.duration.as_secs_f64(),
            until_steady_s: plan.work.until_steady.map(|most| most.as_secs_f64()),
            stages: plan.work.stages.as_ref().map(Stages::to_string),
            ramp_down_s: plan.work.ramp_down.as_secs_f64(),
            seed: plan.work.seed,
            events: plan
                .work
                .events
                .iter()
                .map(PlannedEvent::to_string)
                .collect(),
            generator: PlanGeneratorDoc::from(&plan.generator),
            operations: None,
            sessions: PlanSessionsDoc::from(&plan.sessions),
            verify: plan.only().verify,
            limits: LimitsDoc::from(plan.limits),
            bytes_on_share: plan.bytes_on_share(),
        }
    }
}

impl From<&Generator> for PlanGeneratorDoc {
    fn from(generator: &Generator) -> Self {
        Self {
            threads: generator.threads,
            pin_threads: Some(generator.pinning == Pinning::Pinned),
            setup_rate: generator.setup_rate,
            client_range: generator.part.range().map(|range| range.to_string()),
            driver: Some(Named::from(generator.driver.name().to_owned())),
            before_point: generator.hooks.before.clone(),
            after_point: generator.hooks.after.clone(),
            until_quiet_s: generator.hooks.until_quiet.map(|most| most.as_secs_f64()),
        }
    }
}

impl From<Limits> for LimitsDoc {
    fn from(limits: Limits) -> Self {
        let [connect_s, setup_s, operation_s] = [limits.connect, limits.setup, limits.operation]
            .map(|limit: Duration| limit.as_secs_f64());
        Self {
            connect_s,
            setup_s,
            operation_s,
        }
    }
}

impl From<Spacing> for ArrivalsDoc {
    fn from(spacing: Spacing) -> Self {
        match spacing {
            Spacing::Fixed => Self::Constant,
            Spacing::Exponential => Self::Poisson,
        }
    }
}
