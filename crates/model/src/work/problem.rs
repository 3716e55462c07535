//! Problems with the numbers of the work.

use std::time::Duration;

use thiserror::Error;

use crate::bounds::{OUTSTANDING_MAX, PERIOD_MAX, REPEAT_MAX};
use crate::event::EVENTS_PER_POINT_MAX;
use crate::lists::clients::CLIENTS_MAX;
use crate::stages::StagesError;
use crate::units::format_duration;

/// A number of the work that is out of bounds, and how to correct it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorkProblem {
    /// There are no load points.
    #[error("there are no load points: give one or more numbers of clients")]
    NoLoadPoints,
    /// There are too many events.
    #[error("there are {0} events: at most {EVENTS_PER_POINT_MAX} are possible")]
    TooManyEvents(usize),
    /// An event is after the end of the window.
    #[error(
        "the event at {} is after the end of the window, which is {} long: give an earlier time, or \
         a longer duration",
        format_duration(*.at), format_duration(*.window)
    )]
    EventAfterEnd {
        /// The time of the event.
        at: Duration,
        /// Length of the shortest window.
        window: Duration,
    },
    /// An event stops the server beyond the end of the window.
    #[error(
        "the event at {} stops the server until after the end of the window, which is {} long: give \
         a shorter time, or a longer duration",
        format_duration(*.at), format_duration(*.window)
    )]
    StoppedAfterEnd {
        /// The time of the event.
        at: Duration,
        /// Length of the shortest window.
        window: Duration,
    },
    /// Events in a window without a set length.
    #[error("events need a window of a set length: drop them, or the number of loops")]
    EventsCounted,
    /// The number of clients is out of bounds.
    #[error("a load point has {0} clients: give 1 to {CLIENTS_MAX}")]
    Clients(u32),
    /// An operation shows what other clients do, and there are none.
    #[error(
        "operation {op} needs other clients, and a load point has {clients} in all: give at least \
         {least} clients"
    )]
    NoOthers {
        /// The operation.
        op: &'static str,
        /// Clients of the load point.
        clients: u32,
        /// The fewest clients with which it has something to show.
        least: u32,
    },
    /// Both the clients and the rate have several values.
    #[error("there are {0} rates and {1} numbers of clients: give one number of clients")]
    RatesAndClients(usize, usize),
    /// The number of requests in flight is out of bounds.
    #[error("outstanding is {0}: give 1 to {OUTSTANDING_MAX}")]
    Outstanding(u32),
    /// The number of passes is 0.
    #[error("repeat is 0: it must be at least 1")]
    RepeatZero,
    /// There are too many passes.
    #[error("repeat is {0}: the most is {REPEAT_MAX}")]
    RepeatTooLarge(u32),
    /// The measured window is too short for an operation.
    #[error("duration is {}: the measured window needs at least 1ms, such as 30s", format_duration(*.0))]
    DurationShort(Duration),
    /// The longest window is too short.
    #[error("until_steady is {}: give at least {}, so that it can be judged", format_duration(*.most), format_duration(*.least))]
    UntilSteadyShort {
        /// The longest window as written.
        most: Duration,
        /// The shortest one that is possible.
        least: Duration,
    },
    /// Stages do not fit what else is given.
    #[error("{0}")]
    Stages(&'static str),
    /// The rows of a soak are no stages.
    #[error(transparent)]
    Soak(#[from] StagesError),
    /// Clients that only watch would take a part of a rate.
    #[error("clients of operation watch take no part of a rate: leave out the rate")]
    WatchAtRate,
    /// The count of a population does not fit.
    #[error("count of actions: {0}")]
    Count(&'static str),
    /// The window ends with its work.
    #[error("until_steady means nothing where the work ends the window: drop it")]
    UntilSteadyCounted,
    /// A population begins after the window.
    #[error(
        "start of population {name} is {}, after the measured window: give less than {}",
        format_duration(*.start), format_duration(*.end)
    )]
    StartLate {
        /// The name of the population.
        name: String,
        /// When it begins.
        start: Duration,
        /// When the window ends.
        end: Duration,
    },
    /// Several populations do not fit together, or something else fits only one.
    #[error("there are several populations: {0}")]
    Populations(&'static str),
    /// A search cannot change the rate of a population.
    #[error("population {name}: {problem}")]
    Searched {
        /// The name that was given.
        name: String,
        /// Why not.
        problem: String,
    },
    /// The clients are measured in parts that cannot be joined.
    #[error("{what}: leave out {option}")]
    Whole {
        /// Why the parts cannot be joined.
        what: &'static str,
        /// The option that makes parts.
        option: &'static str,
    },
    /// Clients join during a ramp-up that has no length.
    #[error("ramp linear means nothing without ramp_up: give that as well, or drop it")]
    NoRampUp,
    /// A window or a ramp is too long.
    #[error("{name} is {}: the longest is {}", in_days(*.period), in_days(PERIOD_MAX))]
    PeriodTooLong {
        /// The name of the period.
        name: &'static str,
        /// The period as written.
        period: Duration,
    },
}

/// Formats a long time: in days, if it is a whole number of them.
fn in_days(time: Duration) -> String {
    const DAY_S: u64 = 86_400;
    if time.subsec_nanos() == 0 && time.as_secs().is_multiple_of(DAY_S) {
        format!("{} days", time.as_secs() / DAY_S)
    } else {
        format_duration(time).to_string()
    }
}
