//! Operations that are larger than a request of the server.

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::RunRecord;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};

use crate::support::{short, target};

const DATA: &str = r#"
read_percent = 50
sizes = [{ size = "1MiB", weight = 50 }, { size = "4KiB", weight = 50 }]
[files]
size = "4MiB"
"#;

const SIGNED: &str = r#"
read_percent = 50
sizes = [{ size = "64KiB", weight = 100 }]
[files]
size = "1MiB"
"#;

fn samba(lines: &[&str]) -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions {
        extra_global: lines.iter().map(ToString::to_string).collect(),
        ..SambaOptions::default()
    })
}

fn run(samba: &ScratchSamba, profile: &str, sessions: SessionsSpec) -> RunRecord {
    let short = short();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(4),
            verify: Some(Verify::ReadBack),
            ..short.work
        },
        sessions,
        ..short
    };
    let profile = Profile::parse("here", profile).unwrap();
    let target = target(&samba.url(), samba.password());
    let plan = Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap();
    execute(&plan, &mut Unobserved, &Cancel::default()).unwrap()
}

/// Checks that operations of this many bytes took this many requests, without errors.
fn assert_split(record: &RunRecord, kind: OpKind, requests: u64) {
    let point = &record.load_points[0];
    assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
    assert!(point.dropouts.is_empty(), "{:?}", point.dropouts);
    let op = point.ops.window(kind);
    // Each operation of 1 MiB adds as many requests beyond the first.
    let split = op.further_requests / (requests - 1);
    assert_eq!(op.further_requests, split * (requests - 1));
    let whole = point.ops.whole(kind);
    assert!(whole.count > 0, "{whole:?}");
}

#[test]
fn reads_and_writes_are_split_and_verified() {
    let Some(samba) = samba(&["smb2 max read = 65536", "smb2 max write = 65536"]) else {
        return;
    };
    let few = |credits| SessionsSpec {
        credits: Some(credits),
        ..SessionsSpec::default()
    };
    let on_two_connections = SessionsSpec {
        connections_per_session: Some(2),
        ..SessionsSpec::default()
    };
    let shared = SessionsSpec {
        sessions_per_connection: Some(2),
        ..SessionsSpec::default()
    };
    for sessions in [
        SessionsSpec::default(),
        few(1),
        few(5),
        on_two_connections,
        shared,
    ] {
        let record = run(&samba, DATA, sessions);
        let split = record.server.split.unwrap();
        assert_eq!((split.read, split.write), (Some(65536), Some(65536)));
        for kind in [OpKind::Read, OpKind::Write] {
            assert_split(&record, kind, 16);
        }
    }
}

/// Reads of 4 KiB fit a request, and writes of 1 MiB do not.
#[test]
fn only_the_direction_that_is_split_has_a_size() {
    const LINES: &str = r#"
[[pattern]]
size = "4KiB"
weight = 50
reads = 100
random = 100
[[pattern]]
size = "1MiB"
weight = 50
reads = 0
random = 0
[files]
size = "4MiB"
"#;
    let Some(samba) = samba(&["smb2 max read = 65536", "smb2 max write = 65536"]) else {
        return;
    };
    let record = run(&samba, LINES, SessionsSpec::default());
    let split = record.server.split.unwrap();
    assert_eq!((split.read, split.write), (None, Some(65536)));
    assert_split(&record, OpKind::Write, 16);
    assert_eq!(record.load_points[0].ops.whole(OpKind::Read).errors, 0);
}

/// A WRITE in a signed session of CIFS fits the server's buffer.
#[test]
fn writes_in_a_signed_session_of_cifs_are_split() {
    let Some(samba) = samba(&[ScratchSamba::CIFS, "server signing = auto"]) else {
        return;
    };
    let record = run(
        &samba,
        SIGNED,
        SessionsSpec {
            dialect: Some("cifs".parse().unwrap()),
            sign: Some(Mode::Required),
            ..SessionsSpec::default()
        },
    );
    let split = record.server.split.unwrap();
    assert_eq!((split.read, split.write), (None, Some(16384)));
    assert_split(&record, OpKind::Write, 4);
}
