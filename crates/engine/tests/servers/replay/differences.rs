//! Answers that differ from the recorded ones.

use std::collections::BTreeMap;

use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, ReplayDifference};
use smbench_protocol::NtStatus;

use super::{counts, is_clean, options, plan, profile_of, run};

/// Operations that Samba answers otherwise than recorded.
const OTHERWISE: &str = r#"
Mkdir "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 1000 1000 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
ReadX 1 0 500 100 NT_STATUS_OK
ReadX 1 5000 10 10 NT_STATUS_OK
LockX 1 5 1 NT_STATUS_LOCK_NOT_GRANTED
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x1 1 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\a" 0x40 0x1 1 NT_STATUS_ACCESS_DENIED
QUERY_PATH_INFORMATION "\clients\client1\b" 1004 NT_STATUS_OBJECT_PATH_NOT_FOUND
Unlink "\clients\client1\a" 0x6 NT_STATUS_SHARING_VIOLATION
Mkdir "\clients\client1\made" NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\made\b" 1004 NT_STATUS_OK
Rmdir "\clients\client1\made" NT_STATUS_OK
Rmdir "\clients\client1" NT_STATUS_DIRECTORY_NOT_EMPTY
"#;

#[test]
fn what_goes_otherwise_is_counted_and_ends_nothing() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let profile = profile_of(OTHERWISE);
    let record = run(&plan(&profile, &options("2", 1), &samba));
    let point = &record.load_points[0];
    // Each client carries out 16 lines, and closes two files that no line closes.
    let reason = point.invalid.as_deref().unwrap();
    let how_many = "20 of 36 operations (55.6 %) did not go as recorded, and at most 1 % may: ";
    assert!(reason.starts_with(how_many), "{reason}");
    assert_eq!(point.ops.errors(), 0);
    let status = |status| OperationFailure::Status(status);
    let expected = [
        (OpKind::Read, NtStatus::SUCCESS, OperationFailure::Short),
        (OpKind::Read, NtStatus::SUCCESS, OperationFailure::Long),
        (
            OpKind::Read,
            NtStatus::SUCCESS,
            status(NtStatus::END_OF_FILE),
        ),
        (
            OpKind::Lock,
            NtStatus::LOCK_NOT_GRANTED,
            status(NtStatus::SUCCESS),
        ),
        (
            OpKind::Create,
            NtStatus::OBJECT_NAME_NOT_FOUND,
            status(NtStatus::SUCCESS),
        ),
        (
            OpKind::Create,
            NtStatus::ACCESS_DENIED,
            status(NtStatus::SUCCESS),
        ),
        (
            OpKind::QueryPath,
            NtStatus::OBJECT_PATH_NOT_FOUND,
            status(NtStatus::OBJECT_NAME_NOT_FOUND),
        ),
        // This file does not exist in a directory that is created here.
        (
            OpKind::QueryPath,
            NtStatus::SUCCESS,
            status(NtStatus::OBJECT_NAME_NOT_FOUND),
        ),
        (
            OpKind::Unlink,
            NtStatus::SHARING_VIOLATION,
            status(NtStatus::SUCCESS),
        ),
        (
            OpKind::Rmdir,
            NtStatus::DIRECTORY_NOT_EMPTY,
            status(NtStatus::SUCCESS),
        ),
    ];
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|(kind, recorded, seen)| {
            let recorded = Some(recorded);
            let difference = ReplayDifference {
                kind,
                recorded,
                seen,
            };
            (difference, 2)
        })
        .collect();
    assert_eq!(point.ops.differences(), &expected);
    // Files opened against the record are closed, three for each client. Otherwise
    // neither the file nor the directory could have been deleted.
    assert_eq!(counts(point)[&OpKind::Close], 6);
    assert!(is_clean(&samba));
}

/// Every operation of a trace that gets data from the server.
const ANSWERED: &str = r#"
Mkdir "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 1000 1000 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 1004 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 2 NT_STATUS_OK
Deltree "\clients\client1" NT_STATUS_OK
"#;

#[test]
fn a_small_largest_transaction_makes_no_difference() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions {
        extra_global: vec!["smb2 max trans = 2048".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let record = run(&plan(&profile_of(ANSWERED), &options("2", 1), &samba));
    assert_eq!(record.server.max_transact, 2048);
    let point = &record.load_points[0];
    assert_eq!(point.ops.errors(), 0);
    assert_eq!(point.ops.differences(), &BTreeMap::new());
}
