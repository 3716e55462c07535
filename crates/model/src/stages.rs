//! Stages of a load: how the number of clients or the rate changes along lines. Not here: what
//! clients do in them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bounds::{INTERVALS_MAX, PERIOD_MAX};
use crate::lists::clients::CLIENTS_MAX;
use crate::load::{RATE_MAX, RATE_MIN};
use crate::units::{format_duration, parse_count, parse_duration};

/// The largest number of stages.
pub const STAGES_MAX: usize = 1000;
/// Length of a row of a soak.
const ROW_MAX: Duration = Duration::from_secs(60);

/// The stages of a load, one after another without a gap: `2m:50,10m:500,2m:0`, or
/// `10m:5000/s` for a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// What changes.
    pub unit: StageUnit,
    /// The level before the first stage.
    pub begin: f64,
    /// What they are for.
    pub purpose: StagesPurpose,
    /// The stages in their order; at least one lasts for a time.
    list: Vec<Stage>,
}

/// What changes in stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StageUnit {
    /// The number of clients under load.
    Clients,
    /// The rate of all clients together, in actions per second.
    Rate,
}

/// What stages are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagesPurpose {
    /// To follow lines.
    Lines,
    /// To see whether anything drifts under an even load. Each stage is a row of a table.
    Soak,
}

/// One stage: a line from the level before it to its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it takes, in whole seconds. Without a length, the level changes at once.
    pub length: Duration,
    /// The level at its end, in clients or in actions per second.
    pub level: f64,
}

/// A stage that lasts for a time, and its place in the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagePlace {
    /// What changes.
    pub unit: StageUnit,
    /// Its number, from 1.
    pub number: u32,
    /// Time from the start of the load to its start.
    pub begin: Duration,
    /// How long it takes.
    pub length: Duration,
    /// The level at its start.
    pub from: f64,
    /// The level at its end.
    pub to: f64,
}

impl StagePlace {
    /// Returns the time from the start of the load to the end of the stage.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.begin + self.length
    }
}

impl Stages {
    /// Returns the rows of a soak of `total`: of a minute each, or a tenth of a soak of less than
    /// ten minutes. The last row may be shorter.
    ///
    /// # Errors
    /// As those of a list of stages.
    pub fn soak(clients: u32, total: Duration) -> Result<Self, StagesError> {
        if total > PERIOD_MAX {
            return Err(StagesError::TooLong(total));
        }
        let level = f64::from(clients);
        let tenth = Duration::from_secs((total.as_secs() / 10).max(1));
        let mut row = ROW_MAX.min(tenth);
        while total.as_secs().div_ceil(row.as_secs()) > STAGES_MAX as u64 {
            row += ROW_MAX;
        }
        let mut list = Vec::new();
        let mut left = total;
        while !left.is_zero() {
            let length = left.min(row);
            list.push(Stage { length, level });
            left -= length;
        }
        Self {
            unit: StageUnit::Clients,
            begin: level,
            purpose: StagesPurpose::Soak,
            list,
        }
        .check()
    }

    /// Returns the length of all stages together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.list.iter().map(|stage| stage.length).sum()
    }

    /// Returns the highest level.
    #[must_use]
    pub fn most(&self) -> f64 {
        let levels = self.list.iter().map(|stage| stage.level);
        levels.fold(self.begin, f64::max)
    }

    /// Returns the stages that last for a time.
    pub fn places(&self) -> impl Iterator<Item = StagePlace> {
        let (mut begin, mut from, mut number) = (Duration::ZERO, self.begin, 0);
        self.list.iter().filter_map(move |stage| {
            let place = StagePlace {
                unit: self.unit,
                number: number + 1,
                begin,
                length: stage.length,
                from,
                to: stage.level,
            };
            (begin, from) = (place.end(), place.to);
            let lasts = !stage.length.is_zero();
            number += u32::from(lasts);
            lasts.then_some(place)
        })
    }

    /// Returns the length of the intervals in which they are recorded: whole seconds, of which
    /// each stage has a whole number; `None` if that needs too many intervals.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        let seconds = self.list.iter().map(|stage| stage.length.as_secs());
        let common = seconds
            .filter(|length| *length > 0)
            .reduce(common_divisor)?;
        let least = self.total().as_secs().div_ceil(INTERVALS_MAX.into()).max(1);
        let length = (least..=common).find(|length| common.is_multiple_of(*length))?;
        Some(Duration::from_secs(length))
    }

    /// Returns the times, from the start of the load, in which one of `clients` clients is under
    /// load: client number `client` is, while the level as a share of the highest is above the
    /// middle of its place among them.
    #[must_use]
    pub fn turns(&self, client: u32, clients: u32) -> Vec<Turn> {
        let share = (f64::from(client) + 0.5) / f64::from(clients.max(1));
        let bound = share * self.most();
        let mut turns: Vec<Turn> = Vec::new();
        for place in self.places() {
            let (from, to) = (place.from > bound, place.to > bound);
            let crossing = || {
                let part = (bound - place.from) / (place.to - place.from);
                place.begin + place.length.mul_f64(part.clamp(0.0, 1.0))
            };
            let turn = match (from, to) {
                (true, true) => (place.begin, place.end()),
                (true, false) => (place.begin, crossing()),
                (false, true) => (crossing(), place.end()),
                (false, false) => continue,
            };
            match turns.last_mut() {
                Some(last) if last.end == turn.0 => last.end = turn.1,
                _ => turns.push(Turn {
                    begin: turn.0,
                    end: turn.1,
                }),
            }
        }
        turns
    }

    /// Returns when `operations` operations are due before, in seconds from the start of the
    /// load, if the level is a rate; `None` after the last stage.
    #[must_use]
    pub fn time_of(&self, operations: f64) -> Option<f64> {
        let mut left = operations;
        for place in self.places() {
            let length = place.length.as_secs_f64();
            let of_stage = (place.from + place.to) / 2.0 * length;
            if left > of_stage || (of_stage == 0.0 && left == of_stage) {
                left -= of_stage;
                continue;
            }
            // The root of from * t + slope / 2 * t^2 = left, in a form that is exact without a
            // slope.
            let slope = (place.to - place.from) / length;
            let root = (place.from * place.from + 2.0 * slope * left)
                .max(0.0)
                .sqrt();
            let sum = place.from + root;
            let time = if sum > 0.0 { 2.0 * left / sum } else { 0.0 };
            return Some(place.begin.as_secs_f64() + time.min(length));
        }
        None
    }

    /// Finds out what is wrong with them.
    ///
    /// # Errors
    /// A stage that is not a whole number of seconds, none that lasts for a time, levels that
    /// are all 0 or too high, or lengths that fit no common interval.
    fn check(self) -> Result<Self, StagesError> {
        if self.list.len() > STAGES_MAX {
            return Err(StagesError::TooMany(self.list.len()));
        }
        let mut broken = self.list.iter();
        if let Some(stage) = broken.find(|stage| stage.length.subsec_nanos() > 0) {
            return Err(StagesError::Fraction(stage.length));
        }
        if self.total().is_zero() {
            return Err(StagesError::NoLength);
        }
        if self.total() > PERIOD_MAX {
            return Err(StagesError::TooLong(self.total()));
        }
        if self.most() <= 0.0 {
            return Err(StagesError::NoLoad);
        }
        if self.interval().is_none() {
            return Err(StagesError::Intervals(self.total()));
        }
        Ok(self)
    }
}

/// A time in which a client is under load, from the start of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its start.
    pub begin: Duration,
    /// Its end.
    pub end: Duration,
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The text is not a list of stages.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
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
            Ok(Stage { length, level })
        });
        let list = list.collect::<Result<Vec<_>, _>>()?;
        let unit = unit.unwrap_or(StageUnit::Clients);
        Self {
            unit,
            begin: 0.0,
            purpose: StagesPurpose::Lines,
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
        for (number, Stage { length, level }) in self.list.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let length = format_duration(*length).replace(' ', "");
            write!(f, "{comma}{length}:{level}{suffix}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(text: &str) -> Stages {
        text.parse().unwrap()
    }

    fn under_load(stages: &Stages, at: Duration, clients: u32) -> usize {
        let turns = |client| stages.turns(client, clients).into_iter();
        let is_in = |turn: Turn| turn.begin <= at && at < turn.end;
        (0..clients)
            .filter(|client| turns(*client).any(is_in))
            .count()
    }

    #[test]
    fn stages_are_read_and_written() {
        let read = stages(" 2m:50, 10m:500,5m:500 ,0s:100,2m:0");
        assert_eq!(read.unit, StageUnit::Clients);
        assert_eq!(
            (read.total(), read.most()),
            (Duration::from_secs(19 * 60), 500.0)
        );
        assert_eq!(read.to_string(), "2m:50,10m:500,5m:500,0s:100,2m:0");
        let places: Vec<_> = read.places().collect();
        assert_eq!(places.len(), 4);
        assert_eq!(
            (places[3].number, places[3].from, places[3].to),
            (4, 100.0, 0.0)
        );
        assert_eq!(places[3].begin, Duration::from_secs(17 * 60));
        let rate = stages("10s:2.5k/s");
        assert_eq!((rate.unit, rate.most()), (StageUnit::Rate, 2500.0));
        assert_eq!(rate.to_string(), "10s:2500/s");
    }

    #[test]
    fn wrong_stages_are_named() {
        for (text, expected) in [
            ("", "`` is not a stage: "),
            ("50", "`50` is not a stage: "),
            ("2m:x", "`2m:x` is not a stage: "),
            ("2:50", "the length of stage `2:50`: "),
            ("2m:1.5", "stage `2m:1.5`: give 0 to "),
            ("2m:1e9/s", "stage `2m:1e9/s`: give 0/s, or "),
            ("2m:50,2m:50/s", "some stages are numbers of clients"),
            ("1500ms:5", "a stage takes 1s 500ms: give whole seconds"),
            ("0s:50", "the stages take no time"),
            ("2m:0,3m:0", "the stages go nowhere"),
            ("1000h:5", "the load takes 41days 16h: give at most 30days"),
            (
                "2h:5,1s:5",
                "the stages take 2h 1s, and have no common part",
            ),
        ] {
            let error = text.parse::<Stages>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn intervals_fit_each_stage() {
        let interval = |text: &str| stages(text).interval().unwrap().as_secs();
        assert_eq!(interval("7s:1,11s:2"), 1);
        // 28,800 s in at most 3,600 intervals, in parts of minutes.
        assert_eq!(interval("7h:5,59m:5,60s:5"), 10);
    }

    /// At each second, the clients under load are those of the line, within one half.
    #[test]
    fn clients_follow_the_line() {
        let stages = stages("20s:50,30s:500,10s:500,0s:100,15s:0");
        let line = |at: f64| match at {
            0.0..20.0 => 50.0 * at / 20.0,
            20.0..50.0 => 50.0 + 450.0 * (at - 20.0) / 30.0,
            50.0..60.0 => 500.0,
            _ => 100.0 * (75.0 - at) / 15.0,
        };
        for second in 0..75_u32 {
            let expected = line(f64::from(second));
            let found = under_load(&stages, Duration::from_secs(second.into()), 500);
            assert!(
                (found as f64 - expected).abs() <= 0.5 + 1e-6,
                "{second}: {found}, {expected}"
            );
            // A population of 40 of the 500 clients follows at its scale.
            let found = under_load(&stages, Duration::from_secs(second.into()), 40);
            let expected = expected * 0.08;
            assert!(
                (found as f64 - expected).abs() <= 0.5 + 1e-6,
                "{second}: {found}, {expected}"
            );
        }
    }

    /// The instants of a rate have as many operations before them as the line.
    #[test]
    fn instants_of_a_rate_follow_the_line() {
        let stages = stages("10s:100/s,20s:100/s,0s:50/s,10s:0/s");
        for (operations, expected) in [
            (0.0, Some(0.0)),
            (125.0, Some(5.0)),
            (500.0, Some(10.0)),
            (1500.0, Some(20.0)),
            (2500.0, Some(30.0)),
            (2500.0 + 187.5, Some(35.0)),
            (2751.0, None),
        ] {
            let found = stages.time_of(operations);
            let differs = found
                .zip(expected)
                .map(|(found, at): (f64, f64)| found - at);
            assert!(
                differs.is_none_or(|by| by.abs() < 1e-9),
                "{operations}: {found:?}"
            );
            assert_eq!(found.is_some(), expected.is_some(), "{operations}");
        }
    }

    #[test]
    fn a_client_may_have_several_turns() {
        let turns = stages("10s:10,10s:0,10s:10").turns(4, 10);
        let seconds: Vec<_> = turns
            .iter()
            .map(|turn| (turn.begin.as_secs_f64(), turn.end.as_secs_f64()))
            .collect();
        assert_eq!(seconds, [(4.5, 15.5), (24.5, 30.0)]);
    }

    #[test]
    fn a_soak_is_cut_into_rows() {
        let rows = |seconds| {
            let soak = Stages::soak(8, Duration::from_secs(seconds)).unwrap();
            assert_eq!((soak.turns(7, 8).len(), soak.most()), (1, 8.0));
            let rows: Vec<_> = soak.places().map(|row| row.length.as_secs()).collect();
            (rows[0], rows.len(), rows[rows.len() - 1])
        };
        assert_eq!(rows(30), (3, 10, 3));
        assert_eq!(rows(33), (3, 11, 3));
        assert_eq!(rows(150), (15, 10, 15));
        assert_eq!(rows(3660), (60, 61, 60));
        assert_eq!(rows(8 * 3600), (60, 480, 60));
        assert_eq!(rows(24 * 3600), (120, 720, 120));
        assert!(Stages::soak(8, Duration::from_millis(1500)).is_err());
    }
}
