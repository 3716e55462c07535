//! Directory listings.

use smbench_protocol::cifs::command::find::{
    FindClose2Request, FindFirst2Request, FindFirst2Response, FindNext2Request, FoundNames,
    class_of_level, find_flags, find_level,
};
use smbench_protocol::cifs::command::transaction::TransactionPart;
use smbench_protocol::command::query_directory::{DirectoryClass, DirectoryEntry};

use super::{HEADER_LEN, check_trans2, message, name, trans2};

/// UTF-16 of a name in ASCII.
fn utf_16(name: &str) -> Vec<u8> {
    name.bytes().flat_map(|letter| [letter, 0]).collect()
}

#[test]
fn first_requests() {
    let request = FindFirst2Request {
        search_attributes: 0x16,
        search_count: 0x556,
        flags: find_flags::SMB_FIND_RETURN_RESUME_KEYS | find_flags::SMB_FIND_CLOSE_AT_EOS,
        level: find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO,
        pattern: &name(r"dir\*"),
        max_data: 0xFFFF,
    };
    check_trans2(captured!("cifs", "find-first-request"), |out| {
        request.encode(out);
    });
    let request = FindFirst2Request {
        search_attributes: 0,
        search_count: 0,
        flags: 0,
        pattern: &name(r"testsearch\*.*"),
        ..request
    };
    check_trans2(captured!("cifs", "find-first-one-request"), |out| {
        request.encode(out);
    });
}

#[test]
fn next_requests() {
    let request = FindNext2Request {
        sid: 0x0100,
        search_count: 1,
        level: find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO,
        flags: 0,
        resume_name: &utf_16("t010-10.txt"),
        max_data: 0xFFFF,
    };
    check_trans2(captured!("cifs", "find-next-one-request"), |out| {
        request.encode(out);
    });
    let last = utf_16("a-longer-name-for-file-374");
    let request = FindNext2Request {
        search_count: 0x556,
        flags: find_flags::SMB_FIND_RETURN_RESUME_KEYS | find_flags::SMB_FIND_CLOSE_AT_EOS,
        resume_name: &last,
        ..request
    };
    check_trans2(captured!("cifs", "find-next-request"), |out| {
        request.encode(out);
    });
}

/// No client at hand sends this command. The bytes are those of MS-CIFS 2.2.4.48.1.
#[test]
fn close_request() {
    let request = FindClose2Request { sid: 0x1234 };
    let ours = message(|out| request.encode(out));
    assert_eq!(ours[HEADER_LEN..], [1, 0x34, 0x12, 0, 0]);
}

#[test]
fn a_whole_listing() {
    let response = captured!("cifs", "find-first-response");
    let (parameters, data) = trans2(&response);
    let FindFirst2Response { sid, found } =
        FindFirst2Response::decode(parameters, data).expect("decodes");
    assert_eq!(
        (sid, found.search_count, found.end_of_search),
        (0xFFFF, 3, true)
    );
    let names: Vec<_> = found
        .entries(DirectoryClass::BothDirectory)
        .map(|entry| entry.map(|entry| entry.name))
        .collect();
    let expected = [".", "..", "f"].map(utf_16);
    assert_eq!(names, expected.each_ref().map(|name| Ok(name.as_slice())));

    let entries = found.names(DirectoryClass::BothDirectory).expect("decodes");
    let [entry] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert_eq!((entry.name.as_str(), entry.end_of_file), ("f", 45));
    assert!(!entry.is_directory);
}

#[test]
fn one_name_at_a_time() {
    let response = captured!("cifs", "find-first-one-response");
    let (parameters, data) = trans2(&response);
    let FindFirst2Response { sid, found } =
        FindFirst2Response::decode(parameters, data).expect("decodes");
    assert_eq!(
        (sid, found.search_count, found.end_of_search),
        (0x0100, 1, false)
    );
    let entries = found.names(DirectoryClass::BothDirectory).expect("decodes");
    assert_eq!(entries[0].name, "t010-10.txt");

    let response = captured!("cifs", "find-next-one-response");
    let (parameters, data) = trans2(&response);
    let found = FoundNames::decode(parameters, data).expect("decodes");
    assert_eq!((found.search_count, found.end_of_search), (1, false));
    assert_eq!(
        found
            .names(DirectoryClass::BothDirectory)
            .map(|it| it.len()),
        Ok(1)
    );

    let response = captured!("cifs", "find-next-end-response");
    let (parameters, data) = trans2(&response);
    let found = FoundNames::decode(parameters, data).expect("decodes");
    assert_eq!((found.search_count, found.end_of_search), (0, true));
    assert_eq!(found.names(DirectoryClass::BothDirectory), Ok(vec![]));
}

#[test]
fn a_listing_in_two_parts() {
    let messages = [
        captured!("cifs", "find-next-part-1"),
        captured!("cifs", "find-next-part-2"),
    ];
    let [first, second] = messages
        .each_ref()
        .map(|message| TransactionPart::decode_trans2(message).expect("decodes"));
    assert!(!first.is_whole() && !second.is_whole());
    assert_eq!((first.total_parameters, first.total_data), (8, 2332));
    assert_eq!((second.total_parameters, second.total_data), (8, 2332));
    assert_eq!((first.parameters.len(), second.parameters.len()), (8, 0));
    assert_eq!((first.data_displacement, first.data.len()), (0, 1432));
    assert_eq!((second.data_displacement, second.data.len()), (1432, 900));
    let data = [first.data, second.data].concat();
    let found = FoundNames::decode(first.parameters, &data).expect("decodes");
    assert_eq!(usize::from(found.search_count), 20);
    let entries = found.names(DirectoryClass::BothDirectory).expect("decodes");
    assert_eq!(entries.len(), 20);
}

#[test]
fn every_level_of_a_listing() {
    let name = utf_16("torture_search.txt");
    for (level, response) in [
        (0x0101, captured!("cifs", "find-directory-response")),
        (0x0102, captured!("cifs", "find-full-response")),
        (0x0103, captured!("cifs", "find-names-response")),
        (0x0104, captured!("cifs", "find-both-response")),
        (0x0105, captured!("cifs", "find-id-full-response")),
        (0x0106, captured!("cifs", "find-id-both-response")),
    ] {
        let class = class_of_level(level).expect("a known level");
        let (parameters, data) = trans2(&response);
        let response = FindFirst2Response::decode(parameters, data).expect("decodes");
        let entries: Vec<_> = response.found.entries(class).collect();
        let [
            Ok(DirectoryEntry {
                name: found,
                details,
                file_number,
            }),
        ] = entries[..]
        else {
            panic!("{entries:?}");
        };
        assert_eq!(found, name);
        assert_eq!(details.is_none(), level == 0x0103);
        assert!(details.is_none_or(|it| it.end_of_file == 7));
        let number = (level >= 0x0105).then_some(0x9F_A0A5);
        assert_eq!(file_number, number, "{level:x}");
        // The pass-through level is 1000 and the number of the class.
        assert_eq!(class_of_level(1000 + class as u16), Some(class));
    }
    assert_eq!(class_of_level(0x0107), None);
}
