//! Hostile answers to a NEGOTIATE.

use smbench_protocol::header::Command;

use super::{NO_ANSWER, on};
use crate::hostile::forge::{BODY, COMMAND, CREDITS, MESSAGE_ID, STATUS, pending, with};
use crate::hostile::relay::{Answer, Reaction, framed, prefixed};
use crate::hostile::{Case, End};

const CONTEXT_COUNT: usize = BODY + 6;
const CONTEXT_OFFSET: usize = BODY + 60;

pub(super) const NEGOTIATE: &[Case] = &[
    on(
        Command::Negotiate,
        "silence",
        |_| Reaction::raw(Vec::new()).then_freeze(),
        NO_ANSWER,
    ),
    on(
        Command::Negotiate,
        "the end",
        |_| Reaction::raw(Vec::new()).then_close(),
        End::Refused("the server closed the connection"),
    ),
    on(
        Command::Negotiate,
        "a reset",
        |_| Reaction::raw(Vec::new()).then_reset(),
        End::Refused("failed to set up a session on 127.0.0.1"),
    ),
    on(
        Command::Negotiate,
        "half a frame, then silence",
        |answer| Reaction::raw(framed(&answer.message)[..100].to_vec()).then_freeze(),
        NO_ANSWER,
    ),
    on(
        Command::Negotiate,
        "half a frame, then the end",
        |answer| Reaction::raw(framed(&answer.message)[..100].to_vec()).then_close(),
        End::Refused("the server closed the connection"),
    ),
    on(
        Command::Negotiate,
        "a length of 16 MiB",
        |_| Reaction::raw(vec![0, 0xFF, 0xFF, 0xFF]),
        End::Refused("a frame of 16777215 bytes"),
    ),
    on(
        Command::Negotiate,
        "a length of 4 GiB",
        |_| Reaction::raw(vec![0xFF; 4]),
        End::Refused("this is not an SMB server: unexpected answer (0xff) on port "),
    ),
    on(
        Command::Negotiate,
        "no SMB at all",
        |_| Reaction::raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        End::Refused("this is not an SMB server: unexpected answer (0x53) on port "),
    ),
    on(
        Command::Negotiate,
        "CIFS",
        |_| Reaction::send(&[&b"\xFFSMBr"[..], &[0; 32]].concat()),
        End::Refused("the server answers in CIFS, which was not offered"),
    ),
    on(
        Command::Negotiate,
        "empty frames for ever",
        |_| Reaction::raw(Vec::new()).then_repeat(vec![0; 4000]),
        NO_ANSWER,
    ),
    on(
        Command::Negotiate,
        "pending for ever",
        |answer| {
            let storm = framed(&pending(&answer.message, u16::MAX)).repeat(100);
            Reaction::raw(Vec::new()).then_repeat(storm)
        },
        NO_ANSWER,
    ),
    on(
        Command::Negotiate,
        "a length beyond the message",
        |Answer { message, .. }| Reaction::raw(prefixed(message.len() + 8, &message)),
        NO_ANSWER,
    ),
    on(
        Command::Negotiate,
        "a body cut short",
        |answer| Reaction::send(&answer.message[..100]),
        End::Refused("malformed NEGOTIATE"),
    ),
    on(
        Command::Negotiate,
        "another command",
        |answer| Reaction::send(&with(answer.message, COMMAND, [1, 0])),
        End::Refused("a SESSION_SETUP answer to a NEGOTIATE request"),
    ),
    on(
        Command::Negotiate,
        "an answer to a message never sent",
        |answer| Reaction::send(&with(answer.message, MESSAGE_ID, 99u64.to_le_bytes())),
        End::Refused("an answer to message 99, which was not asked"),
    ),
    on(
        Command::Negotiate,
        "a dialect of tomorrow",
        |answer| Reaction::send(&with(answer.message, BODY + 4, [0x20, 3])),
        End::Refused("the server chose dialect 0x0320, which was not offered"),
    ),
    on(
        Command::Negotiate,
        "a status that nobody knows",
        |answer| Reaction::send(&with(answer.message, STATUS, 0xEE12_3456u32.to_le_bytes())),
        End::Refused("NEGOTIATE refused with NTSTATUS 0xEE123456"),
    ),
    on(
        Command::Negotiate,
        "no credit",
        |answer| Reaction::send(&with(answer.message, CREDITS, [0, 0])),
        End::Refused("the server granted no credit for the SESSION_SETUP"),
    ),
    on(
        Command::Negotiate,
        "no contexts",
        |answer| Reaction::send(&with(answer.message, CONTEXT_COUNT, [0, 0])),
        End::Refused("negotiate context list without pre-authentication"),
    ),
    on(
        Command::Negotiate,
        "the first context twice",
        |answer| {
            let message = answer.message;
            let at = message[CONTEXT_OFFSET..CONTEXT_OFFSET + 4].first_chunk();
            let contexts = u32::from_le_bytes(*at.unwrap()) as usize;
            let len = usize::from(message[contexts + 2]);
            let first = message[contexts..contexts + 8 + len].to_vec();
            let mut twice = first.clone();
            twice.resize(first.len().next_multiple_of(8), 0);
            twice.extend_from_slice(&first);
            let mut forged = with(message, CONTEXT_COUNT, [2, 0]);
            forged.splice(contexts.., twice);
            Reaction::send(&forged)
        },
        End::Refused("negotiate context that comes twice"),
    ),
    on(
        Command::Negotiate,
        "more contexts than there are",
        |answer| Reaction::send(&with(answer.message, CONTEXT_COUNT, [0xFF, 0xFF])),
        End::Refused("malformed negotiate context"),
    ),
    on(
        Command::Negotiate,
        "contexts out of the message",
        |answer| Reaction::send(&with(answer.message, CONTEXT_OFFSET, [0xFF; 4])),
        End::Refused("malformed negotiate context"),
    ),
    on(
        Command::Negotiate,
        "nothing to be read at a time",
        |answer| Reaction::send(&with(answer.message, BODY + 32, [0; 4])),
        // On 3.1.1 the hash over the negotiation reveals every change.
        End::Refused("signature is missing or wrong"),
    ),
];
