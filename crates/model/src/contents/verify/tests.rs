//! The ledger against a model of a server.

mod faults;
mod final_read;
mod history;

use proptest::prelude::*;

use super::*;
use crate::contents::block::append;
use crate::files::Layout;

const BLOCK: u64 = BLOCK_BYTES as u64;
const BLOCKS: u64 = 4;
const CLIENT: u32 = 3;
const SALT: Salt = Salt(7);
/// Nothing is wrong, and everything could be judged.
const FINE: Result<ReadVerdict, Mismatch> = Ok(ReadVerdict::Checked);
const OPEN: Result<ReadVerdict, Mismatch> = Ok(ReadVerdict::Unjudged);

fn fill(data: &mut [u8], offset: u64, stamp: Stamp) {
    let mut written = Vec::new();
    append(&mut written, data.len(), offset, stamp, SALT);
    data.copy_from_slice(&written);
}

fn files(scope: Scope) -> FileSet {
    FileSet {
        scope,
        count: 2,
        size: BLOCKS * BLOCK,
        layout: Layout::Flat,
    }
}

/// The contents of one file on a well-behaved server.
struct Model(Vec<u8>);

impl Model {
    fn prepared(file: u32) -> Self {
        let mut contents = vec![0; (BLOCKS * BLOCK) as usize];
        let stamp = Stamp {
            client: CLIENT,
            file,
            ..Stamp::default()
        };
        fill(&mut contents, 0, stamp);
        Self(contents)
    }

    fn write(&mut self, span: Span, stamp: Stamp) {
        let range = span.range();
        fill(&mut self.0[range], span.offset(), stamp);
    }

    fn read(&self, span: Span) -> Vec<u8> {
        self.0[span.range()].to_vec()
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    count: u64,
}

impl Span {
    const ALL: Self = Self {
        first: 0,
        count: BLOCKS,
    };

    fn offset(self) -> u64 {
        self.first * BLOCK
    }

    fn length(self) -> u32 {
        (self.count * BLOCK) as u32
    }

    fn range(self) -> std::ops::Range<usize> {
        let start = self.offset() as usize;
        start..start + self.length() as usize
    }
}

fn spans() -> impl Strategy<Value = Span> {
    (0..BLOCKS)
        .prop_flat_map(|first| (Just(first), 1..=BLOCKS - first))
        .prop_map(|(first, count)| Span { first, count })
}

fn ledger() -> Ledger {
    Ledger::new(&files(Scope::Private), CLIENT, 0, SALT)
}

const ONE: Span = Span { first: 1, count: 1 };

fn issue(ledger: &mut Ledger, span: Span) -> Stamp {
    ledger.write_issued(0, span.offset(), span.length())
}

fn done(ledger: &mut Ledger, span: Span) {
    ledger.write_done(0, span.offset(), span.length());
}

fn failed(ledger: &mut Ledger, span: Span) {
    ledger.write_failed(0, span.offset(), span.length());
}

/// Returns the verdict on a read of block 1, sent at `epoch`, that finds this
/// stamp.
fn judge_at(ledger: &Ledger, stamp: Stamp, epoch: Epoch) -> Result<ReadVerdict, Mismatch> {
    let mut data = [0; BLOCK_BYTES];
    fill(&mut data, ONE.offset(), stamp);
    ledger.read_done(0, ONE.offset(), &data, epoch)
}

fn judge(ledger: &Ledger, stamp: Stamp) -> Result<ReadVerdict, Mismatch> {
    judge_at(ledger, stamp, ledger.read_issued())
}

const PREPARED: Stamp = Stamp {
    client: CLIENT,
    file: 0,
    generation: 0,
    run: 0,
};

fn stale(oldest: Stamp, found: Stamp) -> Result<ReadVerdict, Mismatch> {
    Err(Mismatch::Stale {
        offset: ONE.offset(),
        oldest: oldest.generation,
        found,
    })
}

fn foreign(found: Stamp) -> Result<ReadVerdict, Mismatch> {
    Err(Mismatch::Foreign {
        offset: ONE.offset(),
        found,
    })
}

/// A write that got no answer may take effect until a later one is acknowledged, and not after.
#[test]
fn a_write_whose_connection_was_lost_is_late_after_a_stored_one() {
    let mut ledger = ledger();
    let unanswered = issue(&mut ledger, ONE);
    let write = ledger.last_write();
    ledger.write_unanswered(0, ONE.offset(), ONE.length(), write);
    assert_eq!(judge(&ledger, PREPARED), FINE);
    assert_eq!(judge(&ledger, unanswered), FINE);
    let stored = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    assert_eq!(judge(&ledger, stored), FINE);
    assert_eq!(judge(&ledger, PREPARED), stale(stored, PREPARED));
    let late = Mismatch::Late {
        offset: ONE.offset(),
        oldest: stored.generation,
        found: unanswered,
    };
    assert_eq!(judge(&ledger, unanswered), Err(late));
}

/// Each of several writes in flight to a block is known, whichever gets no answer.
#[test]
fn each_write_in_flight_is_late_by_its_own_generation() {
    let mut ledger = ledger();
    let mut sent = Vec::new();
    for _ in 0..2 {
        let stamp = issue(&mut ledger, ONE);
        sent.push((stamp, ledger.last_write()));
    }
    for (_, write) in &sent {
        ledger.write_unanswered(0, ONE.offset(), ONE.length(), *write);
    }
    let stored = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    for (found, _) in sent {
        let late = Mismatch::Late {
            offset: ONE.offset(),
            oldest: stored.generation,
            found,
        };
        assert_eq!(judge(&ledger, found), Err(late));
    }
}

#[test]
fn a_lost_write_is_stale_and_one_never_sent_foreign() {
    let mut ledger = ledger();
    assert_eq!(judge(&ledger, PREPARED), FINE);
    let first = issue(&mut ledger, ONE);
    assert_eq!(judge(&ledger, PREPARED), FINE);
    assert_eq!(judge(&ledger, first), FINE);
    done(&mut ledger, ONE);
    assert_eq!(judge(&ledger, first), FINE);
    assert_eq!(judge(&ledger, PREPARED), stale(first, PREPARED));
    let never = Stamp {
        generation: 2,
        ..first
    };
    assert_eq!(judge(&ledger, never), foreign(never));
}

#[test]
fn overlapping_writes_may_land_in_any_order() {
    let mut ledger = ledger();
    let old = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    let a = issue(&mut ledger, ONE);
    let b = issue(&mut ledger, ONE);
    assert_eq!(judge(&ledger, old), FINE);
    done(&mut ledger, ONE);
    // One of the two was answered, so the old content is gone. The other one may
    // still take effect, before or after a third.
    assert_eq!(judge(&ledger, old), stale(a, old));
    let c = issue(&mut ledger, ONE);
    for possible in [a, b, c] {
        assert_eq!(judge(&ledger, possible), FINE);
    }
    done(&mut ledger, ONE);
    done(&mut ledger, ONE);
    for last in [a, b, c] {
        assert_eq!(judge(&ledger, last), FINE);
    }
    assert_eq!(judge(&ledger, old), stale(a, old));
}

#[test]
fn a_write_answered_after_the_read_was_sent_does_not_count_against_it() {
    let mut ledger = ledger();
    let new = issue(&mut ledger, ONE);
    let early = ledger.read_issued();
    done(&mut ledger, ONE);
    let late = ledger.read_issued();
    assert_eq!(judge_at(&ledger, PREPARED, early), OPEN);
    assert_eq!(judge_at(&ledger, new, early), FINE);
    assert_eq!(judge_at(&ledger, PREPARED, late), stale(new, PREPARED));
    // An answer for other blocks changes nothing here.
    let other = Span { first: 2, count: 1 };
    issue(&mut ledger, other);
    done(&mut ledger, other);
    assert_eq!(judge_at(&ledger, PREPARED, late), stale(new, PREPARED));
}

#[test]
fn a_failed_write_may_have_taken_effect_or_not() {
    let mut ledger = ledger();
    let stored = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    let lost = issue(&mut ledger, ONE);
    failed(&mut ledger, ONE);
    assert_eq!(judge(&ledger, stored), FINE);
    assert_eq!(judge(&ledger, lost), FINE);
    assert_eq!(judge(&ledger, PREPARED), stale(stored, PREPARED));
    // Of a failed and a successful write in flight together, either may have come
    // last.
    let failing = issue(&mut ledger, ONE);
    let storing = issue(&mut ledger, ONE);
    failed(&mut ledger, ONE);
    done(&mut ledger, ONE);
    assert_eq!(judge(&ledger, failing), FINE);
    assert_eq!(judge(&ledger, storing), FINE);
    assert_eq!(judge(&ledger, stored), stale(failing, stored));
}

#[test]
fn damage_is_excused_only_while_a_write_is_in_flight_beside_the_read() {
    let mut ledger = ledger();
    let damaged = [0xAA; BLOCK_BYTES];
    let read = |ledger: &Ledger, epoch| ledger.read_done(0, ONE.offset(), &damaged, epoch);
    let before = ledger.read_issued();
    assert!(read(&ledger, before).is_err());
    issue(&mut ledger, ONE);
    assert_eq!(read(&ledger, before), OPEN);
    done(&mut ledger, ONE);
    assert_eq!(read(&ledger, before), OPEN);
    assert!(read(&ledger, ledger.read_issued()).is_err());
}

#[test]
fn a_torn_block_is_made_of_what_may_be_there() {
    let mut ledger = ledger();
    let old = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    let new = issue(&mut ledger, ONE);
    let torn = |front: Stamp, back: Stamp, tear: usize| {
        let mut data = [0; BLOCK_BYTES];
        fill(&mut data, ONE.offset(), front);
        let mut behind = data;
        fill(&mut behind, ONE.offset(), back);
        data[tear..].copy_from_slice(&behind[tear..]);
        data
    };
    let read = |ledger: &Ledger, data: &[u8]| {
        ledger.read_done(0, ONE.offset(), data, ledger.read_issued())
    };
    for (front, back) in [(old, new), (new, old)] {
        assert_eq!(read(&ledger, &torn(front, back, 256)), FINE);
        // The version on the other side of the tear is unknown.
        assert_eq!(read(&ledger, &torn(front, back, 32)), OPEN);
        assert_eq!(read(&ledger, &torn(front, back, 504)), OPEN);
    }
    // A part of the block is older than what was stored before the write.
    assert_eq!(
        read(&ledger, &torn(new, PREPARED, 256)),
        stale(old, PREPARED)
    );
    let never = Stamp {
        generation: 9,
        ..new
    };
    assert_eq!(read(&ledger, &torn(old, never, 256)), foreign(never));
    let theirs = Stamp { client: 9, ..new };
    assert_eq!(read(&ledger, &torn(theirs, new, 504)), foreign(theirs));
    done(&mut ledger, ONE);
    assert!(read(&ledger, &torn(old, new, 256)).is_err());
}

#[test]
fn what_another_run_stored_is_found_beside_writes_too() {
    let mut data = Vec::new();
    append(&mut data, BLOCK_BYTES, ONE.offset(), PREPARED, Salt(8));
    let refused = Err(Mismatch::OtherRun {
        offset: ONE.offset(),
        found: PREPARED,
    });
    let mut ledger = ledger();
    let mut shared = Ledger::new(&files(Scope::Shared), CLIENT, 0, SALT);
    for ledger in [&mut ledger, &mut shared] {
        for _ in 0..2 {
            let epoch = ledger.read_issued();
            assert_eq!(ledger.read_done(0, ONE.offset(), &data, epoch), refused);
            issue(ledger, ONE);
        }
    }
}

#[test]
fn contents_of_earlier_runs_are_what_the_file_was_found_with() {
    let files = files(Scope::Private);
    let mut ledger = Ledger::new(&files, CLIENT, 2, SALT);
    let earlier = Stamp {
        generation: 900,
        run: 1,
        ..PREPARED
    };
    assert_eq!(judge(&ledger, PREPARED), FINE);
    assert_eq!(judge(&ledger, earlier), FINE);
    let later = Stamp { run: 3, ..earlier };
    assert_eq!(judge(&ledger, later), foreign(later));
    let own = issue(&mut ledger, ONE);
    assert_eq!(own.run, 2);
    done(&mut ledger, ONE);
    assert_eq!(judge(&ledger, own), FINE);
    assert_eq!(judge(&ledger, earlier), stale(own, earlier));
}

#[test]
fn other_clients_files_and_offsets_are_foreign() {
    let ledger = ledger();
    for found in [
        Stamp {
            client: 4,
            ..PREPARED
        },
        Stamp {
            file: 1,
            ..PREPARED
        },
    ] {
        assert_eq!(judge(&ledger, found), foreign(found));
    }
    let mut elsewhere = [0; BLOCK_BYTES];
    fill(&mut elsewhere, 2 * BLOCK, PREPARED);
    let epoch = ledger.read_issued();
    assert!(ledger.read_done(0, BLOCK, &elsewhere, epoch).is_err());
    assert_eq!(ledger.read_done(0, 2 * BLOCK, &elsewhere, epoch), FINE);
}

#[test]
fn files_are_distinguished() {
    let mut ledger = ledger();
    let stamp = ledger.write_issued(1, 0, 512);
    ledger.write_done(1, 0, 512);
    let mut data = [0; BLOCK_BYTES];
    fill(&mut data, 0, PREPARED);
    assert_eq!(ledger.read_done(0, 0, &data, ledger.read_issued()), FINE);
    fill(&mut data, 0, stamp);
    assert_eq!(ledger.read_done(1, 0, &data, ledger.read_issued()), FINE);
    assert!(ledger.read_done(0, 0, &data, ledger.read_issued()).is_err());
}

#[test]
fn shared_files_must_only_be_sound() {
    let mut ledger = Ledger::new(&files(Scope::Shared), CLIENT, 0, SALT);
    let own = issue(&mut ledger, ONE);
    done(&mut ledger, ONE);
    let theirs = Stamp {
        client: 9,
        generation: 77,
        ..own
    };
    for stamp in [PREPARED, own, theirs] {
        assert_eq!(judge(&ledger, stamp), FINE);
    }
    let misplaced = Stamp { file: 1, ..theirs };
    assert_eq!(judge(&ledger, misplaced), foreign(misplaced));
    let (mut front, mut back) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
    fill(&mut front, ONE.offset(), own);
    fill(&mut back, ONE.offset(), theirs);
    let mut torn = front;
    torn[256..].copy_from_slice(&back[256..]);
    let read = |data: &[u8]| ledger.read_done(0, ONE.offset(), data, ledger.read_issued());
    assert_eq!(read(&torn), FINE);
    torn[300] ^= 1;
    assert!(read(&torn).is_err());
    // The tear is in the stamp itself, so that one side is unknown.
    let mut torn = front;
    torn[32..].copy_from_slice(&back[32..]);
    assert_eq!(read(&torn), OPEN);
    let unwritten = Ledger::beside(OtherWriters::Read, &files(Scope::Shared), CLIENT, 0, SALT);
    let read_only = |data: &[u8]| {
        let epoch = unwritten.read_issued();
        unwritten.read_done(0, ONE.offset(), data, epoch)
    };
    assert_eq!(read_only(&front), FINE);
    // No client writes, so no block can be torn. A block that looks torn is
    // damaged.
    for place in [8, 20, 32, 39, 300, 488, 511] {
        let mut damaged = front;
        damaged[place] ^= 1;
        assert!(read_only(&damaged).is_err(), "{place}");
    }
    assert!(read_only(&torn).is_err());
    front[300] ^= 1;
    assert!(read(&front).is_err());
}
