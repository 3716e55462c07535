//! Oplocks and leases on real servers: granted, contended for, broken.
//!
//! Few clients contend here, and only for a short time. Samba 4.17 sometimes leaves
//! all clients of a contended file without an answer for seconds, even to a CLOSE,
//! however quickly a break is acknowledged.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::LoadPointRecord;
use smbench_model::sessions::Caching;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::Dialect;

use crate::support::{plan, short, target};

/// Makes a profile file with this mix, on one file.
fn profile(scope: &str, operations: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = format!("[files]\nscope = \"{scope}\"\nsize = \"64KiB\"\n{operations}\n");
    std::fs::write(file.path(), text).unwrap();
    file
}

fn asking(caching: &str, clients: &str, dialect: Dialect) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.parse().unwrap()),
            ..short().work
        },
        sessions: SessionsSpec {
            dialect: Some(dialect.into()),
            oplock: Some(caching.parse().unwrap()),
            ..short().sessions
        },
        ..short()
    }
}

fn measured(plan: &Plan) -> LoadPointRecord {
    let mut record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.leftover, None);
    record.load_points.remove(0)
}

fn run(target: &Target, mix: &tempfile::NamedTempFile, options: &RunOptions) -> LoadPointRecord {
    let plan = plan(mix.path().to_str().unwrap(), options, target.clone());
    let point = measured(&plan);
    let failures = point.ops.failures();
    assert!(failures.is_empty(), "{failures:?}");
    assert!(point.dropouts.is_empty(), "{:?}", point.dropouts);
    point
}

/// A run whose clients use the same file. A client that waits for Samba longer than
/// the operation limit drops out; any other failure fails the test.
fn fight(target: &Target, mix: &tempfile::NamedTempFile, options: &RunOptions) -> LoadPointRecord {
    let mut plan = plan(mix.path().to_str().unwrap(), options, target.clone());
    plan.limits.operation = Duration::from_secs(3);
    let mut record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let point = record.load_points.remove(0);
    let failures = point.ops.failures();
    assert!(failures.is_empty(), "{failures:?}");
    for dropout in &point.dropouts {
        assert!(dropout.reason.starts_with("no answer to a"), "{dropout:?}");
    }
    point
}

/// Repeats such a run until a break occurs. In so short a time the clients may not
/// meet.
fn met(target: &Target, mix: &tempfile::NamedTempFile, options: &RunOptions) -> LoadPointRecord {
    let mut fights = (0..5).map(|_| fight(target, mix, options));
    let met = fights.find(|point| point.ops.caching().breaks > 0);
    met.unwrap_or_else(|| panic!("no break in five fights: {options:?}"))
}

const OPENS: &str = "[[operations]]\nop = \"create\"\nweight = 100";
const OPENS_AND_WRITES: &str = "[[operations]]\nop = \"create\"\nweight = 50\n\
    [[operations]]\nop = \"write\"\nweight = 50\n[[sizes]]\nsize = \"4KiB\"\nweight = 100";

#[test]
fn one_client_is_granted_what_it_asks_for() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    let mix = profile("private", OPENS);
    for (caching, asked) in Caching::ALL {
        if matches!(asked, Caching::DirectoryLease(_)) {
            continue;
        }
        let is_lease = caching.starts_with("lease");
        for dialect in [Dialect::Smb202, Dialect::Smb21, Dialect::Smb311] {
            if is_lease && dialect == Dialect::Smb202 {
                continue;
            }
            let point = run(&target, &mix, &asking(caching, "2", dialect));
            let granted: Vec<_> = point.ops.caching().granted().collect();
            match caching {
                "none" => assert_eq!(granted, []),
                // One for each open.
                _ => {
                    let opens = point.ops.whole(OpKind::Create).count;
                    assert_eq!(granted, [(caching, opens)], "{dialect}");
                }
            }
            assert_eq!(point.ops.caching().breaks, 0);
        }
    }
}

#[test]
fn two_clients_fight_over_one_file() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    let mut all_answered = 0;
    for (caching, operations) in [
        ("exclusive", OPENS),
        ("batch", OPENS),
        ("lease-rw", OPENS),
        ("lease-rwh", OPENS),
        ("lease-rwh", OPENS_AND_WRITES),
        ("lease-rh", OPENS_AND_WRITES),
        ("batch", OPENS_AND_WRITES),
    ] {
        let mix = profile("shared", operations);
        for dialect in [Dialect::Smb21, Dialect::Smb311] {
            let options = asking(caching, "2", dialect);
            let point = met(&target, &mix, &options);
            let breaks = point.ops.caching().breaks;
            let answered = point.ops.whole(OpKind::OplockBreak).count + point.ops.caching().moot;
            assert!(answered <= breaks, "{caching}: {answered} of {breaks}");
            all_answered += answered;
            assert!(point.ops.whole(OpKind::Create).count > 0);
        }
    }
    assert!(all_answered > 0);
}

#[test]
fn breaks_are_answered_under_signatures_and_ciphers() {
    use smbench_model::sessions::Mode;
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    let mix = profile("shared", OPENS);
    let required = Some(Mode::Required);
    for (sign, encrypt) in [(required, None), (None, required)] {
        let options = RunOptions {
            sessions: SessionsSpec {
                sign,
                encrypt,
                ..asking("lease-rwh", "2", Dialect::Smb311).sessions
            },
            ..asking("lease-rwh", "2", Dialect::Smb311)
        };
        met(&target, &mix, &options);
    }
}

/// An acknowledgement takes the only credit and returns it. No client drops out for
/// lack of credits, neither under load nor while others set up.
#[test]
fn one_credit_is_enough_to_agree_and_to_go_on() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    let mix = profile("shared", OPENS_AND_WRITES);
    for caching in ["batch", "lease-rwh"] {
        for outstanding in [1, 4] {
            let options = RunOptions {
                work: WorkSpec {
                    outstanding: Some(outstanding),
                    ..asking(caching, "3", Dialect::Smb311).work
                },
                sessions: SessionsSpec {
                    credits: Some(1),
                    ..asking(caching, "3", Dialect::Smb311).sessions
                },
                ..asking(caching, "3", Dialect::Smb311)
            };
            met(&target, &mix, &options);
        }
    }
}

/// Two sessions of one client share their connections. A break is answered in the
/// session that has the open, on any connection.
#[test]
fn breaks_are_answered_on_connections_that_are_shared() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    for caching in ["batch", "lease-rwh"] {
        let mix = profile("shared", OPENS_AND_WRITES);
        for connections in [1, 2] {
            let options = RunOptions {
                sessions: SessionsSpec {
                    sessions_per_connection: Some(2),
                    connections_per_session: Some(connections),
                    ..asking(caching, "2", Dialect::Smb311).sessions
                },
                ..asking(caching, "2", Dialect::Smb311)
            };
            let point = met(&target, &mix, &options);
            assert_eq!(point.setup.connections, u64::from(connections));
        }
    }
}

#[test]
fn the_embedded_server_grants_leases() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let mix = profile("private", OPENS_AND_WRITES);
    let point = run(&target, &mix, &asking("lease-rh", "2", Dialect::Smb311));
    let granted: Vec<_> = point.ops.caching().granted().collect();
    // The opens of the load, plus one for each client before it.
    let opens = point.ops.whole(OpKind::Create).count + 2;
    assert_eq!(granted, [("lease-rh", opens)]);
}

#[test]
fn leases_need_a_dialect_that_has_them() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let mix = profile("private", OPENS);
    let options = asking("lease-r", "1", Dialect::Smb202);
    let plan = plan(mix.path().to_str().unwrap(), &options, target);
    let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "a lease needs SMB 2.1 or later, but 2.0.2 was agreed on with {}/bench; see dialect",
            server.address()
        )
    );
}

const LISTS: &str = "[[operations]]\nop = \"list\"\nweight = 100";
const LISTS_AND_COPIES: &str = "[[operations]]\nop = \"list\"\nweight = 80\n\
    [[operations]]\nop = \"copy_in\"\nweight = 20";

#[test]
fn a_server_without_leases_on_directories_is_refused_before_the_load() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let mix = profile("shared", LISTS);
    for (dialect, expected) in [
        (Dialect::Smb311, "grants no leases on directories"),
        (
            Dialect::Smb21,
            "a lease on a directory needs SMB 3.0 or later",
        ),
    ] {
        let options = asking("dir-lease-rh", "1", dialect);
        let plan = plan(mix.path().to_str().unwrap(), &options, target.clone());
        let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}

/// The installed Samba may have no such leases. It must say so then.
#[test]
fn listings_are_answered_from_memory_until_a_change_breaks_their_lease() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    for (operations, has_changes) in [(LISTS, false), (LISTS_AND_COPIES, true)] {
        let mix = profile("shared", operations);
        let options = asking("dir-lease-rh", "2", Dialect::Smb311);
        let plan = plan(mix.path().to_str().unwrap(), &options, target.clone());
        let mut record = match execute(&plan, &mut Unobserved, &Cancel::default()) {
            Ok(record) => record,
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("grants no leases on directories"), "{error}");
                return;
            }
        };
        let point = record.load_points.remove(0);
        let failures = point.ops.failures();
        assert!(failures.is_empty(), "{failures:?}");
        let (ops, caching) = (&point.ops, point.ops.caching());
        assert!(ops.whole(OpKind::ListCached).count > 0);
        assert!(caching.kept > 0 && caching.ended <= caching.kept);
        if has_changes {
            assert!(caching.breaks > 0 && ops.whole(OpKind::ListBreak).count <= caching.breaks);
        } else {
            // Each client lists once.
            assert_eq!((ops.whole(OpKind::List).count, caching.breaks), (2, 0));
            assert_eq!((caching.kept, caching.ended, caching.stale), (2, 0, 0));
        }
    }
}
