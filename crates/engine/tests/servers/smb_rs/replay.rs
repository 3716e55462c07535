//! The same loadfile, replayed with both drivers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use smbench_formats::loadfile::{self, Unknown};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::generator::DriverKind;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{LoadPointRecord, OperationFailure};
use smbench_model::spec::{GeneratorSpec, RunOptions, Spec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::NtStatus;

use super::{clean, run};
use crate::support::{assert_undisturbed, short, target};

/// Every verb that smb-rs has a call for, each with the answer that servers give.
const AS_RECORDED: &str = r#"
NTCreateX "\clients\client1" 0x1 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\one.doc" 0x40 0x5 1 NT_STATUS_OK
NTCreateX "\clients\client1\old.doc" 0x40 0x1 2 NT_STATUS_OK
NTCreateX "\clients\client1\gone.doc" 0x40 0x1 3 NT_STATUS_OBJECT_NAME_NOT_FOUND
WriteX 1 0 65536 65536 NT_STATUS_OK
WriteX 1 65536 1 1 NT_STATUS_OK
WriteX 1 65537 0 0 NT_STATUS_OK
Flush 1 NT_STATUS_OK
ReadX 1 1 65536 65536 NT_STATUS_OK
ReadX 1 65536 4096 1 NT_STATUS_OK
ReadX 1 99999 4096 0 NT_STATUS_OK
ReadX 2 100000 4096 4096 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 263 NT_STATUS_OK
QUERY_FILE_INFORMATION 2 1034 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
SET_FILE_INFORMATION 1 1004 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
SET_FILE_INFORMATION 1 258 NT_STATUS_OK
Sleep 1000 NT_STATUS_OK
Close 1 NT_STATUS_OK
Close 1 NT_STATUS_FILE_CLOSED
NTCreateX "\clients\client1\one.doc" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
Close 2 NT_STATUS_OK
NTCreateX "\clients\client1\left.doc" 0x40 0x5 1 NT_STATUS_OK
WriteX 1 0 1000 1000 NT_STATUS_OK
"#;

/// Operations that servers answer otherwise than recorded.
const OTHERWISE: &str = r#"
NTCreateX "\clients\client1" 0x1 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x5 1 NT_STATUS_OK
WriteX 1 0 1000 1000 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
ReadX 1 0 500 100 NT_STATUS_OK
ReadX 1 5000 10 10 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x1 1 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\a" 0x40 0x1 1 NT_STATUS_ACCESS_DENIED
NTCreateX "\clients\client1\a" 0x40 0x2 1 NT_STATUS_OK
ReadX 1 0 500 500 NT_STATUS_OK
WriteX 1 0 500 500 NT_STATUS_OK
Flush 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
SET_FILE_INFORMATION 1 258 NT_STATUS_OK
Close 1 NT_STATUS_OK
"#;

fn profile_of(loadfile: &str) -> Profile {
    let trace = loadfile::parse("my.txt", loadfile.as_bytes(), Unknown::Refuse).unwrap();
    Profile {
        recording: Some(Arc::new(trace.into())),
        ..Profile::from_spec("my", Spec::default())
    }
}

fn options(driver: DriverKind) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some("1,3".parse().unwrap()),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(2),
            driver: Some(driver),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

/// Replays a loadfile three times with each driver, and checks that the counts,
/// bytes and differences of all kinds are equal. Returns the load point of one
/// client.
fn replayed(loadfile: &str, server: &Target) -> LoadPointRecord {
    let profile = profile_of(loadfile);
    let [native, smb_rs] = [DriverKind::Native, DriverKind::SmbRs].map(|driver| {
        let mut options = options(driver);
        options.work.loops = Some(3);
        let limits = Limits::default();
        run(&Plan::resolve(&profile, &options, server.clone(), limits, 2).unwrap())
    });
    assert_eq!(native.plan.digest(), smb_rs.plan.digest());
    for (native, smb_rs) in clean(&native).iter().zip(clean(&smb_rs)) {
        assert_eq!(native.invalid, smb_rs.invalid);
        let is_as_recorded = native.ops.differences().is_empty();
        assert_eq!(native.invalid.is_none(), is_as_recorded);
        for kind in OpKind::ALL {
            let counts = [native, smb_rs].map(|point| {
                let whole = point.ops.whole(kind);
                (whole.count, whole.bytes, whole.errors)
            });
            assert_eq!(counts[0], counts[1], "{}", kind.name());
        }
        assert_eq!(native.ops.differences(), smb_rs.ops.differences());
    }
    smb_rs.load_points[0].clone()
}

#[test]
fn both_drivers_replay_the_same_on_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let server = target(&samba.url(), samba.password());
    let point = replayed(AS_RECORDED, &server);
    assert_eq!(point.ops.differences(), &BTreeMap::new());
    let (read, write) = (
        point.ops.whole(OpKind::Read),
        point.ops.whole(OpKind::Write),
    );
    assert_eq!((read.count, write.count), (3 * 5, 3 * 4));
    assert_eq!(write.bytes, 3 * (65536 + 1 + 1000));
    let point = replayed(OTHERWISE, &server);
    // Three lengths, three opens, and six operations on a file that was not opened.
    assert_eq!(point.ops.differences().len(), 12);
    let not_open = OperationFailure::Status(NtStatus::FILE_CLOSED);
    let differences = point.ops.differences().keys();
    let not_open = differences.filter(|difference| difference.seen == not_open);
    assert_eq!(not_open.count(), 6);
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn both_drivers_replay_the_same_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let url = target(&server.url(), server.password());
    for loadfile in [AS_RECORDED, OTHERWISE] {
        replayed(loadfile, &url);
    }
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn a_replay_by_smb_rs_that_ends_with_open_files_leaves_nothing() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut options = options(DriverKind::SmbRs);
    options.work.duration = short().work.duration;
    options.work.ramp_up = Some(Duration::ZERO);
    let server = target(&samba.url(), samba.password());
    let limits = Limits::default();
    let profile = profile_of(AS_RECORDED);
    let record = run(&Plan::resolve(&profile, &options, server, limits, 2).unwrap());
    for point in clean(&record) {
        assert_undisturbed(point);
        assert_eq!(point.ops.differences(), &BTreeMap::new());
        assert!(point.ops.whole(OpKind::Read).count > 0);
    }
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}
