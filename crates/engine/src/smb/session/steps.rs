//! How long the steps of a set-up took.

use smbench_model::Nanos;
use smbench_model::record::SetupPhase;

use crate::machine::clock;

/// The phase that a set-up has reached, and how long the phases before it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetupSteps {
    phase: SetupPhase,
    /// Start of the phase.
    since: Nanos,
    took: [Nanos; SetupPhase::ALL.len()],
}

impl SetupSteps {
    /// Begins with the connection.
    pub(super) fn begin() -> Self {
        Self {
            phase: SetupPhase::Connect,
            since: clock::now(),
            took: [Nanos(0); SetupPhase::ALL.len()],
        }
    }

    /// Notes that the request of this phase is in flight.
    pub(super) fn reach(&mut self, phase: SetupPhase) {
        if phase != self.phase {
            self.end();
            self.phase = phase;
        }
    }

    /// Notes that the phase has ended.
    pub(super) fn end(&mut self) {
        let now = clock::now();
        self.took[self.phase as usize] = now.since(self.since);
        self.since = now;
    }

    /// Returns the phase that was reached.
    pub(super) const fn phase(&self) -> SetupPhase {
        self.phase
    }

    /// Returns how long each phase took.
    pub(crate) fn took(&self) -> impl Iterator<Item = (SetupPhase, Nanos)> {
        SetupPhase::ALL.into_iter().zip(self.took)
    }
}
