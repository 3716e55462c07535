//! What makes the actions of clients begin: the load model.
//!
//! In a closed loop a client begins an action when it has finished an earlier
//! one, at once or after a think time: a slow server is asked less. At a rate,
//! actions are due at instants that do not depend on the server, so a slow one
//! is asked just as much, and latency counts from those instants (Schroeder,
//! Wierman, Harchol-Balter: "Open Versus Closed: A Cautionary Tale", NSDI 2006).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use thiserror::Error;

/// The most actions per second that may be asked for: several times what any
/// machine offers, so that what is given up after a stall is counted in no time.
pub const RATE_MAX: f64 = 1e6;
/// The fewest: one in eleven days.
pub const RATE_MIN: f64 = 1e-6;
/// The longest mean think time.
pub const THINK_TIME_MAX: Duration = Duration::from_secs(86_400);

/// What makes an action begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadModel {
    /// The end of an earlier one of the same client.
    Closed {
        /// How long after it; `None` is at once.
        think: Option<ThinkTime>,
    },
    /// The clock, whatever the server does.
    Rate {
        /// How many.
        rate: Rate,
        /// How they are spaced: fixed is a constant rate, exponential a Poisson
        /// process.
        arrivals: Spacing,
    },
    /// The clock, at the instants that were recorded, but not before the
    /// operation before it has ended.
    Recorded,
}

impl Default for LoadModel {
    fn default() -> Self {
        Self::Closed { think: None }
    }
}

impl LoadModel {
    /// Whether actions are due at an instant of their own, so that one can be
    /// late.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        !matches!(self, Self::Closed { think: None })
    }
}

/// The time between the end of an action and the beginning of the next one in
/// its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkTime {
    /// Its mean, more than 0 and at most [`THINK_TIME_MAX`].
    pub mean: Duration,
    /// Whether it is always the same.
    pub spacing: Spacing,
}

/// How the gaps between events vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// Not at all: `fixed` think times, `constant` arrivals.
    #[default]
    #[serde(alias = "constant")]
    Fixed,
    /// They are exponentially distributed, without memory: `exponential` think
    /// times, `poisson` arrivals.
    #[serde(alias = "poisson")]
    Exponential,
}

impl Spacing {
    /// What think times of this spacing are called.
    #[must_use]
    pub const fn of_think_times(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
        }
    }

    /// What arrivals of this spacing are called.
    #[must_use]
    pub const fn of_arrivals(self) -> &'static str {
        match self {
            Self::Fixed => "constant",
            Self::Exponential => "poisson",
        }
    }
}

/// A number of actions per second, of one client or of all together.
///
/// Written `5000` or `5000/total` for all clients together, each of which has
/// an equal share, and `50/client` for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Actions per second, [`RATE_MIN`] to [`RATE_MAX`].
    pub per_second: f64,
    /// Whose.
    pub scope: RateScope,
}

/// Whose rate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateScope {
    /// That of all clients together.
    Total,
    /// That of each client.
    Client,
}

impl Rate {
    /// Actions per second of each of so many clients.
    #[must_use]
    pub fn of_client(&self, clients: u32) -> f64 {
        match self.scope {
            RateScope::Client => self.per_second,
            RateScope::Total => self.per_second / f64::from(clients.max(1)),
        }
    }

    /// Actions per second of so many clients together.
    #[must_use]
    pub fn of_all(&self, clients: u32) -> f64 {
        self.of_client(clients) * f64::from(clients)
    }
}

/// The text is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a rate: give operations per second, up to {RATE_MAX}, such as 5000 for all \
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
        let per_second: f64 = number.trim().parse().map_err(|_| fail())?;
        match (RATE_MIN..=RATE_MAX).contains(&per_second) {
            true => Ok(Self { per_second, scope }),
            false => Err(fail()),
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

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateVisitor;

        impl Visitor<'_> for RateVisitor {
            type Value = Rate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as 5000 or \"50/client\"")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Rate, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Rate, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Rate, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rate, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(RateVisitor)
    }
}

/// How the load of a point comes to its full height during the ramp-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ramp {
    /// All clients begin at once.
    #[default]
    Full,
    /// As many clients begin at once as the load point before had, in the same pass;
    /// the others join them one by one, evenly over the ramp-up. Sessions are new at each
    /// load point.
    Linear,
}

impl Ramp {
    /// When the client with this number (from 0) begins, counted from the begin
    /// of the load point. `before` is how many clients the load point before
    /// had, 0 for the first of each pass.
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
        // Fewer than before: nobody joins.
        assert_eq!(seconds(Ramp::Linear, 3, 5), [0.0; 3]);
    }
}
