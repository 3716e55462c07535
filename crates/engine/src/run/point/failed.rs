//! Operations of a load point that failed, or that differ from a recording, as a clause.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, ReplayDifference, Tally};
use smbench_protocol::NtStatus;

use super::unanswered::nothing_completed;
use crate::run::context::Context;

/// The failures that a valid load point may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excuse {
    None,
    /// Those of operations that lost their connection, whose clients come back.
    LostConnections,
}

/// Returns what may go wrong with operations without making a load point invalid.
pub(super) fn excuse(context: &Context<'_>) -> Excuse {
    match context.plan.sessions.failover.reconnect {
        Some(_) => Excuse::LostConnections,
        None => Excuse::None,
    }
}

/// Returns what is wrong with operations, if anything is. Without any, that is wrong too.
pub(super) fn objection_to(ops: &Tally, excuse: Excuse) -> Option<String> {
    // Listings from memory and notifications are in no sum.
    let is_alone =
        ops.window(OpKind::ListCached).count() > 0 || ops.window(OpKind::Watch).entries > 0;
    let is_empty = ops.window_all().count() == 0 && !is_alone;
    trouble_in(ops, excuse).or_else(|| is_empty.then(|| nothing_completed(ops)))
}

/// Returns what is wrong with operations that may be none.
pub(super) fn trouble_in(ops: &Tally, excuse: Excuse) -> Option<String> {
    if let Some(failed) = failed(ops, excuse) {
        let first = ops.wrong_places().first();
        let first = first.map_or_else(String::new, |place| {
            format!("; wrong data first at {place}")
        });
        return Some(format!("{failed}{first}{}", refused(ops)));
    }
    if let Some(differing) = differing(ops) {
        return Some(differing);
    }
    let losses = ops.losses().all();
    let away: u64 = losses.map(|(_, of)| of.still_away()).sum();
    let were = if away == 1 {
        "client that lost its connection was"
    } else {
        "clients that lost their connection were"
    };
    (away > 0).then(|| format!("{away} {were} not back when the load ended"))
}

/// How many operations failed, and the most frequent cause: the operation and its
/// status. `None` where none did, apart from those that are excused.
fn failed(ops: &Tally, excuse: Excuse) -> Option<String> {
    let errors = match excuse {
        Excuse::None => ops.errors(),
        Excuse::LostConnections => ops.errors() - ops.lost_with_connection(),
    };
    if errors == 0 {
        return None;
    }
    let answered = ops.answered();
    let counted = format!("{errors} of {answered} operations failed");
    // A step that failed is counted with its operation.
    let causes = ops.failures().iter();
    let is_counted = |kind: OpKind, failure: OperationFailure| {
        let is_excused = failure == OperationFailure::Lost && excuse == Excuse::LostConnections;
        !kind.is_step() && !is_excused
    };
    let causes: Vec<_> = causes
        .filter(|((kind, failure), _)| is_counted(*kind, *failure))
        .collect();
    // Of causes that are equally frequent, the first is named.
    let Some(&(&(kind, failure), &count)) = causes.iter().min_by_key(|(_, count)| Reverse(**count))
    else {
        return Some(counted);
    };
    let most = match count {
        _ if causes.len() == 1 => "",
        _ if count > errors / 2 => ", most",
        _ => ", most often",
    };
    let (cause, advice) = (cause(failure), advice(failure));
    Some(format!(
        "{counted}{most} with {cause} ({}){advice}",
        kind.name()
    ))
}

/// Number of results that [`differing`] names, and of operations that it names for each.
const NAMED_MAX: usize = 3;

/// How many operations of a replay differ from the recording, and their results with the
/// operations that had them. `None` where so few differ that the load point is valid.
fn differing(ops: &Tally) -> Option<String> {
    let (differing, all) = (ops.differing(), ops.carried_out());
    let share = differing as f64 / all.max(1) as f64;
    if share <= ReplayDifference::SHARE_MAX {
        return None;
    }
    let mut results = BTreeMap::<OperationFailure, BTreeMap<OpKind, u64>>::new();
    for (difference, &count) in ops.differences() {
        let kinds = results.entry(difference.seen).or_default();
        *kinds.entry(difference.kind).or_default() += count;
    }
    let mut results: Vec<_> = results.into_iter().collect();
    results.sort_by_key(|(seen, kinds)| {
        // Operations on a file that could not be opened follow from the open.
        let is_consequence = *seen == OperationFailure::Status(NtStatus::FILE_CLOSED);
        (is_consequence, Reverse(kinds.values().sum::<u64>()))
    });
    let descriptions = results.iter().map(|(seen, kinds)| {
        let mut kinds: Vec<_> = kinds.iter().collect();
        kinds.sort_by_key(|(_, count)| Reverse(**count));
        let names = kinds.iter().map(|(kind, _)| kind.name().to_owned());
        format!("{} ({})", cause(*seen), first_of(names))
    });
    let limit = ReplayDifference::SHARE_MAX * 100.0;
    Some(format!(
        "{differing} of {all} operations ({}) did not go as recorded, and at most {limit} % may: \
         {}",
        percent(share),
        first_of(descriptions)
    ))
}

/// Names the directories that walks had to leave out, as the tail of a sentence. Empty if there
/// are none.
fn refused(ops: &Tally) -> String {
    let paths = ops.refused().all().map(|(path, _)| path.to_owned());
    match paths.len() {
        0 => String::new(),
        _ => format!("; refused: {}", first_of(paths)),
    }
}

/// Joins the first names, and counts the rest.
fn first_of(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let named: Vec<_> = names.take(NAMED_MAX).collect();
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Formats a share so that one just above the limit does not look like it.
fn percent(share: f64) -> String {
    if share < 0.1 {
        format!("{:.2} %", share * 100.0)
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

fn cause(failure: OperationFailure) -> Cow<'static, str> {
    match failure {
        OperationFailure::Status(status) => status.to_string().into(),
        OperationFailure::Short => "too few bytes".into(),
        OperationFailure::Long => "too many bytes".into(),
        OperationFailure::WrongData => "wrong data".into(),
        OperationFailure::Lost => "a lost connection".into(),
        OperationFailure::Other => "various statuses".into(),
    }
}

/// Explains a cause that its name does not explain, as the tail of a sentence.
const fn advice(failure: OperationFailure) -> &'static str {
    match failure {
        OperationFailure::Status(NtStatus::DISK_FULL) => ": the share has no space left",
        OperationFailure::Status(NtStatus::QUOTA_EXCEEDED) => {
            ": the user's quota on the share is used up"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::Nanos;
    use smbench_model::load::LoadModel;
    use smbench_model::record::{Phase, Recorder};

    use super::*;

    /// Returns the clause for ten answered reads and the given numbers of failures.
    fn described(failures: &[(OpKind, OperationFailure, u32)]) -> Option<String> {
        let mut recorder = Recorder::expecting([OpKind::Read], &LoadModel::default());
        for _ in 0..10 {
            recorder.success(OpKind::Read, 1, Nanos(1));
        }
        for &(kind, failure, count) in failures {
            for _ in 0..count {
                recorder.failure(kind, failure);
            }
        }
        let mut ops = Tally::default();
        ops.add(&recorder, Phase::Window);
        failed(&ops, Excuse::None)
    }

    #[test]
    fn the_most_frequent_cause_is_named_with_its_operation() {
        let full = OperationFailure::Status(NtStatus::DISK_FULL);
        let denied = OperationFailure::Status(NtStatus::ACCESS_DENIED);
        for (failures, expected) in [
            (&[][..], None),
            (
                &[(OpKind::CopyChunk, full, 4)],
                Some(
                    "4 of 14 operations failed with STATUS_DISK_FULL (copy_chunk): the share has no \
                     space left",
                ),
            ),
            (
                &[(OpKind::Write, denied, 1), (OpKind::CopyChunk, full, 4)],
                Some(
                    "5 of 15 operations failed, most with STATUS_DISK_FULL (copy_chunk): the share \
                     has no space left",
                ),
            ),
            (
                &[
                    (OpKind::Read, OperationFailure::Short, 1),
                    (OpKind::Write, denied, 2),
                    (OpKind::Create, denied, 1),
                ],
                Some("4 of 14 operations failed, most often with STATUS_ACCESS_DENIED (write)"),
            ),
            (
                &[(OpKind::Read, OperationFailure::WrongData, 1)],
                Some("1 of 11 operations failed with wrong data (read)"),
            ),
        ] {
            assert_eq!(described(failures).as_deref(), expected);
        }
    }

    /// Returns the clause for 990 operations as recorded and these others.
    fn described_of_replay(differences: &[(OpKind, OperationFailure, u32)]) -> Option<String> {
        let mut recorder = Recorder::expecting([OpKind::Read], &LoadModel::default());
        for _ in 0..990 {
            recorder.success(OpKind::Read, 1, Nanos(1));
        }
        for &(kind, seen, count) in differences {
            for _ in 0..count {
                recorder.difference(ReplayDifference {
                    kind,
                    recorded: Some(NtStatus::SUCCESS),
                    seen,
                });
            }
        }
        let mut ops = Tally::default();
        ops.add(&recorder, Phase::Outside);
        differing(&ops)
    }

    #[test]
    fn a_replay_that_differs_too_much_is_reported_with_results_and_operations() {
        let gone = OperationFailure::Status(NtStatus::OBJECT_PATH_NOT_FOUND);
        let closed = OperationFailure::Status(NtStatus::FILE_CLOSED);
        let kinds = |seen, kinds: &[OpKind], count| {
            let of = kinds.iter().map(|kind| (*kind, seen, count));
            of.collect::<Vec<_>>()
        };
        // One in a hundred is not more than one in a hundred.
        assert_eq!(described_of_replay(&[]), None);
        assert_eq!(described_of_replay(&[(OpKind::Flush, gone, 10)]), None);
        for (differences, expected) in [
            (
                vec![(OpKind::Flush, gone, 11)],
                "11 of 1001 operations (1.10 %) did not go as recorded, and at most 1 % may: \
                 STATUS_OBJECT_PATH_NOT_FOUND (flush)",
            ),
            (
                [
                    kinds(closed, &[OpKind::Read, OpKind::Write], 2000),
                    kinds(closed, &[OpKind::Close, OpKind::Flush], 3000),
                    kinds(gone, &[OpKind::Create, OpKind::Unlink], 5),
                    vec![(OpKind::Read, OperationFailure::Short, 1)],
                ]
                .concat(),
                "10011 of 11001 operations (91.0 %) did not go as recorded, and at most 1 % may: \
                 STATUS_OBJECT_PATH_NOT_FOUND (create, unlink), too few bytes (read), \
                 STATUS_FILE_CLOSED (flush, close, read and 1 more)",
            ),
        ] {
            assert_eq!(described_of_replay(&differences).as_deref(), Some(expected));
        }
    }
}
