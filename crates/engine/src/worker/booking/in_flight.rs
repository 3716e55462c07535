//! The time that operations are in flight.

use smbench_model::Nanos;

use crate::worker::load_control::LoadControl;

/// Sum over operations of their time in flight within the window. In Little's law
/// this is the time integral of L.
#[derive(Default)]
pub(super) struct TimeInFlight {
    pub(super) sum: Nanos,
    until: Nanos,
}

impl TimeInFlight {
    /// Adds the time since the last call, during which `in_flight` operations were
    /// in flight.
    pub(super) fn add(&mut self, in_flight: u32, now: Nanos, control: &LoadControl) {
        if now > self.until {
            let passed = control.window_between(self.until, now);
            self.sum = self.sum + Nanos(passed.0.saturating_mul(in_flight.into()));
            self.until = now;
        }
    }

    /// Leaves out a time that was added.
    pub(super) fn leave_out(&mut self, time: Nanos) {
        self.sum = Nanos(self.sum.0.saturating_sub(time.0));
    }
}
