//! Hostile servers under load, on sessions without any protection: streams that are
//! cut, frozen or endless; storms; credits.

use std::time::Duration;

use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::header::Command;

use super::forge::{CREDITS, break_storm, listing, oplock_break, pending, with};
use super::lies::BODIES;
use super::relay::{Answer, Of, Reaction, Script, framed, prefixed};
use super::{Case, End, check};
use crate::support::short;

/// Makes a case whose script sees the answers to READs.
pub(super) const fn read(name: &'static str, script: Script, end: End) -> Case {
    Case {
        name,
        of: Of::Command(Command::Read),
        script,
        end,
    }
}

pub(super) fn plain() -> RunOptions {
    RunOptions {
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            encrypt: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    }
}

const CLOSED: End = End::Dropped("the server closed the connection");
const BROKEN_OFF: End = End::Dropped("the connection broke");
const SILENT: End = End::Stalled("no answer to a read within 700ms");

/// Streams that are cut, frozen or endless, in any protocol.
pub(super) const STREAMS: &[Case] = &[
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
        "a length beyond the message",
        |Answer { message, .. }| Reaction::raw(prefixed(message.len() + 100, &message)),
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

/// Malformed frames.
const FRAMES: &[Case] = &[
    read(
        "empty frames for ever",
        |_| Reaction::raw(Vec::new()).then_repeat(vec![0; 4000]),
        SILENT,
    ),
    read(
        "a frame of noise",
        |answer| Reaction::send(&vec![0xA5; answer.message.len()]),
        End::Dropped("malformed protocol id"),
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
        End::Dropped("without credits for its next request: its largest operation costs 1,"),
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
    check(STREAMS, "read-4k", &plain());
    check(FRAMES, "read-4k", &plain());
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
        work: WorkSpec {
            outstanding: Some(32),
            ..plain().work
        },
        ..plain()
    };
    check(FLOW, "read-4k", &options);
    check(BODIES, "read-4k", &options);
}
