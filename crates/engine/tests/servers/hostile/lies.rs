//! False answers under load, on sessions without any protection.

use smbench_model::kind::OpKind;
use smbench_model::record::OperationFailure;
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_protocol::NtStatus;
use smbench_protocol::header::Command;

use super::forge::{
    BODY, COMMAND, FLAGS, MESSAGE_ID, NEXT_COMMAND, SESSION_ID, STATUS, flipped, read_of, with,
};
use super::load::{plain, read};
use super::relay::{Answer, Of, Reaction, framed};
use super::{Case, End, check};

const READ_DATA_OFFSET: usize = BODY + 2;
const READ_LENGTH: usize = BODY + 4;
const WRITE_COUNT: usize = BODY + 4;

const SHORT: End = End::Counted(OpKind::Read, OperationFailure::Short);
const LONG: End = End::Counted(OpKind::Read, OperationFailure::Long);

/// False headers.
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
        End::Counted(
            OpKind::Read,
            OperationFailure::Status(NtStatus(0xEE12_3456)),
        ),
    ),
    read(
        "an odd success",
        |answer| Reaction::send(&with(answer.message, STATUS, 1u32.to_le_bytes())),
        End::Counted(OpKind::Read, OperationFailure::Status(NtStatus(1))),
    ),
    read(
        "pending, but final",
        |answer| {
            let status = NtStatus::PENDING.0.to_le_bytes();
            Reaction::send(&with(answer.message, STATUS, status))
        },
        End::Counted(OpKind::Read, OperationFailure::Status(NtStatus::PENDING)),
    ),
];

/// False bodies.
pub(super) const BODIES: &[Case] = &[
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
        End::Counted(
            OpKind::Read,
            OperationFailure::Status(NtStatus::ACCESS_DENIED),
        ),
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

#[test]
fn headers_that_lie() {
    check(HEADERS, "read-4k", &plain());
}

#[test]
fn bodies_that_lie() {
    check(BODIES, "read-4k", &plain());
}

/// Returns whether this answers a write of the preparation; only the writes of the
/// load are smaller than the files.
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
            end: End::Counted(OpKind::Write, OperationFailure::Short),
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
            end: End::Counted(OpKind::Write, OperationFailure::Long),
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
    // Enough slots that writes are among the first requests, even in a very short
    // window.
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(16),
            ..plain().work
        },
        ..plain()
    };
    check(&cases, "file-server", &options);
}
