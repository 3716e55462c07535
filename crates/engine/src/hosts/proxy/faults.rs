//! What makes the measurements of a host doubtful: it stood still, or its windows are not those of
//! the first host.

use std::ops::Range;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::units::format_duration;

use super::clocks::Clocks;
use crate::hosts::{STILL_MAX, is_too_far};
use crate::worker::fault::LoadFault;

/// Describes, at `now`, a host that has not run for a while: the first one, or else the other.
pub(super) fn stood_still(name: &str, own: Nanos, other: Nanos, now: Nanos) -> Option<LoadFault> {
    let (host, still) = if own > STILL_MAX.into() {
        ("the first host".to_owned(), own)
    } else {
        (format!("host {name}"), other)
    };
    (still > STILL_MAX.into()).then(|| {
        let time = Duration::from_millis(still.0 / 1_000_000);
        let why = format!("{host} stood still for {}", format_duration(time));
        LoadFault::within(why, now - still, now)
    })
}

/// Describes the windows of a host that may be too far from those of the first one. The host began
/// its load `late` for the first of them.
pub(super) fn windows_apart(
    name: &str,
    windows: &[Range<Nanos>],
    clocks: &Clocks,
    late: Nanos,
) -> Vec<LoadFault> {
    let lates = std::iter::once(late).chain(std::iter::repeat(Nanos(0)));
    let apart = windows.iter().zip(lates).filter_map(|(window, late)| {
        let apart = clocks.apart(window.end) + late;
        is_too_far(apart, window).then(|| {
            let apart = format_duration(Duration::from_micros(apart.0 / 1000));
            let why = format!("the window of host {name} may be {apart} apart");
            LoadFault::within(why, window.start, window.end)
        })
    });
    apart.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::ClockRelation;

    const SECOND: u64 = 1_000_000_000;

    fn windows() -> [Range<Nanos>; 3] {
        [(10, 20), (20, 21), (21, 100)]
            .map(|(from, to): (u64, u64)| Nanos(from * SECOND)..Nanos(to * SECOND))
    }

    /// Returns which of the windows above have a fault.
    fn doubtful(drift: i64, late: Nanos) -> Vec<usize> {
        let relation = ClockRelation {
            offset: 7,
            bound: Nanos(1000),
        };
        let clocks = Clocks {
            relation,
            related: Nanos(10 * SECOND),
            after: ClockRelation {
                offset: 7 + drift,
                ..relation
            },
            until: Nanos(110 * SECOND),
        };
        let faults = windows_apart("b", &windows(), &clocks, late);
        let is_in = |window: &Range<Nanos>| {
            let mut faults = faults.iter();
            faults.any(|fault| fault.is_between(window.start, window.end))
        };
        (0..3).filter(|at| is_in(&windows()[*at])).collect()
    }

    #[test]
    fn each_window_is_judged_by_its_length() {
        assert!(doubtful(0, Nanos(0)).is_empty());
        assert!(doubtful(1500, Nanos(0)).is_empty(), "within the bounds");
        // 11 ms of it have passed when the second window ends, which is a second long.
        assert_eq!(doubtful(-100_000_000, Nanos(0)), [1]);
        assert_eq!(doubtful(2_000_000_000, Nanos(0)), [0, 1, 2]);
        // Only the first one began late.
        assert_eq!(doubtful(0, Nanos(SECOND / 5)), [0]);
    }

    #[test]
    fn a_host_that_stood_still_is_named() {
        let (short, long) = (Nanos(SECOND), Nanos(2 * SECOND));
        let now = Nanos(30 * SECOND);
        let of = |own, other| stood_still("b", own, other, now).map(|fault| fault.why);
        assert_eq!(of(short, short), None);
        assert_eq!(
            of(short, long).as_deref(),
            Some("host b stood still for 2s")
        );
        assert_eq!(
            of(long, long).as_deref(),
            Some("the first host stood still for 2s")
        );
    }
}
