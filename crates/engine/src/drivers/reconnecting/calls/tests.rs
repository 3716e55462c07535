use smbench_model::operations::Operation;

use super::*;
use crate::drivers::reconnecting::stops::ServerStop;

fn call(slot: u32, member: usize, kind: OpKind) -> Call {
    Call {
        slot,
        member,
        operation: Operation {
            kind,
            action: 0,
            file: 0,
            offset: 0,
            length: 0,
        },
    }
}

fn after(seconds: u64) -> Nanos {
    Nanos(clock::now().0 + seconds * 1_000_000_000)
}

/// Answers the read in slot 0, and returns when this client's next one was sent, at most.
fn read_again(calls: &mut ClientCalls) -> Nanos {
    calls.answered(0, clock::now());
    calls.ended(0);
    let answered = clock::now();
    calls.sent(&call(0, 0, OpKind::Read));
    answered
}

#[test]
fn a_blackout_is_from_the_last_answer_before_to_the_first_after() {
    let mut calls = ClientCalls::new(2);
    calls.sent(&call(0, 0, OpKind::Read));
    calls.sent(&call(SLOTS_MAX + 1, 1, OpKind::Write));
    let (answered, lost_at) = (read_again(&mut calls), after(10));
    assert_eq!(calls.lose(lost_at), lost_at);
    assert_eq!(calls.take_cut_off(), Some((lost_at, 2)));
    let lost = [(0, OpKind::Read), (SLOTS_MAX + 1, OpKind::Write)];
    assert_eq!(calls.take_in_flight(), lost);
    assert_eq!(calls.take_in_flight(), []);
    // Both have a call while there is no connection.
    calls.refused(0, after(11));
    calls.refused(1, after(11));
    // A second loss before an answer belongs to the first one.
    assert_eq!(calls.lose(after(12)), lost_at);
    assert_eq!(calls.take_cut_off(), None);
    assert_eq!(calls.link_back(after(13)), []);
    calls.sent(&call(0, 0, OpKind::Read));
    let now = after(14);
    let back = calls.answered(0, now).unwrap();
    assert_eq!(back.lost_at, lost_at);
    assert!(back.after <= now.since(answered), "{back:?}");
    assert!(back.after >= now.since(lost_at), "{back:?}");
    assert_eq!(calls.answered(0, after(15)), None);
    // One client is back, and the other is not. A further loss is another one.
    let second = after(20);
    assert_eq!(calls.lose(second), second);
    assert_eq!(calls.take_cut_off(), Some((second, 1)));
    calls.sent(&call(1, 1, OpKind::Read));
    assert_eq!(calls.answered(1, after(21)).unwrap().lost_at, lost_at);
    assert_eq!(calls.answered(7, after(22)), None);
}

/// A client that thinks has no blackout. If a call comes due in the meantime, its blackout
/// begins then.
#[test]
fn a_client_with_nothing_to_send_is_not_away() {
    let mut calls = ClientCalls::new(2);
    let lost_at = after(10);
    calls.lose(lost_at);
    assert!(!calls.is_news());
    assert_eq!(calls.take_cut_off(), None);
    let due = after(12);
    calls.refused(1, due);
    calls.refused(1, after(13));
    assert!(calls.is_news());
    assert_eq!(calls.take_cut_off(), Some((lost_at, 1)));
    assert_eq!(calls.link_back(after(14)), []);
    for member in [0, 1] {
        calls.sent(&call(member as u32, member, OpKind::Read));
    }
    assert_eq!(calls.answered(0, after(15)), None);
    let now = Nanos(due.0 + 5);
    let expected = ComeBack {
        lost_at,
        after: Nanos(5),
        cause: BlackoutCause::LostLink,
    };
    assert_eq!(calls.answered(1, now), Some(expected));
}

/// The call of a client failed, and its next one is due only after the connection is back.
#[test]
fn think_time_after_a_lost_call_is_no_blackout() {
    let mut calls = ClientCalls::new(1);
    calls.sent(&call(0, 0, OpKind::Write));
    let lost_at = after(10);
    calls.lose(lost_at);
    assert_eq!(calls.take_cut_off(), Some((lost_at, 1)));
    calls.take_in_flight();
    let now = after(11);
    let [back] = calls.link_back(now)[..] else {
        panic!("one client is back");
    };
    assert_eq!(back.lost_at, lost_at);
    assert!(back.after >= now.since(lost_at));
    calls.sent(&call(0, 0, OpKind::Write));
    assert_eq!(calls.answered(0, after(60)), None);
}

/// A client that is not back when the load ends was away until then at least.
#[test]
fn a_blackout_may_last_until_the_load_ends() {
    let mut calls = ClientCalls::new(2);
    calls.sent(&call(0, 0, OpKind::Read));
    let (answered, lost_at) = (read_again(&mut calls), after(10));
    calls.lose(lost_at);
    assert_eq!(calls.take_cut_off(), Some((lost_at, 1)));
    let now = after(30);
    let [away] = calls.end_blackouts(now)[..] else {
        panic!("one client is away");
    };
    assert_eq!(away.lost_at, lost_at);
    assert!(away.after <= now.since(answered), "{away:?}");
    assert!(away.after >= now.since(lost_at), "{away:?}");
    assert_eq!(calls.end_blackouts(after(40)), []);
}

/// A call is in a blackout if its connection was lost, but the next one in its slot is not.
#[test]
fn only_the_call_of_a_lost_connection_is_late() {
    let mut calls = ClientCalls::new(1);
    for at in [10, 11] {
        calls.sent(&call(3, 0, OpKind::Read));
        let (_, lost) = calls.lose_some(&[3], after(at));
        assert_eq!(lost, [3]);
    }
    calls.sent(&call(3, 0, OpKind::Read));
    assert_eq!(calls.back_at(3), Some(Nanos::MAX));
    assert_eq!(calls.back_at(3), None);
    // The loss of all connections ends the call that was lost with one of them.
    calls.lose_some(&[3], after(12));
    calls.lose(after(13));
    assert!(calls.take_cut_off().is_some());
    let back_at = after(14);
    calls.link_back(back_at);
    calls.sent(&call(3, 0, OpKind::Write));
    assert_eq!(calls.back_at(3), Some(back_at));
}

/// A server that an event has stopped answers nothing, although no connection is lost.
#[test]
fn a_stopped_server_is_a_blackout_for_those_who_wait_at_its_end() {
    let mut calls = ClientCalls::new(2);
    let stop = ServerStop {
        at: after(10),
        until: after(12),
    };
    calls.expect_stops(StopTimes::new(Box::new([stop]), None));
    for member in [0, 1] {
        calls.sent(&call(member as u32, member, OpKind::Read));
        // The server is stopped a little later than planned.
        let answered = Nanos(stop.at.0 + 1);
        assert_eq!(calls.answered(member as u32, answered), None);
        calls.ended(member as u32);
    }
    calls.sent(&call(0, 0, OpKind::Read));
    assert_eq!(calls.back_at(0), None);
    let expected = ComeBack {
        lost_at: stop.at,
        after: Nanos(stop.until.0 + 4 - stop.at.0),
        cause: BlackoutCause::Stop,
    };
    let now = Nanos(stop.until.0 + 5);
    assert_eq!(calls.answered(0, now), Some(expected));
    assert_eq!(calls.back_at(0), Some(stop.until));
    assert_eq!(calls.answered(0, after(13)), None);
    // This one had nothing to send until later.
    calls.refused(1, after(13));
    calls.sent(&call(1, 1, OpKind::Read));
    assert_eq!(calls.answered(1, after(14)), None);
}

/// A connection that was lost while the server was stopped makes one blackout.
#[test]
fn a_client_that_lost_its_connection_to_a_stopped_server_is_back_once() {
    let mut calls = ClientCalls::new(1);
    let stop = ServerStop {
        at: after(10),
        until: after(12),
    };
    calls.expect_stops(StopTimes::new(Box::new([stop]), None));
    calls.sent(&call(0, 0, OpKind::Read));
    let lost_at = after(11);
    calls.lose(lost_at);
    assert_eq!(calls.take_cut_off(), Some((lost_at, 1)));
    calls.take_in_flight();
    calls.refused(0, after(12));
    let back_at = after(13);
    assert_eq!(calls.link_back(back_at), []);
    calls.sent(&call(0, 0, OpKind::Read));
    let back = calls.answered(0, after(14)).unwrap();
    assert_eq!(
        (back.lost_at, back.cause),
        (lost_at, BlackoutCause::LostLink)
    );
    assert_eq!(calls.back_at(0), Some(back_at));
    assert_eq!(calls.answered(0, after(15)), None);
}

/// A client that is with another address of the server when the stop ends waits for an answer as
/// ever.
#[test]
fn a_stop_concerns_only_those_who_are_with_the_stopped_server() {
    let [stopped, other] = ["127.0.0.1:445", "127.0.0.2:445"].map(|at| at.parse().unwrap());
    let stop = |at| ServerStop {
        at: after(at),
        until: after(at + 2),
    };
    let mut calls = ClientCalls::new(1);
    let stops = Box::new([stop(10), stop(20)]);
    calls.expect_stops(StopTimes::new(stops, Some(stopped)));
    calls.connected_to(Some(other));
    calls.sent(&call(0, 0, OpKind::Read));
    assert_eq!(calls.answered(0, after(13)), None);
    assert_eq!(calls.back_at(0), None);
    // The stop is over, also for one that changes to the server later.
    calls.connected_to(Some(stopped));
    assert_eq!(calls.answered(0, after(14)), None);
    let back = calls.answered(0, after(23)).unwrap();
    assert_eq!(back.cause, BlackoutCause::Stop);
}
