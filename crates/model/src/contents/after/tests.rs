use super::*;
use crate::contents::block::append;
use crate::contents::notes::{AnswerNote, NoteOutcome, NotePage, NoteSource, NotedPopulation};
use crate::files::Scope;

const SALT: Salt = Salt(77);
const BLOCK: u64 = BLOCK_BYTES as u64;

/// The share of a test, as the server has it, and what clients know of it.
struct Share {
    page: NotePage,
    scope: Scope,
}

impl Share {
    fn new(scope: Scope) -> Self {
        let source = NoteSource {
            population: 0,
            run: 1,
            worker: 0,
        };
        let notes = Vec::new();
        let page = NotePage { source, notes };
        Self { page, scope }
    }

    /// Notes a write of block 0 by client 1, with its instants.
    fn write(&mut self, generation: u32, outcome: NoteOutcome, sent: u64, done: u64) -> &mut Self {
        self.write_of(1, generation, outcome, (sent, done))
    }

    fn write_of(
        &mut self,
        client: u32,
        generation: u32,
        outcome: NoteOutcome,
        (sent, done): (u64, u64),
    ) -> &mut Self {
        self.page.notes.push(AnswerNote {
            client,
            file: 2,
            generation,
            outcome,
            offset: 0,
            length: BLOCK_BYTES as u32,
            sent: Nanos(sent),
            done: Nanos(done),
        });
        self
    }

    fn flush(&mut self, client: u32, sent: u64) -> &mut Self {
        self.write_of(client, 0, NoteOutcome::Flushed, (sent, sent + 1))
    }

    /// Judges block 0 with this content.
    fn fates(&self, content: BlockContent) -> Fates {
        let population = NotedPopulation {
            directory: "d".to_owned(),
            salt: SALT,
            scope: self.scope,
            files: 3,
            file_bytes: 4 * BLOCK,
            flushes: true,
        };
        let mut promises = Promises::of(&[population]);
        promises.add(&self.page).unwrap();
        let known: Vec<_> = promises.files().collect();
        let [(file, [promise])] = known[..] else {
            panic!("{known:?}");
        };
        assert!(promise.is_known());
        let mut examined = Examined::of(&promises);
        examined.add(file, 0, content);
        examined.look(&self.page);
        let mut fates = examined.judge(10);
        fates.look(&self.page, &promises);
        assert_eq!(fates.all(), 1);
        fates
    }

    fn fate(&self, content: BlockContent) -> BlockFate {
        let fates = self.fates(content);
        let mut all = BlockFate::ALL.into_iter();
        all.find(|&fate| fates.of(fate) == 1).unwrap()
    }
}

const fn stamp_of(client: u32, generation: u32) -> Stamp {
    Stamp {
        client,
        file: 2,
        generation,
        run: 1,
    }
}

const fn whole(generation: u32) -> BlockContent {
    BlockContent::Whole(stamp_of(1, generation))
}

/// What the block held before the load.
const PREPARED: BlockContent = BlockContent::Whole(Stamp {
    client: 1,
    file: 2,
    generation: 0,
    run: 0,
});

use BlockFate::{Kept, LostFlushed, LostThrough, LostUnpromised, TornPromised, TornUnpromised};
use NoteOutcome::{Refused, Stored, WrittenThrough};

#[test]
fn only_what_was_flushed_or_written_through_is_promised() {
    let mut share = Share::new(Scope::Private);
    share.write(1, Stored, 10, 20).write(2, Stored, 30, 40);
    assert_eq!(share.fate(whole(2)), Kept);
    assert_eq!(share.fates(whole(2)).promised, 0);
    for older in [
        whole(1),
        PREPARED,
        BlockContent::Nothing,
        BlockContent::OtherRun,
    ] {
        assert_eq!(share.fate(older), LostUnpromised, "{older:?}");
    }
    // The flush was sent before the answer to write 2.
    share.flush(1, 39);
    assert_eq!(share.fate(PREPARED), LostFlushed);
    assert_eq!(share.fate(whole(1)), LostUnpromised);
    share.flush(1, 40);
    assert_eq!(share.fate(whole(1)), LostFlushed);
    assert_eq!(share.fate(whole(2)), Kept);
    assert_eq!(share.fates(whole(2)).promised, 1);
}

#[test]
fn a_write_through_is_a_promise_of_its_own() {
    let mut share = Share::new(Scope::Private);
    share.write(1, WrittenThrough, 10, 20);
    assert_eq!(share.fates(whole(1)).promised, 1);
    assert_eq!(share.fate(PREPARED), LostThrough);
    share.write(2, Stored, 30, 40);
    assert_eq!(share.fate(whole(1)), LostUnpromised);
    assert_eq!(share.fate(PREPARED), LostThrough);
}

/// A flush promises nothing about what another client wrote.
#[test]
fn a_flush_is_for_the_writes_of_its_client() {
    let mut share = Share::new(Scope::Shared);
    share.write_of(0, 1, Stored, (10, 20)).flush(1, 50);
    assert_eq!(share.fate(PREPARED), LostUnpromised);
    share.flush(0, 60);
    assert_eq!(share.fate(PREPARED), LostFlushed);
}

/// A server that has started anew has lost what was not flushed until then. A flush of what was
/// written since then promises nothing about it.
#[test]
fn a_flush_is_for_the_writes_since_its_client_opened_the_file() {
    let mut share = Share::new(Scope::Private);
    share.write(1, Stored, 10, 20).write(2, Stored, 30, 40);
    let after = |share: &mut Share, generation, sent| {
        share.write_of(1, generation, NoteOutcome::Flushed, (sent, sent + 1));
    };
    after(&mut share, 2, 50);
    assert_eq!(share.fate(PREPARED), LostUnpromised);
    // A later flush does not cover it either.
    share.write(3, Stored, 60, 70);
    after(&mut share, 2, 80);
    assert_eq!(share.fate(whole(2)), LostFlushed);
    share.page.notes.pop();
    after(&mut share, 3, 80);
    assert_eq!(share.fate(whole(2)), LostUnpromised);
}

/// The file is opened again for the next load point, and the server may have started anew.
#[test]
fn a_flush_is_for_the_writes_of_its_load_point() {
    let population = NotedPopulation {
        directory: "d".to_owned(),
        salt: SALT,
        scope: Scope::Private,
        files: 3,
        file_bytes: 4 * BLOCK,
        flushes: true,
    };
    for (run, flushed) in [(1, 10), (2, 0)] {
        let mut promises = Promises::of(std::slice::from_ref(&population));
        let mut share = Share::new(Scope::Private);
        share.write(1, Stored, 10, 20);
        promises.add(&share.page).unwrap();
        share.page.notes.clear();
        share.flush(1, 30).page.source.run = run;
        promises.add(&share.page).unwrap();
        let known: Vec<_> = promises.files().collect();
        let [(_, [promise])] = known[..] else {
            panic!("{known:?}");
        };
        assert_eq!(
            (promise.stored, promise.flushed),
            (Nanos(10), Nanos(flushed))
        );
    }
}

/// A server may carry out writes that are in flight together in any order.
#[test]
fn either_of_two_writes_in_flight_together_may_remain() {
    let mut share = Share::new(Scope::Private);
    share
        .write(2, Stored, 12, 20)
        .write(1, Stored, 10, 30)
        .flush(1, 40);
    assert_eq!(share.fate(whole(1)), Kept);
    assert_eq!(share.fate(whole(2)), Kept);
    assert_eq!(share.fate(PREPARED), LostFlushed);
    let mut shared = Share::new(Scope::Shared);
    shared
        .write_of(0, 9, Stored, (10, 30))
        .write_of(1, 1, Stored, (20, 40));
    for (client, generation) in [(0, 9), (1, 1)] {
        let content = BlockContent::Whole(stamp_of(client, generation));
        assert_eq!(shared.fate(content), Kept);
    }
}

/// Its client was not told that a newer write was carried out, or was killed before it could
/// note it.
#[test]
fn a_write_without_an_answer_is_no_loss() {
    let mut share = Share::new(Scope::Private);
    share.write(1, Stored, 10, 20).flush(1, 30);
    let fates = share.fates(whole(7));
    assert_eq!(
        (fates.of(Kept), fates.unanswered, fates.broken()),
        (1, 1, 0)
    );
    // A refused write may have been carried out as well, but only until its answer.
    share.write(2, Refused, 40, 50);
    assert_eq!(share.fate(whole(2)), Kept);
    share.write(3, Stored, 60, 70);
    assert_eq!(share.fate(whole(2)), LostUnpromised);
}

#[test]
fn a_torn_block_breaks_a_promise_if_a_part_is_too_old() {
    let mut share = Share::new(Scope::Private);
    share.write(1, Stored, 10, 20).write(2, Stored, 30, 40);
    let torn = |front, back| {
        let mut found = Vec::new();
        append(&mut found, 256, 0, stamp_of(1, front), SALT);
        append(&mut found, 256, 256, stamp_of(1, back), SALT);
        BlockContent::of(found.as_slice().try_into().unwrap(), 0, SALT)
    };
    assert_eq!(share.fate(torn(1, 2)), TornUnpromised);
    assert_eq!(share.fate(BlockContent::Damaged), TornUnpromised);
    share.flush(1, 50);
    assert_eq!(share.fate(torn(1, 2)), TornPromised);
    assert_eq!(share.fate(torn(2, 1)), TornPromised);
    assert_eq!(share.fate(BlockContent::Damaged), TornPromised);
    // Write 3 was not answered.
    assert_eq!(share.fate(torn(3, 2)), TornUnpromised);
    assert_eq!(share.fate(torn(3, 1)), TornPromised);
}

#[test]
fn the_places_have_what_was_expected_and_found() {
    let mut share = Share::new(Scope::Private);
    share
        .write(1, Stored, 10, 20)
        .write(2, Stored, 30, 40)
        .flush(1, 50);
    share.write(3, Stored, 60, 70);
    let fates = share.fates(whole(1));
    let [first] = fates.first[..] else {
        panic!("{fates:?}");
    };
    assert_eq!((first.fate, first.offset), (LostFlushed, 0));
    assert_eq!(first.expected, Some(stamp_of(1, 2)));
    assert_eq!(first.found, whole(1));
}

#[test]
fn a_block_of_another_place_is_lost() {
    let mut share = Share::new(Scope::Private);
    share.write(1, Stored, 10, 20);
    for (client, file) in [(0, 2), (1, 1)] {
        let other = Stamp {
            client,
            file,
            ..stamp_of(1, 1)
        };
        assert_eq!(share.fate(BlockContent::Whole(other)), LostUnpromised);
    }
}

#[test]
fn a_note_beyond_the_files_is_refused() {
    let mut share = Share::new(Scope::Private);
    share.write(1, Stored, 10, 20);
    share.page.notes[0].offset = 4 * BLOCK;
    let population = NotedPopulation {
        directory: "d".to_owned(),
        salt: SALT,
        scope: Scope::Private,
        files: 3,
        file_bytes: 4 * BLOCK,
        flushes: false,
    };
    let error = Promises::of(&[population]).add(&share.page).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it has a note of a place that its run does not have"
    );
}
