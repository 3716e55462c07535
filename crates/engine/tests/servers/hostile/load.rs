//! Hostile while the load is on, on sessions that nothing protects.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use smbench_engine::plan::Mode;
use smbench_engine::record::{Failure, OpKind};
use smbench_engine::spec::RunOptions;
use smbench_protocol::NtStatus;
use smbench_protocol::header::{Command, Header};

use super::forge::{
    BODY, COMMAND, CREDITS, FLAGS, MESSAGE_ID, NEXT_COMMAND, SESSION_ID, STATUS, break_storm,
    flipped, listing, oplock_break, pending, read_of, with,
};
use super::relay::{Answer, Of, Reaction, Script, framed, prefixed};
use super::{Case, End, check};
use crate::support::short;

const READ_DATA_OFFSET: usize = BODY + 2;
const READ_LENGTH: usize = BODY + 4;
const WRITE_COUNT: usize = BODY + 4;

/// A case whose script sees the answers to READs.
const fn read(name: &'static str, script: Script, end: End) -> Case {
    Case {
        name,
        of: Of::Command(Command::Read),
        script,
        end,
    }
}

fn plain() -> RunOptions {
    RunOptions {
        sign: Some(Mode::Off),
        encrypt: Some(Mode::Off),
        ..short()
    }
}

const CLOSED: End = End::Dropped("the server closed the connection");
const BROKEN_OFF: End = End::Dropped("the connection broke");
const SILENT: End = End::Stalled("no answer to a read within 700ms");
const SHORT: End = End::Counted(OpKind::Read, Failure::Short);
const LONG: End = End::Counted(OpKind::Read, Failure::Long);

/// Frames and streams that are not what they say.
const FRAMING: &[Case] = &[
    read(
        "half a frame, then the end",
        |answer| Reaction::raw(framed(&answer.message)[..1000].to_vec()).then_close(),
        CLOSED,
    ),
    read(
        "half a frame, then silence",
        |answer| Reaction::raw(framed(&answer.message)[..1000].to_vec()).then_freeze(),
        SILENT,
    ),
    read(
        "half a length, then silence",
        |_| Reaction::raw(vec![0, 0]).then_freeze(),
        SILENT,
    ),
    read(
        "a length of 16 MiB",
        |_| Reaction::raw(vec![0, 0xFF, 0xFF, 0xFF]),
        End::Dropped("a frame of 16777215 bytes, more than any SMB message may have"),
    ),
    read(
        "a length of 4 GiB",
        |_| Reaction::raw(vec![0xFF; 4]),
        End::Dropped("a frame of type 0xff"),
    ),
    read(
        "8 MiB announced, and a trickle of it",
        |answer| {
            let bytes = prefixed(8 << 20, &answer.message[..90]);
            Reaction::raw(bytes).then_freeze()
        },
        SILENT,
    ),
    read(
        "no SMB at all",
        |_| Reaction::raw(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        End::Dropped("a frame of type 0x48"),
    ),
    read(
        "a frame of noise",
        |answer| Reaction::send(&vec![0xA5; answer.message.len()]),
        End::Dropped("malformed protocol id"),
    ),
    read(
        "a length beyond the message",
        |Answer { message, .. }| Reaction::raw(prefixed(message.len() + 100, &message)),
        SILENT,
    ),
    read(
        "a length short of the message",
        |Answer { message, .. }| Reaction::raw(prefixed(message.len() - 16, &message)),
        End::Dropped("malformed READ data length"),
    ),
    read(
        "a header cut short",
        |answer| Reaction::send(&answer.message[..40]),
        End::Dropped("malformed session id"),
    ),
    read(
        "empty frames for ever",
        |_| Reaction::raw(Vec::new()).then_repeat(vec![0; 4000]),
        SILENT,
    ),
    read(
        "one byte at a time",
        |answer| Reaction::send(&answer.message).byte_by_byte(),
        End::Valid,
    ),
    read(
        "the writing side shut",
        |_| Reaction::raw(Vec::new()).then_shut_write(),
        CLOSED,
    ),
    read(
        "the reading side shut",
        |_| Reaction::raw(Vec::new()).then_shut_read(),
        SILENT,
    ),
    read(
        "a reset",
        |_| Reaction::raw(Vec::new()).then_reset(),
        BROKEN_OFF,
    ),
    read(
        "the answer too late",
        |answer| Reaction::send(&answer.message).after(Duration::from_millis(1500)),
        SILENT,
    ),
    read(
        "silence",
        |_| Reaction::raw(Vec::new()).then_freeze(),
        SILENT,
    ),
];

/// Headers that lie.
const HEADERS: &[Case] = &[
    read(
        "a next command within the header",
        |answer| Reaction::send(&with(answer.message, NEXT_COMMAND, 8u32.to_le_bytes())),
        End::Dropped("malformed"),
    ),
    read(
        "a next command off its alignment",
        |answer| Reaction::send(&with(answer.message, NEXT_COMMAND, 83u32.to_le_bytes())),
        End::Dropped("malformed next command offset"),
    ),
    read(
        "a next command out of the frame",
        |answer| {
            Reaction::send(&with(
                answer.message,
                NEXT_COMMAND,
                0xFFFF_FFF8u32.to_le_bytes(),
            ))
        },
        End::Dropped("malformed next command offset"),
    ),
    read(
        "a compound of one answer twice",
        |answer| {
            let message = answer.message;
            let second = message.len().next_multiple_of(8);
            let mut both = with(message.clone(), NEXT_COMMAND, (second as u32).to_le_bytes());
            both.resize(second, 0);
            both.extend_from_slice(&message);
            Reaction::send(&both)
        },
        End::Dropped("which was not asked"),
    ),
    read(
        "a message id used again",
        |answer| {
            let twice = framed(&answer.message).repeat(2);
            Reaction::raw(twice)
        },
        End::Dropped("which was not asked"),
    ),
    read(
        "an answer to a message never sent",
        |answer| {
            let unasked = with(answer.message.clone(), MESSAGE_ID, 54321u64.to_le_bytes());
            Reaction::raw([framed(&unasked), framed(&answer.message)].concat())
        },
        End::Dropped("an answer to message 54321, which was not asked"),
    ),
    read(
        "another command",
        |answer| Reaction::send(&with(answer.message, COMMAND, [9, 0])),
        End::Dropped("a WRITE answer to a READ request"),
    ),
    read(
        "no command at all",
        |answer| Reaction::send(&with(answer.message, COMMAND, [0x99, 0x99])),
        End::Dropped("malformed command code"),
    ),
    read(
        "a request",
        |answer| Reaction::send(&with(answer.message, FLAGS, [0; 4])),
        End::Dropped("no answer to this session"),
    ),
    read(
        "another session",
        |answer| Reaction::send(&flipped(answer.message, SESSION_ID)),
        End::Dropped("no answer to this session"),
    ),
    read(
        "the session ended",
        |answer| {
            let status = NtStatus::USER_SESSION_DELETED.0.to_le_bytes();
            Reaction::send(&with(answer.message, STATUS, status))
        },
        End::Dropped("the server ended the session with STATUS_USER_SESSION_DELETED"),
    ),
    read(
        "a status that nobody knows",
        |answer| Reaction::send(&with(answer.message, STATUS, 0xEE12_3456u32.to_le_bytes())),
        End::Counted(OpKind::Read, Failure::Status(NtStatus(0xEE12_3456))),
    ),
    read(
        "an odd success",
        |answer| Reaction::send(&with(answer.message, STATUS, 1u32.to_le_bytes())),
        End::Counted(OpKind::Read, Failure::Status(NtStatus(1))),
    ),
    read(
        "pending, but final",
        |answer| {
            let status = NtStatus::PENDING.0.to_le_bytes();
            Reaction::send(&with(answer.message, STATUS, status))
        },
        End::Counted(OpKind::Read, Failure::Status(NtStatus::PENDING)),
    ),
];

/// Bodies that lie.
const BODIES: &[Case] = &[
    read(
        "a data offset out of the message",
        |answer| {
            let message = with(answer.message, READ_LENGTH, 4096u32.to_le_bytes());
            Reaction::send(&with(message, READ_DATA_OFFSET, [0xFF]))
        },
        End::Dropped("malformed READ data length"),
    ),
    read(
        "a data offset into the header",
        |answer| Reaction::send(&with(answer.message, READ_DATA_OFFSET, [10])),
        End::Dropped("malformed READ data offset"),
    ),
    read(
        "4 GiB of data in 4 KiB",
        |answer| Reaction::send(&with(answer.message, READ_LENGTH, [0xFF; 4])),
        End::Dropped("malformed READ data length"),
    ),
    read(
        "another structure",
        |answer| Reaction::send(&with(answer.message, BODY, [16, 0])),
        End::Dropped("malformed READ response structure size"),
    ),
    read(
        "more than was asked for",
        |answer| Reaction::send(&read_of(&answer.message, &[7; 5000])),
        LONG,
    ),
    read(
        "1 MiB more than was asked for",
        |answer| Reaction::send(&read_of(&answer.message, &vec![7; 1 << 20])),
        LONG,
    ),
    read(
        "4 MiB behind an error",
        |answer| {
            let status = NtStatus::ACCESS_DENIED.0.to_le_bytes();
            let mut message = with(answer.message, STATUS, status);
            message.resize(4 << 20, 7);
            Reaction::send(&message)
        },
        End::Counted(OpKind::Read, Failure::Status(NtStatus::ACCESS_DENIED)),
    ),
    read(
        "less than was asked for",
        |answer| Reaction::send(&read_of(&answer.message, &[7; 4095])),
        SHORT,
    ),
    read(
        "nothing",
        |answer| Reaction::send(&read_of(&answer.message, &[])),
        SHORT,
    ),
];

/// Storms, and credits too few or too many.
const FLOW: &[Case] = &[
    read(
        "pending for ever",
        |answer| {
            let storm = framed(&pending(&answer.message, 0)).repeat(100);
            Reaction::raw(Vec::new()).then_repeat(storm)
        },
        SILENT,
    ),
    read(
        "pending for ever, with credits",
        |answer| {
            let storm = framed(&pending(&answer.message, u16::MAX)).repeat(100);
            Reaction::raw(Vec::new()).then_repeat(storm)
        },
        SILENT,
    ),
    read(
        "pending a thousand times, then the answer",
        |answer| {
            let storm = framed(&pending(&answer.message, 1)).repeat(1000);
            Reaction::raw([storm, framed(&answer.message)].concat())
        },
        End::Valid,
    ),
    read(
        "a storm of breaks before each answer",
        |answer| Reaction::raw([break_storm(), framed(&answer.message)].concat()),
        End::Valid,
    ),
    read(
        "breaks for ever",
        |_| Reaction::raw(Vec::new()).then_repeat(break_storm()),
        SILENT,
    ),
    read(
        "a break of no known shape",
        |answer| {
            let unknown = framed(&oplock_break(&[99, 0, 0, 0]));
            Reaction::raw([unknown, framed(&answer.message)].concat())
        },
        End::Dropped("malformed OPLOCK_BREAK structure size"),
    ),
    read(
        "a break cut short",
        |answer| {
            let cut = framed(&oplock_break(&[24, 0, 1]));
            Reaction::raw([cut, framed(&answer.message)].concat())
        },
        End::Dropped("malformed"),
    ),
    read(
        "no credits any more",
        |answer| Reaction::send(&with(answer.message, CREDITS, [0, 0])),
        End::Dropped("the server left the client without credits"),
    ),
    read(
        "a flood of credits",
        |answer| Reaction::send(&with(answer.message, CREDITS, [0xFF, 0xFF])),
        End::Valid,
    ),
];

const LISTINGS: &[Case] = &[
    Case {
        name: "a listing without end",
        of: Of::Command(Command::QueryDirectory),
        script: |answer| Reaction::send(&listing(&answer.message, 1)),
        end: End::Leftover("the listing does not end"),
    },
    Case {
        name: "a listing of more names than any run makes",
        of: Of::Command(Command::QueryDirectory),
        script: |answer| Reaction::send(&listing(&answer.message, 100_000)),
        end: End::Leftover("the listing does not end"),
    },
];

#[test]
fn frames_and_streams_that_are_not_what_they_say() {
    check(FRAMING, "read-4k", &plain());
}

#[test]
fn headers_that_lie() {
    check(HEADERS, "read-4k", &plain());
}

#[test]
fn bodies_that_lie() {
    check(BODIES, "read-4k", &plain());
}

#[test]
fn storms_and_credits() {
    check(FLOW, "read-4k", &plain());
}

#[test]
fn listings_that_grow_and_grow() {
    check(LISTINGS, "read-4k", &plain());
}

#[test]
fn storms_and_lies_with_many_requests_in_flight() {
    let options = RunOptions {
        outstanding: Some(32),
        ..plain()
    };
    check(FLOW, "read-4k", &options);
    check(BODIES, "read-4k", &options);
}

/// The client's own session goes on when a further one is refused.
#[test]
fn log_ons_that_are_refused_are_counted() {
    let profile = profile_of("[[operations]]\nop = \"log_on\"\nweight = 100\n");
    let refused = NtStatus::LOGON_FAILURE;
    let cases = [
        Case {
            name: "no further session, under load",
            of: Of::Command(Command::SessionSetup),
            script: |Answer { message, nth }| match nth {
                // Long after the clients' own.
                60.. => {
                    let status = NtStatus::LOGON_FAILURE.0.to_le_bytes();
                    Reaction::send(&with(message, STATUS, status))
                }
                _ => Reaction::send(&message),
            },
            end: End::Counted(OpKind::LogOn, Failure::Status(refused)),
        },
        Case {
            name: "no share, under load",
            of: Of::Command(Command::TreeConnect),
            script: |Answer { message, nth }| match nth {
                30.. => {
                    let status = NtStatus::BAD_NETWORK_NAME.0.to_le_bytes();
                    Reaction::send(&with(message, STATUS, status))
                }
                _ => Reaction::send(&message),
            },
            end: End::Counted(OpKind::LogOn, Failure::Status(NtStatus::BAD_NETWORK_NAME)),
        },
    ];
    let options = RunOptions {
        outstanding: Some(4),
        ..plain()
    };
    check(&cases, profile.path().to_str().unwrap(), &options);
}

/// A profile of nothing but these operations.
fn profile_of(operations: &str) -> tempfile::NamedTempFile {
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(profile.path(), operations).unwrap();
    profile
}

/// What the server let in is not left behind when it gets no share.
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
                // Long after the clients' own.
                (Command::TreeConnect, _) if LET_IN.load(Ordering::Relaxed) > 30 => {
                    let status = NtStatus::BAD_NETWORK_NAME.0.to_le_bytes();
                    return Reaction::send(&with(message, STATUS, status));
                }
                _ => {}
            }
            Reaction::send(&message)
        },
        end: End::Counted(OpKind::LogOn, Failure::Status(NtStatus::BAD_NETWORK_NAME)),
    }];
    let profile = profile_of("[[operations]]\nop = \"log_on\"\nweight = 100\n");
    let options = RunOptions {
        outstanding: Some(4),
        duration: Some(Duration::from_secs(1)),
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

/// A log-on that finds no credit for its next request waits for one, and costs
/// nobody else anything.
#[test]
fn log_ons_wait_for_credits() {
    /// So few of each connection's five that some are left: the server, which
    /// thinks that it granted them, makes no good for them.
    const WITHHELD_OF_EACH: u64 = 3;
    static IS_ON: AtomicBool = AtomicBool::new(false);
    thread_local! {
        // Each connection has a thread of the relay's, and credits, of its own.
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
            // What ends a log-on is signed, and from 3.1.1 on all of it counts for
            // the keys.
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
        outstanding: Some(4),
        duration: Some(Duration::from_secs(1)),
        dialect: Some("2.1".parse().unwrap()),
        ..plain()
    };
    check(&cases, profile.path().to_str().unwrap(), &options);
    assert_eq!(WITHHELD.load(Ordering::Relaxed), 2 * WITHHELD_OF_EACH);
}

/// Only the load's writes are smaller than the files.
fn is_prepared(message: &[u8]) -> bool {
    message[WRITE_COUNT..WRITE_COUNT + 4] == (64u32 << 10).to_le_bytes()
}

#[test]
fn writes_that_lie_about_their_count() {
    let cases = [
        Case {
            name: "a byte less, under load",
            of: Of::Command(Command::Write),
            script: |Answer { message, .. }| {
                if is_prepared(&message) {
                    return Reaction::send(&message);
                }
                Reaction::send(&with(message, WRITE_COUNT, 1u32.to_le_bytes()))
            },
            end: End::Counted(OpKind::Write, Failure::Short),
        },
        Case {
            name: "4 GiB, under load",
            of: Of::Command(Command::Write),
            script: |Answer { message, .. }| {
                if is_prepared(&message) {
                    return Reaction::send(&message);
                }
                Reaction::send(&with(message, WRITE_COUNT, [0xFF; 4]))
            },
            end: End::Counted(OpKind::Write, Failure::Long),
        },
        Case {
            name: "a byte at a time, while the files are filled",
            of: Of::Command(Command::Write),
            script: |answer| Reaction::send(&with(answer.message, WRITE_COUNT, [1, 0, 0, 0])),
            end: End::Refused("the server took 1 of 65536 bytes of a write"),
        },
        Case {
            name: "4 GiB, while the files are filled",
            of: Of::Command(Command::Write),
            script: |answer| Reaction::send(&with(answer.message, WRITE_COUNT, [0xFF; 4])),
            end: End::Refused("the server took 4294967295 of 65536 bytes of a write"),
        },
    ];
    // So many that writes are among the first that are sent, however short the
    // window turns out.
    let options = RunOptions {
        outstanding: Some(16),
        ..plain()
    };
    check(&cases, "file-server", &options);
}
