//! Measurements of groups in addition to their operations.

use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::record::{Dropout, Fairness, Punctuality};

/// Sums over groups. Each group is added once, when its load has ended for any
/// reason.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Number of clients that completed an operation in the window.
    pub(crate) served: u32,
    /// Time in the window during which a request was due but credits were missing,
    /// summed over the clients.
    pub(crate) starved: Nanos,
    /// Time in the window during which a request was due but the driver had no room
    /// for it, summed over the clients.
    pub(crate) held_back: Nanos,
    /// Number of operations that were drawn, but could not be sent before the load
    /// ended.
    pub(crate) unsent: u32,
    /// How punctually the clients sent due operations.
    pub(crate) punctuality: Punctuality,
    /// The same by stage, if the load has stages.
    pub(crate) stages: Vec<Punctuality>,
    /// How evenly the clients were served.
    pub(crate) fairness: Fairness,
    /// Sum over operations of their time in flight within the window.
    pub(crate) in_flight: Nanos,
}

impl Figures {
    /// Adds the sums of another worker or group.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.served += other.served;
        self.starved = self.starved + other.starved;
        self.held_back = self.held_back + other.held_back;
        self.unsent += other.unsent;
        self.punctuality = self.punctuality + other.punctuality;
        add_stages(&mut self.stages, &other.stages);
        self.fairness.merge(&other.fairness);
        self.in_flight = self.in_flight + other.in_flight;
    }
}

/// What the workers of a population counted, apart from operations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PopulationEnd {
    /// The clients that dropped out. Their numbers are only unique within the population.
    pub(crate) dropouts: Vec<Dropout>,
    /// Number of clients that completed an operation in the window.
    pub(crate) served: u32,
    /// How punctual its actions were that are due by the clock.
    pub(crate) punctuality: Punctuality,
    /// The same by stage, if the load has stages.
    pub(crate) stages: Vec<Punctuality>,
}

impl PopulationEnd {
    /// Adds what other workers counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.dropouts.extend_from_slice(&other.dropouts);
        self.served += other.served;
        self.punctuality = self.punctuality + other.punctuality;
        add_stages(&mut self.stages, &other.stages);
    }
}

/// Adds what others counted in each stage.
pub(crate) fn add_stages(stages: &mut Vec<Punctuality>, others: &[Punctuality]) {
    stages.resize(stages.len().max(others.len()), Punctuality::default());
    for (stage, other) in stages.iter_mut().zip(others) {
        *stage = *stage + *other;
    }
}
