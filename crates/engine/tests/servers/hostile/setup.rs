//! Hostile servers during the set-up of a session, or while the share is prepared.

mod negotiate;

use std::time::Duration;

use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_protocol::NtStatus;
use smbench_protocol::header::Command;

use super::forge::{BODY, CREDITS, FLAGS, MESSAGE_ID, SESSION_ID, STATUS, flipped, pending, with};
use super::relay::{Of, Reaction, Script, framed};
use super::{Case, End, check};
use crate::support::short;
use negotiate::NEGOTIATE;

/// Makes a case whose script sees the answers to a command.
const fn on(command: Command, name: &'static str, script: Script, end: End) -> Case {
    Case {
        name,
        of: Of::Command(command),
        script,
        end,
    }
}

const TOKEN_OFFSET: usize = BODY + 4;
const TOKEN_LENGTH: usize = BODY + 6;
const TOKEN: usize = BODY + 8;

const NO_ANSWER: End = End::TimedOut("failed to set up a session on 127.0.0.1");

const SESSION: &[Case] = &[
    on(
        Command::SessionSetup,
        "a token out of the message",
        |answer| Reaction::send(&with(answer.message, TOKEN_OFFSET, [0xFF, 0xFF])),
        End::Refused("failed to"),
    ),
    on(
        Command::SessionSetup,
        "a token of 64 KiB",
        |answer| Reaction::send(&with(answer.message, TOKEN_LENGTH, [0xFF, 0xFF])),
        End::Refused("malformed SESSION_SETUP response"),
    ),
    on(
        Command::SessionSetup,
        "no SMB after the first answer",
        |_| Reaction::raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        End::Refused("broke the protocol with a frame of type 0x53"),
    ),
    on(
        Command::SessionSetup,
        "no token",
        |answer| Reaction::send(&with(answer.message, TOKEN_LENGTH, [0, 0])),
        End::Refused("failed to log on as user"),
    ),
    on(
        Command::SessionSetup,
        "a token whose length lies",
        |answer| {
            Reaction::send(&with(
                answer.message,
                TOKEN + 1,
                [0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            ))
        },
        End::Refused("failed to log on as user"),
    ),
    on(
        Command::SessionSetup,
        "a token of noise",
        |answer| {
            let mut message = answer.message;
            message[TOKEN..].fill(0xA5);
            Reaction::send(&message)
        },
        End::Refused("failed to log on as user"),
    ),
    on(
        Command::SessionSetup,
        "the first token for ever",
        |answer| match answer.nth {
            0 => Reaction::send(&answer.message),
            _ => {
                let more = NtStatus::MORE_PROCESSING_REQUIRED.0.to_le_bytes();
                Reaction::send(&with(answer.message, STATUS, more))
            }
        },
        End::Refused("failed to"),
    ),
    on(
        Command::SessionSetup,
        "success at once",
        |answer| Reaction::send(&with(answer.message, STATUS, [0; 4])),
        End::Refused("failed to"),
    ),
    on(
        Command::SessionSetup,
        "a guest at once",
        |answer| {
            let message = with(answer.message, STATUS, [0; 4]);
            Reaction::send(&with(message, BODY + 2, [1, 0]))
        },
        End::Refused("offers a guest session instead"),
    ),
    on(
        Command::SessionSetup,
        "another session half-way",
        |answer| match answer.nth {
            0 => Reaction::send(&answer.message),
            _ => Reaction::send(&flipped(answer.message, SESSION_ID)),
        },
        End::Refused("no answer to this session"),
    ),
    on(
        Command::SessionSetup,
        "the answer too late",
        |answer| Reaction::send(&answer.message).after(Duration::from_millis(1500)),
        NO_ANSWER,
    ),
    on(
        Command::TreeConnect,
        "another session",
        |answer| Reaction::send(&flipped(answer.message, SESSION_ID)),
        End::Refused("no answer to this session"),
    ),
    on(
        Command::TreeConnect,
        "an altered answer, signed in 3.1.1 whatever else is",
        |answer| Reaction::send(&flipped(answer.message, BODY + 12)),
        End::Refused("a TREE_CONNECT answer whose signature is missing or wrong"),
    ),
    on(
        Command::TreeConnect,
        "an answer to a message never sent",
        |answer| Reaction::send(&with(answer.message, MESSAGE_ID, 99u64.to_le_bytes())),
        End::Refused("an answer to message 99, which was not asked"),
    ),
    on(
        Command::TreeConnect,
        "a second answer on the heels of the first",
        |answer| Reaction::raw(framed(&answer.message).repeat(2)),
        End::Refused("which was not asked"),
    ),
];

/// Sessions without any signature, which exist before 3.1.1.
const TREE: &[Case] = &[
    on(
        Command::TreeConnect,
        "asynchronous",
        |answer| Reaction::send(&with(answer.message, FLAGS, [3, 0, 0, 0])),
        End::Refused("no answer to this session"),
    ),
    on(
        Command::TreeConnect,
        "a printer",
        |answer| Reaction::send(&with(answer.message, BODY + 2, [3])),
        End::Refused("the share is not a disk share"),
    ),
    on(
        Command::TreeConnect,
        "a body cut short",
        |answer| Reaction::send(&answer.message[..70]),
        End::Refused("malformed TREE_CONNECT response"),
    ),
    on(
        Command::Create,
        "a status that nobody knows",
        |answer| match answer.nth {
            // The query of free space, the directory and its marker come first. An
            // open of these that the client does not know would prevent their
            // removal.
            3 => Reaction::send(&with(answer.message, STATUS, 0xEE12_3456u32.to_le_bytes())),
            _ => Reaction::send(&answer.message),
        },
        End::Refused("failed to write file"),
    ),
    on(
        Command::Create,
        "a body cut short",
        |answer| match answer.nth {
            0 => Reaction::send(&answer.message[..100]),
            _ => Reaction::send(&answer.message),
        },
        End::Refused("malformed CREATE"),
    ),
    on(
        Command::Create,
        "an oplock level that does not exist",
        |answer| match answer.nth {
            0 => Reaction::send(&with(answer.message, BODY + 2, [0x77])),
            _ => Reaction::send(&answer.message),
        },
        End::Refused("malformed CREATE oplock level"),
    ),
    on(
        Command::Create,
        "no credits any more",
        |answer| match answer.nth {
            0..4 => Reaction::send(&with(answer.message, CREDITS, [0, 0])),
            _ => Reaction::send(&answer.message),
        },
        End::Valid,
    ),
    on(
        Command::QueryInfo,
        "an answer too late",
        |answer| Reaction::send(&answer.message).after(Duration::from_millis(1500)),
        End::TimedOut("failed to ask how much space is free"),
    ),
    on(
        Command::QueryInfo,
        "a buffer out of the message",
        |answer| Reaction::send(&with(answer.message, BODY + 2, [0xFF, 0xFF])),
        End::Refused("malformed QUERY_INFO"),
    ),
    on(
        Command::QueryInfo,
        "pending for ever",
        |answer| {
            let storm = framed(&pending(&answer.message, 1)).repeat(100);
            Reaction::raw(Vec::new()).then_repeat(storm)
        },
        End::TimedOut("failed to ask how much space is free"),
    ),
];

#[test]
fn negotiations_that_no_server_may_lead() {
    check(NEGOTIATE, "read-4k", &short());
}

#[test]
fn logons_that_no_server_may_grant() {
    check(SESSION, "read-4k", &short());
}

#[test]
fn shares_that_no_server_may_have() {
    let options = RunOptions {
        sessions: SessionsSpec {
            dialect: Some("2.1".parse().unwrap()),
            sign: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    };
    check(TREE, "read-4k", &options);
}

#[test]
fn a_whole_run_one_byte_at_a_time() {
    let cases = [Case {
        name: "one byte at a time",
        of: Of::All,
        script: |answer| Reaction::send(&answer.message).byte_by_byte(),
        end: End::Valid,
    }];
    check(&cases, "read-4k", &short());
}
