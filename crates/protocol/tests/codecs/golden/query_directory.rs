//! QUERY_DIRECTORY with its information classes.

use smbench_protocol::command::create::attributes;
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, QueryDirectoryResponse, query_directory_flags,
};
use smbench_protocol::command::{FileTime, WireName};
use smbench_protocol::header::HEADER_LEN;
use smbench_protocol::{FileId, directory};

use super::{body, id, same_times};

fn check(
    captured: &[u8],
    directory: FileId,
    class: DirectoryClass,
    flags: u8,
    name: &str,
    len: u32,
) {
    let request = QueryDirectoryRequest {
        directory,
        class,
        flags,
        pattern: &WireName::new(name).expect("short"),
        output_length: len,
    };
    assert_eq!(
        captured[HEADER_LEN..],
        body(|out| request.encode(out)),
        "{class:?}"
    );
}

#[test]
fn requests() {
    check(
        &captured!("3.1.1", "find-names-request"),
        id(0x3498_4f7d, 0x3539_055e),
        DirectoryClass::Names,
        0,
        "*",
        0x10000,
    );
    check(
        &captured!("3.1.1", "find-both-request"),
        id(0x0ed4_d0f1, 0xc112_a757),
        DirectoryClass::BothDirectory,
        query_directory_flags::RETURN_SINGLE_ENTRY,
        "*",
        0x100,
    );
    check(
        &captured!("3.1.1", "find-id-both-request"),
        id(0x4dac_0f47, 0x2d6f_6527),
        DirectoryClass::IdBothDirectory,
        0,
        "f",
        0x0080_0000,
    );
}

#[test]
fn names_alone() {
    let response = captured!("3.1.1", "find-names-response");
    let response = QueryDirectoryResponse::decode(&response).expect("decodes");
    let names: Vec<_> = response
        .entries(DirectoryClass::Names)
        .map(|entry| entry.map(|entry| (entry.name, entry.details, entry.file_number)))
        .collect();
    let expected = [b".\0".as_slice(), b".\0.\0"].map(|name| Ok((name, None, None)));
    assert_eq!(names, expected);
}

#[test]
fn both_names_and_the_number_of_a_file() {
    let response = captured!("3.1.1", "find-both-response");
    let response = QueryDirectoryResponse::decode(&response).expect("decodes");
    let mut entries = response.entries(DirectoryClass::BothDirectory);
    let entry = entries.next().expect("an entry").expect("decodes");
    let details = entry.details.expect("more than the name");
    assert_eq!((entry.name, entry.file_number), (b".\0".as_slice(), None));
    assert_eq!(details.times, same_times(0x01dd_78fe_4e41_e173));
    assert_eq!(
        details.file_attributes,
        attributes::FILE_ATTRIBUTE_DIRECTORY
    );
    assert_eq!(entries.next(), None);

    let response = captured!("3.1.1", "find-id-both-response");
    let response = QueryDirectoryResponse::decode(&response).expect("decodes");
    let mut entries = response.entries(DirectoryClass::IdBothDirectory);
    let entry = entries.next().expect("an entry").expect("decodes");
    let details = entry.details.expect("more than the name");
    assert_eq!(
        (entry.name, entry.file_number),
        (b"f\0".as_slice(), Some(0x9a_8add))
    );
    assert_eq!(details.times.accessed, FileTime(0x01dd_78fe_4f63_2ce1));
    assert_eq!((details.end_of_file, details.allocation_size), (45, 4096));
    assert_eq!(details.file_attributes, attributes::FILE_ATTRIBUTE_ARCHIVE);
    assert_eq!(entries.next(), None);
}

#[test]
fn what_smbclient_lists_in_2_1() {
    let request = captured!("2.1", "query-directory-request");
    let class = request[HEADER_LEN + 2];
    assert_eq!(class, DirectoryClass::IdBothDirectory as u8);
    let response = captured!("2.1", "query-directory-response");
    let response = QueryDirectoryResponse::decode(&response).expect("decodes");
    let names: Vec<_> = response
        .entries(DirectoryClass::IdBothDirectory)
        .map(|entry| entry.map(|entry| entry.name))
        .collect();
    assert!(names.contains(&Ok(b"f\0o\0x\0.\0t\0x\0t\0")), "{names:?}");
}

#[test]
fn listing_asks_for_every_name() {
    let ours = body(|out| directory::encode_request(id(1, 2), 0x1000, out));
    let mut expected = vec![33, 0, 1, 0, 0, 0, 0, 0];
    expected.extend(id(1, 2).to_bytes());
    expected.extend([96, 0, 2, 0, 0, 0x10, 0, 0, b'*', 0]);
    assert_eq!(ours, expected);
}
