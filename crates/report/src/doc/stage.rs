//! The part of a document that says which stage a load point is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::stages::{StagePlace, StageUnit, StagesPurpose};

use super::named::Named;
use super::point::LoadPointDoc;
use crate::load::{LoadStage, StageName};
use crate::statistics::SteadyDoc;

/// A stage of a load: a line from one level to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageDoc {
    /// Its number in the load, from 1.
    pub number: u32,
    /// What changes.
    pub unit: Named<StageUnitDoc>,
    /// Seconds from the start of the window of the whole load to its start.
    pub begin_s: f64,
    /// How long it takes, in seconds. `window_s` has how much of it was measured.
    pub length_s: f64,
    /// The level at its start, in clients or in operations per second.
    pub from: f64,
    /// The level at its end.
    pub to: f64,
    /// Clients under load at its start. A population alone may have fewer than the level of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_at_start: Option<u32>,
    /// The purpose of the stages. In a file, the plan says it.
    #[serde(skip)]
    pub purpose: StagesPurpose,
}

/// Seconds of a row of a soak, unless the soak is short or very long.
const MINUTE_S: f64 = 60.0;

/// What changes in stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StageUnitDoc {
    /// The number of clients.
    Clients,
    /// The rate of all clients together.
    Rate,
}

impl LoadPointDoc {
    /// Returns how many clients were under load on average.
    pub(crate) fn mean_clients(&self) -> f64 {
        let clients = f64::from(self.clients);
        let of_clients = |stage: &&StageDoc| stage.unit == Named::Known(StageUnitDoc::Clients);
        let stage = self.stage.as_ref().filter(of_clients);
        stage.map_or(clients, |stage| {
            let at_start = stage.clients_at_start.map_or(stage.from, f64::from);
            f64::midpoint(at_start, clients)
        })
    }

    /// Returns why the load was not steady, if it was not. A load that changes along a line is
    /// not meant to be steady.
    pub(crate) fn unsteady(&self) -> Option<&SteadyDoc> {
        let is_even = |stage: &StageDoc| stage.from == stage.to;
        let is_even = self.stage.as_ref().is_none_or(is_even);
        let steady = self.steady.as_ref().filter(|_| is_even);
        steady.filter(|steady| steady.is_steady == Some(false))
    }
}

impl StageDoc {
    /// Describes a stage with so many clients at its start.
    pub(crate) fn of(place: &StagePlace, clients_at_start: u32) -> Self {
        Self {
            number: place.number,
            unit: Named::Known(match place.unit {
                StageUnit::Clients => StageUnitDoc::Clients,
                StageUnit::Rate => StageUnitDoc::Rate,
            }),
            begin_s: place.begin.as_secs_f64(),
            length_s: place.length.as_secs_f64(),
            from: place.from,
            to: place.to,
            clients_at_start: (place.unit == StageUnit::Clients).then_some(clients_at_start),
            purpose: StagesPurpose::Lines,
        }
    }

    fn name(&self) -> StageName {
        // The last row may be shorter than those before it.
        let row_s = match self.number {
            0 | 1 => self.length_s,
            number => self.begin_s / f64::from(number - 1),
        };
        match self.purpose {
            StagesPurpose::Lines => StageName::Stage,
            StagesPurpose::Soak if row_s == MINUTE_S => StageName::Minute,
            StagesPurpose::Soak => StageName::Row,
        }
    }
}

impl From<&StageDoc> for LoadStage {
    fn from(stage: &StageDoc) -> Self {
        Self {
            name: stage.name(),
            number: stage.number,
            from: stage.from,
            to: stage.to,
        }
    }
}
