//! Shared connections in a packet capture: which session uses which connection, and
//! that no nonce is used twice.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use smbench_lab::{ScratchSamba, require};
use smbench_model::plan::Plan;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_protocol::Dialect;

use super::{Shape, check, options, samba, shape};
use crate::capture::{Conversation, Message, TSHARK, captured};
use crate::support::{plan, target};

/// Command code of READ (MS-SMB2 2.2.1.2).
const READ: u16 = 8;

fn plan_of(samba: &ScratchSamba, shape: Shape, more: RunOptions) -> Plan {
    let mut options = more.or(options(shape));
    options.work.verify = None;
    plan(
        "file-server",
        &options,
        target(&samba.url(), samba.password()),
    )
}

/// Returns the sessions that read, for each connection with a READ. These are the
/// connections of the load.
fn readers(conversations: &[Conversation]) -> Vec<BTreeSet<u64>> {
    let of_load = |conversation: &Conversation| {
        let requests = conversation.requests.iter();
        let reads = requests.filter(|message| message.command() == READ);
        reads.map(Message::session_id).collect()
    };
    let all = conversations.iter().map(of_load);
    all.filter(|sessions: &BTreeSet<u64>| !sessions.is_empty())
        .collect()
}

#[test]
fn sessions_and_connections_are_as_many_as_asked_for() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some((samba, _)) = samba() else {
        return;
    };
    for (shape, sessions, connections) in [
        (shape(4, 4, 1, 1), 4, 1),
        (shape(1, 1, 4, 4), 1, 4),
        (shape(4, 2, 3, 6), 4, 6),
    ] {
        let plain = RunOptions {
            sessions: SessionsSpec {
                sign: Some(Mode::Off),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        };
        let (record, conversations) = captured(&samba, &plan_of(&samba, shape, plain));
        check(shape, record);
        let readers = readers(&conversations);
        assert_eq!(readers.len(), connections, "{shape:?}");
        // Each connection carries all sessions of its group.
        for on_connection in &readers {
            let expected = shape.sessions_per_connection as usize;
            assert_eq!(on_connection.len(), expected, "{shape:?}");
        }
        let all: BTreeSet<u64> = readers.into_iter().flatten().collect();
        assert_eq!(all.len(), sessions, "{shape:?}");
    }
}

#[test]
fn no_nonce_comes_twice_over_all_channels_of_a_session() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some((samba, _)) = samba() else {
        return;
    };
    for dialect in [Dialect::Smb30, Dialect::Smb311] {
        let shape = shape(2, 2, 3, 3);
        let encrypted = RunOptions {
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                encrypt: Some(Mode::Required),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        };
        let (record, conversations) = captured(&samba, &plan_of(&samba, shape, encrypted));
        check(shape, record);
        let mut connections: BTreeMap<u64, u32> = BTreeMap::new();
        let mut messages: BTreeMap<u64, usize> = BTreeMap::new();
        let mut nonces: BTreeMap<u64, HashSet<Vec<u8>>> = BTreeMap::new();
        for conversation in &conversations {
            let requests = conversation.requests.iter();
            let mut sessions = BTreeSet::new();
            for message in requests.filter(|message| message.is_encrypted()) {
                let session = message.session_id();
                sessions.insert(session);
                *messages.entry(session).or_default() += 1;
                let nonce = message.nonce().to_vec();
                nonces.entry(session).or_default().insert(nonce);
            }
            for session in sessions {
                *connections.entry(session).or_default() += 1;
            }
        }
        for (session, count) in messages {
            assert_eq!(nonces[&session].len(), count, "a nonce was used twice");
        }
        // The workspace's session and those of the preparation have one connection
        // each.
        let several = connections.values().filter(|count| **count > 1);
        assert_eq!(several.copied().collect::<Vec<_>>(), [3, 3]);
    }
}
