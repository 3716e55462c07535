use smbench_model::contents::block::{BLOCK_BYTES, Mismatch, Salt, Stamp, append};
use smbench_model::files::{FileSet, Layout, Scope};
use smbench_model::operations::RequestResult;
use smbench_model::record::{Phase, Reclaimed, Tally};

use super::*;
use crate::drivers::driver::SLOTS_MAX;
use crate::worker::member::Member;

const BLOCK: u32 = BLOCK_BYTES as u32;
const FILES: FileSet = FileSet {
    scope: Scope::Private,
    count: 1,
    size: 8 * BLOCK_BYTES as u64,
    layout: Layout::Flat,
};
const SALT: Salt = Salt(7);
/// A write of two pieces.
const LARGE: Operation = Operation {
    kind: OpKind::Write,
    action: 0,
    file: 0,
    offset: 0,
    length: 2 * BLOCK,
};
/// A write of one piece.
const SMALL: Operation = Operation {
    offset: 4 * BLOCK_BYTES as u64,
    length: BLOCK,
    ..LARGE
};

struct Nowhere;

impl Supply for Nowhere {
    fn next(&mut self, _: Phase) -> Option<Operation> {
        None
    }

    fn splits() -> bool {
        true
    }

    fn after(&self, _: &Operation, _: RequestResult, _: NtStatus) -> Option<Operation> {
        None
    }

    fn fault(&self) -> Dropped {
        unreachable!("nothing is sent")
    }
}

/// A client with verified files and two slots.
fn clients() -> Clients<Nowhere> {
    let ledger = Box::new(Ledger::new(&FILES, 0, 1, SALT));
    let member = Member::new(0, 1, SALT, Nowhere, Some(ledger));
    Clients::new(vec![member], 2)
}

/// The first piece of a read ends early, and the second one is beyond the end of the file.
#[test]
fn pieces_of_a_file_that_ended_are_lost() {
    let (mut clients, mut recorder) = (clients(), Recorder::default());
    let read = Operation {
        kind: OpKind::Read,
        ..LARGE
    };
    let at = Nanos(10);
    let epoch = clients.members[0].epoch(&read);
    clients.slots[0].fill(read, at, at, epoch, at);
    clients.in_flight = 1;
    let splits = clients.splits.as_mut().unwrap();
    splits.begin(0, &read, BLOCK, Stamp::default());
    splits.sent(0);
    for (piece, status, moved) in [
        (SLOTS_MAX, NtStatus::SUCCESS, BLOCK / 2),
        (2 * SLOTS_MAX, NtStatus::END_OF_FILE, 0),
    ] {
        let answer = Answer {
            moved,
            ..Answer::bare(piece, Extent::Final, status)
        };
        clients.book(&answer, Nanos(20), 1, &mut recorder).unwrap();
    }
    let mut tally = Tally::default();
    tally.add(&recorder, Phase::Window);
    assert_eq!((tally.errors(), tally.faults().lost), (1, 2));
    let offsets: Vec<_> = tally.wrong_places().iter().map(|of| of.offset).collect();
    assert_eq!(offsets, [0, BLOCK_BYTES as u64]);
}

/// Begins an operation of two pieces, and sends this many of them.
fn begin_large(clients: &mut Clients<Nowhere>, operation: &Operation, pieces: u32) {
    let at = Nanos(10);
    let stamp = if operation.kind == OpKind::Write {
        clients.members[0].stamp(operation)
    } else {
        Stamp::default()
    };
    let epoch = clients.members[0].epoch(operation);
    assert!(!clients.slots[0].fill(*operation, at, at, epoch, at));
    clients.in_flight += 1;
    let splits = clients.splits.as_mut().unwrap();
    splits.begin(0, operation, BLOCK, stamp);
    (1..pieces).for_each(|_| splits.sent(0));
}

/// Books an answer without data in the slot with this number.
fn answer(
    clients: &mut Clients<Nowhere>,
    number: u32,
    extent: Extent,
    status: NtStatus,
    recorder: &mut Recorder,
) {
    let answer = Answer::bare(number, extent, status);
    clients.book(&answer, Nanos(20), 1, recorder).unwrap();
}

fn repeated(recorder: &Recorder) -> i64 {
    let mut tally = Tally::default();
    tally.add(recorder, Phase::Window);
    tally.losses().after(None).unwrap().repeated
}

/// Both pieces are sent again. Then one fails, and the other is lost again.
#[test]
fn pieces_count_as_repeated_only_if_they_are_sent_again() {
    let (mut clients, mut recorder) = (clients(), Recorder::default());
    let read = Operation {
        kind: OpKind::Read,
        ..LARGE
    };
    begin_large(&mut clients, &read, 2);
    let pieces = [SLOTS_MAX, 2 * SLOTS_MAX];
    let lost = NtStatus::CONNECTION_DISCONNECTED;
    for piece in pieces {
        let again = Extent::Repeatable;
        answer(&mut clients, piece, again, lost, &mut recorder);
    }
    let splits = clients.splits.as_mut().unwrap();
    splits.sent(0);
    splits.sent(0);
    let [failed, again] = pieces;
    let refused = NtStatus::ACCESS_DENIED;
    answer(&mut clients, failed, Extent::Final, refused, &mut recorder);
    answer(&mut clients, again, Extent::Repeatable, lost, &mut recorder);
    assert_eq!(clients.in_flight, 0);
    assert_eq!(repeated(&recorder), 2);
}

/// One of two connections is lost with a piece, and then the other one before the piece is
/// sent again.
#[test]
fn a_piece_that_changes_something_is_not_sent_again_in_a_new_session() {
    let (mut clients, mut recorder) = (clients(), Recorder::default());
    begin_large(&mut clients, &LARGE, 2);
    let written = Answer {
        moved: BLOCK,
        ..Answer::bare(SLOTS_MAX, Extent::Final, NtStatus::SUCCESS)
    };
    clients.book(&written, Nanos(20), 1, &mut recorder).unwrap();
    let lost = NtStatus::CONNECTION_DISCONNECTED;
    let piece = 2 * SLOTS_MAX;
    answer(&mut clients, piece, Extent::Repeatable, lost, &mut recorder);
    assert_eq!((clients.in_flight, repeated(&recorder)), (1, 1));
    let handles = Reclaimed::default();
    clients.end_actions(Nanos(40), 1, Some(&handles), &mut recorder);
    assert_eq!((clients.in_flight, repeated(&recorder)), (0, 0));
    assert_eq!(clients.slots[0].state, SlotState::Free);
}

/// A request was sent again in the slot before. The load ends while the next operation there
/// waits for a connection.
#[test]
fn what_ends_with_the_load_takes_no_earlier_repeat_with_it() {
    let read = Operation {
        kind: OpKind::Read,
        ..LARGE
    };
    let lost = NtStatus::CONNECTION_DISCONNECTED;
    // Of an operation of two pieces, both are lost, or one was never sent.
    for extent in [Extent::Repeatable, Extent::Final] {
        let (mut clients, mut recorder) = (clients(), Recorder::default());
        let at = Nanos(10);
        let small = Operation {
            kind: OpKind::Flush,
            length: 0,
            ..LARGE
        };
        clients.slots[0].fill(small, at, at, None, at);
        clients.in_flight = 1;
        answer(&mut clients, 0, Extent::Repeatable, lost, &mut recorder);
        clients.members[0].continuing.clear();
        assert!(clients.slots[0].fill(small, at, at, None, at));
        answer(
            &mut clients,
            0,
            Extent::Final,
            NtStatus::SUCCESS,
            &mut recorder,
        );
        assert_eq!((clients.in_flight, repeated(&recorder)), (0, 1));

        if extent == Extent::Repeatable {
            begin_large(&mut clients, &read, 2);
            for piece in [SLOTS_MAX, 2 * SLOTS_MAX] {
                answer(&mut clients, piece, extent, lost, &mut recorder);
            }
        } else {
            begin_large(&mut clients, &LARGE, 1);
            let written = Answer {
                moved: BLOCK,
                ..Answer::bare(SLOTS_MAX, extent, NtStatus::SUCCESS)
            };
            clients.book(&written, Nanos(20), 1, &mut recorder).unwrap();
        }
        clients.give_up_waiting(Nanos(40), &mut recorder);
        assert_eq!(clients.in_flight, 0);
        assert_eq!(repeated(&recorder), 1, "{extent:?}");
    }
}

/// Another write is sent while the pieces of one are in flight, and these are lost.
#[test]
fn a_lost_write_of_several_pieces_is_late_by_its_own_generation() {
    let (mut clients, mut recorder) = (clients(), Recorder::default());
    let at = Nanos(10);
    let mut stamps = Vec::new();
    for (slot, operation) in [LARGE, SMALL].iter().enumerate() {
        stamps.push(clients.members[0].stamp(operation));
        let epoch = clients.members[0].epoch(operation);
        clients.slots[slot].fill(*operation, at, at, epoch, at);
        clients.in_flight += 1;
        let splits = clients.splits.as_mut().unwrap();
        if operation.length > BLOCK {
            splits.begin(slot as u32, operation, BLOCK, stamps[slot]);
            splits.sent(slot as u32);
        }
    }
    for piece in [SLOTS_MAX, 2 * SLOTS_MAX] {
        let lost = Answer::bare(piece, Extent::Lost, NtStatus::CONNECTION_DISCONNECTED);
        clients.book(&lost, Nanos(20), 1, &mut recorder).unwrap();
    }
    assert_eq!(clients.in_flight, 1);
    let ledger = clients.members[0].ledger.as_mut().unwrap();
    let stored = ledger.write_issued(0, 0, LARGE.length);
    ledger.write_done(0, 0, LARGE.length);
    let mut late = Vec::new();
    append(&mut late, BLOCK_BYTES, 0, stamps[0], SALT);
    let expected = Mismatch::Late {
        offset: 0,
        oldest: stored.generation,
        found: stamps[0],
    };
    let epoch = ledger.read_issued();
    assert_eq!(ledger.read_done(0, 0, &late, epoch), Err(expected));
}
