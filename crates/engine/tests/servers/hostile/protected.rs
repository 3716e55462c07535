//! Tampering with signed or encrypted messages: it is always detected, and a
//! tampered answer never counts as a completed operation.

use smbench_model::contents::Verify;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::header::Command;
use smbench_protocol::{Cipher, CipherList, Dialect, NtStatus};

use super::forge::{BODY, CREDITS, FLAGS, SIGNATURE, STATUS, break_storm, flipped, pending, with};
use super::relay::{Answer, Of, Reaction, Script, framed};
use super::{Case, End, check};
use crate::support::short;

/// Number of genuine answers before the first tampered one; they are counted.
const HONEST: u64 = 5;

const FORGED: End = End::Dropped("a READ answer whose signature is missing or wrong");

const fn signed(name: &'static str, script: Script, end: End) -> Case {
    Case {
        name,
        of: Of::Command(Command::Read),
        script,
        end,
    }
}

/// Flips a bit of the byte at `AT` in signed answers.
const fn signed_bit<const AT: usize>(name: &'static str) -> Case {
    signed(name, flip::<AT>, FORGED)
}

/// Flips a bit of the byte at `AT`, in all answers but the honest ones.
fn flip<const AT: usize>(answer: Answer) -> Reaction {
    later(answer, |message| flipped(message, AT))
}

/// Sends the first answers unchanged, and alters the others.
fn later(answer: Answer, alter: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Reaction {
    match answer.nth {
        0..HONEST => Reaction::send(&answer.message),
        _ => Reaction::send(&alter(answer.message)),
    }
}

const SIGNED: &[Case] = &[
    signed_bit::<{ SIGNATURE + 3 }>("a bit of the signature"),
    signed_bit::<{ BODY + 16 + 999 }>("a bit of the data"),
    signed_bit::<CREDITS>("a bit of the header"),
    signed(
        "another status",
        |answer| later(answer, |message| with(message, STATUS, [5, 0, 0, 0x80])),
        FORGED,
    ),
    signed(
        "no signature",
        |answer| later(answer, |message| with(message, SIGNATURE, [0; 16])),
        FORGED,
    ),
    signed(
        "no signature, and no flag that says there is one",
        |answer| {
            later(answer, |message| {
                let message = with(message, FLAGS, [1, 0, 0, 0]);
                with(message, SIGNATURE, [0; 16])
            })
        },
        FORGED,
    ),
    signed(
        "cut at the end, with a length that fits",
        |answer| later(answer, |message| message[..message.len() - 1].to_vec()),
        FORGED,
    ),
    signed(
        "answered twice",
        |answer| match answer.nth {
            0..HONEST => Reaction::send(&answer.message),
            _ => Reaction::raw(framed(&answer.message).repeat(2)),
        },
        End::Dropped("which was not asked"),
    ),
    signed(
        "a session that the server forgot",
        |answer| {
            later(answer, |message| {
                let status = NtStatus::USER_SESSION_DELETED.0.to_le_bytes();
                with(with(message, STATUS, status), FLAGS, [1, 0, 0, 0])
            })
        },
        End::Dropped("an unprotected STATUS_USER_SESSION_DELETED"),
    ),
    signed(
        "a storm of unsigned breaks and interim answers",
        |answer| {
            let storm = framed(&pending(&answer.message, 1)).repeat(100);
            Reaction::raw([break_storm(), storm, framed(&answer.message)].concat())
        },
        End::Valid,
    ),
    Case {
        name: "the last answer of the logon",
        of: Of::Command(Command::SessionSetup),
        script: |answer| match answer.message[STATUS] {
            0 => Reaction::send(&flipped(answer.message, SIGNATURE)),
            _ => Reaction::send(&answer.message),
        },
        end: End::Refused("a SESSION_SETUP answer whose signature is missing or wrong"),
    },
    Case {
        name: "the answer to the first CREATE",
        of: Of::Command(Command::Create),
        script: |answer| match answer.nth {
            0 => Reaction::send(&flipped(answer.message, BODY + 64)),
            _ => Reaction::send(&answer.message),
        },
        end: End::Refused("a CREATE answer whose signature is missing or wrong"),
    },
];

#[test]
fn signed_answers_that_were_tampered_with() {
    for dialect in [Dialect::Smb21, Dialect::Smb302, Dialect::Smb311] {
        for verify in [Verify::Off, Verify::ReadBack] {
            let options = RunOptions {
                work: WorkSpec {
                    verify: Some(verify),
                    ..short().work
                },
                sessions: SessionsSpec {
                    dialect: Some(dialect.into()),
                    sign: Some(Mode::Required),
                    encrypt: Some(Mode::Off),
                    ..short().sessions
                },
                ..short()
            };
            check(SIGNED, "read-4k", &options);
        }
    }
}

const UNREADABLE: End = End::Dropped("an encrypted message that does not decrypt");
/// Length of the transform header in bytes.
const SEALED: usize = 52;

const fn sealed(name: &'static str, script: Script, end: End) -> Case {
    Case {
        name,
        of: Of::Long,
        script,
        end,
    }
}

/// Flips a bit of the byte at `AT` in encrypted answers.
const fn sealed_bit<const AT: usize>(name: &'static str) -> Case {
    sealed(name, flip::<AT>, UNREADABLE)
}

const ENCRYPTED: &[Case] = &[
    sealed_bit::<{ SEALED + 2000 }>("a bit of the ciphertext"),
    sealed(
        "the last bit of the ciphertext",
        |answer| {
            later(answer, |message| {
                let last = message.len() - 1;
                flipped(message, last)
            })
        },
        UNREADABLE,
    ),
    sealed_bit::<4>("a bit of the tag"),
    sealed_bit::<20>("a bit of the nonce"),
    sealed_bit::<36>("a bit of the size"),
    sealed_bit::<40>("a bit of the reserved field"),
    sealed_bit::<42>("a bit of the flags"),
    sealed_bit::<44>("a bit of the session id"),
    sealed(
        "a bit of the protocol id",
        |answer| later(answer, |message| flipped(message, 0)),
        End::Dropped("malformed protocol id"),
    ),
    sealed(
        "cut at the end, with a length that fits",
        |answer| later(answer, |message| message[..message.len() - 1].to_vec()),
        UNREADABLE,
    ),
    sealed(
        "nothing but the header",
        |answer| later(answer, |message| message[..SEALED].to_vec()),
        UNREADABLE,
    ),
    sealed(
        "half of the header",
        |answer| later(answer, |message| message[..SEALED / 2].to_vec()),
        UNREADABLE,
    ),
    sealed(
        "answered twice",
        |answer| match answer.nth {
            0..HONEST => Reaction::send(&answer.message),
            _ => Reaction::raw(framed(&answer.message).repeat(2)),
        },
        End::Dropped("which was not asked"),
    ),
    sealed(
        "a storm of breaks in plain",
        |answer| Reaction::raw([break_storm(), framed(&answer.message)].concat()),
        End::Valid,
    ),
    sealed(
        "one byte at a time",
        |answer| Reaction::send(&answer.message).byte_by_byte(),
        End::Valid,
    ),
];

#[test]
fn encrypted_answers_that_were_tampered_with() {
    for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Ccm] {
        for verify in [Verify::Off, Verify::ReadBack] {
            let options = RunOptions {
                work: WorkSpec {
                    verify: Some(verify),
                    ..short().work
                },
                sessions: SessionsSpec {
                    encrypt: Some(Mode::Required),
                    cipher: Some(CipherList::only(cipher)),
                    ..short().sessions
                },
                ..short()
            };
            check(ENCRYPTED, "read-4k", &options);
        }
    }
}
