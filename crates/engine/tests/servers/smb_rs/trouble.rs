//! Faults of a server, and cancels, with the smb-rs driver.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, execute};
use smbench_lab::{
    EmbeddedOptions, EmbeddedServer, Fault, SambaOptions, ScratchSamba, Tool, require,
};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::record::{OperationFailure, Outcome, RunRecord};
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_protocol::NtStatus;

use super::{by_smb_rs, run};
use crate::proxy::{Proxy, Trouble};
use crate::support::{plan, short, target};

fn embedded(fault: Fault) -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions {
        fault,
        ..EmbeddedOptions::default()
    })
    .unwrap()
}

#[test]
fn statuses_and_wrong_data_are_counted_as_with_the_native_driver() {
    let expected = {
        let failing = embedded(Fault::FailReadEvery(10.try_into().unwrap()));
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                ..short().work
            },
            ..short()
        };
        let server = target(&failing.url(), failing.password());
        let record = run(&plan("read-4k", &options, server));
        record.load_points[0]
            .ops
            .failures()
            .keys()
            .copied()
            .collect::<Vec<_>>()
    };
    assert!(matches!(
        expected[..],
        [(OpKind::Read, OperationFailure::Status(status))] if status != NtStatus::SUCCESS
    ));
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(3),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    });
    for (fault, cause) in [
        (Fault::FailReadEvery(10.try_into().unwrap()), expected[0]),
        (
            Fault::FlipByteEvery(10.try_into().unwrap()),
            (OpKind::Read, OperationFailure::WrongData),
        ),
    ] {
        let server = embedded(fault);
        let server = target(&server.url(), server.password());
        let record = run(&plan("read-4k", &options, server));
        assert_eq!(record.outcome, Outcome::Complete);
        let point = &record.load_points[0];
        assert_eq!(point.dropouts, []);
        let reads = point.ops.whole(OpKind::Read);
        assert!(reads.errors > 0);
        assert_eq!(reads.errors, (reads.count + reads.errors) / 10);
        assert_eq!(point.ops.failures().get(&cause), Some(&reads.errors));
    }
}

/// Runs clients whose server fails in the middle of the load.
fn troubled(trouble: Trouble) -> RunRecord {
    let server = embedded(Fault::None);
    // After the small answers of the preparation, during the reads.
    let proxy = Proxy::start(server.address(), trouble, 300_000);
    let mut server = target(&server.url(), server.password());
    server.port = proxy.port();
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("3,4".parse().unwrap()),
            outstanding: Some(2),
            duration: Some(Duration::from_secs(20)),
            ..short().work
        },
        ..short()
    });
    let mut plan = plan("read-4k", &options, server);
    plan.limits = Limits {
        operation: Duration::from_millis(300),
        setup: Duration::from_secs(1),
        ..plan.limits
    };
    let record = run(&plan);
    assert_eq!(record.load_points.len(), 1);
    assert_eq!(record.load_points[0].dropouts.len(), 3);
    assert!(record.load_points[0].ops.whole(OpKind::Read).count > 0);
    record
}

#[test]
fn a_server_that_stalls_is_given_up_after_the_limit() {
    let record = troubled(Trouble::Freeze);
    let reason = &record.load_points[0].dropouts[0].reason;
    assert_eq!(reason, "no answer to a read within 300ms");
    assert!(matches!(record.outcome, Outcome::Aborted(_)));
}

#[test]
fn a_server_that_goes_away_ends_the_run_with_what_was_measured() {
    let record = troubled(Trouble::Cut);
    for dropout in &record.load_points[0].dropouts {
        let reason = &dropout.reason;
        assert!(
            reason == "the server closed the connection" || reason.contains("connection broke"),
            "{reason}"
        );
    }
    let Outcome::Aborted(reason) = &record.outcome else {
        panic!("{:?}", record.outcome);
    };
    assert!(reason.contains("all 3 clients lost 127.0.0.1"), "{reason}");
}

#[test]
fn a_lack_of_credits_is_not_blamed_on_the_server() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions {
        extra_global: vec!["smb2 max credits = 8".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(
        profile.path(),
        "read_percent = 100\n[[sizes]]\nsize = \"1MiB\"\nweight = 100\n",
    )
    .unwrap();
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            ..short().work
        },
        ..short()
    });
    let server = target(&samba.url(), samba.password());
    let mut plan = plan(profile.path().to_str().unwrap(), &options, server);
    plan.limits.operation = Duration::from_millis(300);
    let record = run(&plan);
    let reason = &record.load_points[0].dropouts[0].reason;
    assert!(reason.starts_with("smb-rs ran out of credits"), "{reason}");
}

#[test]
fn a_bit_that_is_flipped_on_the_way_drops_the_client() {
    let server = embedded(Fault::None);
    // Well into the load, so that the flipped bit is most likely in the data of a
    // READ.
    let proxy = Proxy::start(server.address(), Trouble::Flip, 3_000_000);
    let mut server = target(&server.url(), server.password());
    server.port = proxy.port();
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("1".parse().unwrap()),
            duration: Some(Duration::from_secs(20)),
            ..short().work
        },
        ..short()
    });
    let mut plan = plan("read-4k", &options, server);
    plan.limits.operation = Duration::from_secs(1);
    let point = &run(&plan).load_points[0];
    let reason = &point.dropouts[0].reason;
    // In a length or a message id, it means that an answer never arrives.
    assert!(
        reason.starts_with("smb-rs failed: ") || reason.starts_with("no answer"),
        "{reason}"
    );
    assert_eq!(point.ops.errors(), 0);
}

/// Cancels the run in a progress report under load.
struct StopUnderLoad(Cancel);

impl Observer for StopUnderLoad {
    fn progress(&mut self, progress: &Progress) {
        if matches!(progress, Progress::Running { .. }) {
            self.0.cancel();
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

#[test]
fn a_cancelled_run_cleans_up() {
    let server = embedded(Fault::None);
    let options = by_smb_rs(RunOptions {
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            outstanding: Some(4),
            duration: Some(Duration::from_secs(20)),
            ..short().work
        },
        ..short()
    });
    let plan = plan(
        "file-server",
        &options,
        target(&server.url(), server.password()),
    );
    let cancel = Cancel::default();
    let record = execute(&plan, &mut StopUnderLoad(cancel.clone()), &cancel).unwrap();
    assert_eq!(record.outcome, Outcome::Interrupted);
    assert_eq!(record.leftover, None);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}
