//! Replays of loadfiles on a scratch Samba. The recorded operations are carried
//! out, differences are counted and end nothing, and nothing is left on the share.

mod captures;
mod cifs;
mod closure;
mod details;
mod differences;
mod remains;
mod strangers;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_formats::loadfile::Unknown;
use smbench_formats::{loadfile, profile};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{LoadPointRecord, Outcome, RunRecord};
use smbench_model::spec::{GeneratorSpec, SessionsSpec, WorkSpec};
use smbench_model::spec::{RunOptions, Spec};
use smbench_model::target::Target;
use smbench_model::trace::{Recording, Verb};
use smbench_model::workload::Timing;

use crate::support::target;

/// Installed by Debian's dbench; the file is not ours to copy.
const CLIENT_TXT: &str = "/usr/share/dbench/client.txt";
/// Number of its lines that are replayed; they have every verb except those at the
/// end of the file.
const LINES: usize = 12_000;

pub(crate) fn profile_of(loadfile: &str) -> Profile {
    let trace = loadfile::parse("my.txt", loadfile.as_bytes(), Unknown::Refuse).unwrap();
    Profile {
        recording: Some(Arc::new(trace.into())),
        ..Profile::from_spec("my", Spec::default())
    }
}

pub(crate) fn options(clients: &str, loops: u32) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.parse().unwrap()),
            loops: Some(loops),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(2),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

fn plan(profile: &Profile, options: &RunOptions, samba: &ScratchSamba) -> Plan {
    let target: Target = target(&samba.url(), samba.password());
    Plan::resolve(profile, options, target, Limits::default(), 2).unwrap()
}

fn run(plan: &Plan) -> RunRecord {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    record
}

fn is_clean(samba: &ScratchSamba) -> bool {
    std::fs::read_dir(samba.data_dir())
        .unwrap()
        .next()
        .is_none()
}

fn counts(point: &LoadPointRecord) -> BTreeMap<OpKind, u64> {
    let counted = OpKind::ALL.map(|kind| (kind, point.ops.whole(kind).count));
    counted
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn recorded(summary: &BTreeMap<Verb, u64>, times: u64) -> BTreeMap<OpKind, u64> {
    let of_kind = |(verb, count): (&Verb, &u64)| Some((verb.kind()?, count * times));
    summary.iter().filter_map(of_kind).collect()
}

#[test]
fn debians_client_txt_goes_as_recorded_on_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    if let Err(skip) = require(&[Tool::new("dbench", "dbench")]) {
        return eprintln!("{skip}");
    }
    let file = BufReader::new(std::fs::File::open(CLIENT_TXT).unwrap());
    let lines = file.lines().take(LINES).map(|line| line.unwrap() + "\n");
    let profile = profile_of(&lines.collect::<String>());
    let trace = Arc::clone(profile.recording.as_ref().unwrap());
    let summary = trace.summary();
    let record = run(&plan(&profile, &options("1", 1), &samba));
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    // Exactly the recorded number of each kind, each with the recorded status.
    assert_eq!(point.ops.differences(), &BTreeMap::new());
    let mut expected = recorded(&summary.operations, 1);
    // Files still open at the last line are closed.
    *expected.get_mut(&OpKind::Close).unwrap() += summary.closed;
    assert_eq!(counts(point), expected);
    assert_eq!(point.ops.whole(OpKind::Read).bytes, summary.bytes_read);
    assert_eq!(point.ops.whole(OpKind::Write).bytes, summary.bytes_written);
    // All operations are in the window.
    assert_eq!(
        point.ops.window(OpKind::Create).count(),
        expected[&OpKind::Create]
    );
    assert!(is_clean(&samba));
}

/// A client that creates all files it needs, and leaves none open.
pub(crate) const TIDY: &str = r#"
Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\DIR" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\DIR\one.doc" 0x40 0x1 1 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\DIR\one.doc" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 65536 65536 NT_STATUS_OK
WriteX 1 65536 1 1 NT_STATUS_OK
Flush 1 NT_STATUS_OK
ReadX 1 1 65536 65536 NT_STATUS_OK
ReadX 1 65536 4096 1 NT_STATUS_OK
ReadX 1 99999 4096 0 NT_STATUS_OK
LockX 1 2147483538 1 NT_STATUS_OK
UnlockX 1 2147483538 1 NT_STATUS_OK
UnlockX 1 2147483538 1 NT_STATUS_RANGE_NOT_LOCKED
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 263 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 1034 NT_STATUS_OK
SET_FILE_INFORMATION 1 1004 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
SET_FILE_INFORMATION 1 258 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\DIR\one.doc" 1004 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\DIR\one.doc" 1035 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\DIR\two.doc" 257 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_PATH_INFORMATION "\clients\client1\NO\two.doc" 1004 NT_STATUS_OBJECT_PATH_NOT_FOUND
QUERY_FS_INFORMATION 1 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
FIND_FIRST "\clients\client1\DIR\*" 260 1366 3 NT_STATUS_OK
FIND_FIRST "\clients\client1\DIR\*" 260 1 1 NT_STATUS_OK
FIND_FIRST "\clients\client1\DIR\<.JNK" 260 1366 0 NT_STATUS_NO_SUCH_FILE
Rename "\clients\client1\DIR\one.doc" "\clients\client1\DIR\two.doc" NT_STATUS_OK
Rename "\clients\client1\DIR\one.doc" "\clients\client1\DIR\two.doc" NT_STATUS_OBJECT_NAME_NOT_FOUND
Unlink "\clients\client1\DIR\one.doc" 0x6 NT_STATUS_OBJECT_NAME_NOT_FOUND
Unlink "\clients\client1\DIR\two.doc" 0x6 NT_STATUS_OK
Mkdir "\clients\client1\DIR\sub" NT_STATUS_OK
Mkdir "\clients\client1\DIR\sub" NT_STATUS_OBJECT_NAME_COLLISION
Sleep 1000 NT_STATUS_OK
Mkdir "\clients\client1\DIR\sub\sub" NT_STATUS_OK
Mkdir "\clients\client1\DIR\gone" NT_STATUS_OK
Rmdir "\clients\client1\DIR\gone" NT_STATUS_OK
NTCreateX "\clients\client1\DIR\sub\three.doc" 0x40 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
Close 1 NT_STATUS_FILE_CLOSED
Deltree "\clients\client1" NT_STATUS_OK
Deltree "\clients\client1" NT_STATUS_OK
"#;

#[test]
fn every_verb_goes_as_recorded_for_clients_side_by_side_over_and_over() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let profile = profile_of(TIDY);
    let trace = profile.recording.as_ref().unwrap();
    for oplock in [None, Some("batch"), Some("lease-rwh")] {
        let options = RunOptions {
            sessions: SessionsSpec {
                oplock: oplock.map(|name| name.parse().unwrap()),
                ..options("1,3", 4).sessions
            },
            ..options("1,3", 4)
        };
        let record = run(&plan(&profile, &options, &samba));
        for point in &record.load_points {
            assert_eq!(point.invalid, None);
            assert_eq!(point.ops.differences(), &BTreeMap::new(), "{oplock:?}");
            let times = u64::from(point.clients) * 4;
            assert_eq!(counts(point), recorded(&trace.summary().operations, times));
            let granted: u64 = point.ops.caching().granted().map(|(_, opens)| opens).sum();
            // Two files are opened; directories request no oplock.
            assert_eq!(granted, if oplock.is_some() { 2 * times } else { 0 });
        }
        assert!(is_clean(&samba));
    }
}

#[test]
fn what_a_file_expects_is_there_at_every_load_point() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let profile = profile_of(
        r#"
NTCreateX "\shared\common.doc" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\a\b.doc" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 200000 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
Unlink "\clients\client1\a\b.doc" 0x6 NT_STATUS_OK
NTCreateX "\clients\client1\D" 0x1 0x3 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\D\x" 0x40 0x1 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\either.doc" 0x40 0x3 1 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\anew.doc" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 65536 65536 NT_STATUS_OK
Close 1 NT_STATUS_OK
Unlink "\clients\client1\anew.doc" 0x6 NT_STATUS_OK
NTCreateX "\clients\client1\anew.doc" 0x40 0x2 1 NT_STATUS_OK
SET_FILE_INFORMATION 1 1020 NT_STATUS_OK
ReadX 1 0 4096 0 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\left.doc" 0x40 0x2 1 NT_STATUS_OK
"#,
    );
    // Files left by one load point would change the results of the next.
    let record = run(&plan(&profile, &options("2,3", 1), &samba));
    assert_eq!(record.load_points.len(), 2);
    for point in &record.load_points {
        assert_eq!(point.invalid, None);
        assert_eq!(point.ops.differences(), &BTreeMap::new());
    }
    assert!(is_clean(&samba));
}

#[test]
fn files_that_are_called_after_their_client_are_made_anew_at_every_load_point() {
    let profile = profile_of(
        r#"
NTCreateX "\clients\client1.dat" 0x40 0x5 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1.old" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
WriteX 1 4096 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
"#,
    );
    let points = |url: &str, password: &str| {
        let target: Target = target(url, password);
        let options = options("1,2", 1);
        run(&Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap()).load_points
    };
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut of_all = vec![points(&embedded.url(), embedded.password())];
    assert_eq!(embedded.memory().paths(), Vec::<String>::new());
    if let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) {
        of_all.push(points(&samba.url(), samba.password()));
        assert!(is_clean(&samba));
    }
    for points in of_all {
        assert_eq!(points.len(), 2);
        for point in &points {
            assert_eq!(point.invalid, None);
            assert_eq!(point.ops.differences(), &BTreeMap::new());
        }
    }
}

/// Three clients of two tracks: the first and the third replay the first track.
#[test]
fn each_client_replays_its_track_of_a_recording() {
    let parse = |text: &str| loadfile::parse("my.txt", text.as_bytes(), Unknown::Refuse).unwrap();
    let tracks = [
        r#"
NTCreateX "\clients\client1.dat" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
"#,
        r#"
Mkdir "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x2 1 NT_STATUS_OK
NTCreateX "\clients\client1\b" 0x40 0x2 2 NT_STATUS_OK
WriteX 2 0 65536 65536 NT_STATUS_OK
Close 1 NT_STATUS_OK
Close 2 NT_STATUS_OK
Deltree "\clients\client1" NT_STATUS_OK
"#,
    ];
    let recording = Recording::new(tracks.map(parse).into()).unwrap();
    let profile = Profile {
        recording: Some(Arc::new(recording)),
        ..Profile::from_spec("my", Spec::default())
    };
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&embedded.url(), embedded.password());
    let options = options("3", 5);
    let record = run(&Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap());
    assert_eq!(embedded.memory().paths(), Vec::<String>::new());
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.differences(), &BTreeMap::new());
    let expected = [
        (OpKind::Read, 10),
        (OpKind::Write, 5),
        (OpKind::Create, 20),
        (OpKind::Close, 20),
        (OpKind::Mkdir, 5),
        (OpKind::Deltree, 5),
    ];
    assert_eq!(counts(point), expected.into());
}

#[test]
fn operations_wait_for_the_instants_that_were_recorded() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let profile = profile_of(
        r#"
100.0 NTCreateX "\clients\client1\a" 0x40 0x3 1 NT_STATUS_OK
100.1 WriteX 1 0 1000 1000 NT_STATUS_OK
100.2 WriteX 1 0 1000 1000 NT_STATUS_OK
100.4 Close 1 NT_STATUS_OK
"#,
    );
    let options = RunOptions {
        work: WorkSpec {
            timing: Some(Timing::Recorded),
            ..options("2", 2).work
        },
        ..options("2", 2)
    };
    let record = run(&plan(&profile, &options, &samba));
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.differences(), &BTreeMap::new());
    assert_eq!(point.punctuality.due, 2 * 2 * 4);
    assert_eq!(point.punctuality.dropped, 0);
    // On any machine, never before they are due.
    assert!(
        point.window >= Duration::from_millis(800),
        "{:?}",
        point.window
    );
    assert!(is_clean(&samba));
}

#[test]
fn office_clients_go_as_made_up() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    for name in ["netbench-like", "netbench-like-oplocks"] {
        let profile = profile::load(name).unwrap();
        let options = RunOptions {
            work: WorkSpec {
                loops: None,
                duration: Some(Duration::from_secs(2)),
                ramp_up: Some(Duration::ZERO),
                ..options("2", 1).work
            },
            ..options("2", 1)
        };
        let record = run(&plan(&profile, &options, &samba));
        let point = &record.load_points[0];
        assert_eq!(point.invalid, None, "{name}");
        assert_eq!(point.ops.differences(), &BTreeMap::new(), "{name}");
        assert!(is_clean(&samba));
    }
}
