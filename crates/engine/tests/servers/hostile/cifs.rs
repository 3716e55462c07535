//! Hostile servers of CIFS: a relay in front of Samba.

use std::net::SocketAddr;

use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::kind::OpKind;
use smbench_model::record::OperationFailure;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_model::target::Target;
use smbench_protocol::cifs::FileNumber;
use smbench_protocol::cifs::command::lock::encode_release;
use smbench_protocol::cifs::header::{CIFS_UNSOLICITED, CifsCommand, CifsHeader};
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::{Dialect, NtStatus};

use super::forge::with;
use super::load::{STREAMS, plain};
use super::relay::{Answer, Of, Reaction, Script, framed, prefixed};
use super::{Case, End, Sound, check_on};
use crate::support::target;

/// Where fields of a message lie (MS-CIFS 2.2.3.1, 2.2.4.42.2).
const COMMAND: usize = 4;
const STATUS: usize = 5;
const FLAGS: usize = 9;
const FLAGS2: usize = 10;
const SIGNATURE: usize = 14;
const MID: usize = 30;
const WORD_COUNT: usize = 32;
const READ_LENGTH: usize = 43;
const READ_OFFSET: usize = 45;

const SILENT: End = End::Stalled("no answer to a read within 700ms");

const fn read(name: &'static str, script: Script, end: End) -> Case {
    Case {
        name,
        of: Of::Cifs(CifsCommand::ReadAndX),
        script,
        end,
    }
}

/// Returns a thousand framed breaks of a file that is not open.
fn break_storm(message: &[u8]) -> Vec<u8> {
    let header = CifsHeader {
        command: CifsCommand::LockingAndX,
        flags: 0,
        mid: CIFS_UNSOLICITED,
        ..CifsHeader::decode(message).unwrap()
    };
    let mut broken = Vec::new();
    header.encode(&mut broken);
    encode_release(FileNumber(0xABCD), OplockLevel::LevelII, &mut broken);
    framed(&broken).repeat(1000)
}

fn expired(answer: Answer) -> Reaction {
    let status = NtStatus::NETWORK_SESSION_EXPIRED.0.to_le_bytes();
    let header = with(answer.message, STATUS, status)[..WORD_COUNT].to_vec();
    Reaction::send(&[&header[..], &[0; 3]].concat())
}

const CASES: &[Case] = &[
    read(
        "empty frames for ever",
        |_| Reaction::raw(Vec::new()).then_repeat(vec![0; 4000]),
        SILENT,
    ),
    read(
        "a frame of noise",
        |answer| Reaction::send(&vec![0xA5; answer.message.len()]),
        End::Dropped("malformed CIFS protocol id"),
    ),
    read(
        "a length short of the message",
        |Answer { message, .. }| Reaction::raw(prefixed(message.len() - 16, &message)),
        End::Dropped("malformed READ"),
    ),
    read(
        "a header cut short",
        |answer| Reaction::send(&answer.message[..20]),
        End::Dropped("malformed CIFS header"),
    ),
    read(
        "a multiplex id used again",
        |answer| Reaction::raw(framed(&answer.message).repeat(2)),
        End::Dropped("which was not asked"),
    ),
    read(
        "an answer to a message never sent",
        |answer| {
            let unasked = with(answer.message.clone(), MID, 54321u16.to_le_bytes());
            Reaction::raw([framed(&unasked), framed(&answer.message)].concat())
        },
        End::Dropped("an answer to message 54321, which was not asked"),
    ),
    read(
        "another command",
        |answer| Reaction::send(&with(answer.message, COMMAND, [0x2F])),
        End::Dropped("a WRITE_ANDX answer to a READ_ANDX request"),
    ),
    read(
        "an answer to a cancel that was not sent",
        |answer| Reaction::send(&with(answer.message, COMMAND, [0xA4])),
        End::Dropped("which was not asked"),
    ),
    read(
        "no command at all",
        |answer| Reaction::send(&with(answer.message, COMMAND, [0xEE])),
        End::Dropped("malformed CIFS command"),
    ),
    read(
        "a request in place of the answer",
        |answer| Reaction::send(&with(answer.message, FLAGS, [0])),
        End::Dropped("the server broke the protocol"),
    ),
    read(
        "fewer words than a READ has",
        |answer| Reaction::send(&with(answer.message, WORD_COUNT, [3])),
        End::Dropped("malformed READ"),
    ),
    read(
        "more data than the message",
        |answer| Reaction::send(&with(answer.message, READ_LENGTH, [0xFF, 0xFF])),
        End::Dropped("malformed READ"),
    ),
    read(
        "data within the header",
        |answer| Reaction::send(&with(answer.message, READ_OFFSET, [8, 0])),
        End::Dropped("malformed READ"),
    ),
    read(
        "less data than asked for",
        |answer| Reaction::send(&with(answer.message, READ_LENGTH, [0, 8])),
        End::Counted(OpKind::Read, OperationFailure::Short),
    ),
    read(
        "a failure",
        |answer| {
            let status = NtStatus::ACCESS_DENIED.0.to_le_bytes();
            Reaction::send(&with(answer.message, STATUS, status))
        },
        End::Counted(
            OpKind::Read,
            OperationFailure::Status(NtStatus::ACCESS_DENIED),
        ),
    ),
    read(
        "an error of DOS",
        |answer| {
            let failed = with(answer.message, STATUS, [1, 0, 5, 0]);
            Reaction::send(&with(failed, FLAGS2, [0x07, 0x80]))
        },
        End::Counted(
            OpKind::Read,
            OperationFailure::Status(NtStatus::UNSUCCESSFUL),
        ),
    ),
    read(
        "a storm of breaks before each answer",
        |answer| Reaction::raw([break_storm(&answer.message), framed(&answer.message)].concat()),
        End::Valid,
    ),
    read(
        "breaks for ever",
        |answer| Reaction::raw(Vec::new()).then_repeat(break_storm(&answer.message)),
        SILENT,
    ),
    read(
        "a session that expires now and then",
        |answer| match answer.nth % 8 {
            3 => expired(answer),
            _ => Reaction::send(&answer.message),
        },
        End::Valid,
    ),
    read(
        "a session that stays expired",
        expired,
        // The limit may end the wait for a reauthentication, or for the READ after it.
        End::Stalled("within 700ms"),
    ),
];

const SIGNED: &[Case] = &[
    read(
        "a changed byte",
        |answer| {
            let last = answer.message.len() - 1;
            let changed = answer.message[last] ^ 1;
            Reaction::send(&with(answer.message, last, [changed]))
        },
        End::Dropped("a READ_ANDX answer whose signature is missing or wrong"),
    ),
    read(
        "no signature",
        |answer| Reaction::send(&with(answer.message, SIGNATURE, [0; 8])),
        End::Dropped("a READ_ANDX answer whose signature is missing or wrong"),
    ),
];

impl Sound for ScratchSamba {
    fn address(&self) -> SocketAddr {
        self.address()
    }

    fn target(&self) -> Target {
        target(&self.url(), self.password())
    }

    fn paths(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.data_dir()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

fn samba(signing: &str) -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned(), signing.to_owned()],
        ..SambaOptions::default()
    })
}

fn in_cifs(sign: Mode) -> RunOptions {
    RunOptions {
        sessions: SessionsSpec {
            dialect: Some(Dialect::Cifs.into()),
            sign: Some(sign),
            ..plain().sessions
        },
        ..plain()
    }
}

#[test]
fn lies_and_silence_in_cifs() {
    if let Some(samba) = samba("server signing = auto") {
        let of = Of::Cifs(CifsCommand::ReadAndX);
        let streams: Vec<_> = STREAMS.iter().map(|case| Case { of, ..*case }).collect();
        check_on(&samba, &streams, "read-4k", &in_cifs(Mode::Off));
        check_on(&samba, CASES, "read-4k", &in_cifs(Mode::Off));
    }
}

#[test]
fn changed_answers_in_signed_sessions_of_cifs() {
    if let Some(samba) = samba("server signing = auto") {
        check_on(&samba, SIGNED, "read-4k", &in_cifs(Mode::Required));
    }
}
