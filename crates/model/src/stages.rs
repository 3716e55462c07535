//! Stages of a load: how the number of clients or the rate changes along lines. Not here: what
//! clients do in them.

mod moved;
mod text;
mod together;
mod walk;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::{INTERVALS_MAX, PERIOD_MAX};
pub use moved::MovedClients;
pub use text::StagesError;
pub use walk::StageWalk;

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
    /// The clients that they move.
    pub clients: MovedClients,
    /// The stages in their order; at least one lasts for a time.
    list: Vec<StageStep>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StagesPurpose {
    /// To follow lines.
    #[default]
    Lines,
    /// To see whether anything drifts under an even load. Each stage is a row of a table.
    Soak,
}

/// One stage: a line from the level before it to its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageStep {
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

    /// Returns how many clients are under load on average, if there are so many at its start and
    /// at its end.
    #[must_use]
    pub fn mean_clients(&self, at_start: u32, at_end: u32) -> f64 {
        match self.unit {
            StageUnit::Clients => f64::midpoint(at_start.into(), at_end.into()),
            StageUnit::Rate => at_end.into(),
        }
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
            list.push(StageStep { length, level });
            left -= length;
        }
        Self {
            unit: StageUnit::Clients,
            begin: level,
            purpose: StagesPurpose::Soak,
            clients: MovedClients::only(clients),
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

    /// Returns the times, from the start of the load, in which a client is under load. That is
    /// while the level is above its place.
    #[must_use]
    pub fn turns(&self, client: u32) -> Vec<StageTurn> {
        let bound = self.clients.bound(client, self.most());
        let mut turns: Vec<StageTurn> = Vec::new();
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
                _ => turns.push(StageTurn {
                    begin: turn.0,
                    end: turn.1,
                }),
            }
        }
        turns
    }

    /// Returns how many clients of the population are under load at a level.
    #[must_use]
    pub fn clients_at(&self, level: f64) -> u32 {
        self.clients.at_level(level, self.most())
    }

    /// Returns a walk through the time in which a client is under load. Its level is 1 there.
    #[must_use]
    pub fn presence(&self, client: u32) -> StageWalk {
        let turns = self.turns(client).into_iter().zip(1..);
        let places = turns.map(|(turn, number)| StagePlace {
            unit: self.unit,
            number,
            begin: turn.begin,
            length: turn.end.saturating_sub(turn.begin),
            from: 1.0,
            to: 1.0,
        });
        StageWalk::along(places.collect())
    }

    /// Returns a walk along the line of a rate, from its start.
    #[must_use]
    pub fn walk(&self) -> StageWalk {
        StageWalk::along(self.places().collect())
    }

    /// Finds out what is wrong with them.
    ///
    /// # Errors
    /// A stage that is not a whole number of seconds, or none that lasts for a time. Levels that
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
pub struct StageTurn {
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

#[cfg(test)]
mod tests;
