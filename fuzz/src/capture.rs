//! Targets for captures: a file, packets without a file, streams with holes, the messages
//! of a connection, imported folders, and key files.

use smbench_capture::{CaptureImport, ImportOptions, KeyRing, fuzzing};

use crate::FuzzTarget;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("capture_file", capture_file),
    ("capture_packets", capture_packets),
    ("capture_stream", capture_stream),
    ("capture_segments", capture_segments),
    ("capture_messages", capture_messages),
    ("capture_recording", capture_recording),
    ("session_keys", session_keys),
];

/// Reads a file of any kind. An error is one line.
pub fn capture_file(data: &[u8]) {
    let mut import = CaptureImport::new(ImportOptions::default());
    let read = import.read("file", data);
    match read.and_then(|()| import.finish()) {
        Ok(result) => assert!(result.summary.to_json().starts_with('{')),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// Reads packets of raw IP. Each has its length before it.
pub fn capture_packets(data: &[u8]) {
    fuzzing::packets(data);
}

/// Cuts a stream with holes into messages.
pub fn capture_stream(data: &[u8]) {
    fuzzing::stream(data);
}

/// Puts segments in order. Every byte is handed out or counted as lost.
pub fn capture_segments(data: &[u8]) {
    fuzzing::segments(data);
}

/// Takes messages of a client and a server, each with its length before it.
pub fn capture_messages(data: &[u8]) {
    fuzzing::messages(data);
}

/// Reads the lines of an imported folder. An error is one line.
pub fn capture_recording(data: &[u8]) {
    fuzzing::recording(data).expect("a folder for files");
}

/// Reads a file of session keys.
pub fn session_keys(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut keys = KeyRing::default();
    if let Err(error) = keys.add_session_keys("keys", &text) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
