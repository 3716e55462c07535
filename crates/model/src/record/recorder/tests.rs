use super::super::incidents::CAUSES_MAX;
use super::super::{Verification, latency_histogram};
use super::*;
use crate::contents::block::Mismatch;
use crate::contents::verify::DataFault;

#[test]
fn causes_of_failure_are_bounded_and_none_is_lost() {
    let mut recorder = Recorder::default();
    for code in 0..1000 {
        let failure = OperationFailure::Status(NtStatus(0xC000_0000 + code));
        recorder.failure(OpKind::Read, failure);
    }
    let mut merged = recorder.clone();
    merged.merge(&recorder);
    let causes = &merged.incidents.failures;
    assert!(causes.len() <= CAUSES_MAX + OpKind::ALL.len());
    assert_eq!(causes.values().sum::<u64>(), 2000);
    let ops: Vec<_> = merged.ops().map(|(kind, op)| (kind, op.errors)).collect();
    assert_eq!(ops, [(OpKind::Read, 2000)]);
}

#[test]
fn failures_are_found_by_their_names() {
    let statuses = [0xC000_0022, 0xC0DE_0001].map(NtStatus);
    let statuses = statuses.map(OperationFailure::Status);
    let others = OperationFailure::NAMED.map(|(cause, _)| cause);
    for failure in statuses.into_iter().chain(others) {
        let name = failure.name();
        assert_eq!(OperationFailure::from_name(&name), Some(failure), "{name}");
    }
    assert_eq!(
        OperationFailure::from_name("STATUS_OF_ANOTHER_RELEASE"),
        None
    );
}

#[test]
fn a_cleared_recorder_is_a_new_one() {
    let mut recorder = Recorder::expecting([OpKind::Read], &LoadModel::default());
    recorder.success(OpKind::Read, 5, Nanos(7));
    recorder.failure(OpKind::Write, OperationFailure::Short);
    recorder.caching_mut().breaks = 3;
    let mismatch = Mismatch::Byte {
        offset: 0,
        expected: 1,
        found: 2,
    };
    recorder.wrong_data(OpKind::Read);
    recorder.fault(Some(0), 1, &DataFault { file: 2, mismatch });
    let place = &recorder.incidents.wrong_places[0];
    assert_eq!((place.client, place.file, place.offset), (1, 2, 0));
    assert_eq!(recorder.incidents.faults.torn, 1);
    assert_eq!(recorder.losses_mut(Some(0)).faults.torn, 1);
    recorder.clear();
    assert_eq!(recorder.ops().count(), 0);
    assert_eq!(recorder.all().service, latency_histogram());
    let incidents = &recorder.incidents;
    assert_eq!(incidents.caching, CachingRecord::default());
    assert_eq!(incidents.verification, Verification::default());
    assert!(incidents.failures.is_empty());
    assert_eq!(incidents.wrong_places, []);
}

#[test]
fn entries_without_a_timed_operation_are_kept() {
    let mut recorder = Recorder::default();
    recorder.listed(OpKind::Watch, 3);
    let kept: Vec<_> = recorder
        .ops()
        .map(|(kind, op)| (kind, op.entries))
        .collect();
    assert_eq!(kept, [(OpKind::Watch, 3)]);
}
