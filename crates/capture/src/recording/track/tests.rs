use smbench_model::trace::Record;

use super::super::packed::tests::packed;
use super::*;
use crate::trace::TraceCreate;

/// Returns the line of a command, which takes half of the time until the next one.
fn line_of(number: u64, command: &str) -> TraceLine {
    TraceLine {
        number,
        at_ns: 10 * number,
        took_ns: Some(5),
        command: command.to_owned(),
        ..TraceLine::default()
    }
}

/// Makes the track of all lines.
fn track_of(lines: &[TraceLine], tree: &RecordedTree) -> Track {
    let mut track = Track::new(1, 0..lines.len() as u32, Duration::from_secs(1));
    track.add(&packed(lines), tree);
    track
}

#[test]
fn what_a_failed_create_takes_along_is_counted_and_not_replayed() {
    let node = |text| serde_json::from_str(text).unwrap();
    let nodes = [r#"{"name":"share"}"#, r#"{"parent":1,"name":"file"}"#];
    let tree = RecordedTree::new(nodes.map(node).into());
    let line = |number: u64, command: &str, group| TraceLine {
        path: Some(2),
        group,
        level: Some(0x0112),
        create: (command == "create").then(Box::default),
        status: Some("STATUS_OBJECT_NAME_NOT_FOUND".to_owned()),
        ..line_of(number, command)
    };
    let lines = vec![
        line(1, "create", Some(7)),
        line(2, "query_info", Some(7)),
        line(3, "query_info", Some(7)),
        line(4, "close", Some(7)),
        line(5, "create", None),
        line(6, "close", None),
    ];
    let track = track_of(&lines, &tree);
    assert_eq!(track.of_lines, [0..1, 4..5, 5..6]);
    let expected = [("close", 1), ("query_info", 2)];
    let expected =
        expected.map(|(command, count)| (format!("{command} after a create that failed"), count));
    assert_eq!(track.skipped, expected.into());
}

#[test]
fn a_pattern_of_which_a_hash_is_left_matches_every_name_if_it_matched_one() {
    let mut tree = RecordedTree::new(Vec::new());
    let pattern = |tree: &RecordedTree, pattern: &str, status| {
        let line = TraceLine {
            pattern: Some(pattern.to_owned()),
            ..TraceLine::default()
        };
        names_of(&line, tree, status).pattern
    };
    for matched in ["*", "", "1f*", "1f?", "<.1f", "1f\"1f"] {
        assert_eq!(pattern(&tree, matched, NtStatus::SUCCESS), "*");
    }
    assert_eq!(pattern(&tree, "1f", NtStatus::SUCCESS), "1f");
    assert_eq!(pattern(&tree, "<.1f", NtStatus::NO_SUCH_FILE), "<.1f");
    tree.names = NameTreatment::Keep;
    for (recorded, replayed) in [("*.docx", "*.docx"), ("<.1f", "<.1f"), ("", "*")] {
        assert_eq!(pattern(&tree, recorded, NtStatus::SUCCESS), replayed);
    }
}

#[test]
fn what_a_replay_could_not_repeat_is_left_out_by_name() {
    let node = |text| serde_json::from_str(text).unwrap();
    let nodes = [r#"{"name":"share"}"#, r#"{"parent":1,"name":"file"}"#];
    let tree = RecordedTree::new(nodes.map(node).into());
    let line = |number: u64, command: &str, handle, status: &str| TraceLine {
        path: Some(2),
        handle,
        length: Some(8),
        status: Some(status.to_owned()),
        ..line_of(number, command)
    };
    let create = |number, handle, context: &str| TraceLine {
        create: Some(Box::new(TraceCreate {
            disposition: 1,
            contexts: vec![context.to_owned()],
            ..TraceCreate::default()
        })),
        ..line(number, "create", Some(handle), "STATUS_SUCCESS")
    };
    let read = |number, value, status| TraceLine {
        value: Some(value),
        ..line(number, "read", Some(1), status)
    };
    let lines = vec![
        create(1, 1, "DH2Q"),
        read(2, 1, "STATUS_END_OF_FILE"),
        read(3, 8, "STATUS_END_OF_FILE"),
        read(4, 8, "STATUS_SUCCESS"),
        line(5, "write", Some(1), "STATUS_FILE_NOT_AVAILABLE"),
        create(6, 2, "DH2C"),
        line(7, "flush", Some(2), "STATUS_SUCCESS"),
        line(8, "close", Some(2), "STATUS_SUCCESS"),
        line(9, "close", Some(1), "STATUS_SUCCESS"),
    ];
    let track = track_of(&lines, &tree);
    assert_eq!(track.of_lines, [0..1, 1..2, 3..4, 8..9]);
    let expected = [
        ("opens that take back durable handles", 1),
        (
            "reads of less than their minimum: a replay asks for none",
            1,
        ),
        ("requests of an earlier channel sequence", 1),
        ("requests of opens that are left out", 2),
    ];
    let expected = expected.map(|(what, count)| (what.to_owned(), count));
    assert_eq!(track.skipped, expected.into());
}

#[test]
fn an_open_that_a_read_only_file_refused_is_left_out_by_name() {
    let node = |text| serde_json::from_str(text).unwrap();
    let nodes = [r#"{"name":"share"}"#, r#"{"parent":1,"name":"file"}"#];
    let mut tree = RecordedTree::new(nodes.map(node).into());
    let create = |number, action: Option<u32>, status: &str| TraceLine {
        number,
        at_ns: 10 * number,
        took_ns: Some(5),
        command: "create".to_owned(),
        path: Some(2),
        handle: action.map(|_| number),
        create: Some(Box::new(TraceCreate {
            attributes: 1,
            disposition: 3,
            action,
            ..TraceCreate::default()
        })),
        status: Some(status.to_owned()),
        ..TraceLine::default()
    };
    let lines = vec![
        create(1, Some(2), "STATUS_SUCCESS"),
        create(2, None, "STATUS_ACCESS_DENIED"),
        create(3, None, "STATUS_SHARING_VIOLATION"),
    ];
    for line in &lines {
        tree.follow(line);
    }
    let track = track_of(&lines, &tree);
    assert_eq!(track.of_lines, [0..1, 2..3]);
    let what = "opens of read-only files: a replay makes none".to_owned();
    assert_eq!(track.skipped, [(what, 1)].into());
}

#[test]
fn reads_writes_and_closes_have_their_flags() {
    let tree = RecordedTree::new(vec![serde_json::from_str(r#"{"name":"share"}"#).unwrap()]);
    let line = |number: u64, command: &str, flags| TraceLine {
        path: Some(1),
        handle: Some(1),
        length: Some(8),
        flags: Some(flags),
        create: (command == "create").then(Box::default),
        status: Some("STATUS_SUCCESS".to_owned()),
        ..line_of(number, command)
    };
    let lines = vec![
        line(1, "create", 0),
        // The answer may be compressed.
        line(2, "read", 3),
        line(3, "write", 3),
        line(4, "cifs_write_andx", 1),
        line(5, "close", 1),
    ];
    let track = track_of(&lines, &tree);
    let trace = track.finish("captured", &[0; 32], &mut BTreeMap::new());
    let flags = trace.records.iter().filter_map(|record| match *record {
        Record::Read { flags, .. } | Record::Write { flags, .. } | Record::Close { flags, .. } => {
            Some(flags)
        }
        _ => None,
    });
    assert_eq!(flags.collect::<Vec<_>>(), [1, 3, 1, 1]);
}

#[test]
fn locks_of_cifs_are_replayed_with_their_flags() {
    let tree = RecordedTree::new(vec![serde_json::from_str(r#"{"name":"share"}"#).unwrap()]);
    let line = |number: u64, command: &str, flags, ranges, status: &str| TraceLine {
        path: Some(1),
        handle: Some(1),
        offset: Some(4),
        length: Some(8),
        flags,
        value: Some(ranges),
        create: (command == "create").then(Box::default),
        status: Some(status.to_owned()),
        ..line_of(number, command)
    };
    let lock = |number, flags, ranges, status: &str| {
        line(number, "cifs_locking_andx", Some(flags), ranges, status)
    };
    let lines = vec![
        line(1, "create", None, 0, "STATUS_SUCCESS"),
        lock(2, 0x11, 1, "STATUS_SUCCESS"),
        lock(3, 0x02, 1, "STATUS_SUCCESS"),
        lock(4, 0x02, 1, "STATUS_LOCK_NOT_GRANTED"),
        lock(5, 0x12, 2, "STATUS_SUCCESS"),
        lock(6, 0x04, 1, "STATUS_SUCCESS"),
    ];
    let track = track_of(&lines, &tree);
    assert_eq!(track.skipped, [("lock of 2 ranges".to_owned(), 1)].into());
    let trace = track.finish("captured", &[0; 32], &mut BTreeMap::new());
    let flags = trace.records.iter().filter_map(|record| match *record {
        Record::Lock { flags, .. } => Some(flags),
        Record::Unlock { .. } => Some(0x04),
        _ => None,
    });
    assert_eq!(flags.collect::<Vec<_>>(), [0x11, 0x02, 0x12, 0x04]);
}

/// Those that use the open of the request before are sent in its frame.
#[test]
fn requests_of_a_compound_that_are_sent_one_by_one_wait_for_each_other() {
    let tree = RecordedTree::new(vec![serde_json::from_str(r#"{"name":"share"}"#).unwrap()]);
    let line = |number: u64, command: &str, handle, group| TraceLine {
        path: Some(1),
        handle: Some(handle),
        group,
        create: (command == "create").then(Box::default),
        status: Some("STATUS_SUCCESS".to_owned()),
        ..line_of(number, command)
    };
    let lines = vec![
        line(1, "create", 1, None),
        line(2, "create", 2, Some(7)),
        line(3, "flush", 2, Some(7)),
        line(4, "flush", 1, Some(7)),
        line(5, "flush", 2, Some(7)),
        line(6, "flush", 2, Some(8)),
        line(7, "flush", 2, None),
    ];
    let track = track_of(&lines, &tree);
    assert_eq!(track.of_lines.len(), 7);
    assert_eq!(track.chained, [3, 4]);
}
