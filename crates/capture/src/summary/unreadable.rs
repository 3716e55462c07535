//! The part of a summary on what could not be read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ledger::CaptureLedger;
use crate::sessions::SessionRecord;

/// What could not be read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnreadableSummary {
    /// Messages that are encrypted, and for which there is no key.
    pub encrypted_messages: u64,
    /// Messages that are compressed.
    pub compressed_messages: u64,
    /// Bytes of packets that are not in the capture.
    pub lost_bytes: u64,
    /// Bytes that the snap length cut off.
    pub cut_bytes: u64,
    /// Bytes whose message began before them in a hole, or before the capture.
    pub skipped_bytes: u64,
    /// Messages of which only a part is in the capture.
    pub cut_messages: u64,
    /// Messages that are not SMB as specified.
    pub malformed_messages: u64,
    /// The first frame with such a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed_frame: Option<u64>,
    /// Datagrams of which fragments are missing.
    pub fragmented_datagrams: u64,
    /// Packets whose headers are cut or wrong.
    pub unreadable_packets: u64,
    /// Frames of an unknown link layer.
    pub unknown_links: u64,
    /// Names, sessions and opens beyond those that are kept.
    pub unkept: u64,
    /// The encrypted messages by what would open them.
    pub encrypted: Vec<EncryptedSummary>,
    /// Session ids of given keys that are not in the capture. Empty if no message remains
    /// encrypted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_session_ids: Vec<String>,
}

/// Encrypted messages of sessions that one key would open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EncryptedSummary {
    /// Name of the cipher; missing if the negotiation is not in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
    /// The user; missing if the log-on is not in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What opens the messages.
    pub opened_by: String,
    /// Which given keys do not open them; missing if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of messages.
    pub messages: u64,
}

pub(super) fn unreadable(ledger: &CaptureLedger) -> UnreadableSummary {
    let sum = &ledger.tally.unreadable;
    let mut encrypted = BTreeMap::<_, (u64, u64)>::new();
    for session in ledger
        .sessions
        .all
        .iter()
        .filter(|session| session.encrypted > 0)
    {
        let opened_by = match session.logon {
            Some("ntlm") => "the password of the user, or the session key",
            Some("kerberos") => "the keytab of the server, or the session key",
            _ => "the session key: the log-on is not in the capture",
        };
        let failed = ledger.keys.failed(session.logon, session.ids());
        let key = (
            session.cipher.clone(),
            session.user.clone(),
            opened_by,
            failed,
        );
        let counts = encrypted.entry(key).or_default();
        counts.0 += 1;
        counts.1 += session.encrypted;
    }
    let unknown_session_ids = if encrypted.is_empty() {
        Vec::new()
    } else {
        let sessions = ledger.sessions.all.iter();
        ledger
            .keys
            .unknown_ids(sessions.flat_map(SessionRecord::ids))
    };
    let unkept = [
        &ledger.paths.unkept,
        &ledger.sessions.unkept,
        &ledger.opens.unkept,
    ];
    UnreadableSummary {
        encrypted_messages: sum.encrypted_messages,
        compressed_messages: sum.compressed_messages,
        lost_bytes: sum.lost_bytes,
        cut_bytes: sum.cut_bytes,
        skipped_bytes: sum.skipped_bytes,
        cut_messages: sum.cut_messages,
        malformed_messages: sum.malformed_messages,
        malformed_frame: sum.malformed_frame,
        fragmented_datagrams: sum.fragmented_datagrams,
        unreadable_packets: sum.unreadable_packets,
        unknown_links: sum.unknown_links,
        unkept: unkept.iter().map(|one| one.count()).sum(),
        encrypted: encrypted
            .into_iter()
            .map(
                |((cipher, user, opened_by, failed), (sessions, messages))| EncryptedSummary {
                    cipher,
                    user,
                    opened_by: opened_by.to_owned(),
                    failed: failed.map(str::to_owned),
                    sessions,
                    messages,
                },
            )
            .collect(),
        unknown_session_ids,
    }
}
