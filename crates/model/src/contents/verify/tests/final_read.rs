//! Which blocks a client reads once more after its load.

use super::*;

/// Returns file, first block and number of blocks of each range.
fn ranges(ledger: &Ledger, most: u32) -> Vec<(u32, u64, u64)> {
    let mut all = Vec::new();
    let mut index = 0;
    while let Some(range) = ledger.written_from(index, most) {
        let length = u64::from(range.length);
        all.push((range.file, range.offset / BLOCK, length / BLOCK));
        index = range.next;
    }
    all
}

/// Only an acknowledged write makes a block one of them, whichever others follow, and a read that
/// has found it right does not end that.
#[test]
fn blocks_with_acknowledged_writes_are_read_once_more() {
    let mut ledger = ledger();
    assert_eq!(
        (ledger.written_blocks(), ranges(&ledger, 4096)),
        (0, vec![])
    );
    let stamp = issue(&mut ledger, ONE);
    assert_eq!(ledger.written_blocks(), 0);
    done(&mut ledger, ONE);
    assert_eq!(judge(&ledger, stamp), FINE);
    issue(&mut ledger, ONE);
    failed(&mut ledger, ONE);
    let refused = Span { first: 3, count: 1 };
    issue(&mut ledger, refused);
    failed(&mut ledger, refused);
    assert_eq!(ledger.written_blocks(), 1);
    assert_eq!(ranges(&ledger, 4096), [(0, 1, 1)]);
}

#[test]
fn ranges_end_with_their_file_and_at_the_largest_request() {
    let mut ledger = ledger();
    let last = Span { first: 2, count: 2 };
    issue(&mut ledger, last);
    done(&mut ledger, last);
    let whole = Span::ALL.length();
    ledger.write_issued(1, 0, whole);
    ledger.write_done(1, 0, whole);
    assert_eq!(ledger.written_blocks(), 6);
    assert_eq!(ranges(&ledger, 1 << 16), [(0, 2, 2), (1, 0, 4)]);
    // A part of a block is no request.
    assert_eq!(
        ranges(&ledger, 3 * 512 + 1),
        [(0, 2, 2), (1, 0, 3), (1, 3, 1)]
    );
    assert_eq!(ranges(&ledger, 1).len(), 6);
}

#[test]
fn clients_know_no_writes_to_shared_files() {
    let mut ledger = Ledger::new(&files(Scope::Shared), CLIENT, 0, SALT);
    issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    assert_eq!(
        (ledger.written_blocks(), ranges(&ledger, 4096)),
        (0, vec![])
    );
}
