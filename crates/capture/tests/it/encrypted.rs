//! Encrypted sessions: counted without a key, and read with each kind of key.

use std::fs;
use std::path::Path;

use flate2::read::GzDecoder;
use smbench_capture::{CaptureImport, CaptureSummary, ImportOptions, KeyRing};

use crate::packets::{Packet, fixture_path, read_all};

/// The password of the account in the encrypted captures.
pub(crate) const PASSWORD: &str = "3e8aecb179683669e5a45826260c286d";
/// The captures, with their ciphers and their encrypted messages.
pub(crate) const ENCRYPTED: [(&str, &str, u64); 3] = [
    ("smbclient-3.0-encrypted", "aes-128-ccm", 95),
    ("smbclient-3.1.1-encrypted", "aes-128-gcm", 90),
    ("smbclient-3.1.1-encrypted-256", "aes-256-gcm", 42),
];

/// Reads a capture with these keys. Returns its summary and its trace.
fn read(name: &str, keys: KeyRing) -> (CaptureSummary, String) {
    let mut import = CaptureImport::new(ImportOptions::default());
    import.open_with(keys);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    import.trace_to(fs::File::create(&path).unwrap());
    let file = fs::File::open(fixture_path(&format!("{name}.pcap"))).unwrap();
    import.read(name, file).unwrap();
    let mut result = import.finish().unwrap();
    result.finish_trace().unwrap();
    let trace = read_all(GzDecoder::new(fs::File::open(&path).unwrap()));
    (result.summary, trace)
}

/// Returns one line of the key file of a capture.
fn session_keys(name: &str, line: usize) -> KeyRing {
    let path = fixture_path(&format!("{name}.keys"));
    let text = fs::read_to_string(Path::new(&path)).unwrap();
    let mut keys = KeyRing::default();
    keys.add_session_keys("keys", text.lines().nth(line).unwrap())
        .unwrap();
    keys
}

fn password(text: &str) -> KeyRing {
    let mut keys = KeyRing::default();
    keys.add_password(text);
    keys
}

#[test]
fn without_a_key_messages_are_counted_with_their_cipher_and_user() {
    for (name, cipher, messages) in ENCRYPTED {
        let wrong = "no given password opens them";
        for (keys, failed) in [(KeyRing::default(), None), (password("wrong"), Some(wrong))] {
            let (summary, trace) = read(name, keys);
            assert_eq!(summary.unreadable.encrypted_messages, messages, "{name}");
            let [encrypted] = &summary.unreadable.encrypted[..] else {
                panic!("{:?}", summary.unreadable.encrypted);
            };
            assert_eq!(encrypted.cipher.as_deref(), Some(cipher));
            assert_eq!((encrypted.sessions, encrypted.messages), (1, messages));
            let user = encrypted.user.clone().unwrap();
            assert!(user.len() == 16 && !user.contains("root"), "{user}");
            assert!(encrypted.opened_by.starts_with("the password"));
            assert_eq!(encrypted.failed.as_deref(), failed);
            assert_eq!(trace.lines().count(), 3, "{trace}");
        }
    }
}

#[test]
fn password_session_key_and_keys_of_both_directions_give_the_same_trace() {
    for (name, _, messages) in ENCRYPTED {
        let (summary, trace) = read(name, password(PASSWORD));
        assert_eq!(summary.unreadable.encrypted_messages, 0, "{name}");
        let all: u64 = summary
            .commands
            .values()
            .map(|command| command.requests + command.responses)
            .sum();
        assert_eq!(all, messages + 6, "{name}");
        for line in [0, 1] {
            let (other, same) = read(name, session_keys(name, line));
            assert_eq!(other.to_json(), summary.to_json(), "{name}, line {line}");
            assert_eq!(same, trace, "{name}, line {line}");
        }
        for secret in ["fox", "dir", "bench", "root"] {
            assert!(
                !trace.contains(&format!("\"{secret}")),
                "{secret} in {trace}"
            );
        }
    }
}

/// The keys of both directions open a capture that begins behind the log-on.
#[test]
fn keys_of_both_directions_need_no_log_on() {
    let (name, _, messages) = ENCRYPTED[1];
    let packets = crate::packets::fixture(&format!("{name}.pcap"));
    let first = packets
        .iter()
        .position(|packet| packet.tcp_payload().get(4) == Some(&0xfd));
    let file = crate::packets::pcap(1, &packets[first.unwrap()..]);
    for (line, unopened) in [(1, 0), (0, messages)] {
        let mut import = CaptureImport::new(ImportOptions::default());
        import.open_with(session_keys(name, line));
        import.read(name, &file[..]).unwrap();
        let summary = import.finish().unwrap().summary;
        assert_eq!(
            summary.unreadable.encrypted_messages, unopened,
            "line {line}"
        );
        let failed = summary.unreadable.encrypted.first();
        let failed = failed.and_then(|encrypted| encrypted.failed.as_deref());
        let needed = (unopened > 0).then_some("the given session key needs the log-on");
        assert_eq!(failed, needed, "line {line}");
        let all: u64 = summary
            .commands
            .values()
            .map(|command| command.requests + command.responses)
            .sum();
        assert_eq!(all, messages - unopened, "line {line}");
    }
}

#[test]
fn session_keys_that_open_nothing_are_told() {
    let (name, _, messages) = ENCRYPTED[1];
    let known = "52577fd900000000";
    let wrong = "the given session key does not open them";
    let no_ids: &[&str] = &[];
    let key = "00".repeat(16);
    for (id, failed, unknown) in [
        (known, Some(wrong), no_ids),
        ("4100000000080000", None, &["4100000000080000"]),
    ] {
        for line in [format!("{id},{key}"), format!("{id},,{key},{key}")] {
            let mut keys = KeyRing::default();
            keys.add_session_keys("keys", &line).unwrap();
            let (summary, _) = read(name, keys);
            let unreadable = summary.unreadable;
            assert_eq!(unreadable.encrypted_messages, messages, "{line}");
            assert_eq!(unreadable.encrypted[0].failed.as_deref(), failed, "{line}");
            assert_eq!(unreadable.unknown_session_ids, unknown, "{line}");
        }
    }
}

/// What was lost is no matter of keys.
#[test]
fn a_part_of_a_message_of_an_opened_session_is_not_called_encrypted() {
    let (name, _, messages) = ENCRYPTED[1];
    let mut packets = crate::packets::fixture(&format!("{name}.pcap"));
    let is_sealed = |packet: &Packet| packet.tcp_payload().get(4) == Some(&0xfd);
    let at = packets.iter().rposition(is_sealed).unwrap();
    let whole = packets[at].clone();
    for (damaged, [cut, malformed]) in [(whole.cut(140), [1, 0]), (spoilt(&whole), [0, 1])] {
        packets[at] = damaged;
        for (keys, encrypted) in [(password(PASSWORD), 0), (KeyRing::default(), messages)] {
            let is_open = encrypted == 0;
            let mut import = CaptureImport::new(ImportOptions::default());
            import.open_with(keys);
            let file = crate::packets::pcap(1, &packets);
            import.read(name, &file[..]).unwrap();
            let unreadable = import.finish().unwrap().summary.unreadable;
            assert_eq!(unreadable.encrypted_messages, encrypted);
            assert_eq!(unreadable.cut_messages, cut);
            let malformed = if is_open { malformed } else { 0 };
            assert_eq!(unreadable.malformed_messages, malformed);
        }
    }
}

/// Returns the packet with another last byte.
fn spoilt(packet: &Packet) -> Packet {
    let mut spoilt = packet.clone();
    *spoilt.bytes.last_mut().unwrap() ^= 1;
    spoilt
}

#[test]
fn the_keytab_of_the_server_opens_sessions_that_kerberos_set_up() {
    let name = "smbench-3.1.1-kerberos-encrypted";
    let (without, _) = read(name, KeyRing::default());
    assert_eq!(without.unreadable.encrypted_messages, 6);
    let [encrypted] = &without.unreadable.encrypted[..] else {
        panic!("{:?}", without.unreadable.encrypted);
    };
    assert!(
        encrypted.opened_by.starts_with("the keytab"),
        "{encrypted:?}"
    );
    let mut keys = KeyRing::default();
    let keytab = fs::read(fixture_path(&format!("{name}.keytab"))).unwrap();
    keys.add_keytab("keytab", &keytab).unwrap();
    let (summary, trace) = read(name, keys);
    assert_eq!(summary.unreadable.encrypted_messages, 0);
    for command in ["tree_connect", "tree_disconnect", "logoff"] {
        let counts = &summary.commands[command];
        assert_eq!((counts.requests, counts.statuses["STATUS_SUCCESS"]), (1, 1));
    }
    assert_eq!(trace.lines().count(), 5);
    // The ticket names the user, whose name is hashed.
    let user = summary.users.keys().next().unwrap();
    assert!(user.len() == 16 && user != "unknown", "{user}");
    let error = KeyRing::default().add_keytab("file", b"none").unwrap_err();
    assert!(
        error.to_string().starts_with("file: no keytab of format 2"),
        "{error}"
    );
}
