//! Captured messages by name (see `fixtures/captures/README.md` for their
//! provenance), and strategies for arbitrary values.

use proptest::prelude::*;
use smbench_protocol::FileId;
use smbench_protocol::command::{FileTime, FileTimes};

/// Returns the bytes of a `.hex` file. It has lines of hex pairs, and comment
/// lines that begin with `#`.
pub(crate) fn parse_hex(text: &str) -> Vec<u8> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).expect("a hex byte"))
        .collect()
}

/// `captured!("2.1", "read-response")` returns that message with its header.
macro_rules! captured {
    ($set:literal, $name:literal) => {
        $crate::support::parse_hex(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/captures/messages/",
            $set,
            "/",
            $name,
            ".hex"
        )))
    };
}

pub(crate) fn file_id() -> impl Strategy<Value = FileId> {
    any::<(u64, u64)>().prop_map(|(persistent, volatile)| FileId {
        persistent,
        volatile,
    })
}

pub(crate) fn file_times() -> impl Strategy<Value = FileTimes> {
    any::<[u64; 4]>().prop_map(|[created, accessed, written, changed]| FileTimes {
        created: FileTime(created),
        accessed: FileTime(accessed),
        written: FileTime(written),
        changed: FileTime(changed),
    })
}

/// Defines `all`, which returns `(set and name, bytes)` of each named message.
macro_rules! all_captured {
    ($($set:literal: [$($name:literal),+ $(,)?]),+ $(,)?) => {
        /// Returns every captured message.
        pub(crate) fn all() -> Vec<(&'static str, Vec<u8>)> {
            vec![$($((concat!($set, "/", $name), captured!($set, $name))),+),+]
        }
    };
}

all_captured! {
    "2.1": [
        "close-compound-request",
        "close-compound-response",
        "close-request",
        "close-response",
        "create-request",
        "create-response",
        "create-root-request",
        "create-root-response",
        "durable-reconnect",
        "durable-request",
        "durable-response",
        "error-name-not-found",
        "error-no-more-files",
        "flush-request",
        "flush-response",
        "lease-v1-break",
        "lease-v1-request",
        "lease-v1-response",
        "lock-granted-late",
        "lock-pending",
        "lock-request",
        "lock-response",
        "query-directory-request",
        "query-directory-response",
        "query-info-fs-request",
        "query-info-fs-response",
        "query-info-request",
        "query-info-response",
        "read-request",
        "read-response",
        "unlock-request",
        "unlock-response",
        "validate-negotiate-request",
        "validate-negotiate-response",
        "write-request",
        "write-response",
    ],
    "3.1.1": [
        "cancel-request",
        "compound-request",
        "compound-response",
        "contexts-request",
        "contexts-response",
        "copychunk-limits",
        "copychunk-request",
        "copychunk-response",
        "copychunk-write-request",
        "durable-v2-reconnect",
        "durable-v2-request",
        "durable-v2-response",
        "echo-request",
        "echo-response",
        "find-both-request",
        "find-both-response",
        "find-id-both-request",
        "find-id-both-response",
        "find-names-request",
        "find-names-response",
        "interfaces-request",
        "interfaces-response",
        "lease-break-acknowledgement",
        "lease-break-response",
        "lease-v2-break",
        "lease-v2-break-final",
        "lease-v2-request",
        "lease-v2-response",
        "logoff-request",
        "logoff-response",
        "notify-cancelled",
        "notify-enum-dir",
        "notify-pending",
        "notify-request",
        "notify-response",
        "oplock-break",
        "oplock-break-acknowledgement",
        "oplock-break-response",
        "query-security-request",
        "query-security-response",
        "read-response-empty",
        "resume-key-request",
        "resume-key-response",
        "set-basic-request",
        "set-disposition-request",
        "set-end-of-file-request",
        "set-info-response",
        "set-rename-request",
        "set-security-request",
        "tree-disconnect-request",
        "tree-disconnect-response",
    ],
    "3.1.1-signed": [
        "close-compound-request",
        "close-compound-response",
        "close-request",
        "close-response",
        "create-request",
        "create-response",
        "create-root-request",
        "create-root-response",
        "error-name-not-found",
        "error-no-more-files",
        "flush-request",
        "flush-response",
        "lock-granted-late",
        "lock-pending",
        "lock-request",
        "lock-response",
        "query-directory-request",
        "query-directory-response",
        "query-info-fs-request",
        "query-info-fs-response",
        "query-info-request",
        "query-info-response",
        "read-request",
        "read-response",
        "unlock-request",
        "unlock-response",
        "write-request",
        "write-response",
    ],
}
