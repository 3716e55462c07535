use super::*;

fn marked(changes: &Changes, awaited: AwaitedNotice, at: u64) -> ChangeMark {
    let mut mark = ChangeMark::ask(changes, awaited);
    mark.agree(changes, Nanos(at));
    mark
}

#[test]
fn the_first_change_since_is_the_cause_if_it_is_one_of_names() {
    let changes = Changes::default();
    let mark = marked(&changes, AwaitedNotice::All, 5);
    assert_eq!(mark.cause(&changes), None);
    let first = changes.send(ChangeOf::Names, Nanos(10));
    assert_eq!(mark.cause(&changes), Some(Nanos(10)));
    // It was under way, so that it may be the cause or not.
    let meanwhile = marked(&changes, AwaitedNotice::All, 11);
    changes.end(first, true);
    let quiet = marked(&changes, AwaitedNotice::All, 12);
    changes.send(ChangeOf::Names, Nanos(20));
    assert_eq!(meanwhile.cause(&changes), None);
    assert_eq!(quiet.cause(&changes), Some(Nanos(20)));
    assert_eq!(mark.cause(&changes), Some(Nanos(10)));
}

/// The notice of a change may come before its answer.
#[test]
fn a_change_that_was_noticed_does_not_hide_the_next_one() {
    let changes = Changes::default();
    let names = AwaitedNotice::Names;
    let first = marked(&changes, names, 5);
    let made = changes.send(ChangeOf::Names, Nanos(10));
    let noticed = first.noticed(&changes);
    assert_eq!(noticed, Some(1));
    let mut again = ChangeMark::ask_again(&changes, names, noticed);
    again.agree(&changes, Nanos(12));
    assert_eq!(again.cause(&changes), None);
    changes.end(made, true);
    changes.send(ChangeOf::Names, Nanos(20));
    assert_eq!(again.cause(&changes), Some(Nanos(20)));
    // Of two changes in flight, one may still come.
    let meanwhile = ChangeMark::ask_again(&changes, names, noticed);
    assert_eq!(again.noticed(&changes), Some(2));
    changes.send(ChangeOf::Names, Nanos(30));
    assert_eq!(again.noticed(&changes), None);
    assert_eq!(meanwhile.before, None);
    // Those who await all may get several notices of one change.
    let changes = Changes::default();
    let all = marked(&changes, AwaitedNotice::All, 5);
    changes.send(ChangeOf::Names, Nanos(10));
    assert_eq!(
        (all.cause(&changes), all.noticed(&changes)),
        (Some(Nanos(10)), None)
    );
}

#[test]
fn changes_that_are_no_changes_of_names_hide_later_ones_only_from_those_who_await_all() {
    let changes = Changes::default();
    let all = marked(&changes, AwaitedNotice::All, 5);
    let names = marked(&changes, AwaitedNotice::Names, 5);
    let write = changes.send(ChangeOf::Attributes, Nanos(10));
    let meanwhile = marked(&changes, AwaitedNotice::Names, 11);
    changes.end(write, true);
    changes.send(ChangeOf::Names, Nanos(20));
    assert_eq!(all.cause(&changes), None);
    assert_eq!(names.cause(&changes), Some(Nanos(20)));
    assert_eq!(meanwhile.cause(&changes), Some(Nanos(20)));
    // A change that may be one of names hides later ones from all.
    let changes = Changes::default();
    let names = marked(&changes, AwaitedNotice::Names, 5);
    changes.send(ChangeOf::Perhaps, Nanos(10));
    changes.send(ChangeOf::Names, Nanos(20));
    assert_eq!(names.cause(&changes), None);
}

#[test]
fn a_change_before_the_agreement_and_forgotten_changes_are_no_cause() {
    let changes = Changes::default();
    let mut early = ChangeMark::ask(&changes, AwaitedNotice::Names);
    let made = changes.send(ChangeOf::Names, Nanos(4));
    changes.end(made, true);
    early.agree(&changes, Nanos(5));
    let mark = marked(&changes, AwaitedNotice::Names, 5);
    changes.send(ChangeOf::Names, Nanos(6));
    assert_eq!(early.cause(&changes), None);
    assert_eq!(mark.cause(&changes), Some(Nanos(6)));
    for at in 0..REMEMBERED as u64 {
        changes.send(ChangeOf::Names, Nanos(10 + at));
    }
    assert_eq!(mark.cause(&changes), None);
    let changes = Changes::default();
    let mark = marked(&changes, AwaitedNotice::Names, 5);
    changes.send(ChangeOf::Names, Nanos(6));
    changes.become_unsure();
    assert_eq!(mark.cause(&changes), None);
}

#[test]
fn a_client_looks_at_the_newest_file_of_another_one() {
    let changes = Changes::default();
    let file = |client, number| MadeFile { client, number };
    assert_eq!(changes.newest_for(0), None);
    changes.made(file(0, 0));
    assert_eq!(changes.newest_for(0), None);
    assert_eq!(changes.newest_for(1), Some(file(0, 0)));
    changes.made(file(7, 3));
    changes.made(file(7, 4));
    assert_eq!(changes.newest_for(0), Some(file(7, 4)));
    assert_eq!(changes.newest_for(7), Some(file(0, 0)));
    let last = file(u32::MAX - 1, u32::MAX);
    changes.made(last);
    assert_eq!(changes.newest_for(7), Some(last));
    changes.begin_load_point();
    assert_eq!(changes.newest_for(0), None);
}

#[test]
fn a_listing_is_old_once_a_later_change_of_names_is_done() {
    let changes = Changes::default();
    let refused = changes.send(ChangeOf::Names, Nanos(10));
    let write = changes.send(ChangeOf::Attributes, Nanos(11));
    let made = changes.send(ChangeOf::Names, Nanos(12));
    changes.end(refused, false);
    changes.end(write, true);
    assert!(!changes.is_changed_since(Nanos(9)));
    changes.end(made, true);
    assert!(changes.is_changed_since(Nanos(11)));
    // The change may have come before the end of this listing.
    assert!(!changes.is_changed_since(Nanos(12)));
}
