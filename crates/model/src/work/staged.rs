//! The stages of the work, as each population sees them.

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
            StageUnit::Clients => [place.from, place.to]
                .into_iter()
                .all(|level| self.all_clients_at(level) == 0),
        }
    }

    /// Returns how many clients of all populations are under load at a level.
    #[must_use]
    pub fn all_clients_at(&self, level: f64) -> u32 {
        let populations = 0..self.populations.len();
        populations.map(|index| self.clients_at(index, level)).sum()
    }

    /// Returns how many clients of the population with this index are under load at a level.
    #[must_use]
    pub fn clients_at(&self, index: usize, level: f64) -> u32 {
        let population = &self.populations[index];
        match self.stages_of(index) {
            Some(stages)
                if stages.purpose == StagesPurpose::Lines
                    && stages.unit == StageUnit::Clients
                    && population.is_moved() =>
            {
                stages.clients_at(level)
            }
            _ => population.max_clients(),
        }
    }
}
