//! Operations in flight when the window closed, where they say more than those that completed.
//!
//! A closed loop always has operations in flight. They are shown where a kind had at least as
//! many in flight as completed, and the longest had waited for a tenth of the window.

use smbench_model::kind::OpKind;
use smbench_model::setting::DURATION;

use crate::doc::{LoadPointDoc, NOTHING_COMPLETED, OpDoc};
use crate::units::{counted, latency, plain};

/// Returns the reason of a load point that is not valid, without what a window without an
/// answer waited for.
#[must_use]
pub fn reason_in_brief(reason: &str) -> &str {
    let from = reason.find(NOTHING_COMPLETED);
    let end = from.and_then(|from| Some(from + reason[from..].find(": ")?));
    end.map_or(reason, |end| &reason[..end])
}

/// Returns what a user can do about a window without an answer. `None` if there was one.
pub(super) fn advice(point: &LoadPointDoc) -> Option<String> {
    point.lacks_answers().then(|| {
        let probe = match point.ops_before {
            Some(0) => ", or check the server with `smbench probe`",
            _ => "",
        };
        format!("use a longer {DURATION}{probe}")
    })
}

/// Number of kinds that are named.
const NAMED_MAX: usize = 3;

/// Share of the window for which an operation must have waited.
const WAITED_MIN: f64 = 0.1;

/// Returns the operations of the workload that are worth showing, by name.
pub(super) fn waiting(point: &LoadPointDoc) -> Vec<(&str, &OpDoc)> {
    let is_empty = point.latency_ns.is_none();
    let is_worth_showing = |op: &OpDoc| {
        let waited_s = op.in_flight_ns_max.unwrap_or(0) as f64 / 1e9;
        let are_most = op.in_flight.is_some_and(|in_flight| in_flight >= op.count);
        are_most && (is_empty || waited_s >= WAITED_MIN * point.window_s)
    };
    let ops = point.ops.iter();
    ops.filter(|(_, op)| op.in_flight.is_some() && is_worth_showing(op))
        .map(|(name, op)| (name.as_str(), op))
        .collect()
}

/// Describes those operations: `4 log_on (2 completed) were in flight when the window closed,
/// the longest for 2.90 s`. `None` if there are none.
pub(super) fn in_words(point: &LoadPointDoc) -> Option<String> {
    let waiting = waiting(point);
    let sum: u64 = waiting.iter().filter_map(|(_, op)| op.in_flight).sum();
    let longest = waiting.iter().filter_map(|(_, op)| op.in_flight_ns_max);
    let longest = latency(longest.max()? as f64);
    let named = waiting.iter().take(NAMED_MAX).map(|(name, op)| {
        let in_flight = op.in_flight.unwrap_or(0);
        let completed = match op.count {
            0 => "none".to_owned(),
            count => count.to_string(),
        };
        let counted = OpKind::named(name).map(|kind| kind.counted(in_flight));
        let counted = counted.unwrap_or_else(|| format!("{in_flight} {}", plain(name)));
        format!("{counted} ({completed} completed)")
    });
    let mut named: Vec<_> = named.collect();
    let more = waiting.len().saturating_sub(NAMED_MAX);
    named.extend((more > 0).then(|| counted(more as u64, "other kind")));
    let named = named.join(", ");
    Some(match sum {
        1 => format!("{named} was in flight when the window closed, for {longest}"),
        _ => format!("{named} were in flight when the window closed, the longest for {longest}"),
    })
}
