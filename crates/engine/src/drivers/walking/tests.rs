use smbench_protocol::command::FileTimes;
use smbench_protocol::command::query_directory::EntryDetails;

use super::*;

fn wire(text: &str) -> WireName {
    WireName::new(text).unwrap()
}

fn queue(root: &str, walks: u64) -> WalkQueue {
    WalkQueue {
        root: wire(root),
        waiting: PathStack::default(),
        left: Some(walks),
    }
}

/// Lists a directory with these entries, with their attributes, in one answer.
fn list(
    queue: &mut WalkQueue,
    slot: &mut WalkedDirectory,
    entries: &[(&str, u32)],
) -> Result<u32, WalkFault> {
    slot.stage = WalkStage::Opening;
    queue.take(slot);
    slot.listing();
    let names: Vec<_> = entries.iter().map(|(name, _)| wire(name)).collect();
    let entries = names
        .iter()
        .zip(entries)
        .map(|(name, (_, file_attributes))| {
            Ok(DirectoryEntry {
                name: name.as_bytes(),
                details: Some(EntryDetails {
                    times: FileTimes::default(),
                    end_of_file: 0,
                    allocation_size: 0,
                    file_attributes: *file_attributes,
                }),
                file_number: None,
            })
        });
    let noted = slot.note(entries);
    queue.take(slot);
    slot.ended();
    noted
}

const FILE: u32 = 0x80;
const DIRECTORY: u32 = FILE_ATTRIBUTE_DIRECTORY;
const LINK: u32 = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;

#[test]
fn a_walk_has_every_directory_once_and_the_last_found_first() {
    let mut queue = queue("top", 1);
    let mut slot = WalkedDirectory::default();
    let mut seen = Vec::new();
    let mut names = 0;
    while queue.next(&mut slot, || false) == Ok(()) {
        seen.push(slot.path().clone());
        let entries: &[_] = match seen.len() {
            1 => &[
                (".", DIRECTORY),
                ("..", DIRECTORY),
                ("a", DIRECTORY),
                ("f", FILE),
                ("b", DIRECTORY),
            ],
            2 => &[("c", DIRECTORY), ("link", LINK)],
            _ => &[("g", FILE)],
        };
        names += list(&mut queue, &mut slot, entries).unwrap();
    }
    let expected = ["top", r"top\b", r"top\b\c", r"top\a"].map(wire);
    assert_eq!(seen, expected);
    assert_eq!(names, 3 + 2 + 1 + 1);
    assert_eq!(queue.next(&mut slot, || false), Err(Busy::Over));
}

#[test]
fn a_slot_waits_while_others_may_find_directories_of_the_same_walk() {
    let mut queue = queue("", 2);
    let (mut first, mut second) = (WalkedDirectory::default(), WalkedDirectory::default());
    assert_eq!(queue.next(&mut first, || second.is_busy()), Ok(()));
    first.stage = WalkStage::Opening;
    assert_eq!(
        queue.next(&mut second, || first.is_busy()),
        Err(Busy::Earlier)
    );
    // The server has let the session expire: the same directory is asked for again.
    assert_eq!(queue.next(&mut first, || second.is_busy()), Ok(()));
    assert_eq!(first.path(), &wire(""));
    list(
        &mut queue,
        &mut first,
        &[("a", DIRECTORY), ("b", DIRECTORY)],
    )
    .unwrap();
    assert_eq!(queue.next(&mut first, || second.is_busy()), Ok(()));
    first.stage = WalkStage::Opening;
    assert_eq!(queue.next(&mut second, || first.is_busy()), Ok(()));
    assert_eq!([first.path(), second.path()], [&wire("b"), &wire("a")]);
    // A directory that cannot be asked for now comes again.
    queue.put_back(&second);
    assert_eq!(queue.next(&mut second, || first.is_busy()), Ok(()));
    assert_eq!(second.path(), &wire("a"));
    second.stage = WalkStage::Opening;
    // Both are refused, so that the walk has ended, and the next one begins.
    first.refused(NtStatus::ACCESS_DENIED);
    second.refused(NtStatus::ACCESS_DENIED);
    assert_eq!(queue.next(&mut second, || first.is_busy()), Ok(()));
    assert_eq!(second.path(), &wire(""));
    list(&mut queue, &mut second, &[]).unwrap();
    assert_eq!(queue.next(&mut first, || second.is_busy()), Err(Busy::Over));
}

#[test]
fn the_directory_of_the_run_is_left_out_where_it_lies() {
    for (root, without) in [("", "smbench-1"), (r"a\b", r"a\b\smbench-1")] {
        let mut queue = queue(root, 1);
        let mut slot = WalkedDirectory {
            without: wire(without),
            ..WalkedDirectory::default()
        };
        queue.next(&mut slot, || false).unwrap();
        let entries = [
            ("smbench-1", DIRECTORY),
            ("smbench-2", DIRECTORY),
            ("smbench-", FILE),
        ];
        assert_eq!(list(&mut queue, &mut slot, &entries).unwrap(), 2);
        queue.next(&mut slot, || false).unwrap();
        assert!(
            slot.path()
                .as_bytes()
                .ends_with(wire("smbench-2").as_bytes())
        );
        assert_eq!(list(&mut queue, &mut slot, &entries[..1]).unwrap(), 1);
    }
}

#[test]
fn what_does_not_fit_is_a_fault_and_never_left_out() {
    let mut queue = queue("", 1);
    let mut slot = WalkedDirectory::default();
    queue.next(&mut slot, || false).unwrap();
    queue.waiting.0 = vec![0; QUEUE_BYTES_MAX - 5];
    let full = list(&mut queue, &mut slot, &[("a", DIRECTORY)]);
    assert!(matches!(full, Err(WalkFault::Full)), "{full:?}");
    slot.path = wire(&"x".repeat(32_760));
    let long = list(&mut queue, &mut slot, &[("longer-name", DIRECTORY)]);
    assert!(matches!(long, Err(WalkFault::Long)), "{long:?}");
    let dropped = WalkFault::Full.into_dropped().unwrap().to_string();
    assert!(
        dropped.contains("more directories than can wait"),
        "{dropped}"
    );
}
