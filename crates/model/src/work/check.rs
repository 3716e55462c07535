//! Checks of events and of windows that are extended.

use std::time::Duration;

use super::{Work, WorkProblem};
use crate::event::EVENTS_PER_POINT_MAX;
use crate::steadiness::ROUNDS;

impl Work {
    /// Checks that each event is within the shortest window, and so is the time for which it stops
    /// the server.
    pub(super) fn check_events(&self) -> Result<(), WorkProblem> {
        if self.events.len() > EVENTS_PER_POINT_MAX {
            return Err(WorkProblem::TooManyEvents(self.events.len()));
        }
        let window = self.duration;
        let mut events = self.events.iter();
        match events.find(|event| event.at >= window || event.end() > window) {
            Some(event) if event.at >= window => {
                let at = event.at;
                Err(WorkProblem::EventAfterEnd { at, window })
            }
            Some(event) => {
                let at = event.at;
                Err(WorkProblem::StoppedAfterEnd { at, window })
            }
            None if !self.events.is_empty() && self.ends_with_its_work() => {
                Err(WorkProblem::EventsCounted)
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_until_steady(&self) -> Result<(), WorkProblem> {
        let Some(most) = self.until_steady else {
            return Ok(());
        };
        if self.ends_with_its_work() {
            return Err(WorkProblem::UntilSteadyCounted);
        }
        // Intervals are a second long, unless the window has many.
        let least = Duration::from_secs(ROUNDS as u64).max(self.duration);
        if most < least {
            Err(WorkProblem::UntilSteadyShort { most, least })
        } else {
            Ok(())
        }
    }
}
