//! The stages of the work, as each population sees them.

use std::time::Duration;

use super::{Population, Work, WorkSpec};
use crate::stages::{MovedClients, StagePlace, StageUnit, Stages, StagesPurpose};

impl WorkSpec {
    /// Returns whether they ask for stages or a soak.
    pub(crate) const fn has_stages(&self) -> bool {
        self.stages.is_some() || self.soak.is_some()
    }

    /// Returns whether they ask for stages of a rate.
    pub(super) fn has_stages_of_rate(&self) -> bool {
        let stages = self.stages.as_ref();
        stages.is_some_and(|stages| stages.unit == StageUnit::Rate)
    }

    /// Returns these options, and those of a profile that go with them. Stages replace the length
    /// of the load in a profile.
    pub(crate) fn before(&self, profile: &Self) -> Self {
        let profile = profile.clone().without_load_of(self);
        self.clone().or(if self.has_stages() {
            profile.without_length()
        } else {
            profile
        })
    }

    /// Drops what says how long the load takes.
    pub(crate) fn without_length(self) -> Self {
        Self {
            stages: None,
            soak: None,
            duration: None,
            until_steady: None,
            loops: None,
            ..self
        }
    }
}

impl Work {
    /// Returns the stages that the only population follows, if there are any. Those of a soak are
    /// rows of an even load. A population with a number of clients keeps it.
    #[must_use]
    pub fn lines(&self) -> Option<&Stages> {
        let stages = self.stages.as_ref()?;
        let is_moved = stages.purpose == StagesPurpose::Lines && self.only().is_moved();
        is_moved.then_some(stages)
    }

    /// Returns the stages as the population with this index sees them.
    pub(crate) fn stages_of(&self, index: usize) -> Option<Stages> {
        let mut stages = self.stages.clone()?;
        if let Some(own) = &self.populations[index].stages {
            return Some(own.cut_as(&stages));
        }
        // A population that was taken from several knows the others.
        if self.populations.len() > 1 || stages.clients.moved.is_empty() {
            let (moved, others): (Vec<_>, Vec<_>) =
                self.populations.iter().partition(|one| one.is_moved());
            let before = self.populations[..index].iter();
            stages.clients = MovedClients {
                fixed: others.into_iter().map(Population::max_clients).sum(),
                moved: moved.into_iter().map(Population::max_clients).collect(),
                index: before.filter(|one| one.is_moved()).count(),
            };
        }
        Some(stages)
    }

    /// Returns whether nothing is under load in a stage, from its start to its end.
    #[must_use]
    pub fn is_pause(&self, place: &StagePlace) -> bool {
        match place.unit {
            StageUnit::Rate => place.from <= 0.0 && place.to <= 0.0,
            StageUnit::Clients => {
                let most = |own: &StagePlace| own.from.max(own.to);
                (0..self.populations.len()).all(|index| self.clients_in(index, place, most) == 0)
            }
        }
    }

    /// Returns how many clients of all populations are under load at the end of a stage.
    #[must_use]
    pub fn all_clients_after(&self, place: &StagePlace) -> u32 {
        let populations = 0..self.populations.len();
        populations
            .map(|index| self.clients_after(index, place))
            .sum()
    }

    /// Returns how many clients of the population with this index are under load at the end of a
    /// stage.
    #[must_use]
    pub fn clients_after(&self, index: usize, place: &StagePlace) -> u32 {
        self.clients_in(index, place, |own| own.to)
    }

    /// Returns how many clients are under load at the start of a stage.
    #[must_use]
    pub fn clients_before(&self, place: &StagePlace) -> u32 {
        let populations = 0..self.populations.len();
        populations
            .map(|index| self.clients_in(index, place, |own| own.from))
            .sum()
    }

    /// Returns how long clients are under load in a window of this length, in seconds and summed
    /// over them. `clients` are those of the load point, or a part of them. Stages move each part
    /// in the same way.
    #[must_use]
    pub fn clients_s(&self, clients: u32, window: Duration) -> f64 {
        let clients = f64::from(clients);
        let Some(stages) = &self.stages else {
            return clients * window.as_secs_f64();
        };
        let most: u32 = self.populations.iter().map(Population::max_clients).sum();
        let of_stages = stages.places().map(|place| {
            let length = window.saturating_sub(place.begin).min(place.length);
            let (before, after) = (self.clients_before(&place), self.all_clients_after(&place));
            place.mean_clients(before, after) * length.as_secs_f64()
        });
        clients * of_stages.sum::<f64>() / f64::from(most.max(1))
    }

    /// Returns how many clients of a population are under load at a level of its line in a stage.
    fn clients_in(&self, index: usize, place: &StagePlace, level: fn(&StagePlace) -> f64) -> u32 {
        let population = &self.populations[index];
        match self.stages_of(index) {
            Some(stages)
                if stages.purpose == StagesPurpose::Lines
                    && stages.unit == StageUnit::Clients
                    && population.is_moved() =>
            {
                let mut own = stages.places().skip_while(|own| own.number < place.number);
                stages.clients_at(level(&own.next().unwrap_or(*place)))
            }
            _ => population.max_clients(),
        }
    }
}
