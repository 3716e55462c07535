//! What a ledger says about wrong data.

use super::*;

/// Returns block 1 with one version up to a byte, and another one from there on.
fn torn(front: Stamp, back: Stamp, tear: usize) -> [u8; BLOCK_BYTES] {
    let (mut data, mut behind) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
    fill(&mut data, ONE.offset(), front);
    fill(&mut behind, ONE.offset(), back);
    data[tear..].copy_from_slice(&behind[tear..]);
    data
}

fn read(ledger: &Ledger, data: &[u8]) -> Result<ReadVerdict, Mismatch> {
    ledger.read_done(0, ONE.offset(), data, ledger.read_issued())
}

/// A connection may be lost in the middle of a write, and a disk may be full there.
#[test]
fn a_write_that_was_not_stored_may_leave_half_of_its_data() {
    let mut ledger = ledger();
    let stored = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    let unanswered = issue(&mut ledger, ONE);
    let write = ledger.last_write();
    ledger.write_unanswered(0, ONE.offset(), ONE.length(), write);
    let refused = issue(&mut ledger, ONE);
    failed(&mut ledger, ONE);
    for other in [unanswered, refused] {
        assert_eq!(read(&ledger, &torn(other, stored, 256)), FINE);
        assert_eq!(read(&ledger, &torn(stored, other, 256)), FINE);
        assert_eq!(read(&ledger, &torn(other, stored, 36)), OPEN);
    }
    // A part is older than what was stored.
    let old = torn(unanswered, PREPARED, 256);
    assert_eq!(read(&ledger, &old), stale(stored, PREPARED));
    let mut damaged = torn(stored, stored, 0);
    damaged[256] ^= 1;
    assert!(read(&ledger, &damaged).is_err());
    // A later write was stored over all of it.
    let last = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    assert!(read(&ledger, &torn(unanswered, last, 256)).is_err());
}

/// Returns the offsets of the faults that a read of these blocks is the first to find, if the
/// file has its prepared content.
fn found(ledger: &mut Ledger, span: Span) -> Vec<u64> {
    let data = Model::prepared(0).read(span);
    let epoch = ledger.read_issued();
    let refused = ledger.read_done(0, span.offset(), &data, epoch);
    assert!(refused.is_err());
    ledger.note_faults(0, span.offset(), &data, epoch);
    let faults = ledger.take_faults().into_iter();
    faults.map(|fault| fault.mismatch.offset()).collect()
}

#[test]
fn each_lost_write_counts_once_and_each_of_a_read_counts() {
    let mut ledger = ledger();
    let [first, second] = [0, 2].map(|first| Span { first, count: 2 });
    for span in [first, second] {
        issue(&mut ledger, span);
        done(&mut ledger, span);
    }
    assert_eq!(found(&mut ledger, ONE), [BLOCK]);
    assert_eq!(found(&mut ledger, first), [0_u64; 0]);
    assert_eq!(found(&mut ledger, Span::ALL), [2 * BLOCK]);
    assert_eq!(found(&mut ledger, Span::ALL), [0_u64; 0]);
    // A further write to a block is lost as well.
    issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    assert_eq!(found(&mut ledger, Span::ALL), [BLOCK]);
}

#[test]
fn each_write_that_is_doubled_counts_once() {
    let mut ledger = ledger();
    let late = issue(&mut ledger, ONE);
    let write = ledger.last_write();
    ledger.write_unanswered(0, ONE.offset(), ONE.length(), write);
    for newer in [1, 0] {
        issue(&mut ledger, ONE);
        done(&mut ledger, ONE);
        let mut data = [0; BLOCK_BYTES];
        fill(&mut data, ONE.offset(), late);
        let epoch = ledger.read_issued();
        ledger.note_faults(0, ONE.offset(), &data, epoch);
        let faults = ledger.take_faults();
        assert_eq!(faults.len(), newer);
        for fault in faults {
            assert!(matches!(fault.mismatch, Mismatch::Late { found, .. } if found == late));
        }
    }
}

/// A server that was put back to an old copy, or has cut a file, has lost acknowledged data.
#[test]
fn what_holds_nothing_or_data_of_another_run_is_lost() {
    let mut ledger = ledger();
    let stored = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    let missing = |offset, oldest| Mismatch::Missing { offset, oldest };
    let zeros = [0; (BLOCKS * BLOCK) as usize];
    let epoch = ledger.read_issued();
    assert_eq!(
        ledger.read_done(0, ONE.offset(), &zeros[..BLOCK_BYTES], epoch),
        Err(missing(ONE.offset(), stored.generation))
    );
    ledger.note_faults(0, 0, &zeros, epoch);
    // The read ends in block 1, which is known to be lost. So is each block of zeros.
    ledger.note_end(0, BLOCK + 9, ONE.length() - 9);
    ledger.note_end(1, BLOCK + 9, 2 * ONE.length() - 9);
    ledger.note_end(1, 3 * BLOCK + 9, 0);
    let mut other_run = Vec::new();
    append(&mut other_run, BLOCK_BYTES, ONE.offset(), PREPARED, Salt(8));
    ledger.note_faults(0, ONE.offset(), &other_run, epoch);
    let lost: Vec<_> = ledger.take_faults();
    let expected =
        [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2)].map(|(file, block)| DataFault {
            file,
            mismatch: missing(
                block * BLOCK,
                if (file, block) == (0, 1) {
                    stored.generation
                } else {
                    0
                },
            ),
        });
    assert_eq!(lost, expected);
    // While a write is in flight, such a block is not judged.
    issue(&mut ledger, ONE);
    let zeros = &zeros[..BLOCK_BYTES];
    assert_eq!(ledger.read_done(0, ONE.offset(), zeros, epoch), OPEN);
    let files = files(Scope::Shared);
    let shared = Ledger::new(&files, CLIENT, 0, SALT);
    let unwritten = Ledger::beside(OtherWriters::Read, &files, CLIENT, 0, SALT);
    for ledger in [&shared, &unwritten] {
        let judged = ledger.read_done(0, ONE.offset(), zeros, ledger.read_issued());
        assert_eq!(judged, Err(missing(ONE.offset(), 0)));
    }
}
