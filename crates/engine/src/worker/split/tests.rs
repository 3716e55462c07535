use smbench_model::kind::OpKind;

use super::*;

const READ: Operation = Operation {
    kind: OpKind::Read,
    action: 0,
    file: 3,
    offset: 1000,
    length: 250,
};

/// Begins [`READ`] in slot 1 as pieces of 100 bytes, and sends up to `pieces` of them.
fn begun(splits: &mut Splits, pieces: usize) -> Vec<(u32, Operation)> {
    let first = Splits::first(1, &READ, 100);
    splits.begin(1, &READ, 100, Stamp::default());
    let mut sent = vec![first];
    while sent.len() < pieces
        && let Some(next) = splits.next(1, &READ)
    {
        splits.sent(1);
        sent.push(next);
    }
    sent
}

#[test]
fn pieces_cover_the_range_in_the_fewest_requests() {
    let mut splits = Splits::new(2);
    let sent = begun(&mut splits, 9);
    let ranges: Vec<_> = sent.iter().map(|(_, it)| (it.offset, it.length)).collect();
    assert_eq!(ranges, [(1000, 100), (1100, 100), (1200, 50)]);
    for (number, piece) in &sent {
        assert_eq!(slot_of(*number), 1);
        assert!(*number > SLOTS_MAX && *number < 1 << 30);
        assert_eq!(splits.piece(*number, &READ), Some(*piece));
    }
    // Answers in any order; the last one ends the operation.
    let answer = |splits: &mut Splits, at: usize| {
        splits.answered(sent[at].0, PieceResult::Whole(None), Nanos(5))
    };
    assert!(answer(&mut splits, 2).is_none());
    assert!(answer(&mut splits, 0).is_none());
    let ended = answer(&mut splits, 1).unwrap();
    assert!(ended.outcome.is_ok());
    assert_eq!((ended.moved, ended.pieces), (250, 3));
    assert_eq!(splits.in_flight, 0);
    assert_eq!(splits.last_answer(1), Nanos(5));
    assert_eq!(splits.piece(sent[0].0, &READ), None);
}

#[test]
fn the_first_failure_wins_and_ends_sending() {
    let mut splits = Splits::new(2);
    let sent = begun(&mut splits, 2);
    let failed = PieceResult::Failed(PieceFailure::Status(NtStatus::DISK_FULL));
    assert!(splits.answered(sent[1].0, failed, Nanos(1)).is_none());
    assert!(splits.next(1, &READ).is_none());
    let short = PieceResult::Failed(PieceFailure::Short(10));
    let ended = splits.answered(sent[0].0, short, Nanos(2)).unwrap();
    let Err(PieceFailure::Status(status)) = ended.outcome else {
        panic!("the first failure is a status");
    };
    assert_eq!(status, NtStatus::DISK_FULL);
    // The slot is still queued, and its next operation is sent all the same.
    splits.pop();
    assert_eq!(begun(&mut splits, 9).len(), 3);
}

#[test]
fn a_piece_of_an_expired_session_is_sent_again() {
    let mut splits = Splits::new(2);
    let sent = begun(&mut splits, 9);
    for (number, _) in &sent[..2] {
        let result = PieceResult::Expired;
        assert!(splits.answered(*number, result, Nanos(1)).is_none());
    }
    let whole = PieceResult::Whole(Some(ReadVerdict::Checked));
    assert!(splits.answered(sent[2].0, whole, Nanos(1)).is_none());
    let mut again = Vec::new();
    while let Some(next) = splits.next(1, &READ) {
        assert_eq!(splits.front(), Some(1));
        splits.sent(1);
        again.push(next);
    }
    assert_eq!(again.len(), 2);
    let whole = |verdict| PieceResult::Whole(Some(verdict));
    let first = whole(ReadVerdict::Unjudged);
    assert!(splits.answered(again[0].0, first, Nanos(1)).is_none());
    let last = whole(ReadVerdict::Checked);
    let ended = splits.answered(again[1].0, last, Nanos(1)).unwrap();
    assert_eq!(ended.pieces, 3);
    assert_eq!(ended.moved, 250);
    assert!(matches!(ended.outcome, Ok(Some(ReadVerdict::Unjudged))));
}

#[test]
fn no_more_pieces_are_in_flight_than_have_numbers() {
    let mut splits = Splits::new(1);
    let large = Operation {
        length: 2 * PIECES_MAX,
        ..READ
    };
    splits.begin(0, &large, 1, Stamp::default());
    let mut last = 0;
    while let Some((number, _)) = splits.next(0, &large) {
        splits.sent(0);
        last = number;
    }
    assert_eq!(splits.in_flight, PIECES_MAX);
    assert!(last < 1 << 30);
    splits.pop();
    assert_eq!(splits.queued(), 0);
    // An answer makes room for the next one.
    assert!(
        splits
            .answered(last, PieceResult::Whole(None), Nanos(1))
            .is_none()
    );
    assert_eq!(splits.front(), Some(0));
    assert_eq!(splits.next(0, &large).map(|(number, _)| number), Some(last));
}
