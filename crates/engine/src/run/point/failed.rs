//! Failed operations of a load point, as a clause.

use std::borrow::Cow;
use std::cmp::Reverse;

use smbench_model::record::{OperationFailure, Tally};
use smbench_protocol::NtStatus;

/// How many operations failed, and the most frequent cause: the operation and its
/// status. `None` where none did.
pub(super) fn failed(ops: &Tally) -> Option<String> {
    let errors = ops.errors();
    if errors == 0 {
        return None;
    }
    let answered = ops.answered();
    let counted = format!("{errors} of {answered} operations failed");
    let causes = ops.failures();
    // Of causes that are equally frequent, the first is named.
    let Some((&(kind, failure), &count)) = causes.iter().min_by_key(|(_, count)| Reverse(**count))
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

fn cause(failure: OperationFailure) -> Cow<'static, str> {
    match failure {
        OperationFailure::Status(status) => status.to_string().into(),
        OperationFailure::Short => "too few bytes".into(),
        OperationFailure::Long => "too many bytes".into(),
        OperationFailure::WrongData => "wrong data".into(),
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
    use smbench_model::kind::OpKind;
    use smbench_model::load::LoadModel;
    use smbench_model::record::{Phase, Recorder};

    use super::*;

    /// Returns the clause for ten answered reads and the given numbers of failures.
    fn told(failures: &[(OpKind, OperationFailure, u32)]) -> Option<String> {
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
        failed(&ops)
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
            assert_eq!(told(failures).as_deref(), expected);
        }
    }
}
