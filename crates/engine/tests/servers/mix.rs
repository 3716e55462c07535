//! Mixes of any commands: servers carry them out, nothing is left behind, and
//! refusals are counted by kind and NTSTATUS.

use std::collections::BTreeMap;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Tool, require};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::{LoadPointRecord, OperationFailure, Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::{Dialect, NtStatus};

use crate::support::{assert_undisturbed, plan, short, target};

/// Maximum number of runs, each longer than the one before, until every kind has
/// occurred. The rarest kinds are one in a hundred, and machines differ.
const RUNS_MAX: u32 = 5;

fn options() -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            outstanding: Some(4),
            duration: Some(Duration::from_millis(700)),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    }
}

/// Makes a profile in a file that lives as long as the value.
fn profile_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn plan_of(text: &str, options: &RunOptions, server: &Target) -> Plan {
    let file = profile_file(text);
    plan(file.path().to_str().unwrap(), options, server.clone())
}

/// Returns the built-in profile of every command, without those that `dialect`
/// lacks.
fn every_command(dialect: Dialect) -> String {
    let text = profile::builtin("all-commands").unwrap();
    match dialect {
        Dialect::Cifs => unreachable!("the matrix is of SMB2"),
        Dialect::Smb202 | Dialect::Smb21 => text.replace("query_interfaces", "echo"),
        // The built-in profile cannot contain this command, because only these
        // dialects have it.
        Dialect::Smb30 | Dialect::Smb302 => {
            text.replace("op = \"echo\"", "op = \"validate_negotiate\"")
        }
        Dialect::Smb311 => text.into_owned(),
    }
}

fn run(plan: &Plan) -> RunRecord {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    assert_eq!(record.load_points.len(), 1);
    assert_eq!(record.load_points[0].dropouts, []);
    record
}

/// Repeats the run, longer each time, until every kind of the plan has occurred.
fn run_all_kinds(mut plan: Plan) -> RunRecord {
    for _ in 0..RUNS_MAX {
        let record = run(&plan);
        let ops = &record.load_points[0].ops;
        let occurred = |kind: &OpKind| ops.whole(*kind).count + ops.whole(*kind).errors > 0;
        if plan.only().workload.kinds().iter().all(occurred) {
            return record;
        }
        plan.work.duration *= 2;
    }
    panic!("some kind never occurred in {RUNS_MAX} runs");
}

/// Returns the number of failures of each kind and cause.
fn failures(point: &LoadPointRecord) -> BTreeMap<(OpKind, OperationFailure), u64> {
    point.ops.failures().clone()
}

#[test]
fn samba_does_every_command_in_every_dialect_however_protected() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let server = target(&samba.url(), samba.password());
    for (dialect, sign, encrypt) in [
        (Dialect::Smb202, Mode::Off, Mode::Off),
        (Dialect::Smb21, Mode::Required, Mode::Off),
        (Dialect::Smb30, Mode::Off, Mode::Required),
        (Dialect::Smb302, Mode::Required, Mode::Off),
        (Dialect::Smb311, Mode::Off, Mode::Off),
        (Dialect::Smb311, Mode::Required, Mode::Off),
        (Dialect::Smb311, Mode::Auto, Mode::Required),
    ] {
        let options = RunOptions {
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                sign: Some(sign),
                encrypt: Some(encrypt),
                ..options().sessions
            },
            ..options()
        };
        let record = run_all_kinds(plan_of(&every_command(dialect), &options, &server));
        assert_eq!(record.server.dialect, Some(dialect));
        let point = &record.load_points[0];
        assert_eq!(
            failures(point),
            BTreeMap::new(),
            "{dialect} {sign:?} {encrypt:?}"
        );
        for kind in record.plan.only().workload.kinds() {
            assert!(
                point.ops.whole(kind).count > 0,
                "{dialect}: {}",
                kind.name()
            );
        }
        let left: Vec<_> = std::fs::read_dir(samba.data_dir()).unwrap().collect();
        assert_eq!(left.len(), 0, "{left:?}");
    }
}

/// A server refuses an output buffer beyond its MaxTransactSize.
#[test]
fn every_command_keeps_to_a_small_largest_transaction() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions {
        extra_global: vec!["smb2 max trans = 2048".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let server = target(&samba.url(), samba.password());
    let every = every_command(Dialect::Smb311);
    let record = run_all_kinds(plan_of(&every, &options(), &server));
    assert_eq!(record.server.max_transact, 2048);
    assert_eq!(failures(&record.load_points[0]), BTreeMap::new());
}

#[test]
fn what_the_embedded_server_lacks_is_counted_by_status() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan = plan(
        "all-commands",
        &options(),
        target(&server.url(), server.password()),
    );
    let record = run_all_kinds(plan);
    let point = &record.load_points[0];
    let lacking = [
        (OpKind::QuerySecurity, NtStatus::INVALID_DEVICE_REQUEST),
        (OpKind::SetSecurity, NtStatus::NOT_SUPPORTED),
        (OpKind::CopyChunk, NtStatus::NOT_SUPPORTED),
        (OpKind::QueryInterfaces, NtStatus::NOT_SUPPORTED),
    ];
    let causes: Vec<_> = point.ops.failures().keys().copied().collect();
    let expected = lacking.map(|(kind, status)| (kind, OperationFailure::Status(status)));
    assert_eq!(causes, expected);
    for kind in record.plan.only().workload.kinds() {
        let whole = point.ops.whole(kind);
        let lacks = lacking.iter().any(|(other, _)| *other == kind);
        assert_eq!(whole.count == 0, lacks, "{}", kind.name());
        assert_eq!(whole.errors > 0, lacks, "{}", kind.name());
    }
    // A chain closes its file even if a request in the middle fails.
    let (create, close) = (OpKind::Create, OpKind::Close);
    assert_eq!(point.ops.whole(create), point.ops.whole(close));
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

#[test]
fn metadata_runs_clean_on_both_servers() {
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut servers = vec![target(&embedded.url(), embedded.password())];
    let samba = ScratchSamba::or_skip(SambaOptions::default());
    servers.extend(
        samba
            .iter()
            .map(|samba| target(&samba.url(), samba.password())),
    );
    for server in servers {
        let record = run_all_kinds(plan("metadata", &options(), server));
        assert_eq!(failures(&record.load_points[0]), BTreeMap::new());
    }
    assert_eq!(embedded.memory().paths(), Vec::<String>::new());
}

#[test]
fn a_server_that_grants_few_credits_gets_every_chain_to_its_end() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        sessions: SessionsSpec {
            // As many credits as the costliest frame takes, so that slots wait in turn.
            credits: Some(3),
            ..options().sessions
        },
        ..options()
    };
    let plan = plan(
        "metadata",
        &options,
        target(&server.url(), server.password()),
    );
    let record = run_all_kinds(plan);
    let point = &record.load_points[0];
    assert_eq!(failures(point), BTreeMap::new());
    assert_eq!(
        point.ops.whole(OpKind::Create),
        point.ops.whole(OpKind::Close)
    );
}

#[test]
fn locks_that_meet_are_refused_and_those_that_hold_are_let_go() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let text = "[files]\nscope = \"shared\"\nsize = \"4KiB\"\n\
                [[sizes]]\nsize = \"4KiB\"\nweight = 100\n\
                [[operations]]\nop = \"lock\"\nexclusive = true\nweight = 100\n";
    let target = target(&server.url(), server.password());
    let record = run(&plan_of(text, &options(), &target));
    let point = &record.load_points[0];
    let causes: Vec<_> = failures(point).into_keys().collect();
    let refused = OperationFailure::Status(NtStatus::LOCK_NOT_GRANTED);
    assert_eq!(causes, [(OpKind::Lock, refused)]);
    let locks = point.ops.whole(OpKind::Lock).count;
    assert!(locks > 0);
    assert_eq!(point.ops.whole(OpKind::Unlock).count, locks);
}

#[test]
fn names_that_the_server_refuses_are_counted_and_reads_go_on() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    // As on a share where this user may read but not create files.
    let samba = ScratchSamba::start(SambaOptions {
        extra_share: vec!["veto files = /*.tmp/".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let text = "[[sizes]]\nsize = \"4KiB\"\nweight = 100\n\
                [[operations]]\nop = \"read\"\nweight = 70\n\
                [[operations]]\nop = \"create\"\ndisposition = \"create\"\nweight = 10\n\
                [[operations]]\nop = \"set_info\"\nclass = \"rename\"\nweight = 10\n\
                [[operations]]\nop = \"copy_chunk\"\nweight = 10\n";
    let target = target(&samba.url(), samba.password());
    let record = run(&plan_of(text, &options(), &target));
    let point = &record.load_points[0];
    assert!(point.ops.whole(OpKind::Read).count > 0);
    assert_eq!(point.ops.whole(OpKind::Read).errors, 0);
    let causes: Vec<_> = failures(point).into_keys().collect();
    let refused = OperationFailure::Status(NtStatus::OBJECT_NAME_NOT_FOUND);
    assert_eq!(causes, [(OpKind::Create, refused)]);
    // A file that was not opened is neither used nor closed.
    for kind in [OpKind::Rename, OpKind::CopyChunk, OpKind::Close] {
        let whole = point.ops.whole(kind);
        assert_eq!((whole.count, whole.errors), (0, 0), "{}", kind.name());
    }
    assert!(point.invalid.is_some());
}

/// Further sessions are set up and ended on the clients' connections, together with
/// other operations.
#[test]
fn log_ons_are_operations_like_others() {
    const TEXT: &str = "[[sizes]]\nsize = \"4KiB\"\nweight = 100\n[files]\nsize = \"64KiB\"\n\
        [[operations]]\nop = \"read\"\nweight = 50\n[[operations]]\nop = \"log_on\"\nweight = 50\n";
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut servers = vec![(target(&embedded.url(), embedded.password()), 1)];
    let samba = ScratchSamba::or_skip(SambaOptions::default());
    let of_samba = |samba: &ScratchSamba| (target(&samba.url(), samba.password()), 2);
    servers.extend(samba.iter().map(of_samba));
    for (server, connections) in servers {
        for (sign, encrypt) in [
            (Mode::Auto, Mode::Auto),
            (Mode::Required, Mode::Off),
            (Mode::Auto, Mode::Required),
        ] {
            for (sessions, connections, credits) in
                [(1, 1, None), (2, 1, Some(1)), (2, connections, None)]
            {
                let options = RunOptions {
                    sessions: SessionsSpec {
                        sign: Some(sign),
                        encrypt: Some(encrypt),
                        sessions_per_connection: Some(sessions),
                        connections_per_session: Some(connections),
                        credits,
                        ..options().sessions
                    },
                    ..options()
                };
                let record = run(&plan_of(TEXT, &options, &server));
                let point = &record.load_points[0];
                assert_eq!(failures(point), BTreeMap::new());
                let count = |kind| point.ops.whole(kind).count;
                assert!(count(OpKind::LogOn) > 0 && count(OpKind::Read) > 0);
                assert_eq!(count(OpKind::LogOn), count(OpKind::LogOff));
            }
        }
    }
}

#[test]
fn a_mix_without_files_needs_none() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let text = "operations = [{ op = \"echo\", weight = 100 }]";
    let record = run(&plan_of(text, &options(), &target));
    let point = &record.load_points[0];
    assert_undisturbed(point);
    assert!(point.ops.whole(OpKind::Echo).count > 0);
    assert_eq!(server.memory().counts().writes, 0);
}

#[test]
fn a_server_that_takes_no_further_connection_is_not_taken_for_another_one() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        max_connections: Some(2),
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let target = target(&server.url(), server.password());
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            ..options().work
        },
        ..options()
    };
    let text = "operations = [{ op = \"echo\", weight = 100 }]";
    let plan = plan_of(text, &options, &target);
    let ended = execute(&plan, &mut Unobserved, &Cancel::default());
    let told = ended.map_or_else(|error| error.to_string(), |record| format!("{record:?}"));
    assert!(told.contains("it takes no further connection"), "{told}");
}
