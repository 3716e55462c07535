use smbench_formats::loadfile;
use smbench_formats::loadfile::Unknown;

use super::*;

const TEXT: &str = r#"NTCreateX "\clients\client1\a" 0x40 0x2 7 NT_STATUS_OK
Rename "\clients\client1\a" "\b" NT_STATUS_OK
Close 7 NT_STATUS_OK
NTCreateX "\c" 0x40 0x1 8 NT_STATUS_OBJECT_NAME_NOT_FOUND
"#;

/// Two clients with two slots each.
fn two_clients() -> Replaying<u8> {
    let trace = loadfile::parse("my.txt", TEXT.as_bytes(), Unknown::Refuse).unwrap();
    let trace = Arc::new(trace);
    let mut replaying = Replaying {
        root: wire_name("r\\").unwrap(),
        clients: Vec::new(),
        slots: Vec::new(),
        outstanding: 2,
        name: WireName::default(),
        other: WireName::default(),
        unique: Unique::new(1),
        held: HeldFrame::default(),
    };
    for number in ["5", "6"] {
        replaying.clients.push(ReplayedClient {
            trace: Arc::clone(&trace),
            number: wire_name(number).unwrap(),
            handles: vec![0; places(&trace)].into_boxed_slice(),
            place: None,
        });
        let slots = replaying.clients.len() * 2;
        replaying.slots.resize_with(slots, ReplayedSlot::default);
    }
    replaying
}

fn call(slot: u32, kind: OpKind, action: u32, file: u32) -> Call {
    let operation = Operation {
        kind,
        action,
        file,
        offset: 0,
        length: 0,
    };
    Call {
        slot,
        member: slot as usize / 2,
        operation,
    }
}

fn answer(slot: u32, extent: Extent, status: NtStatus) -> Answer<'static> {
    Answer::bare(slot, extent, status)
}

#[test]
fn slots_of_a_client_share_its_handles_and_nothing_else() {
    let mut replaying = two_clients();
    let create = |slot| call(slot, OpKind::Create, 0, 0);
    let rename = call(3, OpKind::RenamePath, 1, 1);
    for call in [&create(1), &create(2), &rename] {
        replaying.begin(call, false);
    }
    let ended = |following: &Following<'_>| match following {
        Following::End(answer) => Some(answer.status),
        _ => None,
    };
    for (slot, status, opened) in [
        (3, NtStatus::ACCESS_DENIED, 0),
        (2, NtStatus::SUCCESS, 20),
        (1, NtStatus::SUCCESS, 10),
    ] {
        let following = replaying.follow(answer(slot, Extent::Final, status), opened, false);
        assert_eq!(ended(&following), Some(status));
    }
    let places = [0, 1, 2, 3].map(|slot| *replaying.handle(&create(slot)));
    assert_eq!(places, [10, 10, 20, 20]);
    assert_eq!(replaying.find(|handle| *handle == 20), Some((2, &mut 20)));
    // The other slot closes the file.
    replaying.begin(&call(0, OpKind::Close, 2, 0), false);
    let closed = answer(0, Extent::Final, NtStatus::SUCCESS);
    assert!(ended(&replaying.follow(closed, 0, false)).is_some());
    assert_eq!(replaying.find(|handle| *handle == 10), None);
}

#[test]
fn a_call_waits_for_those_that_it_depends_on() {
    use OpKind::{Close, Create, Mkdir, QueryFile, Read, Unlink, Write};
    let no_handle = 1;
    for (earlier, later, waits) in [
        // Of one handle, only READs go with READs, and WRITEs with WRITEs.
        ((Read, 0), (Read, 0), false),
        ((Write, 0), (Write, 0), false),
        ((Write, 0), (Read, 0), true),
        ((Create, 0), (Read, 0), true),
        ((Read, 0), (Close, 0), true),
        ((QueryFile, 0), (QueryFile, 0), true),
        // Of different handles, only those that use names wait.
        ((Write, 0), (Read, 2), false),
        ((Create, 0), (Read, 2), false),
        ((Close, 0), (Create, 2), true),
        ((Close, 0), (Unlink, no_handle), true),
        ((Mkdir, no_handle), (Create, 0), true),
        ((Mkdir, no_handle), (Unlink, no_handle), true),
        ((Read, 0), (Unlink, no_handle), false),
    ] {
        let mut replaying = two_clients();
        let call = |slot, (kind, file)| call(slot, kind, 0, file);
        replaying.begin(&call(0, earlier), false);
        assert_eq!(
            replaying.waits(&call(1, later)),
            waits,
            "{earlier:?} {later:?}"
        );
        // Another client does not wait, nor a call that is submitted again.
        assert!(!replaying.waits(&call(2, later)));
        assert!(!replaying.waits(&call(0, later)));
    }
}

#[test]
fn a_close_that_was_left_undone_is_sent_once_more() {
    let mut replaying = two_clients();
    replaying.begin(&call(0, OpKind::RenamePath, 1, 1), true);
    let mut next = |extent, status| replaying.follow(answer(0, extent, status), 9, true);
    let opened = next(Extent::Part, NtStatus::SUCCESS);
    assert!(matches!(opened, Following::Answers));
    let failed = next(Extent::Part, NtStatus::ACCESS_DENIED);
    assert!(matches!(failed, Following::Answers));
    let undone = next(Extent::Final, NtStatus::FILE_CLOSED);
    assert!(matches!(undone, Following::Close));
    // The status is that of the rename.
    let Following::End(ended) = next(Extent::Final, NtStatus::SUCCESS) else {
        panic!("the operation has ended");
    };
    assert_eq!(ended.status, NtStatus::ACCESS_DENIED);
}

#[test]
fn names_are_those_of_the_client_and_a_stray_file_is_closed() {
    let mut replaying = two_clients();
    let record = replaying.record(&call(3, OpKind::RenamePath, 1, 1));
    let RecordNames { name, other, .. } = replaying.names(1, &record);
    let names = (name.to_string(), other.to_string());
    let expected = (r"r\clients\client6\a".to_owned(), r"r\b".to_owned());
    assert_eq!(names, expected);
    // It was recorded to fail, so its close has no record.
    let stray = replaying.record(&call(0, OpKind::Close, 3, 1));
    let closed = Record::Close {
        handle: None,
        flags: 0,
    };
    assert_eq!(stray, closed);
}
