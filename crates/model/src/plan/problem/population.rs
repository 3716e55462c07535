//! Problems of the populations of a profile.

use thiserror::Error;

use super::rounded;
use crate::lists::clients::CLIENTS_MAX;

/// A problem of a population as written, or of several together.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PopulationProblem {
    /// Something else describes the work.
    #[error(
        "its [[population]] tables describe the work: leave out other tables than [run], and \
         other keys than name and description"
    )]
    OtherWork,
    /// An option has no meaning for populations.
    #[error("{0} has no meaning with populations: leave it out")]
    Unfit(&'static str),
    /// An option belongs to a population.
    #[error("{0} belongs to a population: give it in a [[population]] table")]
    OfTable(&'static str),
    /// The profiles of the tables are not there.
    #[error("the profiles of its populations are not there: load it from a file")]
    NotLoaded,
    /// The name cannot be used in conditions.
    #[error("the name of a population has only letters, digits, -, _ and .")]
    Name,
    /// The name is that of an operation.
    #[error("an operation has this name: choose another")]
    NameOfOperation,
    /// Two populations have the same name.
    #[error("another population has this name: choose another")]
    NameTwice,
    /// Neither the clients nor their share nor stages are given.
    #[error("give clients, share as a percentage of the clients, or stages")]
    NoClients,
    /// Both the clients and their share are given.
    #[error("clients and share are both given: drop one of them")]
    ClientsAndShare,
    /// A unit has no name, or no population.
    #[error(
        "a unit needs a name of letters, digits, -, _ and ., and [[population]] tables with \
         per_unit: give both"
    )]
    Unit,
    /// Units are counted, or their limits given, without a unit.
    #[error("{0} means nothing without a unit: give the profile one, such as unit = \"JOB\"")]
    WithoutUnit(&'static str),
    /// Both units and clients are given.
    #[error("units and clients are both given: drop one of them")]
    UnitsAndClients,
    /// A population has no clients in a unit.
    #[error(
        "load points count {0}: give per_unit, the clients of this population in each, at least 1"
    )]
    NoPerUnit(String),
    /// A population has clients at all load points.
    #[error("load points count {0}: drop clients, share and stages, per_unit decides")]
    UnitAndClients(String),
    /// The clients of a unit have no rate.
    #[error(
        "every client of a {0} needs a rate of its own: give one for each client, such as rate = \
         \"50/client\""
    )]
    UnitRate(String),
    /// Clients of units come and go.
    #[error("the clients of units stay under load: drop churn")]
    UnitChurn,
    /// A limit of units is not a percentage.
    #[error("unit_limits: {0} is {1}: give a percentage from 0 to 100")]
    UnitLimit(&'static str, f64),
    /// There are too many clients.
    #[error(
        "{units} units of {clients} clients are too many: at most {CLIENTS_MAX} clients are possible"
    )]
    TooManyUnits {
        /// The units of the load point.
        units: u32,
        /// The clients of each.
        clients: u64,
    },
    /// The profile has populations itself.
    #[error("profile {0} has populations itself: give a profile that has none")]
    Nested(String),
    /// The profile is a `fileio` test.
    #[error("a fileio test ends with its work: give another profile")]
    Fileio,
    /// The profile sets what belongs to all.
    #[error("profile {0} sets {1}, which is not of a population: drop it there")]
    ProfileSets(String, &'static str),
    /// A share is not a percentage.
    #[error("a population has share {0}: give a percentage above 0, up to 100")]
    Share(f64),
    /// The shares do not sum to 100.
    #[error("{}", share_sum(*.sum, *.clients, *.fixed))]
    ShareSum {
        /// The sum of the shares.
        sum: f64,
        /// The clients of the load point.
        clients: u32,
        /// The clients that populations have without a share.
        fixed: u64,
    },
    /// The numbers of clients do not sum to those of the load point.
    #[error(
        "the populations have {fixed} clients, and a load point has {clients}: leave out this \
         number, or give a population a share"
    )]
    OtherSum {
        /// The clients of the load point.
        clients: u32,
        /// Those of all populations.
        fixed: u64,
    },
    /// A load point has too few clients.
    #[error(
        "a load point has {clients} clients, but populations without a share have {fixed}: give \
         more clients"
    )]
    TooFew {
        /// The clients of the load point.
        clients: u32,
        /// The clients that populations have without a share.
        fixed: u64,
    },
    /// A population has no client.
    #[error("population {name} has no client at a load point of {clients}: give more clients")]
    NoneLeft {
        /// The name of the population.
        name: String,
        /// The clients of the load point.
        clients: u32,
    },
}

/// Says how shares that do not sum up must be changed.
fn share_sum(sum: f64, clients: u32, fixed: u64) -> String {
    let sum = rounded(sum);
    if fixed == 0 {
        return format!("the shares of the populations sum to {sum}, not to 100: change them");
    }
    let rest = f64::from(clients) - fixed as f64;
    let percent = rounded(rest * 100.0 / f64::from(clients.max(1)));
    format!(
        "the shares of the populations sum to {sum}: beside {fixed} of {clients} clients they \
         must sum to 100 (percent of the others) or to {percent} (percent of all)"
    )
}
