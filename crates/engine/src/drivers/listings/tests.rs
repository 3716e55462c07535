use smbench_model::files::{Layout, Scope};
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;

use super::*;

const LEASED: Option<Caching> = Some(Caching::DirectoryLease(LeaseState::RH));
const DONE: Answer<'_> = Answer::bare(0, Extent::Final, NtStatus::SUCCESS);

fn files() -> FileSet {
    FileSet {
        scope: Scope::Shared,
        count: 5,
        size: 1,
        layout: Layout::Flat,
    }
}

fn listings() -> Listings {
    Listings::new(&Arc::default(), &files(), 2, 2)
}

/// Returns a call of a member in the slot of the same number.
const fn call(member: usize, kind: OpKind, number: u32) -> Call {
    Call {
        slot: member as u32,
        member,
        operation: Operation {
            kind,
            action: 0,
            file: number,
            offset: 0,
            length: 0,
        },
    }
}

const fn key(member: usize, directory: u32) -> LeaseKey {
    LeaseKey([member as u8 * 100 + directory as u8; 16])
}

const fn open(directory: u32) -> FileId {
    FileId {
        persistent: directory as u64,
        volatile: 1,
    }
}

const fn ended(member: usize, directory: u32) -> EndedListing {
    let open = open(directory);
    EndedListing { member, open }
}

/// Lists a directory of five names from instant `at` on; returns whether the listing is kept.
fn list(listings: &mut Listings, member: usize, directory: u32, at: u64) -> (bool, Option<FileId>) {
    let begun = call(member, OpKind::ListOpen, directory);
    assert!(!listings.answers(&begun));
    listings.begin(&begun, key(member, directory));
    let answer = Answer {
        slot: member as u32,
        ..DONE
    };
    listings.answered(&answer, LEASED, Nanos(at));
    listings.answered(&Answer { moved: 5, ..answer }, None, Nanos(at + 1));
    let status = NtStatus::NO_MORE_FILES;
    listings.answered(&Answer { status, ..answer }, None, Nanos(at + 2));
    listings.keep(
        &call(member, OpKind::ListClose, directory),
        open(directory),
        5,
    )
}

/// Sends a change of names at instant `at`, and gets its answer.
fn change(listings: &mut Listings, member: usize, at: u64) {
    let call = call(member, OpKind::CopyInCreate, 7);
    assert_eq!(listings.change(&call, NamesLease::No, Nanos(at)), []);
    let slot = member as u32;
    listings.answered(&Answer { slot, ..DONE }, None, Nanos(at + 5));
}

#[test]
fn a_kept_listing_answers_until_its_lease_is_broken() {
    let mut listings = listings();
    assert_eq!(list(&mut listings, 0, 0, 10), (true, None));
    let again = call(0, OpKind::ListOpen, 0);
    assert!(listings.answers(&again));
    // Another client, another directory and another pattern have listings of their own.
    assert!(!listings.answers(&call(1, OpKind::ListOpen, 0)));
    assert!(!listings.answers(&call(0, OpKind::ListOpen, 1)));
    let mut other = again;
    other.operation.action = 1;
    assert!(!listings.answers(&other));
    assert_eq!(listings.ready, [(0, 0), (0, 5)]);
    assert_eq!(listings.broken(key(1, 0), Nanos(20)), []);
    assert!(listings.answers(&again));
    assert_eq!(listings.broken(key(0, 0), Nanos(20)), [ended(0, 0)]);
    assert!(!listings.answers(&again));
    assert_eq!(
        listings.events,
        [ListingEvent::Kept, ListingEvent::Ended],
        "no change of this run broke it"
    );
}

#[test]
fn a_listing_without_a_lease_or_an_end_is_not_kept() {
    let none = Some(Caching::None);
    let read = Some(Caching::DirectoryLease(LeaseState::R));
    for granted in [none, read] {
        let mut listings = listings();
        listings.begin(&call(0, OpKind::ListOpen, 0), key(0, 0));
        listings.answered(&DONE, granted, Nanos(1));
        let status = NtStatus::NO_MORE_FILES;
        listings.answered(&Answer { status, ..DONE }, None, Nanos(2));
        let closed = listings.keep(&call(0, OpKind::ListClose, 0), open(0), 0);
        assert_eq!(closed, (false, None), "{granted:?}");
    }
    let mut listings = listings();
    listings.begin(&call(0, OpKind::ListOpen, 0), key(0, 0));
    listings.answered(&DONE, LEASED, Nanos(1));
    let status = NtStatus::ACCESS_DENIED;
    listings.answered(&Answer { status, ..DONE }, None, Nanos(2));
    let closed = listings.keep(&call(0, OpKind::ListClose, 0), open(0), 0);
    assert_eq!(closed, (false, None));
}

#[test]
fn a_listing_whose_lease_breaks_meanwhile_is_not_kept() {
    let mut listings = listings();
    listings.begin(&call(0, OpKind::ListOpen, 0), key(0, 0));
    listings.answered(&DONE, LEASED, Nanos(1));
    assert_eq!(listings.broken(key(0, 0), Nanos(2)), []);
    let status = NtStatus::NO_MORE_FILES;
    listings.answered(&Answer { status, ..DONE }, None, Nanos(3));
    let closed = listings.keep(&call(0, OpKind::ListClose, 0), open(0), 0);
    assert_eq!(closed, (false, None));
}

#[test]
fn a_break_is_timed_from_the_first_change_of_names_since_the_lease() {
    let mut listings = listings();
    list(&mut listings, 0, 0, 10);
    change(&mut listings, 1, 100);
    change(&mut listings, 1, 120);
    listings.broken(key(0, 0), Nanos(150));
    let broken = ListingEvent::Broken(Nanos(50));
    let ended = ListingEvent::Ended;
    assert_eq!(listings.events, [ListingEvent::Kept, broken, ended]);
    // A change that is under way when the lease is granted may be the cause, or not.
    let under_way = call(1, OpKind::CopyInCreate, 8);
    listings.change(&under_way, NamesLease::No, Nanos(190));
    list(&mut listings, 0, 0, 200);
    listings.answered(&Answer { slot: 1, ..DONE }, None, Nanos(210));
    change(&mut listings, 1, 220);
    listings.events.clear();
    listings.broken(key(0, 0), Nanos(230));
    assert_eq!(listings.events, [ended]);
    // A change that may be no change of names hides what comes after it.
    list(&mut listings, 0, 0, 300);
    let times = call(1, OpKind::CopyInTimes, 8);
    listings.change(&times, NamesLease::No, Nanos(310));
    change(&mut listings, 1, 320);
    listings.events.clear();
    listings.broken(key(0, 0), Nanos(330));
    assert_eq!(listings.events, [ended]);
}

#[test]
fn an_answer_after_a_change_that_it_does_not_show_is_stale() {
    let mut listings = listings();
    // The listing may show a change that was sent before its end.
    let under_way = call(1, OpKind::CopyInCreate, 8);
    listings.change(&under_way, NamesLease::No, Nanos(11));
    list(&mut listings, 0, 0, 10);
    listings.answered(&Answer { slot: 1, ..DONE }, None, Nanos(20));
    listings.events.clear();
    assert!(listings.answers(&call(0, OpKind::ListOpen, 0)));
    assert_eq!(listings.events, []);
    // One in flight may not be done.
    listings.change(&under_way, NamesLease::No, Nanos(30));
    assert!(listings.answers(&call(0, OpKind::ListOpen, 0)));
    assert_eq!(listings.events, []);
    listings.answered(&Answer { slot: 1, ..DONE }, None, Nanos(40));
    assert!(listings.answers(&call(0, OpKind::ListOpen, 0)));
    assert_eq!(listings.events, [ListingEvent::Stale]);
}

#[test]
fn an_answer_that_lacks_names_of_the_tree_is_stale() {
    for (least, events) in [(5, &[][..]), (6, &[ListingEvent::Stale])] {
        let mut listings = listings();
        let opened = call(0, OpKind::ListOpen, 0);
        listings.begin(&opened, key(0, 0));
        listings.answered(&DONE, LEASED, Nanos(1));
        listings.answered(&Answer { moved: 5, ..DONE }, None, Nanos(2));
        let status = NtStatus::NO_MORE_FILES;
        listings.answered(&Answer { status, ..DONE }, None, Nanos(3));
        let closed = call(0, OpKind::ListClose, 0);
        assert_eq!(listings.keep(&closed, open(0), least), (true, None));
        listings.events.clear();
        assert!(listings.answers(&opened));
        assert_eq!(listings.events, events, "{least}");
    }
}

#[test]
fn a_file_is_new_to_a_client_once() {
    let changes = Arc::<Changes>::default();
    let mut listings = Listings::new(&changes, &files(), 2, 2);
    let mut shows_nothing_new = |client: usize, status| {
        let look = call(client, OpKind::NeighbourLook, 0);
        listings.looked_at(&look, client as u32);
        let slot = client as u32;
        listings.shows_nothing_new(&Answer {
            slot,
            status,
            ..DONE
        })
    };
    // Nobody has made a file.
    assert!(shows_nothing_new(0, NtStatus::SUCCESS));
    for number in [3, 4] {
        changes.made(MadeFile { client: 7, number });
        // It is not there yet.
        assert!(!shows_nothing_new(0, NtStatus::OBJECT_NAME_NOT_FOUND));
        assert!(!shows_nothing_new(0, NtStatus::SUCCESS));
        assert!(shows_nothing_new(0, NtStatus::SUCCESS));
        // A look that fails shows nothing.
        assert!(!shows_nothing_new(1, NtStatus::SHARING_VIOLATION));
        assert!(!shows_nothing_new(1, NtStatus::SUCCESS));
    }
}

#[test]
fn listings_that_are_lost_with_their_client_have_ended() {
    let changes = Arc::<Changes>::default();
    let mut lost = Listings::new(&changes, &files(), 1, 1);
    list(&mut lost, 0, 0, 10);
    drop(lost);
    let after = Listings::new(&changes, &files(), 1, 1);
    assert_eq!(after.events, [ListingEvent::Ended]);
    drop(after);
    assert_eq!(Listings::new(&changes, &files(), 1, 1).events, []);
}

#[test]
fn a_client_that_names_its_lease_ends_its_own_listing_alone() {
    let mut listings = listings();
    list(&mut listings, 0, 0, 10);
    list(&mut listings, 1, 0, 20);
    let own = NamesLease::Yes(key(0, 0));
    let made = listings.change(&call(0, OpKind::CopyInCreate, 1), own, Nanos(30));
    assert_eq!(made, [ended(0, 0)]);
    assert!(!listings.answers(&call(0, OpKind::ListOpen, 0)));
    assert!(listings.answers(&call(1, OpKind::ListOpen, 0)));
}

#[test]
fn a_client_keeps_a_bounded_number_of_listings() {
    let mut listings = listings();
    for directory in 0..KEPT_MAX as u32 {
        assert_eq!(list(&mut listings, 0, directory, 10), (true, None));
    }
    let last = list(&mut listings, 0, KEPT_MAX as u32, 20);
    assert_eq!(last, (true, Some(open(0))));
    assert_eq!(listings.kept[0].len(), KEPT_MAX);
    assert!(!listings.answers(&call(0, OpKind::ListOpen, 0)));
    assert!(listings.answers(&call(0, OpKind::ListOpen, 1)));
}

/// Returns what a mark from now on finds of a change that is sent at 7.
fn caused(changes: &Changes) -> Option<Nanos> {
    let mut mark = ChangeMark::ask(changes, AwaitedNotice::All);
    mark.agree(changes, Nanos(6));
    let sent = changes.send(ChangeOf::Names, Nanos(7));
    let cause = mark.cause(changes);
    changes.end(sent, true);
    cause
}

#[test]
fn changes_whose_answers_are_lost_do_not_stay_in_flight() {
    let changes = Arc::new(Changes::default());
    let mut listings = Listings::new(&changes, &files(), 1, 1);
    let made = call(0, OpKind::CopyInCreate, 1);
    listings.change(&made, NamesLease::No, Nanos(5));
    assert_eq!(caused(&changes), None);
    drop(listings);
    assert_eq!(caused(&changes), Some(Nanos(7)));
}

#[test]
fn a_notice_is_timed_from_the_first_change_since_the_watch_began() {
    let mut listings = listings();
    let ended = |listings: &mut Listings, status, at| {
        let answer = Answer { status, ..DONE };
        listings.answered(&answer, None, Nanos(at));
        std::mem::take(&mut listings.events)
    };
    listings.watch(0, AwaitedNotice::Names);
    listings.watching(0, Nanos(5));
    // It does not wait for changes of times.
    let times = call(1, OpKind::CopyInTimes, 8);
    listings.change(&times, NamesLease::No, Nanos(8));
    change(&mut listings, 1, 10);
    let events = ended(&mut listings, NtStatus::SUCCESS, 40);
    assert_eq!(events, [ListingEvent::Noticed(Some(Nanos(30)))]);
    // A change before the server has begun the watch is reported at once.
    listings.watch(0, AwaitedNotice::Names);
    change(&mut listings, 1, 50);
    let events = ended(&mut listings, NtStatus::NOTIFY_ENUM_DIR, 60);
    assert_eq!(events, [ListingEvent::Noticed(None)]);
    listings.watch(0, AwaitedNotice::Names);
    listings.watching(0, Nanos(70));
    assert_eq!(ended(&mut listings, NtStatus::CANCELLED, 80), []);
}
