//! The populations of a plan and of a load point in a document. A run without named
//! populations has none of these keys.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::contents::Verify;
use smbench_model::load::{Ramp, RateScope, Spacing};
use smbench_model::plan::Plan;
use smbench_model::record::{Dropout, OpTotals, Verification};
use smbench_model::sessions::{Caching, Mode};
use smbench_model::unit::LoadUnit;

use super::caching::CachingDoc;
use super::named::Named;
use super::offered::OfferedDoc;
use super::operation::{FailureDoc, OpDoc, ReplayedDoc};
use super::pacing::LoopDoc;
use super::plan::{ArrivalsDoc, PlanDoc};
use super::plan_sessions::PlanSessionsDoc;
use super::statistics::SeriesDoc;
use super::stream::{StreamDoc, StreamsDoc};
use super::workload::WorkloadDoc;
use crate::latency::LatencyDoc;

/// A population of a plan: clients that do the same work. Its keys mean the same as those of a
/// plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationDoc {
    /// Its name.
    pub name: String,
    /// Name of its profile.
    pub profile: String,
    /// Percent of the clients that it has, as it was asked for. Absent if a number of clients was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Its clients in each unit. Absent unless load points count units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_unit: Option<u32>,
    /// Its clients at each load point, in the order they run.
    pub clients: Vec<u32>,
    /// The workload of each of its clients.
    pub workload: WorkloadDoc,
    /// Requests that each client keeps in flight.
    pub outstanding: u32,
    /// The event that starts its operations.
    #[serde(rename = "loop")]
    pub pacing: LoopDoc,
    /// Operations per second, of all its clients together or of each (`rate_scope`). Absent also if
    /// a search chooses it: load points then have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Scope of the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_scope: Option<Named<RateScope>>,
    /// Spacing of operations at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Named<ArrivalsDoc>>,
    /// The stream of each client. Absent unless its clients are streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamDoc>,
    /// Mean seconds between the end of an operation and the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time_s: Option<f64>,
    /// Distribution of think times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_distribution: Option<Named<Spacing>>,
    /// Start of clients: `linear` over the ramp-up. Absent if all began at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Named<Ramp>>,
    /// How the number of its clients changed, such as `2m:0,10m:16`. Absent unless it has stages of
    /// its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<String>,
    /// Seconds after the start of the load at which its clients began. Its rates are over the whole
    /// window all the same. Absent if they began with the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// The oplock or lease that opens of files asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oplock: Option<Named<Caching>>,
    /// The dialects that its sessions offered. Absent, like the next two keys, if its sessions had
    /// the options of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Signing of its sessions as asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<Mode>,
    /// Encryption of its sessions as asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Mode>,
    /// Highest number of credits that each of its connections held and used. Absent if it was that
    /// of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<u16>,
    /// Local addresses of its connections. Absent if the system chose them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ip: Option<String>,
    /// Whether data read was compared with the data written.
    pub verify: Verify,
    /// Size of its files on the share at its largest load point.
    pub bytes_on_share: u64,
}

/// The part of a population in a load point. The parts sum up to the load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationPointDoc {
    /// Name of the population.
    pub name: String,
    /// Number of its clients.
    pub clients: u32,
    /// Its application bytes in the window, per second, in Mbit/s (10^6 bits).
    pub throughput_mbps: f64,
    /// Its operations completed without error in the window, per second.
    pub ops_per_s: f64,
    /// Payload bytes of its READs in the window.
    pub bytes_read: u64,
    /// Payload bytes of its WRITEs in the window.
    pub bytes_written: u64,
    /// Number of its failed operations, ramps included.
    pub errors: u64,
    /// Response times of its operations of the window; `null` without operations.
    pub latency_ns: Option<LatencyDoc>,
    /// Its window by kind of operation.
    pub ops: BTreeMap<String, OpDoc>,
    /// Its operations from the first to the last, ramps included, by kind.
    pub whole: BTreeMap<String, OpTotals>,
    /// Its failed operations by cause, ramps included.
    pub failures: Vec<FailureDoc>,
    /// Number of its clients that completed an operation in the window.
    pub clients_served: u32,
    /// Its clients that did not run the whole window. They are numbered within the population.
    pub dropouts: Vec<Dropout>,
    /// Lateness of its operations that were due by the clock. Absent without due times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<OfferedDoc>,
    /// Whether its frames were there by their instants. Absent unless its clients are streams, and
    /// in stages without a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamsDoc>,
    /// What its clients reached of their rate. Absent unless load points count units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<ReachedDoc>,
    /// How many operations of its replay did not go as recorded. Absent without a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<ReplayedDoc>,
    /// Its oplocks and leases granted and broken. Absent if it asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<CachingDoc>,
    /// Result of comparing the data it read with the data written. Absent if it did not compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Its window over time.
    pub series: SeriesDoc,
}

/// The rate of each client of a population, and the part of it that they reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReachedDoc {
    /// Operations per second that were asked of each client.
    pub requested_ops_per_s: f64,
    /// Operations answered in the window, in percent of those that were due in it.
    pub mean_percent: f64,
    /// The same of the client with the smallest share.
    pub slowest_percent: f64,
}

/// The unit that load points count in place of clients, and what makes one valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct UnitDoc {
    /// Its name.
    pub name: String,
    /// Clients of all populations in one unit.
    pub clients: u32,
    /// Percent of its rate that the slowest client of each population must reach.
    pub slowest_percent: f64,
    /// Percent of their rate that the clients of each population must reach on average.
    pub mean_percent: f64,
    /// Longest mean response time of all operations. Absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_latency_ns: Option<u64>,
}

impl From<&LoadUnit> for UnitDoc {
    fn from(unit: &LoadUnit) -> Self {
        let limits = unit.limits;
        let nanos = |limit: Duration| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self {
            name: unit.name.clone(),
            clients: unit.clients,
            slowest_percent: limits.slowest_percent,
            mean_percent: limits.mean_percent,
            mean_latency_ns: limits.mean_latency.map(nanos),
        }
    }
}

impl PopulationDoc {
    /// Describes each named population of a plan.
    pub(super) fn of(plan: &Plan) -> Vec<Self> {
        let alone = plan.alone().filter(|plan| plan.only().name.is_some());
        alone.map(|plan| Self::from(&plan)).collect()
    }

    /// Returns it without the options of its sessions, which do not change the work.
    pub(crate) fn without_sessions(&self) -> Self {
        Self {
            oplock: None,
            dialect: None,
            signing: None,
            encryption: None,
            credits: None,
            source_ip: None,
            ..self.clone()
        }
    }
}

impl PlanDoc {
    /// Returns the plan of one of its populations alone.
    pub(crate) fn alone(&self, population: &PopulationDoc) -> Self {
        let of = population.clone();
        Self {
            profile: of.profile,
            populations: Vec::new(),
            workload: of.workload,
            load_points: of.clients,
            outstanding: of.outstanding,
            rate_per_s: of.rate_per_s,
            rate_scope: of.rate_scope,
            arrivals: of.arrivals,
            stream: of.stream,
            think_time_s: of.think_time_s,
            think_distribution: of.think_distribution,
            ramp: of.ramp,
            sessions: PlanSessionsDoc {
                dialect: of.dialect.unwrap_or_else(|| self.sessions.dialect.clone()),
                signing: of.signing.unwrap_or(self.sessions.signing),
                encryption: of.encryption.or(self.sessions.encryption),
                credits: of.credits.or(self.sessions.credits),
                ..self.sessions.clone()
            },
            verify: of.verify,
            bytes_on_share: of.bytes_on_share,
            ..self.clone()
        }
    }

    /// Returns the workloads of its populations, or its own.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadDoc> {
        let own = (self.populations.len() < 2).then_some(&self.workload);
        let of_each = self.populations.iter().map(|one| &one.workload);
        own.into_iter()
            .chain(of_each.filter(move |_| own.is_none()))
    }
}

impl From<&Plan> for PopulationDoc {
    /// Describes the only population of a plan.
    fn from(plan: &Plan) -> Self {
        let only = plan.only();
        let (rate, think) = (only.load.rate(), only.load.think_time());
        let (sources, caching) = (&plan.sessions.connections.sources, plan.sessions.caching);
        let own = only.session.map(|_| PlanSessionsDoc::from(&plan.sessions));
        Self {
            name: only.name.clone().unwrap_or_default(),
            profile: only.profile.clone(),
            share: only.share.filter(|_| only.per_unit.is_none()),
            per_unit: only.per_unit,
            clients: only.clients.clone(),
            workload: WorkloadDoc::from(&only.workload),
            outstanding: only.outstanding,
            pacing: only.load.into(),
            // A search sets it at each load point.
            rate_per_s: rate
                .map(|(rate, _)| rate.per_second)
                .filter(|_| only.rates.len() != 1),
            rate_scope: rate.map(|(rate, _)| Named::Known(rate.scope)),
            arrivals: rate.map(|(_, arrivals)| Named::Known(arrivals.into())),
            stream: only.load.stream().map(StreamDoc::from),
            think_time_s: think.map(|think| think.mean.as_secs_f64()),
            think_distribution: think.map(|think| Named::Known(think.spacing)),
            ramp: (only.ramp != Ramp::Full).then_some(Named::Known(only.ramp)),
            stages: only.stages.as_ref().map(ToString::to_string),
            start_s: (!only.start.is_zero()).then_some(only.start.as_secs_f64()),
            oplock: (caching != Caching::None).then_some(Named::Known(caching)),
            signing: own.as_ref().map(|own| own.signing),
            encryption: own.as_ref().and_then(|own| own.encryption),
            dialect: own.map(|own| own.dialect),
            credits: only.credits,
            source_ip: sources.as_ref().map(ToString::to_string),
            verify: only.verify,
            bytes_on_share: plan.bytes_on_share(),
        }
    }
}
