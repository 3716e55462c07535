//! What a window without an answer waited for, in words.

use std::cmp::Reverse;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{ClosingWaits, Tally};

/// Number of kinds that are named.
const NAMED_MAX: usize = 3;

/// Says that no operation completed in the window, what was in flight at its end, and how many
/// operations completed before it.
pub(super) fn nothing_completed(ops: &Tally) -> String {
    let before = match ops.before() {
        0 => "no operation completed before it".to_owned(),
        1 => "1 operation completed before it".to_owned(),
        count => format!("{count} operations completed before it"),
    };
    let waited_for = in_flight(ops).unwrap_or_else(|| "no request was in flight".to_owned());
    format!("no operation completed in the window: {waited_for}; {before}")
}

/// Describes the operations in flight: `4 log_on and 1 read were in flight, the longest for
/// 4.8 s`. `None` if there were none.
fn in_flight(ops: &Tally) -> Option<String> {
    let all = OpKind::ALL.into_iter();
    let all = all.filter_map(|kind| Some((kind, ops.in_flight(kind)?)));
    let (parts, mut kinds): (Vec<_>, Vec<_>) = all.partition(|(kind, _)| kind.is_part_of_session());
    let sum = kinds.iter().map(|(_, of)| *of).reduce(ClosingWaits::and)?;
    kinds.sort_by_key(|(_, of)| Reverse(of.count));
    let mut named: Vec<_> = kinds
        .iter()
        .take(NAMED_MAX)
        .map(|(kind, of)| kind.counted(of.count))
        .collect();
    let others: u64 = kinds.iter().skip(NAMED_MAX).map(|(_, of)| of.count).sum();
    named.extend((others > 0).then(|| format!("{others} of other kinds")));
    let last = named.pop()?;
    let mut named = if named.is_empty() {
        last
    } else {
        format!("{} and {last}", named.join(", "))
    };
    if !parts.is_empty() {
        let parts = parts.iter();
        let parts: Vec<_> = parts
            .map(|(kind, of)| format!("{} in {}", of.count, kind.name()))
            .collect();
        named += &format!(" ({})", parts.join(", "));
    }
    let longest = seconds(sum.longest);
    Some(match sum.count {
        1 => format!("{named} was in flight for {longest}"),
        _ => format!("{named} were in flight, the longest for {longest}"),
    })
}

/// Formats a length of time: `20 s`, `7.3 s`, `0.25 s`.
pub(super) fn seconds(length: Nanos) -> String {
    let seconds = Duration::from(length).as_secs_f64();
    let parts = if seconds < 1.0 { 100.0 } else { 10.0 };
    format!("{} s", (seconds * parts).round() / parts)
}

#[cfg(test)]
mod tests {
    use smbench_model::record::{Phase, Recorder};

    use super::*;

    #[test]
    fn kinds_are_named_with_their_number_and_the_longest_wait() {
        const MS: u64 = 1_000_000;
        let mut recorder = Recorder::default();
        recorder.success(OpKind::LogOn, 0, Nanos(1));
        let mut ops = Tally::default();
        ops.add(&recorder, Phase::Before);
        recorder.clear();
        let message = nothing_completed(&ops);
        let nothing = "no operation completed in the window: no request was in flight; \
                       1 operation completed before it";
        assert_eq!(message, nothing);
        let mut after = |kind, waited| {
            recorder.clear();
            recorder.in_flight(kind, Nanos(waited));
            ops.add(&recorder, Phase::Outside);
            in_flight(&ops).unwrap()
        };
        let first = after(OpKind::LogOn, 2900 * MS);
        assert_eq!(first, "1 log_on was in flight for 2.9 s");
        after(OpKind::LogOn, 250 * MS);
        let kinds = after(OpKind::Read, 4800 * MS);
        let two = "2 log_on and 1 read were in flight, the longest for 4.8 s";
        assert_eq!(kinds, two);
        for kind in [OpKind::Write, OpKind::Echo, OpKind::Flush] {
            after(kind, 1);
        }
        let parts = after(OpKind::SessionLogOn, 3600 * MS);
        let many = "2 log_on, 1 read, 1 write and 2 of other kinds (1 in session_log_on) were in \
                    flight, the longest for 4.8 s";
        assert_eq!(parts, many);
        let message = nothing_completed(&Tally::default());
        assert!(
            message.ends_with("; no operation completed before it"),
            "{message}"
        );
    }
}
