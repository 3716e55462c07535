//! How long it takes after an event until the throughput of a load point is as before.

use std::time::Duration;

use smbench_model::record::Series;

/// Throughput counts as before from this share on.
const RECOVERED: f64 = 0.95;
/// Whole intervals before an event whose mean counts as the throughput before it.
const INTERVALS_BEFORE: usize = 10;

/// The instants of an event, in seconds from the start of the window.
pub(super) struct EventSpan {
    pub(super) at_s: f64,
    /// The next event, if there is one.
    pub(super) next_s: Option<f64>,
    /// Until when its effect on the throughput begins, to an interval.
    pub(super) begins_by_s: f64,
}

/// The throughput of a load point outside the effects of its events.
pub(super) struct CalmLoad {
    interval_s: f64,
    /// Bytes of each whole interval, or operations if no data was moved.
    amounts: Vec<f64>,
    /// The interval from which on the last event has no effect any more.
    from: usize,
    /// The amount that counts as the throughput before the last event.
    enough: Option<f64>,
}

impl CalmLoad {
    /// Makes the throughput over a window of this length. Its last interval may not be whole, and
    /// is then left out.
    pub(super) fn of(series: &Series, window: Duration) -> Self {
        let interval_s = series.interval.as_secs_f64();
        // The conversion saturates.
        let whole = (window.as_secs_f64() / interval_s + 1e-9) as usize;
        let carries = series.all.iter().any(|interval| interval.bytes > 0);
        let amounts = series
            .all
            .iter()
            .take(whole)
            .map(|interval| if carries { interval.bytes } else { interval.count } as f64);
        Self {
            interval_s,
            amounts: amounts.collect(),
            from: 0,
            enough: None,
        }
    }

    /// Returns the seconds from the next event until the load point has its throughput again.
    /// If it has not recovered from the last event, that is the throughput before that one. A
    /// dip that begins later than the effect of the event is not of it.
    pub(super) fn recovery_s(&mut self, of: &EventSpan) -> Option<f64> {
        let EventSpan {
            at_s,
            next_s,
            begins_by_s,
        } = *of;
        // The conversions saturate.
        let index = |seconds: f64| (seconds / self.interval_s) as usize;
        let event = index(at_s);
        let end = next_s.map_or(self.amounts.len(), index);
        let from = self.from.max(event.saturating_sub(INTERVALS_BEFORE));
        let before = self.amounts.get(from..event).unwrap_or_default();
        if !before.is_empty() {
            self.enough = Some(RECOVERED * before.iter().sum::<f64>() / before.len() as f64);
        }
        let enough = self.enough?;
        let after = self.amounts.get(event..end.min(self.amounts.len()))?;
        if after.is_empty() {
            self.from = usize::MAX;
            return None;
        }
        let begins_s = |dip: usize| (event + dip) as f64 * self.interval_s;
        let dip = after.iter().position(|amount| *amount < enough);
        let dip = dip.filter(|dip| begins_s(*dip) < begins_by_s + self.interval_s);
        let Some(dip) = dip else {
            return Some(0.0);
        };
        self.from = usize::MAX;
        let back = after[dip..].iter().position(|amount| *amount >= enough)?;
        self.from = event + dip + back;
        Some(self.from as f64 * self.interval_s - at_s)
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::record::IntervalSummary;

    use super::*;

    /// An event without a blackout.
    const fn span(at_s: f64, next_s: Option<f64>) -> EventSpan {
        EventSpan {
            at_s,
            next_s,
            begins_by_s: at_s,
        }
    }

    /// Returns intervals of a second with these operations.
    fn series(amounts: &[u64]) -> Series {
        let all = amounts.iter().map(|count| IntervalSummary {
            count: *count,
            ..IntervalSummary::default()
        });
        Series {
            interval: Duration::from_secs(1),
            all: all.collect(),
            ..Series::default()
        }
    }

    #[test]
    fn the_recovery_ends_with_the_first_interval_that_is_as_before() {
        let dip = series(&[100, 100, 40, 0, 60, 97, 100]);
        let calm =
            |series: &Series| CalmLoad::of(series, series.interval * series.all.len() as u32);
        let once = |series: &Series, at_s, next_s| calm(series).recovery_s(&span(at_s, next_s));
        assert_eq!(once(&dip, 2.5, None), Some(2.5));
        assert_eq!(once(&dip, 2.5, Some(4.0)), None);
        assert_eq!(once(&dip, 0.5, None), None);
        assert_eq!(once(&series(&[100, 100, 99, 98]), 2.2, None), Some(0.0));
        assert_eq!(once(&series(&[100, 100, 50, 50]), 2.2, None), None);
        // The second event comes before the load has recovered from the first one.
        let mut close = calm(&dip);
        assert_eq!(close.recovery_s(&span(2.5, Some(4.0))), None);
        assert_eq!(close.recovery_s(&span(4.0, None)), Some(1.0));
        // Both are in the same interval.
        let mut same = calm(&dip);
        assert_eq!(same.recovery_s(&span(2.2, Some(2.5))), None);
        assert_eq!(same.recovery_s(&span(2.5, None)), Some(2.5));
        // The first one is over before the second one, so what came after it counts.
        let slower = series(&[100, 10, 96, 96, 50, 92, 92]);
        let mut apart = calm(&slower);
        assert_eq!(apart.recovery_s(&span(1.0, Some(4.0))), Some(1.0));
        assert_eq!(apart.recovery_s(&span(4.0, None)), Some(1.0));
    }
    /// An event that costs no throughput is not blamed for what comes later.
    #[test]
    fn a_dip_that_begins_after_the_effect_of_an_event_is_not_of_it() {
        let late = series(&[100, 100, 100, 100, 94, 94, 100]);
        let window = Duration::from_secs(7);
        for (begins_by_s, expected) in [(1.5, 0.0), (3.0, 0.0), (3.5, 4.5)] {
            let event = EventSpan {
                begins_by_s,
                ..span(1.5, None)
            };
            let recovered = CalmLoad::of(&late, window).recovery_s(&event);
            assert_eq!(recovered, Some(expected), "{begins_by_s}");
        }
    }

    #[test]
    fn the_rest_of_a_window_after_its_whole_intervals_is_no_dip() {
        let rest = series(&[100, 100, 100, 100, 48]);
        let window = Duration::from_millis(4500);
        let once = |at_s| CalmLoad::of(&rest, window).recovery_s(&span(at_s, None));
        assert_eq!(once(3.2), Some(0.0));
        // No whole interval follows.
        assert_eq!(once(4.2), None);
    }
}
