//! What is reported of searches that end early and of refused bins.

use super::*;

#[test]
fn only_the_directory_of_a_run_is_looked_for_in_a_refused_bin() {
    let own = r"x\smbench-0123456789abcdef";
    let path = own_directory(".recycle", Removed::One(own));
    assert_eq!(
        path.as_deref(),
        Some(r".recycle\x\smbench-0123456789abcdef")
    );
    assert_eq!(own_directory(".recycle", Removed::One("shared")), None);
    assert_eq!(own_directory(".recycle", Removed::All), None);
}

#[test]
fn a_search_that_ends_early_is_reported_with_its_first_reason() {
    let mut found = RecycleBin {
        path: ".recycle".to_owned(),
        ..RecycleBin::default()
    };
    end_early(&mut found, "interrupted".to_owned());
    end_early(&mut found, "it took too long".to_owned());
    let reason = "the recycle bin '.recycle' was not searched to its end: interrupted";
    assert_eq!(found.leftover().as_deref(), Some(reason));
    assert!(!RecycleBin::refuses(&[found], reason));
}
