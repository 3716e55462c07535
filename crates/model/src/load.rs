//! The load model: when the actions of clients begin.
//!
//! In a closed loop a client begins an action after it has finished an earlier one,
//! at once or after a think time. A slow server therefore gets less load. At a
//! rate, actions are due at instants that do not depend on the server. A slow
//! server then gets the same load, and latency counts from those instants
//! (Schroeder, Wierman, Harchol-Balter: "Open Versus Closed: A Cautionary Tale",
//! NSDI 2006).

pub mod stream;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units::parse_count;
use stream::FrameStream;

/// The largest rate, in actions per second. It is several times the rate that any
/// machine can offer. It bounds the time to count the actions given up after a
/// stall.
pub const RATE_MAX: f64 = 1e6;
/// The smallest rate, in actions per second: one action in eleven days.
pub const RATE_MIN: f64 = 1e-6;
/// The longest mean think time.
pub const THINK_TIME_MAX: Duration = Duration::from_secs(86_400);

/// The event that makes an action begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadModel {
    /// The end of an earlier action of the same client.
    Closed {
        /// Time after that end; `None` for at once.
        think: Option<ThinkTime>,
    },
    /// The clock, independent of the server.
    Rate {
        /// Number of actions per second.
        rate: Rate,
        /// How arrivals are spaced: fixed is a constant rate, exponential is a
        /// Poisson process.
        arrivals: Spacing,
    },
    /// The clock, at the recorded instants, but never before the previous operation
    /// has ended.
    Recorded,
    /// The clock, for frames that must be done by their instants.
    Stream(FrameStream),
}

impl Default for LoadModel {
    fn default() -> Self {
        Self::Closed { think: None }
    }
}

impl LoadModel {
    /// Whether each action has an instant at which it is due, so that it can be
    /// late.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        !matches!(self, Self::Closed { think: None })
    }

    /// Returns the rate of the actions and how they are spaced, if there is one. That of a stream
    /// is the number of its frames per second.
    #[must_use]
    pub const fn rate(&self) -> Option<(Rate, Spacing)> {
        match self {
            Self::Rate { rate, arrivals } => Some((*rate, *arrivals)),
            Self::Stream(stream) => {
                let rate = Rate {
                    per_second: stream.frames_per_s,
                    scope: RateScope::Client,
                };
                Some((rate, Spacing::Fixed))
            }
            Self::Closed { .. } | Self::Recorded => None,
        }
    }

    /// Returns the time between actions, if there is one.
    #[must_use]
    pub const fn think_time(&self) -> Option<ThinkTime> {
        match self {
            Self::Closed { think } => *think,
            _ => None,
        }
    }

    /// Returns the streams, if clients are streams.
    #[must_use]
    pub const fn stream(&self) -> Option<&FrameStream> {
        match self {
            Self::Stream(stream) => Some(stream),
            _ => None,
        }
    }
}

/// The time between the end of an action and the beginning of the next one in its
/// place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkTime {
    /// The mean, more than 0 and at most [`THINK_TIME_MAX`].
    pub mean: Duration,
    /// How the times vary around their mean.
    pub spacing: Spacing,
}

/// How the gaps between events vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// No variation: `fixed` think times, `constant` arrivals.
    #[default]
    #[serde(alias = "constant")]
    Fixed,
    /// Exponentially distributed gaps, without memory: `exponential` think times,
    /// `poisson` arrivals.
    #[serde(alias = "poisson")]
    Exponential,
}

impl Spacing {
    /// Returns the name of this spacing for think times.
    #[must_use]
    pub const fn of_think_times(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
        }
    }

    /// Returns the name of this spacing for arrivals.
    #[must_use]
    pub const fn of_arrivals(self) -> &'static str {
        match self {
            Self::Fixed => "constant",
            Self::Exponential => "poisson",
        }
    }
}

/// A number of actions per second, of one client or of all clients together.
///
/// `5000` and `5000/total` are for all clients together; each has an equal share.
/// `50/client` is for each client. `5k` is 5000.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Actions per second, [`RATE_MIN`] to [`RATE_MAX`].
    pub per_second: f64,
    /// The clients that the number counts.
    pub scope: RateScope,
}

/// The clients that a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateScope {
    /// All clients together.
    Total,
    /// Each client.
    Client,
}

impl Rate {
    /// Returns the actions per second of each client, if there are `clients`
    /// clients.
    #[must_use]
    pub fn of_client(&self, clients: u32) -> f64 {
        match self.scope {
            RateScope::Client => self.per_second,
            RateScope::Total => self.per_second / f64::from(clients.max(1)),
        }
    }

    /// Returns the actions per second of `clients` clients together.
    #[must_use]
    pub fn of_all(&self, clients: u32) -> f64 {
        self.of_client(clients) * f64::from(clients)
    }
}

/// The load of one load point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointLoad {
    /// Number of clients.
    pub clients: u32,
    /// The rate, where it is not the plan's.
    pub rate: Option<Rate>,
    /// Number of the pass, from 1.
    pub repeat: u32,
    /// Index of the load point in the plan. `None` if it is none of the plan, as in a search,
    /// which only a plan with one population allows.
    pub place: Option<u32>,
    /// What happens when a session cannot be set up.
    pub setup: SetupFailures,
}

/// What happens when a session cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum SetupFailures {
    /// The first failure ends the run.
    EndRun,
    /// Failures are counted. When their share of the attempts, 0 to 1, reaches this, no
    /// more sessions are set up, and the load begins with those that stand.
    CountUntil(f64),
}

/// The text is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a rate: give operations per second, up to {RATE_MAX}, such as 5000 or 5k for all \
     clients together or 50/client for each"
)]
pub struct RateError(String);

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let fail = || RateError(text.to_owned());
        let trimmed = text.trim();
        let (number, scope) = match trimmed.split_once('/') {
            None => (trimmed, RateScope::Total),
            Some((number, "total")) => (number, RateScope::Total),
            Some((number, "client")) => (number, RateScope::Client),
            Some(_) => return Err(fail()),
        };
        let per_second = parse_count(number).ok_or_else(fail)?;
        if (RATE_MIN..=RATE_MAX).contains(&per_second) {
            Ok(Self { per_second, scope })
        } else {
            Err(fail())
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            RateScope::Total => write!(f, "{}", self.per_second),
            RateScope::Client => write!(f, "{}/client", self.per_second),
        }
    }
}

/// How the load of a point rises to its full height during the ramp-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ramp {
    /// All clients begin at once.
    #[default]
    Full,
    /// The first clients begin at once: as many as the previous load point of the
    /// same pass had. The others join one by one, evenly over the ramp-up. All
    /// sessions are new at each load point.
    Linear,
}

impl Ramp {
    /// Returns when a client (number from 0) begins, counted from the beginning of
    /// the load point. `before` is the number of clients of the previous load
    /// point, 0 for the first of each pass.
    #[must_use]
    pub fn start(self, client: u32, clients: u32, before: u32, ramp_up: Duration) -> Duration {
        match (self, client.checked_sub(before)) {
            (Self::Full, _) | (_, None) => Duration::ZERO,
            (Self::Linear, Some(joins)) => {
                let joining = clients.saturating_sub(before).max(1);
                ramp_up.mul_f64(f64::from(joins) / f64::from(joining))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written() {
        for (text, per_second, scope, written) in [
            ("5000", 5000.0, RateScope::Total, "5000"),
            ("5000/total", 5000.0, RateScope::Total, "5000"),
            (" 0.5/client", 0.5, RateScope::Client, "0.5/client"),
            ("1e6", 1e6, RateScope::Total, "1000000"),
            ("5K", 5000.0, RateScope::Total, "5000"),
            ("2.5k/client", 2500.0, RateScope::Client, "2500/client"),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate, Rate { per_second, scope });
            assert_eq!(rate.to_string(), written);
        }
        for text in [
            "",
            "0",
            "-1",
            "nan",
            "inf",
            "1e7",
            "1e-300",
            "5/s",
            "/client",
            "5/client/",
            "k",
            "5kk",
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not a rate: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_rate_is_shared_by_all_clients_or_each_clients_own() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        assert_eq!(rate("600").of_client(4), 150.0);
        assert_eq!(rate("600").of_all(4), 600.0);
        assert_eq!(rate("600/client").of_client(4), 600.0);
        assert_eq!(rate("600/client").of_all(4), 2400.0);
    }

    #[test]
    fn clients_join_those_of_the_load_point_before_evenly() {
        let seconds = |ramp: Ramp, clients, before| -> Vec<f64> {
            (0..clients)
                .map(|client| ramp.start(client, clients, before, Duration::from_secs(8)))
                .map(|start| start.as_secs_f64())
                .collect()
        };
        assert_eq!(seconds(Ramp::Full, 3, 0), [0.0; 3]);
        assert_eq!(seconds(Ramp::Linear, 4, 0), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(seconds(Ramp::Linear, 4, 2), [0.0, 0.0, 0.0, 4.0]);
        // Fewer clients than before: none joins later.
        assert_eq!(seconds(Ramp::Linear, 3, 5), [0.0; 3]);
    }
}
