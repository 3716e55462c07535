//! Log-ons under load: refused, without a share, with too few credits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use smbench_model::kind::OpKind;
use smbench_model::record::OperationFailure;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::NtStatus;
use smbench_protocol::header::{Command, Flags, Header};

use super::forge::{CREDITS, FLAGS, STATUS, with};
use super::load::plain;
use super::relay::{Answer, Of, Reaction};
use super::{Case, End, check};

/// The client's own session continues when a further one is refused.
#[test]
fn log_ons_that_are_refused_are_counted() {
    let profile = profile_of("[[operations]]\nop = \"log_on\"\nweight = 100\n");
    let refused = NtStatus::LOGON_FAILURE;
    let cases = [
        Case {
            name: "no further session, under load",
            of: Of::Command(Command::SessionSetup),
            script: |Answer { message, nth, .. }| match nth {
                // Long after the log-ons of the clients themselves.
                60.. => {
                    let status = NtStatus::LOGON_FAILURE.0.to_le_bytes();
                    Reaction::send(&with(message, STATUS, status))
                }
                _ => Reaction::send(&message),
            },
            end: End::Counted(OpKind::LogOn, OperationFailure::Status(refused)),
        },
        Case {
            name: "no share, under load",
            of: Of::Command(Command::TreeConnect),
            script: |Answer { message, nth, .. }| match nth {
                30.. => {
                    let status = NtStatus::BAD_NETWORK_NAME.0.to_le_bytes();
                    Reaction::send(&with(message, STATUS, status))
                }
                _ => Reaction::send(&message),
            },
            end: End::Counted(
                OpKind::LogOn,
                OperationFailure::Status(NtStatus::BAD_NETWORK_NAME),
            ),
        },
    ];
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(4),
            ..plain().work
        },
        ..plain()
    };
    check(&cases, profile.path().to_str().unwrap(), &options);
}

/// Makes a profile with only these operations.
fn profile_of(operations: &str) -> tempfile::NamedTempFile {
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(profile.path(), operations).unwrap();
    profile
}

/// A session that gets no share is logged off.
#[test]
fn sessions_without_their_share_are_logged_off() {
    static LET_IN: AtomicU64 = AtomicU64::new(0);
    static LOGGED_OFF: AtomicU64 = AtomicU64::new(0);
    let cases = [Case {
        name: "no share, under load, and a LOGOFF",
        of: Of::All,
        script: |Answer { message, .. }| {
            let header = Header::decode(&message).unwrap();
            match (header.command, header.status) {
                (Command::SessionSetup, NtStatus::SUCCESS) => {
                    LET_IN.fetch_add(1, Ordering::Relaxed);
                }
                (Command::Logoff, NtStatus::SUCCESS) => {
                    LOGGED_OFF.fetch_add(1, Ordering::Relaxed);
                }
                // Long after the log-ons of the clients themselves.
                (Command::TreeConnect, _) if LET_IN.load(Ordering::Relaxed) > 30 => {
                    let status = NtStatus::BAD_NETWORK_NAME.0.to_le_bytes();
                    return Reaction::send(&with(message, STATUS, status));
                }
                _ => {}
            }
            Reaction::send(&message)
        },
        end: End::Counted(
            OpKind::LogOn,
            OperationFailure::Status(NtStatus::BAD_NETWORK_NAME),
        ),
    }];
    let profile = profile_of("[[operations]]\nop = \"log_on\"\nweight = 100\n");
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(4),
            duration: Some(Duration::from_secs(1)),
            ..plain().work
        },
        ..plain()
    };
    check(&cases, profile.path().to_str().unwrap(), &options);
    let (let_in, logged_off) = (&LET_IN, &LOGGED_OFF);
    assert!(let_in.load(Ordering::Relaxed) > 31);
    assert_eq!(
        logged_off.load(Ordering::Relaxed),
        let_in.load(Ordering::Relaxed)
    );
}

/// A log-on without a credit for its next request waits for one, and other
/// operations continue.
#[test]
fn log_ons_wait_for_credits() {
    /// Fewer than the five credits of a connection, so that some remain. The server
    /// does not replace them, because it believes that it granted them.
    const WITHHELD_OF_EACH: u64 = 3;
    static IS_ON: AtomicBool = AtomicBool::new(false);
    thread_local! {
        // Each connection has its own thread in the relay, and its own credits.
        static OF_THIS: Cell<u64> = const { Cell::new(0) };
    }
    static WITHHELD: AtomicU64 = AtomicU64::new(0);
    let cases = [Case {
        name: "no credits for log-ons, under load",
        of: Of::All,
        script: |Answer { message, .. }| {
            let header = Header::decode(&message).unwrap();
            if header.command == Command::Read {
                IS_ON.store(true, Ordering::Relaxed);
            }
            let is_on = IS_ON.load(Ordering::Relaxed);
            // The last answer of a log-on is signed, and from 3.1.1 on the keys
            // depend on all answers. So only earlier answers are changed, on 2.1.
            if is_on && header.status == NtStatus::MORE_PROCESSING_REQUIRED {
                let before = OF_THIS.replace(OF_THIS.get() + 1);
                if before < WITHHELD_OF_EACH {
                    WITHHELD.fetch_add(1, Ordering::Relaxed);
                    return Reaction::send(&with(message, CREDITS, [0; 2]));
                }
            }
            Reaction::send(&message)
        },
        end: End::Valid,
    }];
    let profile = profile_of(
        "[[operations]]\nop = \"log_on\"\nweight = 80\n[[operations]]\nop = \"read\"\nweight = 20\n\
         [[sizes]]\nsize = \"4KiB\"\nweight = 100\n",
    );
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(4),
            duration: Some(Duration::from_secs(1)),
            ..plain().work
        },
        sessions: SessionsSpec {
            dialect: Some("2.1".parse().unwrap()),
            ..plain().sessions
        },
        ..plain()
    };
    check(&cases, profile.path().to_str().unwrap(), &options);
    assert_eq!(WITHHELD.load(Ordering::Relaxed), 2 * WITHHELD_OF_EACH);
}

/// A server that ends all sessions of a connection at the LOGOFF of one, as ksmbd does: the
/// clients keep their sessions, and log-ons are measured.
#[test]
fn a_log_off_that_ends_all_sessions_of_a_connection_ends_no_client() {
    /// Connection and id of each session, and whether it has been ended.
    static SESSIONS: Mutex<BTreeMap<(u16, u64), bool>> = Mutex::new(BTreeMap::new());
    static LOGGED_ON: AtomicU64 = AtomicU64::new(0);
    let cases = [Case {
        name: "a LOGOFF for all sessions",
        of: Of::All,
        script: |Answer { message, port, .. }| {
            let header = Header::decode(&message).unwrap();
            let mut sessions = SESSIONS.lock().unwrap();
            if sessions.get(&(port, header.session_id)) == Some(&true) {
                let status = NtStatus::USER_SESSION_DELETED.0.to_le_bytes();
                // It has no key for a signature any more.
                let unsigned = with(message, FLAGS, Flags::RESPONSE.0.to_le_bytes());
                return Reaction::send(&with(unsigned, STATUS, status));
            }
            match (header.command, header.status) {
                (Command::SessionSetup, NtStatus::SUCCESS) => {
                    sessions.insert((port, header.session_id), false);
                    LOGGED_ON.fetch_add(1, Ordering::Relaxed);
                }
                (Command::Logoff, NtStatus::SUCCESS) => {
                    let of_connection = sessions.range_mut((port, 0)..=(port, u64::MAX));
                    of_connection.for_each(|(_, ended)| *ended = true);
                }
                _ => {}
            }
            Reaction::send(&message)
        },
        end: End::Valid,
    }];
    let profile = profile_of(
        "operations = [{ op = \"read\", weight = 60 }, { op = \"log_on\", weight = 40 }]\n\
         sizes = [{ size = \"4KiB\", weight = 100 }]\n[files]\nsize = \"64KiB\"\n",
    );
    for sign in [Mode::Off, Mode::Required] {
        let before = LOGGED_ON.load(Ordering::Relaxed);
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(2),
                // Long enough for the log-ons that are demanded on a busy machine.
                duration: Some(Duration::from_secs(2)),
                ..plain().work
            },
            sessions: SessionsSpec {
                sign: Some(sign),
                ..plain().sessions
            },
            ..plain()
        };
        check(&cases, profile.path().to_str().unwrap(), &options);
        // Far more than the sessions of the run and of its clients.
        assert!(LOGGED_ON.load(Ordering::Relaxed) > before + 20, "{sign:?}");
    }
}
