//! What a load point counts in place of clients: units, each of which has clients of every
//! population. SPECstorage calls such a unit a business metric. Not here: whether a load point
//! keeps the limits, which the report judges.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::options::duration;

/// The unit that the load points of a plan count.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadUnit {
    /// Its name, such as `JOB`.
    pub name: String,
    /// Clients of all populations in one unit, at least 1.
    pub clients: u32,
    /// What a load point must reach to be valid.
    pub limits: UnitLimits,
}

/// What the clients of a load point must reach to be valid. The defaults are the rules of
/// SPECsfs and SPECstorage.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitLimits {
    /// Percent of its rate that the slowest client of each population reaches, 0 to 100; 75 when
    /// absent.
    pub slowest_percent: f64,
    /// Percent of their rate that the clients of each population reach on average, 0 to 100; 95
    /// when absent.
    pub mean_percent: f64,
    /// Longest mean response time of all operations, such as `20ms`. Without a limit when absent.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pub mean_latency: Option<Duration>,
}

impl Default for UnitLimits {
    fn default() -> Self {
        Self {
            slowest_percent: 75.0,
            mean_percent: 95.0,
            mean_latency: None,
        }
    }
}

impl LoadUnit {
    /// Returns how many units this many clients are; `None` if they are no whole number of them.
    #[must_use]
    pub fn count(&self, clients: u32) -> Option<u32> {
        let is_whole = clients.is_multiple_of(self.clients);
        is_whole.then(|| clients / self.clients)
    }
}
