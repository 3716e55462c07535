//! The folder of an import as a recording, and one line for what is none.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use smbench_capture::{
    CaptureImport, ImportOptions, NameTreatment, TRACE_FILE, TREE_FILE, read_recording,
};
use smbench_model::trace::{Recording, Verb};

use crate::packets::{fixture_path, read_all};

/// Imports a capture into a folder.
fn import(name: &str, folder: &Path, names: NameTreatment) {
    let mut import = CaptureImport::new(ImportOptions {
        names,
        ..ImportOptions::default()
    });
    import.trace_to(File::create(folder.join(TRACE_FILE)).unwrap());
    let file = File::open(fixture_path(name)).unwrap();
    import.read(name, file).unwrap();
    let mut result = import.finish().unwrap();
    result.finish_trace().unwrap();
    let tree = File::create(folder.join(TREE_FILE)).unwrap();
    result.write_tree(tree).unwrap();
}

fn recording(name: &str, names: NameTreatment) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    import(name, folder.path(), names);
    read_recording(folder.path().to_str().unwrap()).unwrap()
}

#[test]
fn a_session_becomes_a_track_with_its_requests() {
    let hashed = recording("smbclient-3.1.1-unsigned.pcap", NameTreatment::Hash);
    let summary = hashed.summary();
    assert_eq!(hashed.clients_per_copy(), 1);
    for (verb, count) in [
        (Verb::Create, 15),
        (Verb::Close, 14),
        (Verb::Read, 1),
        (Verb::Write, 1),
        (Verb::List, 4),
        (Verb::MarkDeleted, 1),
    ] {
        assert_eq!(summary.operations[&verb], count, "{verb}");
    }
    assert_eq!((summary.bytes_read, summary.bytes_written), (45, 45));
    assert_eq!(summary.skipped["negotiate"], 1);
    assert_eq!(summary.skipped["session_setup"], 2);
    assert!(hashed.has_times() && !hashed.is_strict());
    let kept = recording("smbclient-3.1.1-unsigned.pcap", NameTreatment::Keep);
    assert_eq!(kept.summary().operations, summary.operations);
    assert_ne!(kept.digest(), hashed.digest());
}

#[test]
fn a_capture_of_cifs_becomes_operations_by_name() {
    let recording = recording("smbclient-cifs-signed.pcap", NameTreatment::Hash);
    let operations = &recording.summary().operations;
    for verb in [Verb::Create, Verb::Close, Verb::Find, Verb::Unlink] {
        assert!(operations.contains_key(&verb), "{verb} in {operations:?}");
    }
    assert!(!operations.contains_key(&Verb::List), "{operations:?}");
}

#[test]
fn a_folder_that_is_none_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let error = || read_recording(path).unwrap_err().to_string();
    assert!(error().contains(TREE_FILE), "{}", error());
    let write = |name: &str, text: &str| {
        let file = File::create(folder.path().join(name)).unwrap();
        let mut file = GzEncoder::new(file, Compression::fast());
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap();
    };
    write(TREE_FILE, "{\"path\":1,\"name\":\"s\"}\n");
    write(TRACE_FILE, "{\"number\":1}\n{\"number\":\"x\"}\n");
    assert!(error().contains("trace.jsonl.gz, line 2: "), "{}", error());
    write(TRACE_FILE, "{\"command\":\"negotiate\"}\n");
    assert!(
        error().ends_with("that can be replayed: 1 negotiate"),
        "{}",
        error()
    );
    // Numbers of names that are not there, and names above themselves, are no reason to fail.
    write(TREE_FILE, "{\"path\":1,\"parent\":1,\"name\":\"s\"}\n");
    write(
        TRACE_FILE,
        "{\"command\":\"close\",\"session\":1,\"path\":1,\"handle\":7,\"status\":\"STATUS_SUCCESS\"}\n\
         {\"command\":\"close\",\"session\":1,\"path\":9,\"handle\":8,\"status\":\"STATUS_SUCCESS\"}\n",
    );
    assert!(error().contains("1 close: handle 8 "), "{}", error());
}

/// The counts of durable handles are those of the answers in Wireshark.
#[test]
fn traces_have_the_ends_of_sessions_and_the_durable_handles_that_were_granted() {
    for (name, ended, kept) in [
        // It logs off.
        ("smbclient-cifs-signed.pcap", 0, 0),
        ("smbclient-cifs-plain.pcap", 1, 0),
        ("smbtorture-contexts-2.1-unsigned.pcap", 4, 2),
        // The server granted one durable handle of four that were asked for.
        ("smbtorture-contexts-3.1.1-unsigned.pcap", 3, 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        import(name, folder.path(), NameTreatment::Hash);
        let trace = File::open(folder.path().join(TRACE_FILE)).unwrap();
        let trace = read_all(flate2::read::MultiGzDecoder::new(trace));
        let lines = |part: &str| trace.lines().filter(|line| line.contains(part)).count();
        assert_eq!(lines(r#""session_end""#), ended, "{name}");
        assert_eq!(lines(r#""kept":true"#), kept, "{name}");
    }
}
