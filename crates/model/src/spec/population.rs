//! A population of a profile as written.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use smbench_protocol::DialectRange;

use crate::lists::rates::RateList;
use crate::lists::sources::SourceList;
use crate::load::Spacing;
use crate::options::{duration, from_text};
use crate::sessions::{Caching, Mode};
use crate::stages::{MovedClients, Stages};
use crate::workload::Timing;

/// One `[[population]]` table: clients that do the work of a profile. Options that are absent
/// are those of that profile.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationSpec {
    /// Its name in results and conditions, which no other population has. It consists of
    /// letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The profile of its clients: a built-in one, or the path of a file, relative to this file.
    /// As with `--profile`, `loadfile:` and `trace:` may precede the path.
    pub profile: String,
    /// Number of its clients at every load point. This, `share` or `per_unit` is required.
    pub clients: Option<u32>,
    /// Number of its clients in each unit, where the profile has a `unit`.
    pub per_unit: Option<u32>,
    /// Percent of the clients of a load point. The shares sum to 100. Populations with `clients`
    /// come first, and the shares divide the others.
    pub share: Option<f64>,
    /// Requests that each client keeps in flight.
    pub outstanding: Option<u32>,
    /// Operations per second, such as `5000` or `50/client`.
    pub rate: Option<RateList>,
    /// How arrivals at a rate are spaced: `constant` or `poisson`.
    pub arrivals: Option<Spacing>,
    /// Mean time between the end of an operation and the next one.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pub think_time: Option<Duration>,
    /// How think times vary: `fixed` or `exponential`.
    pub think_distribution: Option<Spacing>,
    /// When operations of a replay begin: `fast` or `recorded`.
    pub timing: Option<Timing>,
    /// How many times as fast as recorded a replay is.
    pub speed: Option<f64>,
    /// The caching that opens of files ask for, such as `batch` or `lease-rh`.
    pub oplock: Option<Caching>,
    /// Dialects that its sessions offer, such as `3.1.1` or `2.1..3.0.2`.
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub dialect: Option<DialectRange>,
    /// Message signing of its sessions.
    pub sign: Option<Mode>,
    /// Message encryption of its sessions.
    pub encrypt: Option<Mode>,
    /// Maximum number of credits that each of its connections holds and uses.
    pub credits: Option<u16>,
    /// How the number of its clients changes, such as `2m:0,10m:16`. `clients` is then the number
    /// at the start; 0 when absent.
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub stages: Option<Stages>,
    /// How long after the others its clients begin, at the start of each load point. It is less
    /// than the ramp-up and the window together.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pub start: Option<Duration>,
    /// Local addresses to connect from, such as `192.0.2.10-192.0.2.20`.
    pub source_ip: Option<SourceList>,
}

impl PopulationSpec {
    /// Returns the line of its clients, if it has stages of its own.
    pub(crate) fn line(&self) -> Option<Stages> {
        let mut written = self.stages.clone()?;
        written.begin = self.clients.unwrap_or(0).into();
        let mut line = written.cut_as(&written);
        line.clients = MovedClients::only(line.most() as u32);
        Some(line)
    }
}
