//! The search for a limit: its answer, and the probes that led to it. Not here: how
//! probes are judged ([`crate::find`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::Estimate;

/// The answer of a search for the highest load at which conditions hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindDoc {
    /// What was searched for.
    pub kind: FindKind,
    /// The unit of loads: `ops/s`, `clients`, `sessions` or `log-ons/s`.
    pub unit: String,
    /// The population whose rate the loads are. Absent if they are those of all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<String>,
    /// The conditions that must hold; at a rate, the server must also reach it. For
    /// sessions, the condition that ends the search.
    pub limit: Vec<String>,
    /// The highest load at which the conditions held in enough probes; `null` if the
    /// search did not come to an answer. Of several passes, the mean of their answers.
    pub result: Option<f64>,
    /// The lowest load at which a condition did not hold, or the highest one that was
    /// allowed; `null` if no probe had it.
    pub broke_at: Option<f64>,
    /// Why that load did not hold; `null` without it.
    pub broke_reason: Option<String>,
    /// The highest load that held in a probe, below all that did not; `null` if none did.
    pub held_at: Option<f64>,
    /// How the search ended.
    pub end: FindEnd,
    /// Why the server may take more than the answer, as a clause. Absent without a doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Probes that contradict each other. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<ContradictionDoc>,
    /// What may help, as a clause, if the search ended because smbench or its machine was the
    /// limit. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The largest distance between the answer and the load that did not hold, as a share
    /// of the answer; 0 for sessions.
    pub precision: f64,
    /// Number of probes in which the answer had to hold.
    pub confirmations: u32,
    /// Number of probes that the answer had at most.
    pub confirmations_of: u32,
    /// The probes in their order. Probe N is load point N of `load_points`.
    pub probes: Vec<ProbeDoc>,
    /// The searches that were joined, one for each pass. Absent for a single search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<FindPassDoc>,
    /// Mean of the answers of all passes that have one. Absent for a single search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The load curve that was measured after the search. Absent unless it was asked for, and of
    /// several passes: each has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<LoadCurveDoc>,
}

/// Even rates up to the answer of a search, and two figures for all of them. Its load points come
/// after the probes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LoadCurveDoc {
    /// How many points were asked for.
    pub asked: u32,
    /// The points in their order.
    pub points: Vec<LoadCurvePointDoc>,
    /// Achieved operations per second at the last point; `null` unless all points count.
    pub ops_per_s: Option<f64>,
    /// Overall response time in nanoseconds: the area below the mean response times, divided by
    /// the range of achieved rates; `null` unless all points count.
    pub ort_ns: Option<f64>,
    /// The same area, divided by the highest achieved rate.
    pub ort_by_peak_ns: Option<f64>,
}

/// A point of a load curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LoadCurvePointDoc {
    /// The rate that was asked for, in operations per second.
    pub rate: f64,
    /// The rate that was achieved.
    pub ops_per_s: f64,
    /// Mean response time in nanoseconds; `null` if no operation completed.
    pub latency_mean_ns: Option<f64>,
    /// Why the point does not count. Absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_reason: Option<String>,
}

/// Probes of which one held at a load at which, or below which, another one broke. So the
/// load is not all that decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ContradictionDoc {
    /// The highest load that held.
    pub held_at: f64,
    /// Numbers of the probes in which it held, from 1.
    pub held_in: Vec<u32>,
    /// The lowest load that broke, at most `held_at`.
    pub broke_at: f64,
    /// Numbers of the probes in which it broke, from 1.
    pub broke_in: Vec<u32>,
    /// The highest load below `broke_at` that held; `null` if none did. The answer lies above.
    pub at_least: Option<f64>,
    /// The lowest load above `held_at` that broke; `null` if none did. The answer lies below.
    pub below: Option<f64>,
}

/// One of several searches for the same limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FindPassDoc {
    /// Number of the pass, from 1: `repeat` of its load points.
    pub pass: u32,
    /// The answer of this search; `null` if there is none.
    pub result: Option<f64>,
    /// The lowest load at which a condition did not hold, or the highest one that was
    /// allowed; `null` if no probe had it.
    pub broke_at: Option<f64>,
    /// Why that load did not hold; `null` without it.
    pub broke_reason: Option<String>,
    /// The highest load that held in a probe, below all that did not; `null` if none did.
    pub held_at: Option<f64>,
    /// How this search ended.
    pub end: FindEnd,
    /// Number of its probes. Those of the passes follow one another in `probes`.
    pub probes: u32,
}

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindKind {
    /// The highest rate, in operations per second.
    Rate,
    /// The largest number of clients.
    Clients,
    /// The largest number of sessions that are open at the same time.
    Sessions,
    /// The highest rate of complete log-ons, per second.
    Logons,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindEnd {
    /// The answer was confirmed, and a load within the precision did not hold.
    Found,
    /// The conditions held at the highest load that was allowed.
    NeverBroke,
    /// The conditions did not hold at the lowest load.
    NeverHeld,
    /// The load generator, or its machine, was the bottleneck in every probe of a load.
    ClientLimited,
    /// A probe did not measure what a condition is about.
    Unknown,
    /// The number of probes was used up.
    ProbesUsedUp,
    /// The run ended before the search.
    Unfinished,
}

impl FindEnd {
    /// Returns why the search ended, in a few words.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Found => "the limit broke",
            Self::NeverBroke => "max allows no more",
            Self::NeverHeld => "nothing held",
            Self::ClientLimited => "smbench or its machine was the limit",
            Self::Unknown => "a condition could not be judged",
            Self::ProbesUsedUp => "the probes were used up",
            Self::Unfinished => "not finished",
        }
    }
}

/// One probe of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeDoc {
    /// The load that was asked for.
    pub load: f64,
    /// Operations per second that were achieved by all populations, or by the one searched
    /// for; of one at a rate, those due and answered.
    pub ops_per_s: f64,
    /// Whether the conditions held.
    pub verdict: ProbeOutcome,
    /// The value that decided, with its place; or why there is none.
    pub reason: String,
}

/// The verdict on a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// All conditions held.
    Held,
    /// A condition did not hold.
    Broke,
    /// The load generator, or its machine, was the bottleneck: the probe says nothing about
    /// the server.
    ClientLimited,
    /// The probe did not measure what a condition is about.
    Unknown,
}
