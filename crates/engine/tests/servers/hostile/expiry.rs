//! Sessions that expire under load. The relay replaces an answer with an expired
//! session. The embedded server knows nothing of this and accepts the log-on that
//! follows, unless the relay changes that as well.

use std::sync::atomic::{AtomicBool, Ordering};

use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::record::{LoadPointRecord, Outcome};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_protocol::NtStatus;
use smbench_protocol::header::{Command, Header};

use super::forge::{BODY, NEXT_COMMAND, STATUS, flipped, with};
use super::relay::{Answer, Of, Reaction, Relay, Script};
use super::{Case, End, check, run_watched};
use crate::support::{assert_undisturbed, plan, short, target};

/// Answers that the session has expired and that nothing was done.
fn expired(message: Vec<u8>) -> Reaction {
    let status = NtStatus::NETWORK_SESSION_EXPIRED.0.to_le_bytes();
    Reaction::send(&with(message, STATUS, status))
}

fn command_of(message: &[u8]) -> Command {
    Header::decode(message).unwrap().command
}

/// Runs a load point through a relay; it must end without errors. Returns the
/// number of messages that the relay passed on unchanged.
fn renewed(profile: &str, of: Of, script: Script, options: &RunOptions) -> (LoadPointRecord, u64) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), of, script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            file_size: Some("64KiB".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..options.work.clone()
        },
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            encrypt: Some(Mode::Off),
            ..options.sessions.clone()
        },
        ..options.clone()
    };
    let mut plan = plan(profile, &options, target);
    plan.limits = Limits {
        connect: std::time::Duration::from_secs(10),
        setup: std::time::Duration::from_secs(10),
        operation: std::time::Duration::from_secs(10),
    };
    let mut record = run_watched(profile, plan).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    let point = record.load_points.remove(0);
    assert_undisturbed(&point);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    (point, relay.genuine())
}

fn renewals(point: &LoadPointRecord) -> u64 {
    let renewals = point.ops.whole(OpKind::Reauthentication).count;
    // Reauthentications are not in the sums of the workload's operations.
    let kinds = OpKind::ALL.map(|kind| point.ops.window(kind).count());
    let of_window = point.ops.window(OpKind::Reauthentication).count();
    assert_eq!(
        point.ops.window_all().count() + of_window,
        kinds.iter().sum::<u64>()
    );
    renewals
}

#[test]
fn one_that_expires_amid_requests_in_flight_continues() {
    for outstanding in [1, 16] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(outstanding),
                ..short().work
            },
            ..short()
        };
        let script = |Answer { message, nth, .. }| match nth {
            40 => expired(message),
            _ => Reaction::send(&message),
        };
        let of = Of::Command(Command::Read);
        let (point, genuine) = renewed("read-4k", of, script, &options);
        assert_eq!(renewals(&point), 1);
        // Each genuine answer counts once.
        assert_eq!(point.ops.whole(OpKind::Read).count, genuine);
    }
}

#[test]
fn all_that_is_in_flight_may_be_answered_with_it() {
    for (outstanding, sessions) in [(16, 1), (4, 2)] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(outstanding),
                ..short().work
            },
            sessions: SessionsSpec {
                sessions_per_connection: Some(sessions),
                ..short().sessions
            },
            ..short()
        };
        let script = |Answer { message, nth, .. }| match nth {
            40..60 => expired(message),
            _ => Reaction::send(&message),
        };
        let of = Of::Command(Command::Read);
        let (point, genuine) = renewed("read-4k", of, script, &options);
        assert!((2..=20).contains(&renewals(&point)));
        assert_eq!(point.ops.whole(OpKind::Read).count, genuine);
    }
}

/// A write that is sent again gets new data, which is verified.
#[test]
fn writes_are_verified_across_it() {
    const WRITE_COUNT: usize = BODY + 4;
    let script = |Answer { message, nth, .. }| {
        // Only the writes of the load are smaller than the files.
        let is_prepared = message[WRITE_COUNT..WRITE_COUNT + 4] == (64u32 << 10).to_le_bytes();
        match nth % 10 {
            3 if !is_prepared => expired(message),
            _ => Reaction::send(&message),
        }
    };
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(16),
            ..short().work
        },
        ..short()
    };
    let of = Of::Command(Command::Write);
    let (point, _) = renewed("file-server", of, script, &options);
    assert!(renewals(&point) > 0);
    assert!(point.ops.whole(OpKind::Write).count > 0);
}

/// A frame of several requests is sent again as a whole, and the credits of a
/// single frame are enough.
#[test]
fn frames_go_out_again() {
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(
        profile.path(),
        "[files]\nsize = \"64KiB\"\n[[sizes]]\nsize = \"4KiB\"\nweight = 100\n\
         [[operations]]\nop = \"create_read_close\"\nweight = 50\n\
         [[operations]]\nop = \"create\"\nweight = 50\n",
    )
    .unwrap();
    for credits in [None, Some(3)] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(4),
                ..short().work
            },
            sessions: SessionsSpec {
                sessions_per_connection: Some(2),
                credits,
                ..short().sessions
            },
            ..short()
        };
        // A frame of the load; the server has carried it out and closed the file.
        let script = |Answer { message, nth, .. }| match message[NEXT_COMMAND..NEXT_COMMAND + 4] {
            [0, 0, 0, 0] => Reaction::send(&message),
            _ if nth % 5 == 0 => expired(message),
            _ => Reaction::send(&message),
        };
        let of = Of::Command(Command::Create);
        let path = profile.path().to_str().unwrap();
        let (point, _) = renewed(path, of, script, &options);
        assert!(renewals(&point) > 0);
        let count = |kind| point.ops.whole(kind).count;
        assert!(count(OpKind::CreateReadClose) > 0);
        assert_eq!(count(OpKind::Create), count(OpKind::Close));
    }
}

/// Answers every READ with an expired session; `log_on` decides about the answers
/// to the log-on that follows.
fn expire_then(
    has_expired: &AtomicBool,
    message: Vec<u8>,
    log_on: fn(Vec<u8>) -> Reaction,
) -> Reaction {
    match command_of(&message) {
        Command::Read => {
            has_expired.store(true, Ordering::Relaxed);
            expired(message)
        }
        Command::SessionSetup if has_expired.load(Ordering::Relaxed) => log_on(message),
        _ => Reaction::send(&message),
    }
}

macro_rules! case {
    ($name:literal, $log_on:expr, $end:expr) => {
        Case {
            name: $name,
            of: Of::All,
            script: |answer| {
                static HAS_EXPIRED: AtomicBool = AtomicBool::new(false);
                expire_then(&HAS_EXPIRED, answer.message, $log_on)
            },
            end: $end,
        }
    };
}

fn status(message: Vec<u8>, status: NtStatus) -> Reaction {
    Reaction::send(&with(message, STATUS, status.0.to_le_bytes()))
}

const CASES: &[Case] = &[
    case!(
        "the user is let in no more",
        |message| status(message, NtStatus::LOGON_FAILURE),
        End::Dropped(
            "SESSION_SETUP refused with STATUS_LOGON_FAILURE; check the user and domain in the URL"
        )
    ),
    case!(
        "expired while authenticating again",
        |message| status(message, NtStatus::NETWORK_SESSION_EXPIRED),
        End::Dropped("SESSION_SETUP refused with STATUS_NETWORK_SESSION_EXPIRED")
    ),
    case!(
        "ended while authenticating again",
        |message| status(message, NtStatus::USER_SESSION_DELETED),
        End::Dropped("STATUS_USER_SESSION_DELETED")
    ),
    case!(
        "let in as another by someone in between",
        |message| {
            // IS_GUEST, in the last answer.
            let is_last = message[STATUS..STATUS + 4] == [0; 4];
            if is_last {
                Reaction::send(&with(message, BODY + 2, [1, 0]))
            } else {
                Reaction::send(&message)
            }
        },
        End::Dropped("a SESSION_SETUP answer whose signature is missing or wrong")
    ),
    case!(
        "a challenge that is none",
        |message| Reaction::send(&flipped(message, BODY + 12)),
        End::Dropped("a wrong answer to authenticating again")
    ),
    case!(
        "the end while authenticating again",
        |_| Reaction::raw(Vec::new()).then_close(),
        End::Dropped("the server closed the connection")
    ),
    case!(
        "silence while authenticating again",
        |_| Reaction::raw(Vec::new()).then_freeze(),
        End::Stalled(
            "the session expired while a read was under way, and was not authenticated again \
             within 700ms"
        )
    ),
    case!(
        "expired again and again",
        |message| Reaction::send(&message),
        End::Stalled("within 700ms")
    ),
];

#[test]
fn those_that_are_not_let_in_again_drop_out() {
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(8),
            ..short().work
        },
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            encrypt: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    };
    check(CASES, "read-4k", &options);
}
