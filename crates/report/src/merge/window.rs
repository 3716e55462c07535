//! The window of a merged load point.
//!
//! By the clock, all parts have the window that the plan asks for, at the same time. Replays
//! with a number of loops end when their clients have ended. One process would measure until
//! the last client has ended. So the merged window is the longest of the parts, and rates
//! divide by it.

use std::time::SystemTime;

use super::part_point::PartPoint;
use crate::units;

/// Least share of the longest window in which the windows of all parts must overlap.
const OVERLAP_MIN: f64 = 0.99;

/// What ends a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowEnd {
    /// The clock.
    Clock,
    /// The last client.
    Clients,
}

/// Returns the seconds from one time to another; negative if it was before.
pub(super) fn seconds_since(from: SystemTime, to: SystemTime) -> f64 {
    match to.duration_since(from) {
        Ok(since) => since.as_secs_f64(),
        Err(error) => -error.duration().as_secs_f64(),
    }
}

/// Explains why the windows of the parts are not one window; `None` if they are.
pub(super) fn objection(parts: &[PartPoint<'_>], end: WindowEnd) -> Option<String> {
    let length = |part: &&PartPoint<'_>| part.point.window_s;
    let by_length =
        |one: &&PartPoint<'_>, other: &&PartPoint<'_>| length(one).total_cmp(&length(other));
    let (longest, shortest) = (
        parts.iter().max_by(by_length)?,
        parts.iter().min_by(by_length)?,
    );
    let whole_s = length(&longest);
    if end == WindowEnd::Clock && length(&shortest) < OVERLAP_MIN * whole_s {
        return Some(format!(
            "{}: its window took {}, and that of {} {}: they may differ by 1 %",
            shortest.name,
            units::seconds(length(&shortest)),
            longest.name,
            units::seconds(whole_s)
        ));
    }
    let first = parts.iter().min_by_key(|part| part.opened)?;
    let last = parts.iter().max_by_key(|part| part.opened)?;
    let late_s = seconds_since(first.opened, last.opened);
    let overlap_s = match end {
        WindowEnd::Clock => {
            let ends = parts
                .iter()
                .map(|part| seconds_since(first.opened, part.opened) + length(&part));
            ends.fold(f64::INFINITY, f64::min) - late_s
        }
        // Parts end at different times, so only their beginnings tell.
        WindowEnd::Clients => whole_s - late_s,
    };
    (overlap_s < OVERLAP_MIN * whole_s).then(|| {
        format!(
            "{}: its window opened {} after that of {}: the windows overlap for {}, and 99 % is \
             the least",
            last.name,
            units::latency(late_s * 1e9),
            first.name,
            units::percent((overlap_s / whole_s).max(0.0) * 100.0)
        )
    })
}
