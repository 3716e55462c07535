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
