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
    /// The stage of the load, where it has stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<LoadStage>,
}

/// A stage, whose level changes from one number to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadStage {
    /// What it is called.
    #[serde(skip)]
    pub name: StageName,
    /// Its number, from 1.
    pub number: u32,
    /// The level at its start.
    pub from: f64,
    /// The level at its end.
    pub to: f64,
}

/// The name of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageName {
    /// A stage that follows a line.
    Stage,
    /// A minute of a soak.
    Minute,
    /// A row of a soak that has another length.
    Row,
}

impl StageName {
    /// Returns the name of one.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Minute => "minute",
            Self::Row => "row",
        }
    }
}

impl LoadStage {
    /// Formats its levels: `50 to 500`, or `500`.
    fn levels(self) -> String {
        // Where lines of populations are added up, a level may be anything.
        let [from, to] = [self.from, self.to].map(|level| (level * 1e3).round() / 1e3);
        if from == to {
            to.to_string()
        } else {
            format!("{from} to {to}")
        }
    }
}

impl Load {
    /// Returns the load of a number of clients.
    #[must_use]
    pub const fn of(clients: u32, rate: Option<f64>) -> Self {
        Self {
            clients,
            rate,
            stage: None,
        }
    }

    /// Returns the number that differs between the load points of a run.
    #[must_use]
    pub fn number(self) -> f64 {
        match self.stage {
            Some(stage) => stage.number.into(),
            None => self.rate.unwrap_or_else(|| self.clients.into()),
        }
    }

    /// Formats that number without its unit.
    #[must_use]
    pub fn print(self) -> String {
        match (self.stage, self.rate) {
            (Some(stage), _) => format!("{}: {}", stage.number, stage.levels()),
            (None, Some(rate)) => units::rate(rate),
            (None, None) => self.clients.to_string(),
        }
    }

    /// Returns the name of that number.
    #[must_use]
    pub const fn axis(self) -> &'static str {
        let Some(stage) = self.stage else {
            return match self.rate {
                Some(_) => "asked ops/s",
                None => "clients",
            };
        };
        match (stage.name, self.rate) {
            (StageName::Stage, Some(_)) => "stage: asked ops/s",
            (StageName::Stage, None) => "stage: clients",
            // The level of a soak is its number of clients.
            (StageName::Minute, _) => "minute: clients",
            (StageName::Row, _) => "row: clients",
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
        let stage = |of: &Self| of.stage.map_or(0, |stage| stage.number);
        let by_stage = stage(self).cmp(&stage(other));
        let by_clients = by_stage.then(self.clients.cmp(&other.clients));
        by_clients.then_with(|| rate(self).total_cmp(&rate(other)))
    }
}

/// Formats the load: `16 clients`, or `5000 ops/s`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.rate.is_some() {
            "ops/s"
        } else {
            "clients"
        };
        match (self.stage, self.rate) {
            (Some(stage), _) => {
                let (name, number) = (stage.name.word(), stage.number);
                write!(f, "{name} {number} ({} {unit})", stage.levels())
            }
            (None, Some(rate)) => write!(f, "{} {unit}", units::rate(rate)),
            (None, None) => f.write_str(&counted(self.clients.into(), "client")),
        }
    }
}

/// Formats several loads: `1, 4, 16 clients`, or `1000, 2000 ops/s`.
#[must_use]
pub fn loads(of: &[Load]) -> String {
    match of {
        [one] => one.to_string(),
        [
            Load {
                stage: Some(first), ..
            },
            ..,
            Load {
                stage: Some(last), ..
            },
        ] => {
            let name = first.name.word();
            format!("{name}s {} to {}", first.number, last.number)
        }
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
        let clients = |clients| Load::of(clients, None);
        let rate = |rate| Load::of(64, Some(rate));
        assert_eq!(loads(&[clients(1)]), "1 client");
        assert_eq!(loads(&[clients(1), clients(16)]), "1, 16 clients");
        assert_eq!(loads(&[rate(500.0)]), "500 ops/s");
        assert!(loads(&[rate(500.0), rate(900.0)]).ends_with("500, 900 ops/s"));
        assert!(rate(900.0) > rate(500.0) && clients(16) > clients(4));
    }

    #[test]
    fn stages_are_reported_by_their_name() {
        let of = |name, number| Load {
            stage: Some(LoadStage {
                name,
                number,
                from: 8.0,
                to: 8.0,
            }),
            ..Load::of(8, None)
        };
        for (name, axis, one, both) in [
            (
                StageName::Stage,
                "stage: clients",
                "stage 1 (8 clients)",
                "stages 1 to 9",
            ),
            (
                StageName::Minute,
                "minute: clients",
                "minute 1 (8 clients)",
                "minutes 1 to 9",
            ),
            (
                StageName::Row,
                "row: clients",
                "row 1 (8 clients)",
                "rows 1 to 9",
            ),
        ] {
            let [first, last] = [1, 9].map(|number| of(name, number));
            assert_eq!((first.axis(), &first.to_string()[..]), (axis, one));
            assert_eq!(loads(&[first, last]), both);
        }
    }
}
