//! CREATE.

use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::{FileTime, FileTimes};
use smbench_protocol::header::HEADER_LEN;

use super::{FOX_21, FOX_311, body, id, same_times};

#[test]
fn create_request_of_a_file() {
    let ours = body(|out| {
        CreateRequest {
            name: r"dir\fox.txt",
            desired_access: access::FILE_READ_DATA
                | access::FILE_WRITE_DATA
                | access::FILE_APPEND_DATA
                | access::FILE_READ_EA
                | access::FILE_WRITE_EA
                | access::FILE_READ_ATTRIBUTES
                | access::FILE_WRITE_ATTRIBUTES
                | access::READ_CONTROL
                | access::SYNCHRONIZE,
            file_attributes: 0,
            share_access: share::FILE_SHARE_READ | share::FILE_SHARE_WRITE,
            disposition: Disposition::OverwriteIf,
            options: options::FILE_NON_DIRECTORY_FILE,
            oplock: OplockLevel::None,
            contexts: &[],
        }
        .encode(out)
        .expect("a short name");
    });
    for captured in [
        captured!("2.1", "create-request"),
        captured!("3.1.1-signed", "create-request"),
    ] {
        let theirs = &captured[HEADER_LEN..];
        assert_eq!(theirs[..ours.len()], ours);
        // smbclient appends two zero bytes that NameLength does not count.
        assert_eq!(theirs[ours.len()..], [0, 0]);
    }
}

#[test]
fn create_request_of_the_root() {
    let ours = body(|out| {
        CreateRequest {
            name: "",
            desired_access: access::FILE_READ_ATTRIBUTES,
            file_attributes: attributes::FILE_ATTRIBUTE_DIRECTORY,
            share_access: share::ALL,
            disposition: Disposition::Open,
            options: options::FILE_DIRECTORY_FILE,
            oplock: OplockLevel::None,
            contexts: &[],
        }
        .encode(out)
        .expect("no name");
    });
    for captured in [
        captured!("2.1", "create-root-request"),
        captured!("3.1.1-signed", "create-root-request"),
    ] {
        assert_eq!(captured[HEADER_LEN..], ours);
    }
}

#[test]
fn create_responses() {
    let new_file = |time, file_id| CreateResponse {
        oplock_level: OplockLevel::None,
        create_action: 2,
        times: same_times(time),
        allocation_size: 0,
        end_of_file: 0,
        file_attributes: attributes::FILE_ATTRIBUTE_ARCHIVE,
        file_id,
    };
    assert_eq!(
        CreateResponse::decode(&captured!("2.1", "create-response")),
        Ok(new_file(0x01dd_78e0_5be0_0fd3, FOX_21))
    );
    assert_eq!(
        CreateResponse::decode(&captured!("3.1.1-signed", "create-response")),
        Ok(new_file(0x01dd_78e0_f0f6_74a8, FOX_311))
    );
    assert_eq!(
        CreateResponse::decode(&captured!("2.1", "create-root-response")),
        Ok(CreateResponse {
            oplock_level: OplockLevel::None,
            create_action: 1,
            times: FileTimes {
                created: FileTime(0x01dd_78e0_5bdf_9d6b),
                accessed: FileTime(0x01dd_78e0_5bdf_9d6b),
                written: FileTime(0x01dd_78e0_5bdf_fae8),
                changed: FileTime(0x01dd_78e0_5bdf_fae8),
            },
            allocation_size: 0,
            end_of_file: 0,
            file_attributes: attributes::FILE_ATTRIBUTE_DIRECTORY,
            file_id: id(0x08ba_85d3, 0x0f80_4566),
        })
    );
}
