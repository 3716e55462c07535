//! The load of a load point. It distinguishes the rows of curves and of comparisons.

use std::cmp::Ordering;
use std::fmt;

use itertools::Itertools as _;
use serde::Serialize;

use crate::units::{self, counted};

/// The number of clients, and the rate where the load points of a run differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Number of clients.
    pub clients: u32,
    /// Operations per second that were asked of all clients together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl Load {
    /// Returns the number that differs between the load points of a run.
    #[must_use]
    pub fn number(self) -> f64 {
        self.rate.unwrap_or_else(|| self.clients.into())
    }

    /// Formats that number without its unit.
    #[must_use]
    pub fn print(self) -> String {
        self.rate
            .map_or_else(|| self.clients.to_string(), units::rate)
    }

    /// Returns the name of that number.
    #[must_use]
    pub const fn axis(self) -> &'static str {
        match self.rate {
            Some(_) => "asked ops/s",
            None => "clients",
        }
    }
}

impl Eq for Load {}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Load {
    fn cmp(&self, other: &Self) -> Ordering {
        let rate = |of: &Self| of.rate.unwrap_or(0.0);
        let by_clients = self.clients.cmp(&other.clients);
        by_clients.then_with(|| rate(self).total_cmp(&rate(other)))
    }
}

/// Formats the load: `16 clients`, or `5000 ops/s`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate {
            Some(rate) => write!(f, "{} ops/s", units::rate(rate)),
            None => f.write_str(&counted(self.clients.into(), "client")),
        }
    }
}

/// Formats several loads: `1, 4, 16 clients`, or `1000, 2000 ops/s`.
#[must_use]
pub fn loads(of: &[Load]) -> String {
    match of {
        [one] => one.to_string(),
        several => {
            let numbers = several.iter().map(|load| load.print()).join(", ");
            match several.first().and_then(|load| load.rate) {
                Some(_) => format!("{numbers} ops/s"),
                None => format!("{numbers} clients"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_reported_by_what_differs() {
        let clients = |clients| Load {
            clients,
            rate: None,
        };
        let rate = |rate| Load {
            clients: 64,
            rate: Some(rate),
        };
        assert_eq!(loads(&[clients(1)]), "1 client");
        assert_eq!(loads(&[clients(1), clients(16)]), "1, 16 clients");
        assert_eq!(loads(&[rate(500.0)]), "500 ops/s");
        assert!(loads(&[rate(500.0), rate(900.0)]).ends_with("500, 900 ops/s"));
        assert!(rate(900.0) > rate(500.0) && clients(16) > clients(4));
    }
}
