//! Information about files and file systems.

use smbench_protocol::cifs::command::information::{
    CifsChange, CifsTarget, QueryFsInformationRequest, QueryInformationRequest,
    SetInformationRequest, level,
};
use smbench_protocol::command::set_info::{Deletion, Existing};
use smbench_protocol::command::{FileTime, FileTimes};

use super::{check_trans2, name, trans2};

#[test]
fn queries() {
    let request = QueryInformationRequest {
        target: CifsTarget::Path(&name(r"dir\fox.txt")),
        level: level::SMB_QUERY_FILE_BASIC_INFO,
        max_data: 0xFFFF,
    };
    check_trans2(captured!("cifs", "query-path-basic-request"), |out| {
        request.encode(out);
    });
    let request = QueryInformationRequest {
        target: CifsTarget::Fid(0xE633),
        level: level::SMB_QUERY_FILE_STANDARD_INFO,
        max_data: 0xFFFF,
    };
    check_trans2(captured!("cifs", "query-file-standard-request"), |out| {
        request.encode(out);
    });
    let request = QueryFsInformationRequest {
        level: level::SMB_QUERY_FS_SIZE_INFO,
        max_data: 0xFFFF,
    };
    check_trans2(captured!("cifs", "query-fs-size-request"), |out| {
        request.encode(out);
    });
    let request = QueryFsInformationRequest {
        level: level::SMB_INFO_PASSTHROUGH + 7,
        max_data: 560,
    };
    check_trans2(captured!("cifs", "query-fs-request"), |out| {
        request.encode(out);
    });
}

#[test]
fn answers() {
    // Samba leaves out the four reserved bytes of FileBasicInformation.
    let response = captured!("cifs", "query-path-basic-response");
    let (parameters, data) = trans2(&response);
    assert_eq!((parameters, data.len()), (&[0, 0][..], 36));
    let response = captured!("cifs", "query-file-standard-response");
    assert_eq!(trans2(&response).1.len(), 24);
    let response = captured!("cifs", "query-fs-size-response");
    let (parameters, data) = trans2(&response);
    assert_eq!((parameters, data.len()), (&[][..], 24));
    let response = captured!("cifs", "query-fs-response");
    assert_eq!(trans2(&response).1.len(), 32);
    let response = captured!("cifs", "set-file-basic-response");
    assert_eq!(trans2(&response), (&[0, 0][..], &[][..]));
}

#[test]
fn changes() {
    let path = name(r"testsfileinfo\fname_test_57.txt");
    let zeros = FileTimes::default();
    for (captured, target, level, change) in [
        (
            captured!("cifs", "set-file-basic-request"),
            CifsTarget::Fid(0xED09),
            level::SMB_INFO_PASSTHROUGH + 4,
            CifsChange::Basic {
                times: FileTimes {
                    created: FileTime(0x01DD_7CB8_0293_0880),
                    ..zeros
                },
                file_attributes: 0,
            },
        ),
        (
            captured!("cifs", "set-path-basic-request"),
            CifsTarget::Path(&path),
            level::SMB_INFO_PASSTHROUGH + 4,
            CifsChange::Basic {
                times: FileTimes {
                    created: FileTime(0x01DD_7D81_633A_4800),
                    accessed: FileTime(0x01DD_7D81_9ED5_1200),
                    written: FileTime(0x01DD_7D81_DA6F_DC00),
                    changed: FileTime(0x01DD_7D82_160A_A600),
                },
                file_attributes: 0x80,
            },
        ),
        (
            captured!("cifs", "set-allocation-request"),
            CifsTarget::Fid(0x9EB0),
            level::SMB_SET_FILE_ALLOCATION_INFO,
            CifsChange::Allocation(4096),
        ),
        (
            captured!("cifs", "set-end-of-file-request"),
            CifsTarget::Fid(0x51FA),
            level::SMB_INFO_PASSTHROUGH + 20,
            CifsChange::EndOfFile(7),
        ),
        (
            captured!("cifs", "set-rename-request"),
            CifsTarget::Fid(0xCE28),
            level::SMB_INFO_PASSTHROUGH + 10,
            CifsChange::Rename {
                to: &name("fnum_test_new_57.txt"),
                existing: Existing::Keep,
            },
        ),
        (
            captured!("cifs", "set-path-rename-request"),
            CifsTarget::Path(&path),
            level::SMB_INFO_PASSTHROUGH + 10,
            CifsChange::Rename {
                to: &name("fname_test_new_57.txt"),
                existing: Existing::Keep,
            },
        ),
    ] {
        let request = SetInformationRequest {
            target,
            level,
            change,
        };
        check_trans2(captured, |out| {
            request.encode(out);
        });
    }
}

#[test]
fn a_deletion_has_one_byte() {
    // The captured client sends four bytes. MS-CIFS 2.2.8.4.4 has one.
    let mut captured = captured!("cifs", "set-disposition-request");
    captured.truncate(captured.len() - 3);
    for (at, value) in [(35, 1), (55, 1), (63, 12)] {
        captured[at] = value;
    }
    let request = SetInformationRequest {
        target: CifsTarget::Fid(0x9EB0),
        level: level::SMB_SET_FILE_DISPOSITION_INFO,
        change: CifsChange::Disposition(Deletion::Pending),
    };
    check_trans2(captured, |out| {
        request.encode(out);
    });
}
