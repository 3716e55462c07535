use smbench_model::contents::block::Salt;
use smbench_model::kind::OpKind;
use smbench_model::operations::{Operation, RequestResult};
use smbench_model::record::{Phase, Tally};
use smbench_protocol::NtStatus;

use super::*;
use crate::drivers::driver::{Answer, Extent};
use crate::drivers::dropped::{Dropped, LinkCause, LostLink};
use crate::worker::member::Member;

const FLUSH: Operation = Operation {
    kind: OpKind::Flush,
    action: 0,
    file: 0,
    offset: 0,
    length: 0,
};

struct Flushes;

impl Supply for Flushes {
    fn next(&mut self, _: Phase) -> Option<Operation> {
        Some(FLUSH)
    }

    fn after(&self, _: &Operation, _: RequestResult, _: NtStatus) -> Option<Operation> {
        None
    }

    fn fault(&self) -> Dropped {
        unreachable!("a flush can be sent")
    }
}

/// Two slots of one client, with a flush in flight in each since 10.
fn in_flight() -> Clients<Flushes> {
    let member = Member::new(0, 1, Salt::default(), Flushes, None);
    let mut clients = Clients::new(vec![member], 2);
    let at = Nanos(10);
    for slot in &mut clients.slots {
        slot.fill(FLUSH, at, at, None, at);
    }
    clients.in_flight = 2;
    clients
}

fn book<S: Supply>(clients: &mut Clients<S>, slot: u32, extent: Extent, recorder: &mut Recorder) {
    let answer = Answer::bare(slot, extent, NtStatus::SUCCESS);
    let booked = clients.book(&answer, Nanos(30), 1, recorder);
    booked.unwrap();
}

fn tally(recorder: &Recorder) -> Tally {
    let mut tally = Tally::default();
    tally.add(recorder, Phase::Window);
    tally
}

#[test]
fn a_lost_operation_is_sent_again_or_has_failed_but_not_both() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    book(&mut clients, 0, Extent::Lost, &mut recorder);
    book(&mut clients, 1, Extent::Repeatable, &mut recorder);
    // The second one is still in flight, since it was first sent.
    assert_eq!(clients.in_flight, 1);
    assert_eq!(clients.members[0].continuing, [1]);
    assert!(clients.slots[1].fill(FLUSH, Nanos(10), Nanos(10), None, Nanos(20)));
    clients.members[0].continuing.clear();
    book(&mut clients, 1, Extent::Final, &mut recorder);
    assert_eq!(clients.in_flight, 0);
    let tally = tally(&recorder);
    assert_eq!(tally.window(OpKind::Flush).count(), 1);
    assert_eq!(tally.window(OpKind::Flush).service.max(), 20);
    let lost = (OpKind::Flush, OperationFailure::Lost);
    assert_eq!(tally.failures().iter().collect::<Vec<_>>(), [(&lost, &1)]);
}

/// Operations that were due when the connection was back are in no blackout.
#[test]
fn what_was_due_before_the_connection_was_back_is_kept_apart() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    clients.slots[1].intended = Nanos(25);
    for slot in [0, 1] {
        let mut booking = Booking {
            clients: &mut clients,
            recorder: &mut recorder,
            in_window: 1,
            now: Nanos(30),
        };
        let answer = Answer::bare(slot, Extent::Final, NtStatus::SUCCESS);
        booking.answer_after_loss(&answer, Nanos(25)).unwrap();
    }
    let sent = clients.slots[0].sent;
    let tally = tally(&recorder);
    assert_eq!(tally.window(OpKind::Flush).count(), 2);
    let late = tally.in_blackout().unwrap();
    assert_eq!((late.count(), late.service.max()), (1, 30 - sent.0));
}

/// An operation that fails has no time.
#[test]
fn what_fails_after_a_blackout_has_no_time() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    let mut booking = Booking {
        clients: &mut clients,
        recorder: &mut recorder,
        in_window: 1,
        now: Nanos(30),
    };
    let answer = Answer::bare(0, Extent::Final, NtStatus::ACCESS_DENIED);
    booking.answer_after_loss(&answer, Nanos(25)).unwrap();
    let tally = tally(&recorder);
    assert!(tally.in_blackout().is_none());
    assert_eq!(tally.errors(), 1);
}

const READ: Operation = Operation {
    kind: OpKind::Read,
    ..FLUSH
};

#[test]
fn what_changes_nothing_is_sent_again_in_the_new_session() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    clients.slots[0].operation = READ;
    book(&mut clients, 0, Extent::Repeatable, &mut recorder);
    book(&mut clients, 1, Extent::Lost, &mut recorder);
    clients.end_actions(Nanos(40), 1, None, &mut recorder);
    assert_eq!(clients.members[0].continuing, [0]);
    assert_eq!(clients.slots[0].state, SlotState::Expired);
    let tally = tally(&recorder);
    let losses = tally.losses().after(None).unwrap();
    assert_eq!((losses.repeated, losses.failed), (1, 1));
    assert_eq!(tally.lost_with_connection(), 1);
}

#[test]
fn what_was_to_be_sent_again_fails_with_its_session() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    book(&mut clients, 0, Extent::Repeatable, &mut recorder);
    // Its action has a further request, which was not sent.
    clients.slots[1].state = SlotState::Continuing;
    clients.in_flight -= 1;
    clients.members[0].continuing.push_back(1);
    clients.end_actions(Nanos(40), 1, None, &mut recorder);
    assert_eq!(clients.in_flight, 0);
    assert!(clients.members[0].continuing.is_empty());
    assert!(
        clients
            .slots
            .iter()
            .all(|slot| slot.state == SlotState::Free)
    );
    assert_eq!(tally(&recorder).errors(), 1);
}

/// The request was counted in an earlier second, and under another event.
#[test]
fn a_request_that_is_lost_again_is_no_longer_counted_as_sent_again() {
    let (mut clients, mut before) = (in_flight(), Recorder::default());
    let mut later = Recorder::default();
    book(&mut clients, 0, Extent::Repeatable, &mut before);
    clients.after_event = Some(0);
    clients.end_actions(Nanos(40), 1, None, &mut later);
    before.merge(&later);
    let tally = tally(&before);
    assert_eq!(tally.losses().after(None).unwrap().repeated, 0);
    assert_eq!(tally.losses().after(Some(0)).unwrap().failed, 1);
}

/// A request of an expired session was never counted.
#[test]
fn a_request_of_an_expired_session_is_lost_once() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    book(&mut clients, 0, Extent::Expired, &mut recorder);
    clients.end_actions(Nanos(40), 1, None, &mut recorder);
    let tally = tally(&recorder);
    let losses = tally.losses().after(None).unwrap();
    assert_eq!((losses.repeated, losses.failed), (0, 1));
}

/// They were counted in an earlier second.
#[test]
fn connections_that_are_lost_with_all_others_are_not_lost_alone() {
    let (mut clients, mut before) = (in_flight(), Recorder::default());
    let mut later = Recorder::default();
    let lost = LostLink {
        connection: 0,
        at: Nanos(20),
        cause: LinkCause::Closed,
    };
    let mut booking = Booking {
        clients: &mut clients,
        recorder: &mut before,
        in_window: 1,
        now: Nanos(20),
    };
    booking.channel_lost(&lost, lost.at);
    booking.recorder = &mut later;
    booking.link_lost(&lost, lost.at, 1);
    before.merge(&later);
    let tally = tally(&before);
    let losses = tally.losses().after(None).unwrap();
    assert_eq!((losses.channels, losses.links), (0, 2));
}

/// A server that stays away does not hold up the end of the load.
#[test]
fn what_waits_for_a_connection_when_the_load_ends_has_failed() {
    let (mut clients, mut recorder) = (in_flight(), Recorder::default());
    clients.slots[0].operation = READ;
    book(&mut clients, 0, Extent::Repeatable, &mut recorder);
    // Its action has a further request, which was not sent.
    clients.slots[1].state = SlotState::Continuing;
    clients.in_flight -= 1;
    clients.members[0].continuing.push_back(1);
    clients.give_up_waiting(Nanos(40), &mut recorder);
    assert_eq!(clients.in_flight, 0);
    assert!(clients.members[0].continuing.is_empty());
    let is_free = |slot: &Slot| slot.state == SlotState::Free;
    assert!(clients.slots.iter().all(is_free));
    let tally = tally(&recorder);
    let losses = tally.losses().after(None).unwrap();
    assert_eq!((losses.repeated, losses.failed), (0, 1));
    assert_eq!(tally.lost_with_connection(), 1);
}

const LOCK: Operation = Operation {
    kind: OpKind::Lock,
    ..FLUSH
};
const UNLOCK: Operation = Operation {
    kind: OpKind::Unlock,
    ..FLUSH
};

struct Locks;

impl Supply for Locks {
    fn next(&mut self, _: Phase) -> Option<Operation> {
        Some(LOCK)
    }

    fn after(&self, last: &Operation, _: RequestResult, _: NtStatus) -> Option<Operation> {
        (*last == LOCK).then_some(UNLOCK)
    }

    fn fault(&self) -> Dropped {
        unreachable!("a lock can be sent")
    }
}

/// A client with durable handles, two granted locks, and a LOCK that was lost.
fn locked(recorder: &mut Recorder) -> Clients<Locks> {
    let member = Member::new(0, 1, Salt::default(), Locks, None);
    let mut clients = Clients::new(vec![member], 3);
    clients.keeps_handles = true;
    let at = Nanos(10);
    for slot in &mut clients.slots {
        slot.fill(LOCK, at, at, None, at);
    }
    clients.in_flight = 3;
    for (slot, extent) in [(0, Extent::Final), (1, Extent::Final), (2, Extent::Lost)] {
        book(&mut clients, slot, extent, recorder);
    }
    assert_eq!(clients.members[0].continuing, [0, 1, 2]);
    assert_eq!(clients.in_flight, 0);
    clients
}

/// Returns the locks that were kept and lost.
fn locks(tally: &Tally) -> (u64, u64) {
    let handles = &tally.losses().after(None).unwrap().handles;
    (handles.locks_kept, handles.locks_lost)
}

/// A kept handle has its locks, so that each needs its UNLOCK. The answer says whether it stood.
#[test]
fn a_lock_on_a_kept_handle_is_released_and_counted() {
    let mut recorder = Recorder::default();
    let mut clients = locked(&mut recorder);
    let handles = Reclaimed {
        kept: 1,
        ..Reclaimed::default()
    };
    clients.end_actions(Nanos(40), 1, Some(&handles), &mut recorder);
    assert_eq!(clients.members[0].continuing, [0, 1, 2]);
    clients.members[0].continuing.clear();
    for (slot, status) in [
        (0, NtStatus::SUCCESS),
        (1, NtStatus::RANGE_NOT_LOCKED),
        (2, NtStatus::RANGE_NOT_LOCKED),
    ] {
        let of_slot = &mut clients.slots[slot as usize];
        assert_eq!(of_slot.operation, UNLOCK);
        of_slot.fill(UNLOCK, Nanos(50), Nanos(50), None, Nanos(50));
        clients.in_flight += 1;
        let mut booking = Booking {
            clients: &mut clients,
            recorder: &mut recorder,
            in_window: 1,
            now: Nanos(60),
        };
        let answer = Answer::bare(slot, Extent::Final, status);
        booking.answer_after_loss(&answer, Nanos(45)).unwrap();
    }
    assert_eq!(clients.in_flight, 0);
    let is_free = |slot: &Slot| slot.state == SlotState::Free;
    assert!(clients.slots.iter().all(is_free));
    let tally = tally(&recorder);
    assert_eq!(locks(&tally), (1, 1));
    // The LOCK without an answer, and the UNLOCK of the lost lock, failed by the loss.
    assert_eq!((tally.errors(), tally.lost_with_connection()), (2, 2));
    assert_eq!(tally.window(OpKind::Unlock).count(), 1);
}

/// The server has closed the handles, and their locks are gone.
#[test]
fn locks_on_lost_handles_need_no_unlock() {
    let mut recorder = Recorder::default();
    let mut clients = locked(&mut recorder);
    let handles = Reclaimed::default();
    clients.end_actions(Nanos(40), 1, Some(&handles), &mut recorder);
    assert!(clients.members[0].continuing.is_empty());
    assert_eq!(locks(&tally(&recorder)), (0, 2));
}

/// Nobody knows what became of the locks of a client that does not come back.
#[test]
fn locks_of_a_client_that_stays_away_are_not_counted() {
    let mut recorder = Recorder::default();
    let mut clients = locked(&mut recorder);
    clients.give_up_waiting(Nanos(40), &mut recorder);
    assert!(clients.members[0].continuing.is_empty());
    assert_eq!(locks(&tally(&recorder)), (0, 0));
}
