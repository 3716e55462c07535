//! Servers that give false answers, stall or go away under load.

use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, Fault, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::record::{OperationFailure, Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::Dialect;

use crate::proxy::{Proxy, Trouble};
use crate::support::{assert_undisturbed, plan, short, target};

fn embedded(fault: Fault) -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions {
        fault,
        ..EmbeddedOptions::default()
    })
    .unwrap()
}

fn run(plan: &Plan) -> RunRecord {
    execute(plan, &mut Unobserved, &Cancel::default()).unwrap()
}

fn failures(record: &RunRecord, kind: OpKind, failure: OperationFailure) -> u64 {
    let failures = record.load_points[0].ops.failures();
    failures.get(&(kind, failure)).copied().unwrap_or(0)
}

#[test]
fn verification_catches_a_flipped_byte() {
    let server = embedded(Fault::FlipByteEvery(NonZeroU64::new(50).unwrap()));
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let record = run(&plan("file-server", &options, target));
    let point = &record.load_points[0];
    let reads = point.ops.whole(OpKind::Read);
    let wrong = failures(&record, OpKind::Read, OperationFailure::WrongData);
    assert_eq!(wrong, (reads.count + reads.errors) / 50);
    assert!(wrong > 0);
    assert_eq!(reads.errors, wrong);
    let reason = point.invalid.as_deref().unwrap();
    assert!(reason.contains("wrong data first at client"), "{reason}");
}

#[test]
fn verification_catches_a_lost_write() {
    let server = embedded(Fault::LoseWriteEvery(NonZeroU64::new(3).unwrap()));
    // Few blocks, so that lost data is soon read again. The preparation writes each
    // file in one request, so none of its writes is the third.
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            file_size: Some("64KiB".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let record = run(&plan("file-server", &options, target));
    assert!(failures(&record, OpKind::Read, OperationFailure::WrongData) > 0);
}

#[test]
fn without_verification_nobody_looks_at_the_data() {
    let server = embedded(Fault::FlipByteEvery(NonZeroU64::new(2).unwrap()));
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            ..short().work
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let record = run(&plan("file-server", &options, target));
    assert_undisturbed(&record.load_points[0]);
}

#[test]
fn error_statuses_are_counted_by_operation_and_end_nothing() {
    use smbench_protocol::NtStatus;
    let server = embedded(Fault::FailReadEvery(NonZeroU64::new(10).unwrap()));
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            ..short().work
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let record = run(&plan("read-4k", &options, target));
    assert_eq!(record.outcome, Outcome::Complete);
    let point = &record.load_points[0];
    let reads = point.ops.whole(OpKind::Read);
    assert_eq!(reads.errors, (reads.count + reads.errors) / 10);
    let by_status: u64 = point
        .ops
        .failures()
        .iter()
        .filter(|((kind, failure), _)| {
            *kind == OpKind::Read
                && matches!(failure, OperationFailure::Status(status) if *status != NtStatus::SUCCESS)
        })
        .map(|(_, count)| count)
        .sum();
    assert_eq!(by_status, reads.errors);
    assert!(point.invalid.is_some());
}

/// Makes a plan whose clients reach `server` through a failing relay.
fn troubled(server: &EmbeddedServer, trouble: Trouble) -> (Plan, Proxy) {
    // After the small answers of the preparation, during the reads.
    let proxy = Proxy::start(server.address(), trouble, 300_000);
    let mut target = target(&server.url(), server.password());
    target.port = proxy.port();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("3,4".parse().unwrap()),
            duration: Some(Duration::from_secs(20)),
            ..short().work
        },
        ..short()
    };
    let mut plan = plan("read-4k", &options, target);
    plan.limits = Limits {
        operation: Duration::from_millis(300),
        setup: Duration::from_secs(1),
        ..plan.limits
    };
    (plan, proxy)
}

#[test]
fn a_server_that_stalls_is_given_up_after_the_limit() {
    let server = embedded(Fault::None);
    let (plan, _proxy) = troubled(&server, Trouble::Freeze);
    let record = run(&plan);
    assert_eq!(record.load_points.len(), 1);
    let point = &record.load_points[0];
    assert_eq!(point.dropouts.len(), 3);
    assert_eq!(point.dropouts[0].reason, "no answer to a read within 300ms");
    assert!(point.ops.whole(OpKind::Read).count > 0);
    assert!(matches!(record.outcome, Outcome::Aborted(_)));
    assert!(record.leftover.is_some());
}

#[test]
fn a_server_that_goes_away_ends_the_run_with_what_was_measured() {
    let server = embedded(Fault::None);
    let (plan, _proxy) = troubled(&server, Trouble::Cut);
    let record = run(&plan);
    assert_eq!(record.load_points.len(), 1);
    let point = &record.load_points[0];
    assert_eq!(point.dropouts.len(), 3);
    assert!(point.window < plan.work.duration);
    assert!(point.ops.whole(OpKind::Read).count > 0);
    let Outcome::Aborted(reason) = &record.outcome else {
        panic!("{:?}", record.outcome);
    };
    assert!(reason.contains("all 3 clients lost 127.0.0.1"), "{reason}");
}

/// Cancels the run in a progress report of the second load point.
struct StopInSecondPoint(Cancel);

impl Observer for StopInSecondPoint {
    fn progress(&mut self, progress: &Progress) {
        if matches!(progress, Progress::Running { point, .. } if point.number == 2) {
            self.0.cancel();
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

#[test]
fn a_cancelled_run_keeps_its_points_and_cleans_up() {
    let server = embedded(Fault::None);
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2,3".parse().unwrap()),
            duration: Some(Duration::from_secs(2)),
            ..short().work
        },
        ..short()
    };
    let plan = plan(
        "file-server",
        &options,
        target(&server.url(), server.password()),
    );
    let cancel = Cancel::default();
    let record = execute(&plan, &mut StopInSecondPoint(cancel.clone()), &cancel).unwrap();
    assert_eq!(record.outcome, Outcome::Interrupted);
    assert_eq!(record.load_points[0].invalid, None);
    let reason = record.load_points[1].invalid.as_deref().unwrap();
    assert!(reason.starts_with("interrupted "), "{reason}");
    assert_eq!(record.leftover, None);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

/// Removes what the run has on the share, once its first load point has ended.
struct RemoveFiles {
    share: PathBuf,
    whole: bool,
}

impl Observer for RemoveFiles {
    fn progress(&mut self, _: &Progress) {}

    fn load_point_ended(&mut self, _: &RunRecord) {
        let directory = only_entry(&self.share);
        if self.whole {
            return fs::remove_dir_all(directory).unwrap();
        }
        fs::remove_file(directory.join("c00000-f000.dat")).unwrap();
    }
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    entries.next().unwrap().unwrap().path()
}

#[test]
fn files_that_somebody_removes_are_not_blamed_on_the_url() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    for (whole, what) in [(false, "it"), (true, "its directory")] {
        let mut observer = RemoveFiles {
            share: samba.data_dir(),
            whole,
        };
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("1,2".parse().unwrap()),
                ..short().work
            },
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        let plan = plan("file-server", &options, target);
        let record = execute(&plan, &mut observer, &Cancel::default()).unwrap();
        assert_eq!(record.load_points.len(), 1);
        assert_undisturbed(&record.load_points[0]);
        let Outcome::Aborted(reason) = &record.outcome else {
            panic!("{:?}", record.outcome);
        };
        let expected = format!("; another client removed {what}, or the server hides such names");
        assert!(reason.contains(&expected), "{reason}");
        assert_eq!(record.leftover, None);
    }
}

/// A server that hides the names of smbench's directories is not blamed on the URL alone.
#[test]
fn a_hidden_name_of_the_directory_is_a_possible_cause() {
    let options = SambaOptions {
        extra_share: vec!["veto files = /smbench-*/".to_owned()],
        ..SambaOptions::default()
    };
    let Some(samba) = ScratchSamba::or_skip(options) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    let plan = plan("file-server", &short(), target);
    let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("veto files"), "{message}");
}

#[test]
fn a_lack_of_credits_names_the_credits_of_the_largest_operation() {
    let options = SambaOptions {
        extra_global: vec!["smb2 max credits = 8".to_owned()],
        ..SambaOptions::default()
    };
    let Some(samba) = ScratchSamba::or_skip(options) else {
        return;
    };
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = "read_percent = 100\n[[sizes]]\nsize = \"1MiB\"\nweight = 100\n";
    fs::write(profile.path(), text).unwrap();
    let target = target(&samba.url(), samba.password());
    let record = run(&plan(profile.path().to_str().unwrap(), &short(), target));
    let reason = &record.load_points[0].dropouts[0].reason;
    assert!(
        reason.contains("its largest operation costs 16, one for each 64 KiB"),
        "{reason}"
    );
}

#[test]
fn a_missing_interface_of_an_address_is_named() {
    let target = target("smb://u@[fe80::1%nosuch]/s", "pw");
    let plan = plan("file-server", &short(), target);
    let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
    let message = error.to_string();
    let expected = "this machine has no interface 'nosuch'";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_tampered_negotiation_is_noticed() {
    // The flipped bit is in the server's GUID, which no other check covers. Length
    // prefix, header, and eight bytes of the NEGOTIATE response precede it.
    const SERVER_GUID: u64 = 4 + 64 + 8;
    let server = embedded(Fault::None);
    for (dialect, reason) in [
        (Dialect::Smb30, "tampered with the negotiation"),
        (Dialect::Smb302, "tampered with the negotiation"),
        (Dialect::Smb311, "signature is missing or wrong"),
    ] {
        for (sign, encrypt) in [(Mode::Off, Mode::Off), (Mode::Off, Mode::Required)] {
            let options = RunOptions {
                sessions: SessionsSpec {
                    dialect: Some(dialect.into()),
                    sign: Some(sign),
                    encrypt: Some(encrypt),
                    ..short().sessions
                },
                ..short()
            };
            let proxy = Proxy::start(server.address(), Trouble::Flip, SERVER_GUID);
            let mut target = target(&server.url(), server.password());
            target.port = proxy.port();
            let plan = plan("file-server", &options, target);
            let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(reason), "{dialect}: {text}");
        }
    }
}
