//! Slices of captures by time and client, and names as recorded.

use std::fs::File;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use smbench_capture::{
    CaptureImport, CaptureSummary, ImportOptions, NameTreatment, SessionLine, SliceBegin,
    first_time_ns,
};

use crate::packets::{Packet, fixture, fixture_path, pcap, read_all};

const NAME: &str = "smbclient-3.1.1-unsigned.pcap";
const DAY: Duration = Duration::from_secs(86_400);

fn read(options: ImportOptions) -> CaptureSummary {
    let mut import = CaptureImport::new(options);
    import
        .read(NAME, File::open(fixture_path(NAME)).unwrap())
        .unwrap();
    import.finish().unwrap().summary
}

fn messages(summary: &CaptureSummary) -> [u64; 2] {
    let commands = summary.commands.values();
    commands.fold([0, 0], |[requests, answers], command| {
        [requests + command.requests, answers + command.responses]
    })
}

#[test]
fn slices_by_time_add_up_to_the_whole() {
    let whole = read(ImportOptions::default());
    let [requests, answers] = messages(&whole);
    let begin = Duration::from_nanos(whole.source.begin_ns);
    let length = Duration::from_nanos(whole.source.end_ns - whole.source.begin_ns);
    let half = length / 2;
    let first = read(ImportOptions {
        length: Some(half),
        ..ImportOptions::default()
    });
    let end_ns = whole.source.begin_ns + half.as_nanos() as u64;
    assert_eq!(whole.span().length_ns(), length.as_nanos() as u64);
    assert_eq!(first.span().begin_ns, whole.source.begin_ns);
    assert_eq!(first.span().end_ns, end_ns);
    let mut sums = messages(&first);
    assert!(sums[0] > 0 && sums[0] < requests, "{sums:?}");
    // The time of the day is that of the first frame.
    let of_day = Duration::from_nanos(((begin + half).as_nanos() % DAY.as_nanos()) as u64);
    for from in [SliceBegin::At(begin + half), SliceBegin::TimeOfDay(of_day)] {
        let second = read(ImportOptions {
            from: Some(from),
            ..ImportOptions::default()
        });
        let [of_second, answers_of_second] = messages(&second);
        assert_eq!(second.span().begin_ns, end_ns);
        assert_eq!(second.span().end_ns, whole.source.end_ns);
        assert_eq!(of_second, requests - sums[0]);
        assert_eq!(answers_of_second, answers - sums[1]);
        // Sessions and names before the slice are known in it.
        assert_eq!(second.tree.made_up, 0);
    }
    sums = messages(&read(ImportOptions {
        from: Some(SliceBegin::At(begin + 2 * DAY)),
        ..ImportOptions::default()
    }));
    assert_eq!(sums, [0, 0]);
}

#[test]
fn the_tree_of_a_slice_is_that_of_its_packets() {
    let packets = fixture(NAME);
    let opened = |summary: &CaptureSummary| {
        let tree = summary.tree;
        [tree.files, tree.directories, tree.bytes]
    };
    let mut compared = 0;
    for end in 30..packets.len() {
        let mut import = CaptureImport::new(ImportOptions::default());
        import.read(NAME, &pcap(1, &packets[..end])[..]).unwrap();
        let alone = import.finish().unwrap().summary;
        let commands = alone.commands.values();
        let unanswered: u64 = commands.map(|command| command.unanswered).sum();
        // The answer to a request of the slice may come behind it.
        if unanswered > 0 || packets[end].time_ns == packets[end - 1].time_ns {
            continue;
        }
        let length = packets[end].time_ns - packets[0].time_ns;
        let slice = read(ImportOptions {
            length: Some(Duration::from_nanos(length)),
            ..ImportOptions::default()
        });
        assert_eq!(opened(&slice), opened(&alone), "{end} packets");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_slice_has_one_client() {
    let of = |client: &str| {
        let client = Some(client.parse().unwrap());
        messages(&read(ImportOptions {
            client,
            ..ImportOptions::default()
        }))
    };
    assert_eq!(of("127.0.0.1"), messages(&read(ImportOptions::default())));
    assert_eq!(of("192.0.2.7"), [0, 0]);
}

#[test]
fn a_slice_may_have_a_share_with_a_made_up_name() {
    // The TREE_CONNECTs come before.
    let packets = fixture(NAME);
    let of = |share: Option<String>| {
        let mut import = CaptureImport::new(ImportOptions {
            share,
            ..ImportOptions::default()
        });
        import.read(NAME, &pcap(1, &packets[30..])[..]).unwrap();
        import.finish().unwrap().summary
    };
    let shares: Vec<_> = of(None).shares.into_iter().collect();
    let [(share, requests)] = &shares[..] else {
        panic!("{shares:?}");
    };
    assert!(share.starts_with("unseen-"), "{share}");
    let slice = of(Some(share.clone()));
    assert_eq!(slice.shares[share], *requests);
    assert_eq!(messages(&slice)[0], *requests);
}

#[test]
fn names_are_hashed_unless_they_are_kept() {
    let hashed = read(ImportOptions::default()).to_json();
    let kept = read(ImportOptions {
        names: NameTreatment::Keep,
        ..ImportOptions::default()
    });
    assert_eq!(kept.shares.keys().collect::<Vec<_>>(), ["IPC$", "bench"]);
    let users: Vec<_> = kept.users.keys().collect();
    assert!(users[0].ends_with("daemon"), "{users:?}");
    assert!(
        !hashed.contains("bench") && !hashed.contains("daemon"),
        "{hashed}"
    );
    assert_eq!(kept.names, NameTreatment::Keep);
    // The same capture has the same hashes.
    assert_eq!(hashed, read(ImportOptions::default()).to_json());
}

#[test]
fn each_session_has_a_line_with_its_client() {
    // The first capture has no log-on.
    for (name, is_known) in [("cifs-transactions.pcap", false), (NAME, true)] {
        for names in [NameTreatment::Hash, NameTreatment::Keep] {
            let mut import = CaptureImport::new(ImportOptions {
                names,
                ..ImportOptions::default()
            });
            let file = File::open(fixture_path(name)).unwrap();
            import.read(name, file).unwrap();
            let mut result = import.finish().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sessions");
            let file = File::create(&path).unwrap();
            result.write_sessions(file).unwrap();
            let file = MultiGzDecoder::new(File::open(&path).unwrap());
            let lines = read_all(file);
            let lines: Vec<SessionLine> = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert!(!lines.is_empty(), "{name}");
            let clients = &result.summary.clients;
            for line in lines {
                let client = line.client.unwrap();
                let is_plain = clients.iter().any(|plain| plain.to_string() == client);
                assert_eq!(is_plain, names == NameTreatment::Keep, "{name}: {client}");
                assert_eq!(line.user.is_some(), is_known, "{name}");
            }
        }
    }
}

#[test]
fn hashes_depend_on_the_challenge_of_the_server() {
    const CHALLENGE_MESSAGE: &[u8] = b"NTLMSSP\0\x02\0\0\0";
    for name in [NAME, "smbclient-cifs-signed.pcap"] {
        let mut packets = fixture(name);
        let users = |packets: &[Packet]| {
            let mut import = CaptureImport::new(ImportOptions::default());
            import.read(name, &pcap(1, packets)[..]).unwrap();
            let users = import.finish().unwrap().summary.users;
            users.into_keys().collect::<Vec<_>>()
        };
        let before = users(&packets);
        assert_eq!(before, users(&packets));
        let changed = packets.iter_mut().any(|packet| {
            let mut parts = packet.bytes.windows(CHALLENGE_MESSAGE.len());
            let at = parts.position(|part| part == CHALLENGE_MESSAGE);
            if let Some(at) = at {
                packet.bytes[at + 24] ^= 1;
            }
            at.is_some()
        });
        assert!(changed, "{name}");
        let after = users(&packets);
        assert_eq!((before.len(), after.len()), (1, 1), "{name}");
        assert_ne!(before, after, "{name}");
    }
}

#[test]
fn the_first_frame_tells_the_order_of_files() {
    let packets = fixture(NAME);
    let time = first_time_ns(NAME, &pcap(1, &packets)[..]).unwrap();
    assert_eq!(time, Some(packets[0].time_ns));
    assert_eq!(first_time_ns(NAME, &pcap(1, &[])[..]).unwrap(), None);
    // A capture in two files is the same as in one.
    let (one, two) = packets.split_at(30);
    let mut import = CaptureImport::new(ImportOptions::default());
    for part in [one, two] {
        import.read(NAME, &pcap(1, part)[..]).unwrap();
    }
    let summary = import.finish().unwrap().summary;
    assert_eq!(
        messages(&summary),
        messages(&read(ImportOptions::default()))
    );
    assert_eq!(summary.source.files, 2);
}
