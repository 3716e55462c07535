//! Captured messages by name (provenance in `fixtures/captures/README.md`), and
//! values of any kind.

use proptest::prelude::*;
use smbench_protocol::FileId;
use smbench_protocol::command::{FileTime, FileTimes};

/// The bytes of a `.hex` file: lines of hex pairs, `#` opens a comment line.
pub(crate) fn parse_hex(text: &str) -> Vec<u8> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).expect("a hex byte"))
        .collect()
}

/// `captured!("2.1", "read-response")` is that message, header included.
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

/// Every message captured in both dialects, as `(set and name, bytes)`.
macro_rules! all_captured {
    ($($name:literal),+ $(,)?) => {
        pub(crate) fn all() -> Vec<(&'static str, Vec<u8>)> {
            vec![
                $(
                    (concat!("2.1/", $name), captured!("2.1", $name)),
                    (concat!("3.1.1-signed/", $name), captured!("3.1.1-signed", $name)),
                )+
            ]
        }
    };
}

all_captured!(
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
);
