use super::*;
use crate::contents::block::Stamp;

#[test]
fn costs_of_an_event_are_added_and_those_of_others_stay_apart() {
    let (mut one, mut other) = (Losses::default(), Losses::default());
    for (losses, took) in [(&mut one, 7), (&mut other, 9)] {
        let after = losses.after_mut(Some(1));
        after.clients += 2;
        after.came_back(Nanos(took));
        after.stayed_away(Nanos(100 - took));
        after.handles.kept += 1;
        after.handles.caching_kept += 1;
        after.handles.lose(Some(NtStatus::OBJECT_NAME_NOT_FOUND));
        after.fail(OpKind::Close, OperationFailure::Short);
        after.faults.count(&Mismatch::Byte {
            offset: 0,
            expected: 1,
            found: 2,
        });
    }
    other.after_mut(None).failed += 3;
    one.merge(&other);
    let merged = one.after(Some(1)).unwrap();
    assert_eq!((merged.clients, merged.still_away()), (4, 2));
    let blackout = merged.blackout.get();
    assert_eq!((blackout.min(), blackout.max()), (7, 9));
    assert_eq!(merged.longest_away, Nanos(93));
    assert_eq!((merged.handles.kept, merged.handles.caching_kept), (2, 2));
    assert_eq!(merged.handles.lost.values().sum::<u64>(), 2);
    let closes = (OpKind::Close, OperationFailure::Short);
    assert_eq!(merged.failures, [(closes, 2)].into());
    assert_eq!(merged.faults.torn, 2);
    assert_eq!(one.after(None).unwrap().failed, 3);
    assert!(one.after(Some(0)).is_none());
}

#[test]
fn older_data_of_any_origin_is_a_lost_write() {
    let found = Stamp::default();
    let mut faults = DataFaults::default();
    for mismatch in [
        Mismatch::Stale {
            offset: 0,
            oldest: 1,
            found,
        },
        Mismatch::Missing {
            offset: 0,
            oldest: 1,
        },
        Mismatch::OtherRun { offset: 0, found },
        Mismatch::Late {
            offset: 0,
            oldest: 1,
            found,
        },
        Mismatch::Foreign { offset: 0, found },
    ] {
        faults.count(&mismatch);
    }
    assert_eq!((faults.lost, faults.doubled, faults.torn), (3, 1, 0));
}

#[test]
fn operations_in_blackouts_are_kept_apart_in_the_window() {
    use crate::record::{Phase, Tally};

    let mut tally = Tally::default();
    for phase in [Phase::Before, Phase::Window] {
        let (mut one, mut other) = (Recorder::default(), Recorder::default());
        for (recorder, service) in [(&mut one, 100), (&mut other, 300)] {
            let times = Times {
                service: Nanos(service),
                response: Nanos(service + 900),
            };
            recorder.success(OpKind::Read, 0, Nanos(5));
            recorder.success(OpKind::Read, 0, times);
            recorder.blacked_out(OpKind::Read, times);
            recorder.success(OpKind::OplockBreak, 0, times);
            recorder.blacked_out(OpKind::OplockBreak, times);
        }
        assert_eq!(one.succeeded(OpKind::Read), 2);
        one.merge(&other);
        tally.add(&one, phase);
        one.clear();
        assert!(one.in_blackout.is_none());
    }
    let late = tally.in_blackout().unwrap();
    assert_eq!(
        (late.count(), late.service.min(), late.service.max()),
        (2, 100, 300)
    );
    // The operations were due when they were sent, so that all have one time.
    assert_eq!(late.latency().max(), 300);
    assert_eq!(tally.window(OpKind::Read).count(), 4);
}
