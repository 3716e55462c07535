//! The folder of an import as a recording, and one line for what is none.

use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use smbench_capture::{
    CaptureImport, ImportOptions, NameTreatment, SUMMARY_FILE, SliceBegin, TRACE_FILE, TREE_FILE,
    read_recording,
};
use smbench_model::kind::OpKind;
use smbench_model::trace::{Recording, Verb};

use crate::packets::{Packet, fixture, fixture_path, pcap, read_all};

const NORMAL: &str = "smbclient-3.1.1-unsigned.pcap";

/// Imports a capture into a folder.
fn import(capture: impl Read, folder: &Path, options: ImportOptions) {
    let mut import = CaptureImport::new(options);
    import.trace_to(File::create(folder.join(TRACE_FILE)).unwrap());
    import.read("test.pcap", capture).unwrap();
    let mut result = import.finish().unwrap();
    result.finish_trace().unwrap();
    let tree = File::create(folder.join(TREE_FILE)).unwrap();
    result.write_tree(tree).unwrap();
    fs::write(folder.join(SUMMARY_FILE), result.summary.to_json()).unwrap();
}

/// A share, and a file in it.
const NAMES: &str = "{\"path\":1,\"name\":\"s\"}\n{\"path\":2,\"parent\":1,\"name\":\"f\"}\n";

/// Writes lines of a folder.
fn write(folder: &Path, name: &str, lines: &str) {
    let file = File::create(folder.join(name)).unwrap();
    let mut file = GzEncoder::new(file, Compression::fast());
    file.write_all(lines.as_bytes()).unwrap();
    file.finish().unwrap();
}

/// Opens a file in the folder of captures.
fn open(name: &str) -> File {
    File::open(fixture_path(name)).unwrap()
}

fn recording(capture: impl Read, options: ImportOptions) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    import(capture, folder.path(), options);
    read_recording(folder.path().to_str().unwrap()).unwrap()
}

/// Returns the recording of packets.
fn of(packets: &[Packet]) -> Recording {
    recording(&pcap(1, packets)[..], ImportOptions::default())
}

#[test]
fn a_session_becomes_a_track_with_its_requests() {
    let hashed = recording(open(NORMAL), ImportOptions::default());
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
    let kept = ImportOptions {
        names: NameTreatment::Keep,
        ..ImportOptions::default()
    };
    let kept = recording(open(NORMAL), kept);
    assert_eq!(kept.summary().operations, summary.operations);
    assert_ne!(kept.digest(), hashed.digest());
}

/// A replay does not wait for the time before the slice.
#[test]
fn times_count_from_the_first_request_of_a_session() {
    const HOUR: Duration = Duration::from_secs(3600);
    let mut packets = fixture(NORMAL);
    let whole = of(&packets);
    // The capture begins an hour before its second frame.
    for packet in &mut packets[1..] {
        packet.time_ns += HOUR.as_nanos() as u64;
    }
    let from = Duration::from_nanos(packets[0].time_ns) + HOUR / 2;
    let slice = ImportOptions {
        from: Some(SliceBegin::At(from)),
        ..ImportOptions::default()
    };
    for late in [of(&packets), recording(&pcap(1, &packets)[..], slice)] {
        assert_eq!(late.summary().length, whole.summary().length);
        assert_eq!(late.track(0).times, whole.track(0).times);
    }
    let length = whole.summary().length.unwrap();
    assert!(length < Duration::from_millis(20), "{length:?}");
}

/// Two requests in flight, of which the capture may have the second one first.
#[test]
fn requests_and_answers_that_were_overtaken_are_replayed() {
    // Both list the same directory, and each has one answer.
    const FIRST: usize = 67;
    let packets = fixture(NORMAL);
    let in_order = |order: [usize; 4]| {
        let mut placed = packets.clone();
        for (place, from) in (FIRST..).zip(order) {
            placed[place].bytes = packets[from].bytes.clone();
            placed[place].wire_len = packets[from].wire_len;
        }
        of(&placed)
    };
    let sorted = in_order([67, 69, 68, 70]);
    assert_eq!(sorted.in_flight(), 2);
    for order in [[69, 67, 68, 70], [69, 67, 70, 68]] {
        let overtaken = in_order(order);
        let summary = overtaken.summary();
        assert_eq!(summary.operations, sorted.summary().operations, "{order:?}");
        assert_eq!(summary.skipped, sorted.summary().skipped, "{order:?}");
    }
}

#[test]
fn a_capture_of_cifs_becomes_operations_by_name() {
    let recording = recording(open("smbclient-cifs-signed.pcap"), ImportOptions::default());
    let operations = &recording.summary().operations;
    for verb in [Verb::Create, Verb::Close, Verb::Find, Verb::Unlink] {
        assert!(operations.contains_key(&verb), "{verb} in {operations:?}");
    }
    assert!(!operations.contains_key(&Verb::List), "{operations:?}");
}

/// Packets of several interfaces may have times that go backwards.
#[test]
fn requests_whose_times_go_backwards_are_replayed_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), TREE_FILE, NAMES);
    let lines = [
        r#""at_ns":20,"took_ns":9,"command":"create","create":{"share":7,"disposition":1}"#,
        r#""at_ns":15,"took_ns":30,"command":"read","length":10,"moved":10"#,
        r#""at_ns":60,"took_ns":1,"command":"close""#,
    ];
    let lines = (1..).zip(lines).map(|(number, line)| {
        let same = r#""session":1,"path":2,"handle":1,"status":"STATUS_SUCCESS""#;
        format!("{{\"number\":{number},{same},{line}}}\n")
    });
    write(folder.path(), TRACE_FILE, &lines.collect::<String>());
    let recording = read_recording(folder.path().to_str().unwrap()).unwrap();
    assert_eq!(&recording.track(0).times[..], [5, 5, 45]);
    let read = recording.summary().recorded[&OpKind::Read];
    assert_eq!((read.count, read.mean_ns), (1, 25));
}

/// Millions of requests are read, and kept until the replay ends.
#[test]
fn a_request_needs_little_memory_while_it_is_read_and_less_afterwards() {
    const LINES: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), TREE_FILE, NAMES);
    let lines = (1..=LINES).map(|number| {
        let (at_ns, session) = (number * 100_000, 1 + number % 2);
        let of_file = format!("\"session\":{session},\"path\":2,\"handle\":{session}");
        let what = if number <= 2 {
            r#""command":"create","create":{"share":7,"disposition":1}"#.to_owned()
        } else {
            let offset = number * 65_536;
            format!("\"command\":\"read\",\"offset\":{offset},\"length\":65536,\"moved\":65536")
        };
        format!(
            "{{\"number\":{number},\"at_ns\":{at_ns},\"took_ns\":90000,{of_file},\
             \"flags\":0,\"status\":\"STATUS_SUCCESS\",{what}}}\n"
        )
    });
    write(folder.path(), TRACE_FILE, &lines.collect::<String>());
    let mut recording = None;
    let used = allocation_counter::measure(|| {
        recording = Some(read_recording(folder.path().to_str().unwrap()).unwrap());
    });
    let recording = recording.unwrap();
    assert_eq!(recording.clients_per_copy(), 2);
    assert_eq!(recording.summary().operations[&Verb::Read], LINES - 2);
    assert!(used.bytes_max < 200 * LINES, "{used:?}");
    assert!(used.bytes_current < 48 * LINES as i64, "{used:?}");
}

#[test]
fn numbers_of_a_damaged_trace_may_be_as_large_as_they_can() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), TREE_FILE, NAMES);
    let line = |number: u64, what: &str| {
        let same = r#""path":2,"status":"STATUS_SUCCESS""#;
        format!("{{\"number\":{number},\"session\":1,\"handle\":1,{same},{what}}}\n")
    };
    let most = u64::MAX;
    let moved = format!("\"offset\":{most},\"length\":{most},\"moved\":{most}");
    let lines = [
        line(
            1,
            r#""command":"create","create":{"share":7,"disposition":1}"#,
        ),
        line(
            2,
            &format!("\"command\":\"read\",\"took_ns\":{most},{moved},\"at_ns\":{most}"),
        ),
        line(
            3,
            &format!("\"command\":\"write\",{moved},\"at_ns\":{most}"),
        ),
        line(
            4,
            &format!("\"command\":\"close\",\"took_ns\":{most},\"at_ns\":{most}"),
        ),
    ];
    write(folder.path(), TRACE_FILE, &lines.concat());
    let recording = read_recording(folder.path().to_str().unwrap()).unwrap();
    let operations = &recording.summary().operations;
    assert_eq!(operations[&Verb::Create] + operations[&Verb::Close], 2);
}

#[test]
fn a_folder_that_is_none_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let error = || read_recording(path).unwrap_err().to_string();
    let give = "give the folder that `smbench import pcap` wrote";
    assert_eq!(error(), format!("{path} has no {TREE_FILE}: {give}"));
    let capture = fixture_path(NORMAL).display().to_string();
    for (path, found) in [(&capture[..], "is a file"), ("nope", "does not exist")] {
        let error = read_recording(path).unwrap_err().to_string();
        assert_eq!(error, format!("{path} {found}: {give}"));
    }
    let write = |name: &str, text: &str| write(folder.path(), name, text);
    write(TREE_FILE, "{\"path\":1,\"name\":\"s\"}\n");
    write(TRACE_FILE, "{\"number\":1}\n{\"number\":\"x\"}\n");
    assert!(error().contains("trace.jsonl.gz, line 2: "), "{}", error());
    write(TRACE_FILE, "{\"command\":\"negotiate\"}\n");
    assert!(
        error().ends_with("that can be replayed: 1 negotiate"),
        "{}",
        error()
    );
    for (encrypted, said) in [(1, "1 message is "), (90, "90 messages are ")] {
        let summary = format!("{{\"unreadable\":{{\"encrypted_messages\":{encrypted}}}}}");
        fs::write(folder.path().join(SUMMARY_FILE), summary).unwrap();
        let said = format!(": 1 negotiate; {said}encrypted: import the capture with ");
        assert!(error().contains(&said), "{}", error());
    }
    // Numbers of names that are not there, and names above themselves, are no reason to fail.
    write(TREE_FILE, "{\"path\":1,\"parent\":1,\"name\":\"s\"}\n");
    write(
        TRACE_FILE,
        "{\"command\":\"close\",\"session\":1,\"path\":1,\"handle\":7,\"status\":\"STATUS_SUCCESS\"}\n\
         {\"command\":\"close\",\"session\":1,\"path\":9,\"handle\":8,\"status\":\"STATUS_SUCCESS\"}\n",
    );
    assert!(error().contains("1 close: handle 8 "), "{}", error());
    fs::write(folder.path().join(SUMMARY_FILE), "{\"names\":\"kept\"}").unwrap();
    assert!(error().contains("summary.json, line 1: "), "{}", error());
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
        import(open(name), folder.path(), ImportOptions::default());
        let trace = File::open(folder.path().join(TRACE_FILE)).unwrap();
        let trace = read_all(flate2::read::MultiGzDecoder::new(trace));
        let lines = |part: &str| trace.lines().filter(|line| line.contains(part)).count();
        assert_eq!(lines(r#""session_end""#), ended, "{name}");
        assert_eq!(lines(r#""kept":true"#), kept, "{name}");
    }
}
