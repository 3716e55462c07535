//! What groups measured beside their operations.

use crate::clock::Nanos;
use crate::record::{Fairness, Punctuality};

/// Sums over groups; each counts once, when its load has ended, however it did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    /// Clients that completed an operation in the window.
    pub(super) served: u32,
    /// Time of the window in which a request was due but no credit was at
    /// hand, summed over the clients.
    pub(super) starved: Nanos,
    /// Time of the window in which a request was due but the driver had no
    /// room for it, summed over the clients.
    pub(super) held_back: Nanos,
    /// Operations that were drawn, but could not be sent before the load ended.
    pub(super) unsent: u32,
    /// How well the clients kept due instants.
    pub(super) punctuality: Punctuality,
    /// How evenly the clients were served.
    pub(super) fairness: Fairness,
    /// Time of the window in which operations were in flight, summed over
    /// operations.
    pub(super) in_flight: Nanos,
}

impl Figures {
    /// Adds those of others.
    pub(super) fn merge(&mut self, other: &Self) {
        self.served += other.served;
        self.starved = self.starved + other.starved;
        self.held_back = self.held_back + other.held_back;
        self.unsent += other.unsent;
        self.punctuality = self.punctuality + other.punctuality;
        self.fairness.merge(&other.fairness);
        self.in_flight = self.in_flight + other.in_flight;
    }
}
