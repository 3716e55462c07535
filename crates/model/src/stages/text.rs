//! The text of stages, and what is wrong with one.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::{MovedClients, STAGES_MAX, StageStep, StageUnit, Stages, StagesPurpose};
use crate::bounds::{INTERVALS_MAX, PERIOD_MAX};
use crate::lists::clients::CLIENTS_MAX;
use crate::load::{RATE_MAX, RATE_MIN};
use crate::units::{format_duration, parse_count, parse_duration};

/// The text is not a list of stages.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StagesError {
    /// A part is not `LENGTH:LEVEL`.
    #[error(
        "`{0}` is not a stage: give a length and a level, such as 2m:50, or 2m:5000/s for a rate"
    )]
    Form(String),
    /// The length is not a duration.
    #[error("the length of stage `{stage}`: {why}")]
    Length {
        /// The stage as written.
        stage: String,
        /// What is wrong.
        why: String,
    },
    /// The level is out of bounds.
    #[error("stage `{0}`: give 0 to {CLIENTS_MAX} clients")]
    Clients(String),
    /// The rate is out of bounds.
    #[error("stage `{0}`: give 0/s, or {RATE_MIN}/s to {RATE_MAX}/s")]
    Rate(String),
    /// The rate before the first stage is out of bounds.
    #[error("the load begins with {0}/s of all clients together: give at most {RATE_MAX}/s")]
    BeginRate(String),
    /// Some are clients and some are rates.
    #[error("some stages are numbers of clients, and some are rates: give one kind")]
    Mixed,
    /// There are too many.
    #[error("{0} stages: give at most {STAGES_MAX}")]
    TooMany(usize),
    /// A length has a part of a second.
    #[error("a stage takes {}: give whole seconds", format_duration(*.0))]
    Fraction(Duration),
    /// They take too long.
    #[error(
        "the load takes {}: give at most {}",
        format_duration(*.0), format_duration(PERIOD_MAX)
    )]
    TooLong(Duration),
    /// None lasts for a time.
    #[error("the stages take no time: give at least one a length")]
    NoLength,
    /// All levels are 0.
    #[error("the stages go nowhere: all their levels are 0")]
    NoLoad,
    /// They need more intervals than a load point has.
    #[error(
        "the stages take {}, and have no common part that is long enough for {INTERVALS_MAX} \
         intervals: give lengths in whole minutes",
        format_duration(*.0)
    )]
    Intervals(Duration),
}

impl FromStr for Stages {
    type Err = StagesError;

    fn from_str(text: &str) -> Result<Self, StagesError> {
        let mut unit = None;
        let list = text.split(',').map(|part| {
            let part = part.trim();
            let form = || StagesError::Form(part.chars().take(40).collect());
            let (length, level) = part.split_once(':').ok_or_else(form)?;
            let length = parse_duration(length.trim()).map_err(|why| StagesError::Length {
                stage: part.to_owned(),
                why: why.to_string(),
            })?;
            let level = level.trim();
            let (number, of_part) = match level.strip_suffix("/s") {
                Some(number) => (number, StageUnit::Rate),
                None => (level, StageUnit::Clients),
            };
            if unit
                .replace(of_part)
                .is_some_and(|before| before != of_part)
            {
                return Err(StagesError::Mixed);
            }
            let level = match number {
                "0" => 0.0,
                _ => parse_count(number).ok_or_else(form)?,
            };
            match of_part {
                StageUnit::Clients if level.fract() > 0.0 || level > f64::from(CLIENTS_MAX) => {
                    return Err(StagesError::Clients(part.to_owned()));
                }
                StageUnit::Rate if level > 0.0 && !(RATE_MIN..=RATE_MAX).contains(&level) => {
                    return Err(StagesError::Rate(part.to_owned()));
                }
                _ => {}
            }
            Ok(StageStep { length, level })
        });
        let list = list.collect::<Result<Vec<_>, _>>()?;
        let unit = unit.unwrap_or(StageUnit::Clients);
        Self {
            unit,
            begin: 0.0,
            purpose: StagesPurpose::Lines,
            clients: MovedClients::default(),
            list,
        }
        .check()
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.purpose == StagesPurpose::Soak {
            return write!(f, "soak {}:{}", format_duration(self.total()), self.begin);
        }
        let suffix = match self.unit {
            StageUnit::Clients => "",
            StageUnit::Rate => "/s",
        };
        for (number, StageStep { length, level }) in self.list.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let length = format_duration(*length).replace(' ', "");
            // Where lines are added up, a stage may end between two numbers of clients.
            let level = match self.unit {
                StageUnit::Clients => (level * 1e3).round() / 1e3,
                StageUnit::Rate => *level,
            };
            write!(f, "{comma}{length}:{level}{suffix}")?;
        }
        Ok(())
    }
}
