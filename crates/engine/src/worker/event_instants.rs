//! The instants of a plan's events in a load point.

use std::rc::Rc;

use smbench_model::Nanos;
use smbench_model::event::PlannedEvent;

/// The instants of events, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct EventInstants(Rc<[Nanos]>);

impl EventInstants {
    /// Returns the instants of events in a window that opens at `open`.
    pub(super) fn of(events: &[PlannedEvent], open: Nanos) -> Self {
        Self(events.iter().map(|event| open + event.at.into()).collect())
    }

    /// Returns the index of the last event at this instant or before; `None` if there is none.
    pub(super) fn last_before(&self, at: Nanos) -> Option<u32> {
        let until = self.0.partition_point(|event| *event <= at);
        until.checked_sub(1).map(|last| last as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_belongs_to_the_event_before_it() {
        let events = ["at 1s: drop 1%", "at 2s: exec x"].map(|text| text.parse().unwrap());
        let open = Nanos(500);
        let instants = EventInstants::of(&events, open);
        let second = 1_000_000_000;
        for (at, expected) in [
            (0, None),
            (second + 499, None),
            (second + 500, Some(0)),
            (2 * second + 499, Some(0)),
            (2 * second + 500, Some(1)),
            (9 * second, Some(1)),
        ] {
            assert_eq!(instants.last_before(Nanos(at)), expected, "{at}");
        }
        assert_eq!(EventInstants::default().last_before(open), None);
    }
}
